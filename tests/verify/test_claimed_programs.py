"""Claims on symbols of small programs whose compiler, linker or tools hide code."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from sizeguard.builds.open_build import Files
from sizeguard.claims.verdict import ABSENT, FAIL, INCONCLUSIVE, PASS, PRESENT
from sizeguard.formats.elf import read_elf
from sizeguard.gate.cache.requested_claims import RequestedClaims
from sizeguard.gate.verified_builds import verify_symbols
from sizeguard.linkgraph.chains import why
from sizeguard.linkgraph.open_graph import graph_of_objects
from sizeguard.linkgraph.subjects import find_subject
from sizeguard.names.dtype_of import dtype_of
from tests.support.links.claimed_programs import (
    BODY,
    CALLER,
    MAIN,
    NO_CALL,
    NOINLINE,
    judged,
    linked,
    outcomes,
)
from tests.support.places import LLD
from tests.support.tools import tool

pytestmark = pytest.mark.native


def test_functions_that_call_each_other_may_all_be_merged(tmp_path: Path) -> None:
    """lld replaces other(), f1() and f() by live(), g1() and g(), which have the same code.

    Nothing of b.o has a place, but the program runs its functions. A function that nothing needs
    is absent, although its object is needed.
    """
    pair = "{} static int {}(int x) {}{} static int {}1(int x) {{ return {}(x + 1) + 0x5555; }}\n"
    sources = {
        name: pair.format(NOINLINE, f, BODY, NOINLINE, f, f)
        + f"int {api}(int x) {{ return {f}1(x); }}\n"
        + extra
        for name, f, api, extra in (
            ("a", "g", "live", ""),
            ("b", "f", "other", f"int gone(int x) {BODY.replace('7919', '17')}"),
        )
    }
    sources["main"] = (
        "int live(int), other(int); int main(int c, char **v) { return live(c) + other(c + !v); }\n"
    )
    options = (*LLD, "-Wl,--icf=all,--gc-sections,-x")
    files = linked(tmp_path, sources, *options, flags=("-ffunction-sections",))
    found = judged(files, ["f", "f1", "g", "gone"], ["f1"])
    assert outcomes(found) == [FAIL, FAIL, FAIL, PASS, PASS]
    assert f"0x{found[2].evidence[0].partition('0x')[2]} f" in found[0].evidence[0]
    # Maps of other linkers do not list f.
    assert files.link_map is not None
    lines = files.link_map.read_text().splitlines(keepends=True)
    files.link_map.write_text(
        "".join(line for line in lines if line.split()[-1] not in ("f", "f1"))
    )
    found = judged(files, ["f", "f1", "g", "gone"], ["f1"])
    assert outcomes(found) == [INCONCLUSIVE, INCONCLUSIVE, FAIL, PASS, INCONCLUSIVE]
    assert "main, which is in the image, leads to f of " in found[0].evidence[0]


def test_a_weak_reference_needs_no_member_of_an_archive(tmp_path: Path) -> None:
    def archive(folder: Path) -> None:
        (folder / "f.c").write_text(f"int f(int x) {BODY}")
        tool("gcc", "-O2", "-c", folder / "f.c", "-o", folder / "f.o")
        tool("ar", "qc", folder / "libf.a", folder / "f.o")

    weak = "__attribute__((weak)) int f(int); int api(int x) { return f ? f(x) : x; }\n"
    files = linked(tmp_path, {"a": weak, "main": MAIN}, "-Wl,--gc-sections", edit=archive)
    given = Files(
        image=files.image,
        objects=(*files.objects, tmp_path / "libf.a"),
        link_map=files.link_map,
        folder=tmp_path,
    )
    assert outcomes(judged(given, ["f"])) == [PASS]


@pytest.mark.parametrize("section", [".text", ".text.hot_code", "mine"])
def test_an_object_without_local_symbols_proves_no_name_absent(
    tmp_path: Path, section: str
) -> None:
    """`strip -x` removes the name of a local function, which the base has."""
    f = f'{NOINLINE} __attribute__((section("{section}"))) static int f(int x) {BODY}'
    sources = {"a": f + CALLER.partition(";")[2], "main": MAIN}
    (tmp_path / "base").mkdir()
    base = linked(tmp_path / "base", sources).image
    edited = linked(
        tmp_path, sources, edit=lambda folder: void(tool("strip", "-x", folder / "a.o"))
    )
    found = judged(edited, ["f", "f*", "quite_*"], base=base)
    assert INCONCLUSIVE in outcomes(found)
    assert PASS not in outcomes(found)
    assert found[0].evidence == (f"a.o has code without a symbol in {section}",)
    only_main = replace(edited, objects=(tmp_path / "main.o",))
    assert PASS not in outcomes(judged(only_main, ["f", "quite_*"], base=base))
    assert outcomes(judged(linked(tmp_path, sources), ["quite_*"])) == [PASS]


def void(_: str) -> None:
    """Drop a tool's output."""


