"""Links recorded while a build runs: the live set equals that of each linker's log."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from sizeguard.builds.link_record import LinkRecord, read_link_record
from sizeguard.builds.recorded_links import LINK_RECORDS, find_record, write_records
from tests.support.links.recorded_links import (
    FLAGS,
    REMOVE,
    UNUSED,
    check_live_set,
    record,
    record_file,
    run,
    sizeguard,
    write_sources,
)
from tests.support.places import LLD
from tests.support.whole_products import choose

pytestmark = pytest.mark.native

COMPILERS = ("gcc", "clang-19")
LINKERS = {
    "bfd": "-fuse-ld=bfd",
    "gold": "-fuse-ld=gold",
    "lld": " ".join(LLD),
    "mold": "-B/usr/libexec/mold",
}
ODD = "a b'c\"é\nd"  # as a folder's name


@pytest.mark.parametrize("linker", LINKERS)
@pytest.mark.parametrize("compiler", COMPILERS)
def test_the_live_set_is_the_linkers_own(tmp_path: Path, compiler: str, linker: str) -> None:
    """Record links of a thin archive, and of inputs that are deleted after the link."""
    folder = write_sources(tmp_path / ODD)
    script = (
        f"{compiler} {FLAGS} -fPIC -c one.c three.c && ar rcT lib.a three.o"
        " && printf '%s\\n' one.o \"'lib.a'\" -Wl,--export-dynamic-symbol=nothing > args.rsp"
        " && echo '{ global: main; local: *; };' > hidden.map"
        f" && {compiler} {FLAGS} main.c @args.rsp -Wl,--version-script=hidden.map {REMOVE}"
        f" {LINKERS[linker]} -o out && rm args.rsp hidden.map"
    )
    assert run(folder, "sh", "-c", script).code == 0
    plain = (folder / "out").read_bytes()
    done = record(folder, script)
    assert done.code == 0, done.log
    assert (folder / "out").read_bytes() == plain
    check_live_set(folder, folder / "out", done.log, UNUSED)
    copies = read_link_record(record_file(folder, folder / "out")).copies
    assert folder / "hidden.map" in copies
    assert any(path.suffix == ".o" and path.parent != folder for path in copies)


@pytest.mark.parametrize("linker", choose(["bfd", "lld"], [*LINKERS]))
def test_rust_programs(tmp_path: Path, linker: str) -> None:
    """rustc links temporary objects and libraries; the linker's output goes to a file."""
    (tmp_path / "main.rs").write_text('fn main() { println!("{}", std::env::args().count()); }\n')
    driver = tmp_path / "driver"
    driver.write_text(f'#!/bin/sh\nexec cc "$@" {REMOVE} {LINKERS[linker]} >log.txt 2>&1\n')
    driver.chmod(0o755)
    script = "rustc -C opt-level=s -C linker=./driver -C codegen-units=1 main.rs -o out"
    assert run(tmp_path, "sh", "-c", script).code == 0
    plain = (tmp_path / "out").read_bytes()
    assert record(tmp_path, script).code == 0
    assert (tmp_path / "out").read_bytes() == plain
    check_live_set(tmp_path, tmp_path / "out", (tmp_path / "log.txt").read_text(), set())


@pytest.mark.parametrize(
    ("compiler", "linker"),
    [("gcc", "bfd"), ("gcc", "gold"), ("gcc", "mold"), ("clang-19", "lld")],
)
def test_objects_of_lto_are_kept(tmp_path: Path, compiler: str, linker: str) -> None:
    folder = write_sources(tmp_path)
    script = (
        f"{compiler} {FLAGS} -flto -c main.c one.c three.c"
        f" && {compiler} {FLAGS} -flto main.o one.o three.o {REMOVE} {LINKERS[linker]} -o out"
    )
    assert run(folder, "sh", "-c", script).code == 0
    plain = (folder / "out").read_bytes()
    done = record(folder, script)
    assert done.code == 0, done.log
    assert (folder / "out").read_bytes() == plain
    assert read_link_record(record_file(folder, folder / "out")).lto
    assert "main" in sizeguard(folder, "why", "out", "main").stdout


