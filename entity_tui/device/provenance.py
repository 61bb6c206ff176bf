"""An empty table of sources, made anew for each value that names none."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType


def no_sources() -> Mapping[str, str]:
    """An empty read-only mapping from field name to source."""
    return MappingProxyType({})
