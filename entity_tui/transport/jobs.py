"""Detached jobs on a device: the shell text that starts, finds and signals exactly one process, and its readers."""

from __future__ import annotations

from entity_tui.digits import whole
from entity_tui.transport.base import Job
from entity_tui.transport.device_text import parse_stat

BOOT_ID = (
    "boot_id() { b=; { read -r b < /proc/sys/kernel/random/boot_id; } 2>/dev/null; "
    '[ -n "$b" ] || b=$(sysctl -n kern.bootsessionuuid 2>/dev/null || getprop ro.boottime.init 2>/dev/null); '
    'echo "$b"; }\n'
)
"""Termux may not read the random boot id and macOS has none: the next best value that changes with every boot."""

SPAWN = (
    BOOT_ID
    + """unset ENTITY_MARK
cd "$1" || exit 66
out=$2; err=$3; shift 3
if command -v setsid >/dev/null 2>&1; then setsid "$@" </dev/null >"$out" 2>"$err" &
else nohup "$@" </dev/null >"$out" 2>"$err" & fi
pid=$!
echo "boot $(boot_id)"
echo "pid $pid"
tries=0
while :; do
  s=; { read -r s < "/proc/$pid/stat"; } 2>/dev/null
  set -f; set -- ${s##*) }
  case "${4:-gone}" in "$pid"|gone) break;; esac
  tries=$((tries+1)); [ $tries -lt 50 ] || break
  sleep 0.01
done
echo "stat $s"
"""
)
"""$1 directory, $2 stdout, $3 stderr, then argv. A background child is no group leader, so setsid does not fork.
We only return once the job leads its own session: until then a hang-up of ours could still reach it."""

_NO_PROC = " ".join(["$PID (x) R", *["0"] * 19])

LOOK = (
    BOOT_ID
    + f"""PID=$1
echo "boot $(boot_id)"
s=; {{ read -r s < "/proc/$PID/stat"; }} 2>/dev/null
if [ -z "$s" ] && ! [ -r /proc/self/stat ]; then kill -0 "$PID" 2>/dev/null && s="{_NO_PROC}"; fi
echo "stat $s"
"""
)
"""$1 pid. Without /proc (macOS) a pid that answers counts, with start time 0."""

SIGNAL = (
    "BOOT=$2; START=$3; NUMBER=$4\n"
    + LOOK
    + """[ "$(boot_id)" = "$BOOT" ] || exit 3
set -f; set -- ${s##*) }
case $1 in Z|X|x|"") exit 3;; esac
[ "${20}" = "$START" ] || exit 3
kill "-$NUMBER" "$PID" || exit 4
"""
)
"""$1 pid, $2 boot id, $3 start time, $4 signal number: all three identities are compared right before the kill."""


KILL_GROUP = """kill -TERM "-$1" 2>/dev/null || kill -TERM "$1" 2>/dev/null || exit 0
for i in 1 2 3 4 5 6 7 8 9 10; do kill -0 "-$1" 2>/dev/null || exit 0; sleep 0.05; done
kill -KILL "-$1" 2>/dev/null || kill -KILL "$1" 2>/dev/null
exit 0
"""
"""$1 pid of a group's leader: TERM, and KILL half a second later. No `--` before the group: dash and ash lack it."""

KILL_MARKED = """found() {
  grep -ls "$1" /proc/[0-9]*/cmdline /proc/[0-9]*/environ 2>/dev/null |
  while read -r f; do f=${f#/proc/}; echo "${f%%/*}"; done
}
for p in $(found "$1"); do kill -TERM "$p" 2>/dev/null; done
for i in 1 2 3 4 5; do [ -n "$(found "$1")" ] || exit 0; sleep 0.1; done
for p in $(found "$1"); do kill -KILL "$p" 2>/dev/null; done
exit 0
"""
"""$1 a pattern that matches a mark but not itself: ends every process that carries the mark."""


def fields(text: str) -> dict[str, str]:
    """The `word rest` lines of the scripts above as a mapping."""
    found: dict[str, str] = {}
    for line in text.splitlines():
        word, _, rest = line.partition(" ")
        found[word] = rest.strip()
    return found


def parse_spawned(text: str) -> Job | None:
    """The identity a spawn printed; None when no pid came. A process that ended at once has start time 0."""
    values = fields(text)
    pid = whole(values.get("pid"))
    if pid is None:
        return None
    stat = parse_stat(values.get("stat", ""))
    return Job(boot_id=values.get("boot", ""), pid=pid, start_time_ticks=stat[1] if stat else 0)


def is_alive(text: str, job: Job) -> bool:
    """True when boot id and start time are those of `job` and the process is not a zombie."""
    values = fields(text)
    stat = parse_stat(values.get("stat", ""))
    if stat is None or values.get("boot", "") != job.boot_id:
        return False
    state, start = stat
    return state not in "ZXx" and start == job.start_time_ticks
