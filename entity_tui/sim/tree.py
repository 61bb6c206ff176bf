"""Builds the folder that becomes a simulated phone's root: programs, invented kernel files, and what is planted."""

from __future__ import annotations

import os
import re
import shutil
import sys
from dataclasses import dataclass
from fnmatch import fnmatchcase
from importlib import resources
from pathlib import Path

from entity_tui.errors import EntityError
from entity_tui.sim.bench import VARIANT_NEEDS
from entity_tui.sim.enclosure import Boot
from entity_tui.sim.profile import PhoneImage
from entity_tui.sim.real_engine import Architecture, RealEngine, cpu_model_for, lend_qemu, planted

STAND_INS = ("getprop", "setprop", "dumpsys", "cmd", "settings", "svc", "taskset", "nproc", "nap", "uname", "reboot")
CLOCKED = ("sleep", "usleep", "timeout")
"""Programs that wait: with a compressed clock they wait in the phone's time."""

ENGINE_FOLDER = "/data/local/tmp/llama.cpp"

TOOLS = {"toybox": "toybox", "busybox": "busybox"}
SHELLS = {"mksh": "mksh", "dash": "dash", "ash": "busybox"}
SHELL_ORDER = ("mksh", "dash", "ash")
TOOL_ORDER = ("toybox", "busybox", "coreutils")


class NoShell(EntityError):
    """None of the shells a phone can run on is installed on this computer."""


@dataclass(frozen=True, slots=True)
class Programs:
    """Which shell and which tools the phone runs on."""

    shell: str
    tools: str


def choose_programs(shell: str | None = None, tools: str | None = None) -> Programs:
    """The wanted shell and tools, or the nearest to Android that are installed. Raises NoShell."""
    shells = [name for name in SHELL_ORDER if shutil.which(SHELLS[name])]
    sets = [name for name in TOOL_ORDER if name == "coreutils" or shutil.which(TOOLS[name])]
    if (shell is not None and shell not in shells) or not shells:
        if not sys.platform.startswith("linux") and shell is None:
            return Programs("sh", "coreutils")
        raise NoShell(f"the shell {shell or 'mksh'} is not installed here", fix="install mksh, dash or busybox")
    if tools is not None and tools not in sets:
        raise NoShell(f"the tools {tools} are not installed here", fix=f"install {tools}")
    return Programs(shell or shells[0], tools or sets[0])


def build_tree(
    image: PhoneImage,
    folder: Path,
    programs: Programs,
    factor: float,
    engine: RealEngine | None = None,
    qemu_cpu: str = "",
) -> Boot:
    """Fill `folder` and return what process 1 mounts: `folder/root` becomes the root, `live` holds what moves."""
    root, live = folder / "root", folder / "live"
    for name in ("proc", "sys", "data", "dev/entity", "system/bin", "system/lib64", "usr/lib", "etc", "sdcard"):
        (root / name).mkdir(parents=True)
    for name in ("proc", "over"):
        (live / name).mkdir(parents=True)
    (folder / "raw").mkdir()
    _programs(root, programs, factor)
    for path, text in sorted(image.files.items()):
        if path.startswith("/proc/"):
            target = live / path.lstrip("/")
        elif path.startswith("/sys/"):
            target = root / path.lstrip("/")
        else:
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, "utf-8", errors="surrogateescape")
        target.chmod(0o400 if is_denied(image, path) else 0o444)
    _policy_links(root)
    _etc(root, image, factor)
    (root / "dev/entity").chmod(0o1777)
    os.mkfifo(root / "dev/entity/ask")
    (root / "dev/entity/ask").chmod(0o622)
    arm_loans, foreign = lend_qemu(root, qemu_cpu or cpu_model_for(image))
    folders = [ENGINE_FOLDER, f"{ENGINE_FOLDER}/.real"] if engine else [ENGINE_FOLDER]
    return Boot(
        root=root,
        raw_proc=folder / "raw",
        binds=(*arm_loans, *_loans(root)),
        foreign_programs=foreign,
        folders=(
            "/data/local/tmp",
            *folders,
            "/data/local/tmp/entity",
            "/data/local/tmp/entity/models",
        ),
        files=tuple(_planted(folder, image, factor, engine)),
    )


def is_denied(image: PhoneImage, path: str) -> bool:
    """True for a path that the phone's policy keeps from the shell user."""
    return any(fnmatchcase(path, pattern) for pattern in image.denied)


def _programs(root: Path, programs: Programs, factor: float) -> None:
    """/system/bin: the shell, the tools (`bin/applets` lists what toybox has on a phone), the stand-ins over them."""
    scripts = resources.files("entity_tui.sim") / "bin"
    into = root / "system/bin"
    shell = shutil.which(SHELLS.get(programs.shell, "sh")) or "/bin/sh"
    shutil.copy(shell, into / "sh")
    tool = TOOLS.get(programs.tools)
    served: set[str] = set()
    if tool:
        shutil.copy(shutil.which(tool) or tool, into / tool)
        served = set(_applets(into / tool))
    for name in (scripts / "applets").read_text("utf-8").split():
        if tool and name in served:
            (into / name).symlink_to(tool)
        elif found := shutil.which(name, path="/usr/bin:/bin:/usr/sbin:/sbin"):
            shutil.copy(os.path.realpath(found), into / name)
    quick = shutil.which("sha256sum", path="/usr/bin:/bin")
    if tool == "toybox" and quick is not None:
        # A phone hashes with its crypto instructions; toybox here would need three times as long as coreutils.
        (into / "sha256sum").unlink(missing_ok=True)
        shutil.copy(os.path.realpath(quick), into / "sha256sum")
    wanted = [*STAND_INS, *(CLOCKED if factor != 1 else ())]
    for name in wanted:
        write_script(into / name, (scripts / name).read_text("utf-8"), factor)
    if (into / "sleep").is_symlink() is False and factor != 1 and tool is None:
        for name in ("sleep", "timeout"):
            shutil.copy(shutil.which(name) or f"/bin/{name}", into / f"real-{name}")


