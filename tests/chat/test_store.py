"""Conversations survive what happens to them: kills, branches, renames, newer files."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from entity_tui.chat.conversation import Message, ReplyCost, Role, fold_reasoning, title_of
from entity_tui.chat.export import to_json, to_markdown
from entity_tui.chat.guard import GuardSettings, delay_ms, due
from entity_tui.chat.memory import fit_turns
from entity_tui.chat.sse import EventReader
from entity_tui.chat.store import ConversationStore
from entity_tui.errors import UsageError


def test_another_answer_is_an_alternative_and_both_stay(tmp_path: Path) -> None:
    store = ConversationStore(tmp_path / "chat.db")
    talk = store.add(store.create(), Message(Role.USER, "Why?"))
    first = store.add(talk, Message(Role.ASSISTANT, "Because."))
    second = store.add(first.without_last_reply(), Message(Role.ASSISTANT, "No reason."))
    answers = store.alternatives(second, second.messages[-1])
    assert [answer.text for answer in answers] == ["Because.", "No reason."]
    assert store.load(talk.number).messages[-1].text == "No reason."
    assert store.choose(second, answers[0]).messages[-1].text == "Because."
    store.close()


def test_what_was_written_is_there_after_the_process_died(tmp_path: Path) -> None:
    store = ConversationStore(tmp_path / "chat.db")
    talk = store.add(store.create(), Message(Role.USER, "Count"))
    talk = store.add(talk, Message(Role.ASSISTANT, ""))
    growing = talk.messages[-1]
    store.update(talk, Message(Role.ASSISTANT, "one two", growing.number))
    # No close: as after a kill, another process opens the same file.
    again = ConversationStore(tmp_path / "chat.db")
    assert again.load(talk.number).messages[-1].text == "one two"
    again.close()
    store.close()


def test_search_finds_words_in_titles_and_turns(tmp_path: Path) -> None:
    store = ConversationStore(tmp_path / "chat.db")
    one = store.add(store.create(), Message(Role.USER, "Heat on phones"))
    store.add(one, Message(Role.ASSISTANT, "Throttling begins at the SKIN sensor."))
    store.add(store.create(), Message(Role.USER, "A poem"))
    assert [row.title for row in store.listed("skin")] == ["Heat on phones"]
    assert len(store.listed()) == 2
    assert store.delete(one.number)
    assert store.listed("skin") == ()
    store.close()


def test_a_file_of_a_newer_version_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "chat.db"
    base = sqlite3.connect(path)
    base.execute("pragma user_version = 99")
    base.close()
    with pytest.raises(UsageError, match="newer"):
        ConversationStore(path)


def test_an_export_names_model_backend_placement_and_speed(tmp_path: Path) -> None:
    store = ConversationStore(tmp_path / "chat.db")
    talk = store.add(store.create(model_name="SmolLM2 135M Q4_1"), Message(Role.USER, "Hi"))
    cost = ReplyCost(generated_tokens=11, decode_ms=500.0, variant="android_armv8.2_2", placement="perf cores 4-7")
    talk = store.add(talk, Message(Role.ASSISTANT, "Hello", cost=cost))
    text = to_markdown(talk)
    for part in ("SmolLM2 135M Q4_1", "android_armv8.2_2", "perf cores 4-7", "decode 20 tok/s", "Hello"):
        assert part in text
    assert json.loads(to_json(talk))["messages"][1]["cost"]["decode_tok_s"] == pytest.approx(20.0)
    store.close()


def test_the_guard_follows_the_published_rule() -> None:
    plain, efficient = GuardSettings(), GuardSettings(efficiency=True)
    assert [delay_ms(status, plain) for status in (None, 0, 1, 2, 3, 4, 6)] == [0, 0, 0, 6, 12, 12, 12]
    assert [delay_ms(status, efficient) for status in (0, 2, 3)] == [0, 12, 24]
    assert delay_ms(3, GuardSettings(automatic=False)) == 0
    assert [n for n in range(20) if due(n)] == [0, 8, 16]


def test_thinking_is_folded_while_and_after_it_is_open() -> None:
    assert fold_reasoning("<think>hm").thinking
    done = fold_reasoning("<think>hm</think>\n\nYes.")
    assert (done.reasoning, done.text, done.thinking) == ("hm", "Yes.", False)
    assert fold_reasoning("a <think> b").text == "a <think> b"


def test_titles_are_the_first_forty_characters() -> None:
    assert title_of("short\nline") == "short line"
    assert title_of("x" * 50) == "x" * 40 + "…"


@given(st.lists(st.integers(1, 400), min_size=1, max_size=30), st.integers(64, 4096))
def test_what_is_kept_fits_and_the_last_turn_always_stays(turns: list[int], context: int) -> None:
    fitted = fit_turns(turns, system_tokens=10, context_tokens=context, reserve_tokens=16)
    kept = turns[fitted.dropped_turns :]
    assert kept
    assert fitted.dropped_tokens == sum(turns[: fitted.dropped_turns])
    if fitted.fits:
        assert sum(kept) + 10 + 16 + 4 <= context
    else:
        assert len(kept) == 1


@given(st.lists(st.dictionaries(st.text(), st.text() | st.integers(), max_size=3), max_size=8), st.data())
def test_events_come_out_the_same_however_the_bytes_are_cut(rows: list[dict[str, object]], data: st.DataObject) -> None:
    stream = b"".join(b"data: " + json.dumps(row).encode() + b"\n\n" for row in rows)
    stream = b":\n\n" + stream + b"data: [DONE]\n\n"
    reader, seen, at = EventReader(), [], 0
    while at < len(stream):
        size = data.draw(st.integers(1, len(stream) - at))
        seen += reader.feed(stream[at : at + size])
        at += size
    assert seen == rows
    assert reader.done
    assert reader.offset == len(stream)
