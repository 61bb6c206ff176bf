"""Conversations on disk: one SQLite file, every sealed segment of a reply written as it is shown."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from entity_tui.chat.conversation import Conversation, Message, ReplyCost, Role, title_of
from entity_tui.errors import UsageError

SCHEMA = 1

CREATE = """
create table conversations (
  number integer primary key, title text not null, system text not null, model_name text not null,
  created_utc text not null, updated_utc text not null, leaf integer not null default 0
);
create table messages (
  number integer primary key, conversation integer not null references conversations(number) on delete cascade,
  parent integer not null, role text not null, text text not null, reasoning text not null default '',
  truncated integer not null default 0, cost text not null default '', created_utc text not null
);
create index messages_of on messages(conversation, parent);
"""


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")


@dataclass(frozen=True, slots=True)
class Listed:
    """One line of the list of conversations."""

    number: int
    title: str
    updated_utc: str
    model_name: str
    turns: int


class ConversationStore:
    """All conversations of this user. Every call is one transaction; a kill costs nothing that was shown."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._base = sqlite3.connect(path)
        self._base.execute("pragma journal_mode = wal")
        self._base.execute("pragma foreign_keys = on")
        (version,) = self._base.execute("pragma user_version").fetchone()
        if version > SCHEMA:
            raise UsageError(
                f"{path} was written by a newer entity-tui", fix="use that version, or move the file aside"
            )
        if version == 0:
            with self._base:
                self._base.executescript(CREATE)
                self._base.execute(f"pragma user_version = {SCHEMA}")

    def close(self) -> None:
        """Let go of the file."""
        self._base.close()

    @contextmanager
    def _change(self, conversation: int) -> Iterator[sqlite3.Connection]:
        with self._base:
            yield self._base
            self._base.execute("update conversations set updated_utc = ? where number = ?", (_now(), conversation))

    def create(self, *, system: str = "", model_name: str = "", title: str = "") -> Conversation:
        """A new, empty conversation."""
        now = _now()
        with self._base:
            made = self._base.execute(
                "insert into conversations(title, system, model_name, created_utc, updated_utc) values (?,?,?,?,?)",
                (title, system, model_name, now, now),
            )
        assert made.lastrowid is not None
        return Conversation(made.lastrowid, title, system, now, now, model_name)

    def add(self, conversation: Conversation, message: Message) -> Conversation:
        """Keep one more turn behind the last one; the first user turn gives an untitled conversation its title."""
        parent = conversation.messages[-1].number if conversation.messages else 0
        now = _now()
        with self._change(conversation.number) as base:
            made = base.execute(
                "insert into messages(conversation, parent, role, text, reasoning, truncated, cost, created_utc)"
                " values (?,?,?,?,?,?,?,?)",
                (
                    conversation.number,
                    parent,
                    message.role.value,
                    message.text,
                    message.reasoning,
                    int(message.truncated),
                    _cost_text(message.cost),
                    now,
                ),
            )
            assert made.lastrowid is not None
            base.execute("update conversations set leaf = ? where number = ?", (made.lastrowid, conversation.number))
        kept = replace(message, number=made.lastrowid, parent=parent, created_utc=now)
        if not conversation.title and message.role is Role.USER:
            conversation = self.rename(conversation, title_of(message.text))
        return conversation.adding(kept)

    def update(self, conversation: Conversation, message: Message) -> None:
        """Write the text, flags and cost of a turn that is being made."""
        with self._change(conversation.number) as base:
            base.execute(
                "update messages set text = ?, reasoning = ?, truncated = ?, cost = ? where number = ?",
                (message.text, message.reasoning, int(message.truncated), _cost_text(message.cost), message.number),
            )

    def rename(self, conversation: Conversation, title: str) -> Conversation:
        """Give it another title."""
        with self._change(conversation.number) as base:
            base.execute("update conversations set title = ? where number = ?", (title, conversation.number))
        return replace(conversation, title=title)

    def set_system(self, conversation: Conversation, system: str) -> Conversation:
        """Change the system prompt; what the server has cached of this conversation no longer counts."""
        with self._change(conversation.number) as base:
            base.execute("update conversations set system = ? where number = ?", (system, conversation.number))
        return replace(conversation, system=system)

    def delete(self, number: int) -> bool:
        """Remove one conversation with all its turns; False when there is none."""
        with self._base:
            gone = self._base.execute("delete from conversations where number = ?", (number,))
        return gone.rowcount > 0

    def listed(self, search: str = "") -> tuple[Listed, ...]:
        """Newest first; with `search`, those whose title or any turn contains it, case folded."""
        rows = self._base.execute(
            "select c.number, c.title, c.updated_utc, c.model_name,"
            " (select count(*) from messages m where m.conversation = c.number)"
            " from conversations c where ? = '' or instr(lower(c.title), lower(?)) or exists"
            " (select 1 from messages m where m.conversation = c.number and instr(lower(m.text), lower(?)))"
            " order by c.updated_utc desc, c.number desc",
            (search, search, search),
        )
        return tuple(Listed(*row) for row in rows)

    def load(self, number: int) -> Conversation:
        """One conversation along its chosen alternatives. UsageError for an unknown number."""
        row = self._base.execute(
            "select number, title, system, created_utc, updated_utc, model_name, leaf from conversations"
            " where number = ?",
            (number,),
        ).fetchone()
        if row is None:
            raise UsageError(f"there is no conversation {number}", fix="entity-tui chat --list shows them")
        messages: list[Message] = []
        at = row[6]
        while at:
            message = self._message(at)
            if message is None:
                break
            messages.append(message)
            at = message.parent
        return Conversation(row[0], row[1], row[2], row[3], row[4], row[5], tuple(reversed(messages)))

    def find(self, title: str) -> Conversation | None:
        """The newest conversation of exactly this title, for `--session NAME`."""
        row = self._base.execute(
            "select number from conversations where title = ? order by updated_utc desc limit 1", (title,)
        ).fetchone()
        return self.load(row[0]) if row else None

    def alternatives(self, conversation: Conversation, message: Message) -> tuple[Message, ...]:
        """All answers to the same turn, oldest first."""
        rows = self._base.execute(
            "select number from messages where conversation = ? and parent = ? and role = ? order by number",
            (conversation.number, message.parent, message.role.value),
        ).fetchall()
        return tuple(found for (number,) in rows if (found := self._message(number)) is not None)

    def choose(self, conversation: Conversation, message: Message) -> Conversation:
        """Make `message` (and the newest turns behind it) the thread."""
        leaf = message.number
        while True:
            row = self._base.execute("select max(number) from messages where parent = ?", (leaf,)).fetchone()
            if row[0] is None:
                break
            leaf = row[0]
        with self._change(conversation.number) as base:
            base.execute("update conversations set leaf = ? where number = ?", (leaf, conversation.number))
        return self.load(conversation.number)

    def _message(self, number: int) -> Message | None:
        row = self._base.execute(
            "select role, text, number, parent, created_utc, truncated, reasoning, cost from messages where number = ?",
            (number,),
        ).fetchone()
        if row is None:
            return None
        return Message(Role(row[0]), row[1], row[2], row[3], row[4], bool(row[5]), row[6], _cost(row[7]))


def _cost_text(cost: ReplyCost | None) -> str:
    return "" if cost is None else json.dumps(asdict(cost), separators=(",", ":"))


def _cost(text: str) -> ReplyCost | None:
    if not text:
        return None
    known = ReplyCost.__dataclass_fields__
    return ReplyCost(**{key: value for key, value in json.loads(text).items() if key in known})
