"""The place of a function that grew, if several functions of the project have its name."""

from __future__ import annotations

import json
import subprocess
import time
from pathlib import Path

import pytest

from sizeguard.builds.debug_lines import lines_of_functions
from sizeguard.formats.dwarf.lines import CodeLine
from sizeguard.gate.causes.edited_lines import first_edit
from sizeguard.gate.causes.source_lines import ObjectSymbol, SourceLines
from tests.support.tricks.any_project import AnyProject, made_project

ONE = "namespace one {\nint parse(int x);\n\nint parse(int x)\n{\n  return x + 1;\n}\n}\n"
TWO = ONE.replace("one", "two")
MAIN = (
    "namespace one { int parse(int); }\nnamespace two { int parse(int); }\n"
    "int main() { return one::parse(1) + two::parse(2); }\n"
)
SOURCES = {"a/one.cpp": ONE, "b/two.cpp": TWO, "main.cpp": MAIN}
NAMES = ("_ZN3one5parseEi", "_ZN3two5parseEi")


@pytest.fixture
def project(tmp_path: Path) -> AnyProject:
    """Make a repository with two functions of one name."""
    return made_project(tmp_path / "tree", "", SOURCES)


def test_the_function_that_the_change_edits_is_named(project: AnyProject) -> None:
    base = project.git("rev-parse", "HEAD")
    lines = SourceLines(project.root, commit=base, since=base)
    assert [lines.place("", name) for name in NAMES] == ["", ""]
    project.write({"b/two.cpp": TWO.replace("x + 1", "x * x * x")})
    edited = SourceLines(project.root, commit=base, since=base)
    assert edited.place("", NAMES[1]) == "b/two.cpp:4"
    project.write({"a/one.cpp": ONE.replace("x + 1", "x * x * x")})
    assert SourceLines(project.root, commit=base, since=base).place("", NAMES[1]) == ""


@pytest.mark.parametrize(
    "rows",
    ["  " + ", ".join(f"call({i})" for i in range(24)) + ",\n", "parse(x)\n" + "int a;\n" * 24],
)
def test_a_table_of_calls_and_a_list_of_declarations_are_read_at_once(
    project: AnyProject, rows: str
) -> None:
    """A pattern that tried every way to split these rows took 5 s, twice as long for each more."""
    project.write({"main.cpp": f"int table[] = {{\n{rows}0}};\nint parse(int x) {{ return x; }}\n"})
    lines = SourceLines(project.root, commit=project.git("rev-parse", "HEAD"))
    start = time.monotonic()
    found = lines.place("main.cpp.o", "_ZN5parseEi")
    assert found == f"main.cpp:{3 + rows.count(chr(10))}"
    assert time.monotonic() - start < 1


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("namespace app { int parse(int x) { return x; } }\n", "main.cpp:1"),
        ("int a;\nstruct A { int b; int parse(int x) { return x; } };\n", "main.cpp:2"),
        ('extern "C" { int parse(int); int parse(int x) { return x; } }\n', "main.cpp:1"),
        ("void f() { parse(1); }\nint parse(int x) { return x; }\n", "main.cpp:2"),
        ("struct B { B() : parse(1) { } };\nint parse(int x) { return x; }\n", "main.cpp:2"),
        ("B::B()\n  : a(1) { }\nC::C() : parse(1) { }\n", "main.cpp"),
    ],
)
def test_a_function_may_follow_other_code_in_its_line(
    project: AnyProject, text: str, place: str
) -> None:
    project.write({"main.cpp": text})
    lines = SourceLines(project.root, commit=project.git("rev-parse", "HEAD"))
    assert lines.place("main.cpp.o", "_ZN3app5parseEi") == place


