"""Check the scopes of inlined functions, as written in the source; gcc names local ones shortly."""

from __future__ import annotations

from pathlib import Path

import pytest

from sizeguard.formats.dwarf import inline_frames
from sizeguard.formats.dwarf.spelled_names import spells
from sizeguard.names.demangle import demangle
from tests.support.links.map_links import run
from tests.support.places import DATA

pytestmark = pytest.mark.native

SOURCE = DATA / "dwarf" / "scopes.cpp"
# The functions of the source that are inlined, but for the lambda, and those outside of scopes.
LOCAL = {
    "outer::(anonymous namespace)::work()",
    "outer::(anonymous namespace)::inner::work()",
    "outer::(anonymous namespace)::Kept::work()",
    "outer::(anonymous namespace)::Kept::Deep::work()",
    "all()::Local::work()",
}
GLOBAL = {"outer::version::work()"}
PLAIN = {"main", "plain"}


def names_of(image: Path) -> set[str]:
    frames = inline_frames(image, scoped=True)
    return {frames.names[int(i)] for i in frames.frame}


@pytest.mark.parametrize(
    "flags",
    [("-gdwarf-4",), ("-gdwarf-5",), ("-gdwarf-5", "-flto"), ("-gdwarf-5", "-gno-column-info")],
)
def test_gccs_local_functions_have_the_scopes_of_the_source(
    tmp_path: Path, flags: tuple[str, ...]
) -> None:
    run("g++", "-std=c++20", "-g", "-O2", *flags, SOURCE, "-o", "image", cwd=tmp_path)
    found = names_of(tmp_path / "image")
    assert found >= LOCAL | GLOBAL | PLAIN | {"work"}
    assert {name for name in found if "work" in name and not name.startswith("_Z")} == (
        LOCAL | GLOBAL | {"work"}
    )


def test_clangs_local_functions_have_linkage_names(tmp_path: Path) -> None:
    run("clang++-19", "-std=c++20", "-g", "-O2", SOURCE, "-o", "image", cwd=tmp_path)
    found = names_of(tmp_path / "image")
    assert "outer::(anonymous namespace)::work(int)" in {demangle(name) for name in found}
    assert not any(name.endswith("()") for name in found)


def test_names_stay_short_unless_scopes_are_wanted(tmp_path: Path) -> None:
    run("g++", "-std=c++20", "-g", "-O2", SOURCE, "-o", "image", cwd=tmp_path)
    frames = inline_frames(tmp_path / "image")
    names = {frames.names[int(i)] for i in frames.frame}
    assert "work" in names
    assert not any("::" in name for name in names)


LABELLED = """
namespace outer {
void gather(int* p) asm("plain");
void add(int* p) asm("padding");
[[gnu::noinline]] void add(int* p) { *p -= 9; asm volatile(""); }
[[gnu::noinline]] void gather(int* p) { *p += 3; asm volatile(""); }
template <typename T> void rows(T* p);
template <> void rows<double>(double*) asm("row8");
template <> [[gnu::noinline]] void rows<double>(double* p) { *p *= 7; asm volatile(""); }
struct Made { Made(int* p); ~Made(); int operator()(int n); int* held; };
[[gnu::noinline]] Made::Made(int* p) : held(p) { *p = 4; asm volatile(""); }
[[gnu::noinline]] Made::~Made() { *held = 5; asm volatile(""); }
[[gnu::noinline]] int Made::operator()(int n) { return *held += n; }
inline void within(int* p) asm("row9");
[[gnu::always_inline]] inline void within(int* p) { p[1] ^= p[2]; asm volatile(""); }
}
int main(int argc, char** argv) {
  double d = argc;
  outer::gather(&argc);
  outer::add(&argc);
  outer::rows(&d);
  outer::within(reinterpret_cast<int*>(argv[0]));
  outer::Made made(&argc);
  return made(argc) + static_cast<int>(d);
}
"""


@pytest.mark.parametrize("compiler", ["g++", "clang++-19"])
def test_a_function_is_inside_of_its_label(tmp_path: Path, compiler: str) -> None:
    """Its name in the source is in debug information alone; a constructor has no label."""
    (tmp_path / "labels.cpp").write_text(LABELLED)
    run(compiler, "-std=c++20", "-g", "-O2", "labels.cpp", "-o", "image", cwd=tmp_path)
    frames = inline_frames(tmp_path / "image", scoped=True)
    over = {frames.plain_at(int(start))[-1]: frames.plain_at(int(start)) for start in frames.start}
    assert over["plain"] == ["outer::gather()", "plain"]
    assert over["padding"] == ["outer::add()", "padding"]
    assert over["row8"] == ["outer::rows<double>()", "row8"]
    assert "outer::within()" in names_of(tmp_path / "image")
    members = [name for name in over if name.startswith("_ZN5outer4Made")]
    assert len(members) >= 3
    assert all(over[name] == [name] for name in members)
    short = inline_frames(tmp_path / "image")
    assert {short.plain_at(int(start))[-1] for start in short.start} >= {"plain", "row8"}
    assert not any("gather" in name for name in short.plain_names())


@pytest.mark.parametrize("label", [True, False])
def test_a_function_of_c_is_inside_of_its_label(tmp_path: Path, label: bool) -> None:
    head = 'void gather(int* p) __asm__("plain");' if label else ""
    text = f'{head}\n__attribute__((noinline)) void gather(int* p) {{ *p += 3; __asm__(""); }}\n'
    (tmp_path / "labels.c").write_text(text + "int main(int c, char** v) { gather(&c); return c; }")
    run("gcc", "-g", "-O2", "labels.c", "-o", "image", cwd=tmp_path)
    frames = inline_frames(tmp_path / "image", scoped=True)
    over = [frames.plain_at(int(start)) for start in frames.start]
    assert (["gather", "plain"] if label else ["gather"]) in over


@pytest.mark.parametrize(
    ("linkage", "source", "expected"),
    [
        ("_ZN2ns3addEPi", "add", True),
        ("_ZN2ns3addIdEEvPT_", "add<double>", True),
        ("_ZL3addv.constprop.0", "add", True),
        ("_ZN3app4Made3runEv", "Made", True),
        ("_ZN3app4MadeD2Ev", "~Made", True),
        ("_ZN2ns6paddedEPi", "add", False),
        ("_ZN2ns5added3addEv", "adde", False),
        ("_Z13add_to_othersv", "add", False),
        ("_ZN4vec23addEv", "add", True),
        ("_ZN12_GLOBAL__N_13addEv", "add", True),
        ("_ZN3BoxILi5EE3addEv", "add", True),
        ("_ZNSsC1EPKc", "basic_string", True),
        ("_ZN3appplEii", "operator+", True),
        ("_RNvCs1_3app3add", "add", True),
        ("_RNvCs1_3app3run", "add", False),
        ("_RNvC7___rustc5___add", "__add", True),
        ("_D3app3addFiZi", "app.add", True),
        ("_D3app__T3addTiZQhFiZi", "add!int", True),
        ("_Rows", "add", False),
        ("_Data", "add", False),
        ("$s3app3runyyF", "add()", True),
        ("add", "add", True),
        ("_add", "add", True),
        ("add_", "add", True),
        ("add.cold", "add", True),
        ("__rows_MOD_add", "add", True),
        ("rows__add", "add", True),
        ("main.add", "main.add", True),
        ("padding", "add", False),
        ("add_rows", "add", False),
        ("row8", "add<double>", False),
    ],
)
def test_symbols_that_spell_a_name(linkage: str, source: str, *, expected: bool) -> None:
    assert spells(linkage.encode(), source.encode()) == expected
