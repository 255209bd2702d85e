"""Files of a Debian package are read in one pass over its compressed archive."""

from __future__ import annotations

import io
import tarfile
from contextlib import closing
from pathlib import Path

import pytest

from sizeguard.formats.containers import packages
from sizeguard.formats.containers.packages import open_deb

CONTENT = {"./usr/a.so": b"first", "./usr/b.so": b"second", "./usr/c.so": b"third"}


def package(folder: Path, rows: list[tuple[str, bytes]]) -> Path:
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w:gz") as tar:
        for name, content in rows:
            info = tarfile.TarInfo(name)
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    path = folder / "a.deb"
    members = (("debian-binary", b"2.0\n"), ("data.tar.gz", raw.getvalue()))
    path.write_bytes(
        b"!<arch>\n"
        + b"".join(
            f"{name:<16}{'0':<32}{len(data):<10}`\n".encode() + data + b"\n" * (len(data) % 2)
            for name, data in members
        )
    )
    return path


def test_files_are_read_in_one_pass(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An archive of 60 MB with 110 libraries was unpacked from its start for each of them."""
    found = open_deb(package(tmp_path, list(CONTENT.items()))).members
    opened = []
    usual = packages._Tar._open
    monkeypatch.setattr(packages._Tar, "_open", lambda self: opened.append(1) or usual(self))

    def read(number: int) -> bytes:
        with closing(found[number].open()) as file:
            return file.read()

    assert [read(i) for i in (0, 2)] == [b"first", b"third"]
    assert len(opened) == 1
    assert [read(i) for i in (1, 1, 0)] == [b"second", b"second", b"first"]


def test_files_of_one_name_are_kept_apart(tmp_path: Path) -> None:
    rows = [("./a.so", b"old"), ("./a.so", b"new")]
    members = open_deb(package(tmp_path, rows)).members
    assert [(each.name, each.open().read()) for each in members] == [
        ("a.so", b"old"),
        ("a.so#2", b"new"),
    ]