def test_a_source_that_is_not_checked_out_has_no_line(project: AnyProject) -> None:
    """A sparse checkout leaves files out that the build in a worktree has."""
    (project.root / "a/one.cpp").unlink()
    lines = SourceLines(project.root, commit=project.git("rev-parse", "HEAD"))
    assert lines.place("a/one.cpp.o", NAMES[0]) == "a/one.cpp"
    assert lines.place("", NAMES[1]) == "b/two.cpp:4"


def test_a_source_without_an_end_is_not_read(project: AnyProject) -> None:
    (project.root / "c.cpp").symlink_to("/dev/zero")
    project.commit("A link to a device")
    lines = SourceLines(project.root, commit=project.git("rev-parse", "HEAD"))
    assert lines.place("c.cpp.o", NAMES[0]) == "c.cpp"


@pytest.mark.native
@pytest.mark.parametrize(
    "flags",
    [
        *(("-gdwarf-2",), ("-gdwarf-3", "-O2"), ("-gdwarf-4", "-gz"), ("-gdwarf-5",)),
        ("-g", "-flto", "-O1", "-fno-inline"),
        ("-g", "-fdebug-prefix-map=/=/mapped/"),
    ],
)
def test_the_function_of_the_debug_information_is_named(
    project: AnyProject, flags: tuple[str, ...]
) -> None:
    folder = project.root
    image = folder / "app"
    subprocess.run(["g++", *flags, "-o", image, *SOURCES], check=True, cwd=folder)
    lines = SourceLines(folder, commit=project.git("rev-parse", "HEAD"), image=image)
    found = lines.places([ObjectSymbol("", name) for name in NAMES])
    assert [*found.values()] == ["a/one.cpp:5", "b/two.cpp:5"]


@pytest.mark.native
def test_no_line_is_known_without_debug_information_or_of_damaged_one(project: AnyProject) -> None:
    folder = project.root
    image = folder / "app"
    subprocess.run(["g++", "-o", image, *SOURCES], check=True, cwd=folder)
    assert lines_of_functions(image, NAMES) == {}
    assert lines_of_functions(folder / "main.cpp", NAMES) == {}
    subprocess.run(["g++", "-g", "-o", image, *SOURCES], check=True, cwd=folder)
    whole = lines_of_functions(image, NAMES)
    assert whole[NAMES[0]] == CodeLine(str(folder / "a/one.cpp"), 5)
    size = ["objcopy", "--dump-section", f".debug_line={folder / 'lines'}", image]
    subprocess.run(size, check=True)
    table = (folder / "lines").read_bytes()
    for cut in range(0, len(table), 7):
        (folder / "lines").write_bytes(table[:cut] + b"\xff" * 5 + table[cut + 5 :])
        changed = ["objcopy", "--update-section", f".debug_line={folder / 'lines'}", image]
        subprocess.run(changed, check=True)
        lines_of_functions(image, NAMES)


PACKAGED = (
    "targets: {x86_64-linux: }\napps:\n  app:\n    build: sh build.sh\n"
    "    image: out/all.zip!lib/app\n    limits: {load: {max: 40 KiB, growth: 64 B}}\n"
)


@pytest.mark.native
def test_an_image_in_a_package_that_the_build_makes(tmp_path: Path) -> None:
    script = "mkdir -p out/lib\ng++ -Os -g -o out/lib/app main.cpp a/one.cpp b/two.cpp\ncd out\n"
    sources = {**SOURCES, "build.sh": script + "python3 -m zipfile -c all.zip lib/\n"}
    made = made_project(tmp_path / "tree", PACKAGED, sources)
    steps = "  volatile int v = x;\n" + "  v = v * 3 + 1;\n" * 60 + "  return v"
    made.write({"b/two.cpp": TWO.replace("  return x", steps)})
    done = made.run("gate", "--format", "json")
    (app,) = json.loads(done.out)["apps"]
    assert done.code == 1, done.out
    assert app["causes"][0]["place"] == "b/two.cpp:5"
    made.git("checkout", "--", ".")
    made.write({"build.sh": script})
    done = made.run("gate")
    assert done.code == 4
    assert "the build command made no out/all.zip!lib/app" in " ".join(done.out.split())


