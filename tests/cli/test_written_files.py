"""Outputs replace only regular files: devices, FIFOs, open files and links are kept."""

from __future__ import annotations

import csv
import errno
import json
import os
import socket
import stat
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from sizeguard.base import files
from sizeguard.base.errors import InputError, StorageError
from sizeguard.base.files import cannot_write, write_atomic, write_if_changed
from sizeguard.builds.build_record import Build
from sizeguard.cli.main import cli
from sizeguard.report.gate.gate_json import gate_json
from sizeguard.report.result_formats import TABLE_FORMATS
from tests.support.histories.git_runs import git
from tests.support.images.made_elf import (
    SHT_STRTAB,
    SHT_SYMTAB,
    Form,
    MadeSection,
    MadeSymbol,
    make_elf,
)
from tests.support.places import ROOT, SIZEGUARD
from tests.support.results.gate_samples import passing


def received(fifo: Path) -> tuple[threading.Thread, list[bytes]]:
    """Read a FIFO to its end in a thread."""
    found: list[bytes] = []
    reader = threading.Thread(target=lambda: found.append(fifo.read_bytes()))
    reader.start()
    return reader, found


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.fixture
def fifo(tmp_path: Path) -> Path:
    path = tmp_path / "fifo"
    os.mkfifo(path)
    return path


@pytest.mark.parametrize("write", [write_atomic, write_if_changed])
def test_a_fifo_gets_the_content_and_stays(fifo: Path, write: object) -> None:
    reader, found = received(fifo)
    assert callable(write)
    write(fifo, "a\n" * 100_000)
    reader.join()
    assert found == [b"a\n" * 100_000]
    assert stat.S_ISFIFO(fifo.lstat().st_mode)
    assert names_in(fifo.parent) == ["fifo"]


def test_a_fifo_without_a_reader_is_not_waited_for_for_ever(
    fifo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "READER_WAIT", 0.2)
    with pytest.raises(InputError, match="fifo: cannot write: nobody has opened this FIFO"):
        write_atomic(fifo, "text")


def test_a_reader_that_goes_is_no_error(fifo: Path) -> None:
    reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    threading.Timer(0.2, lambda: os.close(reader)).start()
    write_atomic(fifo, "x" * 1_000_000)
    assert stat.S_ISFIFO(fifo.lstat().st_mode)


def test_nothing_goes_to_a_fifo_if_a_piece_fails(fifo: Path) -> None:
    reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)

    def pieces() -> Iterator[str]:
        yield "first"
        raise ValueError("second")

    with pytest.raises(ValueError, match="second"):
        write_atomic(fifo, pieces())
    assert os.read(reader, 10) == b""
    os.close(reader)


def test_a_terminal_device_gets_the_content_and_stays() -> None:
    ours, theirs = os.openpty()
    name = Path(os.ttyname(theirs))
    write_atomic(name, ["one ", b"two"])
    assert os.read(ours, 100) == b"one two"
    assert stat.S_ISCHR(name.lstat().st_mode)
    os.close(ours)
    os.close(theirs)


def test_a_link_to_a_device_stays(tmp_path: Path) -> None:
    ours, theirs = os.openpty()
    link = tmp_path / "link"
    link.symlink_to(os.ttyname(theirs))
    write_atomic(link, "text")
    assert os.read(ours, 100) == b"text"
    assert link.is_symlink()
    os.close(ours)
    os.close(theirs)


