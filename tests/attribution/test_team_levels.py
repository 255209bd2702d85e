"""Levels for teams: source, directory, namespace, package, owner, archive."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner

from sizeguard.attribution.analysis import Analysis
from sizeguard.attribution.open_analysis import analysis_of
from sizeguard.attribution.teams.code_owners import NOBODY, find_code_owners, path_pattern
from sizeguard.attribution.teams.team_levels import source_of_object
from sizeguard.base.errors import InputError
from sizeguard.cli.image_options import levels_of
from sizeguard.cli.main import cli
from sizeguard.names.scan.scopes import ScopeReader
from sizeguard.snapshots.snapshot import read_snapshot, write_snapshot
from tests.support.histories.gate_history import SIZEGUARD
from tests.support.images.made_elf import (
    SHT_STRTAB,
    SHT_SYMTAB,
    Form,
    MadeSection,
    MadeSymbol,
    make_elf,
)
from tests.support.tools import tool

_NET = """
namespace net {
struct Socket { Socket(int); virtual int send(); int handle; };
Socket::Socket(int x) : handle(x) {}
int Socket::send() { return handle * 3; }
namespace detail { int more(int x) { return x / 7; } }
}
int make(int x) { net::Socket s(x); return s.send() + net::detail::more(x); }
"""
_MAIN = "int make(int);\nnamespace ui { int draw(int x) { return make(x) + 1; } }\n"
_MAIN += "int main(int count, char **) { return ui::draw(count); }\n"


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("project")
    for name, text in (("src/net/a.cpp", _NET), ("src/ui/b.cpp", _MAIN)):
        (folder / name).parent.mkdir(parents=True)
        (folder / name).write_text(text)
    (folder / "CODEOWNERS").write_text("*.cpp @all\n/src/net/ @net # more\n")
    (folder / "build").mkdir()
    for source, place in (("src/net/a.cpp", "build/a.o"), ("src/ui/b.cpp", "build/b.o")):
        tool("g++", "-g", "-O1", "-c", folder / source, "-o", folder / place)
    tool("ar", "rcs", folder / "build/libnet.a", folder / "build/a.o")
    tool(
        *("g++", folder / "build/b.o", folder / "build/libnet.a", "-o", folder / "app"),
        f"-Wl,-Map={folder / 'app.map'}",
    )
    return folder


def sums(analysis: Analysis, level: str) -> dict[str, int]:
    label, load = analysis.label(level), analysis.load
    found: dict[str, int] = {}
    for row, text in enumerate(label.ids.tolist()):
        found[label.texts[text]] = found.get(label.texts[text], 0) + int(load[row])
    assert sum(found.values()) == analysis.image.load
    return found


@pytest.mark.native
def test_code_belongs_to_its_source(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(project)
    analysis = analysis_of(project / "app")
    source = sums(analysis, "source")
    # Sizes of functions, from nm.
    sizes = {
        name: int(size, 16)
        for _, size, kind, name in (
            line.split()
            for line in tool("nm", "-S", project / "app").splitlines()
            if line.count(" ") == 3
        )
        if kind in "Tt"
    }
    net = sizes["_ZN3net6Socket4sendEv"] + sizes["_ZN3net6detail4moreEi"] + sizes["_Z4makei"]
    net += sizes["_ZN3net6SocketC1Ei"]
    assert 0 <= source["src/net/a.cpp"] - net < 16  # padding between functions
    assert source["src/ui/b.cpp"] == sizes["_ZN2ui4drawEi"] + sizes["main"]
    directory = sums(analysis, "directory")
    assert directory["src/net"] == source["src/net/a.cpp"]
    owner = sums(analysis, "owner")
    assert owner["@net"] == source["src/net/a.cpp"] and owner["@all"] == source["src/ui/b.cpp"]


@pytest.mark.native
def test_archives_and_sources_by_the_map(project: Path) -> None:
    analysis = analysis_of(project / "app", map_=project / "app.map")
    archive = sums(analysis, "archive")
    assert any(name.endswith("libnet.a") and load for name, load in archive.items())
    stripped = project / "stripped"
    tool("objcopy", "--strip-debug", project / "app", stripped)
    by_object = sums(analysis_of(stripped, map_=project / "app.map"), "source")
    assert by_object["a"] > 0  # the map knows only a.o


@pytest.mark.native
def test_namespaces_are_no_classes(project: Path) -> None:
    found = sums(analysis_of(project / "app"), "namespace")
    assert {"net", "net::detail", "ui", "(global)", "(no namespace)"} <= found.keys()
    assert "net::Socket" not in found
    assert sums(analysis_of(project / "app"), "isa").keys() == {"x86_64"}


@pytest.mark.native
def test_snapshots_keep_the_levels(project: Path, tmp_path: Path) -> None:
    analysis = analysis_of(project / "app")
    write_snapshot(tmp_path / "s", analysis)
    kept = read_snapshot(tmp_path / "s")
    for level in ("namespace", "package", "isa", "image", "archive"):
        assert sums(kept, level) == sums(analysis, level)


@pytest.mark.native
def test_a_report_shows_what_fits(project: Path) -> None:
    command = [*SIZEGUARD, "report", str(project / "app"), "--format", "json"]
    shown = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    assert shown["by"] == ["namespace", "symbol"] and shown["rules"] == ""
    text = subprocess.run(command[:-2], check=True, capture_output=True, text=True).stdout
    assert "rules: none match these names" in text
    chosen = subprocess.run([*command, "--preset", "aten"], check=True, capture_output=True).stdout
    assert json.loads(chosen)["by"] == ["operator"] and json.loads(chosen)["rules"] == "aten"


@pytest.mark.parametrize(
    ("name", "namespace", "package"),
    [
        ("_ZN3foo3barEv", "foo", ""),
        ("_ZN3foo3Bar3bazEv", "foo", ""),
        ("_ZN3foo3BarIiE3bazEv", "foo", ""),
        ("_ZTVN3foo3BarE", "foo", ""),
        ("_ZSt4sortIPiEvT_S1_", "std", ""),
        ("_ZNSt6vectorIiSaIiEE9push_backEOi", "std", ""),
        ("_ZNSs6appendEPKc", "std", ""),
        ("_ZN12_GLOBAL__N_14helpEv", "(anonymous namespace)", ""),
        ("_ZZN3foo3barEvE5count", "foo", ""),
        ("_Z3fooi", "(global)", ""),
        ("main", "(no namespace)", ""),
        ("(.text)", "", ""),
        ("_RNvNtCs1234_7mycrate3foo3bar", "mycrate::foo", "mycrate"),
        ("_ZN4core3fmt9Formatter3pad17h0123456789abcdefE", "core::fmt::Formatter", "core"),
        # Names of implementations: of a::B for c::D, of c::D for any type, and of e::F<G>.
        ("_ZN29_$LT$a..B$u20$as$u20$c..D$GT$3run17h0123456789abcdefE", "a::B", "a"),
        ("_ZN30_$LT$$RF$T$u20$as$u20$c..D$GT$3run17h0123456789abcdefE", "c::D", "c"),
        ("_ZN28_$LT$str$u20$as$u20$c..D$GT$3run17h0123456789abcdefE", "c::D", "c"),
        ("_ZN1e10F$LT$G$GT$3run17h0123456789abcdefE", "e::F<G>", "e"),
        ("_ZN10_$LT$T$GT$3run17h0123456789abcdefE", "(global)", ""),
        # Template arguments end the path: the constant method of std::vector is no class of std.
        ("_ZNKSt6vectorIiSaIiEE4sizeEv", "std", ""),
        ("_ZNK3foo3MapIiE4sizeEv", "foo", ""),
        ("_ZN9999999999999999999999x", "(global)", ""),
        ("_ZN", "(global)", ""),
        ("_ZN3foolsERSoi", "foo", ""),
        ("_ZStlsISt11char_traitsIcEEvT_", "std", ""),
        ("_ZeqRK3BarS1_", "(global)", ""),
    ],
)
def test_scopes_of_names(name: str, namespace: str, package: str) -> None:
    reader = ScopeReader()
    *_, scopes = reader.read(["_ZN3foo3BarC2Ev", name])
    assert (reader.namespace(scopes), reader.package(scopes)) == (namespace, package)


@pytest.mark.parametrize(
    "name",
    [
        "_ZNK3foo3BarmlERKS0_",  # foo::Bar::operator*(foo::Bar const&) const
        "_ZNK3foo3BarcvNS_3BazEEv",  # foo::Bar::operator foo::Baz() const
        "_ZGVZNK3foo3runMUlvE_clEvE3var",  # in the lambda of foo::run
    ],
)
def test_an_operator_makes_no_class_of_a_namespace(name: str) -> None:
    reader = ScopeReader()
    *_, own, other = reader.read(["_ZN3foo3BarC2Ev", name, "_ZN3foo3bazEv"])
    assert (reader.namespace(own), reader.namespace(other)) == ("foo", "foo")


def test_packages_of_go() -> None:
    reader = ScopeReader(is_go=True)
    names = [
        "runtime.mallocgc",
        "k8s.io/api/core/v1.(*Pod).Size",
        "main.main",
        "github.com/a/b.f.func1",
    ]
    found = [reader.package(scopes) for scopes in reader.read(names)]
    assert found == ["runtime", "k8s.io/api/core/v1", "main", "github.com/a/b"]


@pytest.mark.parametrize("command", ["report app --by crate", "diff app app --by kind,crate"])
def test_a_crate_is_a_package(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    form = Form()
    symbols, strings = form.symbols([MadeSymbol("_RNvCs1_5shape4area", 0x1000, 16)])
    sections = [
        MadeSection(".text", flags=6, address=0x1000, content=bytes(16)),
        MadeSection(".symtab", SHT_SYMTAB, content=symbols, link=3, info=1, entry_size=24),
        MadeSection(".strtab", SHT_STRTAB, content=strings),
    ]
    (tmp_path / "app").write_bytes(make_elf(form, sections))
    monkeypatch.chdir(tmp_path)
    words = [*command.split(), "--format", "json", "--filter", "crate=shape"]
    done = CliRunner().invoke(cli, words, catch_exceptions=False)
    content = json.loads(done.stdout)
    assert content["by"][-1] == "package"
    if command.startswith("report"):
        assert {row["package"]: row["load"] for row in content["rows"]}["shape"] == 16

    with pytest.raises(InputError, match="level 'package' is given twice"):
        levels_of("crate,package")


def test_owners_follow_the_last_pattern_that_matches(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    assert find_code_owners(tmp_path).of("x.c") == NOBODY
    (tmp_path / ".github").mkdir()
    (tmp_path / ".github/CODEOWNERS").write_text(
        "* @all\n*.js @js\n/build/logs/ @logs\ndocs/* @docs\napps/ @apps\n**/deep @deep\n"
        "/scripts/*.sh @a @b\n/free/\n[Section] @nobody\n"
    )
    owners = find_code_owners(tmp_path)
    for path, owner in {
        "x.c": "@all",
        "a/b.js": "@js",
        "build/logs/x": "@logs",
        "a/build/logs/x": "@all",
        "docs/x.md": "@docs",
        "docs/more/x.md": "@all",
        "a/apps/b/c": "@apps",
        "a/deep": "@deep",
        "scripts/x.sh": "@a @b",
        "free/x.c": NOBODY,
        f"{tmp_path}/x.c": "@all",
        "": "",
    }.items():
        assert owners.of(path) == owner, path


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("app/CMakeFiles/app.dir/main.cpp.o", "app/main.cpp"),
        ("app/CMakeFiles/app.dir/__/src/x.cpp.o", "src/x.cpp"),
        ("CMakeFiles/app.dir/__/src/x.cpp.o", "../src/x.cpp"),  # make links in the target's folder
        ("CMakeFiles/app.dir/src/x.cpp.o", "src/x.cpp"),
        ("/home/me/build/app/CMakeFiles/app.dir/src/x.cpp.o", "src/x.cpp"),
        ("libx.a(x.cpp.o)", "x.cpp"),
        ("", ""),
    ],
)
def test_an_object_of_cmake_has_the_source_in_its_folder(path: str, source: str) -> None:
    assert source_of_object(path) == source


def test_names_with_spaces_and_sections_with_owners(tmp_path: Path) -> None:
    (tmp_path / "CODEOWNERS").write_text(
        "/my\\ docs/ @docs\n/c\\#/ @sharp # more\n[The core][2] @core\nsrc/\n*.y @y\n^[Rest]\n*.z\n"
    )
    owners = find_code_owners(tmp_path)
    for path, owner in {
        "my docs/x": "@docs",
        "c#/x": "@sharp",
        "src/x": "@core",
        "a.y": "@y",
        "a.z": NOBODY,
    }.items():
        assert owners.of(path) == owner, path


@pytest.mark.parametrize(
    ("glob", "path", "is_match"),
    [
        ("/a/**/b", "a/b", True),
        ("/a/**/b/**/c", "a/b/b/x/c/d", True),
        ("/a/**/b/**/c", "a/c/b", False),
        ("/a**b/c", "axb/c", True),
        ("/a**b/c", "a/b/c", False),  # ** beside letters is a *
        ("/*a*b", "cabab/x", True),
        ("/a/**", "a/b/c", True),
        ("/a/**", "a", False),
        ("/a/**/", "a/b", False),
        ("/a/" + "**/" * 12 + "x", "a/" + "b/" * 20 + "y", False),
        ("/" + "*a" * 20 + "b", "a" * 200, False),
        ("/" + "**/a/" * 20 + "b", "a/" * 200 + "c", False),
    ],
)
def test_patterns_mean_what_git_takes_them_for(glob: str, path: str, is_match: bool) -> None:
    assert (path_pattern(glob).match(path) is not None) == is_match


@pytest.mark.parametrize(
    ("name", "namespace"),
    [
        ("_ZN2ns4textB5cxx11Ev", "ns"),
        ("_ZN2ns3tagB2t1B2t2Ev", "ns"),
        ("_Z4textB5cxx11v", "(global)"),
        ("_ZN2ns5inner4textB5cxx11E", "ns::inner"),
        ("_ZTWN2ns3tlsB5cxx11E", "ns"),
        ("_ZTHN2ns3tlsE", "ns"),
        ("_ZNK2nsUlvE_clEv", "ns"),
        ("_ZNK2ns3varMUlvE_clEv", "ns"),
        ("_ZZN2ns1fEvENKUlvE_clEv", "ns"),
    ],
)
def test_tags_and_lambdas_are_no_scopes(name: str, namespace: str) -> None:
    reader = ScopeReader()
    assert reader.namespace(*reader.read([name])) == namespace


@pytest.mark.parametrize("digits", [20, 5000])
def test_a_name_with_an_endless_length_has_no_namespace(digits: int) -> None:
    names = [f"_RNvC{'9' * digits}a1f", f"_ZN{'9' * digits}ae"]
    reader = ScopeReader()
    assert not any(reader.namespace(each).startswith("a") for each in reader.read(names))
