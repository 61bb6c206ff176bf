"""Changing what is stored: tags, and deleting a run after a question that names it."""

from __future__ import annotations

from entity_tui.errors import EntityError, UsageError
from entity_tui.records.store import RunStore
from entity_tui.screens.dialogs import ConfirmScreen, PromptScreen
from entity_tui.screens.frame_screen import FrameScreen
from entity_tui.screens.history_values import HistoryRow
from entity_tui.widgets.text import plain


class StoredRunsScreen(FrameScreen):
    """A screen over the run store with a row under its cursor."""

    def __init__(self) -> None:
        super().__init__()
        self.marks: list[str] = []
        """Keys of the marked rows, `session/arm`, a before b."""

    def store(self) -> RunStore:
        """The session's run store; EntityError or OSError when the disk refuses."""
        return self.session.store

    def chosen(self) -> HistoryRow | None:
        """The row under the cursor."""
        return None

    def reread(self) -> None:
        """Read the store again and draw."""

    def action_tag(self) -> None:
        """Ask for the tags of a run."""
        row = self.chosen()
        if row is None:
            return

        def typed(words: str | None) -> None:
            if words is None:
                return
            try:
                tags = self.store().tag(row.entry.session_id, words.replace(",", " ").split())
                self.entity.say(f"tags of {row.entry.session_id}: {', '.join(map(plain, tags)) or 'none'}")
            except EntityError as error:
                self.entity.complain(error)
            self.reread()

        self.app.push_screen(PromptScreen(f"tags of {row.entry.session_id}", " ".join(row.entry.tags)), typed)

    def action_delete(self) -> None:
        """Delete a run after a question that names it."""
        row = self.chosen()
        if row is None:
            return
        entry = row.entry
        words = f"{entry.session_id}: {plain(entry.kind)} of {plain(entry.model)} on {plain(entry.device)}"

        def answered(yes: bool | None) -> None:
            if not yes:
                return
            try:
                self.store().delete(entry.session_id)
                self.marks = [key for key in self.marks if not key.startswith(f"{entry.session_id}/")]
                self.entity.say(f"deleted {entry.session_id}", log=True)
            except (EntityError, OSError) as error:
                self.entity.complain(error if isinstance(error, EntityError) else UsageError(str(error)))
            self.reread()

        question = ConfirmScreen("Delete this run for good?", (words, "All its files go; other runs stay."), "delete")
        self.app.push_screen(question, answered)
