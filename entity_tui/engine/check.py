"""Will this engine run here: machine, minimum CPU, libraries, the variant it loads, and one known answer."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from entity_tui.device.isa import IsaFeatures
from entity_tui.engine.build import LOOKALIKE, MANIFEST, EngineBuild, VariantList
from entity_tui.engine.elf import read_head
from entity_tui.engine.known_answer import ask_known_answer
from entity_tui.engine.launch_words import LaunchEnd, launch_words, stated_build
from entity_tui.engine.log_lines import KleidiAi, parse_log
from entity_tui.engine.minimum_isa import code_features, missing_features
from entity_tui.errors import EntityError
from entity_tui.models.on_device import ModelFile
from entity_tui.silicon.variants import LISTS, VariantVerdict, judge
from entity_tui.transport.base import RemoteFileError, Transport

_LAUNCH = r"""
# $1 folder of the programs, $2 of the libraries, $3 program, then its arguments. No other folder's variants may load.
d=$1 l=$2 p=$3
shift 3
cd "$d" || exit 127
GGML_NO_BACKTRACE=1 LD_LIBRARY_PATH="$l:$d" exec "$p" "$@" 2>&1
"""
_SINGLE_LIBRARY_BYTES = 64 << 20


class Result(StrEnum):
    """The outcome of one part of a check."""

    OK = "ok"
    FAILED = "failed"
    NOTE = "note"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True)
class CheckItem:
    """One part of a check in words; `fix` is empty when there is nothing to do."""

    name: str
    result: Result
    words: str
    fix: str = ""


@dataclass(frozen=True, slots=True)
class EngineCheck:
    """Everything a check found. `loaded` is from the loader's own line, `predicted` from the CPU's features."""

    engine: EngineBuild
    build: str
    predicted: str | None
    loaded: str | None
    verdicts: tuple[VariantVerdict, ...]
    items: tuple[CheckItem, ...]
    launched: bool
    """False when it was refused before anything was started."""
    simulated: bool = False

    @property
    def ok(self) -> bool:
        """True when no part failed."""
        return all(item.result is not Result.FAILED for item in self.items)


async def check_engine(
    transport: Transport, engine: EngineBuild, isa: IsaFeatures, *, model: ModelFile | None = None
) -> EngineCheck:
    """Check an engine on its device. Only the link's errors are raised; everything else is an item.

    Nothing is launched when the machine is another one or the CPU lacks what a single-variant build needs.
    """
    items: list[CheckItem] = []
    listed = LISTS.get(engine.variant_list.value)
    verdicts, predicted = judge(isa, listed) if listed is not None else ((), None)
    shipped = tuple(verdict for verdict in verdicts if verdict.name in engine.variants)
    if shipped and predicted not in engine.variants:
        usable = [verdict for verdict in shipped if verdict.eligible]
        predicted = max(usable, key=lambda verdict: verdict.score).name if usable else None

    def done(build: str, loaded: str | None, *, launched: bool) -> EngineCheck:
        return EngineCheck(engine, build, predicted, loaded, shipped, tuple(items), launched, transport.simulated)

    items.append(await _machine(transport, engine, isa))
    items.append(await _minimum(transport, engine, isa))
    if any(item.result is Result.FAILED for item in items):
        return done(engine.build, None, launched=False)
    output, launch = await _loader(transport, engine)
    items.append(launch)
    loaded = parse_log(output).variant or None
    items.append(_variant(engine, predicted, loaded))
    build = stated_build(await _version(transport, engine)) or engine.build
    items.append(CheckItem("build", Result.OK if build != "unknown" else Result.NOTE, f"{engine.name} {build}"))
    if launch.result is Result.OK:
        items += await _answer(transport, engine, model)
    return done(build, loaded, launched=True)


async def _launch(transport: Transport, engine: EngineBuild, program: str, *arguments: str) -> tuple[int, str]:
    """Exit status and everything printed."""
    path = engine.program(program)
    if path is None:
        return 127, f"{program} is not in {engine.directory}"
    folder = path.rsplit("/", 1)[0]
    libraries = f"{folder.removesuffix('/bin')}/lib" if folder.endswith("/bin") else folder
    done = await transport.script(_LAUNCH, args=(folder, libraries, path, *arguments), timeout_s=120.0)
    return done.exit_code, (done.stdout + done.stderr).decode("utf-8", "replace")


async def _machine(transport: Transport, engine: EngineBuild, isa: IsaFeatures) -> CheckItem:
    path = next(iter(engine.executables.values()), None)
    if path is None:
        return CheckItem("machine", Result.FAILED, "no program in the folder", "Install the engine again.")
    try:
        head = read_head(await transport.read(path, limit=64))
    except RemoteFileError as error:
        return CheckItem("machine", Result.NOTE, f"the program cannot be read: {error.detail}")
    if head is None:
        return CheckItem("machine", Result.NOTE, "a script, not a program of its own")
    if not isa.architecture or head.machine == isa.architecture:
        return CheckItem("machine", Result.OK, head.machine)
    if transport.simulated:
        return CheckItem("machine", Result.NOTE, f"{head.machine} on a simulated {isa.architecture}")
    return CheckItem(
        "machine",
        Result.FAILED,
        f"built for {head.machine}, the device is {isa.architecture}",
        "Phones need the android-arm64 archive of a llama.cpp release.",
    )


async def _minimum(transport: Transport, engine: EngineBuild, isa: IsaFeatures) -> CheckItem:
    """A build without variants must not be launched on a CPU that lacks what its code uses."""
    if engine.name == LOOKALIKE or engine.variant_list not in (VariantList.SINGLE, VariantList.UNKNOWN):
        return CheckItem("minimum CPU", Result.OK, f"chosen at load time among {len(engine.variants)} variants")
    needs = await _stated_needs(transport, engine)
    library = next((name for name in engine.libraries if name.startswith("libggml-cpu")), None)
    if needs is None and library is not None:
        try:
            content = await transport.read(f"{engine.directory}/{library}", limit=_SINGLE_LIBRARY_BYTES)
            needs = code_features(content)
        except RemoteFileError:
            needs = None
    if needs is None:
        return CheckItem("minimum CPU", Result.NOTE, "the build's CPU library could not be read")
    missing = missing_features(needs, isa)
    words = ", ".join(sorted(needs)) or "nothing beyond the base"
    if missing:
        return CheckItem(
            "minimum CPU",
            Result.FAILED,
            f"its code uses {words}; this CPU lacks {', '.join(missing)}",
            "Use the archive with CPU variants (android-arm64); this one would end with SIGILL.",
        )
    return CheckItem("minimum CPU", Result.OK, f"single variant, uses {words}")


async def _stated_needs(transport: Transport, engine: EngineBuild) -> frozenset[str] | None:
    """What the manifest of an installation of ours says; None without one."""
    import json

    try:
        stated = json.loads(await transport.read(f"{engine.directory}/{MANIFEST}", limit=1 << 20))
        needs = stated.get("needs")
    except (RemoteFileError, ValueError, AttributeError):
        return None
    return frozenset(map(str, needs)) if isinstance(needs, list) else None


async def _loader(transport: Transport, engine: EngineBuild) -> tuple[str, CheckItem]:
    """Launch the program just far enough that it loads its CPU backend."""
    flag = "--version" if engine.name == LOOKALIKE else "--list-devices"
    program = "llama-bench" if engine.program("llama-bench") else "llama-server"
    code, output = await _launch(transport, engine, program, flag)
    words = launch_words(code, output)
    if words.end is LaunchEnd.OK:
        return output, CheckItem("launch", Result.OK, f"{program} {flag} ended with 0")
    detail = f"{words.end.value}: {words.detail}" if words.detail else words.end.value
    fix = words.fix
    if transport.simulated and words.end is LaunchEnd.OTHER_MACHINE:
        fix = "A simulated phone runs engines of this computer; give it a real one with entity-tui sim --engine."
    return output, CheckItem("launch", Result.FAILED, detail, fix)


def _variant(engine: EngineBuild, predicted: str | None, loaded: str | None) -> CheckItem:
    if engine.name == LOOKALIKE:
        return CheckItem("variant", Result.NOTE, "unknown: the package does not say which it uses")
    if loaded is None:
        return CheckItem("variant", Result.NOTE, "the loader did not say which variant it took")
    if predicted is None or engine.variant_list not in (VariantList.ANDROID, VariantList.LINUX):
        return CheckItem("variant", Result.OK, f"loaded {loaded}")
    if predicted == loaded:
        return CheckItem("variant", Result.OK, f"loaded {loaded}, as predicted")
    return CheckItem(
        "variant", Result.FAILED, f"loaded {loaded}, predicted {predicted}", "Report this device: topology."
    )


async def _version(transport: Transport, engine: EngineBuild) -> str:
    program = "llama-server" if engine.program("llama-server") else "llama-bench"
    return (await _launch(transport, engine, program, "--version"))[1]


async def _answer(transport: Transport, engine: EngineBuild, model: ModelFile | None) -> list[CheckItem]:
    """The known answer and, from the same server's log, what became of KleidiAI."""
    if model is None:
        return [CheckItem("known answer", Result.SKIPPED, "no model on the device", "entity-tui models push FILE")]
    if engine.program("llama-server") is None:
        return [CheckItem("known answer", Result.SKIPPED, "this engine has no llama-server")]
    try:
        answer = await ask_known_answer(transport, engine, model)
    except EntityError as error:
        words = " ".join(part for part in (error.title, error.detail) if part)
        return [CheckItem("known answer", Result.FAILED, f"{model.name}: {words}", error.fix)]
    kleidiai = CheckItem("KleidiAI", Result.NOTE, kleidiai_words(answer.kleidiai, model.name))
    if answer.right:
        return [CheckItem("known answer", Result.OK, f"{model.name}: {answer.text!r}"), kleidiai]
    failed = CheckItem(
        "known answer",
        Result.FAILED,
        f"{model.name} went on with {answer.text!r}, not with {answer.expected}",
        "Try another model; if that fails too, this build computes wrongly here.",
    )
    return [failed, kleidiai]


def kleidiai_words(found: KleidiAi, model: str) -> str:
    """KleidiAI's answers as a log gave them: in the build, and run for this file."""
    if found.in_build is None:
        return "the log does not say whether it is in this build"
    if not found.in_build:
        return "not in this build"
    ran = "ran" if found.ran else "did not run" if found.ran is False else "was not seen running"
    missing = f"; no kernel for {', '.join(found.missing_for)}" if found.missing_for else ""
    return f"in this build, {ran} for {model}{missing}"
