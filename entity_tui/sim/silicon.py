"""What a simulated phone is made of: clusters, memory, battery and body, in the units of docs/demo-phone.md."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SimCluster:
    """Cores of one kind that share a clock.

    Rates hold at the top clock: `decode_gb_per_s` is how fast one core streams weights while it decodes,
    `prompt_gflop_per_s` what one core multiplies while it reads a prompt, `busy_w` what one busy core draws.
    """

    name: str
    cpus: tuple[int, ...]
    steps_khz: tuple[int, ...]
    """Operating points, ascending."""
    capacity: int
    decode_gb_per_s: float
    prompt_gflop_per_s: float
    busy_w: float

    @property
    def max_khz(self) -> int:
        """The top clock."""
        return self.steps_khz[-1]


@dataclass(frozen=True, slots=True)
class SimBody:
    """Heat: two masses in a row, the chip on the body, the body in the air."""

    idle_w: float = 0.65
    memory_w_per_gb_s: float = 0.10
    wait_power_share: float = 0.45
    """What a core draws that spins at a barrier, as a share of a busy one."""
    chip_k_per_w: float = 9.5
    chip_j_per_k: float = 0.5
    body_k_per_w: float = 4.5
    body_j_per_k: float = 180.0
    ambient_c: float = 25.0
    start_c: float = 31.0
    trip_c: float = 71.0
    """The chip's temperature at which clocks are taken down, whatever the thermal status says."""
    release_c: float = 63.0
    skin_status_c: tuple[float, ...] = (39.0, 41.0, 43.0, 45.0, 47.0, 55.0)
    """Body temperatures of thermal status 1 to 6."""
    charger_w: float = 1.2
    """Heat of charging."""


@dataclass(frozen=True, slots=True)
class SimBattery:
    """The battery and its gauge."""

    capacity_mah: float = 5000.0
    level_pct: float = 78.0
    full_mv: float = 4350.0
    empty_mv: float = 3300.0
    resistance_ohm: float = 0.08
    gauge_period_s: float = 0.62
    current_unit_ua: bool = True
    discharge_negative: bool = True
    charge_current_ma: float = 2200.0


@dataclass(frozen=True, slots=True)
class SimSilicon:
    """Everything the physics and the stand-in engine need to know of one phone."""

    clusters: tuple[SimCluster, ...]
    features: frozenset[str]
    """The names of /proc/cpuinfo: asimddp, asimdhp, fphp, i8mm, sve, sve2, sme."""
    bandwidth_gb_per_s: float
    memory_kb: int
    memory_available_kb: int
    body: SimBody = SimBody()
    battery: SimBattery = SimBattery()

    @property
    def cpus(self) -> tuple[int, ...]:
        """Every core's number, ascending."""
        return tuple(sorted(cpu for cluster in self.clusters for cpu in cluster.cpus))

    def cluster_of(self) -> Mapping[int, SimCluster]:
        """The cluster of each core."""
        return {cpu: cluster for cluster in self.clusters for cpu in cluster.cpus}
