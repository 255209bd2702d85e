"""Read the machine and the tools that an image names."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterator
from pathlib import Path

from sizeguard.base.dataclass import dataclass
from sizeguard.base.errors import InputError
from sizeguard.base.input_files import readable
from sizeguard.formats.containers.member_files import (
    container_members,
    unpacked_images,
)
from sizeguard.formats.describe import describe_file
from sizeguard.formats.sniff import (
    ARCHIVE,
    BITCODE,
    COFF,
    ELF,
    MACHO,
    PE,
    WASM,
    image_format,
    spelling_of_files,
)
from sizeguard.formats.sniff import is_thin as is_thin

UNKNOWN = "unknown"
_LTO_SECTIONS = ".gnu.lto_"
MEASURED = (ELF, MACHO, PE, WASM, ARCHIVE)  # formats of images that can be measured

# Names of tools in .comment, compilers first; linkers other than ld also write their names there.
_TOOLS = (
    ("gcc", re.compile(r"^GCC: \(.*\) (\d+(?:\.\d+)?)")),
    ("clang", re.compile(r"clang version (\d+\.\d+)")),
    ("rustc", re.compile(r"^rustc version (\d+\.\d+)")),
    ("lld", re.compile(r"\bLLD (\d+\.\d+)")),
    ("mold", re.compile(r"^mold (\d+\.\d+)")),
    ("gold", re.compile(r"^gold (\d+\.\d+)")),
)
_VERSION = re.compile(r"\d+")
_SIGNED = re.compile(rb"GCC: \([ -~]+")  # in constants of PE files


@dataclass(frozen=True, slots=True)
class ImageTools:
    """Tools that made an image.

    machine: x86_64; empty if the file does not say
    name:    gcc-12.2, clang-19.1-lld-19.1; UNKNOWN if the file does not say
    text:    the names in full
    """

    machine: str
    name: str
    text: str


def kind_of_image(path: Path) -> str:
    """Return a file's format, such as elf or unknown."""
    return image_format(path)


def described(path: Path) -> str:
    """Describe a file that is no image, such as text."""
    return describe_file(path)


def spelling_for(image: Path) -> Callable[[str], str]:
    """Return the function that makes equal names of files equal, as the image's system does."""
    return spelling_of_files(image_format(image))


def files_of_thin(archive: Path) -> tuple[tuple[str, Path], ...]:
    """Return the members of a thin archive: the path that it has from its folder, and the file."""
    from sizeguard.formats.archive import members  # 5 ms; only thin archives need it

    return tuple((member.name, member.file) for member in members(archive))


def is_before_lto(image: Path) -> bool:
    """Return whether an object or a member of an archive has LTO code but no machine code yet.

    LTO code has no size before the link.
    """
    format_ = image_format(image)
    if format_ == ELF:
        return _is_slim(image)
    if format_ != ARCHIVE:
        return False
    members = container_members(image)
    is_bitcode = any(member.format == BITCODE for member in members)
    return is_bitcode or any(map(_is_slim, unpacked_images(image)))


def _is_slim(path: Path) -> bool:
    """Return whether it is an object of gcc with LTO code, and without machine code and data."""
    if image_format(path) != ELF:
        return False
    from sizeguard.formats.elf import ET_REL, read_elf  # 75 ms with numpy

    elf = read_elf(path)
    has_lto = any(section.name.startswith(_LTO_SECTIONS) for section in elf.sections)
    return elf.type == ET_REL and has_lto and not elf.load


def image_tools(image: Path) -> ImageTools:
    """Read the machine and the tools of an image.

    For each tool the latest version counts, since objects of the system's libraries are older.
    """
    machine, texts = _machine_and_texts(image, image_format(image))
    found = {}
    for tool, words in _TOOLS:
        versions = [(match[1], text) for text in texts if (match := words.search(text))]
        if versions:
            found[tool] = max(versions, key=lambda each: _number(each[0]))
    name = "-".join(f"{tool}-{version}" for tool, (version, _) in found.items())
    text = ", ".join(dict.fromkeys(" ".join(text.split()) for _, text in found.values()))
    return ImageTools(machine, name or UNKNOWN, text)


def _machine_and_texts(image: Path, format_: str) -> tuple[str, list[str]]:
    """Return the machine of an ELF image, and the texts with which tools sign an image."""
    if format_ == ELF:
        # Takes 75 ms to import, with numpy; a gate without changes takes 0.4 s.
        from sizeguard.formats.elf import read_elf

        elf = read_elf(image)
        section = elf.section(".comment")
        content = elf.content(section) if section is not None and not section.is_nobits else b""
        return elf.machine, [
            each for each in content.decode("utf-8", "replace").split("\0") if each
        ]
    texts: list[str] = []
    if format_ == ARCHIVE:
        for member in unpacked_images(image):
            texts += _machine_and_texts(member, image_format(member))[1]
    elif format_ in (PE, COFF):
        with readable(image).open("rb") as file:
            texts += [text.decode() for text in _SIGNED.findall(file.read())]
    elif format_ == WASM:
        with contextlib.suppress(InputError):  # names that are damaged name no tool
            texts += _producers(image)
    return "", texts


def _producers(module: Path) -> Iterator[str]:
    """Yield the tools in the custom section that the tool conventions of WebAssembly define."""
    from sizeguard.formats.read_sectioned import read_sectioned
    from sizeguard.formats.wasm.stream import Stream

    image = read_sectioned(module, WASM)
    for part in image.parts:
        if part.name != "producers":
            continue
        stream = Stream(module, image.data[part.offset :][: part.size].tobytes(), part.offset)
        stream.skip(1)  # the kind of the section
        stream.number()
        stream.name()
        for _ in range(stream.count()):
            stream.name()
            for _ in range(stream.count()):
                words = (stream.name(), b"version", stream.name())
                yield b" ".join(words).decode("utf-8", "replace")


def _number(version: str) -> list[int]:
    return [int(part) for part in _VERSION.findall(version)]
