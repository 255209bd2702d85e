"""Open packages: zip files (.zip .whl .apk .aar .ipa .jar) and Debian packages."""

from __future__ import annotations

import lzma
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import IO, cast

from sizeguard.base.errors import InputError
from sizeguard.base.input_files import lacks_zip_list, readable
from sizeguard.formats import magics
from sizeguard.formats.archive import Archive, members
from sizeguard.formats.containers.container import (
    MOST_MEMBERS,
    Container,
    ContainerMember,
    MemberContent,
    check_total,
    suffix_of,
    without_twins,
)
from sizeguard.formats.containers.file_slice import FileSlice

# Suffixes of members that are not native code. They are not opened, since the 12,000 text files of
# a wheel would take 2 s.
_NOT_NATIVE = frozenset(
    (
        *(".py", ".pyi", ".pyc", ".txt", ".md", ".rst", ".json", ".xml", ".html", ".csv", ".pdf"),
        *(".h", ".hpp", ".hh", ".inc", ".cuh", ".c", ".cc", ".cpp", ".java", ".kt", ".class"),
        *(".js", ".mjs", ".ts", ".css", ".map", ".png", ".jpg", ".svg", ".gif", ".ttf"),
        *(".yaml", ".yml", ".toml", ".cfg", ".ini"),
    )
)
_ENCRYPTED = 1  # bit of ZipInfo.flag_bits
# Errors that the standard library raises for damaged packages.
_DAMAGED = (
    zipfile.BadZipFile,
    tarfile.TarError,
    lzma.LZMAError,
    zlib.error,
    EOFError,
    NotImplementedError,
    RuntimeError,
    UnicodeError,
    ValueError,
    OSError,
    OverflowError,
)


@contextmanager
def _readable_as(path: Path, what: str) -> Iterator[None]:
    """Report errors inside a package as a damaged package."""
    try:
        yield
    except InputError:
        raise
    except _DAMAGED as error:
        words = str(error).splitlines()
        why = words[0] if words else type(error).__name__
        if lacks_zip_list(error):  # it begins as one: the reader was chosen by that
            why = "the file is truncated; its list of members, at the end, is missing"
        raise InputError(f"{path}: cannot read this {what}: {why}") from error


class _Checked:
    """A member's content; errors while reading it are raised as InputError."""

    def __init__(self, file: IO[bytes], path: Path, what: str) -> None:
        self._file, self._path, self._what = file, path, what

    def read(self, size: int = -1, /) -> bytes:
        with _readable_as(self._path, self._what):
            return self._file.read(size)

    def close(self) -> None:
        self._file.close()


def open_zip(path: Path) -> Container:
    """Open a zip file. Raises InputError if it is damaged, or designed to fill a disk."""
    with _readable_as(path, "zip file"):
        size = readable(path).stat().st_size
        archive = zipfile.ZipFile(readable(path))
        found = [info for info in archive.infolist() if not info.is_dir()]
        if len(found) > MOST_MEMBERS:
            raise InputError(f"{path}: {len(found)} members, more than {MOST_MEMBERS}")
        if sum(info.compress_size for info in found) > size:
            raise InputError(f"{path}: a damaged zip file: members share their bytes")
        names = without_twins([info.filename for info in found])
        rows = [
            ContainerMember(
                name,
                info.file_size,
                info.compress_size,
                _head(archive, info),
                _opener(archive, info, path),
            )
            for name, info in zip(names, found, strict=True)
        ]
    check_total(path, size, sum(row.size for row in rows if row.is_native or row.is_container))
    return Container(path, magics.ZIP, size, tuple(rows))


