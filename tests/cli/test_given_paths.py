"""Test paths that a user gives: empty, too long, closed, dangling, and of other formats."""

from __future__ import annotations

import errno
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from sizeguard.base.errors import InconclusiveError, InputError
from sizeguard.base.files import cannot_read, is_folder, is_there
from sizeguard.base.nearest import nearest_file
from sizeguard.builds.open_build import open_build
from sizeguard.cli.error_lines import print_error
from sizeguard.cli.main import cli
from sizeguard.cli.option_groups import NamedPath
from sizeguard.cli.usage_errors import usage_message
from sizeguard.doctor.diagnosis import Diagnosis, SizeFinding
from sizeguard.formats.sniff import names_member
from sizeguard.linkgraph.open_graph import graph_of_path
from sizeguard.proposals.image_files import _has_sections
from sizeguard.report.bisect.bisect_progress import BisectProgress
from sizeguard.report.doctor.render import _head
from tests.support.images.made_elf import Form, MadeSection, make_elf

LONG = "a" * 300
IDENTITY = ("-c", "user.name=n", "-c", "user.email=n@example.org")
COMMANDS = (
    "report PATH",
    "diff PATH PATH",
    "why PATH main",
    "doctor PATH",
    "verify PATH --absent f",
    "init PATH",
    "record --built PATH",
    "gate --from-json PATH",
    "report /bin/ls --map PATH",
    "report /bin/ls --output PATH",
    "report /bin/ls --save PATH",
    "select ops PATH",
    "app add name PATH",
)


def parameters(group: click.Group, words: str = "") -> Iterator[tuple[str, click.Parameter]]:
    context = click.Context(group, info_name="sizeguard")
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if isinstance(command, click.Group):
            yield from parameters(command, f"{words}{name} ")
        elif command is not None:
            yield from ((f"{words}{name} {each.name}", each) for each in command.params)


def test_every_path_is_checked() -> None:
    paths = [(words, each.type) for words, each in parameters(cli)]
    paths = [(words, type_) for words, type_ in paths if isinstance(type_, click.Path)]
    assert len(paths) > 40
    assert [words for words, type_ in paths if not isinstance(type_, NamedPath)] == []


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(
    ("path", "told"), [("", "the path is empty"), (LONG, "File name too long")]
)
def test_no_path_is_misread(command: str, path: str, told: str) -> None:
    """A script with an unset variable does not measure the current folder."""
    words = [path if word == "PATH" else word for word in command.split()]
    done = CliRunner().invoke(cli, words, standalone_mode=False)
    assert isinstance(done.exception, click.UsageError), done.exception
    assert told in done.exception.format_message()


@pytest.mark.parametrize("command", ["report", "doctor", "why", "verify"])
def test_a_member_with_a_long_name_is_missing(tmp_path: Path, command: str) -> None:
    container = tmp_path / "a.zip"
    container.write_bytes(b"PK\x05\x06" + bytes(18))
    more = {"why": ["main"], "verify": ["--absent", "f"]}.get(command, [])
    done = CliRunner().invoke(cli, [command, f"{container}!{LONG}", *more])
    assert isinstance(done.exception, InputError), done.exception
    assert names_member(Path(f"{container}!{LONG}"))


def test_files_that_cannot_be_asked_for_are_not_there(tmp_path: Path) -> None:
    for path in (Path(LONG), Path("a\0b"), tmp_path / "none"):
        assert not is_there(path)
        assert not is_folder(path)
    assert is_there(tmp_path)
    assert is_folder(tmp_path)


def test_a_hint_that_fails_leaves_the_error(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(error: click.ClickException) -> str:
        raise OSError(errno.EACCES, "Permission denied")

    monkeypatch.setattr("sizeguard.cli.usage_errors.usage_message", fails)
    assert print_error(click.UsageError("no such thing")) == 2
    assert capsys.readouterr().err == "error: no such thing\n"


def test_a_dangling_link_names_its_target(tmp_path: Path) -> None:
    link = tmp_path / "app"
    link.symlink_to("gone")
    assert nearest_file(link) == ": it is a symbolic link to 'gone'"
    told = str(cannot_read(link, FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))))
    assert "did you mean" not in told


