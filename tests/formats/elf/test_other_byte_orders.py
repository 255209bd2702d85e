"""Builds of 32-bit and big-endian images: the gate measures them without a section graph."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.tricks.any_project import made_project

CONFIG = "apps: {app: {build: sh build.sh, image: app}}\nlimits: {load: {growth: 0 B}}\n"
SOURCE = ".globl _start\n_start: .long 1\n"
TOOLS = {
    "32 bits": "as --32 a.s -o a.o\nld -melf_i386 a.o -o app\n",
    "big endian": "aarch64-linux-gnu-as -EB a.s -o a.o\naarch64-linux-gnu-ld -EB a.o -o app\n",
}


@pytest.mark.native
@pytest.mark.parametrize("name", TOOLS)
def test_growth_is_measured(tmp_path: Path, name: str) -> None:
    project = made_project(tmp_path, CONFIG, {"build.sh": TOOLS[name], "a.s": SOURCE})
    project.git("checkout", "-q", "-b", "work")
    for more, code, grown in (("# words\n", 0, 0), (".long 2\n", 1, 4)):
        project.write({"a.s": SOURCE + more})
        done = project.run("gate", "--base", "main", "--format", "json")
        assert done.code == code, done.err
        assert json.loads(done.out)["apps"][0]["growth_since_base"]["load"] == grown


@pytest.mark.native
def test_another_byte_order_is_no_equal_image(tmp_path: Path) -> None:
    build = TOOLS["big endian"]
    project = made_project(tmp_path, CONFIG, {"build.sh": build, "a.s": SOURCE})
    project.git("checkout", "-q", "-b", "work")
    project.write({"build.sh": build.replace("-EB", "-EL")})
    done = project.run("gate", "--base", "main", "--format", "json")
    assert done.code == 1, done.err
    (check,) = (each for each in json.loads(done.out)["checks"] if each["verdict"] == "fail")
    assert (check["kind"], check["metric"]) == ("machine", "machine/elf aarch64")
    assert check["rule"] == "the format and machine of the base: elf aarch64_be"
