# The runner, part 2: what it reads between cells - temperatures, throttle status, battery, space - and the gate.

# Thousandths of a degree into MC from sensor number $1; status 1 when it cannot be read or is no temperature.
read_sensor() {
	eval "_scale=\$sensor_scale_$1 _source=\$sensor_source_$1"
	case $_source in
	/*) first_line "$P$_source" || return 1 ;;
	"dumpsys battery")
		V=
		have dumpsys || return 1
		_text=$(limited dumpsys battery)
		case $_text in *UPDATES\ STOPPED*) return 1 ;; *temperature:*) ;; *) return 1 ;; esac
		V=${_text#*[[:space:]]temperature:}
		V=${V%%"$nl"*}
		;;
	*)
		thermal_service || return 1
		case $HAL in *" mName=${_source#dumpsys thermalservice },"*) ;; *) return 1 ;; esac
		V=${HAL%%" mName=${_source#dumpsys thermalservice },"*}
		V=${V##*mValue=}
		V=${V%%,*}
		;;
	esac
	to_milli "$V" "$_scale" || return 1
	[ "$MC" -ne 0 ] && [ "$MC" -gt -20000 ] && [ "$MC" -lt 125000 ]
}
# A decimal number $1 in units of $2 thousandths of a degree, into MC.
to_milli() {
	set -- ${1%"$CR"} "$2"
	[ $# -eq 2 ] || return 1
	_sign=
	_n=$1
	case $_n in -*) _sign=- _n=${_n#-} ;; esac
	_f=
	case $_n in *.*) _f=${_n#*.} _n=${_n%%.*} ;; esac
	case $_n$_f in '' | *[!0-9]*) return 1 ;; esac
	while :; do case $_n in 0?*) _n=${_n#0} ;; *) break ;; esac done
	[ ${#_n} -le 6 ] || return 1
	_f=${_f}000
	_f=1${_f%"${_f#???}"}
	[ "$_n" -lt $((2000000 / $2)) ] || return 1
	MC=$_sign$((_n * $2 + (_f - 1000) * $2 / 1000))
}
CR=$(printf '\r' 2>/dev/null || echo)
# Live part of `dumpsys thermalservice` into HAL, its throttle status into STATUS (empty when unknown).
thermal_service() {
	HAL= STATUS=
	have dumpsys || return 1
	_text=$(limited dumpsys thermalservice)
	case $_text in *"Thermal Status:"*) ;; *) return 1 ;; esac
	STATUS=${_text#*Thermal Status: }
	STATUS=${STATUS%%[!0-9]*}
	case $_text in *"Current temperatures from HAL:"*) ;; *) return 1 ;; esac
	HAL=${_text#*Current temperatures from HAL:}
	HAL=${HAL%%Current cooling devices*}
}
# Temperature of the first sensor that answers, into MC; its name into SENSOR.
read_temperature() {
	SENSOR= MC=
	_i=0
	while [ "$_i" -lt "$sensor_count" ]; do
		_i=$((_i + 1))
		if read_sensor $((sensor_base + _i)); then
			SENSOR=$_source
			return 0
		fi
	done
	MC=
	return 1
}
# Milli-degrees $1 as degrees in S; empty stays empty.
degrees() {
	S=
	[ -n "$1" ] || return 0
	_a=${1#-}
	_m=$((_a % 1000 + 1000))
	S=$((_a / 1000)).${_m#1}
	case $1 in -*) S=-$S ;; esac
}
clocks_capped() {
	set -- $cap_list
	while [ $# -ge 2 ]; do
		if first_line "$2"; then
			case $V in '' | *[!0-9]*) ;; *) [ "$V" -ge "$1" ] || return 0 ;; esac
		fi
		shift 2
	done
	return 1
}

# The wait before a cell. Sets gate (its outcome), gate_run (1: the cell may run), gate_mc, gate_sensor, gate_wait,
# gate_status, tainted. Checks the stop file and the safety limit on the way.
run_gate() {
	set -- $gate_line
	_mode=$1 _limit=$2 _minimum=$3 _timeout=$4 _poll=$5 _late=$6 _dwell=$7 _ask=$8
	now
	gate_began=$NOW
	gate_status= tainted=0 told= _misses=0
	while :; do
		blocked=
		STATUS=
		if read_temperature; then gate_mc=$MC gate_sensor=$SENSOR; else gate_mc= gate_sensor=; fi
		if [ "$_mode" = skip ]; then
			gate=gate_skipped gate_run=1
			break
		fi
		[ "$_ask" = 1 ] && [ -z "$STATUS" ] && thermal_service
		gate_status=$STATUS
		now
		_waited=$((NOW - gate_began))
		stop_asked && {
			gate=cancelled gate_run=0
			break
		}
		too_hot "$gate_mc" "$STATUS" && {
			gate=safety_stop gate_run=0
			break
		}
		if [ -z "$gate_mc" ] && [ "$sensor_count" -gt 0 ] && [ "$_misses" -lt 2 ]; then
			_misses=$((_misses + 1)) # a sensor that is asleep, or read while it changes: only three misses in a row count
			_left=20
		elif [ -z "$gate_mc" ]; then
			[ -n "$told" ] || event beat "n=$number phase=gate waited=0 blocked=sensor"
			told=yes
			if [ "$_dwell" = - ]; then
				gate=gate_unavailable gate_run=0
				break
			fi
			if [ "$_waited" -ge "$_dwell" ]; then
				gate=gate_unavailable gate_run=1 tainted=1
				break
			fi
			_left=$((_dwell - _waited))
		else
			_misses=0
			[ "$gate_mc" -le "$_limit" ] || blocked=temp
			[ "${STATUS:-0}" -eq 0 ] || blocked=$blocked${blocked:+,}status
			clocks_capped && blocked=$blocked${blocked:+,}clock
			if [ -z "$blocked" ] && [ "$_waited" -ge "$_minimum" ]; then
				gate=passed gate_run=1
				break
			fi
			if [ -n "$blocked" ] && [ "$_waited" -ge "$_timeout" ]; then
				gate=gate_timeout gate_run=0
				[ "$_late" = run ] && gate_run=1 tainted=1
				break
			fi
			_left=$((_minimum - _waited))
			[ -z "$blocked" ] || [ "$_left" -ge "$_poll" ] || _left=$((_timeout - _waited))
		fi
		degrees "$gate_mc"
		beat "phase=gate waited=$_waited temp=$S blocked=$blocked"
		[ "$_left" -lt "$_poll" ] || _left=$_poll
		wait_cs "$_left" 2>/dev/null
	done
	now
	gate_wait=$((NOW - gate_began))
}
too_hot() { # $1 milli-degrees or empty, $2 throttle status or empty
	[ -n "$safety_mc" ] && [ -n "$1" ] && [ "$1" -ge "$safety_mc" ] && return 0
	[ -n "$safety_status" ] && [ -n "$2" ] && [ "$2" -ge "$safety_status" ]
}

# Battery charge in % into V; status 1 when unknown.
battery_level() {
	for _f in "$P/sys/class/power_supply/battery/capacity" "$P"/sys/class/power_supply/BAT*/capacity; do
		if first_line "$_f"; then
			case $V in '' | *[!0-9]*) ;; *) return 0 ;; esac
		fi
	done
	have dumpsys || return 1
	_text=$(limited dumpsys battery)
	case $_text in *level:*) ;; *) return 1 ;; esac
	V=${_text#*[[:space:]]level: }
	V=${V%%[!0-9]*}
	[ -n "$V" ]
}
# Free megabytes (10^6) where the run is written, into V; status 1 when unknown.
free_space() {
	_text=$(df -k "$run" 2>/dev/null) || return 1
	set -- ${_text##*"$nl"}
	[ $# -ge 5 ] || return 1
	shift $(($# - 3)) # the last three are: available, use %, mount point
	case $1 in '' | *[!0-9]*) return 1 ;; ??????????*) set -- 999999999 ;; esac # 32 bits hold no more
	V=$(($1 / 1000 + $1 / 1000 * 24 / 1000))
}
# State that keeps the next cell from starting, into V; status 0 when there is one.
predicate_fails() {
	if [ -n "$battery_min" ] && battery_level && [ "$V" -lt "$battery_min" ]; then
		V="low_battery detail=$V percent, at least $battery_min are needed"
		return 0
	fi
	if [ -n "$free_min" ] && free_space && [ "$V" -lt "$free_min" ]; then
		V="storage_full detail=$V MB free, at least $free_min are needed"
		return 0
	fi
	return 1
}
# Engines that run beside us, as PID:NAME,... in FOREIGN.
find_foreign() {
	FOREIGN=
	for _d in /proc/[0-9]*; do
		{ IFS= read -r V <"$_d/comm"; } 2>/dev/null || continue
		case $V in
		llama-* | llama_* | xllamacpp* | rpc-server)
			{ IFS= read -r V <"$_d/stat"; } 2>/dev/null || continue
			case ${V##*") "} in Z*) continue ;; esac
			V=${V#*"("}
			FOREIGN=$FOREIGN${FOREIGN:+,}${_d#/proc/}:${V%%")"*}
			;;
		esac
	done
}
