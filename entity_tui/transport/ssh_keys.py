"""Trust on first use for SSH host keys: what is known, what must be asked, and our own file of confirmed keys."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from entity_tui.transport.base import HostKeyUnknown

if TYPE_CHECKING:
    import asyncssh


def default_trust_file() -> Path:
    """Our own known_hosts; the user's stays as it is and is read first."""
    import platformdirs

    return Path(platformdirs.user_config_dir("entity-tui")) / "known_hosts"


def host_pattern(host: str, port: int) -> str:
    """A host as known_hosts writes it."""
    return host if port == 22 else f"[{host}]:{port}"


@dataclass(slots=True)
class SeenKey:
    """The key a server showed that nobody has confirmed."""

    line: str
    fingerprint: str
    changed: bool

    def error(self, host: str) -> HostKeyUnknown:
        """The question to ask the user, as an error."""
        if self.changed:
            return HostKeyUnknown(
                f"The host key of {host} has CHANGED",
                fingerprint=self.fingerprint,
                changed=True,
                line=self.line,
                detail=f"it now shows {self.fingerprint}",
                fix="If the device was set up anew, compare the fingerprint there (ssh-keygen -lf) and accept it; "
                "otherwise somebody may be listening in.",
            )
        return HostKeyUnknown(
            f"The host key of {host} is not known yet",
            fingerprint=self.fingerprint,
            changed=False,
            line=self.line,
            detail=f"it shows {self.fingerprint}",
            fix="Compare the fingerprint on the device (ssh-keygen -lf /path/to/host_key.pub) and accept it once.",
        )


def judge(key: asyncssh.SSHKey, host: str, addr: str, port: int, trust_file: Path, known_hosts: Any) -> SeenKey | None:
    """None when our own file holds exactly this key; else what to ask. Called only for keys the user's files lack."""
    import asyncssh

    ours = asyncssh.read_known_hosts(str(trust_file)) if trust_file.is_file() else None
    own_keys = ours.match(host, addr, port)[0] if ours is not None else []
    if key in own_keys:
        return None
    users = asyncssh.match_known_hosts(known_hosts, host, addr, port)[0] if known_hosts else []
    line = f"{host_pattern(host, port)} {key.export_public_key('openssh').decode().strip()}"
    return SeenKey(line, key.get_fingerprint("sha256"), changed=bool(own_keys or users))


def confirm(line: str, trust_file: Path) -> None:
    """Keep a key the user has compared; an older key of the same host and type is replaced."""
    pattern, kind = line.split()[:2]
    old = trust_file.read_text(encoding="utf-8").splitlines() if trust_file.is_file() else []
    kept = [row for row in old if row.split()[:2] != [pattern, kind]]
    trust_file.parent.mkdir(parents=True, exist_ok=True)
    temporary = trust_file.with_name(f".{trust_file.name}.new")
    temporary.write_text("\n".join([*kept, line]) + "\n", encoding="utf-8")
    os.replace(temporary, trust_file)
