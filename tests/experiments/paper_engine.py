"""A paper engine: a script that answers as llama-bench does, or dies as it does, for runs about the runner itself."""

from __future__ import annotations

from pathlib import Path

SCRIPT = r"""#!/bin/sh
# MODE decides how it ends; tokens over NS nanoseconds (50 ms) are its speed.
while [ $# -gt 0 ]; do
  case $1 in
    -p) p=$2; shift ;;
    -n) n=$2; shift ;;
    -t) t=$2; shift ;;
  esac
  shift
done
spin() { i=0; while [ $i -lt "$1" ]; do i=$((i + 1)); done; }
echo "load_backend: loaded CPU backend from ${0%/*}/libggml-cpu-haswell.so" >&2
result="{\"build_number\": 11434, \"n_prompt\": $p, \"n_gen\": $n, \"n_depth\": 0, \"n_threads\": $t"
result="$result, \"avg_ns\": ${NS:-50000000}, \"samples_ns\": [ ${NS:-50000000} ]}"
[ "$n" = 4 ] && MODE= # the preflight's own few tokens always succeed
case $MODE in
  mask) taskset -p "$NEW_MASK" $$ >/dev/null ;;
esac
spin "${SPIN:-60000}"
half="${result%%n_threads*}"
case $MODE in
  oom) printf '%s' "$half"; kill -KILL $$ ;;
  ill) printf '%s' "$half"; kill -ILL $$ ;;
  segv) printf '%s' "$half"; kill -SEGV $$ ;;
  error) printf '%s' "$half"; echo "error: invalid parameter for argument: --bogus" >&2; exit 1 ;;
  link) echo 'CANNOT LINK EXECUTABLE "./llama-bench": library "libomp.so" not found' >&2; exit 1 ;;
  load) echo "llama_bench: error: failed to load model 'x.gguf'" >&2; exit 1 ;;
  noise) echo "WARNING: linker: unsupported flags"; echo "$result"; echo "warning: late"; exit 0 ;;
  cut) echo "WARNING: linker: unsupported flags"; printf '%s\n' "$half"; echo "warning: late"; exit 0 ;;
  silent) exit 0 ;;
  hang) while :; do spin 1000; done ;;
esac
echo "$result"
"""


def make_engine(folder: Path) -> Path:
    """The paper engine's folder, with one executable and one variant's (empty) library."""
    folder.mkdir(parents=True, exist_ok=True)
    program = folder / "llama-bench"
    program.write_text(SCRIPT, encoding="utf-8")
    program.chmod(0o755)
    (folder / "libggml-cpu-haswell.so").write_bytes(b"")
    return folder


def make_model(folder: Path, content: bytes = b"GGUF paper") -> Path:
    """A file with a model's name."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "paper-q4_0.gguf"
    path.write_bytes(content)
    return path


def arms(**modes: str) -> str:
    """An arms file with one single-threaded arm a mode, each named after what it is given: `oom="MODE=oom"`."""
    lines = ["arms:"]
    for name, words in modes.items():
        env = ", ".join(f"{pair.partition('=')[0]}: '{pair.partition('=')[2]}'" for pair in words.split())
        lines.append(f"  {name}: {{threads: 1, cpus: '0', env: {{{env}}}}}")
    return "\n".join([*lines, "gate: {minimum_s: 0, limit_s: 1, sensorless_dwell_s: 0}", ""])
