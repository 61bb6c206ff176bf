"""Engines that are already on a device, found in one round trip by the shell's own globs."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable

from entity_tui.engine.build import LOOKALIKE, PROGRAMS, EngineBuild, describe_folder
from entity_tui.transport.base import Transport

FIND_SCRIPT = r"""
# $1 = our own root, $2 a folder the user named or empty. Globs only: no find, no recursion, so that link loops and
# missing tools cannot hurt.
root=$1 named=$2
show() { # one folder that has a llama program: its name, its files, its manifest
  [ -d "$1" ] || return 0
  case $1 in *[[:cntrl:]]*) return 0 ;; esac
  hit=
  for f in "$1"/llama-bench "$1"/llama-server; do [ -f "$f" ] && [ -x "$f" ] && hit=1; done
  [ -n "$hit" ] || return 0
  case $seen in *"|$1|"*) return 0 ;; esac
  seen="$seen|$1|"
  printf 'engine %s\n' "$1"
  for f in "$1"/llama-* ; do [ -f "$f" ] && [ -x "$f" ] && printf 'program %s\n' "$f"; done
  lib=$1
  case $1 in */bin) [ -d "${1%/bin}/lib" ] && lib=${1%/bin}/lib ;; esac
  for f in "$1"/lib*.so* ; do [ -f "$f" ] && printf 'library %s\n' "$f"; done
  # A lib folder beside bin may be a whole system's; only llama.cpp's own files in it are ours to list.
  [ "$lib" != "$1" ] && for f in "$lib"/libggml*.so* "$lib"/libllama*.so* "$lib"/libmtmd*.so* ; do
    [ -f "$f" ] && printf 'library %s\n' "$f"
  done
  [ -r "$1/entity-engine.json" ] && { printf 'manifest '; head -c 65536 "$1/entity-engine.json"; echo; }
  return 0
}
seen='|'
tree() { # the folder and three levels below it
  for d in "$1" "$1"/* "$1"/*/* "$1"/*/*/*; do show "${d%/}"; done
}
[ -n "$named" ] && { show "$named"; show "$named/bin"; }
[ -n "$root" ] && { show "$root/engines"; for d in "$root"/engines/* "$root"/engines/*/bin; do show "$d"; done; }
tree /data/local/tmp
[ -n "$PREFIX" ] && show "$PREFIX/bin"
show /data/data/com.termux/files/usr/bin
[ -n "$HOME" ] && [ "$HOME" != / ] &&
  for d in "$HOME"/llama* "$HOME"/llama*/bin "$HOME"/llama*/build/bin; do show "$d"; done
old=$IFS; IFS=:
set -f; set -- $PATH; set +f
IFS=$old
for d in "$@"; do show "$d"; done
exit 0
"""

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")


def parse_found(lines: Iterable[str]) -> tuple[EngineBuild, ...]:
    """The engines in the output of FIND_SCRIPT; a line that is none of its kinds is left out."""
    folders: list[tuple[str, list[str], str]] = []
    for line in lines:
        kind, _, value = line.rstrip("\n").partition(" ")
        if _CONTROL.search(value) or not value:
            continue
        if kind == "engine":
            folders.append((value, [], ""))
        elif folders and kind in ("program", "library"):
            folders[-1][1].append(value)
        elif folders and kind == "manifest":
            folders[-1] = (folders[-1][0], folders[-1][1], value)
    return tuple(_engine(folder, paths, manifest) for folder, paths, manifest in folders)


def _engine(folder: str, paths: list[str], manifest: str) -> EngineBuild:
    locations = {path.rsplit("/", 1)[-1]: path for path in paths}
    name, build, source = "llama.cpp", None, ""
    try:
        stated = json.loads(manifest) if manifest else {}
    except ValueError:
        stated = {}
    if isinstance(stated, dict):
        if isinstance(stated.get("build"), str):
            build, source = _CONTROL.sub("", stated["build"])[:40] or None, "manifest"
        if stated.get("name") == LOOKALIKE:
            name = LOOKALIKE
    known = {key: value for key, value in locations.items() if key in PROGRAMS or ".so" in key}
    return describe_folder(folder, known, build=build, build_source=source, name=name, locations=known)


async def find_engines(transport: Transport, named: str = "") -> tuple[EngineBuild, ...]:
    """Every engine on the device, ours first, in one round trip; `named` is a further folder, looked at before all.

    Searched: our own `engines/`, `/data/local/tmp` three levels down, Termux's `$PREFIX/bin`, `~/llama*`, PATH.
    Raises the transport's errors.
    """
    completed = await transport.script(FIND_SCRIPT, args=(transport.root, named.rstrip("/")), timeout_s=30.0)
    return parse_found(completed.text.split("\n"))
