"""What the values of a run mean before they are drawn."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual.geometry import Region

from entity_tui.device.cpu_lists import format_cpu_list, format_mask
from entity_tui.screens.dashboard_tiny import shown_rate
from entity_tui.screens.device_values import charge_words, device_condition, link_words, short_soc
from entity_tui.screens.history_values import when_words
from entity_tui.screens.layout import SizeClass, size_class, split_columns, split_rows
from entity_tui.screens.placement_values import cpus_of, mask_value
from entity_tui.screens.run_values import mask_words
from entity_tui.session import DeviceView
from entity_tui.transport.base import DeviceState
from entity_tui.widgets.panel import PanelState
from tests.screens.stage import StagedSession, a_facts, a_placement, a_run, live_phone

EVERY = frozenset(range(8))


@given(st.frozensets(st.integers(0, 15), min_size=1))
def test_a_mask_read_back_is_shown_as_cpus(cpus: frozenset[int]) -> None:
    """Hexadecimal in, a list of CPUs out."""
    assert mask_words(format_mask(cpus)) == format_cpu_list(cpus)


def test_masks_of_a_runs_table_are_lists_not_hexadecimal() -> None:
    """`7` is CPU 7; read as hexadecimal it would be CPUs 0 to 2."""
    assert cpus_of("7", EVERY) == {7}
    assert cpus_of("4,7", EVERY) == {4, 7}
    assert cpus_of("all", EVERY) == EVERY
    assert cpus_of("nonsense", EVERY) == frozenset()


def test_a_run_of_placements_shows_its_own_masks_with_the_kernels_answer() -> None:
    """Verified is what the kernel said, for the arm it said it of."""
    rows = mask_value(a_facts().topology, a_placement(), ()).rows
    assert [row.cpus for row in rows] == [EVERY, {4, 5, 6, 7}, {0, 1, 2, 3}]
    assert [row.pinned for row in rows] == [False, True, True]
    assert all(row.verified for row in rows)


@pytest.mark.parametrize(
    ("size", "kind"),
    [
        ((120, 40), SizeClass.FULL),
        ((200, 39), SizeClass.MEDIUM),
        ((119, 40), SizeClass.MEDIUM),
        ((99, 60), SizeClass.COMPACT),
        ((79, 60), SizeClass.TINY),
        ((200, 23), SizeClass.TINY),
        ((39, 40), SizeClass.ONE_LINE),
    ],
)
def test_a_size_class_needs_both_dimensions(size: tuple[int, int], kind: SizeClass) -> None:
    """Width and height decide together."""
    assert size_class(*size) is kind


@given(st.integers(0, 200), st.lists(st.integers(0, 60), min_size=1, max_size=5))
def test_split_areas_never_overlap_or_leave_the_area(total: int, sizes: list[int]) -> None:
    """Also when more is asked for than there is."""
    for split in (split_rows, split_columns):
        parts = split(Region(3, 5, total, total), *sizes)
        assert len(parts) == len(sizes)
        assert all(
            part.x >= 3 and part.y >= 5 and part.right <= 3 + total and part.bottom <= 5 + total for part in parts
        )
        assert not any(a.overlaps(b) for i, a in enumerate(parts) for b in parts[i + 1 :] if a.area and b.area)


def test_a_charging_phone_has_no_power_but_a_reason() -> None:
    """chg, never 0 W."""
    session = live_phone()
    assert charge_words(session.view) == ("▼", "")
    live = session.view.live
    assert live is not None
    session.set(live=type(live)(live.values, "chg", 0, {}, True))
    assert charge_words(session.view) == ("▲", "chg")


def test_a_snapshot_file_is_live_without_samples() -> None:
    """Facts without a sampler are not stale: nothing was promised."""
    session = StagedSession()
    session.set(spec="phone.json", kind="file", state=DeviceState.READY, facts=a_facts())
    assert device_condition(session, "reading").state is PanelState.LIVE


def test_links_are_named_by_how_they_arrive() -> None:
    """A serial with a port is Wi-Fi."""
    assert link_words(DeviceView(spec="adb:0015725", kind="adb"))[1] == "usb"
    assert link_words(DeviceView(spec="adb:192.0.2.1:5555", kind="adb"))[1] == "wifi"
    assert link_words(DeviceView(spec="local", kind="local")) == ("this computer", "local")


def test_a_chip_has_a_short_name() -> None:
    """For a strip of 80 cells."""
    assert short_soc("MediaTek Dimensity 7300 (MT6878)") == "Dim.7300"
    assert short_soc("Qualcomm Snapdragon 8 Gen 3") == "SD 8 Gen 3"


def test_a_broken_time_is_a_dash() -> None:
    """Files can be edited by hand."""
    assert when_words("yesterday") == "—"


def test_the_one_rate_of_a_tiny_screen_says_whose_it_is() -> None:
    """The arm in flight, else the fastest: a number without its arm would be anybody's."""
    run = a_run()
    assert shown_rate(run) == (27.6, "optimized")
    assert shown_rate(replace(run, current=None)) == (27.6, "optimized")
    current = run.current
    assert current is not None
    assert shown_rate(replace(run, current=replace(current, arm="naive"))) == (13.8, "naive")
    assert shown_rate(None) == (None, "")
