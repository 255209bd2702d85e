"""Differences of single terms: selections, build steps, rules, targets, reviewed files."""

from __future__ import annotations

from pathlib import Path

import pytest

from sizeguard.gate.changed_terms import changed_terms
from sizeguard.gate.gate_result import MEASURED, Base
from sizeguard.gate.policy.terms import TermsReader
from sizeguard.gate.request import Request
from sizeguard.projects.reader import read_config
from tests.support.places import ROOT
from tests.support.tricks.changed_projects import (
    CONFIG,
    NAMES_FILE,
    REVIEWED,
    TRICKS,
    WAIVER,
    Files,
    blob,
    config,
)
from tests.support.tricks.given_terms import GivenFiles, case_role, changed, compared, rows, terms


def of_build(*lines: str) -> Files:
    """Return the configuration of one app that commands build."""
    steps = "".join(f"    {line}\n" for line in ("image: out/lib.so", *lines))
    text = f"targets:\n  t: {{machine: x86_64-linux}}\napps:\n  a:\n{steps}"
    return {"sizeguard.yaml": text, "baselines/waivers.yaml": None}


IN_PACKAGE = """
    image: a.aar!lib/t/liba.so
    build: make
    also: {also}
  b:
    image: {b}
    build: {build}
"""


@pytest.mark.parametrize(
    ("also", "b", "build", "is_left_out"),
    [
        ("a.aar!lib/t/*.so", "a.aar!lib/t/libb.so", "make", True),
        ("'**/*.aar!lib/*/*.so'", "a.aar!lib/t/libb.so", "make", True),
        ("a.aar!lib/t/*.so", "a.aar!lib/t/libb.so", "make b", False),  # another build
        ("a.aar!lib/t/libc.so", "a.aar!lib/t/libb.so", "make", False),
        ("out/*.so", "out/libb.so", "make", False),  # counts for both
    ],
)
def test_an_image_of_its_own_no_longer_counts_in_its_package(
    also: str, b: str, build: str, *, is_left_out: bool
) -> None:
    start = "targets:\n  t: {machine: x86_64-linux}\napps:\n  a:"
    both = start + IN_PACKAGE.format(also=also, b=b, build=build)
    files: Files = {"baselines/waivers.yaml": None}
    old: Files = {"sizeguard.yaml": both[: both.index("  b:")], **files}
    new: Files = {"sizeguard.yaml": both, **files}
    there, back = rows(compared(old, new)), rows(compared(new, old))
    told = ("app changed", "a for t also, without")
    assert ((*told, "", b, True) in there) == ((*told, b, "", False) in back) == is_left_out
    assert [row for row in there if row[:2] == ("app added", "b")] == [
        ("app added", "b", "", "for t", False)
    ]


@pytest.mark.parametrize(
    ("old", "new", "name", "loosens"),
    [
        ("build: make", "build: make all", "build", True),
        ("build: make", "build: make\n    run: ./test", "run", True),
        ("build: make\n    timeout: 20", "build: make\n    timeout: 30", "timeout", False),
        ("build: make", "build: make\n    env: {A: x}", "env", True),
        ("build: make\n    env: {A: x}", "build: make\n    env: {A: y}", "env", True),
        # The caller's value, or a text
        ("build: make\n    env: {A: null}", "build: make\n    env: {A: 'None'}", "env", True),
        ("build: make\n    inputs: [src]", "build: make\n    inputs: [src, lib]", "inputs", True),
        ("build: make\n    inputs: [a, b]", "build: make\n    inputs: [b, a]", "inputs", False),
        ("build: make\n    also: [a, b]", "build: make\n    also: [b, a]", "also", False),
        ("build: make\n    also: [a, b]", "build: make\n    also: [b, c]", "also", True),
        ("build: make\n    absent: [f]", "build: make\n    absent: [f, g]", "absent", False),
        ("build: make\n    absent: [f]", "build: make\n    absent: [g, f]", "absent", False),
        ("build: make\n    absent: [f, g]", "build: make\n    absent: [g, f]", "absent", False),
        ("build: make", "build: make\n    present: [f]", "present", False),
        ("build: make\n    absent: [f, g]", "build: make\n    absent: [f]", "absent", True),
        ("build: make\n    absent: [f]", "build: make\n    absent: [g]", "absent", True),
        # The parts of a signature are no claims
        (
            "build: make\n    absent: ['f(int, long)']",
            "build: make\n    absent: ['f(int, char)', 'g(char, long)', 'f(int', 'long)']",
            "absent",
            True,
        ),
    ],
)
def test_build_steps_are_terms(old: str, new: str, name: str, loosens: bool) -> None:
    (change,) = compared(of_build(old), of_build(new))
    assert (change.what, change.name) == ("app changed", f"a for t {name}")
    assert change.loosens == loosens
    assert change.old != change.new
    assert change.place.startswith("sizeguard.yaml:")
    (back,) = compared(of_build(new), of_build(old))
    assert (back.old, back.new) == (change.new, change.old)