def test_an_input_that_fails_is_no_output() -> None:
    """Reading the first page of /proc/self/mem ends with EIO."""
    with pytest.raises(InputError, match="/proc/self/mem: cannot read: Input/output error"):
        open_build(Path("/proc/self/mem"))


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"MZ" + bytes(100), "a Windows \\(PE\\) image; a section graph needs an ELF or Mach-O"),
        (b"\0asm\1\0\0\0", "WebAssembly; a section graph needs"),
        (b"!<arch>\n", "a static library; name a program that is linked from it"),
        (b"", "an empty file; a section graph needs"),
        (b"\x7fELF\2\1\1", "a damaged ELF file"),
    ],
)
def test_why_refuses_files_that_no_record_can_help(
    tmp_path: Path, content: bytes, told: str
) -> None:
    image = tmp_path / "image"
    image.write_bytes(content)
    with pytest.raises(InputError, match=told):
        graph_of_path(image)


def test_a_filter_without_text_is_refused() -> None:
    done = CliRunner().invoke(cli, ["report", "/bin/ls", "--filter", "symbol="])
    assert isinstance(done.exception, InputError)
    assert "the text is empty" in str(done.exception)


@pytest.mark.parametrize(
    "words",
    [
        "history --since",
        "report /bin/ls --arch",
        "waive load --bytes 5 --owner me --reason x --expires 2030-01-01 --app",
    ],
)
def test_an_unset_variable_is_not_the_default(words: str) -> None:
    """waive --app "$APP" allowed the bytes to all apps."""
    done = CliRunner().invoke(cli, [*words.split(), ""], standalone_mode=False)
    assert isinstance(done.exception, click.UsageError), done.exception
    assert f"{words.split()[-1]}: the value is empty" in usage_message(done.exception)


