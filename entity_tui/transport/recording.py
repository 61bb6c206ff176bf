"""The text form of a recorded session: one JSON line per call, with bytes, errors and times kept exactly."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from entity_tui.transport import base
from entity_tui.transport.base import Completed, DeviceState, Job, TransportError

FORMAT_VERSION = 1


def pack_bytes(data: bytes) -> str | dict[str, str]:
    """Text where it is clean UTF-8, else base64 in an object."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(data).decode("ascii")}


def unpack_bytes(value: str | Mapping[str, str]) -> bytes:
    """The bytes behind `pack_bytes`."""
    return value.encode("utf-8") if isinstance(value, str) else base64.b64decode(value["base64"])


def pack_completed(result: Completed) -> dict[str, Any]:
    """A finished command as JSON values."""
    return {
        "argv": list(result.argv),
        "exit_code": result.exit_code,
        "stdout": pack_bytes(result.stdout),
        "stderr": pack_bytes(result.stderr),
        "duration_s": result.duration_s,
        "signal": result.signal,
    }


def unpack_completed(value: Mapping[str, Any]) -> Completed:
    """The finished command behind `pack_completed`."""
    return Completed(
        argv=tuple(value["argv"]),
        exit_code=int(value["exit_code"]),
        stdout=unpack_bytes(value["stdout"]),
        stderr=unpack_bytes(value["stderr"]),
        duration_s=float(value["duration_s"]),
        signal=value["signal"],
    )


def pack_job(job: Job) -> dict[str, Any]:
    """A job's identity as JSON values."""
    return asdict(job)


def unpack_job(value: Mapping[str, Any]) -> Job:
    """The identity behind `pack_job`."""
    return Job(str(value["boot_id"]), int(value["pid"]), int(value["start_time_ticks"]))


def pack_error(error: TransportError) -> dict[str, Any]:
    """An error with everything its reader was told."""
    row: dict[str, Any] = {
        "type": type(error).__name__,
        "title": error.title,
        "detail": error.detail,
        "fix": error.fix,
        "retry": error.retry,
    }
    if isinstance(error, base.DeadlineExceeded):
        row["partial"] = pack_bytes(error.partial)
    if isinstance(error, base.NotReady):
        row["state"] = error.state.value
    if isinstance(error, base.HostKeyUnknown):
        row.update(fingerprint=error.fingerprint, changed=error.changed, line=error.line)
    return row


def unpack_error(row: Mapping[str, Any]) -> TransportError:
    """The error behind `pack_error`; a type that is not of the contract becomes a plain TransportError."""
    words = {"detail": row["detail"], "fix": row["fix"]}
    error: TransportError
    match row["type"]:
        case "DeadlineExceeded":
            error = base.DeadlineExceeded(row["title"], partial=unpack_bytes(row["partial"]), **words)
        case "NotReady":
            error = base.NotReady(row["title"], state=DeviceState(row["state"]), **words)
        case "HostKeyUnknown":
            error = base.HostKeyUnknown(
                row["title"], fingerprint=row["fingerprint"], changed=row["changed"], line=row["line"], **words
            )
        case "LinkLost" | "RemoteFileError" | "TransferMismatch" | "Unsupported" as name:
            kind: type[TransportError] = getattr(base, name)
            error = kind(row["title"], **words)
        case _:
            error = TransportError(row["title"], **words)
    error.retry = bool(row["retry"])
    return error


def key_of(call: str, arguments: Mapping[str, Any]) -> str:
    """The canonical name of a call: the same question has the same key in any session."""
    return json.dumps([call, arguments], sort_keys=True, ensure_ascii=False, separators=(",", ":"))
