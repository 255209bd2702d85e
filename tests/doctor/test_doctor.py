"""Findings of `sizeguard doctor`: the bytes that a change saves are in the promised interval."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from importlib import resources
from pathlib import Path

import jsonschema
import pytest
from click.testing import CliRunner

from sizeguard.builds.open_build import Files
from sizeguard.cli.main import cli
from sizeguard.doctor.diagnosis import Diagnosis, SizeFinding
from sizeguard.doctor.examine import examine
from sizeguard.doctor.image_facts import ImageFacts
from sizeguard.doctor.relative_relocations import relr_size
from sizeguard.formats.elf import read_elf
from tests.support.places import LLD

native = pytest.mark.native

HEADER = """
#pragma once
#include <cstdio>
static const int table[40] = {3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9, 3, 2, 3, 8, 4};
struct Shape { virtual ~Shape(); virtual int area(int) = 0; };
template <int N> struct Square : Shape {
  int area(int x) override { return x * 7 + std::printf("%d", x + table[x & 31]); }
};
template <class T> int sum(T* a, int n) {
  int s = 0;
  for (int i = 0; i < n; i++) s += (int)(long)a[i] * 3 + std::printf("sum");
  return s;
}
int other(int);
"""
MAIN = (
    """
#include "shape.h"
Shape::~Shape() {}
"""
    + "".join(f"template struct Square<{n}>;\n" for n in range(12))
    + "".join(f"template int sum<Square<{n}>*>(Square<{n}>**, int);\n" for n in range(6))
    + """
const char* names[] = {"ab", "cd", "ef", "gh", "ij", "kl", "mn", "op", "qr", "st", "uv", "wx",
  "Ab", "Cd", "Ef", "Gh", "Ij", "Kl", "Mn", "Op", "Qr", "St", "Uv", "Wx", "aB", "cD", "eF", "gH"};
int unused(int x) { return std::printf("unused %d %s", x, names[x]); }
asm(".pushsection .rodata.str1.1,\\"aMS\\",@progbits,1\\n"
    ".string \\"a text that nothing names, longer than what the interval leaves open:"
    " lld keeps it unless it looks for unused sections, other linkers keep it\\"\\n"
    ".popsection");
