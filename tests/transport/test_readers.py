"""The small parsers of the transports: whatever a device prints, they return a value or nothing, and never raise."""

from __future__ import annotations

import shlex
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from entity_tui.transport import base, recording
from entity_tui.transport.adb_host import is_network_serial, parse_devices
from entity_tui.transport.adb_wire import FIXES, AdbRefused, PacketReader, error_of, state_of
from entity_tui.transport.base import Completed, DeviceState, Job, LinkLost, NotReady, TransportError
from entity_tui.transport.channel import LINE_LIMIT_BYTES, LineStream, Piece, PieceKind
from entity_tui.transport.device_text import (
    parse_df_free_bytes,
    parse_launch_context,
    parse_sha256,
    parse_stat,
    quote,
)
from entity_tui.transport.jobs import fields, is_alive, parse_spawned
from entity_tui.transport.shell import signal_of

HASH = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"


@pytest.mark.parametrize(
    "text",
    [
        f"{HASH}  -\n",
        f"{HASH} *model.gguf\n",
        f"SHA2-256(stdin)= {HASH}\n",
        f"(stdin)= {HASH}\n",
        f"\\{HASH}  na\\nme\n",
        f"{HASH.upper()}\n",
    ],
)
def test_a_hash_is_found_in_what_every_tool_prints(text: str) -> None:
    assert parse_sha256(text) == HASH


@pytest.mark.parametrize("text", ["", "sha256sum: not found", HASH[:-1], HASH + "0"])
def test_what_is_no_hash_is_none(text: str) -> None:
    assert parse_sha256(text) is None


@pytest.mark.parametrize(
    ("text", "free_kb"),
    [
        (
            "Filesystem 1K-blocks Used Available Use% Mounted on\n/dev/block/dm-44 112837028 9241 20276324 83% /data\n",
            20276324,
        ),
        ("Filesystem 1024-blocks Used Available Capacity Mounted on\noverlay 100 50 50 50% /a b\n", 50),
        ("Filesystem 1K-blocks Used Available Use% Mounted on\n/dev/a/very/long/name\n 1000 900 100 90% /x\n", 100),
        (
            "Filesystem 1024-blocks Used Available Capacity iused ifree %iused Mounted on\n/dev/d 9 5 4 60% 1 2 3% /\n",
            4,
        ),
        ("Filesystem 1K-blocks Used Available Use% Mounted on\ntmpfs 100 120 -20 100% /t\n", 0),
        ("Filesystem 1K-blocks Used Available Use% Mounted on\nnone 0 0 0 - /n\n", 0),
    ],
)
def test_free_space_is_read_from_any_df(text: str, free_kb: int) -> None:
    assert parse_df_free_bytes(text) == free_kb * 1024


@given(st.text())
def test_no_text_can_make_a_reader_raise(text: str) -> None:
    parse_df_free_bytes(text)
    parse_sha256(text)
    parse_stat(text)
    parse_launch_context(text)
    parse_devices(text)
    parse_spawned(text)
    is_alive(text, Job("b", 1, 2))
    fields(text)
    is_network_serial(text)
    assert isinstance(state_of(text), DeviceState)
    assert isinstance(error_of(text), TransportError)


@given(st.text(alphabet=st.characters(exclude_characters="\0\n\r", exclude_categories=["Cs"]), max_size=40))
def test_a_process_name_cannot_shift_its_status(name: str) -> None:
    line = f"4711 ({name}) S 1 4711 4711 0 -1 4194560 1 0 0 0 5 6 0 0 20 0 1 0 987654 1000 1"
    assert parse_stat(line) == ("S", 987654)


def test_a_zombie_is_not_alive_and_another_boot_is_another_process() -> None:
    line = "stat 7 (x) {} 1 7 7 0 -1 0 1 0 0 0 5 6 0 0 20 0 1 0 55 1000 1\n"
    job = Job("boot-a", 7, 55)
    assert is_alive("boot boot-a\n" + line.format("S"), job)
    assert not is_alive("boot boot-a\n" + line.format("Z"), job)
    assert not is_alive("boot boot-b\n" + line.format("S"), job)
    assert not is_alive("boot boot-a\nstat \n", job)


@given(st.lists(st.text(alphabet=st.characters(exclude_characters="\0", exclude_categories=["Cs"]))))
def test_quoting_is_undone_by_a_shell(words: list[str]) -> None:
    assert shlex.split(quote(words)) == words


