# The runner, part 4: one start of the workload - is the mask possible, run it, watch its threads, name how it ended.

# CPU list "0-3,6" as " 0 1 2 3 6 " in LIST.
expand() {
	LIST=' '
	IFS=,
	set -- $1
	IFS=$default_ifs
	for _part; do
		_a=${_part%-*}
		_b=${_part#*-}
		case $_a$_b in '' | *[!0-9]*) continue ;; esac
		while [ "$_a" -le "$_b" ]; do
			LIST="$LIST$_a "
			_a=$((_a + 1))
		done
	done
}
# Refuses what cannot be measured: sets state when the mask of launch $1 cannot hold its threads.
mask_possible() {
	eval "_mask=\$mask_$1 _cpus=\$cpus_$1 _threads=\$threads_$1"
	state=ok detail=
	[ -n "$_mask" ] || return 0
	set -- $_cpus
	if [ "$_threads" -gt $# ]; then
		state=threads_exceed_mask detail="$_threads threads on $# CPUs (mask $_mask)"
		return 1
	fi
	have taskset || {
		state=skipped_incapable detail="no taskset on this device"
		return 1
	}
	first_line "$P/sys/devices/system/cpu/online" && [ -n "$V" ] && {
		expand "$V"
		for _cpu; do
			case $LIST in *" $_cpu "*) ;; *)
				state=core_offline detail="CPU $_cpu of mask $_mask is offline; online: $V"
				return 1
				;;
			esac
		done
	}
	[ -n "$allowed" ] && {
		expand "$allowed"
		for _cpu; do
			case $LIST in *" $_cpu "*) ;; *)
				state=cpuset_denied detail="CPU $_cpu of mask $_mask is not allowed; allowed: $allowed"
				return 1
				;;
			esac
		done
	}
	return 0
}

