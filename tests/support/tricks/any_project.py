"""A small third-party C++ project with CMake, in its own git repository."""

from __future__ import annotations

import io
from contextlib import chdir, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path

import click

from sizeguard.base.errors import SizeguardError
from sizeguard.cli.error_lines import print_error
from sizeguard.cli.main import _run
from tests.support.histories.git_runs import git

CMAKE = """cmake_minimum_required(VERSION 3.20)
project(words CXX)
add_library(words SHARED src/words.cpp)
add_executable(count src/main.cpp)
target_link_libraries(count PRIVATE words)
"""
SOURCES = {
    "CMakeLists.txt": CMAKE,
    "src/words.h": "int count_words(const char* text);\n",
    "src/words.cpp": (
        '#include "words.h"\n\nint count_words(const char* text) {\n  int n = 0;\n'
        "  for (; *text; ++text) n += *text == ' ';\n  return n + 1;\n}\n"
    ),
    "src/main.cpp": (
        '#include <cstdio>\n#include "words.h"\n\n'
        "[[gnu::noinline]] static int twice(int n) {\n  return 2 * n;\n}\n\n"
        'int main(int argc, char** argv) {\n  std::printf("%s %d %d\\n", __FILE__,'
        " count_words(argv[argc - 1]), twice(argc));\n}\n"
    ),
    "README.md": "Words.\n",
}
CONFIG = """targets:
  x86_64-linux:
limits:
  load: {growth: "max(1%, 256B)"}
apps:
  count:
    setup: cmake -S . -B build -DCMAKE_BUILD_TYPE=MinSizeRel
    build: cmake --build build
    image: build/count
    ignore: "*.md"
"""


@dataclass(frozen=True, slots=True)
class Ended:
    """The result of a command: exit code, stdout and stderr."""

    code: int
    out: str
    err: str


@dataclass
class AnyProject:
    """A project in the root folder of a repository."""

    root: Path

    def write(self, files: dict[str, str]) -> None:
        """Write files by path."""
        for name, text in files.items():
            path = self.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)

    def git(self, *arguments: str) -> str:
        """Run git in the repository."""
        return git(self.root, *arguments)

    def commit(self, subject: str) -> str:
        """Commit all files."""
        self.git("add", "--all")
        self.git("commit", "--quiet", "-m", subject)
        return self.git("rev-parse", "HEAD")

    def run(self, *arguments: str) -> Ended:
        """Run sizeguard in the project."""
        out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8") for _ in range(2))
        with chdir(self.root), redirect_stdout(out), redirect_stderr(err):
            try:
                code = _run(list(arguments))
            except (click.ClickException, SizeguardError, OSError) as error:
                code = print_error(error)
        return Ended(code, *(_text(stream) for stream in (out, err)))


def _text(stream: io.TextIOWrapper) -> str:
    stream.flush()
    stream.seek(0)
    return stream.read()


def made_project(
    root: Path, config: str = CONFIG, sources: dict[str, str] | None = None
) -> AnyProject:
    """Make a project with one commit on main."""
    root.mkdir(parents=True, exist_ok=True)
    project = AnyProject(root)
    project.git("init", "--quiet", "--initial-branch=main")
    project.write({**(SOURCES if sources is None else sources), "sizeguard.yaml": config})
    project.commit("Begin")
    return project