def test_a_launch_context_names_each_hierarchy() -> None:
    text = "4:cpuset:/background\n3:cpu:/bg_non_interactive\n0::/uid_10214/pid_99\nnonsense\n"
    assert parse_launch_context(text) == "cpuset:/background cpu:/bg_non_interactive unified:/uid_10214/pid_99"


@pytest.mark.parametrize(
    ("word", "state"),
    [
        ("device", DeviceState.READY),
        ("offline", DeviceState.OFFLINE),
        ("unauthorized", DeviceState.UNAUTHORIZED),
        ("authorizing", DeviceState.AUTHORIZING),
        ("connecting", DeviceState.CONNECTING),
        ("recovery", DeviceState.RECOVERY),
        ("sideload", DeviceState.SIDELOAD),
        ("bootloader", DeviceState.RECOVERY),
        ("no permissions (user in plugdev group; are your udev rules wrong?)", DeviceState.NO_PERMISSION),
        ("something new", DeviceState.OFFLINE),
    ],
)
def test_every_word_of_the_server_is_a_state(word: str, state: DeviceState) -> None:
    assert state_of(word) is state


def test_every_state_that_is_not_ready_says_what_to_do() -> None:
    assert set(FIXES) == set(DeviceState) - {DeviceState.READY}
    assert all(len(fix) > 20 for fix in FIXES.values())


def test_the_list_of_devices_is_read_with_all_its_oddities() -> None:
    text = (
        "0015725xxx             device usb:1-4 product:Tetris model:A015 device:Tetris transport_id:3\n"
        "192.0.2.7:41234        offline product:husky model:Pixel_8_Pro device:husky transport_id:12\n"
        "(no serial number)     no permissions (missing udev rules? user is in the plugdev group); "
        "see [http://developer.android.com/tools/device.html] usb:3-1 transport_id:4\n"
        "emulator-5554          unauthorized transport_id:5\n"
        "\n"
        "plain-serial\tdevice\n"
    )
    rows = parse_devices(text)
    assert [row.state for row in rows] == [
        DeviceState.READY,
        DeviceState.OFFLINE,
        DeviceState.NO_PERMISSION,
        DeviceState.UNAUTHORIZED,
        DeviceState.READY,
    ]
    assert [row.serial for row in rows][:2] == ["0015725xxx", "192.0.2.7:41234"]
    assert rows[0].transport_id == "3"
    assert rows[1].model == "Pixel 8 Pro"
    assert [row.over_network for row in rows] == [False, True, False, False, False]


@pytest.mark.parametrize(
    ("words", "kind", "state"),
    [
        ("device 'x' not found", NotReady, DeviceState.ABSENT),
        ("device offline", NotReady, DeviceState.OFFLINE),
        ("device unauthorized.\nThis adb server's $ADB_VENDOR_KEYS is not set", NotReady, DeviceState.UNAUTHORIZED),
        ("device still authorizing", NotReady, DeviceState.AUTHORIZING),
        ("device still connecting", NotReady, DeviceState.CONNECTING),
        ("insufficient permissions for device: user in plugdev group", NotReady, DeviceState.NO_PERMISSION),
        ("closed", LinkLost, None),
        ("protocol fault (no status)", LinkLost, None),
        ("unknown host service", AdbRefused, None),
    ],
)
def test_the_servers_words_become_the_right_error(words: str, kind: type, state: DeviceState | None) -> None:
    error = error_of(words)
    assert type(error) is kind
    assert error.detail == words
    if state is not None:
        assert isinstance(error, NotReady)
        assert error.state is state
        assert error.fix


PIECES = st.lists(
    st.tuples(st.sampled_from([1, 2]), st.binary(min_size=1, max_size=200)).map(
        lambda item: Piece(PieceKind.STDOUT if item[0] == 1 else PieceKind.STDERR, item[1])
    )
)


