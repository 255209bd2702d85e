"""Endless inputs, and inputs that are far too large for their format, are refused at once."""

from __future__ import annotations

import os
import signal
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from click.testing import CliRunner

from sizeguard.base.errors import InputError
from sizeguard.base.input_files import readable
from sizeguard.base.yaml.nodes import MAXIMUM_FILE_SIZE
from sizeguard.cli.main import cli
from sizeguard.formats.gc_log import check_gc_log
from sizeguard.formats.linkmap import read_link_map
from sizeguard.selection.read import read_selection
from tests.support.images.made_elf import Form, MadeSection, make_elf

pytestmark = pytest.mark.native

# FIFO is the special file, ELF is an image, and YAML is a selection.
COMMANDS = """\
report FIFO
report ELF --map FIFO
report ELF --objects FIFO
report ELF --debug-file FIFO
report ELF --rules FIFO
diff FIFO ELF
diff ELF FIFO
why ELF main --objects FIFO
verify FIFO --absent x
verify ELF --absent x --map FIFO
verify ELF --absent x --objects FIFO
verify ELF --absent x --shipped FIFO
gate --from-json FIFO
select lint FIFO
select lint YAML --operators-yaml FIFO
select merge FIFO YAML
select ops FIFO.pt2
select ops FIFO.pte
select ops FIFO.ptl
select ops FIFO.sgp
import FIFO.pt2 -o out.sgp
codegen --selection FIFO --output-dir out --selection-only
"""


@contextmanager
def within(seconds: int) -> Iterator[None]:
    """Fail a test that hangs."""

    def stop(*_: object) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize("command", COMMANDS.splitlines())
@pytest.mark.parametrize("kind", ["fifo", "socket"])
def test_what_never_ends_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str, kind: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ELF").write_bytes(
        make_elf(Form(), [MadeSection(".text", flags=6, address=0x1000, content=bytes(16))])
    )
    (tmp_path / "YAML").write_text("operators: {}\n")
    (name,) = [word for word in command.split() if word.startswith("FIFO")]
    with socket.socket(socket.AF_UNIX) as server, within(20):
        os.mkfifo(name) if kind == "fifo" else server.bind(name)
        done = CliRunner().invoke(cli, command.split())
    assert isinstance(done.exception, InputError), (done.exception, done.output)
    assert name in str(done.exception)
    assert not (tmp_path / "out.sgp").exists()


@pytest.mark.parametrize("device", ["/dev/zero", "/dev/null", "/dev/tty"])
def test_a_device_is_no_input(device: str) -> None:
    with within(20), pytest.raises(InputError, match=f"{device}: cannot read: not a regular"):
        read_selection(Path(device))


def test_an_open_pipe_is_read(tmp_path: Path) -> None:
    """The shell passes such a pipe for <(command)."""
    ours, theirs = os.pipe()
    os.write(theirs, b"operators: {'aten::add': {}}\n")
    os.close(theirs)
    with within(20):
        found = read_selection(Path(f"/dev/fd/{ours}"))
    os.close(ours)
    assert list(found.selection.operators) == ["aten::add"]
    # A FIFO that is opened by name is still refused, even through a link.
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "link").symlink_to("fifo")
    for read in (readable, check_gc_log, read_link_map, read_selection):
        with within(20), pytest.raises(InputError, match="not a regular file"):
            read(tmp_path / "link")


def test_a_log_out_of_a_pipe_is_read() -> None:
    ours, theirs = os.pipe()
    os.write(theirs, b"ld: removing unused section '.text.f' in file 'a.o'\n")
    os.close(theirs)
    with within(20):
        check_gc_log(Path(f"/dev/fd/{ours}"))
    os.close(ours)


def test_files_and_their_absence_are_left_to_their_readers(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for path in (tmp_path / "file", tmp_path, tmp_path / "none", Path("a\0b")):
        assert readable(path) == path


def test_a_selection_of_very_many_operators_is_refused_at_once(tmp_path: Path) -> None:
    path = tmp_path / "s.yaml"
    path.write_text("operators:\n" + "".join(f"  a::{i:x}: {{}}\n" for i in range(400_000)))
    start = time.process_time()
    with pytest.raises(InputError, match=f"larger than {MAXIMUM_FILE_SIZE} bytes"):
        read_selection(path)
    assert time.process_time() - start < 0.5


@pytest.mark.native  # takes seconds
def test_a_selection_of_very_many_values_is_refused_soon(tmp_path: Path) -> None:
    path = tmp_path / "s.yaml"
    path.write_text("operators: {" + "a," * 1_500_000 + "}\n")
    start = time.process_time()
    with pytest.raises(InputError, match="more than 200000 values, too many for a selection"):
        read_selection(path)
    assert time.process_time() - start < 15


def test_a_map_of_equal_lines_is_refused_at_once(tmp_path: Path) -> None:
    path = tmp_path / "app.map"
    line = " .text          0x0000000000001000       0x10 /tmp/a.o\n"
    path.write_text("\nLinker script and memory map\n\n.text  0x1000  0x1000\n" + line * 1_500_000)
    start = time.process_time()
    with pytest.raises(InputError, match=r"app.map: more than 65,536 equal lines of .* bytes"):
        read_link_map(path)
    assert time.process_time() - start < 5
