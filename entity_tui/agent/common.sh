# Words every script of the agent uses: it is put in front of each of them before they travel to the device.
# Plain sh for mksh, dash, busybox ash. mksh counts in 32 bits, has no builtin printf and reads one byte per system
# call, so: print -r there, $(<file) there, and no sum here that a week of hundredths of a second could overflow.

LC_ALL=C
export LC_ALL
P=${ENTITY_PREFIX-}
nl='
'
shell=posix
if [ -n "${KSH_VERSION-}" ]; then
	shell=mksh
	eval 'say() { print -r -- "$1"; }
	slurp() { TEXT=; { TEXT=$(<"$1"); } 2>/dev/null; }
	read_values() {
		for _f; do
			V=
			V=$(<"$_f")
			line="$line|${V%%"$nl"*}"
		done
	}
	read_clock() {
		T=$(<"$uptime_file")
		T=${T%% *}
	}
	first_line() {
		V=
		{ V=$(<"$1"); } 2>/dev/null
		V=${V%%"$nl"*}
		[ -n "$V" ]
	}'
else
	[ -n "${BASH_VERSION-}" ] && shell=bash
	say() { printf '%s\n' "$1"; }
	# Adds "|" and the first line of each file to `line`; the caller silences the complaints about missing ones.
	read_values() {
		for _f; do
			V=
			IFS= read -r V <"$_f"
			line="$line|$V"
		done
	}
	read_clock() { read -r T _rest <"$uptime_file"; }
	# First line of file $1 into V; status 1 when there is nothing in it, or it cannot be read.
	first_line() {
		V=
		{ IFS= read -r V <"$1"; } 2>/dev/null
		[ -n "$V" ]
	}
	# The whole of a short file into TEXT, without a fork.
	slurp() {
		TEXT=
		{
			while IFS= read -r _line || [ -n "$_line" ]; do
				TEXT=$TEXT$_line$nl
			done <"$1"
		} 2>/dev/null
		TEXT=${TEXT%"$nl"}
	}
fi

have() { command -v "$1" >/dev/null 2>&1; }

# --- the device clock: T is its text, NOW hundredths of a second since `base` -------------------------------------
base=0
clock=none
uptime_file=$P/proc/uptime
choose_clock() {
	if first_line "$uptime_file" && [ -n "$V" ]; then
		clock=uptime
	elif [ -n "${EPOCHREALTIME-}" ]; then
		clock=epoch
	else
		case $(date +%s.%N 2>/dev/null) in
		*[!0-9.]* | '') clock=date_s ;;
		*) clock=date_ns ;;
		esac
	fi
	now
	base=${T%%.*}
	now
}
now() {
	case $clock in
	uptime) read_clock ;;
	epoch) T=$EPOCHREALTIME ;;
	date_ns) T=$(date +%s.%N) ;;
	*) T=$(date +%s) ;;
	esac
	_whole=${T%%.*}
	_part=00
	case $T in
	*.*)
		_part=${T#*.}00
		_part=${_part%"${_part#??}"}
		;;
	esac
	NOW=$(((_whole - base) * 100 + 1$_part - 100))
	T=$_whole.$_part
}

# $1 hundredths of a second as text in S.
seconds() {
	_c=$(($1 % 100))
	[ "$_c" -lt 10 ] && _c=0$_c
	S=$(($1 / 100)).$_c
}

# --- waiting: a read with a time limit costs no fork, but needs a descriptor that stays open and silent -----------
waiter=sleep
waits_forked=0
factor=1 # how much faster than real time the device's clock runs; not 1 on a simulated device only
# Hundredths that pass on the device clock during a `read -t $1` on descriptor 8, into LASTED.
time_read() {
	now
	_before=$NOW
	{ IFS= read -r -t "$1" _x <&8; } 2>/dev/null
	now
	LASTED=$((NOW - _before))
}
# `read -t` counts only if it really waits: end of file does not, dash has no -t, old shells have no fractions.
choose_waiter() {
	case $clock in date_s) return ;; esac
	time_read 0.06
	[ "$LASTED" -ge 4 ] || return 0
	waiter=read
	[ "$LASTED" -ge 20 ] || return 0
	# That much more than asked for: a simulated device whose clock is compressed, or a very busy one.
	time_read 0.30
	factor=$((LASTED / 30))
	[ "$factor" -ge 2 ] || factor=1
}
# A fifo that this shell holds open at both ends: nobody writes to it. Its name goes away at once.
choose_waiter_fifo() {
	have mkfifo && mkfifo "$1" 2>/dev/null || return
	if { exec 8<>"$1"; } 2>/dev/null; then choose_waiter; fi
	rm -f "$1"
}
# mksh complains on standard error when a child ends meanwhile; that the wait is shorter then is welcome.
wait_cs() {
	[ "$1" -gt 0 ] || return 0
	seconds "$1"
	if [ "$waiter" = read ] && [ "$factor" -gt 1 ]; then
		_k=$(($1 * 10 / factor))
		[ "$_k" -ge 5 ] || _k=5
		_m=$((_k % 1000 + 1000))
		S=$((_k / 1000)).${_m#1}
	fi
	if [ "$waiter" = read ]; then
		IFS= read -r -t "$S" _x <&8
	else
		sleep "$S" 2>/dev/null || sleep 1
		waits_forked=$((waits_forked + 1))
	fi
	return 0
}

# CPU ticks this shell has used into TICKS, those of the children it has waited for into CHILD_TICKS; 0 when unknown.
own_ticks() {
	TICKS=0 CHILD_TICKS=0
	first_line "/proc/$$/stat" || return 0
	set -- ${V##*") "}
	[ $# -ge 15 ] || return 0
	TICKS=$((${12} + ${13})) CHILD_TICKS=$((${14} + ${15}))
}

# Runs a command for at most `limit` seconds; 124 when it was ended. Not with the tool `timeout`: toybox 0.8.9's hangs
# or answers 127 once in ten calls when the command is quick. Only for commands without children of their own.
limit=8
limited() {
	"$@" 2>&1 </dev/null &
	_p=$!
	# Sleeps of one second: what is left when the watchdog itself is ended is gone a second later.
	(
		_n=0
		while [ "$_n" -lt "$limit" ]; do
			sleep 1
			_n=$((_n + 1))
		done
		kill -9 $_p
	) >/dev/null 2>&1 </dev/null &
	_w=$!
	wait $_p 2>/dev/null
	_r=$?
	{ kill -9 $_w && wait $_w; } 2>/dev/null
	[ $_r != 137 ] || return 124
	return $_r
}