@given(PIECES, st.integers(0, 255), st.lists(st.integers(1, 50)))
def test_packets_are_the_same_however_the_bytes_are_cut(pieces: list[Piece], code: int, cuts: list[int]) -> None:
    ids = {PieceKind.STDOUT: 1, PieceKind.STDERR: 2}
    data = b"".join(struct.pack("<BI", ids[piece.kind], len(piece.data)) + piece.data for piece in pieces)
    data += struct.pack("<BI", 9, 3) + b"???" + struct.pack("<BI", 3, 1) + bytes([code])
    reader, seen, at = PacketReader(), [], 0
    for cut in [*cuts, len(data)]:
        reader.feed(data[at : at + cut])
        at += cut
        while (piece := reader.next()) is not None:
            seen.append(piece)
    assert seen == [*pieces, Piece(PieceKind.EXIT, code=code)]


def test_a_packet_of_an_impossible_size_is_a_broken_link() -> None:
    reader = PacketReader()
    reader.feed(struct.pack("<BI", 1, 0xFFFFFFFF))
    with pytest.raises(LinkLost):
        reader.next()


@given(st.binary(max_size=300), st.lists(st.integers(1, 40)))
def test_lines_are_the_same_however_the_output_is_cut(data: bytes, cuts: list[int]) -> None:
    stream, at = LineStream(None), 0  # type: ignore[arg-type]
    for cut in [*cuts, len(data) + 1]:
        stream._take(Piece(PieceKind.STDOUT, data[at : at + cut]))
        at += cut
    stream._take(Piece(PieceKind.EXIT, code=7))
    wanted = data.split(b"\n")
    assert list(stream._lines) == (wanted if wanted[-1] else wanted[:-1])
    assert stream.exit_code == 7


def test_a_line_without_an_end_cannot_fill_the_memory() -> None:
    stream = LineStream(None)  # type: ignore[arg-type]
    for _ in range(40):
        stream._take(Piece(PieceKind.STDOUT, b"x" * 100_000))
        stream._lines.clear()
        assert len(stream._rest) < LINE_LIMIT_BYTES


@given(
    st.lists(st.sampled_from([0, 1, 3, 4, 5, 8, 9]), max_size=4), st.booleans(), st.lists(st.integers(1, 7), min_size=1)
)
def test_where_a_long_line_is_cut_does_not_depend_on_how_it_arrives(
    lengths: list[int], open_end: bool, steps: list[int]
) -> None:
    """A newline in the same piece once left a line of any length whole, and one on the limit gave an empty line."""
    whole = b"\n".join(b"x" * length for length in lengths) + (b"" if open_end else b"\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("entity_tui.transport.channel.LINE_LIMIT_BYTES", 4)

        def lines_of(pieces: list[bytes]) -> list[bytes]:
            stream = LineStream(None)  # type: ignore[arg-type]
            for piece in pieces:
                stream._take(Piece(PieceKind.STDOUT, piece))
            stream._take(Piece(PieceKind.EXIT, code=0))
            return list(stream._lines)

        cut: list[bytes] = []
        at = 0
        while at < len(whole):
            step = steps[len(cut) % len(steps)]
            cut.append(whole[at : at + step])
            at += step
        assert lines_of(cut) == lines_of([whole])
        assert all(len(line) <= 4 for line in lines_of(cut))


@given(st.binary())
def test_recorded_bytes_come_back_exactly(data: bytes) -> None:
    assert recording.unpack_bytes(recording.pack_bytes(data)) == data


@given(st.binary(), st.binary(), st.integers(0, 255), st.lists(st.text()))
def test_a_recorded_command_comes_back_exactly(out: bytes, err: bytes, code: int, argv: list[str]) -> None:
    result = Completed(tuple(argv), code, out, err, 0.25, signal_of(code))
    assert recording.unpack_completed(recording.pack_completed(result)) == result


@pytest.mark.parametrize(
    "error",
    [
        base.LinkLost("a", detail="b", fix="c"),
        base.DeadlineExceeded("a", partial=b"\xff half"),
        base.NotReady("a", state=DeviceState.UNAUTHORIZED, fix="tap"),
        base.HostKeyUnknown("a", fingerprint="SHA256:x", changed=True, line="h k v"),
        base.RemoteFileError("a", detail="No such file"),
        base.TransferMismatch("a"),
        base.Unsupported("a"),
        base.TransportError("a"),
    ],
)
def test_a_recorded_error_comes_back_with_its_words(error: TransportError) -> None:
    again = recording.unpack_error(recording.pack_error(error))
    assert type(again) is type(error)
    assert again.retry == error.retry
    assert {**vars(error), "retry": error.retry} == vars(again)
