"""Pointers of Mach-O objects to functions that run at start-up, which other objects may define."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from sizeguard.builds.open_build import Files
from sizeguard.claims.verdict import FAIL
from sizeguard.runtimes.sizeguard.claims.build_claims import WORDS
from sizeguard.verify.evidence.gather_evidence import gather
from sizeguard.verify.registrations import Registrations
from sizeguard.verify.startup import judge_initializers
from tests.support.links.ld64_chains import linker

pytestmark = pytest.mark.native

MAIN = """
extern "C" void early();
__attribute__((used, section("__DATA,__mod_init_func"))) static void (*const start)() = early;
volatile int sink;
__attribute__((noinline)) static int more(int x) { sink = x; return sink + x * 3; }
int main(int count, char**) { return more(count) + more(count + 1); }
"""
OTHER = """
extern "C" int puts(const char*);
extern "C" void early();
extern "C" void early() { puts("early"); }
"""


@pytest.mark.parametrize("arch", ["arm64", "x86_64"])
def test_a_function_of_another_object_runs_before_main(arch: str, tmp_path: Path) -> None:
    objects = (tmp_path / "main.o", tmp_path / "other.o")
    for path, text in zip(objects, (MAIN, OTHER), strict=True):
        words = ["clang++-19", f"--target={arch}-apple-macos13", "-Os", "-x", "c++", "-", "-c"]
        subprocess.run([*words, "-o", str(path)], input=text, text=True, check=True)
    names = [path.name for path in objects]
    subprocess.run(
        [*linker(arch), "-map", "map", *names, "-o", "out"],
        cwd=tmp_path,
        check=True,
        capture_output=True,
    )
    image = Files(tmp_path / "out", None, objects, tmp_path / "map", folder=tmp_path)
    evidence = gather(image)
    assert evidence.gaps == ()
    (found,) = judge_initializers(evidence, Registrations(evidence), WORDS.registering)
    assert (found.verdict, Path(found.name).name) == (FAIL, "main.o")
    assert "early calls puts" in found.evidence