@pytest.mark.parametrize(
    ("old", "new", "was", "now"),
    [
        ("timeout: 20 s", "timeout: 30 min", "20", "1800"),
        ("env: {A: x, B: null}", "env: {A: x}", "A=x, B", "A=x"),
        ("absent: [f, 'g(int)']", "absent: []", "f, g(int)", ""),
    ],
)
def test_build_steps_are_written_as_texts(old: str, new: str, was: str, now: str) -> None:
    (change,) = compared(of_build("build: make", old), of_build("build: make", new))
    assert (change.old, change.new) == (was, now)


@pytest.mark.parametrize(
    "other",
    ["build:   make  # all", "build: 'make'", "build: |\n      make", "build: >\n      make"],
)
def test_equal_build_steps_are_no_change(other: str) -> None:
    assert compared(of_build("build: make"), of_build(other)) == []


PLAIN = """targets:
  t: {machine: x86_64-linux}
limits:
  load: {growth: "max(1%, 512B)"}
  ram: 1 KiB
apps:
  a:
    build: make
    image: a
    ignore: ["*.md", doc/*]
    env: {B: x, A: y}
"""
REWRITTEN = {
    "comments": "# why\n" + PLAIN.replace("  a:\n", "  a:  # the one\n"),
    "order": """apps:
  a:
    env: {A: y, B: x}
    ignore: ["*.md", doc/*]
    image: a
    build: make
limits:
  ram: 1 KiB
  load: {growth: "max(1%, 512B)"}
targets:
  t: {machine: x86_64-linux}
""",
    "one line": '{targets: {t: {machine: x86_64-linux}}, limits: {load: {growth: "max(1%, 512B)"},'
    ' ram: 1 KiB}, apps: {a: {build: make, image: a, ignore: ["*.md", doc/*], env: {B: x, A: y}}}}',
    "quotes": PLAIN.replace("make", "'make'").replace("image: a", 'image: "a"'),
    "line ends": PLAIN.replace("\n", "\r\n"),
    "a block": PLAIN.replace("load: {growth:", "load:\n    growth:").replace('512B)"}', '512B)"'),
    "units": PLAIN.replace("max(1%, 512B)", "max(512 B, 1.0%)").replace("1 KiB", "1,024 B"),
    "a mark of the byte order": f"\ufeff{PLAIN}",
    "an explicit maximum": PLAIN.replace("ram: 1 KiB", "ram: {max: 1 KiB}"),
}


@pytest.mark.parametrize("way", REWRITTEN)
def test_terms_that_are_written_otherwise_are_no_change(way: str) -> None:
    no_waivers = {"baselines/waivers.yaml": None}
    before, after = ({"sizeguard.yaml": text, **no_waivers} for text in (PLAIN, REWRITTEN[way]))
    assert compared(before, after) == compared(after, before) == []