@pytest.mark.native
def test_code_in_a_library_of_the_package_grows_the_app(tmp_path: Path) -> None:
    """The library is nowhere else: it was built in a temporary folder."""
    begin = "set -e\nt=$(mktemp -d)\nmkdir -p out $t/lib\n"
    end = "(cd $t && python3 -m zipfile -c all.zip lib/)\nmv $t/all.zip out/\nrm -r $t\n"
    small = f"g++ -Os -o $t/lib/app $options main.cpp a/one.cpp b/two.cpp\n{end}"
    library = "g++ -Os -shared -fPIC -o $t/lib/libmore.so more.cpp\n"
    linked = library + small.replace("$options", "-Wl,--no-as-needed -L$t/lib -lmore")
    more = "int numbers[] = {" + "1, " * 5000 + "};\n"
    sources = {**SOURCES, "more.cpp": more, "build.sh": begin + small}
    made = made_project(tmp_path / "tree", PACKAGED, sources)
    made.write({"build.sh": begin + linked})
    done = made.run("gate", "--format", "json")
    assert done.code == 1, done.out
    assert "libmore.so" in done.out
    checks = {(each["metric"], each["kind"]): each for each in json.loads(done.out)["checks"]}
    load = checks["load", "growth"]
    assert load["verdict"] == "fail" and load["actual"] > 20_000


VARIABLES = """\
extern const char table[];
extern int counter;
namespace one {
__attribute__((used, retain)) const char table[4096] = "a {";
int counter;
static const int steps[] = {
  1, 2,
};
}
const char *words[2] =
  {"table = 1", "counter;"};
struct Point { int x; };
struct Point origin = {1};
int main() {
  int local = 1;
  static int calls = 0;
  local = counter;
  return table[local];
}
"""


@pytest.mark.parametrize(
    ("name", "place"),
    [
        *(("table", "main.c:4"), ("counter", "main.c:5"), ("steps", "main.c:6")),
        *(("words", "main.c:10"), ("origin", "main.c:13"), ("calls", "main.c:16")),
        *(("local", ""), ("x", ""), ("Point", ""), ("main", "main.c:14")),
    ],
)
def test_the_line_of_a_variable_is_named(tmp_path: Path, name: str, place: str) -> None:
    project = made_project(tmp_path / "tree", "", {"main.c": VARIABLES})
    base = project.git("rev-parse", "HEAD")
    assert SourceLines(project.root, commit=base, since=base).place("", name) == place


def test_the_line_of_a_static_of_rust_is_named(tmp_path: Path) -> None:
    text = "const A: u8 = 1;\npub(crate) static TABLE: [u8; 3] = [1, 2, 3];\n"
    project = made_project(tmp_path / "tree", "", {"main.rs": text})
    base = project.git("rev-parse", "HEAD")
    assert SourceLines(project.root, commit=base, since=base).place("", "TABLE") == "main.rs:2"


@pytest.mark.parametrize(
    ("begin", "edit", "found"),
    [
        (4, 4, 4),  # a variable on one line
        (4, 5, 0),  # the next variable
        (5, 6, 0),
        (6, 7, 7),  # a table with braces
        (10, 11, 11),
        (10, 13, 0),
        (14, 17, 17),  # a function
    ],
)
def test_an_edit_belongs_to_one_variable(tmp_path: Path, begin: int, edit: int, found: int) -> None:
    (tmp_path / "main.c").write_text(VARIABLES)
    assert first_edit(tmp_path / "main.c", begin, [(edit, edit)]) == found


def test_an_edit_in_a_function_of_old_style_c(tmp_path: Path) -> None:
    (tmp_path / "old.c").write_text("int f(a)\n  int a;\n{\n  return a;\n}\n")
    assert first_edit(tmp_path / "old.c", 1, [(4, 4)]) == 4
