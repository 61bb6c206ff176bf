"""The probe's format, taken apart: no content can pass for a header, failures get the same names from every shell."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from entity_tui.device.probe_text import outcome_of, parse_probe, parse_props
from entity_tui.device.snapshot import Outcome

NONCE = "5ca1ab1e"


def record(kind: str, status: int, source: str, content: str) -> str:
    """One record as the script writes it."""
    return f"@{NONCE} {kind} {status} - {source}\n{content}\n"


lines = st.text(st.characters(blacklist_categories=["Cs"], blacklist_characters="\r"), max_size=60)
traps = st.sampled_from(
    ["@5ca1 file 0 - /x\n", "@other file 0 - /proc/x\n", "\n\n", "@", f" @{NONCE} end\n", f"@{NONCE}end\n"]
)


@given(st.lists(st.one_of(lines, traps), max_size=6).map("".join), st.lists(lines, max_size=3).map("\n".join))
def test_any_two_contents_come_back_exactly(first: str, second: str) -> None:
    text = f"entity-probe 1 {NONCE}\n{record('file', 0, '/a', first)}{record('file', 0, '/b', second)}@{NONCE} end\n"
    snapshot = parse_probe(text, NONCE)
    assert (snapshot.file("/a").text, snapshot.file("/b").text) == (first, second)
    assert snapshot.origin == ""


@given(st.integers(0, 400))
def test_a_cut_answer_keeps_whole_readings_and_drops_the_broken_one(length: int) -> None:
    whole = "".join(record("file", 0, f"/f{index}", f"value {index}") for index in range(9))
    snapshot = parse_probe(whole[:length], NONCE)
    assert snapshot.origin == "cut"
    for path, reading in snapshot.files.items():
        assert reading.text == f"value {path[2:]}"


@pytest.mark.parametrize(
    ("text", "status", "outcome"),
    [
        ("cat: /sys/x: Permission denied", 1, Outcome.DENIED),
        ("sh: can't open /sys/x: Permission denied", 2, Outcome.DENIED),
        ("/system/bin/sh: can't open x: No such file or directory", 1, Outcome.ABSENT),
        ("cat: /sys/x: No such device", 1, Outcome.ABSENT),
        ("cat: /sys/x: Resource temporarily unavailable", 1, Outcome.TRANSIENT),
        ("cat: /sys/x: No data available", 1, Outcome.TRANSIENT),
        ("cat: /sys/x: Invalid argument", 1, Outcome.TRANSIENT),
        ("anything at all", 0, Outcome.OK),
        ("Permission denied is the text of this file", 0, Outcome.OK),
    ],
)
def test_a_file_is_named_by_what_its_reader_said(text: str, status: int, outcome: Outcome) -> None:
    assert outcome_of(text, status=status) is outcome


@pytest.mark.parametrize(
    ("text", "status", "outcome"),
    [
        ("Permission Denial: can't dump thermalservice from from pid=1, uid=10 due to missing", 0, Outcome.DENIED),
        ("Can't find service: thermalservice", 0, Outcome.ABSENT),
        ("Unknown get option: current_average", 0, Outcome.ABSENT),
        ("", 124, Outcome.TIMEOUT),
        ("partial", 143, Outcome.TIMEOUT),
        ("dumpsys: not found", 127, Outcome.ABSENT),
        ("/system/bin/sh: x: inaccessible or not found", 127, Outcome.ABSENT),
        ("Failed transaction (2147483646)", 0, Outcome.TRANSIENT),
        ("Current Battery Service state:\n  Permission denied counts: 0", 0, Outcome.OK),
        ("null", 0, Outcome.OK),
    ],
)
def test_a_command_may_say_no_with_status_0(text: str, status: int, outcome: Outcome) -> None:
    assert outcome_of(text, status=status, command=True) is outcome


@given(lines, st.integers(-1, 255), st.booleans())
def test_every_answer_has_an_outcome(text: str, status: int, command: bool) -> None:
    assert outcome_of(text, status=status, command=command) in Outcome


def test_carriage_returns_of_an_old_adbd_are_removed() -> None:
    text = record("file", 0, "/a", "one\ntwo") + f"@{NONCE} end\n"
    assert parse_probe(text.replace("\n", "\r\n"), NONCE).file("/a").text == "one\ntwo"


def test_properties_may_hold_brackets_and_line_breaks() -> None:
    props = parse_props("[a.b]: [x [y] z]\n[c]: []\n[d]: [1\n2]\n")
    assert props == {"a.b": "x [y] z", "c": "", "d": "1\n2"}
