# The runner, part 1: the flat plan. Everything a later line needs is in plain variables; arguments of a launch are in
# a_LAUNCH_NUMBER so that no text of the plan is ever expanded or split again.

gate_defaults() { # remember the plan's own gate, or go back to it for a cell that has none of its own
	if [ "$1" = keep ]; then
		g_all="$gate_line" g_sensors="$sensor_count" g_caps="$cap_list"
	else
		gate_line=$g_all cap_list=$g_caps sensor_count=$g_sensors sensor_base=0
	fi
}
plan_error() {
	event refused "reason=plan detail=$1"
	leave 1
}
add_sensor() {
	sensor_count=$((sensor_count + 1))
	eval "sensor_scale_$((sensor_base + sensor_count))=\${1%% *} sensor_source_$((sensor_base + sensor_count))=\${1#* }"
}

# The head of the plan, up to its first cell, on descriptor 3.
read_head() {
	session= plan_hash=- plan_boot= period=15 heartbeat=500 battery_min= free_min= safety_mc= safety_status=
	recorder_mask= node_names= node_paths= node_count=0 file_count=0 exit_list=' ' replace_list=' ' stderr_count=0
	owed=0
	gate_line='skip 0 0 0 0 skip - 0' sensor_count=0 sensor_base=0 cap_list= next_cell=
	IFS= read -r line <&3
	[ "$line" = "entity-plan 1" ] || plan_error "not a plan this runner knows: $line"
	while IFS= read -r line <&3; do
		rest=${line#* }
		case $line in
		session\ *) session=$rest ;;
		plan_hash\ *) plan_hash=$rest ;;
		boot_id\ *) plan_boot=$rest ;;
		period_cs\ *) period=$rest ;;
		heartbeat_cs\ *) heartbeat=$rest ;;
		battery_min_pct\ *) battery_min=$rest ;;
		free_min_mb\ *) free_min=$rest ;;
		safety_mc\ *) safety_mc=$rest ;;
		safety_status\ *) safety_status=$rest ;;
		recorder_mask\ *) recorder_mask=$rest ;;
		node\ *)
			node_names="$node_names ${rest%% *}"
			node_paths="$node_paths $P${rest#* }"
			;;
		file\ *)
			file_count=$((file_count + 1))
			eval "file_$file_count=\$rest"
			;;
		owed\ *) owed=$rest ;;
		exit\ *) exit_list="$exit_list${rest%% *}=${rest#* } " ;;
		replace\ *) replace_list="$replace_list$rest " ;;
		stderr\ *)
			stderr_count=$((stderr_count + 1))
			eval "stderr_state_$stderr_count=\${rest%% *} stderr_words_$stderr_count=\${rest#* }"
			;;
		gate\ *) gate_line=$rest ;;
		sensor\ *) add_sensor "$rest" ;;
		cap\ *) cap_list="$cap_list ${rest%% *} $P${rest#* }" ;;
		cell\ *)
			next_cell=$rest
			break
			;;
		end) break ;;
		*) plan_error "unknown line: $line" ;;
		esac
	done
	[ -n "$session" ] || plan_error "no session"
	gate_defaults keep
}

# The next cell of the plan; status 1 at its end. Leaves `next_cell` at the head of the one after it.
read_cell() {
	[ -n "$next_cell" ] || return 1
	set -- $next_cell
	next_cell=
	number=$1 attempt=$2 block=$3 position=$4 role=$5 reserve=$6 arm=$7 key=$8
	launches=0
	gate_defaults restore
	while IFS= read -r line <&3; do
		rest=${line#* }
		case $line in
		gate\ *) gate_line=$rest sensor_base=100 sensor_count=0 cap_list= ;;
		sensor\ *) add_sensor "$rest" ;;
		cap\ *) cap_list="$cap_list ${rest%% *} $P${rest#* }" ;;
		launch\ *)
			set -- $rest
			launches=$((launches + 1))
			eval "phase_$launches=\$1 threads_$launches=\$2 wall_$launches=\$3 argc_$launches=0 envc_$launches=0"
			eval "mask_$launches= cpus_$launches= dir_$launches=/"
			;;
		mask\ *) eval "mask_$launches=\${rest%% *} cpus_$launches=\${rest#* }" ;;
		dir\ *) eval "dir_$launches=\$rest" ;;
		env\ *)
			eval "n=\$((envc_$launches + 1))"
			eval "envc_$launches=\$n env_${launches}_$n=\${rest%% *} val_${launches}_$n=\${rest#* }"
			;;
		arg\ *)
			eval "n=\$((argc_$launches + 1))"
			eval "argc_$launches=\$n arg_${launches}_$n=\$rest"
			;;
		go)
			IFS= read -r line <&3
			case $line in cell\ *) next_cell=${line#* } ;; esac
			return 0
			;;
		*) plan_error "unknown line in cell $number: $line" ;;
		esac
	done
	plan_error "cell $number is cut off"
}
