"""What the interface says: short messages, errors that stay, paths that can be copied, and work beside the screen."""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Coroutine, Mapping
from typing import Any

from textual.app import App
from textual.notifications import SeverityLevel

from entity_tui.errors import EntityError
from entity_tui.logbook import Level
from entity_tui.session import Session
from entity_tui.widgets.text import plain

MESSAGE_S = 5.0
MESSAGES_AT_ONCE = 3
SEVERITIES: Mapping[Level, SeverityLevel] = {
    Level.INFO: "information",
    Level.WARNING: "warning",
    Level.ERROR: "error",
}


class TalkingApp(App[None]):
    """An application over a session that reports each action's result once, where it was taken."""

    def __init__(self, session: Session) -> None:
        super().__init__()
        self.session = session
        self._said: deque[float] = deque(maxlen=MESSAGES_AT_ONCE)
        self._errors_shown = 0
        self._path = ""
        self.drawing_errors: list[str] = []
        """Mistakes of our own that were met while drawing, each once."""

    def say(self, text: str, *, level: Level = Level.INFO, log: bool = False) -> None:
        """A short message for five seconds, three at most; `log` also writes it down."""
        now = time.monotonic()
        if len(self._said) == MESSAGES_AT_ONCE and now - self._said[0] < MESSAGE_S:
            self.clear_notifications()
            self._said.clear()
        self._said.append(now)
        stays = level is Level.ERROR
        self.notify(plain(text), severity=SEVERITIES[level], timeout=86_400 if stays else MESSAGE_S, markup=False)
        self._errors_shown += stays
        if log:
            self.session.log.add("interface", plain(text), level)

    def complain(self, error: EntityError) -> None:
        """An error with its fix; it stays until `esc`, and goes to the log unless the session wrote it down already."""
        self.say(" ".join(part for part in (error.title, error.fix) if part), level=Level.ERROR)
        words = plain(str(error))
        if not any(plain(line.text) == words for line in self.session.log.tail(3)):
            self.session.log.error("interface", words)

    def dismiss_errors(self) -> bool:
        """Remove messages that stay; True when there were any."""
        if not self._errors_shown:
            return False
        self._errors_shown = 0
        self.clear_notifications()
        return True

    def drawing_failed(self, error: Exception) -> None:
        """Write down a mistake of our own in drawing, once for each kind."""
        kind = f"{type(error).__name__}: {error}"
        if kind in self.drawing_errors:
            return
        self.drawing_errors.append(kind)
        logging.getLogger("entity_tui.screens").error("a panel could not be drawn", exc_info=error)
        self.session.log.error("interface", plain(f"a panel could not be drawn: {kind}; please report the log file"))

    def show_path(self, path: str) -> None:
        """Say where a file went; the next `y` copies the path."""
        self._path = path
        self.say(f"exported to {path}  (y copies the path)", log=True)

    def take_path(self) -> str:
        """The path of the last export, once."""
        path, self._path = self._path, ""
        return path

    def attempt(self, work: Coroutine[Any, Any, str | None], name: str) -> None:
        """Run a piece of work beside the interface; its words or its error are shown once."""

        async def guarded() -> None:
            try:
                words = await work
            except EntityError as error:
                self.complain(error)
                return
            if words:
                self.say(words)

        self.run_worker(guarded(), name=name, exit_on_error=True)
