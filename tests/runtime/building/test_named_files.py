"""Files that commands, assembler directives and CMake scripts name."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sizeguard.base.errors import BuildError
from sizeguard.builds.build_inputs import glob_hash
from sizeguard.runtimes.sizeguard.building.cmake_trace import (
    NamedByCMake,
    keep_trace,
    named_by_cmake,
    trace_options,
)
from sizeguard.runtimes.sizeguard.building.named_files import (
    StepPlace,
    assembled_files,
    assembler_folders,
    files_of_words,
    is_untold,
    untold_steps,
    with_options,
)
from sizeguard.runtimes.sizeguard.building.read_inputs import _below
from tests.support.places import ROOT

SCRIPT = ROOT / "native/cmake/link_logged.sh"
GENERATOR = "/venv/bin/sizeguard"
LINK = "-Wl,--dependency-file=/b/run.link.d"


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for name in ("extra/a.specs", "extra/map.ver", "extra/deep.h", "gcda/x.gcda", "b/run.o"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("")
    (tmp_path / "extra/flags.rsp").write_text(f"-Os @{tmp_path}/extra/more.rsp\n")
    (tmp_path / "extra/more.rsp").write_text(
        f"'-include{tmp_path}/nothing' -I{tmp_path}/extra/deep.h"
    )
    return tmp_path


@pytest.mark.parametrize(
    ("word", "names"),
    [
        ("{}/extra/deep.h", ["extra/deep.h"]),
        ("-specs={}/extra/a.specs", ["extra/a.specs"]),
        ("-specs=../extra/a.specs", ["extra/a.specs"]),
        ("-Wl,--version-script={}/extra/map.ver", ["extra/map.ver"]),
        ("-Wl,--version-script,../extra/map.ver", ["extra/map.ver"]),
        ("-T../extra/map.ver", ["extra/map.ver"]),
        ("@{}/extra/flags.rsp", ["extra/deep.h", "extra/flags.rsp", "extra/more.rsp"]),
        ("-fprofile-use={}/gcda", ["gcda/x.gcda"]),
        ("-ffile-prefix-map={}=.", []),
        ("run.o", ["b/run.o"]),
        ("-Os", []),
    ],
)
def test_words_name_files(word: str, names: list[str], tree: Path) -> None:
    found = files_of_words([word.format(tree)], tree / "b")
    assert sorted(str(Path(path).relative_to(tree)) for path in found) == names


def test_the_words_of_option_files_belong_to_a_command(tree: Path) -> None:
    found = with_options(["g++", "@extra/flags.rsp", "@gone"], tree)
    assert found[:3] == ["g++", "@extra/flags.rsp", "@gone"]
    assert found[3:] == [
        "-Os",
        f"@{tree}/extra/more.rsp",
        f"-include{tree}/nothing",
        f"-I{tree}/extra/deep.h",
    ]


def test_options_that_name_themselves_end(tree: Path) -> None:
    (tree / "extra/more.rsp").write_text(f"@{tree}/extra/flags.rsp")
    assert len(files_of_words([f"@{tree}/extra/flags.rsp"], tree)) == 2


def test_assemblers_read_what_directives_name(tree: Path) -> None:
    folders = [str(tree / "b"), str(tree)]
    texts = {
        "/x/a.cpp": b'asm(".section .x; .incbin \\"extra/a.specs\\"");',
        "/x/b.S": b'  .incbin "extra/deep.h", 4\n  .include "map.inc"\n',
        "/x/c.cpp": b'#include "extra/map.ver"\n',
    }
    files, wanted = assembled_files(texts, folders)
    assert files == {f"{tree}/extra/a.specs", f"{tree}/extra/deep.h"}
    assert {f"{tree}/b/extra/a.specs", f"{tree}/b/map.inc", f"{tree}/map.inc"} <= wanted
    macro = {"/x/d.h": b'#define EMBED(x) asm(".incbin \\"" x "\\"")'}
    (found,), _ = assembled_files(macro, folders)
    assert is_untold(found)
    assert "/x/d.h" in found


def test_each_folder_of_an_assembler_counts_in_any_order(tree: Path) -> None:
    """Sources may search the same folders in different orders."""
    (tree / "b/map.ver").touch()
    texts = {"/x/a.cpp": b'asm(".incbin \\"map.ver\\"");'}
    for folders in ([f"{tree}/extra", f"{tree}/b", f"{tree}/gcda"], [f"{tree}/b", f"{tree}/extra"]):
        files, wanted = assembled_files(texts, folders)
        assert files == {f"{tree}/extra/map.ver", f"{tree}/b/map.ver"}
        assert wanted == {f"{each}/map.ver" for each in folders if each.endswith("gcda")}


@pytest.mark.parametrize(
    "words",
    [
        ["-Ia", "-I", "b", "-O2"],
        ["-Wa,-I,a", "-Wa,-Ib,--noexecstack"],
        ["-Wa,-I", "-Wa,a", "-Xassembler", "-I", "-Xassembler", "b"],
        ["-iquote", "a", "-isystemb"],
        ["-Xclang", "-Ia", "-idirafter", "b"],
    ],
)
def test_folders_of_assemblers_are_named_in_many_ways(words: list[str]) -> None:
    assert [*assembler_folders(["g++", *words, "-c", "a.cpp"])] == ["a", "b"]


def test_included_files_of_assemblers_have_directives_too(tree: Path) -> None:
    (tree / "one.s").write_text('.include "two.s"\n .incbin "two.s"\n')
    (tree / "two.s").write_text('.include "one.s"\n .incbin "extra/a.specs"\n')
    files, _ = assembled_files({"/x/a.S": b'.INCLUDE "one.s"\n'}, [str(tree)])
    assert files == {f"{tree}/{name}" for name in ("one.s", "two.s", "extra/a.specs")}


@pytest.mark.parametrize(
    ("text", "is_told"),
    [
        (b'asm(".include " FILE);', False),
        (rb'asm(".include \"" "one.s" "\"");', False),
        (rb'asm(".include\t\"one.s\"");', False),
        (rb'asm(".include \"map.ver\"\n");', True),
        (b'#include "one.s"\n names.include(one); names.included = 1;', True),
    ],
)
def test_a_directive_may_read_any_file_if_its_text_is_unknown(
    text: bytes, tree: Path, *, is_told: bool
) -> None:
    files, _ = assembled_files({"/x/a.c": text}, [str(tree)])
    assert any(map(is_untold, files)) != is_told


@pytest.mark.parametrize(
    ("command", "tells"),
    [
        ("ccache /usr/bin/g++ -Os -MD -MT a.o -MF a.o.d -o a.o -c a.cpp", True),
        ("/usr/bin/g++ -Os -o a.o -c a.cpp", False),
        (f": && sh {SCRIPT} gcc {LINK} a.o -o run && :", True),
        (f": && sh /x/logged.sh gcc {LINK} a.o -o run && :", False),
        (f": && sh {SCRIPT} /x/gcc {LINK} a.o -o run && :", False),
        (f"cat {LINK}", False),
        ("ccache distcc /usr/bin/clang++-19 -MD -c a.cpp", True),
        ("/x/launch.sh /usr/bin/g++ -MD -c a.cpp", False),
        ("../x/launch.sh /usr/bin/g++ -MD -c a.cpp", False),
        ("/usr/bin/python3 /x/launch.py g++ -MD -c a.cpp", False),
        ("/usr/bin/g++ -B/usr/lib/llvm-19/bin -MD -c a.cpp", True),
        ("/x/venv/bin/g++ -MD -c a.cpp", True),
        ("/usr/bin/g++ -B/x/tools -MD -c a.cpp", False),
        ("/usr/bin/g++ -B ../x/tools -MD -c a.cpp", False),
        ("/usr/bin/g++ -wrapper /x/wrap,-a -MD -c a.cpp", False),
        ("/usr/bin/g++ -specs=/x/a.specs -MD -c a.cpp", False),
        ("/usr/bin/g++ -fplugin=/b/../x/p.so -MD -c a.cpp", False),
        ("/usr/bin/g++ -fplugin=plugin -MD -c a.cpp", True),
        ("/usr/bin/clang++ -Xclang -load -Xclang /x/p.so -MD -c a.cpp", False),
        (f"/usr/bin/g++ {LINK} -fuse-ld=lld a.o -o run", True),
        (f"/usr/bin/g++ {LINK} -Wl,-plugin,/x/p.so a.o -o run", False),
        ("/usr/bin/g++ -DA=`cat /x/a` -MD -c a.cpp", False),
        ("/usr/bin/g++ @/b/gone.rsp -MD -c a.cpp", False),
        (f"/usr/bin/clang {LINK} -install_name @rpath/a.dylib a.o -o a.dylib", True),
        ("/usr/bin/cmake -E copy /x/a a", True),
        ("/usr/bin/cmake -E copy_directory /x/a a", False),
        ("/usr/bin/cmake -E echo $(cat /x/a) > a", False),
        ("/usr/bin/cmake -S /x/sub -B sub", False),
        ("/usr/bin/cmake --build sub", False),
        ("/x/flatc --cpp /x/program.fbs", False),
        (f": && sh {SCRIPT} gcc a.o -o run && :", False),
        (": && /usr/bin/cmake -E rm a.a && /usr/bin/ar qcD a.a a.o && llvm-ranlib-19 a.a", True),
        ("cd /b && /usr/bin/flatc --cpp -o /b/schema /x/program.fbs", True),
        (f"cd /b && {GENERATOR} codegen --stamp x", True),
        ("cd /b && /elsewhere/sizeguard codegen --stamp x", False),
        ("cd /b && /usr/bin/python3 /x/table.py > table.h", False),
        ("cd /b && sh -c 'cat /x/* > table.h'", False),
        ("/usr/bin/cmake -P /x/table.cmake", False),
        ("/usr/bin/cmake -E env A=1 /x/table", False),
    ],
)  # fmt: skip
def test_a_step_that_does_not_tell_is_named(command: str, tells: bool) -> None:
    place = StepPlace(Path("/b"), "/x", ("/x/venv",))
    found = untold_steps([command.split()], GENERATOR, place)
    assert all(map(is_untold, found))
    assert not found if tells else len(found) == 1


def test_another_script_that_runs_linkers_does_not_tell(tmp_path: Path) -> None:
    """Its versions are known: it reads only what the linker reads."""
    other = tmp_path / SCRIPT.name
    other.write_text(f"{SCRIPT.read_text()}# cat more.txt\n")
    place = StepPlace(tmp_path, str(tmp_path))
    for script, tells in ((SCRIPT, True), (other, False), (Path(SCRIPT.name), False)):
        found = untold_steps([["sh", str(script), "gcc", LINK]], GENERATOR, place)
        assert bool(found) is not tells


def test_scripts_of_cmake_name_what_they_read_and_start(tmp_path: Path) -> None:
    cache = f"CMAKE_ROOT:INTERNAL=/usr/share/cmake\nSIZEGUARD:UNINITIALIZED={GENERATOR}\n"
    (tmp_path / "CMakeCache.txt").write_text(f"{cache}CMAKE_HOME_DIRECTORY:INTERNAL=/x\n")
    rows = [
        {"version": {"major": 1}},
        {"cmd": "file", "args": ["READ", "/x/size.txt", "size"], "file": "/x/CMakeLists.txt"},
        {"cmd": "IF", "args": ["EXISTS", "../more.cmake"], "file": "/x/cmake/a.cmake"},
        {"cmd": "set", "args": ["a", "b.cpp;/y/my dir/c.cpp"], "file": "/x/CMakeLists.txt"},
        {"cmd": "execute_process", "args": ["COMMAND", GENERATOR, "codegen"], "file": "/x/a.cmake"},
        {"cmd": "execute_process", "args": ["COMMAND", "sh", "a.sh"], "file": "/x/a.cmake"},
        {"cmd": "execute_process", "args": ["COMMAND", "uname"], "file": "/usr/share/cmake/a"},
        {"cmd": "set", "args": ["v", "3.22", "-I/z", "$<X:a.b>"], "file": "/x/a.cmake"},
    ]  # fmt: skip
    trace = Path(trace_options(tmp_path)[-1].partition("=")[2])
    with pytest.raises(BuildError, match="wrote no trace"):
        keep_trace(tmp_path)
    trace.write_text("\n".join(map(json.dumps, rows)))
    keep_trace(tmp_path)
    assert not trace.exists()
    found = named_by_cmake(tmp_path)
    assert {"/x/size.txt", "/more.cmake", "/x/b.cpp", "/y/my dir/c.cpp", "/x/a.sh"} <= set(
        found.paths
    )
    assert f"{tmp_path}/a.sh" in found.paths
    assert found.started == ("sh",)
    assert found.generator == GENERATOR
    assert not any("3.22" in path or "/z" in path or "$" in path for path in found.paths)
    (tmp_path / ".cmake_named.json").write_text("[]")
    with pytest.raises(BuildError, match="record of CMake's run is missing"):
        named_by_cmake(tmp_path)


def test_scripts_of_cmake_search_and_call_functions(tmp_path: Path) -> None:
    """What a word, a pattern or a search may mean counts; other functions read unseen."""
    cache = "CMAKE_ROOT:INTERNAL=/usr/share/cmake\nCMAKE_HOME_DIRECTORY:INTERNAL=/x\n"
    (tmp_path / "CMakeCache.txt").write_text(cache)
    (tmp_path / "data/deep").mkdir(parents=True)
    (tmp_path / "data/deep/a.h").touch()
    data = str(tmp_path / "data")
    build = tmp_path / "build"
    build.mkdir()
    (build / "CMakeCache.txt").write_text(cache)
    script, own = "/x/CMakeLists.txt", "/usr/share/cmake/a.cmake"
    rows = [
        {"cmd": "function", "args": ["check_symbol_exists"], "file": own},
        {"cmd": "macro", "args": ["Check_Mine"], "file": own},
        {"cmd": "function", "args": ["configure_package_config_file"], "file": own},
        {"cmd": "function", "args": ["check_mine"], "file": script},
        {"cmd": "check_mine", "args": [], "file": script},
        {"cmd": "Check_Symbol_Exists", "args": ["A", "a.h", "HAS_A"], "file": script},
        {"cmd": "configure_package_config_file", "args": ["a.in", "a"], "file": script},
        {"cmd": "file", "args": ["DOWNLOAD", "http://a/b", "c"], "file": script},
        {"cmd": "file", "args": ["READ", "VERSION", "v"], "file": script},
        {"cmd": "file", "args": ["STRINGS", "/x/a,b (c).txt", "v"], "file": script},
        {"cmd": "file", "args": ["READ", "/x/made.txt", "v"],
         "file": f"{build}/CMakeFiles/made.cmake"},
        {"cmd": "file", "args": ["READ", "/x/theirs.txt", "v"],
         "file": f"{build}/CMakeFiles/3.25.1/CMakeSystem.cmake"},
        {"cmd": "if", "args": ["NOT", "EXISTS", "FLAG"], "file": script},
        {"cmd": "file", "args": ["GLOB", "v", "RELATIVE", "/x", "/x/s/*.c", "t/*.c"],
         "file": script},
        {"cmd": "file", "args": ["GLOB_RECURSE", "v", "LIST_DIRECTORIES", "true", "/x/s/*.h"],
         "file": script},
        {"cmd": "file", "args": ["GLOB", "v", "CONFIGURE_DEPENDS", "/x/d/*.c"], "file": script},
        {"cmd": "aux_source_directory", "args": ["aux", "v"], "file": script},
        {"cmd": "file", "args": ["COPY", data, "DESTINATION", str(build)], "file": script},
        {"cmd": "find_path", "args": ["V", "found.h", "PATHS", str(tmp_path)], "file": script},
        {"cmd": "set", "args": ["CMAKE_PREFIX_PATH", f"{data}/deep"], "file": script},
    ]  # fmt: skip
    Path(trace_options(build)[-1].partition("=")[2]).write_text("\n".join(map(json.dumps, rows)))
    keep_trace(build)
    found = named_by_cmake(build)
    assert found.started == ("check_symbol_exists", "file")
    assert {"/x/VERSION", "/x/a,b (c).txt", "/x/made.txt", "/x/FLAG"} <= set(found.paths)
    assert "/x/theirs.txt" not in found.paths
    assert found.globs == ("/x/aux/*", "/x/s/**/*.h", "/x/s/*.c", "/x/t/*.c")
    assert {f"{data}/deep/a.h", f"{tmp_path}/found.h"} <= set(found.paths)
    assert found.searched == (data, f"{data}/deep")


@pytest.mark.parametrize("is_program", [True, False])
def test_a_file_that_may_become_a_program_is_untold(tmp_path: Path, is_program: bool) -> None:
    """Its content stays the same. Each script that ran is recorded, even if CMake omits it."""
    home = tmp_path / "native"
    (tmp_path / "extra").mkdir()
    (tmp_path / "extra/tool.sh").touch(0o755 if is_program else 0o644)
    cache = f"CMAKE_ROOT:INTERNAL=/usr/share/cmake\nCMAKE_HOME_DIRECTORY:INTERNAL={home}\n"
    (tmp_path / "CMakeCache.txt").write_text(cache)
    words = ["TOOL", "tool.sh", "PATHS", f"{tmp_path}/extra", "NO_DEFAULT_PATH"]
    row = {"cmd": "find_program", "args": words, "file": f"{home}/tools.cmake"}
    Path(trace_options(tmp_path)[-1].partition("=")[2]).write_text(json.dumps(row))
    keep_trace(tmp_path)
    found = named_by_cmake(tmp_path)
    assert found.started == (() if is_program else ("find_program",))
    names = (f"{home}/PreLoad.cmake", f"{home}/tools.cmake", f"{tmp_path}/extra/tool.sh")
    assert {*names} <= {*found.paths}


def test_folders_that_scripts_name_count_by_their_names(tmp_path: Path) -> None:
    """`if(EXISTS folder)` reads no file. Folders with read files are left out."""
    for name in ("native/cmake", "extra/data/deep", ".git", "build/app/made", "read"):
        (tmp_path / name).mkdir(parents=True)
    names = ("", "native", "native/cmake", "extra/data", "missing", ".git", "build", "read")
    paths = tuple(str(tmp_path / name) for name in (*names, "build/app", "build/app/made"))
    cmake = NamedByCMake((*paths, "/usr/include"), (), "", str(tmp_path / "native"))
    found = [*_below(cmake, tmp_path / "build/app", [str(tmp_path / "read/a.txt")])]
    assert found == [str(tmp_path / name) for name in ("native/cmake/**/*", "extra/data/**/*")]
    before = glob_hash(found[1])
    (tmp_path / "extra/data/deep/x").touch()
    assert glob_hash(found[1]) != before
