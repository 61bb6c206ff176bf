# Everything the rules need to know of a device, in one round trip: raw texts, each under a header line that carries a
# word only this call knows ($1), so that no text can pass for a header. $2 is a directory for `df`. The host names the
# outcomes; here only a real read decides, since file modes say nothing about what SELinux allows.
#   @NONCE file STATUS - PATH       the file's text follows, or the reader's complaint when STATUS is not 0
#   @NONCE cmd STATUS MS LINE       the command's output (both streams) follows
#   @NONCE end                      the last line of a whole answer

nonce=$1
place=${2:-/}
while [ ! -d "$place" ]; do place=${place%/*} && place=${place:-/}; done
limit=${3:-15}
at="@$nonce"
choose_clock
say "entity-probe 1 $nonce"
say "$at info 0 - shell=$shell clock=$clock prefix=${P:+yes}"

complain() {
	V=$(cat "$1" 2>&1 >/dev/null)
	_r=$?
	say "$at file $_r - ${1#"$P"}"
	say "$V"
}
# A node of one line: no fork unless it cannot be read.
node() {
	if first_line "$1"; then
		say "$at file 0 - ${1#"$P"}"
		say "$V"
	else
		complain "$1"
	fi
}
nodes() { for _f; do case $_f in *[*]*) ;; *) node "$_f" ;; esac done; }
present() { for _f; do [ -e "$_f" ] && node "$_f"; done; }
# A file of several lines. mksh reads it without a fork; there the number of line ends at its end is not kept.
text() {
	if [ "$shell" = mksh ]; then
		slurp "$1"
		TEXT=$TEXT$nl
	else
		TEXT=$(cat "$1" 2>/dev/null && echo x)
		case $TEXT in *x) TEXT=${TEXT%x} ;; *) TEXT=$nl ;; esac
	fi
	if [ "$TEXT" = "$nl" ]; then
		complain "$1" # empty, or not to be read: cat says which
	else
		say "$at file 0 - ${1#"$P"}"
		say "$TEXT"
	fi
}

# $1: the command line it is known by; the rest: the command. `how` says whether it needs a time limit.
how=exec
ask() {
	_name=$1
	shift
	if ! have "$1"; then
		say "$at cmd 127 - $_name"
		say "$1: not found"
		return
	fi
	now
	_t0=$NOW
	_v=$($how "$@" 2>&1 </dev/null)
	_r=$?
	now
	say "$at cmd $_r $(((NOW - _t0) * 10)) $_name"
	# thousands of lines, of which one is wanted
	case $_v in *mWakefulness=*) _v=${_v#*mWakefulness=} && _v=mWakefulness=${_v%%"$nl"*} ;; esac
	say "$_v"
	[ -z "$_v" ] || say ""
}

for f in cpuinfo meminfo stat self/cgroup self/status self/cpuset version; do text "$P/proc/$f"; done
nodes "$P/proc/uptime" "$P/proc/loadavg" "$P/proc/sys/kernel/random/boot_id" "$P/proc/sys/kernel/osrelease" \
	"$P/proc/sys/kernel/perf_event_paranoid"
for f in cpu memory io; do text "$P/proc/pressure/$f"; done
cpus=$P/sys/devices/system/cpu
nodes "$cpus/present" "$cpus/online" "$cpus/possible" "$cpus/offline"
present "$cpus/isolated" "$cpus/kernel_max" "$cpus/modalias"
# MediaTek's own list of clusters, which tells of cores that are off; and how full the compressed swap is.
[ -e "$cpus/cputopo/glbinfo" ] && text "$cpus/cputopo/glbinfo"
present "$P/sys/block/zram0/mm_stat"

for c in "$cpus"/cpu[0-9]*; do
	[ -d "$c" ] || continue
	present "$c/online" "$c/cpu_capacity" "$c/regs/identification/midr_el1" "$c/core_ctl/is_big_cluster"
	for f in core_id physical_package_id cluster_id core_siblings_list cluster_cpus_list package_cpus_list \
		thread_siblings_list; do
		present "$c/topology/$f"
	done
	for f in affected_cpus related_cpus cpuinfo_max_freq cpuinfo_min_freq scaling_max_freq scaling_min_freq \
		scaling_cur_freq scaling_driver scaling_governor scaling_available_frequencies; do
		present "$c/cpufreq/$f"
	done
	for d in "$c"/cache/index[0-9]*; do
		present "$d/level" "$d/type" "$d/size" "$d/shared_cpu_list"
	done
done
for p in "$cpus"/cpufreq/policy[0-9]*; do
	[ -d "$p" ] || continue
	for f in affected_cpus related_cpus cpuinfo_max_freq cpuinfo_min_freq scaling_max_freq scaling_min_freq \
		scaling_cur_freq scaling_driver scaling_governor scaling_available_frequencies; do
		present "$p/$f"
	done
	[ -e "$p/stats/time_in_state" ] && text "$p/stats/time_in_state"
done
present "$P/sys/devices/soc0/soc_id" "$P/sys/devices/soc0/machine" "$P/sys/devices/soc0/family" \
	"$P/sys/devices/soc0/revision"
# These hold NUL bytes, which no shell variable can.
for f in model compatible; do
	[ -r "$P/proc/device-tree/$f" ] || continue
	say "$at file 0 - /proc/device-tree/$f"
	cat "$P/proc/device-tree/$f" 2>/dev/null
	say ""
done
present "$P/dev/cpuset/cpus" "$P/dev/cpuset/background/cpus" "$P/dev/cpuset/top-app/cpus" \
	"$P/dev/cpuset/foreground/cpus" "$P/sys/fs/cgroup/cpuset.cpus.effective"

for z in "$P"/sys/class/thermal/thermal_zone[0-9]*; do
	[ -e "$z" ] || continue
	nodes "$z/type"
	if first_line "$z/temp"; then
		say "$at file 0 - ${z#"$P"}/temp"
		say "$V"
		for f in "$z"/trip_point_*_temp "$z"/trip_point_*_type; do present "$f"; done
	else
		complain "$z/temp"
	fi
done
for z in "$P"/sys/class/thermal/cooling_device[0-9]*; do
	[ -e "$z" ] && nodes "$z/type" "$z/cur_state" "$z/max_state"
done
for s in "$P"/sys/class/power_supply/*; do
	[ -e "$s" ] || continue
	text "$s/uevent"
	for f in type online status present current_now current_avg voltage_now voltage_ocv temp capacity charge_counter \
		charge_full charge_full_design power_now energy_now technology; do
		present "$s/$f"
	done
done
for d in "$P"/sys/bus/iio/devices/iio:device[0-9]*; do
	[ -e "$d/name" ] && node "$d/name"
	[ -e "$d/energy_value" ] && text "$d/energy_value"
	[ -e "$d/enabled_rails" ] && text "$d/enabled_rails"
done
for d in "$P"/sys/class/hwmon/hwmon[0-9]*; do
	[ -e "$d/name" ] && node "$d/name"
	for f in "$d"/temp[0-9]*_input "$d"/temp[0-9]*_label; do present "$f"; done
done
present "$P/sys/class/kgsl/kgsl-3d0/gpu_model" "$P/sys/class/kgsl/kgsl-3d0/gpuclk" \
	"$P/sys/class/kgsl/kgsl-3d0/max_gpuclk" "$P/sys/class/kgsl/kgsl-3d0/gpu_busy_percentage" \
	"$P/sys/class/kgsl/kgsl-3d0/gpubusy" "$P/sys/kernel/gpu/gpu_model" "$P/sys/kernel/gpu/gpu_busy"

ask "ls /sys/class/thermal" ls "$P/sys/class/thermal"
ask "ls /sys/class/power_supply" ls "$P/sys/class/power_supply"
ask "uname -a" uname -a
system=$_v
ask id id
ask "df -k $place" df -k "$place"
say "$at cmd 0 - command -v"
for t in taskset timeout setsid nohup sha256sum mkfifo awk dd tr expr printf od stat flock nproc simpleperf perf perfetto \
	dumpsys cmd settings getprop termux-battery-status termux-wake-lock vcgencmd python3 toybox busybox; do
	command -v $t 2>/dev/null
done
if have getprop; then
	ask getprop getprop
	how=limited
	ask "dumpsys battery" dumpsys battery
	ask "dumpsys thermalservice" dumpsys thermalservice
	ask "dumpsys power | grep mWakefulness" dumpsys power
	ask "cmd battery get -f current_now" cmd battery get -f current_now
	ask "cmd battery get -f current_average" cmd battery get -f current_average
	ask "settings get global airplane_mode_on" settings get global airplane_mode_on
	ask "settings get global low_power" settings get global low_power
fi
case $system in
Darwin*)
	ask "sysctl hw" sysctl hw
	ask "sysctl machdep.cpu" sysctl machdep.cpu
	ask "sysctl kern.boottime" sysctl kern.boottime
	ask "sysctl kern.bootsessionuuid" sysctl kern.bootsessionuuid
	ask "sysctl vm.loadavg" sysctl vm.loadavg
	ask vm_stat vm_stat
	ask sw_vers sw_vers
	ask "pmset -g therm" pmset -g therm
	ask "pmset -g batt" pmset -g batt
	;;
esac
say "$at end"
