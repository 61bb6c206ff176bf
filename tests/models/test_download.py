"""A download is resumed where it was cut, checked by size and sha256, and leaves nothing half-written behind."""

from __future__ import annotations

import asyncio
import hashlib
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from entity_tui.engine.download import DownloadCut, DownloadFailed, Wanted, download, download_now
from entity_tui.errors import UsageError

BODY = bytes(range(256)) * 8192
DIGEST = hashlib.sha256(BODY).hexdigest()


@dataclass
class Site:
    """What the server does; each request is remembered by its Range header."""

    port: int = 0
    body: bytes = BODY
    cut_after: list[int] = field(default_factory=list)
    """Bytes after which each of the first requests is cut."""
    ranges: bool = True
    status: int = 200
    redirect: str = ""
    lie_about_range: bool = False
    requests: list[str] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/models/a.gguf?download=true"


def handler(site: Site) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: object) -> None:
            """Nothing on stderr."""

        def do_GET(self) -> None:
            asked = self.headers.get("Range", "")
            site.requests.append(asked)
            if site.redirect and self.path.startswith("/models"):
                self.send_response(302)
                self.send_header("Location", site.redirect)
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
            if site.status != 200:
                self.send_error(site.status)
                return
            start = int(asked.removeprefix("bytes=").rstrip("-")) if asked and site.ranges else 0
            body = site.body[start:]
            self.send_response(206 if start else 200)
            if start:
                shown = start + 1 if site.lie_about_range else start
                self.send_header("Content-Range", f"bytes {shown}-{len(site.body) - 1}/{len(site.body)}")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            limit = site.cut_after.pop(0) if site.cut_after else len(body)
            self.wfile.write(body[:limit])
            if limit < len(body):
                self.close_connection = True

    return Handler


class QuietServer(ThreadingHTTPServer):
    """A client that leaves in the middle is what these tests are about, not an error to print."""

    def handle_error(self, request: object, client_address: object) -> None:
        """Nothing on stderr."""


@pytest.fixture
def site() -> Iterator[Site]:
    """A web server on loopback that misbehaves on request."""
    state = Site()
    server = QuietServer(("127.0.0.1", 0), handler(state))
    server.daemon_threads = True
    state.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    yield state
    server.shutdown()
    server.server_close()
    thread.join(5)


def wanted(site: Site, **changes: object) -> Wanted:
    return replace(Wanted(site.url, "a.gguf", len(BODY), DIGEST), **changes)  # type: ignore[arg-type]


async def test_a_download_cut_three_times_is_resumed_and_whole(site: Site, tmp_path: Path) -> None:
    site.cut_after = [500_000, 300_000, 1]
    seen: list[int] = []
    done = await download(wanted(site), tmp_path, progress=lambda part, total: seen.append(part))
    assert done.path.read_bytes() == BODY
    assert (done.received_bytes, done.sha256, done.checked) == (len(BODY), DIGEST, True)
    assert site.requests == ["", "bytes=500000-", "bytes=800000-", "bytes=800001-"]
    assert seen == sorted(seen)
    assert [path.name for path in tmp_path.iterdir()] == ["a.gguf"]


async def test_a_part_of_an_earlier_try_is_used(site: Site, tmp_path: Path) -> None:
    (tmp_path / "a.gguf.part").write_bytes(BODY[:1_000_000])
    done = await download(wanted(site), tmp_path)
    assert done.received_bytes == len(BODY) - 1_000_000
    assert site.requests == ["bytes=1000000-"]


async def test_a_server_without_ranges_starts_again_from_0(site: Site, tmp_path: Path) -> None:
    site.ranges = False
    (tmp_path / "a.gguf.part").write_bytes(b"wrong" * 1000)
    done = await download(wanted(site), tmp_path)
    assert done.path.read_bytes() == BODY


async def test_a_file_that_is_here_already_is_not_fetched_again(site: Site, tmp_path: Path) -> None:
    (tmp_path / "a.gguf").write_bytes(BODY)
    assert (await download(wanted(site), tmp_path, offline=True)).received_bytes == 0
    assert site.requests == []
    (tmp_path / "a.gguf").write_bytes(BODY[:-1] + b"x")
    assert (await download(wanted(site), tmp_path)).received_bytes == len(BODY)