def test_commands_in_place_of_a_selection_are_a_change() -> None:
    selected = "selection: native/apps/vision/selected_operators.yaml\n    models: []"
    steps = of_build("build: make")
    selective = {**steps, "sizeguard.yaml": str(steps["sizeguard.yaml"]).replace(
        "image: out/lib.so\n    build: make", selected
    )}  # fmt: skip
    told, kept = "commands or a file", "a selection"
    for old, new, was, now in ((steps, selective, told, kept), (selective, steps, kept, told)):
        found = rows(compared(old, new))
        assert ("app changed", "a build", was, now, True) in found
        assert not any(name.startswith("a for t ") for _, name, *_ in found)


@pytest.mark.parametrize(
    ("old", "new", "what"),
    [
        ("", "rules: [{symbol: a*, component: a}]\n", "added"),
        ("rules: [{symbol: a*, component: a}]\n", "", "removed"),
        (
            "rules: [{symbol: a*, component: a}]\n",
            "rules: [{symbol: a*, component: b}]\n",
            "changed",
        ),
        ("", "rules: rules.yaml\n", "added"),
        ("rules: rules.yaml\n", "rules: other.yaml\n", "changed"),
    ],
)
def test_rules_for_components_are_terms(old: str, new: str, what: str) -> None:
    files = {"rules.yaml": "rules: []\n", "other.yaml": "rules: [{symbol: b*, component: b}]\n"}
    before, after = ({"sizeguard.yaml": f"{text}{CONFIG}", **files} for text in (old, new))
    (change,) = compared(before, after)
    assert (change.what, change.name, change.loosens) == (f"rules {what}", "rules", True)
    assert (bool(change.old), bool(change.new)) == (bool(old), bool(new))
    is_file = new.endswith(".yaml\n")
    assert change.place == (new.split()[1] if is_file else "sizeguard.yaml")
    assert compared(after, after) == []


def test_the_quick_comparison_reads_the_file_with_rules() -> None:
    files = changed({"sizeguard.yaml": f"rules: rules.yaml\n{CONFIG}", "rules.yaml": "rules: []\n"})
    read = TermsReader(GivenFiles(files), Path("/project"), case_role, NAMES_FILE)
    found = read.identities(terms(files).config)
    assert found["rules.yaml"] == blob("rules: []\n")
    assert {*files} - {*found} == {
        "native/models/cnn/README.md", "native/CMakeLists.txt", "native/runtime/a.cpp",
    }  # fmt: skip


def test_a_file_with_rules_is_among_the_compared_files() -> None:
    old = {"sizeguard.yaml": f"rules: rules.yaml\n{CONFIG}", "rules.yaml": "rules: []\n"}
    new = {**old, "rules.yaml": "rules: [{symbol: b*, component: b}]\n"}
    (change,) = compared(old, new)
    assert (change.what, change.place) == ("rules changed", "rules.yaml")


BOARD = "board: {machine: aarch64-linux}"


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ("", "aarch64-linux, -Os, executable"),
        (", run: false", "aarch64-linux, -Os, executable, run: false"),
        (", compiler: clang, lto: thin", "aarch64-linux, clang, -Os, executable, lto thin"),
    ],
)
def test_a_target_is_written_with_what_is_not_usual(fields: str, text: str) -> None:
    with_board = config((BOARD, f"board: {{machine: aarch64-linux{fields}}}"))
    without = config((f"  {BOARD}\n", ""))
    removed = [each for each in compared(with_board, without) if each.name == "board"]
    assert rows(removed) == [("target removed", "board", text, "", True)]
    added = [each for each in compared(without, with_board) if each.name == "board"]
    assert rows(added) == [("target added", "board", "", text, False)]


def test_more_targets_of_an_app_loosen_nothing() -> None:
    fewer = TRICKS["app for fewer targets"].files
    (change,) = compared(fewer, {})
    assert rows([change]) == [("app added", "language for linux", "", "linux", False)]