def write_script(path: Path, text: str, factor: float) -> None:
    """Put a stand-in in place, with the clock's factor in hundredths where it asks for it."""
    if path.is_symlink() or path.exists():
        path.unlink()
    path.write_text(text.replace("@FACTOR_CENTI@", str(round(factor * 100))))
    path.chmod(0o755)


def _applets(binary: Path) -> list[str]:
    """The commands inside a toybox or busybox, by asking it."""
    import subprocess

    argv = [str(binary), "--list"] if binary.name == "busybox" else [str(binary)]
    return subprocess.run(argv, capture_output=True, text=True, check=False).stdout.split()


def _policy_links(root: Path) -> None:
    """cpuN/cpufreq leads to the policy of that core, as in a kernel."""
    base = root / "sys/devices/system/cpu"
    for policy in base.glob("cpufreq/policy*"):
        related = policy / "related_cpus"
        if related.is_file():
            for cpu in related.read_text().split():
                link = base / f"cpu{cpu}" / "cpufreq"
                if link.parent.is_dir() and not link.exists():
                    link.symlink_to(f"../cpufreq/{policy.name}")


def _etc(root: Path, image: PhoneImage, factor: float) -> None:
    (root / "etc/passwd").write_text("root:x:0:0:root:/:/system/bin/sh\nshell:x:2000:2000:shell:/:/system/bin/sh\n")
    (root / "etc/group").write_text("root:x:0:\nshell:x:2000:\n")
    props = {**image.props, "ro.entity.simulated": "1", "ro.entity.clock_factor": f"{factor:g}"}
    (root / "etc/entity-props").write_text("".join(f"{key}={value}\n" for key, value in sorted(props.items())))
    settings = root / "dev/entity/settings"
    settings.mkdir()
    settings.chmod(0o1777)
    commands = root / "dev/entity/commands"
    commands.mkdir()
    for line, text in image.commands.items():
        if match := re.fullmatch(r"dumpsys ([A-Za-z0-9_.-]+)", line):
            (commands / f"dumpsys.{match[1]}").write_text(text, "utf-8", errors="surrogateescape")
    (root / "dev/entity/props").touch()
    (root / "dev/entity/props").chmod(0o666)


def _loans(root: Path) -> list[tuple[str, str]]:
    """What the phone borrows read-only: the C library that the shell needs, and device nodes."""
    loans: list[tuple[str, str]] = []
    for name in ("lib", "lib64"):
        here = Path("/", name)
        if here.is_symlink():
            (root / name).symlink_to(os.readlink(here).lstrip("/"))
            here = Path("/usr", name)
        if here.is_dir():
            target = root / ("usr" if here.parts[1] == "usr" else "") / name
            target.mkdir(parents=True, exist_ok=True)
            loans.append((str(here), str(target)))
    if Path("/usr/lib").is_dir() and not any(source == "/usr/lib" for source, _ in loans):
        loans.append(("/usr/lib", str(root / "usr/lib")))
    for name in ("null", "zero", "full", "random", "urandom", "tty"):
        if Path("/dev", name).exists():
            (root / "dev" / name).touch()
            loans.append((f"/dev/{name}", str(root / "dev" / name)))
    for link, leads_to in (("fd", "/proc/self/fd"), ("stdin", "fd/0"), ("stdout", "fd/1"), ("stderr", "fd/2")):
        (root / "dev" / link).symlink_to(leads_to)
    loans += [(str(root / name), str(root / name)) for name in ("sys", "system")]
    return loans


def _planted(
    folder: Path, image: PhoneImage, factor: float, engine: RealEngine | None
) -> list[tuple[str, str, int, int]]:
    """Files of the data partition: the mark that this is no phone, a stand-in engine, a model to run."""
    from entity_tui.sim.placeholder import write_placeholder

    seed = folder / "seed"
    seed.mkdir()
    mark = seed / "mark"
    mark.write_text(f"simulated=1\nclock_factor={factor:g}\nprofile={image.name}\n")
    bench = seed / "llama-bench"
    write_script(bench, (resources.files("entity_tui.sim") / "bin" / "llama-bench").read_text("utf-8"), factor)
    library = seed / "library"
    library.write_bytes(b"stand-in of a simulated phone; there is no code in it\n")
    model = seed / "model.gguf"
    size = write_placeholder(model)
    rows = [
        ("/data/local/tmp/.entity-simulated", str(mark), 0, 0o644),
        ("/data/local/tmp/entity/models/stand-in-1b-q4_0.gguf", str(model), size, 0o644),
    ]
    names = [f"libggml-cpu-{tag}.so" for tag in VARIANT_NEEDS if tag.startswith("android")]
    names += ["libggml-base.so", "libggml.so", "libllama.so"]
    if engine is None:
        rows.append((f"{ENGINE_FOLDER}/llama-bench", str(bench), 0, 0o755))
    else:
        rows += planted(engine, image, ENGINE_FOLDER, seed)
    if engine is None or engine.architecture is not Architecture.AARCH64:
        rows += [(f"{ENGINE_FOLDER}/{name}", str(library), 0, 0o755) for name in names]
    return rows
