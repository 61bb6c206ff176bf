"""A topology out of cores that are already known, for rules applied to chips that are not at hand."""

from __future__ import annotations

from collections.abc import Sequence

from entity_tui.device.cluster_order import name_clusters, order_groups
from entity_tui.device.core_drafts import Draft
from entity_tui.device.grouping import group_cores
from entity_tui.device.topology import Core, Topology


def topology_of_cores(cores: Sequence[Core]) -> Topology:
    """The clusters these cores form, all of them online."""
    conflicts: list[str] = []
    drafts = [Draft(core, dict(core.sources)) for core in cores]
    ordered, signal = order_groups(group_cores(drafts), conflicts)
    settled, clusters = name_clusters(ordered, signal)
    online = tuple(core.cpu for core in settled)
    return Topology(settled, clusters, online=online, present=online, signal=signal, conflicts=tuple(conflicts))