def test_code_that_is_embedded_as_data_is_there(tmp_path: Path) -> None:
    """An object has the bytes, under another name; its data run nowhere."""

    def cut(folder: Path) -> None:
        tool("objcopy", "-O", "binary", "-j", ".text.f", folder / "a.o", folder / "f.bin")
        blob = f'asm(".data\\nblob: .incbin \\"{folder / "f.bin"}\\"\\n.text");\n'
        user = "extern char blob[]; int main(int c, char **v) { return blob[c + !v]; }\n"
        (folder / "main.c").write_text(blob + user)
        tool("gcc", "-O2", "-c", folder / "main.c", "-o", folder / "main.o")

    sources = {"main": NO_CALL, "a": f"int f(int x) {BODY}"}
    flags = ("-ffunction-sections",)
    files = linked(tmp_path, sources, "-Wl,--gc-sections", flags=flags, edit=cut)
    found = judged(files, ["f"], ["f"])
    assert outcomes(found) == [FAIL, INCONCLUSIVE]
    assert found[0].bytes > 32


@pytest.mark.parametrize("is_shipped", [False, True])
def test_code_after_the_sections_is_there(tmp_path: Path, is_shipped: bool) -> None:
    """A segment may load it, and no section shows it."""
    sources = {"main": NO_CALL, "a": f"int f(int x) {BODY}"}
    flags = ("-ffunction-sections",)
    files = linked(tmp_path, sources, "-Wl,--gc-sections", flags=flags)
    assert outcomes(judged(files, ["f"])) == [PASS]
    tool("objcopy", "-O", "binary", "-j", ".text.f", tmp_path / "a.o", tmp_path / "f.bin")
    longer = tmp_path / "longer"
    longer.write_bytes(files.image.read_bytes() + (tmp_path / "f.bin").read_bytes())
    given = Files(
        image=files.image if is_shipped else longer,
        twin=longer if is_shipped else None,
        objects=files.objects,
        link_map=files.link_map,
        folder=tmp_path,
    )
    assert outcomes(judged(given, ["f"])) == [FAIL]


@pytest.mark.parametrize(
    ("declared", "options", "expected"),
    [
        ("static int numbers[16];", ["-x"], INCONCLUSIVE),
        ("static int numbers[16] = {1};", ["-x"], INCONCLUSIVE),
        ("static int numbers[16]; int more;", ["-x"], INCONCLUSIVE),
        ("static const int numbers[16] = {1, 2};", ["--strip-unneeded"], INCONCLUSIVE),
        ("int others[16] = {1}; short one; int more[16] = {1};", ["-x"], PASS),
        ("int others[16] = {1};", ["-g"], PASS),
        ("int others[16] = {1}; double more = 4;", ["--strip-unneeded"], PASS),
    ],
)
def test_data_without_a_name_may_be_what_is_claimed_absent(
    tmp_path: Path, declared: str, options: list[str], expected: str
) -> None:
    name = "numbers" if "numbers" in declared else "others"
    body = f"int api(int x) {{ return {name}[x] + (x > 12 ? ++*(int *)&{name}[x] : 0); }}\n"
    sources = {"a": f"{declared}\n{body}", "main": MAIN}
    base = tmp_path / "base"
    base.mkdir()
    text = "int numbers[16] = {1}; int api(int x) { return numbers[x]++; }\n"
    known = linked(base, {"a": text, "main": MAIN})
    files = linked(
        tmp_path, sources, edit=lambda folder: void(tool("strip", *options, folder / "a.o"))
    )
    assert outcomes(judged(files, ["numbers"], base=known.image)) == [expected]


