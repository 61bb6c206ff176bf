# The runner: owns the loop of a run on the device. $1 is the run's folder, $2 the flat plan in it, $3 the folder of the
# lock (one runner a device). The host starts it detached and only reads the journal; pull the cable and nothing changes.

run=$1
plan=$2
lock=$3/lock
journal=$run/journal
default_ifs=$IFS
sequence=0
stop=
owner=
cell_dir=
pid=
choose_clock
case $clock in
date_*)
	# Termux: no /proc/uptime, and a dash that has no clock of its own. Its bash has one, and a wait without a fork.
	if [ -z "${ENTITY_AGAIN-}" ] && have bash; then
		export ENTITY_AGAIN=yes
		exec bash "$0" "$@"
	fi
	;;
esac
choose_waiter_fifo "$run/.wait.$$"
limit=20
no_proc=
[ -r /proc/self/stat ] || no_proc=yes
use_setsid=
if have setsid; then use_setsid=yes; fi
first_line /proc/sys/kernel/random/boot_id ||
	V=$(sysctl -n kern.bootsessionuuid 2>/dev/null || getprop ro.boottime.init 2>/dev/null)
boot_id=${V:-none}
first_line "/proc/$$/stat" || V=
own_comm=${V#*"("}
own_comm=${own_comm%")"*}
set -- ${V##*") "}
own_start=${20:-0}

# One whole line, in one write, with an end mark: `SEQUENCE CLOCK EVENT key=value ... ;`
event() {
	sequence=$((sequence + 1))
	now
	say "$sequence $T $* ;" >>"$journal" || leave 1
	last_beat=$NOW
}
last_beat=0
# A line that says only "still here": at most one per heartbeat period.
beat() {
	[ $((NOW - last_beat)) -ge "$heartbeat" ] || return 0
	event beat "n=$number attempt=$attempt $1"
}
leave() {
	if [ -n "$owner" ]; then
		rm -f "$lock/owner" "$lock/workload"
		rmdir "$lock" 2>/dev/null
	fi
	exit "$1"
}
# True when the host, or a signal, asked for an end: `after_cell` or `now` into stop.
stop_asked() {
	[ "$stop" != now ] || return 0
	if [ -e "$run/stop" ] && first_line "$run/stop"; then stop=$V; fi
	[ -n "$stop" ]
}

# --- the lock: a folder that names boot, process and its start, so that a number used again cannot pass for its owner
owner_lives() { # $1 boot id, $2 pid, $3 start time
	[ "$1" = "$boot_id" ] || return 1
	if [ -n "$no_proc" ]; then
		kill -0 "$2" 2>/dev/null
		return
	fi
	first_line "/proc/$2/stat" || return 1
	set -- "$3" ${V##*") "}
	[ "$2" != Z ] && [ "$1" = "${21}" ]
}
take_lock() {
	_tries=0
	while ! mkdir "$lock" 2>/dev/null; do
		_tries=$((_tries + 1))
		[ "$_tries" -le 5 ] || return 1
		if first_line "$lock/owner" && [ -n "$V" ]; then
			_held=$V
			if owner_lives $_held; then
				V=$_held
				return 1
			fi
			reap_workload
		elif [ "$_tries" -lt 3 ]; then
			sleep 1 # between its mkdir and its first line another runner has no owner yet
			continue
		fi
		# only one of several can move the dead lock away
		if mv "$lock" "$lock.dead.$$" 2>/dev/null; then rm -rf "$lock.dead.$$"; fi
	done
	say "$boot_id $$ $own_start ${run##*/}" >"$lock/owner"
	owner=yes
}
# A workload that outlived its runner would spoil every cell: it is ended if it is the very process that was noted.
reap_workload() {
	first_line "$lock/workload" || return 0
	_noted=$V
	if owner_lives $_noted; then
		set -- $_noted
		kill -KILL "-$2" 2>/dev/null || kill -KILL "$2" 2>/dev/null
	fi
}

# --- what the device looked like before and after a cell, in the probe's own format -----------------------------------
look() {
	{
		say "entity-probe 1 cell"
		for _f in "$P/proc/stat" "$P/proc/meminfo" "$P/proc/uptime" "$P/sys/devices/system/cpu/online" $look_paths; do
			slurp "$_f"
			[ -n "$TEXT" ] || continue
			say "@cell file 0 - ${_f#"$P"}"
			say "$TEXT"
		done
		if have dumpsys; then
			for _s in battery thermalservice; do
				TEXT=$(limited dumpsys $_s)
				say "@cell cmd $? - dumpsys $_s"
				say "$TEXT"
			done
			TEXT=$(limited dumpsys power)
			say "@cell cmd $? - dumpsys power | grep mWakefulness"
			case $TEXT in *mWakefulness=*) TEXT=${TEXT#*mWakefulness=} && TEXT=mWakefulness=${TEXT%%"$nl"*} ;; esac
			say "$TEXT"
		fi
		say "@cell end"
	} >"$1"
}
choose_look() {
	look_paths=
	for _f in "$P"/sys/class/power_supply/*/status "$P"/sys/class/power_supply/*/online \
		"$P"/sys/class/power_supply/*/capacity "$P"/sys/class/power_supply/*/current_now \
		"$P"/sys/class/power_supply/*/voltage_now "$P"/sys/class/power_supply/*/charge_counter \
		"$P"/sys/class/power_supply/*/temp "$P"/sys/class/thermal/thermal_zone*/temp \
		"$P"/sys/class/thermal/cooling_device*/cur_state "$P"/sys/devices/system/cpu/cpufreq/policy*/scaling_max_freq \
		"$P"/sys/devices/system/cpu/cpufreq/policy*/scaling_cur_freq \
		"$P"/sys/devices/system/cpu/cpufreq/policy*/stats/time_in_state; do
		if first_line "$_f"; then look_paths="$look_paths $_f"; fi
	done
}

check_files() {
	_i=0
	while [ "$_i" -lt "$file_count" ]; do
		_i=$((_i + 1))
		eval "set -- \$file_$_i"
		eval "_path=\$P\${file_$_i#* * }"
		_size=$(wc -c <"$_path" 2>/dev/null)
		_size=${_size##* }
		if [ "$_size" != "$1" ]; then
			V="model_hash_mismatch detail=$_path has ${_size:-no} bytes, the plan says $1"
			return 1
		fi
		[ "$2" = - ] && continue
		have sha256sum || continue
		_sum=$(sha256sum "$_path")
		if [ "${_sum%% *}" != "$2" ]; then
			V="model_hash_mismatch detail=sha256 of $_path is ${_sum%% *}, the plan says $2"
			return 1
		fi
	done
}

# --- one cell: files under a temporary name, renamed when all of it is there, then the one line that makes it count ---
end_cell() { # $1 state, $2 detail
	{
		say "session=$session"
		say "plan_hash=$plan_hash"
		say "cell=$number attempt=$attempt key=$key"
		say "state=$1"
	} >"$cell_dir/cell.kv"
	mv "$cell_dir" "$run/cells/$number.$attempt" || leave 1
	cell_dir=
	degrees "$gate_mc"
	event cell "n=$number attempt=$attempt key=$key arm=$arm block=$block pos=$position role=$role state=$1" \
		"gate=$gate tainted=$tainted temp=${S:--} foreign=${FOREIGN:--} dir=cells/$number.$attempt detail=$2"
}
run_cell() {
	cell_dir=$run/cells/$number.$attempt.tmp
	rm -rf "$cell_dir"
	mkdir "$cell_dir" || leave 1
	event cell_start "n=$number attempt=$attempt key=$key arm=$arm block=$block pos=$position role=$role reserve=$reserve"
	find_foreign
	run_gate
	degrees "$gate_mc"
	seconds "$gate_wait"
	_w=$S
	degrees "$gate_mc"
	event gate "n=$number attempt=$attempt outcome=$gate run=$gate_run wait=$_w temp=${S:--} status=${gate_status:--}" \
		"blocked=${blocked:--} tainted=$tainted foreign=${FOREIGN:--} detail=$gate_sensor"
	if [ "$gate_run" = 0 ]; then
		cell_state=$gate
		end_cell "$gate" "$blocked"
		return
	fi
	look "$cell_dir/before.txt"
	cell_state=ok cell_detail=
	_launch=1
	while [ "$_launch" -le "$launches" ]; do
		if mask_possible $_launch; then
			run_launch $_launch
		fi
		if [ "$state" != ok ]; then
			[ "$cell_state" != ok ] || cell_state=$state cell_detail=$detail
			[ "$state" = affinity_mismatch ] || break
		fi
		_launch=$((_launch + 1))
	done
	look "$cell_dir/after.txt"
	[ "$role" != warmup ] || [ "$cell_state" != ok ] || cell_state=warmup
	end_cell "$cell_state" "$cell_detail"
}

# Spare blocks stand at the end of the plan; each one runs only in place of a block that lost a cell before treatment.
lost_blocks=' '
spare_block=
note_loss() { # $1 state
	case $replace_list in *" $1 "*) ;; *) return ;; esac
	case $lost_blocks in *" $block "*) return ;; esac
	lost_blocks="$lost_blocks$block "
	owed=$((owed + 1))
}
spare_wanted() {
	[ "$spare_block" != "$block" ] || return 0
	[ "$owed" -gt 0 ] || return 1
	owed=$((owed - 1))
	spare_block=$block
	event reserve "block=$block"
}

finish() {
	event "$1" "reason=$2"
	leave 0
}
interrupted() {
	trap '' TERM INT
	stop=now
	if [ -n "$pid" ] && [ -e "$lock/workload" ]; then end_workload; fi
	event stop "reason=signal"
	leave 143
}

heartbeat=500 number=0 attempt=0
exec 3<"$plan"
if ! take_lock; then
	say "locked $V" # not into the journal: it may belong to the very run that is in flight
	exit 3
fi
mkdir -p "$run/cells" 2>/dev/null
[ ! -s "$journal" ] || say "" >>"$journal" # a line that was cut must not run into ours
trap interrupted TERM INT
trap '' HUP
read_head
status_value /proc/self/status Cpus_allowed_list && allowed=$V || allowed=
status_value /proc/self/status Cpus_allowed && tidy_mask "$V" && first_mask=$M || first_mask=
status_value /proc/self/status Uid && set -- $V && uid=$1 || uid=-
cgroup=
{ while IFS= read -r V; do cgroup="$cgroup${cgroup:+;}$V"; done </proc/self/cgroup; } 2>/dev/null
event run_start "version=1 session=$session plan_hash=$plan_hash boot_id=$boot_id pid=$$ start=$own_start shell=$shell" \
	"clock=$clock wait=$waiter factor=$factor period_cs=$period allowed=${allowed:--} uid=$uid detail=$cgroup"
if [ -n "$plan_boot" ] && [ "$plan_boot" != "$boot_id" ]; then
	event refused "reason=boot_mismatch detail=the plan was made in boot $plan_boot"
	leave 1
fi
if ! check_files; then
	event refused "reason=$V"
	leave 1
fi
[ -z "$recorder_mask" ] || taskset -p "$recorder_mask" $$ >/dev/null 2>&1
choose_look
while read_cell; do
	if stop_asked; then finish stop "$stop"; fi
	if [ "$reserve" = 1 ] && ! spare_wanted; then continue; fi
	[ ! -e "$run/cells/$number.$attempt" ] || plan_error "cell $number.$attempt was run before"
	if predicate_fails; then finish stop "$V"; fi
	run_cell
	case $gate in
	cancelled) finish stop "$stop" ;;
	safety_stop) finish stop safety_stop ;;
	esac
	case $cell_state in
	cancelled) finish stop "$stop" ;;
	safety_stop) case $gate_line in skip*) finish stop safety_stop ;; esac ;;
	esac
	note_loss "$cell_state"
done
finish done end