async def test_a_wrong_hash_leaves_nothing_behind(site: Site, tmp_path: Path) -> None:
    with pytest.raises(DownloadFailed, match="not the file that was published"):
        await download(wanted(site, sha256="0" * 64), tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("size", [len(BODY) - 1, len(BODY) + 1])
async def test_another_size_is_refused(site: Site, tmp_path: Path, size: int) -> None:
    with pytest.raises(DownloadFailed, match="another size"):
        await download(wanted(site, size_bytes=size), tmp_path)
    assert not (tmp_path / "a.gguf").exists()


async def test_a_range_that_is_not_the_asked_one_is_refused(site: Site, tmp_path: Path) -> None:
    site.lie_about_range = True
    (tmp_path / "a.gguf.part").write_bytes(BODY[:1000])
    with pytest.raises(DownloadFailed, match="has changed"):
        await download(wanted(site), tmp_path)


@pytest.mark.parametrize("status", [401, 404, 500])
async def test_a_refusal_is_told_with_its_status(site: Site, tmp_path: Path, status: int) -> None:
    site.status = status
    with pytest.raises(DownloadFailed, match=str(status)):
        await download(wanted(site), tmp_path)


async def test_redirections_are_followed_but_not_in_circles_or_to_other_schemes(site: Site, tmp_path: Path) -> None:
    site.redirect = f"http://127.0.0.1:{site.port}/elsewhere"
    assert (await download(wanted(site), tmp_path)).path.read_bytes() == BODY
    site.redirect = site.url
    with pytest.raises(DownloadFailed, match="circles"):
        await download(wanted(site, file_name="b.gguf"), tmp_path)
    site.redirect = "file:///etc/passwd"
    with pytest.raises(DownloadFailed, match="not one of HTTP"):
        await download(wanted(site, file_name="c.gguf"), tmp_path)


async def test_a_server_that_never_gives_a_byte_is_given_up_and_can_be_tried_again(site: Site, tmp_path: Path) -> None:
    site.cut_after = [700_000, 0, 0, 0, 0]
    with pytest.raises(DownloadCut) as cut:
        await download(wanted(site), tmp_path)
    assert cut.value.retry
    assert (tmp_path / "a.gguf.part").stat().st_size == 700_000
    done = await download(wanted(site), tmp_path)
    assert done.received_bytes == len(BODY) - 700_000


async def test_offline_mode_never_opens_a_connection(site: Site, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="offline"):
        await download(wanted(site), tmp_path, offline=True)
    assert site.requests == []


async def test_a_full_disk_is_refused_before_the_first_byte(site: Site, tmp_path: Path) -> None:
    with pytest.raises(DownloadFailed, match="no space left"):
        await download(wanted(site, size_bytes=1 << 60), tmp_path)
    assert site.requests == []


async def test_two_downloads_of_one_file_do_not_run_at_once(site: Site, tmp_path: Path) -> None:
    held, let_go = threading.Event(), threading.Event()

    def hold(done: int, total: int) -> None:
        held.set()
        let_go.wait(10)

    first = asyncio.create_task(download(wanted(site), tmp_path, progress=hold))
    await asyncio.to_thread(held.wait, 10)
    with pytest.raises(UsageError, match="being downloaded already"):
        await asyncio.to_thread(download_now, wanted(site), tmp_path)
    let_go.set()
    assert (await first).path.read_bytes() == BODY


async def test_cancelling_keeps_the_part_for_the_next_time(site: Site, tmp_path: Path) -> None:
    started = threading.Event()
    task: asyncio.Task[object] = asyncio.create_task(
        download(wanted(site), tmp_path, progress=lambda done, total: started.set())
    )
    await asyncio.to_thread(started.wait, 10)
    task.cancel()
    with pytest.raises((asyncio.CancelledError, DownloadCut)):
        await task
    kept = tmp_path / "a.gguf.part"
    assert not (tmp_path / "a.gguf").exists() or (tmp_path / "a.gguf").read_bytes() == BODY
    if kept.exists():
        assert BODY.startswith(kept.read_bytes())