# Starts launch $1 as $pid with its output in $cell_dir.
start_workload() {
	eval "_argc=\$argc_$1 _envc=\$envc_$1 _mask=\$mask_$1 _dir=\$dir_$1"
	[ -n "$_mask" ] || [ -z "$recorder_mask" ] || _mask=$first_mask
	set -- "$1"
	_i=1
	_words=
	while [ "$_i" -le "$_argc" ]; do
		_words="$_words \"\$arg_$1_$_i\""
		_i=$((_i + 1))
	done
	(
		_i=1
		while [ "$_i" -le "$_envc" ]; do
			eval "export \"\$env_$1_$_i=\$val_$1_$_i\""
			_i=$((_i + 1))
		done
		GGML_NO_BACKTRACE=1
		export GGML_NO_BACKTRACE
		cd "$_dir" || exit 126
		eval "set -- $_words"
		[ -z "$use_setsid" ] || set -- setsid "$@"
		[ -z "$_mask" ] || set -- taskset "$_mask" "$@"
		exec 3<&- 8<&-
		exec "$@"
	) >"$cell_dir/$phase.out" 2>"$cell_dir/$phase.err" </dev/null &
	pid=$!
	first_line "/proc/$pid/stat" || V=
	set -- ${V##*") "}
	pid_start=${20:-0}
	say "$boot_id $pid $pid_start" >"$lock/workload"
}
end_workload() { # TERM, and KILL for what is still there two seconds later
	_n=0
	while workload_lives; do
		if [ "$_n" -eq 0 ]; then kill_workload TERM; fi
		if [ "$_n" -ge 20 ]; then kill_workload KILL; fi
		[ "$_n" -lt 60 ] || break
		_n=$((_n + 1))
		sleep 0.1 2>/dev/null || sleep 1
	done
}
kill_workload() {
	if [ -n "$use_setsid" ] && kill "-$1" "-$pid" 2>/dev/null; then return; fi
	kill "-$1" "$pid" 2>/dev/null
}
workload_lives() {
	if [ -n "$no_proc" ]; then # macOS: a process that has ended and was not waited for yet still answers signals
		case $(ps -o state= -p "$pid" 2>/dev/null) in '' | Z*) return 1 ;; esac
		return 0
	fi
	first_line "/proc/$pid/stat" || return 1
	case ${V##*") "} in Z*) return 1 ;; esac
}

# A line of the cell's own samples: clock and the plan's nodes.
sample() {
	line="p $T"
	read_values $node_paths
	say "$line"
}

# Runs launch $1 of the cell to its end. Sets state, detail and adds a launch_end line to the journal.
run_launch() {
	eval "phase=\$phase_$1 want_threads=\$threads_$1 want_mask=\$mask_$1 wall=\$wall_$1"
	tids= used_cpus= stable=no last_seen= temp_first= temp_max= asked_at=0 ended_by=
	exec 4>>"$cell_dir/$phase.samples"
	say "entity-samples 1 nodes$node_names" >&4
	own_ticks
	ticks_before=$TICKS child_before=$CHILD_TICKS
	now
	sample >&4 2>/dev/null
	began=$NOW began_at=$T settled=$((NOW + 100))
	start_workload "$1"
	event launch "n=$number attempt=$attempt phase=$phase pid=$pid start=$pid_start mask=${want_mask:--} threads=$want_threads"
	watch_workload 2>/dev/null
	[ -z "$ended_by" ] || end_workload
	wait "$pid" 2>/dev/null
	code=$?
	now
	ended_at=$T
	sample >&4 2>/dev/null
	exec 4>&-
	rm -f "$lock/workload"
	name_end
	report_launch
}

# The tick loop beside the workload: samples, readback, limits.
watch_workload() {
	_due=$NOW
	_look=$NOW
	while workload_lives; do
		now
		sample >&4
		if [ "$stable" = no ] || [ "$NOW" -ge "$_look" ]; then
			_look=$((NOW + 50))
			readback
			if [ -n "$seen" ] && [ "$seen" = "$last_seen" ]; then
				if [ "$workers" -ge "$want_threads" ] || [ "$NOW" -gt $((began + 200)) ]; then stable=yes; fi
			else
				stable=no
			fi
			last_seen=$seen
			watch_heat
		fi
		[ $((NOW - began)) -lt "$wall" ] || ended_by=timeout
		if stop_asked && [ "$stop" = now ]; then ended_by=cancelled; fi
		[ -z "$ended_by" ] || return
		if [ $((NOW - last_beat)) -ge "$heartbeat" ]; then
			degrees "$temp_max"
			beat "phase=$phase elapsed=$((NOW - began)) temp=$S"
		fi
		_due=$((_due + period))
		if [ "$stable" = no ] && [ "$_due" -gt $((NOW + 5)) ]; then _due=$((NOW + 5)); fi
		now
		[ "$_due" -ge "$NOW" ] || _due=$NOW
		wait_cs $((_due - NOW))
	done
}
# Only a sensor that is a file is looked at inside a cell; dumpsys every 10 s, and only after the first minute.
watch_heat() {
	case $gate_sensor in
	/*) if read_temperature; then
		[ -n "$temp_first" ] || temp_first=$MC
		if [ -z "$temp_max" ] || [ "$MC" -gt "$temp_max" ]; then temp_max=$MC; fi
		too_hot "$MC" "" && ended_by=safety_stop
	fi ;;
	esac
	if [ -n "$safety_status" ] && [ $((NOW - began)) -gt 6000 ] && [ $((NOW - asked_at)) -gt 1000 ] && have dumpsys; then
		asked_at=$NOW
		thermal_service
		too_hot "" "$STATUS" && ended_by=safety_stop
	fi
}

# The state of a launch from who ended it, its exit code, its last words and its masks.
name_end() {
	state=ok detail=
	if [ -n "$ended_by" ]; then
		state=$ended_by
		return
	fi
	if [ "$code" -ne 0 ]; then
		state=workload_error
		case $exit_list in *" $code="*)
			state=${exit_list#*" $code="}
			state=${state%% *}
			;;
		esac
		last_words
		_i=1
		while [ "$_i" -le "$stderr_count" ]; do
			eval "_words=\$stderr_words_$_i _name=\$stderr_state_$_i"
			case $words in *"$_words"*)
				state=$_name
				break
				;;
			esac
			_i=$((_i + 1))
		done
		detail="exit $code${detail:+: }$detail"
	fi
}
# All of a short stderr into words, and its last line with something on it into detail.
last_words() {
	words= detail=
	{
		while IFS= read -r _line || [ -n "$_line" ]; do
			[ ${#words} -gt 8000 ] || words=$words$_line$nl
			case $_line in *[!\ ]*) detail=$_line ;; esac
		done <"$cell_dir/$phase.err"
	} 2>/dev/null
}
