"""What the adb server itself can do for us: list and track phones, connect, disconnect and pair."""

from __future__ import annotations

import re
import secrets
from collections.abc import AsyncGenerator
from dataclasses import dataclass

from entity_tui.transport.adb_wire import ANSWER_TIMEOUT_S, AdbRefused, ServerAddress, dial, query, state_of
from entity_tui.transport.base import DeviceState, LinkLost, Unsupported

_DETAILS = re.compile(r"\b(usb|product|model|device|transport_id):(\S+)")
_ROW = re.compile(
    r"^(?P<serial>\S+)\s+(?P<state>no permissions.*?|\S+)"
    r"(?P<rest>(?:\s+(?:usb|product|model|device|transport_id):.*)?)\s*$",
    re.DOTALL,
)
"""A phone names itself: whatever its name holds, the row stays the row of that phone."""
_NO_SERIAL = re.compile(r"^\(no serial number\)")
CONNECT_TIMEOUT_S = 15.0
PAIR_TIMEOUT_S = 20.0


@dataclass(frozen=True, slots=True)
class AdbDevice:
    """One row of the server's list. `transport_id` is never reused while a server lives: it tells a returned phone."""

    serial: str
    state: DeviceState
    word: str
    """The server's own word for the state."""
    model: str = ""
    product: str = ""
    transport_id: str = ""

    @property
    def over_network(self) -> bool:
        """True for an `ip:port` phone, which the server forgets and we bring back."""
        return is_network_serial(self.serial)


def is_network_serial(serial: str) -> bool:
    """True when a serial is `host:port`."""
    host, colon, port = serial.rpartition(":")
    return bool(colon and host) and port.isdigit()


def parse_devices(text: str) -> tuple[AdbDevice, ...]:
    """The rows of `host:devices-l` or `host:devices`; a row that cannot be read is left out.

    Only a newline ends a row: a phone that names itself with a form feed in it is still one phone.
    """
    rows = []
    for line in text.split("\n"):
        found = _ROW.match(_NO_SERIAL.sub("(no-serial-number)", line))
        if found is None:
            continue
        details = dict(_DETAILS.findall(found["rest"]))
        rows.append(
            AdbDevice(
                serial=found["serial"],
                state=state_of(found["state"]),
                word=found["state"],
                model=details.get("model", "").replace("_", " "),
                product=details.get("product", ""),
                transport_id=details.get("transport_id", ""),
            )
        )
    return tuple(rows)


async def list_devices(server: ServerAddress) -> tuple[AdbDevice, ...]:
    """Every phone the server knows, in whatever state."""
    return parse_devices(await query(server, "host:devices-l"))


async def track_devices(server: ServerAddress) -> AsyncGenerator[tuple[AdbDevice, ...], None]:
    """The whole list at once and after every change. Raises LinkLost when the server ends.

    Server 29 reports the loss of a network phone only when it returns: poll `list_devices` as well.
    """
    stream = await dial(server)
    try:
        await stream.request("host:track-devices")
        while True:
            yield parse_devices(await stream.sized_text())
    finally:
        stream.close()


async def server_version(server: ServerAddress) -> int:
    """The protocol number of the server, such as 41."""
    text = await query(server, "host:version")
    try:
        return int(text, 16)
    except ValueError as error:
        raise LinkLost("The adb server told no version", detail=text) from error


async def features(server: ServerAddress, serial: str) -> frozenset[str]:
    """What the phone's adbd can do, such as `shell_v2`."""
    return frozenset((await query(server, f"host-serial:{serial}:features")).split(","))


async def connect(server: ServerAddress, address: str) -> str:
    """Connect an `ip:port` phone; returns the server's words. Raises AdbRefused when they tell of a failure.

    The server answers OKAY for a failure too: only the text tells.
    """
    words = (await query(server, f"host:connect:{address}", timeout_s=CONNECT_TIMEOUT_S)).strip()
    if not words.startswith(("connected to", "already connected")):
        raise AdbRefused(
            f"Cannot connect to {address}",
            detail=words,
            fix="Check that the phone is on the same network and that wireless debugging shows this port.",
            retry=True,
        )
    return words


async def disconnect(server: ServerAddress, address: str) -> bool:
    """Drop an `ip:port` phone; False when the server did not know it."""
    try:
        await query(server, f"host:disconnect:{address}")
    except AdbRefused:
        return False
    except LinkLost as error:
        if "closed the connection" in error.title:
            raise
        return False
    return True


async def _newer_service(server: ServerAddress, service: str, timeout_s: float) -> str:
    """A service that servers before platform-tools 30 do not have. Raises Unsupported for those."""
    try:
        return await query(server, service, timeout_s=timeout_s)
    except AdbRefused as error:
        if "unknown host service" not in error.detail:
            raise
        raise Unsupported(
            "This adb server is too old to pair",
            detail=error.detail,
            fix="Install platform-tools 30 or newer and run `adb kill-server`, or pair over USB.",
        ) from error


async def pair(server: ServerAddress, address: str, code: str) -> str:
    """Pair with a phone that shows `code` under `Pair device with pairing code`; returns the server's words."""
    words = (await _newer_service(server, f"host:pair:{code}:{address}", PAIR_TIMEOUT_S)).strip()
    if not words.lower().startswith("successfully paired"):
        raise AdbRefused(
            f"Pairing with {address} failed",
            detail=words,
            fix="The code changes every time: read it again, and use the port shown beside it.",
        )
    return words


@dataclass(frozen=True, slots=True)
class QrPairing:
    """What a QR code for `Pair device with QR code` carries: a service name the phone will announce, and a password."""

    name: str
    password: str

    @classmethod
    def fresh(cls) -> QrPairing:
        """A new random pairing, good for one use."""
        return cls(f"entity-{secrets.token_hex(4)}", secrets.token_hex(6))

    @property
    def payload(self) -> str:
        """The text of the QR code, as Android's scanner expects it."""
        return f"WIFI:T:ADB;S:{self.name};P:{self.password};;"


async def find_pairing(server: ServerAddress, pairing: QrPairing) -> str | None:
    """`ip:port` where the phone that scanned the code now waits, from the server's mDNS; None when not yet there."""
    for line in (await _newer_service(server, "host:mdns:services", ANSWER_TIMEOUT_S)).split("\n"):
        fields = line.split()
        if len(fields) >= 3 and fields[0] == pairing.name and "_adb-tls-pairing" in fields[1]:
            return fields[2]
    return None
