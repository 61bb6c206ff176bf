"""GGUF files that are already on a device, found in one round trip with their sizes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from entity_tui.digits import whole

FIND_MODELS_SCRIPT = r"""
# $1 = our own root. Prints "size mtime path" of each *.gguf, by globs of a bounded depth.
root=$1
set --
add() { for f in "$@"; do
  case $f in *[[:cntrl:]]*) continue ;; esac
  [ -f "$f" ] && [ -r "$f" ] || continue
  case $seen in *"|$f|"*) continue ;; esac
  seen="$seen|$f|"
  line=$(stat -L -c '%s %Y' "$f" 2>/dev/null) || line=$(stat -L -f '%z %m' "$f" 2>/dev/null) || line="$(wc -c <"$f") 0"
  printf 'model %s %s\n' "$line" "$f"
done; }
seen='|'
[ -n "$root" ] && add "$root"/models/*.gguf "$root"/models/*/*.gguf
t=/data/local/tmp
add $t/*.gguf $t/*/*.gguf $t/*/*/*.gguf $t/*/*/*/*.gguf
for d in /sdcard/Download /sdcard/models /storage/emulated/0/Download; do add "$d"/*.gguf; done
# Where `models fetch` and `models download` put files when this device is the computer they ran on.
[ -n "$ENTITY_TUI_DATA" ] && add "$ENTITY_TUI_DATA"/models/*.gguf
[ -n "$XDG_DATA_HOME" ] && add "$XDG_DATA_HOME"/entity-tui/models/*.gguf
[ -n "$HOME" ] && [ "$HOME" != / ] &&
  add "$HOME"/.local/share/entity-tui/models/*.gguf "$HOME/Library/Application Support/entity-tui/models"/*.gguf
[ -n "$HOME" ] && [ "$HOME" != / ] &&
  add "$HOME"/*.gguf "$HOME"/models/*.gguf "$HOME"/models/*/*.gguf "$HOME"/llama*/models/*.gguf
exit 0
"""

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_SPLIT = re.compile(r"^(?P<stem>.*)-(?P<part>\d{5})-of-(?P<parts>\d{5})\.gguf$")


@dataclass(frozen=True, slots=True)
class ModelFile:
    """One GGUF on a device; `mtime_s` is seconds since 1970 on that device's clock, 0 when it does not say."""

    path: str
    size_bytes: int
    name: str
    """The file name without its folder."""
    mtime_s: int = 0

    @property
    def split(self) -> tuple[str, int, int] | None:
        """(stem, part, parts) of one piece of a split model, counted from 1, or None for a whole file."""
        match = _SPLIT.match(self.name)
        return (match["stem"], int(match["part"]), int(match["parts"])) if match else None


class _Answer(Protocol):
    @property
    def text(self) -> str: ...


class ScriptRunner(Protocol):
    """The one ability of a Transport that finding models needs."""

    root: str

    async def script(self, text: str, *, args: Sequence[str] = (), timeout_s: float = 30.0) -> _Answer:
        """Run a POSIX script in one round trip."""


def parse_models(lines: Iterable[str]) -> tuple[ModelFile, ...]:
    """The files in the output of FIND_MODELS_SCRIPT, in its order; lines of another shape are left out."""
    found: list[ModelFile] = []
    for line in lines:
        parts = line.rstrip("\n").split(" ", 3)
        size = whole(parts[1]) if len(parts) == 4 and parts[0] == "model" else None
        if size is None or _CONTROL.search(parts[3]):
            continue
        path = parts[3]
        if not path.startswith("/"):
            continue
        found.append(ModelFile(path, size, path.rsplit("/", 1)[-1], whole(parts[2]) or 0))
    return tuple(found)


async def find_models(transport: ScriptRunner) -> tuple[ModelFile, ...]:
    """Every GGUF we can read on the device, ours first, in one round trip. Raises the transport's errors."""
    completed = await transport.script(FIND_MODELS_SCRIPT, args=(transport.root,), timeout_s=60.0)
    return parse_models(completed.text.split("\n"))