def test_every_kind_of_link_and_of_builder(tmp_path: Path) -> None:
    """Record links that are parallel, repeated, failing, nested or without an environment."""
    folder = write_sources(tmp_path)
    link = f"gcc {FLAGS} {REMOVE} main.o one.o three.o"
    done = record(
        folder,
        f"gcc {FLAGS} -c main.c one.c three.c\n"
        + "".join(f"{link} -o same{i} &\n" for i in range(4))
        + f"wait\nenv -i PATH=/usr/bin:/bin {link} -o cleared"
        f"\n{link} missing.o -o failed\n{link} -o twice -Wl,--build-id=0x01"
        f"\n{link} -o twice -Wl,--build-id=0x02"
        "\ngcc -r main.o one.o -o part.o\nld -o bare -e one one.o"
        f"\ngcc {FLAGS} -shared -fPIC one.c -o 'lib é.so'\n{link} -static -o fixed"
        f"\nld --version\nccache {link} -o cached"
        f"\n{link} -o moved -Wl,--build-id=0x03 && mv moved elsewhere"
        f"\nstrip -o stripped twice\n{link} -o stripped_later -Wl,--build-id=none"
        "\nstrip stripped_later\naarch64-linux-gnu-gcc -r -nostdlib main.c -o other.o",
    )
    assert done.code == 0, done.log
    names = ["cleared", "twice", "part.o", "bare", "lib é.so", "fixed", "cached", "elsewhere"]
    names += ["stripped", "stripped_later", "other.o", *(f"same{i}" for i in range(4))]
    found = {name: read_link_record(record_file(folder, folder / name)) for name in names}
    assert "(1 of images that were removed or moved, 1 failed)" in done.stderr
    assert "--build-id=0x02" in found["stripped"].arguments
    assert found["elsewhere"].output == folder / "moved"
    assert found["other.o"].program.endswith("aarch64-linux-gnu-ld.bfd")
    assert "-r" in found["part.o"].arguments
    assert find_record(folder / "one.o", [folder / LINK_RECORDS]).record is None


def test_a_linker_without_a_loader_and_the_wrappers(tmp_path: Path) -> None:
    """Record a statically linked linker, and links through the wrappers."""
    folder = write_sources(tmp_path)
    (folder / "bin").mkdir()
    (folder / "ld.c").write_text(
        "#include <unistd.h>\nint main(int n, char **v)"
        '{ char *none[] = {0}; execve("/usr/bin/ld.bfd", v, none); return 1; }\n'
    )
    assert run(folder, "gcc", "-static", "ld.c", "-o", "bin/ld").code == 0
    link = f"{FLAGS} {REMOVE} main.c one.c three.c"
    done = record(folder, f"gcc {link} -Bbin -o out")
    assert done.code == 0, done.log
    assert read_link_record(record_file(folder, folder / "out")).program == "bin/ld"
    check_live_set(folder, folder / "out", done.log, UNUSED)
    for compiler, more in (
        ("gcc", ""),
        ("gcc", "-fuse-ld=gold"),
        ("clang-19", "-fuse-ld=lld"),
        ("aarch64-linux-gnu-gcc", ""),
    ):
        done = record(folder, f"{compiler} {link} {more} -o out", "--wrappers")
        assert done.code == 0, done.log
        check_live_set(folder, folder / "out", done.log, UNUSED)
    # As in a German locale: 1779294449,000000000
    (folder / "bin" / "stat").write_text('#!/bin/sh\n/usr/bin/stat "$@" | tr . ,\n')
    (folder / "bin" / "stat").chmod(0o755)
    done = record(folder, f"PATH=$PWD/bin:$PATH; gcc {link} -o out", "--wrappers")
    assert done.code == 0, done.log
    check_live_set(folder, folder / "out", done.log, UNUSED)


def test_what_the_commands_make_of_a_record(tmp_path: Path) -> None:
    folder = write_sources(tmp_path)
    script = f"gcc {FLAGS} -c main.c one.c three.c && gcc main.o one.o three.o"
    script += " -Wl,--gc-sections -o out"
    assert run(folder, "sh", "-c", script).code == 0
    before = sizeguard(folder, "why", "out", "one")
    assert before.code == 3
    assert "sizeguard record -- BUILD COMMAND" in before.stderr
    assert record(folder, script).code == 0
    assert "main" in sizeguard(folder, "why", "out", "one").stdout
    assert "two is not in the image" in sizeguard(folder, "why", "out", "two").stdout
    claims = ("--absent", "two", "--absent", "four", "--present", "three")
    assert sizeguard(folder, "verify", "out", *claims).code == 0
    assert sizeguard(folder, "verify", "out", "--absent", "one").code == 1
    report = sizeguard(folder, "report", "out", "--by", "object", "--format", "json")
    rows = json.loads(report.stdout)["rows"]
    assert {"main.o", "one.o", "three.o"} <= {row["object"] for row in rows}
    # Link the same image again, without recording it
    assert run(folder, "sh", "-c", script.replace("-Os", "-O0")).code == 0
    after = sizeguard(folder, "why", "out", "one")
    assert (after.code, "linked again" in after.stderr) == (3, True)