def test_a_links_target_is_replaced_and_the_links_stay(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    target = tmp_path / "folder" / "target"
    target.write_text("old")
    before = target.stat().st_ino
    (tmp_path / "folder" / "second").symlink_to("target")
    first = tmp_path / "first"
    first.symlink_to("folder/second")
    with target.open() as held:
        write_atomic(first, "new")
        assert held.read() == "old"  # a reader still sees the whole old file
    assert (target.read_text(), target.is_symlink()) == ("new", False)
    assert target.stat().st_ino != before
    assert first.is_symlink() and (tmp_path / "folder" / "second").is_symlink()
    assert names_in(tmp_path / "folder") == ["second", "target"]


def test_a_dangling_link_makes_its_target(tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to("new/target")
    assert write_if_changed(link, "text")
    assert (tmp_path / "new" / "target").read_text() == "text"
    assert link.is_symlink()
    assert not write_if_changed(link, "text")


def test_a_link_to_itself_is_an_error(tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to("link")
    with pytest.raises(InputError, match=f"link: cannot write: {os.strerror(errno.ELOOP)}"):
        write_atomic(link, "text")
    assert link.is_symlink()


@pytest.mark.parametrize("name", ["/dev/fd/{}", "/proc/self/fd/{}", "/proc/thread-self/fd/{}"])
def test_an_open_file_goes_on_where_it_stands(tmp_path: Path, name: str) -> None:
    file = tmp_path / "file"
    with file.open("w+b", buffering=0) as stream:
        stream.write(b"before ")
        write_atomic(Path(name.format(stream.fileno())), "inside")
        # An open file is written even if it has the same content already.
        assert write_if_changed(Path(name.format(stream.fileno())), "before inside")
        stream.write(b" after")
        assert os.fstat(stream.fileno()).st_nlink == 1
    assert file.read_text() == "before insidebefore inside after"
    assert names_in(tmp_path) == ["file"]


def test_a_socket_behind_a_descriptor_is_written_to() -> None:
    ours, theirs = socket.socketpair()
    write_atomic(Path(f"/dev/fd/{theirs.fileno()}"), "text")
    assert ours.recv(10) == b"text"
    ours.close()
    theirs.close()


def test_a_full_device_is_no_usage_error() -> None:
    full = os.open("/dev/full", os.O_WRONLY)
    with pytest.raises(StorageError, match=os.strerror(errno.ENOSPC)) as raised:
        write_atomic(Path(f"/dev/fd/{full}"), "text")
    assert raised.value.exit_code == 4
    os.close(full)


@pytest.mark.parametrize(
    ("number", "code"),
    [
        (errno.ENOSPC, 4),
        (errno.EDQUOT, 4),
        (errno.EIO, 4),
        (errno.EFBIG, 4),
        (errno.EACCES, 2),
        (errno.EROFS, 2),
        (errno.EISDIR, 2),
    ],
)
def test_a_full_disk_is_no_usage_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, code: int
) -> None:
    file = tmp_path / "file"
    file.write_text("old")

    def fail(*_: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(Path, "replace", fail)
    with pytest.raises((InputError, StorageError)) as raised:
        write_atomic(file, "new")
    assert raised.value.exit_code == code
    folder = "it is a folder; name a file in it"
    reason = folder if number == errno.EISDIR else os.strerror(number)
    assert str(raised.value) == f"{file}: cannot write: {reason}"
    assert (file.read_text(), names_in(tmp_path)) == ("old", ["file"])
    assert cannot_write(file, OSError(number, "x"), "; y").exit_code == code


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o755, 0o444])
def test_a_replaced_file_keeps_its_mode(tmp_path: Path, mode: int) -> None:
    file = tmp_path / "file"
    file.write_text("old")
    file.chmod(mode)
    write_atomic(file, "new")
    assert (file.read_text(), stat.S_IMODE(file.stat().st_mode)) == ("new", mode)


@pytest.mark.parametrize("name", ["n" * 255, "\u00e9" * 127])
def test_the_longest_names_can_be_written(tmp_path: Path, name: str) -> None:
    write_atomic(tmp_path / name, "text")
    assert (tmp_path / name).read_text() == "text"


def test_a_path_that_is_not_utf8_can_be_shown(tmp_path: Path) -> None:
    write_atomic(tmp_path / "file", os.fsdecode(b"a\xffb"))
    assert (tmp_path / "file").read_text() == "a\\udcffb"


@pytest.mark.parametrize(
    "words",
    [
        *(f"baseline show --format {each}" for each in TABLE_FORMATS),
        *(f"baseline log --format {each}" for each in TABLE_FORMATS),
        *(f"waivers --format {each}" for each in TABLE_FORMATS),
        "explain",
        "explain load",
        "clean --dry-run --format json",
        "select lint s.yaml --format csv",
        "triage aten::relu --selection s.yaml --format json",
    ],
)
def test_a_file_gets_what_is_printed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: str
) -> None:
    place = tmp_path / "project"
    (place / "baselines").mkdir(parents=True)
    (place / "sizeguard.yaml").write_text("targets: {x86_64-linux: }\napps: {a: {image: a}}\n")
    (place / "s.yaml").write_text("operators: {aten::relu: {}}\n")
    (place / "baselines" / "waivers.yaml").write_text(
        "- {metric: ram, app: a, bytes: 200, owner: ann, reason: '-1 | x', expires: 2100-01-01}\n"
    )
    sizes = "load: 9000\nram: 80\nfile: 9100\npage_slack: 0\noperators: {}\n"
    git(place, "init", "-q")
    for step in (sizes, sizes.replace("9000", "8500")):
        (place / "baselines" / "a.x86_64-linux.gcc.yaml").write_text(
            f"app: a\ntarget: x86_64-linux\ntoolchain: gcc\n{step}"
        )
        git(place, "add", ".")
        git(place, "commit", "-qm", "Sizes, in bytes")
    monkeypatch.chdir(place)
    printed = CliRunner().invoke(cli, words.split())
    stored = CliRunner().invoke(cli, [*words.split(), "--output", "made/result"])
    assert printed.exit_code == stored.exit_code
    assert (place / "made/result").read_text().splitlines() == [
        line for line in printed.stdout.splitlines() if not line.startswith("policy: ")
    ]
    assert not stored.stdout
    if "show --format csv" in words:
        head = "app,target,toolchain,load,ram,file"
        assert printed.stdout == f"{head}\na,x86_64-linux,gcc,8500,80,9100\n"
    if "log --format csv" in words:
        rows = list(csv.reader(printed.stdout.splitlines()))
        assert [row[3:6] for row in rows[1:]] == [
            ["8500", "-500", "Sizes, in bytes"],
            ["9000", "", "Sizes, in bytes"],
        ]
    if words == "waivers --format csv":
        assert next(csv.DictReader(printed.stdout.splitlines()))["bytes"] == "200"


