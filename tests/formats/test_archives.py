"""Archives of GNU ar and llvm-ar: the same members as those tools list, with the same contents.

They are GNU, BSD, Darwin and thin archives.
"""

from __future__ import annotations

import random
import subprocess
from pathlib import Path

import pytest

from sizeguard.base.errors import InputError
from sizeguard.formats.archive import members, read_archive

NAMES = [
    "a.o",
    "exactly_15_ch.o",
    "a name with blanks.o",
    "a_name_that_does_not_fit_into_sixteen_characters.cpp.o",
]


def tool(*command: str, cwd: Path) -> str:
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=True).stdout


@pytest.fixture
def folder(tmp_path: Path, native_tools: None) -> Path:
    """Make objects with names of all lengths and with even and odd sizes."""
    for i, name in enumerate(NAMES):
        source = tmp_path / "x.c"
        source.write_text(f"int function_{i}(int x) {{ return x * {i}; }}\n")
        tool("gcc", "-c", str(source), "-o", name, cwd=tmp_path)
        with (tmp_path / name).open("ab") as file:
            file.write(b"\0" * i)  # linkers ignore trailing zeros
    return tmp_path


@pytest.mark.parametrize(
    "command",
    [
        ["ar", "rcD"],
        ["ar", "rcDS"],
        ["llvm-ar-19", "--format=gnu", "rcD"],
        ["llvm-ar-19", "--format=bsd", "rcD"],
        ["llvm-ar-19", "--format=darwin", "rcD"],
        ["ar", "rcDT"],
        ["llvm-ar-19", "--thin", "--format=gnu", "rcD"],
    ],
    ids=lambda command: "-".join(command).replace("--", ""),
)
def test_members_are_ars(folder: Path, command: list[str]) -> None:
    tool(*command, "lib.a", *NAMES, cwd=folder)
    read = list(read_archive(folder / "lib.a"))
    assert (
        [name for name, _ in read]
        == tool("llvm-ar-19", "t", "lib.a", cwd=folder).splitlines()
        == NAMES
    )
    for name, data in read:
        whole = (folder / name).read_bytes()
        padding = len(data) - len(whole)
        assert data == whole + b"\n" * padding
        # Darwin's members are padded to eight bytes
        assert padding == 0 or ("darwin" in command[1] and padding < 8)


def test_members_of_one_name_are_kept_apart(folder: Path) -> None:
    (folder / "other").mkdir()
    (folder / "other" / "a.o").write_bytes((folder / NAMES[1]).read_bytes())
    tool("ar", "qcD", "lib.a", "a.o", "other/a.o", cwd=folder)
    found = members(folder / "lib.a")
    assert [member.name for member in found] == ["a.o", "a.o"]
    assert len({member.position for member in found}) == 2
    assert [data for _, data in read_archive(folder / "lib.a")] == [
        (folder / name).read_bytes() for name in ("a.o", NAMES[1])
    ]


def test_thin_archives_are_relative_and_may_nest(folder: Path) -> None:
    inner = folder / "inner"
    inner.mkdir()
    for name in NAMES[:2]:
        (inner / name).write_bytes((folder / name).read_bytes())
    tool("ar", "rcD", "inner/full.a", *(f"inner/{name}" for name in NAMES[:2]), cwd=folder)
    tool("ar", "rcDT", "inner/thin.a", *(f"inner/{name}" for name in NAMES[:2]), cwd=folder)
    tool("ar", "rcDT", "outer.a", NAMES[2], "inner/full.a", "inner/thin.a", cwd=folder)
    read = [data for _, data in read_archive(folder / "outer.a")]
    expected = [NAMES[2], *NAMES[:2], *NAMES[:2]]
    assert read == [(folder / name).read_bytes() for name in expected]
    assert [Path(name).name for name, _ in read_archive(folder / "outer.a")] == expected
    theirs = tool("ar", "t", "outer.a", cwd=folder).splitlines()
    assert [Path(name).name for name in theirs] == expected
    (inner / NAMES[0]).unlink()
    with pytest.raises(InputError, match=r"a\.o: cannot read"):
        list(read_archive(folder / "outer.a"))


def test_a_thin_archive_that_names_itself_ends(folder: Path) -> None:
    names = b"self.a/\n"
    header = b"//".ljust(48) + str(len(names)).encode().ljust(10) + b"`\n" + names
    member = b"/0:76".ljust(48) + b"1".ljust(10) + b"`\n"
    (folder / "self.a").write_bytes(b"!<thin>\n" + header + member)
    with pytest.raises(InputError, match="are nested more than 8 deep"):
        members(folder / "self.a")


def test_a_thin_member_that_shrank_is_refused(folder: Path) -> None:
    tool("ar", "rcDT", "lib.a", "a.o", cwd=folder)
    (folder / "a.o").write_bytes(b"short")
    with pytest.raises(InputError, match=r"a\.o is shorter than the archive states"):
        list(read_archive(folder / "lib.a"))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "not an archive"),
        (b"hello", "not an archive"),
        (b"!<arch>\nshort", "no member at 8"),
        (b"!<arch>\n" + b"a.o/".ljust(48) + b"99999     `\n", "the member at 8 is cut"),
        (b"!<arch>\n" + b"/7".ljust(48) + b"0         `\n", "the member at 8 has no name"),
        (b"!<arch>\n" + b"#1/200".ljust(48) + b"4         `\nabcd", "longer than the member"),
        (b"!<arch>\n" + b"a.o/".ljust(48) + b"-1        `\n", "no member at 8"),
    ],
)
def test_what_is_damaged_is_refused(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "x.a"
    path.write_bytes(content)
    with pytest.raises(InputError, match=message) as error:
        list(read_archive(path))
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("flags", ["rcD", "rcDT"])
def test_mutated_archives_are_read_or_refused(folder: Path, flags: str) -> None:
    tool("ar", flags, "lib.a", *NAMES, cwd=folder)
    original = (folder / "lib.a").read_bytes()
    random_ = random.Random(0)
    refused = 0
    path = folder / "mutated.a"
    for _ in range(400):
        data = bytearray(original)
        for _ in range(random_.choice([1, 2, 8])):
            data[random_.randrange(min(len(data), 800))] = random_.randrange(256)
        path.write_bytes(data[: random_.randrange(len(data))] if random_.random() < 0.2 else data)
        try:
            total = sum(len(content) for _, content in read_archive(path))
        except InputError as error:
            assert "\n" not in str(error)
            refused += 1
        else:
            assert total <= sum((folder / name).stat().st_size for name in NAMES) + len(data)
    assert 20 < refused < 400


def test_names_of_windows_archives_end_with_a_nul(tmp_path: Path) -> None:
    """As llvm-lib and link.exe write them, with a table of symbols for ARM64EC."""

    def member(name: str, content: bytes) -> bytes:
        return f"{name:<16}{'0':<32}{len(content):<10}`\n".encode() + content

    table = member("//", b"first long name.obj\0folder/second one.obj\0")
    parts = member("/<ECSYMBOLS>/", b"abcd") + member("/0", b"one!") + member("/20", b"two!")
    path = tmp_path / "a.lib"
    path.write_bytes(b"!<arch>\n" + member("/", bytes(4)) + table + parts)
    assert list(read_archive(path)) == [
        ("first long name.obj", b"one!"),
        ("folder/second one.obj", b"two!"),
    ]
