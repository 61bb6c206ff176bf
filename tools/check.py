"""`make check`: format, lint, types, arrows and packaging, against the wheel a user would install.

Types and arrows run from an empty folder against the installed wheel: from the repository's root they would quietly
check half of it, because `widgets/` and `profiles/` are mapped into the package only when it is built. The number of
files each tool looked at is compared with the number of files there are.
"""

from __future__ import annotations

import email
import os
import re
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BIN = Path(sys.executable).parent
ROOMS = {"entity_tui": "entity_tui", "widgets": "entity_tui/widgets", "profiles": "entity_tui/profiles"}
LIGHT = 10
"""Direct dependencies a plain install may have: the card's packages and little more."""


class CheckFailed(Exception):
    """One of the checks did not hold."""


def run(*argv: str, cwd: Path = ROOT, env: dict[str, str] | None = None) -> str:
    """Run a tool, echo what it says, and return it; CheckFailed when it fails."""
    done = subprocess.run(argv, cwd=cwd, env={**os.environ, **(env or {})}, capture_output=True, text=True)
    text = done.stdout + done.stderr
    print(text.rstrip())
    if done.returncode != 0:
        raise CheckFailed(f"{Path(argv[0]).name} ended with {done.returncode}")
    return text


def sources(suffix: str = ".py") -> set[str]:
    """Files of the package as their path inside the wheel."""
    found: set[str] = set()
    for folder, inside in ROOMS.items():
        for path in (ROOT / folder).rglob(f"*{suffix}"):
            if "__pycache__" not in path.parts:
                found.add(f"{inside}/{path.relative_to(ROOT / folder).as_posix()}")
    return found


def build_wheel(into: Path) -> Path:
    """A wheel of the tree as it is."""
    stale = ROOT / "build"
    if stale.exists():  # setuptools copies what an earlier build left there into the new wheel
        import shutil

        shutil.rmtree(stale)
    run(str(BIN / "python"), "-m", "pip", "wheel", "-q", "--no-deps", "-w", str(into), str(ROOT))
    (wheel,) = into.glob("*.whl")
    return wheel


def check_packaging(wheel: Path) -> None:
    """Everything is in the wheel, nothing stands at its top but the package, and a plain install is light."""
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        metadata = next(name for name in names if name.endswith(".dist-info/METADATA"))
        headers = email.message_from_bytes(archive.read(metadata))
    wanted = sources() | sources(".sh") | sources(".yaml") | sources(".csv") | sources(".tcss")
    if absent := sorted(wanted - names):
        raise CheckFailed(f"not in the wheel: {absent}")
    tops = {name.split("/")[0] for name in names}
    if strays := sorted(top for top in tops if top != "entity_tui" and not top.endswith(".dist-info")):
        raise CheckFailed(f"the wheel installs at top level: {strays}")
    plain = [line for line in headers.get_all("Requires-Dist", []) if "extra ==" not in line]
    if len(plain) > LIGHT:
        raise CheckFailed(f"a plain install pulls {len(plain)} packages, {LIGHT} are allowed: {plain}")
    print(f"packaging: {len(wanted)} files in the wheel, {len(plain)} plain dependencies")


def check_types(empty: Path, site: Path, expected: int) -> None:
    """Strict mypy over the installed package, and over as many files as there are."""
    said = run(
        str(BIN / "mypy"),
        "--config-file",
        str(ROOT / "pyproject.toml"),
        "--cache-dir",
        str(ROOT / ".mypy_cache" / "wheel"),
        "-p",
        "entity_tui",
        cwd=empty,
        env={"MYPYPATH": str(site)},
    )
    seen = int(re.search(r"in (\d+) source files", said)[1])  # type: ignore[index]
    # A folder of data inside the package is a namespace package to mypy, and counts as one file.
    inside = [path for path in (site / "entity_tui").rglob("*") if path.is_dir() and path.name != "__pycache__"]
    folders = sum(not any(path.glob("*.py")) for path in inside)
    if seen != expected + folders:
        raise CheckFailed(f"mypy looked at {seen} files, there are {expected} and {folders} folders of data")


def check_arrows(empty: Path, site: Path, expected: int) -> None:
    """import-linter over the installed package, and over as many files as there are."""
    said = run(
        str(BIN / "lint-imports"),
        str(ROOT / ".importlinter"),
        "--no-cache",
        cwd=empty,
        env={"PYTHONPATH": str(site)},
    )
    # import-linter's own count has the outside packages in it; the graph it reads is grimp's.
    count = "import grimp; print(len(grimp.build_graph('entity_tui', cache_dir=None).modules))"
    modules = int(run(str(BIN / "python"), "-c", count, cwd=empty, env={"PYTHONPATH": str(site)}))
    analyzed = int(re.search(r"Analyzed (\d+) files", said)[1])  # type: ignore[index]
    if modules != expected or analyzed < expected:
        raise CheckFailed(f"import-linter looked at {modules} modules of ours, there are {expected}")


def main() -> int:
    """All checks in turn; the first that fails ends it."""
    try:
        run(str(BIN / "ruff"), "format", "--check", ".")
        run(str(BIN / "ruff"), "check", ".")
        with tempfile.TemporaryDirectory(prefix="entity-check-") as folder:
            scratch = Path(folder)
            wheel = build_wheel(scratch / "dist")
            check_packaging(wheel)
            site = scratch / "site"
            run(str(BIN / "python"), "-m", "pip", "install", "-q", "--no-deps", "--target", str(site), str(wheel))
            empty = scratch / "empty"
            empty.mkdir()
            expected = len(sources())
            check_types(empty, site, expected)
            check_arrows(empty, site, expected)
    except CheckFailed as failure:
        print(f"check failed: {failure}", file=sys.stderr)
        return 1
    print(f"check passed: {expected} files typed, linted and wired as drawn")
    return 0


if __name__ == "__main__":
    sys.exit(main())
