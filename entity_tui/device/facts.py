"""Everything a snapshot tells about a device, as one value."""

from __future__ import annotations

from dataclasses import dataclass, field

from entity_tui.device.battery import Battery
from entity_tui.device.battery_read import read_battery
from entity_tui.device.capabilities import Capabilities
from entity_tui.device.capability_read import read_capabilities
from entity_tui.device.energy_rails import RailReading, read_rails
from entity_tui.device.identity import Identity
from entity_tui.device.identity_read import read_identity
from entity_tui.device.isa import IsaFeatures, read_isa
from entity_tui.device.memory import Memory
from entity_tui.device.memory_read import read_memory
from entity_tui.device.snapshot import Snapshot
from entity_tui.device.thermal import Thermal
from entity_tui.device.thermal_read import read_thermal
from entity_tui.device.topology import Topology, read_topology


@dataclass(frozen=True, slots=True)
class Facts:
    """What one snapshot says. Every part is complete in itself and says what it could not read."""

    identity: Identity = field(default_factory=Identity)
    topology: Topology = field(default_factory=Topology)
    isa: IsaFeatures = field(default_factory=IsaFeatures)
    battery: Battery = field(default_factory=Battery)
    thermal: Thermal = field(default_factory=Thermal)
    memory: Memory = field(default_factory=Memory)
    capabilities: Capabilities = field(default_factory=Capabilities)
    rails: tuple[RailReading, ...] = ()
    """Energy meters, where a phone has them and lets them be read."""
    simulated: bool = False


def read_facts(snapshot: Snapshot) -> Facts:
    """Every fact of a snapshot. Pure, total: no text makes it raise, and nothing unread becomes a number."""
    identity = read_identity(snapshot)
    topology = read_topology(snapshot)
    isa = read_isa(snapshot)
    battery = read_battery(snapshot)
    thermal = read_thermal(snapshot)
    memory = read_memory(snapshot)
    return Facts(
        identity=identity,
        topology=topology,
        isa=isa,
        battery=battery,
        thermal=thermal,
        memory=memory,
        capabilities=read_capabilities(
            snapshot,
            identity=identity,
            topology=topology,
            isa=isa,
            battery=battery,
            thermal=thermal,
            memory=memory,
        ),
        rails=read_rails(snapshot),
        simulated=snapshot.simulated,
    )
