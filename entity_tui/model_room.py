"""The models of the connected device as rows, read once for a device and again when asked."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from entity_tui import config
from entity_tui.errors import EntityError

if TYPE_CHECKING:
    from entity_tui.models.view import ModelRow
    from entity_tui.session import Session


class ModelRoom:
    """Rows of every model on the device, then of the catalog entries it lacks. Belongs to one event loop."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self.rows: tuple[ModelRow, ...] = ()
        self.free_space_bytes: int | None = None
        """What the device's models folder can still take, at the last reading."""
        self.sequence = 0
        """Grows when `rows` changes."""
        self.reading = False
        self.problem: EntityError | None = None
        """Why the device's models could not be read; the rows are then those of the reading before."""
        self._read_for: tuple[str, int] = ("", -1)

    @property
    def due(self) -> bool:
        """True when the device, or what was found on it, is not what the rows were read from."""
        view = self._session.view
        return bool(view.facts) and view.searched and not self.reading and self._read_for != self._key()

    def _key(self) -> tuple[str, int]:
        view = self._session.view
        return (view.spec, len(view.models))

    async def read(self) -> None:
        """Read the headers of the device's models over the link; never raises, `problem` says what went wrong."""
        from entity_tui.engine.own_catalog import load_catalog
        from entity_tui.model_survey import free_space_bytes, survey

        session, transport = self._session, self._session.transport
        if self.reading or transport is None or session.view.facts is None:
            return
        self.reading = True
        self._read_for = self._key()
        try:
            entries = await asyncio.to_thread(load_catalog, config.config_folder())
            self.rows = await survey(transport, entries, catalog=True, snapshot=session.view.snapshot)
            self.free_space_bytes = await free_space_bytes(transport)
            self.problem = None
            read = sum(row.census.read_bytes for row in self.rows if row.census is not None)
            here = sum(1 for row in self.rows if row.path)
            session.log.add(
                "models",
                f"{here} file{'' if here == 1 else 's'}: {read / 1e6:.1f} MB of headers read, nothing was pulled",
            )
        except EntityError as error:
            self.problem = error
            session.log.error("models", str(error))
        finally:
            self.reading = False
            self.sequence += 1
