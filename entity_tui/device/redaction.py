"""What a snapshot says about its owner - serials, addresses, accounts - taken out before it is written to a file."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from entity_tui.device.snapshot import Reading, Snapshot

REDACTED = "REDACTED"

_PRIVATE_PROP = re.compile(
    r"serial(?!_)|serial_?n|imei|imsi|meid|iccid|(?:^|[._])(?:esn|msisdn|iin|did)(?:$|[._])|macaddr|mac_addr|btmac|wifimac"
    r"|bdaddr|bluetooth\.(?:address|name)|bt\.name|ssid|hostname|ipaddr|gateway|\bdns\d?$|dhcp\."
    r"|account|e-?mail|phone\.?number|line1|gsm\.(?:operator|sim)\.|(?:^|[._])uuid$|cpuid$|chip_?id$|unique|device\.?name$"
    r"|androidid|android_id|advertis|wifi\.interface\.mac|timezone$|persist\.sys\.(?:locale|language|country)",
    re.IGNORECASE,
)
"""Names of properties whose value identifies a phone, its owner, or the place it is in."""

_PRIVATE_FILE = re.compile(r"serial(?:_?number|_num|no)?$|/address$", re.IGNORECASE)

_PATTERNS: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"(?i)^(\s*serial\s*(?:number|no\.?)?\s*[:=]\s*)\S.*$", re.MULTILINE), rf"\g<1>{REDACTED}"),
    (re.compile(r"(?i)(serial_number\s*[:=]\s*)\S+"), rf"\g<1>{REDACTED}"),
    (re.compile(r"(?i)\b((?:imei|imsi|meid|iccid|esn)\w*[\s:=]+)[0-9a-f]{8,20}\b"), rf"\g<1>{REDACTED}"),
    (re.compile(r"(?i)\b(b?ssid\s*[:=]\s*)(?:\"[^\"\n]*\"|\S+)"), rf"\g<1>{REDACTED}"),
    (re.compile(r"\b(?:[0-9A-Fa-f]{2}[:-]){5}[0-9A-Fa-f]{2}\b"), REDACTED),
    (re.compile(r"\b[\w.+-]+@[\w-]+(?:\.[\w-]+)+\b"), REDACTED),
    (
        re.compile(
            r"(?<![\d.])(?:10(?:\.\d{1,3}){3}|192\.168(?:\.\d{1,3}){2}|172\.(?:1[6-9]|2\d|3[01])(?:\.\d{1,3}){2})(?![\d.])"
        ),
        REDACTED,
    ),
    (re.compile(r"(?i)\bfe80:[0-9a-f:]+\b|\b(?:[0-9a-f]{1,4}:){5,7}[0-9a-f]{1,4}\b"), REDACTED),
    (re.compile(r"(/(?:home|Users)/)[^/\s]+"), rf"\g<1>{REDACTED}"),
)
_ID_NAME = re.compile(r"(\d+)\(((?!root\)|shell\)|system\)|u\d+_)[^)\n]+)\)")
_NODE_NAME = re.compile(r"^(\S+) (?!localhost )(\S+) ")
_SPEC = re.compile(r"^((?:adb|ssh):).+$")


def redact(snapshot: Snapshot) -> Snapshot:
    """The snapshot without serials, addresses, accounts, network names and places; everything measured stays.

    Boot id and build fingerprint stay: they are what tells two snapshots of one phone apart from two phones.
    """
    secrets = _secrets(snapshot)
    return replace(
        snapshot,
        files=_readings(snapshot.files, secrets),
        commands=_readings(snapshot.commands, secrets),
        props=MappingProxyType({key: _prop(key, value, secrets) for key, value in snapshot.props.items()}),
        device_spec=_SPEC.sub(rf"\g<1>{REDACTED}", snapshot.device_spec),
        redacted=True,
    )


def _secrets(snapshot: Snapshot) -> tuple[str, ...]:
    """Values of private properties that may turn up again inside longer texts, such as a serial in a fingerprint."""
    values = {value for key, value in snapshot.props.items() if "serial" in key.lower() and len(value) >= 6}
    kind, _, rest = snapshot.device_spec.partition(":")
    if kind == "adb" and len(rest) >= 6:
        values.add(rest)
    return tuple(sorted(values - {"unknown", REDACTED}, key=len, reverse=True))


def _prop(key: str, value: str, secrets: tuple[str, ...]) -> str:
    if value and _PRIVATE_PROP.search(key):
        return REDACTED
    return _text(value, secrets)


def _readings(readings: Mapping[str, Reading], secrets: tuple[str, ...]) -> Mapping[str, Reading]:
    found = {}
    for key, reading in readings.items():
        name = _text(key, secrets)
        if _PRIVATE_FILE.search(key):
            found[name] = replace(reading, source=name, text=REDACTED if reading.text else "", detail="")
            continue
        text = _command_text(key, reading.text)
        found[name] = replace(reading, source=name, text=_text(text, secrets), detail=_text(reading.detail, secrets))
    return MappingProxyType(found)


def _command_text(key: str, text: str) -> str:
    if key == "getprop":
        return "".join(
            f"[{name}]: [{REDACTED if value and _PRIVATE_PROP.search(name) else value}]\n"
            for name, value in re.findall(r"^\[([^\]\n]+)\]: \[(.*?)\]$", text, re.MULTILINE | re.DOTALL)
        )
    if key == "id":
        return _ID_NAME.sub(rf"\g<1>({REDACTED})", text)
    if key.startswith("uname"):
        return _NODE_NAME.sub(rf"\g<1> {REDACTED} ", text)
    return text


def _text(text: str, secrets: tuple[str, ...]) -> str:
    for secret in secrets:
        text = text.replace(secret, REDACTED)
    for pattern, with_what in _PATTERNS:
        text = pattern.sub(with_what, text)
    return text