int main(int n, char** v) {
  Square<1> a; Square<2> b;
  Shape* p = n > 1 ? (Shape*)&a : &b;
  return p->area(n) + names[n][0] + sum((Square<3>**)v, n) + table[n] + other(n);
}
"""
)
OTHER = '#include "shape.h"\nint other(int x) { return table[x] + table[x / 2]; }\n'
FLAGS = ("-O2", "-ffunction-sections", "-fdata-sections")
SHARED = ("-shared", "-fPIC", "-fno-semantic-interposition")
WITHOUT = ("-fno-asynchronous-unwind-tables", "-fno-unwind-tables", "-fno-exceptions")


def build(folder: Path, name: str, *flags: str, header: str = HEADER) -> Path:
    for file, text in (("shape.h", header), ("main.cpp", MAIN), ("other.cpp", OTHER)):
        (folder / file).write_text(text)
    command = ["g++", *FLAGS, "main.cpp", "other.cpp", *flags, "-o", name]
    subprocess.run(command, cwd=folder, check=True, capture_output=True, timeout=60)
    return folder / name


def look(image: Path) -> Diagnosis:
    return examine(Files(image))


def finding(image: Path, kind: str) -> SizeFinding:
    return next(each for each in look(image).findings if each.kind == kind)


def kinds(image: Path) -> set[str]:
    return {each.kind for each in look(image).findings}


def size_of(image: Path, found: SizeFinding) -> int:
    elf = read_elf(image)
    if found.metric == "file":
        return elf.size
    chosen = [s for s in elf.sections if not found.sections or s.name in found.sections]
    return sum(section.load_size for section in chosen)


def check(before: Path, after: Path, kind: str, *, promised: bool = True) -> SizeFinding:
    found = finding(before, kind)
    won = size_of(before, found) - size_of(after, found)
    assert found.low <= won <= found.high, (kind, found.low, won, found.high)
    assert not promised or found.confidence in ("exact", "promised"), found
    assert found.change
    assert found.evidence
    return found


@native
@pytest.mark.parametrize("tool", ["strip", "llvm-strip-19"])
@pytest.mark.parametrize("flags", [(), ("-g", *LLD)])
def test_stripping(tmp_path: Path, tool: str, flags: tuple[str, ...]) -> None:
    before = build(tmp_path, "before", *flags)
    after = tmp_path / "after"
    subprocess.run([tool, "-o", after, before], check=True)
    check(before, after, "unstripped")
    assert "unstripped" not in kinds(after)


@native
@pytest.mark.parametrize(
    ("flags", "change"),
    [
        ((), "-Wl,-z,pack-relative-relocs"),
        (SHARED, "-Wl,-z,pack-relative-relocs"),
        (LLD, "-Wl,-z,pack-relative-relocs"),
        (("-fuse-ld=mold",), "-Wl,-z,pack-relative-relocs"),
    ],
)
def test_packed_relocations(tmp_path: Path, flags: tuple[str, ...], change: str) -> None:
    before = build(tmp_path, "before", *flags)
    after = build(tmp_path, "after", *flags, change)
    check(before, after, "relocations")
    assert "relocations" not in kinds(after)
    assert "relocations" not in kinds(build(tmp_path, "fixed", *flags, "-no-pie", "-fno-pic"))


@native
def test_a_relocation_is_evidence_of_one_section(tmp_path: Path) -> None:
    """The addresses of .tbss are those of the sections behind it."""
    header = HEADER + "static thread_local int own[400] __attribute__((used));\n"
    image = build(tmp_path, "tls", header=header)
    found = finding(image, "relocations")
    count = int(found.title.split()[0])
    assert ".tbss" in {section.name for section in read_elf(image).sections}
    assert sum(each.size for each in found.evidence) == 24 * count
    assert found.parts == len(found.evidence)


def test_bitmaps_of_packed_relocations() -> None:
    import numpy as np

    def words(*places: int) -> int:
        return relr_size(np.array(places, np.int64), 8) // 8

    assert words() == 0
    assert words(64) == 1
    assert words(64, 72) == words(64, 72, 64 + 63 * 8) == 2
    assert words(64, 64 + 64 * 8) == 2  # a second address, since the bitmap would be empty
    assert words(64, 72, 64 + 64 * 8) == 3
    assert words(64, 68) == 2


@native
@pytest.mark.parametrize("flags", [(), SHARED, LLD])
def test_unwind_tables(tmp_path: Path, flags: tuple[str, ...]) -> None:
    before = build(tmp_path, "before", *flags)
    after = build(tmp_path, "after", *flags, *WITHOUT)
    check(before, after, "unwind-tables")
    assert "unwind-tables" not in kinds(after)


@native
@pytest.mark.parametrize("strip", [(), ("-s",)])
def test_start_up_files_with_unwind_tables(tmp_path: Path, strip: tuple[str, ...]) -> None:
    """Start-up files for AArch64 have unwind tables, which remain."""
    (tmp_path / "main.c").write_text(
        "".join(f"int f{n}(int x) {{ return x * {n}; }}\n" for n in range(200))
        + "int main(int n, char **v) { return f3(n); }\n"
    )
    for name, flags in (("before", ()), ("after", WITHOUT[:2])):
        command = ["aarch64-linux-gnu-gcc", "main.c", "-O1", *flags, *strip, "-o", name]
        subprocess.run(command, cwd=tmp_path, check=True)
    check(tmp_path / "before", tmp_path / "after", "unwind-tables")


@native
@pytest.mark.parametrize("flags", [(), LLD])
def test_tables_of_exceptions(tmp_path: Path, flags: tuple[str, ...]) -> None:
    """The compiler must assume that the destructor throws, so functions have cleanup code."""
    flags = ("-shared", "-fPIC", *flags)
    before = build(tmp_path, "before", *flags)
    after = build(tmp_path, "after", *flags, *WITHOUT)
    check(before, after, "exceptions")
    assert not kinds(after) & {"exceptions", "unwind-tables"}


@native
def test_unwind_tables_of_the_compilers_libraries_are_not_promised(tmp_path: Path) -> None:
    (tmp_path / "main.c").write_text("int main(void) { return 0; }\n")
    subprocess.run(["gcc", "-static", "main.c", "-o", "out"], cwd=tmp_path, check=True)
    found = [
        each
        for each in look(tmp_path / "out").findings
        if "unwind" in each.kind or each.kind == "exceptions"
    ]
    assert [each.low for each in found] == [0]


@native
@pytest.mark.parametrize("flags", [(), ("-Os", "-no-pie", "-fno-pic"), SHARED])
def test_identical_functions(tmp_path: Path, flags: tuple[str, ...]) -> None:
    before = build(tmp_path, "before", *LLD, *flags)
    after = build(tmp_path, "after", *LLD, *flags, "-Wl,--icf=all")
    check(before, after, "identical-functions")
    assert "identical-functions" not in kinds(after)


@native
def test_identical_functions_without_symbols(tmp_path: Path) -> None:
    before = build(tmp_path, "before", "-s", *LLD)
    after = build(tmp_path, "after", "-s", *LLD, "-Wl,--icf=all")
    named = finding(build(tmp_path, "named", *LLD), "identical-functions")
    found = check(before, after, "identical-functions")
    assert abs(found.low - named.low) <= 0.02 * named.low
    assert all(part.name.startswith("function at 0x") for part in found.evidence)


@native
def test_identical_functions_that_call_each_other(tmp_path: Path) -> None:
    text = "".join(
        f"int b{n}(int);\n__attribute__((noinline)) int a{n}(int x)"
        f" {{ return x < 2 ? 1 : b{n}(x - 1) * 3; }}\n"
        f"__attribute__((noinline)) int b{n}(int x) {{ return x < 3 ? 2 : a{n}(x - 2) + 5; }}\n"
        for n in range(20)
    )
    calls = " + ".join(f"a{n}(n)" for n in range(20))
    (tmp_path / "main.c").write_text(f"{text}int main(int n, char **v) {{ return {calls}; }}\n")
    for name, flags in (("before", ()), ("after", ("-Wl,--icf=all",))):
        command = ["gcc", "-O1", "-fno-ipa-icf", "-ffunction-sections", *LLD, *flags]
        subprocess.run([*command, "main.c", "-o", name], cwd=tmp_path, check=True)
    check(tmp_path / "before", tmp_path / "after", "identical-functions")


@native
def test_functions_that_call_others_are_not_identical(tmp_path: Path) -> None:
    """Both calls have the same offset, since the callees are as far apart as the callers."""
    text = "".join(
        f"__attribute__((noinline)) int leaf{n}(int x) {{ return x * {n + 3}; }}\n"
        f"__attribute__((noinline)) int call{n}(int x) {{ return leaf{n}(x) + 1; }}\n"
        for n in range(2)
    )
    text += "int main(int n, char **v) { return call0(n) + call1(n); }\n"
    (tmp_path / "main.c").write_text(text)
    command = ["gcc", "-Os", "-fno-ipa-icf", "-fno-toplevel-reorder", "main.c", "-o", "out"]
    subprocess.run(command, cwd=tmp_path, check=True)
    assert "identical-functions" not in kinds(tmp_path / "out")


@native
@pytest.mark.parametrize("flags", [(), SHARED, LLD, ("-no-pie", "-fno-pic")])
def test_type_information(tmp_path: Path, flags: tuple[str, ...]) -> None:
    before = build(tmp_path, "before", *flags)
    after = build(tmp_path, "after", *flags, "-fno-rtti")
    check(before, after, "rtti")
    assert "rtti" not in kinds(after)


@native
def test_type_information_in_use_is_no_finding(tmp_path: Path) -> None:
    cast = HEADER.replace(
        "int other(int);",
        "int other(int);\ninline bool is(Shape* s)"
        " { return dynamic_cast<Square<1>*>(s); }\nstatic auto* keep = &is;\n"
        "inline auto* user(int) { return keep; }\n",
    )
    assert "rtti" not in kinds(build(tmp_path, "out", "-O0", header=cast))


@native
@pytest.mark.parametrize("flags", [(), LLD])
def test_repeated_tables(tmp_path: Path, flags: tuple[str, ...]) -> None:
    before = build(tmp_path, "before", *flags)
    once = HEADER.replace("static const int", "inline constexpr int")
    after = build(tmp_path, "after", *flags, header=once)
    check(before, after, "repeated-tables")
    assert "repeated-tables" not in kinds(after)


@native
@pytest.mark.parametrize("flags", [(), ("-static",), SHARED])
def test_page_padding(tmp_path: Path, flags: tuple[str, ...]) -> None:
    before = build(tmp_path, "before", "-s", *flags)
    after = build(tmp_path, "after", "-s", *flags, "-Wl,-z,noseparate-code")
    check(before, after, "page-padding", promised=False)
    assert "page-padding" not in kinds(after)
    for other in (LLD, ("-Wl,-z,norelro",)):
        assert "page-padding" not in kinds(build(tmp_path, "other", *other))


@native
@pytest.mark.parametrize("flags", [(), LLD])
@pytest.mark.parametrize("count", [5, 60, 300])
def test_heads_of_hash_tables(tmp_path: Path, flags: tuple[str, ...], count: int) -> None:
    """Test counts for which linkers choose different numbers of buckets and filters."""
    heads = []
    for number in (count, count // 2):
        text = "".join(f"int f{n}(int x) {{ return x; }}\n" for n in range(number))
        (tmp_path / "f.c").write_text(text)
        command = ["gcc", "-shared", "-fPIC", "-nostdlib", *flags, "f.c", "-o", "f.so"]
        subprocess.run(command, cwd=tmp_path, check=True)
        heads.append(ImageFacts(read_elf(tmp_path / "f.so")))
    before, after = heads
    assert len(before.exported) == count
    assert before.hash_heads_won(count - count // 2) == before.hash_heads - after.hash_heads


@native
@pytest.mark.parametrize("flags", [(), LLD])
def test_exported_names(tmp_path: Path, flags: tuple[str, ...]) -> None:
    before = build(tmp_path, "before", *SHARED, *flags)
    names = " ".join(
        f"{symbol.name};"
        for table in read_elf(before).dynamic_symbols
        for symbol in table.objects()
        if symbol.section and symbol.binding == 2 and symbol.type == 2
    )
    (tmp_path / "hide.map").write_text(f"{{ local: {names} }};\n")
    hide = "-Wl,--version-script=hide.map"
    after = build(tmp_path, "after", *SHARED, *flags, hide)
    check(before, after, "exports", promised=False)
    assert "exports" not in kinds(after)
    assert "exports" not in kinds(build(tmp_path, "program", *flags))


@native
@pytest.mark.parametrize("flags", [(), LLD])
def test_sections_without_a_use(tmp_path: Path, flags: tuple[str, ...]) -> None:
    from tests.support.links.recorded_links import record

    plain = build(tmp_path, "plain", *flags)
    assert any("sections without a use" in line for line in look(plain).unknown)
    words = " ".join(flags)
    gcc = f"g++ {' '.join(FLAGS)} {words} main.cpp other.cpp"
    assert record(tmp_path, f"{gcc} -o before").code == 0
    assert record(tmp_path, f"{gcc} -Wl,--gc-sections -o after").code == 0
    check(tmp_path / "before", tmp_path / "after", "gc-sections")
    assert "gc-sections" not in kinds(tmp_path / "after")


@native
@pytest.mark.parametrize("flags", [(), LLD, ("-Wl,-z,now", "-fno-plt")])
def test_a_use_of_exported_functions_by_unused_code(tmp_path: Path, flags: tuple[str, ...]) -> None:
    from tests.support.links.recorded_links import record

    count = range(24)
    exported = "".join(f"int f{i}(int x) {{ return x + {i}; }}\n" for i in count)
    hidden = "".join(f"int f{i}(int);\n" for i in count) + "\n".join(
        f'__attribute__((visibility("hidden"))) int h{i}(int x) {{ return f{i}(x) * f{i}(x); }}'
        for i in count
    )
    (tmp_path / "exported.c").write_text(exported)
    (tmp_path / "hidden.c").write_text(hidden)
    gcc = f"gcc -O1 -fPIC -shared {' '.join(flags)} exported.c hidden.c"
    assert record(tmp_path, f"{gcc} -o before").code == 0
    assert record(tmp_path, f"{gcc} -Wl,--gc-sections -o after").code == 0
    found = check(tmp_path / "before", tmp_path / "after", "gc-sections")
    assert found.low > 24 * 32


@native
def test_output(tmp_path: Path) -> None:
    image = build(tmp_path, "out")
    run = CliRunner().invoke
    done = run(cli, ["doctor", str(image), "--format", "json"])
    assert done.exit_code == 0
    content = json.loads(done.output)
    schemas = resources.files("sizeguard.report") / "schemas"
    jsonschema.validate(content, json.loads((schemas / "doctor.schema.json").read_text()))
    found = content["findings"]
    assert content["total"] == sum(each["bytes"] for each in found) > 0
    assert len({each["id"] for each in found}) == len(found)
    lows = [each["low"] for each in content["findings"]]
    assert lows == sorted(lows, reverse=True)
    assert content["load"] == read_elf(image).load
    shown = run(cli, ["doctor", str(image), "-n", "1"]).output
    assert "1. " in shown
    assert "2. " not in shown
    assert f"{len(lows) - 1} more findings" in shown
    for format_ in ("csv", "markdown"):
        output = run(cli, ["doctor", str(image), "-n", "0", "--format", format_]).output
        assert len(output.splitlines()) >= len(lows)
    stripped = shutil.copy(image, tmp_path / "stripped")
    subprocess.run(["strip", stripped], check=True)
    assert any("stripped" in line for line in look(Path(stripped)).unknown)


def test_files_that_are_no_image(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("no image\n")
    done = subprocess.run(
        [Path(sys.executable).with_name("sizeguard"), "doctor", tmp_path / "text"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