LOCALS = """
static SPEC int f(int x) BODY
namespace ns { namespace {
SPEC int g(int x) BODY
struct C { SPEC int h(int x) BODY }; }
template <class T> static SPEC int k(T x) BODY
}
int main(int c, char **v) {
  ns::C o;
  auto l = [c](int x) SPEC {
    volatile int y = x * 0x945;
    for (int i = 0; i < x; ++i) y += i * c;
    return int(y);
  };
  return f(c) + ns::g(c) + o.h(c) + ns::k(short(c)) + l(c) + !v;
}
"""


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (("g++", "-g"), (FAIL, FAIL, FAIL, FAIL, INCONCLUSIVE)),
        (("clang++-19", "-g"), (FAIL, FAIL, FAIL, FAIL, PASS)),
        (("g++", "-g1"), (FAIL, INCONCLUSIVE, INCONCLUSIVE, INCONCLUSIVE, INCONCLUSIVE)),
        (("clang++-19", "-gmlt"), (FAIL, *[INCONCLUSIVE] * 4)),
        (("g++", "-g0"), (PASS, PASS, PASS, PASS, PASS)),
    ],
)
def test_local_functions_are_found_inside_others(
    tmp_path: Path, options: tuple[str, ...], expected: tuple[str, ...]
) -> None:
    """gcc gives them no linkage name, and with -g1 no scopes; the base has their symbols.

    The last one of the base is called like another one, in other scopes.
    """
    for name, attribute in (("base", "noinline"), ("now", "always_inline")):
        text = LOCALS.replace("SPEC", f"__attribute__(({attribute}))").replace("BODY", BODY.strip())
        more = f"namespace ns {{ {NOINLINE} int f(int x) {BODY} int (*volatile keep)(int) = f; }}\n"
        (tmp_path / f"{name}.cpp").write_text(text + more * (name == "base"))
        made = ("-w", "-O2", "-c", tmp_path / f"{name}.cpp", "-o", tmp_path / f"{name}.o")
        tool(*options, *made)
        tool(
            "g++", f"-Wl,-Map,{tmp_path / name}.map", tmp_path / f"{name}.o", "-o", tmp_path / name
        )
    files = Files(
        image=tmp_path / "now",
        objects=(tmp_path / "now.o",),
        link_map=tmp_path / "now.map",
        folder=tmp_path,
    )
    claims = ["_ZL1fi", "ns::g", "ns::C::h", "ns::k<short>", "ns::f(int)"]
    found = outcomes(judged(files, claims, base=tmp_path / "base"))
    assert found == list(expected)
    if options[0] == "g++":  # the base is of gcc
        (inside,) = judged(files, ["main::{lambda(int)#1}::operator()"], base=tmp_path / "base")
        assert inside.verdict == (PASS if options[1] == "-g0" else INCONCLUSIVE)
        assert options[1] == "-g0" or "which may be it" in inside.evidence[0]


@pytest.mark.parametrize("expect", [ABSENT, PRESENT])
@pytest.mark.parametrize(
    ("text", "is_known"),
    [
        ("ns::g", True),
        ("ns::g()", True),
        ("*::g(*", True),
        ("ns::(anonymous namespace)::g*", True),
        ("f", True),
        ("f(char*)", False),
        ("f(ch*", False),
        ("f*(char*)", False),
        ("ns::g(int)", False),
        ("ns::g(intt)", False),
        ("ns::(anonymous namespace)::C::h(float) const", False),
        ("g(void (*)(int), int)", False),
        ("*::g(int)", False),
        ("*::g(i*", False),
        ("ns::*::h(fl*)", False),
    ],
)
def test_parameters_that_debug_information_leaves_out_decide_nothing(
    tmp_path: Path, text: str, is_known: bool, expect: str
) -> None:
    """A claim on `g(float)` was judged by an inlined g of any parameters, or matched nothing."""
    code = LOCALS.replace("SPEC", "__attribute__((always_inline))").replace("BODY", BODY.strip())
    (tmp_path / "now.cpp").write_text(code)
    tool("g++", "-g", "-w", "-O2", "-c", tmp_path / "now.cpp", "-o", tmp_path / "now.o")
    tool("g++", f"-Wl,-Map,{tmp_path}/now.map", tmp_path / "now.o", "-o", tmp_path / "now")
    files = Files(
        image=tmp_path / "now", objects=(tmp_path / "now.o",), link_map=tmp_path / "now.map"
    )
    claims = ([text], []) if expect == ABSENT else ([], [text])
    verdict = FAIL if expect == ABSENT else PASS
    found = outcomes(judged(replace(files, folder=tmp_path), *claims))
    assert found == [verdict if is_known else INCONCLUSIVE]