def test_ci_passes_no_base_for_a_push(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file of `init` for GitLab has --base=$base, and base is empty without a merge request."""
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(cli, ["gate", "--base="], standalone_mode=False)
    assert "sizeguard.yaml" in str(done.exception)


def test_an_object_has_no_map(tmp_path: Path) -> None:
    sections = [MadeSection(".text", flags=6, content=bytes(8))]
    (tmp_path / "a.o").write_bytes(make_elf(Form(), sections, type_=1))
    words = ["report", str(tmp_path / "a.o"), "--map", "tests/data/linkmaps/bfd.map"]
    done = CliRunner().invoke(cli, words)
    assert isinstance(done.exception, InputError)
    assert "bfd.map: leave it out" in str(done.exception)


def test_verify_refuses_a_folder_without_objects(tmp_path: Path) -> None:
    words = ["verify", "/bin/ls", "--objects", str(tmp_path), "--absent", "twice"]
    done = CliRunner().invoke(cli, words)
    assert isinstance(done.exception, InputError)
    assert "contains no objects" in str(done.exception)


@pytest.mark.parametrize(
    ("address", "size", "is_same"), [(0x1000, 8, True), (0x1000, 9, False), (0x1010, 8, False)]
)
def test_a_debug_file_has_code_where_the_image_has_it(
    tmp_path: Path, address: int, size: int, is_same: bool
) -> None:
    """Without build ids, the names of another build named the code of the image."""
    for name, where, length in (("app", 0x1000, 8), ("app.debug", address, size)):
        sections = [MadeSection(".text", flags=6, address=where, content=bytes(length))]
        (tmp_path / name).write_bytes(make_elf(Form(), sections))
    words = ["report", str(tmp_path / "app"), "--debug-file", str(tmp_path / "app.debug")]
    done = CliRunner().invoke(cli, words)
    told = str(done.exception) if isinstance(done.exception, InconclusiveError) else ""
    assert ("is of another build" in told) is not is_same, done.exception


@pytest.mark.parametrize(
    ("sections", "expected"),
    [
        ((".text", ".text._ZN1aIiE1fEv", ".comment"), False),  # templates have sections anyway
        ((".text.f", ".text._ZN1aIiE1fEv", ".comment"), True),
        ((".text", ".text.f"), True),  # code of an assembler, and a compiler's without .comment
        ((".text.startup", ".comment"), False),
        ((".data",), None),
    ],
)
def test_functions_without_their_own_section_are_seen(
    tmp_path: Path, sections: tuple[str, ...], expected: bool | None
) -> None:
    made = [
        MadeSection(name, flags=6 if name.startswith(".text") else 0, content=bytes(16))
        for name in sections
    ]
    (tmp_path / "a.o").write_bytes(make_elf(Form(), made))
    assert _has_sections((tmp_path / "a.o",)) is expected


@pytest.mark.parametrize(
    ("count", "told"), [(0, "0 findings"), (1, "1 finding"), (2, "2 findings")]
)
def test_findings_are_counted_in_good_english(count: int, told: str) -> None:
    finding = SizeFinding("k", "t", 1, 2, "load", (), 0, "c")
    assert _head(Diagnosis("a", 1, 2, (finding,) * count, ())).endswith(f" {told}")


@pytest.mark.parametrize("group", ["", "select", "baseline", "app"])
def test_a_group_without_a_command_shows_its_help(
    capsys: pytest.CaptureFixture[str], group: str
) -> None:
    """Its lines are not escaped, as those of an error are."""
    context = click.Context(cli, info_name="sizeguard")
    command = cli.get_command(context, group) if group else cli
    assert isinstance(command, click.Group)
    error = click.exceptions.NoArgsIsHelpError(
        click.Context(command, info_name=group or "sizeguard")
    )
    assert print_error(error) == 2
    lines = capsys.readouterr().err.splitlines()
    assert lines[0].startswith("Usage: ")
    assert any(line.lower().endswith("commands:") for line in lines)


@pytest.mark.parametrize("seconds", ["nan", "inf", "1e300", "0", "-1", "soon"])
@pytest.mark.parametrize("command", ["gate", "bisect a b"])
def test_a_time_limit_is_a_number_of_seconds(command: str, seconds: str) -> None:
    words = [*command.split(), "--timeout", seconds]
    done = CliRunner().invoke(cli, words, standalone_mode=False)
    assert isinstance(done.exception, click.UsageError), done.exception
    assert "--timeout" in usage_message(done.exception)


OF_TWO = """apps:
  parse: {image: parse, build: make}
  print: {image: print, build: make}
"""


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("bisect a b --app parze", "no app 'parze'; did you mean 'parse'"),
        ("bisect a b", "--app is missing: sizeguard.yaml has parse, print"),
    ],
)
def test_bisect_in_a_project_names_its_apps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: str, told: str
) -> None:
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    (tmp_path / "sizeguard.yaml").write_text(OF_TWO)
    for name in ("a", "b"):
        subprocess.run(
            ["git", "-C", tmp_path, *IDENTITY, "commit", "-q", "--allow-empty", "-m", name],
            check=True,
        )
        subprocess.run(["git", "-C", tmp_path, "tag", name], check=True)
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(cli, words.split())
    assert isinstance(done.exception, InputError), done.exception
    assert told in str(done.exception)


@pytest.mark.parametrize(
    ("error", "is_offered"), [(InputError("no"), False), (InconclusiveError("no"), True)]
)
def test_a_bisect_that_cannot_continue_offers_no_resume(
    capsys: pytest.CaptureFixture[str], error: Exception, is_offered: bool
) -> None:
    with pytest.raises(type(error)), BisectProgress("a → b", "load"):
        raise error
    assert ("--resume" in capsys.readouterr().err) is is_offered
