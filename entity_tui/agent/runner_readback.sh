# The runner, part 3: what the kernel says was applied - masks, CPU time and moves of every thread of the workload.

# Kernel mask text "00000000,000000f0" as "f0" in M.
tidy_mask() {
	IFS=,
	set -- $1
	IFS=$default_ifs
	M=
	for _part; do M=$M$_part; done
	while :; do case $M in 0?*) M=${M#0} ;; *) break ;; esac done
}
# Value of a "Key:<tab>value" line of the status file $1 into V.
status_value() { # $1 file, $2 key
	V=
	{
		while read -r _k V _rest; do
			[ "$_k" != "$2:" ] || return 0
		done <"$1"
	} 2>/dev/null
	V=
	return 1
}
if [ "$shell" = mksh ]; then
	status_value() {
		{ V=$(<"$1"); } 2>/dev/null
		case $V in *"$2:"*) ;; *) V= && return 1 ;; esac
		V=${V#*"$2:"?}
		V=${V%%"$nl"*}
	}
fi

# One look at every thread of the workload: masks, CPU time, last CPU. Sets `seen` to what must stay the same for the
# readback to be called stable, and `workers` to how many threads there are.
readback() {
	seen=
	workers=0
	_tree=$pid
	if first_line "/proc/$pid/task/$pid/children"; then _tree="$pid $V"; fi
	for _p in $_tree; do
		for _t in "/proc/$_p/task"/[0-9]*; do
			first_line "$_t/stat" || continue
			_comm=${V#*"("}
			_comm=${_comm%")"*}
			# before its exec the child still is this shell, or the tool that pins it
			case $_comm in taskset | setsid | "$own_comm") [ "$NOW" -gt "$settled" ] || continue ;; esac
			_tid=${_t##*/}
			set -- ${V##*") "}
			[ $# -ge 37 ] || continue
			_ticks=$((${12} + ${13}))
			_cpu=${37}
			status_value "$_t/status" Cpus_allowed || continue
			tidy_mask "$V"
			workers=$((workers + 1))
			seen="$seen $_tid:$M"
			eval "_old=\${t1_$_tid-} _was=\${c_$_tid-}"
			if [ -z "$_old" ]; then
				tids="$tids $_tid"
				eval "h_$_tid=0"
				_old=0
			fi
			[ -z "$_was" ] || [ "$_was" = "$_cpu" ] || eval "h_$_tid=\$((h_$_tid + 1))"
			eval "t1_$_tid=$_ticks c_$_tid=$_cpu m_$_tid=$M"
			if [ "$_ticks" -gt "$_old" ]; then
				eval "by_$_cpu=\$((\${by_$_cpu:-0} + _ticks - _old))"
				case " $used_cpus " in *" $_cpu "*) ;; *) used_cpus="$used_cpus $_cpu" ;; esac
			fi
			migrations_of "$_t/sched" && eval "s_$_tid=\$V"
		done
	done
}
# Times the kernel moved a thread to another CPU, from its sched file $1, into V; status 1 where there is none.
migrations_of() {
	slurp "$1"
	case $TEXT in *nr_migrations*) ;; *) return 1 ;; esac
	V=${TEXT#*nr_migrations}
	V=${V%%"$nl"*}
	V=${V##*[: ]}
}

# Masks of the threads that worked, migrations, CPU time by CPU: everything the readback found, as one journal line.
report_launch() {
	_threads= _worked= _every= _grew=0 _moves=0 _source=sampled
	for _tid in $tids; do
		eval "_b=\$t1_$_tid _m=\$m_$_tid _c=\$c_$_tid _h=\$h_$_tid _s=\${s_$_tid:-}"
		eval "unset t1_$_tid m_$_tid c_$_tid h_$_tid s_$_tid"
		_g=0
		if [ "$_b" -gt 0 ]; then # it was born in this launch: any CPU time has grown from nothing
			_g=1
			_grew=$((_grew + 1))
			case $_worked in '' | "$_m") _worked=$_m ;; *) _worked=mixed ;; esac
		fi
		[ "$_tid" != "$pid" ] || _every=$_m
		_threads="$_threads${_threads:+,}$_tid:$_m:$_b:$_g:$_c:${_s:--}"
		if [ -n "$_s" ]; then _moves=$((_moves + _s)) _source=sched; else _moves=$((_moves + _h)); fi
	done
	applied=${_worked:-$_every}
	mask_ok=-
	if [ -n "$want_mask" ] && [ -n "$applied" ]; then
		mask_ok=1
		if [ "$applied" != "$want_mask" ]; then
			mask_ok=0
			if [ "$state" = ok ]; then
				state=affinity_mismatch detail="asked for mask $want_mask, the kernel says $applied"
			fi
		fi
	fi
	_by=
	for _cpu in $used_cpus; do
		eval "_by=\$_by\${_by:+,}$_cpu:\$by_$_cpu"
		eval "unset by_$_cpu"
	done
	own_ticks
	[ -n "$_threads" ] || _grew=- _moves=-
	degrees "$temp_first"
	_first=$S
	degrees "$temp_max"
	event launch_end "n=$number attempt=$attempt phase=$phase state=$state code=$code from=$began_at to=$ended_at" \
		"mask=${want_mask:--} applied=${applied:--} mask_ok=$mask_ok threads=$want_threads seen=$_grew moves=$_moves" \
		"moves_by=$_source cpu=${_by:--} temp_first=${_first:--} temp_max=${S:--} own=$((TICKS - ticks_before))" \
		"total=$((CHILD_TICKS - child_before))" \
		"readback=${_threads:--} stable=$stable detail=$detail"
}