@pytest.mark.parametrize(
    "machine", ["riscv64", "s390x", "powerpc64le", "loongarch64", "mips64", "mips64el"]
)
def test_linkers_of_other_machines_change_more_bytes(tmp_path: Path, machine: str) -> None:
    """They write addresses of 8 bytes, two instructions, or the opcode of a load."""
    abi = "gnuabi64" if "mips" in machine else "gnu"
    compiler = ("clang-19", f"--target={machine}-linux-{abi}", *LLD)
    table = "int *pointers[2] = {0, &numbers[2]};"
    text = f"int numbers[4] = {{1}}; {table} extern int out; int g(int);\n{NOINLINE} int f(int x)"
    text += f" {BODY} int dead(int x) {{ return f(x); }}\n"
    text += "int main(int c, char **v) { return f(c) + g(c) + *pointers[c] + out + !v; }\n"
    more = "int out = 5; int g(int x) { return x + 1; }\n"
    flags = ["-O2", "-ffunction-sections", *["-mno-relax"] * (machine == "riscv64")]
    for name, source in (("a", text), ("b", more)):
        (tmp_path / f"{name}.c").write_text(source)
        tool(*compiler, *flags, "-c", tmp_path / f"{name}.c", "-o", tmp_path / f"{name}.o")
    objects = (tmp_path / "a.o", tmp_path / "b.o")
    place, image = tmp_path / "app.map", tmp_path / "app"
    options = ["-nostdlib", "-pie", "-Wl,-e,main", "-Wl,--gc-sections"]
    options += ["-Wl,--no-relax"] * (machine == "riscv64")
    tool(*compiler, *options, f"-Wl,-Map,{place}", *objects, "-o", image)
    files = Files(image=image, objects=objects, link_map=place, folder=tmp_path)
    assert outcomes(judged(files, ["dead", "f"])) == [PASS, FAIL]


def test_thumb_code_has_names(tmp_path: Path) -> None:
    """The lowest bit of a function's address marks Thumb, and is no byte before its code."""
    texts = {"a": CALLER, "b": f"int f(int x) {BODY}", "main": MAIN}
    target = ("--target=armv7-linux-gnueabihf", "-mthumb", *LLD)
    compiler = ("clang-19", *target, "-O2", "-ffunction-sections")
    for name, text in texts.items():
        (tmp_path / f"{name}.c").write_text(text)
        tool(*compiler, "-c", tmp_path / f"{name}.c", "-o", tmp_path / f"{name}.o")
    objects = tuple(tmp_path / f"{name}.o" for name in texts)
    place, image = tmp_path / "app.map", tmp_path / "app"
    tool(*compiler, "-nostdlib", "-Wl,-e,main", f"-Wl,-Map,{place}", *objects, "-o", image)
    symbols = {s.name: s for s in read_elf(image).symbols}
    for link_map in (place, None):
        files = Files(image=image, objects=objects, link_map=link_map, folder=tmp_path)
        found, unknown = judged(files, ["f", "nobody*"])
        assert (found.verdict, found.bytes) == (FAIL, symbols["f"].size)
        assert f"{symbols['f'].address - 1:#x}" in found.evidence[0]
        assert unknown.verdict == (PASS if link_map else INCONCLUSIVE)


@pytest.mark.parametrize("option", ["-fno-pic", "-fPIC"])
def test_code_far_away_has_addresses_of_eight_bytes(tmp_path: Path, option: str) -> None:
    text = "extern int more; int far(int); int numbers[4]; int g(int x) { return far(x) + more; }\n"
    text += "int main(int c, char **v) { return g(c) + numbers[c] + !v; }\n"
    for name, each in (("a", text), ("b", "int more = 5; int far(int x) { return x; }\n")):
        (tmp_path / f"{name}.c").write_text(each)
        compiler = ("clang-19", "-O2", "-mcmodel=large", option, "-c", tmp_path / f"{name}.c")
        tool(*compiler, "-o", tmp_path / f"{name}.o")
    objects = (tmp_path / "a.o", tmp_path / "b.o")
    place, image = tmp_path / "app.map", tmp_path / "app"
    kind = "-no-pie" if option == "-fno-pic" else "-pie"
    tool("gcc", *LLD, kind, f"-Wl,-Map,{place}", *objects, "-o", image)
    files = Files(image=image, objects=objects, link_map=place, folder=tmp_path)
    assert outcomes(judged(files, ["g", "nobody*"])) == [FAIL, PASS]


def test_a_number_is_no_function(tmp_path: Path) -> None:
    """--defsym=f=0 satisfies the linker, not the claim that f is present, and f has no bytes."""
    files = linked(tmp_path, {"a": CALLER, "main": MAIN}, "-no-pie", "-Wl,--defsym=f=0")
    assert outcomes(judged(files, [], ["f", "api"])) == [INCONCLUSIVE, PASS]
    (absent,) = judged(files, ["f"])
    assert absent.verdict == PASS
    assert "an address outside of it" in " ".join(absent.evidence)


