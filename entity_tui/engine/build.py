"""What one llama.cpp folder is: which build, which programs, which CPU variants, told from file names alone."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType

PROGRAMS = (
    "llama-bench",
    "llama-server",
    "llama-perplexity",
    "llama-completion",
    "llama-cli",
    "llama-quantize",
    "llama-gguf-split",
)
"""The programs we know how to use, in the order an engine is worth having them."""

LOOKALIKE = "xllamacpp"
"""Name of the engine that wraps the package `xllamacpp` instead of a llama.cpp folder."""

MANIFEST = "entity-engine.json"
"""Written into a folder we installed: the build, where it came from and the sha256 of each file."""

_VARIANT = re.compile(r"^libggml-cpu-(?P<tag>[A-Za-z0-9_.]+)\.so$")
_BUILD = re.compile(r"(?:^|[/_.-])(b\d{3,6}|v\d+\.\d+\.\d+)(?=$|[/_.-])")
_X86 = frozenset(
    (
        *("x64", "sse42", "sandybridge", "ivybridge", "piledriver", "haswell", "skylakex", "cannonlake"),
        *("cascadelake", "icelake", "cooperlake", "zen4", "alderlake", "sapphirerapids"),
    )
)


class VariantList(StrEnum):
    """Which of upstream's lists of CPU variants a build ships."""

    ANDROID = "android"
    LINUX = "linux"
    X86 = "x86"
    SINGLE = "single"
    """One CPU library (or none apart): nothing is chosen at load time, the build's minimum ISA must be met."""
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class EngineBuild:
    """One engine on one device.

    `executables` maps a program's name to its absolute path on that device. `variants` are the tags of
    `libggml-cpu-TAG.so` as they stand in the file names (`android_armv8.6_1`).
    """

    name: str
    """"llama.cpp", or "xllamacpp" for the look-alikes of this computer."""
    build: str
    """`b11434`, a version, or "unknown" when no name says it."""
    directory: str
    executables: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    variants: tuple[str, ...] = ()
    variant_list: VariantList = VariantList.UNKNOWN
    libraries: tuple[str, ...] = ()
    build_source: str = ""
    """Where `build` was read: "manifest", "folder name", "package" or "--version"."""

    @property
    def label(self) -> str:
        """Name and build in one word, as a row of the record carries them."""
        return f"{self.name} {self.build}"

    def program(self, name: str) -> str | None:
        """The absolute path of `llama-bench` and its like, or None when this engine lacks it."""
        return self.executables.get(name)


def variant_tags(names: Iterable[str]) -> tuple[str, ...]:
    """The CPU variants among file names, sorted; names that are no variant library are left out."""
    tags = {match["tag"] for name in names if (match := _VARIANT.match(name))}
    return tuple(sorted(tags))


def variant_list_of(tags: Iterable[str], libraries: Iterable[str] = ()) -> VariantList:
    """Which upstream list these tags are from. No tag but a plain `libggml-cpu.so` is a single-variant build."""
    found = tuple(tags)
    if not found:
        plain = any(name == "libggml-cpu.so" or name.startswith("libggml-cpu.so.") for name in libraries)
        return VariantList.SINGLE if plain else VariantList.UNKNOWN
    if all(tag.startswith("android_arm") for tag in found):
        return VariantList.ANDROID
    if all(tag.startswith("armv") for tag in found):
        return VariantList.LINUX
    if all(tag in _X86 for tag in found):
        return VariantList.X86
    return VariantList.SINGLE if len(found) == 1 else VariantList.UNKNOWN


def build_from_path(path: str) -> str | None:
    """`b11434` out of a folder or archive name such as `llama-b11434-bin-android-arm64.tar.gz`; None without one.

    The part nearest the end wins, so a versioned folder inside a folder of releases is read right.
    """
    found = _BUILD.findall(path)
    return found[-1] if found else None


def describe_folder(
    directory: str,
    names: Iterable[str],
    *,
    build: str | None = None,
    build_source: str = "",
    name: str = "llama.cpp",
    locations: Mapping[str, str] = MappingProxyType({}),
) -> EngineBuild:
    """An EngineBuild from the file names found in `directory`.

    `locations` overrides where a file is (the `bin/` + `lib/` layout of some archives): name -> absolute path.
    """
    files = sorted(set(names))
    libraries = tuple(file for file in files if ".so" in file)
    tags = variant_tags(files)
    executables = {
        program: locations.get(program, f"{directory.rstrip('/')}/{program}")
        for program in PROGRAMS
        if program in files
    }
    if build is None:
        build = build_from_path(directory)
        build_source = "folder name" if build else ""
    return EngineBuild(
        name=name,
        build=build or "unknown",
        directory=directory,
        executables=MappingProxyType(executables),
        variants=tags,
        variant_list=variant_list_of(tags, libraries),
        libraries=libraries,
        build_source=build_source,
    )