def made_image() -> bytes:
    """Return an ELF executable with one function."""
    form = Form()
    symbols, strings = form.symbols([MadeSymbol("main", 0x1000, 16)])
    sections = [
        MadeSection(".text", flags=6, address=0x1000, content=bytes(16)),
        MadeSection(".symtab", SHT_SYMTAB, content=symbols, link=3, info=1, entry_size=24),
        MadeSection(".strtab", SHT_STRTAB, content=strings),
    ]
    return make_elf(form, sections)


@pytest.mark.native  # takes seconds
def test_every_writing_option_writes_through(
    tmp_path: Path,
    fifo: Path,
    instrumented_build: Build,
) -> None:
    """Run a command with each of --output, --also, --save and -o in this process."""
    image, selection, result = (tmp_path / name for name in ("image", "s.yaml", "gate.json"))
    image.write_bytes(made_image())
    selection.write_text("operators: {}\n")
    result.write_text(json.dumps(gate_json(passing())))
    for command in (
        ("report", image, "--output", fifo),
        ("report", image, "--save", fifo),
        ("diff", image, image, "--output", fifo),
        ("verify", image, "--absent", "nothing_of_that_name", "--output", fifo),
        ("gate", "--from-json", result, "--output", fifo),
        ("gate", "--from-json", result, "--also", f"json={fifo}"),
        ("select", "merge", selection, "-o", fifo),
        ("trace", ROOT / "native/models/mlp/model.pt2", "-o", fifo, "--runtime-source", ROOT),
    ):
        reader, found = received(fifo)
        try:
            cli.main([str(word) for word in command], standalone_mode=False)
        finally:
            reader.join()
        assert found[0], command
        assert stat.S_ISFIFO(fifo.lstat().st_mode), command


@pytest.mark.native  # starts the command in a process of its own
def test_standard_output_can_be_named(tmp_path: Path) -> None:
    selection, output = tmp_path / "s.yaml", tmp_path / "output"
    selection.write_text("operators: {}\n")
    command = [SIZEGUARD, "select", "merge", selection, "-o", "/dev/stdout"]
    piped = subprocess.run(command, check=True, capture_output=True).stdout
    assert piped.startswith(b"include_all_operators: false\n")
    with output.open("wb") as file:
        file.write(b"before\n")
        file.flush()
        subprocess.run(command, check=True, stdout=file, stderr=subprocess.DEVNULL)
    assert output.read_bytes() == b"before\n" + piped