def test_a_number_may_be_the_address_of_code(tmp_path: Path) -> None:
    code = read_elf(linked(tmp_path, {"main": NO_CALL}, "-no-pie").image).section(".text")
    assert code is not None
    files = linked(tmp_path, {"main": NO_CALL}, "-no-pie", f"-Wl,--defsym=f={code.address}")
    assert outcomes(judged(files, ["f"])) == [FAIL]


def test_members_of_one_name_are_told_apart_by_their_bytes(tmp_path: Path) -> None:
    """Both have a .text of one size, and only the second one is linked."""

    def archive(folder: Path) -> None:
        for name, function in (("x", "g"), ("y", "f")):
            place = folder / name
            place.mkdir()
            number = "7919" if name == "x" else "7727"
            (place / "util.c").write_text(f"int {function}(int x) {BODY.replace('7919', number)}")
            tool("gcc", "-O2", "-c", place / "util.c", "-o", place / "util.o")
        members = [folder / name / "util.o" for name in ("x", "y")]
        tool("ar", "qc", folder / "libu.a", *members)

    library = str(tmp_path / "libu.a")
    sources = {"a": CALLER, "main": MAIN}
    files = linked(tmp_path, sources, f"-Wl,--undefined=f,{library}", edit=archive)
    given = Files(
        image=files.image,
        objects=(*files.objects, Path(library)),
        link_map=files.link_map,
        folder=tmp_path,
    )
    assert outcomes(judged(given, ["f", "g"])) == [FAIL, PASS]


@pytest.mark.parametrize("is_kept", [False, True])
def test_lld_keeps_what_start_symbols_bound_only_on_demand(tmp_path: Path, is_kept: bool) -> None:
    """Without a record, the image shows which rule lld followed."""
    f = f"static int f(int x) {BODY}"
    entry = '__attribute__((section("entries"), used)) static int (*const entry)(int) = f;\n'
    user = (
        "extern int (*const __start_entries[])(int) __attribute__((weak));\n"
        "int main(int c, char **v) { return __start_entries ? __start_entries[0](c) : !v; }\n"
    )
    options = (*LLD, "-Wl,--gc-sections", *["-Wl,-z,nostart-stop-gc"] * is_kept)
    flags = ("-ffunction-sections",)
    files = linked(tmp_path, {"main": user, "a": f + entry}, *options, flags=flags)
    graph = graph_of_objects(files.image, files.objects)
    chains = why(graph, find_subject(graph, "f", dtype_of))
    assert chains.live == is_kept
    assert outcomes(judged(files, ["f"])) == [FAIL if is_kept else PASS]


def test_a_thread_local_variable_counts_once(tmp_path: Path) -> None:
    text = "__thread int numbers[10] = {1}; int api(int x) { return numbers[x]++; }\n"
    (found,) = judged(linked(tmp_path, {"a": text, "main": MAIN}), ["numbers"])
    assert (found.verdict, found.bytes, len(found.evidence)) == (FAIL, 40, 1)


def test_code_may_register_an_operator_by_its_name(tmp_path: Path) -> None:
    """Constructors fill the table of ExecuTorch's kernels, so that no data pair name and code."""
    text = f"""
        static struct {{ const char *name; int (*call)(int); }} all[2];
        {NOINLINE} static void add(const char *name, int (*call)(int)) {{
            static int n; all[n].name = name; all[n++].call = call; }}
        static int one(int x) {BODY} static int two(int x) {{ return x * 3; }}
        __attribute__((constructor)) static void fill(void) {{
            add("aten::mul.out", one); add("aten::add.out", two); }}
        int api(int x) {{ return all[x & 1].call(x) + all[0].name[x]; }}
    """
    files = linked(tmp_path, {"a": text, "main": MAIN})
    patterns = ["aten::mul*", "*mul*", "aten::*", "aten::div*", "*::*div*"]
    assert outcomes(judged(files, patterns)) == [INCONCLUSIVE] * 3 + [PASS] * 2
    accepted = RequestedClaims(unknown_ok=True)
    names = ["aten::mul.out", "aten::mul", "aten::div"]
    found = verify_symbols(files, names, (), accepted).verdicts
    assert outcomes(found) == [INCONCLUSIVE] * 2 + [PASS]
    assert "the text aten::mul.out is at 0x" in found[1].evidence[1]