def _head(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> bytes:
    """Read the first bytes of a member; empty if they would not show native code."""
    is_encrypted = info.flag_bits & _ENCRYPTED
    if suffix_of(info.filename) in _NOT_NATIVE or is_encrypted or not info.file_size:
        return b""
    with archive.open(info) as file:
        return file.read(magics.HEAD)


def _opener(
    archive: zipfile.ZipFile, info: zipfile.ZipInfo, path: Path
) -> Callable[[], MemberContent]:
    """Return a function that opens a member."""

    def opened() -> MemberContent:
        with _readable_as(path, "zip file"):
            if info.flag_bits & _ENCRYPTED:
                raise InputError(f"{path}: {info.filename} is encrypted")
            return _Checked(archive.open(info), path, "zip file")

    return opened


def open_deb(path: Path) -> Container:
    """Open a Debian package: the files that it installs, and the rest of its two inner archives."""
    size = readable(path).stat().st_size
    inner = members(path)
    data = next((m for m in inner if m.name.startswith("data.tar")), None)
    if data is None:
        raise InputError(f"{path}: a damaged Debian package: it has no data.tar")
    content = Archive(path, inner, None).content(data)
    rows: list[ContainerMember] = []
    with _readable_as(path, "Debian package"):
        tar = _Tar(path, data.name, content.data)
        for row in tar.members():
            if len(rows) >= MOST_MEMBERS:
                raise InputError(f"{path}: more than {MOST_MEMBERS} files")
            rows.append(row)
    names = without_twins([row.name for row in rows])
    check_total(path, size, sum(row.size for row in rows))
    stored = _shares(data.size, [row.size for row in rows])
    return Container(
        path,
        magics.DEBIAN,
        size,
        tuple(
            replace(row, name=name, stored=share)
            for name, row, share in zip(names, rows, stored, strict=True)
        ),
    )


def _shares(whole: int, sizes: list[int]) -> list[int]:
    """Divide the bytes of a compressed archive among its files in proportion to their sizes."""
    total = sum(sizes)
    if not total:
        return [0 for _ in sizes]
    shares, done, given = [], 0, 0
    for size in sizes:
        done += size
        shares.append(whole * done // total - given)
        given += shares[-1]
    return shares


class _Tar:
    """A compressed tar archive in memory.

    Its files are read in order; reading an earlier one again begins at the start of the archive.
    """

    def __init__(self, path: Path, name: str, content: memoryview) -> None:
        self.path, self.name, self.content = path, name, content
        self._rest: Iterator[tuple[int, tarfile.TarInfo, IO[bytes]]] = iter(())
        self._next = -1  # number of the next file, -1 if there is none

    def _open(self) -> tarfile.TarFile:
        raw = FileSlice(self.content)
        if self.name.endswith(".zst"):
            import zstandard  # 12 ms

            stream = zstandard.ZstdDecompressor().stream_reader(cast(IO[bytes], raw))
            return tarfile.open(fileobj=cast(IO[bytes], stream), mode="r|")
        return tarfile.open(fileobj=cast(IO[bytes], raw), mode="r|*")

    def _files(self) -> Iterator[tuple[int, tarfile.TarInfo, IO[bytes]]]:
        """Yield number, description and content of each file."""
        number = 0
        tar = self._open()
        for info in tar:
            file = tar.extractfile(info) if info.isreg() else None
            if file is not None:
                yield number, info, file
                number += 1

    def members(self) -> Iterator[ContainerMember]:
        """Yield the files, with 0 as their compressed size."""
        for number, info, file in self._files():
            name = info.name.removeprefix("./")
            yield ContainerMember(
                name, info.size, 0, file.read(magics.HEAD), self.opener(number, name)
            )

    def opener(self, number: int, name: str) -> Callable[[], MemberContent]:
        """Return a function that reads a file; the content of the last one ends with that."""

        def opened() -> MemberContent:
            with _readable_as(self.path, "Debian package"):
                if not 0 <= self._next <= number:
                    self._rest = self._files()
                for found, _, file in self._rest:
                    self._next = found + 1
                    if found == number:
                        return _Checked(file, self.path, "Debian package")
            raise InputError(f"{self.path}: no member {name}")

        return opened