def test_more_targets_of_a_build_loosen_nothing() -> None:
    """Each step of the new target was a loosened term, which `policy_changes: fail` refused."""
    fewer, more = (of_build("build: make", f"targets: {text}") for text in ("[t]", "{t: , u: }"))
    added, own = compared(fewer, more)
    assert rows([own]) == [("app added", "a for u", "", "u", False)]
    assert not added.loosens and (added.what, added.name) == ("target added", "u")
    removed, _ = compared(more, fewer)
    assert (removed.what, removed.name, removed.loosens) == ("target removed", "u", True)


OPERATOR = """operators:
  aten::relu: {is_root_operator: true, is_used_for_training: false, include_all_overloads: true}
"""


@pytest.mark.parametrize(
    ("grown", "name"), [(("a", "b"), "app"), (("b",), "app for u"), (("a",), "app for t")]
)
def test_the_selection_of_each_target_is_a_term(grown: tuple[str, ...], name: str) -> None:
    steps = "build: make, image: out/app, selection: a.yaml"
    targets = "{t: {machine: x86_64-linux}, u: {machine: x86_64-linux}}"
    own = "targets: {t: {}, u: {selection: b.yaml}}"
    text = f"targets: {targets}\napps:\n  app: {{{steps}, {own}}}\n"
    none = {"a.yaml": "operators: {}\n", "b.yaml": "operators: {}\n"}
    old: Files = {"sizeguard.yaml": text, "baselines/waivers.yaml": None, **none}
    (change,) = compared(old, {**old, **{f"{each}.yaml": OPERATOR for each in grown}})
    assert (change.what, change.name) == ("selection widened", f"{name} operator aten::relu")


PLACED = ("model", "input", "expected output", "waiver", "selection record", "baseline", "limit")


@pytest.mark.parametrize("way", TRICKS)
def test_what_is_still_there_has_a_place(way: str) -> None:
    """Only a term of the change has a line to comment on."""
    for old, new in (({}, TRICKS[way].files), (TRICKS[way].files, {})):
        for change in compared(old, new):
            if change.what.startswith(PLACED) and not change.name.startswith("file growth"):
                assert bool(change.place) == (not change.what.endswith("removed")), change


def test_what_loosens_is_listed_first() -> None:
    found = compared({}, {
        **config(("max: 40 KiB", "max: 39 KiB"), ("growth: max(1%, 512B)", "growth: 2%")),
        REVIEWED: None,
    })  # fmt: skip
    assert [change.loosens for change in found] == [True, True, False]


RECORD = "baselines/selections/vision.yaml"


@pytest.mark.parametrize(
    ("old", "new", "what", "loosens"),
    [
        (None, "a", "added", False),
        ("a", None, "removed", True),
        ("a", "b", "replaced", True),
    ],
)
def test_records_of_selections(old: str | None, new: str | None, what: str, loosens: bool) -> None:
    (change,) = compared({RECORD: old}, {RECORD: new})
    assert (change.what, change.loosens) == (f"selection record {what}", loosens)
    assert change.place == (RECORD if new else "")


@pytest.mark.parametrize(
    ("edits", "loosens", "size"),
    [
        ((("ann", "bob"),), False, 0),
        ((("100", "99"),), False, -1),
        ((("100", "101"),), True, 1),
        ((("2999-01-31", "2999-01-30"),), False, 0),
        ((("2999-01-31", "2999-02-01"),), True, 0),
        ((("100", "99"), ("2999", "3000")), True, -1),
    ],
)
def test_a_waiver_is_looser_with_more_bytes_or_more_time(
    edits: tuple[tuple[str, str], ...], loosens: bool, size: int
) -> None:
    text = WAIVER
    for old, new in edits:
        text = text.replace(old, new)
    (change,) = compared({}, {"baselines/waivers.yaml": text})
    assert (change.what, change.loosens, change.bytes) == ("waiver changed", loosens, size)
    assert change.place.startswith("baselines/waivers.yaml")
    assert change.accepted == ""


def test_without_a_merge_base_no_term_changed() -> None:
    request = Request(ROOT, read_config(ROOT))
    assert changed_terms(request, None, ()) == ()
    assert changed_terms(request, Base("", "", MEASURED), ()) == ()
