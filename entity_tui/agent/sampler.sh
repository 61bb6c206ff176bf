# A stream of raw readings, one line a tick, on the device's own clock. Nothing is forked inside a tick; the wait between
# two ticks is a `read` with a time limit on standard input where the shell has it (its end means the host has gone).
# $1 period in hundredths of a second, $2 number of ticks or 0, $3 and $4 periods of the slow commands.
#   z SEQ T TICKS WAITS|VALUE|...|MEM  about once a second: a value for every `node slow ok` line, and MemAvailable in kB
#   s SEQ T LATE MISSED|VALUE|...|CPU  every tick: a value for every `node fast ok` line, and the CPU lines of /proc/stat;
#                                      empty is what could not be read just now
#   > ID TEXT                        one line of a slow command's output
#   x ID STATUS T COMMAND            that command ended

period=${1:-20}
count=${2:-0}
every_thermal=${3:-200}
every_battery=${4:-1000}
every_slow=100
exec 8<&0
choose_clock
choose_waiter
# A simulated device's hours may pass in minutes; its watcher still wants so many lines a second of his own time.
period=$((period * factor)) every_thermal=$((every_thermal * factor)) every_battery=$((every_battery * factor))
every_slow=$((every_slow * factor))
say "entity-sampler 1"
say "info shell=$shell clock=$clock wait=$waiter period_cs=$period pid=$$ factor=$factor"

# --- which nodes can be read: asked once, only those are touched again --------------------------------------------
fast=
slow=
note() { # $1 fast|slow, $2 name, $3 path
	if first_line "$3" && [ -n "$V" ]; then
		say "node $1 ok $2"
		case $1 in fast) fast="$fast $3" ;; *) slow="$slow $3" ;; esac
		return
	fi
	V=$(cat "$3" 2>&1)
	case $V in
	*[Pp]ermission\ denied* | *not\ permitted*) say "node $1 denied $2" ;;
	*No\ such*) say "node $1 absent $2" ;;
	*)
		say "node $1 ok $2" # a reading that fails now may come later: EAGAIN of a sleeping sensor
		case $1 in fast) fast="$fast $3" ;; *) slow="$slow $3" ;; esac
		;;
	esac
}
cpus=$P/sys/devices/system/cpu
found=
for d in "$cpus"/cpufreq/policy[0-9]*; do
	[ -d "$d" ] || continue
	found=yes
	note fast "freq.${d##*/}" "$d/scaling_cur_freq"
	note fast "cap.${d##*/}" "$d/scaling_max_freq"
done
if [ -z "$found" ]; then
	for d in "$cpus"/cpu[0-9]*/cpufreq; do
		[ -d "$d" ] || continue
		c=${d%/cpufreq}
		note fast "freq.${c##*/}" "$d/scaling_cur_freq"
		note fast "cap.${c##*/}" "$d/scaling_max_freq"
	done
fi
note slow load "$P/proc/loadavg"
battery=
for d in "$P/sys/class/power_supply/battery" "$P"/sys/class/power_supply/*; do
	[ -e "$d" ] || continue
	first_line "$d/type"
	case $V in
	Battery) [ -n "$battery" ] || battery=$d ;;
	*) [ -e "$d/online" ] && note slow "online.${d##*/}" "$d/online" ;;
	esac
done
if [ -z "$battery" ] && [ -e "$P/sys/class/power_supply/battery" ]; then battery=$P/sys/class/power_supply/battery; fi
if [ -n "$battery" ]; then
	for f in current_now voltage_now charge_counter temp capacity status; do
		note slow "battery.$f" "$battery/$f"
	done
fi
case $slow in */current_now*) ask_current= ;; *) ask_current=yes ;; esac
for d in "$P"/sys/class/thermal/thermal_zone[0-9]*; do [ -e "$d" ] && note slow "zone.${d##*/}" "$d/temp"; done
for d in "$P"/sys/class/thermal/cooling_device[0-9]*; do
	[ -e "$d" ] && note slow "cooling.${d##*/}" "$d/cur_state"
done