def test_builds_that_link_nothing_or_fail(tmp_path: Path) -> None:
    nothing = record(tmp_path, "ld --version; echo built")
    assert (nothing.code, nothing.stdout.endswith("built\n")) == (3, True)
    assert "nothing was linked" in nothing.stderr
    failed = record(tmp_path, "exit 7")
    assert (failed.code, failed.stderr.splitlines()[-1]) == (
        4,
        "error: sh: the build ended with exit code 7",
    )
    assert sizeguard(tmp_path, "record", "--", "no-such-program").code == 2
    assert sizeguard(tmp_path, "record").code == 2
    assert not list((tmp_path / LINK_RECORDS).glob("raw-*"))


def test_a_record_outlives_its_temporaries_and_notices_changes(tmp_path: Path) -> None:
    folder = write_sources(tmp_path)
    script = f"gcc {FLAGS} -c main.c one.c three.c && gcc main.o one.o three.o -o out"
    assert record(folder, script).code == 0
    shutil.copy(folder / "out", tmp_path / "installed")
    assert "main" in sizeguard(folder, "why", "installed", "main").stdout
    (folder / "one.o").write_bytes(b"other")
    changed = sizeguard(folder, "why", "out", "one")
    assert (changed.code, "changed or gone" in changed.stderr) == (3, True)


@pytest.mark.parametrize("generator", ["Ninja", "Unix Makefiles"])
def test_links_of_a_build_that_is_done(tmp_path: Path, generator: str) -> None:
    folder = write_sources(Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9")))
    (folder / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.16)\nproject(p C)\n"
        "set(CMAKE_NINJA_FORCE_RESPONSE_FILE ON)\nset(CMAKE_C_FLAGS_MINSIZEREL -Os)\n"
        "add_compile_options(-ffunction-sections)\nadd_link_options(-Wl,--gc-sections)\n"
        "add_library(three SHARED three.c)\nadd_executable(app main.c one.c)\n"
        "target_link_libraries(app three)\n"
    )
    configure = ("cmake", "-S", ".", "-B", "build out", "-G", generator)
    assert run(folder, *configure, "-DCMAKE_BUILD_TYPE=MinSizeRel").code == 0
    assert run(folder, "cmake", "--build", "build out").code == 0
    assert sizeguard(folder, "record", "--built", "build out").code == 0
    images = [folder / "build out" / name for name in ("app", "libthree.so")]
    kept = [read_link_record(record_file(folder, image)) for image in images]
    assert [record.output for record in kept] == images
    why = sizeguard(folder, "why", "build out/app", "one")
    assert "main" in why.stdout, why.log
    assert "two is not in the image" in sizeguard(folder, "why", "build out/app", "two").stdout
    (folder / "nothing").mkdir()
    assert sizeguard(folder, "record", "--built", "nothing").code == 2


def test_report_says_what_is_unknown(tmp_path: Path) -> None:
    write_sources(tmp_path)
    build = ["gcc", "-o", "app", "main.c", "one.c", "three.c"]
    run(tmp_path, *build)
    told = sizeguard(tmp_path, "report", "app", "--by", "object", "--format", "json").stdout
    (line,) = json.loads(told)["unknown"]
    assert line.startswith("object: app: no record of its link is known")
    assert "--map" in line
    assert "unknown: source" in sizeguard(tmp_path, "report", "app", "--by", "source").stdout
    assert "unknown: " not in sizeguard(tmp_path, "report", "app", "--by", "symbol").stdout
    assert record(tmp_path, " ".join(build)).code == 0
    assert "unknown: " not in sizeguard(tmp_path, "report", "app", "--by", "object,source").stdout
    told = sizeguard(tmp_path, "report", "app", "--by", "archive").stdout
    assert "unknown: archive: its recorded link names none" in told
    run(tmp_path, "gcc", "-flto", "-c", "one.c", "-o", "lto.o")
    run(tmp_path, "gcc", "-flto", "-ffat-lto-objects", "-c", "one.c", "-o", "fat.o")
    run(tmp_path, "gcc-ar", "rc", "lto.a", "fat.o", "lto.o")
    for image, has_size in (("lto.o", False), ("lto.a", False), ("fat.o", True)):
        told = sizeguard(tmp_path, "report", image).stdout
        assert ("unknown: load: LTO code, which has no size" not in told) == has_size
    told = sizeguard(tmp_path, "why", "app", "__libc_start_main").log
    assert "nothing is called __libc_start_main in the objects of this link, which only" in told


