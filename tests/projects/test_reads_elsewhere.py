"""Inputs of builds that no list of opened files shows: attributes, existence, the checkout."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.support.places import LLVM
from tests.support.tricks.any_project import made_project
from tests.support.tricks.later_tricks import BUILD, CONFIG, EMBED, LARGE, MAIN

pytestmark = pytest.mark.native

LD64 = LLVM / "ld64.lld"
COPY = "cp {} data.txt\n" + BUILD
PASS, FAIL, INCONCLUSIVE = 0, 1, 3


@dataclass(frozen=True, slots=True)
class Way:
    """Files of the base, files of the change, and the exit code of the gate.

    modes: files that the change makes executable; None as a text removes the file
    """

    files: Mapping[str, str]
    change: Mapping[str, str | None] = field(default_factory=dict)
    modes: tuple[str, ...] = ()
    code: int = FAIL


def asks(test: str) -> dict[str, str]:
    """Return a build that grows if a test of the shell holds."""
    return {"build.sh": f"if {test}; then more=-DSIZE=6000; fi\n{BUILD}", "main.c": MAIN}


WAYS = {
    "line ends": Way(
        {"build.sh": BUILD, "main.c": EMBED, "data.txt": "a\n" * 3000},
        {".gitattributes": "data.txt text eol=crlf\n"},
    ),
    "attributes of a folder": Way(
        {"build.sh": COPY.format("d/in"), "main.c": EMBED, "d/in": "$Id$\n" * 200},
        {"d/.gitattributes": "in ident\n"},
    ),
    "existence": Way(asks("[ -f GROW.md ]"), {"GROW.md": "1\n"}),
    "absence": Way({**asks("[ ! -f NOTES.md ]"), "NOTES.md": "1\n"}, {"NOTES.md": None}),
    "mode": Way({**asks("[ -x NOTES.md ]"), "NOTES.md": "1\n"}, modes=("NOTES.md",)),
    "bytes behind the sections": Way(
        {"build.sh": BUILD + "cat TAIL.md >> app\n", "main.c": MAIN, "TAIL.md": "1\n"},
        {"TAIL.md": LARGE},
    ),
    "a needed library in another folder": Way(
        {
            "build.sh": "mkdir lib\ncc -Os -fPIC -shared -o lib/libf.so f.c\n"
            "cc -Os -o app main.c -Llib -lf -Wl,-rpath,'$ORIGIN/lib'\n",
            "main.c": "int f(void);\nint main(void) { return f(); }\n",
            "f.c": "int f(void) { return 1; }\n",
        },
        {"f.c": "char a[6000] = {1};\nint f(void) { return a[0]; }\n"},
    ),
    "a needed library whose link is made by its installation": Way(
        {
            "build.sh": "cc -Os -fPIC -shared -o libf.so.1.2 -Wl,-soname,libf.so.1 f.c\n"
            "cc -Os -o app main.c libf.so.1.2\n",
            "main.c": "int f(void);\nint main(void) { return f(); }\n",
            "f.c": "int f(void) { return 1; }\n",
        },
        {"f.c": "char a[6000] = {1};\nint f(void) { return a[0]; }\n"},
    ),
    "a needed library of macOS with another name": Way(
        {
            "build.sh": "for f in f main; do clang-19 --target=arm64-apple-macos13.0 -Os -c $f.c; "
            f"done\nl='{LD64} -arch arm64 -platform_version macos 13.0 13.0 -undefined "
            "dynamic_lookup'\n$l -dylib -install_name @rpath/libf.1.dylib -o libf.1.2.dylib f.o\n"
            "$l -o app main.o libf.1.2.dylib\n",
            "main.c": "int f(void);\nint main(void) { return f(); }\n",
            "f.c": "int f(void) { return 1; }\n",
        },
        {"f.c": "char a[90000] = {1};\nint f(void) { return a[0]; }\n"},
    ),
    "restored access times": Way(
        {
            "build.sh": "tar c --atime-preserve=replace NOTES.md | tar xO > data.txt\n" + BUILD,
            "main.c": EMBED,
            "NOTES.md": "1\n",
        },
        {"NOTES.md": LARGE},
    ),
    "reads that set no access time": Way(
        {
            "build.sh": 'python3 -c \'import os; f = os.open("NOTES.md", os.O_NOATIME);'
            ' open("data.txt", "wb").write(os.read(f, 9999))\'\n' + BUILD,
            "main.c": EMBED,
            "NOTES.md": "1\n",
        },
        {"NOTES.md": LARGE},
    ),
    "the checkout": Way(
        {"build.sh": COPY.format("../../../NOTES.md"), "main.c": EMBED, "NOTES.md": "1\n"},
        {"NOTES.md": LARGE},
        code=INCONCLUSIVE,
    ),
    "the checkout by a hard link": Way(
        {
            "build.sh": "rm -f data.txt; ln ../../../NOTES.md data.txt\n" + BUILD,
            "main.c": EMBED,
            "NOTES.md": "1\n",
        },
        {"NOTES.md": LARGE},
        code=INCONCLUSIVE,
    ),
    "the commit of the checkout": Way(
        {
            "build.sh": "git -C ../../.. show HEAD:NOTES.md > data.txt\n" + BUILD,
            "main.c": EMBED,
            "NOTES.md": "1\n",
        },
        {"NOTES.md": LARGE},
        code=INCONCLUSIVE,
    ),
    "the checkout for the base alone": Way(
        {"build.sh": "cat .sizes 2>/dev/null || cp ../../../.sizes data.txt\n" + BUILD}
        | {"main.c": MAIN},
        {".sizes": "1\n"},
        code=INCONCLUSIVE,
    ),
    "a parent's file that tools look for after the own one": Way(
        {
            "build.sh": "cat Cargo.toml ../../../Cargo.toml\n" + BUILD,
            "main.c": MAIN,
            "Cargo.toml": "1\n",
        },
        {"Cargo.toml": "2\n"},
        code=PASS,
    ),
    "the checkout's file after the own one": Way(
        {
            "build.sh": "wc NOTES.md\ncp ../../../NOTES.md data.txt\n" + BUILD,
            "main.c": EMBED,
            "NOTES.md": "1\n",
        },
        {"NOTES.md": LARGE},
        code=INCONCLUSIVE,
    ),
    "the size of the checkout's file": Way(
        {
            "build.sh": "head -c $(stat -c %s ../../../NOTES.md) /dev/zero > data.txt\n" + BUILD,
            "main.c": EMBED,
            "NOTES.md": "1\n",
        },
        {"NOTES.md": LARGE},
        code=INCONCLUSIVE,
    ),
    "a parent's file that is joined": Way(
        {
            "build.sh": f"cat .npmrc ../../../.npmrc\n{BUILD}",
            "main.c": MAIN,
            ".npmrc": "1\n",
        },
        {".npmrc": "2\n"},
        code=INCONCLUSIVE,
    ),
    "a document": Way(
        {"build.sh": BUILD, "main.c": MAIN, "NOTES.md": "1\n"}, {"NOTES.md": LARGE}, code=PASS
    ),
}


@pytest.mark.parametrize("way", WAYS)
def test_growth_of_unlisted_inputs_is_seen(tmp_path: Path, way: str) -> None:
    """From an empty store, and again with what it knows then."""
    told = WAYS[way]
    project = made_project(tmp_path, CONFIG, dict(told.files))
    project.git("checkout", "-q", "-b", "work")
    project.write({name: text for name, text in told.change.items() if text is not None})
    for name, text in told.change.items():
        if text is None:
            (tmp_path / name).unlink()
    for name in told.modes:
        (tmp_path / name).chmod(0o755)
    project.commit("Change")
    for _ in range(2):
        done = project.run("gate", "--base", "main", "--format", "json")
        assert done.code == told.code, done.err
        growth = json.loads(done.out)["apps"][0]["growth_since_base"]
        assert (growth is None) == (told.code == INCONCLUSIVE)
        if growth is not None:
            assert (growth["file"] > 1000) == (told.code == FAIL)


def test_a_new_file_among_the_baselines_may_be_read(tmp_path: Path) -> None:
    """The base has shown what it reads, and it had no such file."""
    build = "cat NOTES.md baselines/*.a.b.yaml > data.txt 2>/dev/null\n" + BUILD
    files = {"build.sh": build, "main.c": EMBED, "NOTES.md": "1\n"}
    project = made_project(tmp_path, CONFIG, files)
    assert project.run("gate", "--base", "main").code == PASS
    project.git("checkout", "-q", "-b", "work")
    project.write({"baselines/app.a.b.yaml": LARGE})
    project.commit("Change")
    assert project.run("gate", "--base", "main").code == FAIL


def test_a_library_of_a_package_counts_by_the_name_that_it_states(tmp_path: Path) -> None:
    build = (
        "cc -Os -fPIC -shared -o libf.so.1.2 -Wl,-soname,libf.so.1 f.c\n"
        "cc -Os -o app main.c libf.so.1.2\n"
        "python3 -m zipfile -c app.zip app libf.so.1.2\nrm app libf.so.1.2\n"
    )
    main = "int f(void);\nint main(void) { return f(); }\n"
    files = {"build.sh": build, "main.c": main, "f.c": "int f(void) { return 1; }\n"}
    config = CONFIG.replace("image: app", "image: app.zip!app")
    assert config != CONFIG
    project = made_project(tmp_path, config, files)
    project.git("checkout", "-q", "-b", "work")
    project.write({"f.c": "char a[6000] = {1};\nint f(void) { return a[0]; }\n"})
    project.commit("Change")
    assert project.run("gate", "--base", "main").code == FAIL
