"""Describe in a few words a file that cannot be measured."""

from __future__ import annotations

import re
from pathlib import Path

from sizeguard.base.input_files import readable
from sizeguard.formats import magics
from sizeguard.formats.magics import SNAPSHOT

HEAD = 4096

ZIP_FILE = "a zip file; name one of its members: FILE!MEMBER"
_FORMATS = {
    magics.ELF: "an ELF file",
    magics.MACHO: "a Mach-O file",
    magics.PE: "a Windows (PE) image",
    magics.COFF: "a Windows (COFF) object",
    magics.WASM: "WebAssembly",
    magics.DEBIAN: "a Debian package",
    magics.ARCHIVE: "an archive; name one of its members: FILE!MEMBER",
    magics.ZIP: ZIP_FILE,
    magics.BITCODE: "LLVM bitcode, which has no code size before it is linked",
}
# Beginnings of files of other formats, with their description; the first match wins.
_MAGICS: tuple[tuple[bytes, str], ...] = (
    (SNAPSHOT, "a snapshot, which sizeguard report and sizeguard diff read"),
    (b"%PDF-", "a PDF document"),
    (b"%!PS", "a PostScript document"),
    (b"\x1f\x8b", "data compressed by gzip: unpack it first"),
    (b"\xfd7zXZ\x00", "data compressed by xz: unpack it first"),
    (b"\x28\xb5\x2f\xfd", "data compressed by zstd: unpack it first"),
    (b"BZh", "data compressed by bzip2: unpack it first"),
    (b"\x04\x22\x4d\x18", "data compressed by lz4: unpack it first"),
    (b"\xed\xab\xee\xdb", "an RPM package"),
    (b"7z\xbc\xaf\x27\x1c", "a 7-Zip archive"),
    (b"Rar!", "a RAR archive"),
    (b"MSCF", "a Windows cabinet"),
    (b"xar!", "a xar archive, such as a macOS package"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "a compound document, such as an MSI package"),
    (b"\xca\xfe\xba\xbe", "a Java class"),
    (b"dex\n", "Dalvik bytecode"),
    (b"\x01\xdf\x00", "an XCOFF file, as of AIX"),
    (b"\x01\xf7\x00", "an XCOFF file, as of AIX"),
    (b"\x89PNG", "a PNG picture"),
    (b"\xff\xd8\xff", "a JPEG picture"),
    (b"GIF8", "a GIF picture"),
    (b"SQLite format 3\x00", "an SQLite database"),
    (b"\x93NUMPY", "a NumPy array"),
    (b"\x80\x02", "a Python pickle"),
    (b"\x80\x03", "a Python pickle"),
    (b"\x80\x04", "a Python pickle"),
    (b"\x80\x05", "a Python pickle"),
    (b"\x1bLua", "Lua bytecode"),
    (b"Microsoft C/C++ MSF 7.00", "a PDB file with debug information"),
    (b"dyld_v", "a dyld shared cache"),
    (b"hsqs", "a squashfs file system"),
    (b"\x27\x05\x19\x56", "a U-Boot image"),
    (b"UF2\n", "firmware in UF2 form"),
    (b"OTTO", "a font"),
    (b"\x00\x01\x00\x00\x00", "a font"),
    (b"#!", "a script"),
    (b"<?xml", "an XML document"),
    (b"<!DOCTYPE", "an HTML document"),
    (b"-----BEGIN", "a PEM file"),
    (b":10", "firmware as Intel hex records"),
    (b"S0", "firmware as Motorola S records"),
)
# What torch writes into zip files. A member that tells the kind, among the first ones.
_EXPORTED = re.compile(rb"/data/weights/|/models/model\.json|/archive_format")
_SCRIPTED = re.compile(rb"/(data|constants)\.pkl|/code/__torch__|/data/0|/bytecode\.pkl")
_LISTED = "sizeguard select ops lists its operators"
_PLACES = (
    (4, b"TFL3", "a TensorFlow Lite model"),
    (4, b"SGP1", f"a program (.sgp): {_LISTED}"),
    (4, b"ET12", f"an ExecuTorch program (.pte): {_LISTED}"),
    (257, b"ustar", "a tar archive: unpack it first"),
)
# Patterns of known text files, each with the description of the file. The first match counts.
_MAP = "a linker map; name the image, and give this file with --map"
_TEXTS = (
    (r"\AArchive member included", _MAP),
    (r"\A *VMA +(LMA +)?Size Align", _MAP),
    (r"\A# Path: ", _MAP),
    (r"(?m)^(Memory Configuration|Linker script and memory map|Memory map)$", _MAP),
    (
        r"\A\s*\{\s*\"schema_version\": *\d+, *\s*(\"exit_code\": *\d+,\s*)?\"verdict\"",
        "the result of a gate, which sizeguard gate --from-json shows",
    ),
    (
        r"\A\s*\{\s*\"schema_version\"",
        "a JSON result; sizeguard report --save writes a snapshot, which can be read again",
    ),
    (
        r"(?m)^(include_all_operators|include_all_non_op_selectives|operators):",
        "a selection, which sizeguard select lint checks",
    ),
)


def describe_file(path: Path) -> str:
    """Describe a file by its first bytes. Raises OSError if it cannot be read."""
    with readable(path).open("rb") as file:
        return describe_bytes(file.read(HEAD), file.seek(0, 2))


def describe_bytes(head: bytes, size: int) -> str:
    """Describe a file of a size that begins with these bytes."""
    if not head:
        return "an empty file"
    if magics.is_fat(head):
        return "a universal binary"
    format_ = magics.format_of(head, size)
    if format_ == magics.ZIP and _EXPORTED.search(head):
        return f"an exported model (.pt2): sizeguard import converts it to a program, {_LISTED}"
    if format_ == magics.ZIP and _SCRIPTED.search(head):
        return f"a TorchScript model (.ptl): {_LISTED}"
    if words := _FORMATS.get(format_):
        return words
    for magic, words in _MAGICS:
        if head.startswith(magic):
            return words
    for offset, magic, words in _PLACES:
        if head[offset : offset + len(magic)] == magic:
            return words
    if len(head) >= 16 and head[2:4] == b"\r\n":
        return "Python bytecode"
    return _text_or_data(head)


def _text_or_data(head: bytes) -> str:
    whole = head[:-3] if len(head) == HEAD else head  # the last character may be incomplete
    for encoding, mark in (("utf-8", b""), ("utf-16", b"\xff\xfe"), ("utf-16", b"\xfe\xff")):
        if not head.startswith(mark):
            continue
        try:
            text = whole[: len(whole) // 2 * 2 if mark else None].decode(encoding)
        except UnicodeDecodeError:
            continue
        if all(c.isprintable() or c in "\t\n\r\f\x1b" for c in text):
            return next((words for pattern, words in _TEXTS if re.search(pattern, text)), "text")
    return "data of an unknown format"
