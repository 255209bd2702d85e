"""Test the commands of `sizeguard init` for makefiles, Ninja and configurations of CMake."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from sizeguard.base.errors import InconclusiveError
from sizeguard.proposals.build_systems.make_rules import makefiles
from sizeguard.proposals.propose import propose
from tests.support.tricks.build_folders import CACHE, check, project_of, put

RULE = ":\n\tcc\n"
BY_FOLDER = f"O ?= build\n$(O)/app: $(O)/a.o{RULE[1:]}$(O)/%.o: src/%.c{RULE[1:]}"


@pytest.mark.parametrize(
    ("files", "images", "setup", "build"),
    [
        ({"Makefile": f"app{RULE}"}, ["app"], "", "make app"),
        # make -C build -f ../Makefile
        (
            {"Makefile": f"VPATH = ../src\napp{RULE}"},
            ["build/app"],
            "mkdir -p build",
            "make -C build -f ../Makefile app",
        ),
        (
            {"lib/rules.mk": f"app{RULE}", "lib/app": "x"},
            ["lib/build/app"],
            "mkdir -p lib/build",
            "make -C lib/build -f ../rules.mk app",
        ),
        # The rule itself writes to the folder
        ({"Makefile": "app:\n\tcc -o build/app\n"}, ["build/app"], "", "make"),
        ({"other.mk": f"app{RULE}"}, ["app"], "", "make -f other.mk app"),
        ({"Makefile.linux": f"app.elf{RULE}"}, ["app.elf"], "", "make -f Makefile.linux app.elf"),
        (
            {"Makefile": f"doc{RULE}", "makefile.gcc": f"app{RULE}"},
            ["app"],
            "",
            "make -f makefile.gcc app",
        ),
        ({"Makefile": f"app{RULE}", "rules.mk": f"app{RULE}"}, ["app"], "", "make app"),
        ({"Makefile": BY_FOLDER}, ["build/app"], "", "make build/app"),
        ({"Makefile": BY_FOLDER}, ["out/app"], "", "make O=out out/app"),
        (
            {"Makefile": f"B = debug\nO = build/$(B)\n$(O)/app $(O)/tool{RULE}"},
            ["build/release/app", "build/release/tool"],
            "",
            "make B=release build/release/app build/release/tool",
        ),
        (
            {"Makefile": f"B = debug\nO = build/$(B)\n$(O)/app{RULE}"},
            ["build/debug/app", "build/release/app"],
            "",
            "make build/debug/app && make B=release build/release/app",
        ),
        # The variable is the name of the image, not a folder
        ({"Makefile": f"NAME = app\n$(NAME){RULE}"}, ["tool"], "", "make"),
        ({"Makefile": BY_FOLDER}, ["out/app", "out/tool"], "", "make"),
    ],
)
def test_the_call_of_make(
    tmp_path: Path, files: Mapping[str, str], images: list[str], setup: str, build: str
) -> None:
    root = project_of(tmp_path, "".join(f"/{name}\n" for name in images))
    for name, text in files.items():
        put(root / name, text)
    for name in images:
        put(root / name)
    proposal = propose(root)
    assert (proposal.setup, proposal.build) == (setup, build)
    assert sorted(check(proposal).values()) == sorted(images)


def test_the_folder_of_a_call_is_made_where_the_call_runs(tmp_path: Path) -> None:
    root = project_of(tmp_path, "/out\n")
    put(root / "configure", "")
    subprocess.run(["git", "-C", root, "add", "configure"], check=True)
    put(root / "out/config.log", "  $ ../configure CFLAGS=-Os\n")
    put(root / "out/Makefile", f"VPATH = ../src\napp{RULE}")
    put(root / "out/bin/app")
    proposal = propose(root)
    assert proposal.setup == "mkdir -p out/bin && mkdir -p out && cd out && ../configure CFLAGS=-Os"
    assert proposal.build == "make -C out/bin -f ../Makefile app"


def test_a_folder_of_a_call_does_not_configure(tmp_path: Path) -> None:
    root = project_of(tmp_path, "/Makefile\n/build\n")
    put(root / "Makefile", f"VPATH = ../src\napp{RULE}")
    put(root / "build/app")
    proposal = propose(root)
    assert proposal.setup == "mkdir -p build"
    assert any("git does not track Makefile" in note for note in proposal.notes)


@pytest.mark.native
@pytest.mark.parametrize(
    ("makefile", "text", "call", "image"),
    [
        (
            "Makefile",
            "VPATH=../src\napp: a.c\n\tcc -o $@ $^\n",
            "-C build -f ../Makefile",
            "build/app",
        ),
        ("other.mk", "app: src/a.c\n\tcc -o $@ $^\n", "-f other.mk", "app"),
        (
            "Makefile",
            "O=b\n$(O)/app: src/a.c\n\tmkdir -p $(O)\n\tcc -o $@ $^\n",
            "O=out",
            "out/app",
        ),
    ],
)
def test_the_proposed_commands_make_the_image(
    tmp_path: Path, makefile: str, text: str, call: str, image: str
) -> None:
    root = project_of(tmp_path, f"/{image}\n")
    put(root / "src/a.c", "int main(void) { return 0; }\n")
    put(root / makefile, text)
    (root / image).parent.mkdir(exist_ok=True)
    subprocess.run(["make", "-s", *call.split()], cwd=root, check=True)
    proposal = propose(root)
    (root / image).unlink()
    if image == "build/app":
        (root / "build").rmdir()
    subprocess.run([proposal.setup or ":"], cwd=root, shell=True, check=True)
    subprocess.run([proposal.build], cwd=root, shell=True, check=True)
    assert (root / image).is_file()


def test_makefiles_have_usual_names(tmp_path: Path) -> None:
    names = "Makefile makefile GNUmakefile a.mk b.mak Makefile.linux makefile-gcc c.make"
    others = "Makefile.am Makefile.in Makefile.bak Makefile.linux~ mk a.mk.in make notes.txt"
    for name in [*names.split(), *others.split()]:
        put(tmp_path / name, RULE)
    found = makefiles(tmp_path)
    assert found[0] == "GNUmakefile"
    assert sorted(found[1:]) == sorted({*names.split()[3:]})


def test_a_fragment_of_a_makefile_is_no_build(tmp_path: Path) -> None:
    root = project_of(tmp_path)
    put(root / "mk/rules.mk", "%.o: %.c\n\tcc\nconfig.h: x\n\tcc\n")
    put(root / "mk/config.h", "")
    put(root / "mk/app")
    with pytest.raises(InconclusiveError, match="build the project"):
        propose(root)


def test_ninja_in_the_projects_folder(tmp_path: Path) -> None:
    root = project_of(tmp_path, "/out/\n")
    put(root / "build.ninja", "builddir = out\n")
    put(root / "out/app")
    put(root / "configure.py", "")
    proposal = propose(root)
    assert proposal.build == "ninja out/app"
    note = "git does not track build.ninja: set the command that writes it as setup"
    assert f"{note}, such as ./configure.py" in proposal.notes
    subprocess.run(["git", "-C", root, "add", "build.ninja"], check=True)
    assert not any(note in each for each in propose(root).notes)


def test_one_configuration_of_several_is_measured(tmp_path: Path) -> None:
    root = project_of(tmp_path, "/build/\n")
    cache = CACHE.format(source=root).replace("Unix Makefiles", "Ninja Multi-Config")
    put(root / "build/CMakeCache.txt", cache)
    put(root / "build/build.ninja", "")
    for number, name in enumerate(("Release", "Debug", "Small")):
        rule = (
            f"build {name}/app: C_EXECUTABLE_LINKER__app_{name} CMakeFiles/app.dir/{name}/a.c.o\n"
        )
        put(root / f"build/CMakeFiles/impl-{name}.ninja", rule)
        put(root / f"build/CMakeFiles/app.dir/{name}/a.c.o", "")
        if name != "Small":
            os.utime(put(root / f"build/{name}/app"), (number, number))
    proposal = propose(root)
    assert check(proposal) == {"app": "build/Debug/app"}
    assert proposal.build == "cmake --build build --config Debug --target app"
    (image,) = proposal.images
    assert image.objects == ("build/CMakeFiles/app.dir/Debug/**/*.o",)