# --- the files of several lines --------------------------------------------------------------------------------------
# CPU lines of /proc/stat into CPU, joined by ';'.
if [ "$shell" = mksh ]; then
	eval 'cpu_lines() {
		CPU=$(<"$P/proc/stat")
		CPU=${CPU%%intr*}
		CPU=${CPU//$nl/;}
	}'
else
	cpu_lines() {
		CPU=
		while IFS= read -r _line; do
			case $_line in cpu*) CPU="$CPU$_line;" ;; *) break ;; esac
		done <"$P/proc/stat"
	}
fi
mem_available() {
	V=
	while read -r _k V _rest; do
		case $_k in MemAvailable:) return ;; esac
	done <"$P/proc/meminfo"
	V=
}
exec 2>/dev/null # from here on a node that goes away is an empty value, not a message in every tick
CPU=
cpu_lines
case $CPU in cpu*) say "node fast ok stat" ;; *) say "node fast denied stat" ;; esac
mem_available
case $V in *[0-9]*) say "node slow ok mem" ;; *) say "node slow denied mem" ;; esac

# --- slow commands: in the background, each line marked, at most one of a kind at a time ---------------------------
next_id=0
limit=5
ask() { # $1 id, rest: the command
	_id=$1
	shift
	_out=$(limited "$@")
	_status=$?
	now
	IFS=$nl
	set -f
	for _line in $_out; do say "> $_id $_line"; done
	IFS=' '
	say "x $_id $_status $T $*"
}
running() { # $1 pid of a background job; reaps it when it has ended
	[ -n "$1" ] || return 1
	if first_line "/proc/$1/stat"; then
		case ${V##*") "} in Z*) ;; *) return 0 ;; esac
	elif [ ! -e /proc/self/stat ] && kill -0 "$1" 2>/dev/null; then
		return 0
	fi
	wait "$1" 2>/dev/null
	return 1
}
android=
if have dumpsys; then android=yes; fi
thermal_pid=
battery_pid=
current_pid=
due_thermal=0
due_battery=0
due_current=0
ask_slowly() {
	[ -n "$android" ] || return
	if [ "$NOW" -ge "$due_thermal" ] && ! running "$thermal_pid"; then
		next_id=$((next_id + 1))
		due_thermal=$((NOW + every_thermal))
		ask $next_id dumpsys thermalservice &
		thermal_pid=$!
	fi
	if [ "$NOW" -ge "$due_battery" ] && ! running "$battery_pid"; then
		next_id=$((next_id + 1))
		due_battery=$((NOW + every_battery))
		ask $next_id dumpsys battery &
		battery_pid=$!
	fi
	if [ -n "$ask_current" ] && [ "$NOW" -ge "$due_current" ] && ! running "$current_pid"; then
		next_id=$((next_id + 1))
		due_current=$((NOW + 250))
		ask $next_id cmd battery get -f current_now &
		current_pid=$!
	fi
}

say "start"
now
start=$NOW
due=$start
due_slow=0
sequence=0
missed=0
while :; do
	late=$((NOW - due))
	if [ "$NOW" -ge "$due_slow" ]; then
		due_slow=$((NOW + every_slow))
		own_ticks
		line="z $sequence $T $((TICKS + CHILD_TICKS)) $waits_forked"
		read_values $slow
		mem_available
		say "$line|$V" || exit 0
		ask_slowly
		now
	fi
	line="s $sequence $T $late $missed"
	missed=0
	read_values $fast
	CPU=
	cpu_lines
	say "$line|$CPU" || exit 0
	sequence=$((sequence + 1))
	[ "$count" -eq 0 ] || [ "$sequence" -lt "$count" ] || exit 0
	due=$((due + period))
	now
	if [ "$NOW" -gt $((due + period)) ]; then
		missed=$(((NOW - due) / period))
		due=$((due + missed * period))
	fi
	spins=0
	while [ "$NOW" -lt "$due" ]; do
		before=$NOW
		wait_cs $((due - NOW))
		now
		if [ "$NOW" -le "$before" ] && [ "$waiter" = read ] && [ "$factor" -eq 1 ]; then
			spins=$((spins + 1))
			[ "$spins" -lt 20 ] || exit 0 # standard input is at its end: nobody listens any more
		fi
	done
done