def test_code_and_data_of_a_file_are_one_row_by_source(tmp_path: Path) -> None:
    folder = tmp_path / "sources"
    folder.mkdir()
    (folder / "main.c").write_text(
        "int f(int);\nint table[64] = {1};\n"
        "int main(int count, char **a) { (void)a; return f(count) + table[count]; }\n"
    )
    (folder / "f.c").write_text(
        "int other[64] = {1};\n__attribute__((noinline)) int f(int i) { return other[i]; }\n"
    )
    (folder / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.16)\nproject(p C)\n"
        "add_compile_options(-g)\nadd_link_options(-Wl,-Map,app.map)\n"
        "add_executable(app main.c f.c)\n"
    )
    assert run(tmp_path, "cmake", "-S", "sources", "-B", "out", "-G", "Ninja").code == 0
    assert run(tmp_path, "cmake", "--build", "out").code == 0
    options = ("--by", "source", "--format", "json", "-n", "0")
    told = sizeguard(tmp_path, "report", "out/app", "--map", "out/app.map", *options)
    rows = {row["source"]: row["load"] for row in json.loads(told.stdout)["rows"]}
    for name in ("main.c", "f.c"):
        (found,) = (path for path in rows if path.endswith(f"/{name}") or path == name)
        assert rows[found] > 256, rows
    sizeguard(tmp_path, "report", "out/app", "--map", "out/app.map", "--save", "app.snapshot")
    kept = sizeguard(tmp_path, "report", "app.snapshot", *options)
    assert json.loads(kept.stdout)["rows"] == json.loads(told.stdout)["rows"]


def test_objects_named_without_a_suffix_have_the_source_of_their_code(tmp_path: Path) -> None:
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "util.c").write_text(
            f"int {folder}[64] = {{1}};\nint f_{folder}(int i) {{ return {folder}[i]; }}\n"
        )
        compiled = run(tmp_path, "gcc", "-g", "-c", f"{folder}/util.c", "-o", f"{folder}/util.o")
        assert compiled.code == 0
    (tmp_path / "m.c").write_text(
        "int f_a(int); int f_b(int);\n"
        "int main(int n, char **x) { (void)x; return f_a(n) + f_b(n); }\n"
    )
    link = ("gcc", "-g", "m.c", "a/util.o", "b/util.o", "-Wl,-Map,m.map", "-o", "m")
    assert run(tmp_path, *link).code == 0
    options = ("--map", "m.map", "--by", "source", "--format", "json", "-n", "0")
    told = sizeguard(tmp_path, "report", "m", *options)
    rows = {row["source"]: row["load"] for row in json.loads(told.stdout)["rows"]}
    for folder in ("a", "b"):
        (found,) = (path for path in rows if "util" in path and f"{folder}/" in path)
        assert found.endswith(f"{folder}/util.c")
        assert rows[found] > 256, rows


@pytest.mark.parametrize("index", ["5", "[3]", "{"])
def test_damaged_records_and_indexes_are_replaced(tmp_path: Path, index: str) -> None:
    """One damaged record ended each later recording, and an index of a number any command."""
    image = tmp_path / "image"
    image.write_bytes(b"no ELF file")
    long = tmp_path / ("木" * 80)
    records = [LinkRecord("ld", (), tmp_path, output=path) for path in (image, long)]
    folder = tmp_path / LINK_RECORDS
    files = write_records(folder, records)
    for path in (image, long):
        path.touch()
    files[0].write_text("{")
    assert write_records(folder, records[1:]) == files[1:]
    assert not files[0].exists()
    (folder / "index.json").write_text(index)
    assert find_record(image).record is None
    assert write_records(folder, records) == files
    assert read_link_record(files[1]).output == long
