"""Who a device is, out of its properties and the few texts every system has."""

from __future__ import annotations

import re
from types import MappingProxyType

from entity_tui.device.chips import find_chip
from entity_tui.device.cpuinfo import parse_cpuinfo
from entity_tui.device.identity import Identity
from entity_tui.device.numbers import integer
from entity_tui.device.snapshot import Snapshot

_UID = re.compile(r"uid=(\d{1,10})")
_MARKET = (
    "ro.product.marketname",
    "ro.vendor.oplus.market.name",
    "ro.product.vendor.marketname",
    "ro.config.marketing_name",
)


def _clean(text: str) -> str:
    """One line without NULs and control characters."""
    return " ".join("".join(ch if ch.isprintable() else " " for ch in text).split())


def _first(props: dict[str, str], keys: tuple[str, ...]) -> tuple[str, str]:
    return next(((props[key].strip(), key) for key in keys if props.get(key, "").strip()), ("", ""))


def _system(snapshot: Snapshot, uname: str) -> str:
    if snapshot.props:
        uid = _UID.search(snapshot.command("id").text)
        return "termux" if uid and int(uid.group(1)) >= 10_000 else "android"
    if uname.startswith("Darwin") or snapshot.command("sw_vers").ok:
        return "macos"
    return "linux" if uname.startswith("Linux") or snapshot.file("/proc/version").ok else ""


def _names(snapshot: Snapshot, props: dict[str, str], uname: str) -> tuple[str, str, str, dict[str, str]]:
    """(display name, maker, model, sources)."""
    maker, maker_key = _first(props, ("ro.product.manufacturer", "ro.product.brand"))
    model, model_key = _first(props, ("ro.product.model", "ro.product.vendor.model", "ro.product.device"))
    market, market_key = _first(props, _MARKET)
    tree = _clean(snapshot.file("/proc/device-tree/model").text)
    hardware = re.search(r"^hw\.model:\s*(\S+)", snapshot.command("sysctl hw").text, re.MULTILINE)
    if not model and tree:
        model, model_key = tree, "/proc/device-tree/model"
    if not model and hardware:
        model, model_key = hardware.group(1), "sysctl hw.model"
    words = uname.split()
    name, name_source = market, market_key
    if not name and model:
        name = model if not maker or model.lower().startswith(maker.lower()) else f"{maker} {model}"
        name_source = model_key
    if not name and len(words) > 1:
        name, name_source = words[1], "uname -a"
    found = {"name": name_source, "manufacturer": maker_key, "model": model_key}
    return _clean(name), _clean(maker), _clean(model), {field: source for field, source in found.items() if source}


def _chip(snapshot: Snapshot, props: dict[str, str]) -> tuple[str, str, str]:
    """(title, code, source): the chip table's title, else the device's own words."""
    info = parse_cpuinfo(snapshot.file("/proc/cpuinfo").text)
    keys = ("ro.soc.model", "ro.chipname", "ro.hardware.chipname", "ro.mediatek.platform")
    words = [(props[key].strip(), key) for key in keys if props.get(key, "").strip()]
    if info.hardware:
        words.append((info.hardware, "/proc/cpuinfo Hardware"))
    words.extend(
        (props[key].strip(), key) for key in ("ro.board.platform", "ro.hardware") if props.get(key, "").strip()
    )
    for word, source in words:
        chip = find_chip([word])
        if chip is not None:
            return chip.title, word, f"{source}, chip table"
    brand = re.search(
        r"^machdep\.cpu\.brand_string:\s*(.+)$", snapshot.command("sysctl machdep.cpu").text, re.MULTILINE
    )
    if brand:
        return _clean(brand.group(1)), "", "sysctl machdep.cpu.brand_string"
    if words:
        return _clean(words[0][0]), words[0][0], words[0][1]
    machine = snapshot.file("/sys/devices/soc0/machine")
    if machine.ok:
        return _clean(machine.text), _clean(machine.text), "/sys/devices/soc0/machine"
    return (_clean(info.model), "", "/proc/cpuinfo model name") if info.model else ("", "", "")


def read_identity(snapshot: Snapshot) -> Identity:
    """The names of a snapshot's device. Never raises; what is not told is empty."""
    props = dict(snapshot.props)
    uname = snapshot.command("uname -a").text.strip()
    name, maker, model, sources = _names(snapshot, props, uname)
    title, code, chip_source = _chip(snapshot, props)
    if chip_source:
        sources["soc"] = chip_source
    uid = _UID.search(snapshot.command("id").text)
    abis, _ = _first(props, ("ro.product.cpu.abilist", "ro.product.cpu.abi"))
    words = uname.split()
    release = snapshot.file("/proc/sys/kernel/osrelease").text.strip()
    return Identity(
        name=name,
        manufacturer=maker,
        model=model,
        soc=title,
        soc_code=code,
        system=_system(snapshot, uname),
        android_release=props.get("ro.build.version.release", ""),
        android_sdk=integer(props.get("ro.build.version.sdk", "")),
        kernel=_clean(release or (words[2] if len(words) > 2 else "")),
        build_fingerprint=props.get("ro.build.fingerprint", ""),
        boot_id=snapshot.file("/proc/sys/kernel/random/boot_id").text.strip(),
        uid=int(uid.group(1)) if uid else None,
        abis=tuple(word.strip() for word in abis.split(",") if word.strip()),
        sources=MappingProxyType(sources),
    )
