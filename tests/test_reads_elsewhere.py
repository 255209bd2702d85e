"""Inputs of builds that no list of opened files shows: attributes, existence, the checkout."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.support.any_project import made_project
from tests.support.later_tricks import BUILD, CONFIG, EMBED, LARGE, MAIN

pytestmark = pytest.mark.native

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
    "a parent's file after the own one": Way(
        {"build.sh": "cat tool.yml ../../../tool.yml\n" + BUILD, "main.c": MAIN, "tool.yml": "1\n"},
        {"tool.yml": "2\n"},
        code=PASS,
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
