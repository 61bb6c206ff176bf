"""What a command is over every link: its words, its ends, and nothing in between that is ours."""

from __future__ import annotations

import hashlib

import pytest

from entity_tui.transport.base import DeadlineExceeded, Transport, TransportError
from tests.fixtures.tools import until

WORDS = [
    *(
        "plain",
        "",
        "two words",
        "  spaces  ",
        "quote'quote",
        'double"double',
        "back\\slash",
        "`tick`",
        "$HOME",
        "*",
        "~",
    ),
    *("!x", "#c", "line\nbreak", "tab\there", "Größe", "模型", "🦙", "-n", "--", "-e"),
]


async def test_arguments_reach_the_program_unchanged(link: Transport) -> None:
    result = await link.run(["sh", "-c", 'for w in "$@"; do printf "%s\\0" "$w"; done', "sh", *WORDS])
    assert result.stdout == b"".join(word.encode() + b"\0" for word in WORDS)
    assert result.argv[-len(WORDS) :] == tuple(WORDS)


async def test_exit_codes_arrive_as_they_were(link: Transport) -> None:
    for code in (0, 1, 2, 126, 127, 132, 137, 139, 255):
        result = await link.script(f"exit {code}")
        assert result.exit_code == code
        assert result.ok == (code == 0)


async def test_a_killed_command_tells_its_signal(link: Transport) -> None:
    for number in (4, 9, 11, 15):
        result = await link.run(["sh", "-c", f"kill -{number} $$"])
        assert (result.exit_code, result.signal) == (128 + number, number)


async def test_a_missing_program_is_127_with_the_shells_words(link: Transport) -> None:
    result = await link.run(["no-such-program-here"])
    assert result.exit_code == 127
    assert "no-such-program-here" in result.error_text


async def test_a_file_that_may_not_be_executed_is_126(link: Transport, folder: str) -> None:
    assert (await link.script('echo hello > "$1/data"; chmod 600 "$1/data"', args=[folder])).ok
    assert (await link.run([f"{folder}/data"])).exit_code == 126


async def test_stdout_and_stderr_stay_apart(link: Transport) -> None:
    result = await link.script("echo out; echo err >&2; echo out2; echo err2 >&2")
    assert (result.stdout, result.stderr) == (b"out\nout2\n", b"err\nerr2\n")


async def test_output_without_a_final_newline_stays_without(link: Transport) -> None:
    result = await link.script("printf 'no newline'; printf 'none here either' >&2")
    assert (result.stdout, result.stderr) == (b"no newline", b"none here either")


async def test_bytes_that_are_not_utf8_arrive_and_harm_nothing(link: Transport) -> None:
    result = await link.run(["printf", "\\377\\376\\000ok\\303("])
    assert result.stdout == b"\xff\xfe\x00ok\xc3("
    assert result.text == "��\0ok�("
    assert (await link.run(["echo", "still there"])).stdout == b"still there\n"


async def test_output_that_looks_like_our_own_marks_is_only_output(link: Transport) -> None:
    text = "entity-0123456789abcdef 4711\nX4EXIT:0\nboot x\npid 1\nEND\n"
    result = await link.run(["sh", "-c", 'printf "%s" "$1"; printf "%s" "$1" >&2', "sh", text])
    assert result.stdout.decode() == text
    assert result.stderr.decode() == text


async def test_input_arrives_whole_and_ends(link: Transport) -> None:
    data = bytes(range(256)) * 1024
    result = await link.run(["cat"], stdin=data)
    assert result.stdout == data


async def test_a_command_that_ignores_its_input_still_ends(link: Transport) -> None:
    result = await link.run(["echo", "done"], stdin=b"x" * 1_000_000)
    assert (result.exit_code, result.stdout) == (0, b"done\n")


async def test_without_input_a_command_reads_an_end_of_file(link: Transport) -> None:
    assert (await link.run(["cat"], timeout_s=10)).stdout == b""


async def test_a_script_gets_its_arguments_and_leaves_nothing(link: Transport) -> None:
    result = await link.script('echo "$#:$1:$2"; echo "$0" >/dev/null', args=["a b", "$x"])
    assert result.stdout == b"2:a b:$x\n"


async def test_a_script_longer_than_any_argument_runs(link: Transport) -> None:
    padding = "# filler that no shell cares about\n" * 6000
    result = await link.script(f'{padding}echo "end $1"\n{padding}', args=["reached"])
    assert (result.exit_code, result.stdout) == (0, b"end reached\n")


async def test_a_deadline_ends_the_command_and_keeps_what_came(link: Transport, folder: str) -> None:
    with pytest.raises(DeadlineExceeded) as caught:
        await link.script('echo $$ > "$1/pid"; echo early; sleep 60; echo late', args=[folder], timeout_s=1.5)
    assert caught.value.partial == b"early\n"
    assert caught.value.retry
    pid = (await link.read(f"{folder}/pid")).decode().strip()
    assert not (await link.run(["kill", "-0", pid])).ok


@pytest.mark.links("local", "ssh", "adb")
async def test_24_mib_of_output_arrive_whole(link: Transport) -> None:
    result = await link.script("head -c 25165824 /dev/zero | tr '\\0' x", timeout_s=100)
    assert len(result.stdout) == 24 * 1024 * 1024
    assert hashlib.sha256(result.stdout).hexdigest() == hashlib.sha256(b"x" * (24 << 20)).hexdigest()


@pytest.mark.links("local", "ssh", "adb")
async def test_many_commands_at_once_each_get_their_own_answer(link: Transport) -> None:
    import asyncio

    answers = await asyncio.gather(*(link.run(["sh", "-c", f"sleep 0.1; echo {n}"]) for n in range(12)))
    assert [answer.text for answer in answers] == [f"{n}\n" for n in range(12)]


@pytest.mark.links("local", "ssh", "adb")
async def test_output_without_end_is_cut_off_and_the_command_ended(
    link: Transport, folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("entity_tui.transport.channel.OUTPUT_LIMIT_BYTES", 3 << 20)
    with pytest.raises(TransportError) as caught:
        await link.script('echo $$ > "$1/pid"; cat /dev/zero', args=[folder])
    assert "more than can be kept" in caught.value.title
    assert not caught.value.retry
    pid = (await link.read(f"{folder}/pid")).decode().strip()

    async def gone() -> bool:
        return not (await link.run(["kill", "-0", pid])).ok

    await until(gone)
