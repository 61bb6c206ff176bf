"""An engine's archive is unpacked without trusting one name inside it."""

from __future__ import annotations

import io
import stat
import tarfile
import zipfile
from pathlib import Path

import pytest

from entity_tui.engine.archive import ArchiveRefused, open_engine
from entity_tui.engine.build import VariantList
from entity_tui.errors import UsageError
from tests.fixtures.tools import need_shared

NAMES = ("llama-b4242/llama-bench", "llama-b4242/libggml-cpu-haswell.so", "llama-b4242/libggml-cpu-x64.so")


def make_tar(path: Path, members: list[tarfile.TarInfo]) -> Path:
    with tarfile.open(path, "w:gz") as archive:
        for member in members:
            archive.addfile(member, io.BytesIO(b"x" * member.size))
    return path


def member(name: str, *, size: int = 1, kind: bytes = tarfile.REGTYPE, link: str = "") -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname, info.mode = kind, link, 0o755
    info.size = size if kind == tarfile.REGTYPE else 0
    return info


def test_a_zip_and_a_tar_give_the_same_engine(tmp_path: Path) -> None:
    tar = make_tar(tmp_path / "llama-b4242-bin.tar.gz", [member(name) for name in NAMES])
    zipped = tmp_path / "llama-b4242-bin.zip"
    with zipfile.ZipFile(zipped, "w") as archive:
        for name in NAMES:
            archive.writestr(name, "x")
    for path in (tar, zipped):
        engine = open_engine(path, tmp_path / "unpacked")
        assert (engine.build, engine.variant_list, engine.variants) == ("b4242", VariantList.X86, ("haswell", "x64"))
        program = engine.program("llama-bench")
        assert program is not None
        assert Path(program).stat().st_mode & stat.S_IXUSR


@pytest.mark.parametrize(
    "hostile",
    [
        member("../escape"),
        member("/etc/absolute"),
        member("llama-b4242/link", kind=tarfile.SYMTYPE, link="/etc/passwd"),
        member("llama-b4242/link", kind=tarfile.SYMTYPE, link="../../outside"),
        member("llama-b4242/hard", kind=tarfile.LNKTYPE, link="../../outside"),
        member("llama-b4242/device", kind=tarfile.CHRTYPE),
    ],
    ids=["dotdot", "absolute", "link-absolute", "link-outside", "hardlink-outside", "device"],
)
def test_a_hostile_tar_member_is_refused_and_nothing_stays(tmp_path: Path, hostile: tarfile.TarInfo) -> None:
    path = make_tar(tmp_path / "evil.tar.gz", [member(NAMES[0]), hostile])
    unpacked = tmp_path / "in" / "unpacked"
    try:
        open_engine(path, unpacked)
    except ArchiveRefused:
        assert list(unpacked.iterdir()) == []
    else:  # an absolute name is made relative by the standard filter, which is as safe
        assert hostile.name.startswith("/")
    assert not (tmp_path / "in" / "escape").exists()
    assert not (tmp_path / "escape").exists()


def test_a_zip_with_dotdot_a_link_or_a_drive_is_refused(tmp_path: Path) -> None:
    for number, name in enumerate(("../x", "/abs", "C:/x", "a\\..\\..\\b")):
        path = tmp_path / f"evil{number}.zip"
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr(NAMES[0], "x")
            archive.writestr(zipfile.ZipInfo(name), "x")
        with pytest.raises(ArchiveRefused):
            open_engine(path, tmp_path / "unpacked")
    link = zipfile.ZipInfo("llama-b4242/link")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    path = tmp_path / "link.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(link, "/etc/passwd")
    with pytest.raises(ArchiveRefused):
        open_engine(path, tmp_path / "unpacked")


def test_a_cut_archive_and_an_archive_without_an_engine_say_so(tmp_path: Path) -> None:
    whole = make_tar(tmp_path / "a.tar.gz", [member(NAMES[0], size=200_000)])
    cut = tmp_path / "cut.tar.gz"
    cut.write_bytes(whole.read_bytes()[:100])
    with pytest.raises(ArchiveRefused):
        open_engine(cut, tmp_path / "unpacked")
    empty = make_tar(tmp_path / "empty.tar.gz", [member("readme")])
    with pytest.raises(UsageError, match="no llama"):
        open_engine(empty, tmp_path / "unpacked")


def test_too_many_entries_are_refused(tmp_path: Path) -> None:
    path = make_tar(tmp_path / "bomb.tar.gz", [member(f"d/{n}", size=0) for n in range(5_001)])
    with pytest.raises(ArchiveRefused, match="too large"):
        open_engine(path, tmp_path / "unpacked")


def test_the_real_android_archive_opens_once(tmp_path: Path) -> None:
    archive = need_shared("engines", "llama-b11434-bin-aarch64-android-variants.tar.xz")
    first = open_engine(archive, tmp_path)
    assert first == open_engine(archive, tmp_path)
    assert first.variant_list is VariantList.ANDROID
    assert len(first.variants) == 7
