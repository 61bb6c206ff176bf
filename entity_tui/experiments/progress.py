"""Keeps the live view of a run up to date: journal events and rows in, one immutable RunView out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from entity_tui.analysis.session import SessionAnalysis
from entity_tui.digits import whole
from entity_tui.errors import EntityError
from entity_tui.experiments.estimate import Estimate
from entity_tui.experiments.live import CellPhase, CurrentCell, GateLine, RunLog, RunView
from entity_tui.experiments.plan import Plan, PlannedCell
from entity_tui.experiments.render import gate_limit_c
from entity_tui.experiments.states import states
from entity_tui.experiments.tables import analysis_of, arm_rows, diagnostics, factor_rows, pair_rows, sentences
from entity_tui.records.journal_events import CellEvent, Event, EventKind, GateEvent, LaunchEnd
from entity_tui.records.schema import Phase, Role, Row

LOG_KEPT = 500
BLOCKED_WORDS = {"temp": "temperature", "status": "throttle status", "clock": "clock cap", "sensor": "no sensor"}


def now_utc() -> str:
    """The host's time, ISO 8601 in UTC, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")


class RunProgress:
    """Folds what happens into `view`; each call replaces it. Belongs to one run and one event loop."""

    def __init__(
        self,
        plan: Plan,
        session_id: str,
        *,
        estimate: Estimate | None = None,
        start_c: float | None = None,
        simulated: bool = False,
        clock_factor: float = 1.0,
        plan_lines: Sequence[str] = (),
        directory: Path | None = None,
    ) -> None:
        self.plan = plan
        self.rows: list[Row] = []
        self.analysis: SessionAnalysis | None = None
        self._target_c = gate_limit_c(plan.gate, start_c)
        self._planned = dict(enumerate(plan.cells, start=1))
        self._ended: set[int] = set()
        self._cell_s: list[float] = []
        self._cell_began_s: float | None = None
        self._cell_factor = clock_factor if simulated else 1.0
        expected = None if estimate is None else (estimate.low_s + estimate.high_s) / 2
        self.view = RunView(
            session_id=session_id,
            title=plan.title,
            experiment=plan.experiment,
            plan_hash=plan.plan_hash,
            plan_lines=tuple(plan_lines),
            arms=arm_rows(plan, ()),
            gates=self._gates(None),
            blocks_planned=plan.blocks,
            cells_planned=len(plan.cells),
            eta_s=expected,
            model_name=plan.model.name,
            engine_name=f"{plan.engine.name} {plan.engine.build}",
            n_prompt=plan.n_prompt,
            n_gen=plan.n_gen,
            seed=plan.seed,
            simulated=simulated,
            clock_factor=clock_factor,
            directory=directory,
        )

    def change(self, **values: object) -> RunView:
        """Replace fields of the view and return it, one sequence number higher."""
        self.view = replace(self.view, sequence=self.view.sequence + 1, **values)  # type: ignore[arg-type]
        return self.view

    def log(self, text: str, level: str = "info") -> None:
        """One line for the run's own log."""
        line = RunLog(now_utc(), level, text)
        self.change(log=(*self.view.log, line)[-LOG_KEPT:])

    def apply(self, event: Event) -> RunView:
        """Take in one journal event. Rows come separately, through `add_rows`."""
        if isinstance(event, GateEvent):
            self._gate_ended(event)
        elif isinstance(event, LaunchEnd):
            self._launch_ended(event)
        elif isinstance(event, CellEvent):
            self._cell_ended(event)
        elif event.kind is EventKind.CELL_START:
            self._cell_started(event)
        elif event.kind is EventKind.BEAT:
            self._beat(event)
        elif event.kind is EventKind.LAUNCH:
            self._launched(event)
        elif event.kind is EventKind.RESERVE:
            self.log(f"a spare block is appended: {event.detail or event.fields.get('block', '')}".strip(), "warning")
        elif event.kind in (EventKind.REFUSED, EventKind.STOP):
            reason = event.fields.get("reason") or event.fields.get("state") or ""
            self.log(f"{event.kind.value}: {reason} {event.detail}".strip(), "warning")
        elif event.kind is EventKind.RUN_START:
            self.log(f"the runner started on the device, plan {self.plan.plan_hash[:12]}, seed {self.plan.seed}")
        return self.view

    def _cell(self, event: Event) -> PlannedCell | None:
        return self._planned.get(event.cell or 0)

    def _where(self, event: Event) -> str:
        arm = event.fields.get("arm") or (self.view.current.arm if self.view.current else "")
        block = event.fields.get("block") or (str(self.view.current.block) if self.view.current else "")
        return "warm-up" if block == "0" else f"block {block}, {arm}"

    def _cell_started(self, event: Event) -> None:
        planned = self._cell(event)
        fields = event.fields
        arm = fields.get("arm") or (planned.arm if planned else "")
        block = whole(fields.get("block")) or (planned.block if planned else 0)
        position = whole(fields.get("pos")) or (planned.position if planned else 0)
        self._cell_began_s = event.t_boot_s
        current = CurrentCell(
            arm=arm,
            block=block,
            position=position,
            phase=CellPhase.GATE,
            role=planned.role if planned else Role.MEASURE,
            gate_waited_s=0.0,
            gate_left_s=self.plan.gate.minimum_s,
            gate_limit_s=self.plan.gate.limit_s,
            target_c=self._target_c,
        )
        running = "" if current.role == Role.WARMUP else arm
        self.change(current=current, arms=arm_rows(self.plan, self.rows, running))

    def _beat(self, event: Event) -> None:
        current = self.view.current
        if current is None:
            return
        if event.fields.get("phase") == "gate":
            waited = _float(event.fields.get("waited"))
            waited = None if waited is None else waited / 100.0
            temp = _float(event.fields.get("temp"))
            blocked = event.fields.get("blocked", "")
            left = None if waited is None else max(0.0, self.plan.gate.minimum_s - waited)
            self.change(
                current=replace(
                    current, phase=CellPhase.GATE, gate_waited_s=waited, gate_left_s=left, temperature_c=temp
                ),
                gates=self._gates(temp, blocked),
            )
        self.change(eta_s=self._eta())

    def _gate_ended(self, event: GateEvent) -> None:
        self.change(gates=self._gates(event.temp_c, "", event.throttle_status))
        word = gate_word(event)
        if word not in ("passed", "gate_skipped"):
            found = states().get(word)
            self.log(f"{self._where(event)}: {found.sentence if found else word}", "warning")

    def _launched(self, event: Event) -> None:
        current = self.view.current
        phase = event.fields.get("phase", "")
        if current is not None:
            word = CellPhase.PREFILL if phase == Phase.PREFILL else CellPhase.DECODE
            self.change(current=replace(current, phase=word, gate_left_s=None))

    def _launch_ended(self, event: LaunchEnd) -> None:
        seen = [thread for thread in event.threads if thread.grew] or list(event.threads)
        if event.mask_ok is None:
            words = f"{event.phase}: no thread could be read back"
        else:
            fits = sum(1 for thread in seen if thread.mask == (event.mask_requested or thread.mask))
            asked = "as asked" if event.mask_ok else f"asked for {event.mask_requested}"
            words = (
                f"{event.phase}: {fits} of {len(seen)} threads on {event.mask_applied or 'different masks'}, {asked}"
            )
        self.change(readback=words)
        if event.mask_ok is False:
            self.log(f"{self._where(event)}: {words}", "error")

    def _cell_ended(self, event: CellEvent) -> None:
        if event.cell is not None:
            self._ended.add(event.cell)
        if self._cell_began_s is not None and event.role != Role.WARMUP:
            self._cell_s.append((event.t_boot_s - self._cell_began_s) / self._cell_factor)
        done = self._blocks_done()
        self.change(current=None, cells_done=len(self._ended), blocks_done=done, eta_s=self._eta())

    def _blocks_done(self) -> int:
        by_block: dict[int, list[bool]] = {}
        for number, cell in self._planned.items():
            if cell.block:
                by_block.setdefault(cell.block, []).append(number in self._ended)
        return sum(1 for ended in by_block.values() if all(ended))

    def _eta(self) -> float | None:
        left = len(self.plan.cells) - len(self._ended)
        if not self._cell_s:
            return self.view.eta_s
        return max(0.0, left * sum(self._cell_s) / len(self._cell_s))

    def _gates(self, temp_c: float | None, blocked: str = "", status: int | None = None) -> tuple[GateLine, ...]:
        gate = self.plan.gate
        if gate.skip:
            return (GateLine("gate", None, "no gate in this experiment: it wants the heat"),)
        stops = [BLOCKED_WORDS.get(word, word) for word in blocked.split(",") if word]
        heat = None if temp_c is None else temp_c <= self._target_c
        text = f"{gate.sensor} ≤ {self._target_c:.1f} °C"
        if temp_c is not None:
            text = f"{gate.sensor} {temp_c:.1f} {'≤' if heat else '>'} {self._target_c:.1f} °C"
        lines = [GateLine("temperature", heat, text)]
        if gate.throttle_none:
            calm = None if status is None and not stops else "throttle status" not in stops and not status
            lines.append(GateLine("throttle", calm, "throttle status none"))
        lines.append(GateLine("clocks", "clock cap" not in stops if stops else None, "clocks not capped"))
        lines.append(GateLine("wait", None, f"at least {gate.minimum_s:g} s, at most {gate.limit_s:g} s"))
        return tuple(lines)

    def add_rows(self, rows: Sequence[Row]) -> RunView:
        """Rows of one finished cell: tables, factors and sentences follow."""
        self.rows += rows
        for row in rows[:1]:
            measured = ", ".join(
                f"{item.metric} {item.value:.3g} {item.unit or ''}".rstrip()
                for item in rows
                if item.value is not None and item.metric.endswith("tok_s")
            )
            level = "info" if row.state in ("ok", "warmup") else "warning"
            name = "warm-up" if row.role == Role.WARMUP else f"block {row.block}, {row.arm}"
            self.log(f"{name}: {row.state}{', ' + measured if measured else ''}", level)
            if level == "warning":
                self.log(f"{states()[row.state].sentence} {row.state_detail or ''}".strip(), "warning")
        return self.refresh()

    def refresh(self) -> RunView:
        """Build tables and verdicts again from all rows."""
        plan = self.plan
        running = self.view.current.arm if self.view.current is not None else ""
        self.change(arms=arm_rows(plan, self.rows, running))
        try:
            self.analysis = analysis_of(plan, self.rows)
        except EntityError as error:
            self.change(verdicts=(f"No analysis: {error}",))
            return self.view
        baseline = plan.comparisons[0].baseline if plan.comparisons else plan.runnable[0].arm_id
        return self.change(
            factors=factor_rows(plan, self.analysis),
            pairs=pair_rows(plan, self.rows, self.analysis, baseline),
            verdicts=sentences(self.analysis),
            diagnostics=diagnostics(self.analysis),
        )

    def finish(self, outcome: str, csv_path: Path | None) -> RunView:
        """The last view of the run."""
        self.refresh()
        return self.change(
            finished=True, outcome=outcome, current=None, eta_s=0.0 if outcome == "done" else None, csv_path=csv_path
        )


def gate_word(event: GateEvent) -> str:
    """How a gate ended, in the word of the journal; an unknown one as it stands there."""
    return event.outcome.value if event.outcome is not None else event.fields.get("outcome", "")


def _float(text: str | None) -> float | None:
    try:
        return None if text is None or text == "" else float(text)
    except ValueError:
        return None
