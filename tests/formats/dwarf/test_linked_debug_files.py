"""Verification reads debug information wherever it is, and doubts what it cannot read."""

from __future__ import annotations

from pathlib import Path

import pytest

from sizeguard.claims.verdict import FAIL, INCONCLUSIVE, PASS
from sizeguard.verify.evidence.gather_evidence import gather
from tests.support.links.claimed_programs import (
    BODY,
    CALLER,
    MAIN,
    NOINLINE,
    judged,
    linked,
    outcomes,
)
from tests.support.tools import tool

pytestmark = pytest.mark.native


@pytest.mark.parametrize("folder", ["", ".debug", "elsewhere"])
def test_debug_information_may_be_in_a_linked_file(tmp_path: Path, folder: str) -> None:
    inline = NOINLINE.replace("noinline", "always_inline")
    body = CALLER.partition(";")[2]
    f = f"static inline {inline} int f(int x) {BODY}"
    (tmp_path / "base").mkdir()
    sources = {"a": f"{NOINLINE} int f(int x) {BODY}{body}", "main": MAIN}
    base = linked(tmp_path / "base", sources).image
    files = linked(tmp_path, {"a": f + body, "main": MAIN}, "-Wl,--build-id", flags=["-g"])
    place = tmp_path / folder
    place.mkdir(exist_ok=True)
    debug = place / "app.debug"
    tool("objcopy", "--only-keep-debug", files.image, debug)
    tool("objcopy", "--strip-debug", f"--add-gnu-debuglink={debug}", files.image)
    found = outcomes(judged(files, ["f", "nobody*"], base=base))
    assert found == [PASS if folder == "elsewhere" else FAIL, PASS]


@pytest.mark.parametrize("is_stale", [False, True])
def test_a_linked_debug_file_is_the_one_that_the_image_names(
    tmp_path: Path, is_stale: bool
) -> None:
    """A linker can be told a build id, so only the CRC tells two builds apart."""
    inline = NOINLINE.replace("noinline", "always_inline")
    body = CALLER.partition(";")[2]
    images = {}
    for name, attribute in (("old", NOINLINE), ("new", inline)):
        (tmp_path / name).mkdir()
        texts = {"a": f"static {attribute} int f(int x) {BODY}{body}", "main": MAIN}
        images[name] = linked(tmp_path / name, texts, "-Wl,--build-id=0xab", flags=["-g"])
    files = images["new"]
    debug = tmp_path / "new" / "app.debug"
    tool("objcopy", "--only-keep-debug", files.image, debug)
    tool("objcopy", "--strip-debug", f"--add-gnu-debuglink={debug}", files.image)
    if is_stale:
        tool("objcopy", "--only-keep-debug", images["old"].image, debug)
    found = gather(files).undescribed_notes
    assert [note.endswith("its CRC-32 differs") for note in found] == [True] * is_stale


@pytest.mark.parametrize(
    ("flags", "verdict", "reason"),
    [
        (["-g", "-gz=zlib-gnu"], FAIL, "inlined: into api"),
        (["-g", "-gsplit-dwarf"], INCONCLUSIVE, "is in .dwo files"),
        (["-g0"], PASS, "has no debug information"),
    ],
)
def test_debug_information_that_cannot_be_read_decides_nothing(
    tmp_path: Path, flags: list[str], verdict: str, reason: str
) -> None:
    inline = NOINLINE.replace("noinline", "always_inline")
    body = CALLER.partition(";")[2]
    (tmp_path / "base").mkdir()
    base = linked(
        tmp_path / "base", {"a": f"{NOINLINE} int f(int x) {BODY}{body}", "main": MAIN}
    ).image
    texts = {"a": f"static inline {inline} int f(int x) {BODY}{body}", "main": MAIN}
    (found,) = judged(linked(tmp_path, texts, *flags[1:], flags=flags), ["f"], base=base)
    assert found.verdict == verdict
    assert reason in " ".join((found.cause, *found.evidence))


def test_local_functions_of_cpp_have_no_linkage_name(tmp_path: Path) -> None:
    """gcc names them by their scopes, without parameters, and f may also be another function."""
    inline = NOINLINE.replace("noinline", "always_inline")
    other = f"namespace other {{ int f(int x) {BODY.replace('7919', '17')} }}\n"
    local = f"namespace ns {{ static inline {inline} int f(int x) {BODY} }}\n"
    text = f"{other}{local}int api(int x) {{ return ns::f(x) + ns::f(x + 1); }}\n"
    flags = ["-g", "-xc++", "-ffunction-sections"]
    files = linked(tmp_path, {"a": text, "main": MAIN}, "-Wl,--gc-sections", flags=flags)
    found = judged(files, ["f", "ns::f", "::ns::f(int)", "other::f", "none::f"])
    assert outcomes(found) == [FAIL, FAIL, INCONCLUSIVE, PASS, INCONCLUSIVE]


def test_an_inlined_constructor_has_another_name(tmp_path: Path) -> None:
    """gcc calls the body of S::S() C4, and an object has C1 and C2. A word may look like them."""
    inline = NOINLINE.replace("noinline", "always_inline")
    twin = "struct C2E { int f(int); }; struct C1E { int f(int); };\n"
    twin += f"int C2E::f(int x) {BODY}{inline} inline int C1E::f(int x) {BODY.replace('79', '17')}"
    box = f"struct S {{ int q; S(int); ~S(); int f(int x) {BODY} }};\n"
    body = "{ q = f(x); }\n"
    box += f"{inline} inline S::S(int x) {body}{inline} inline S::~S() {{ f(q); }}\n"
    text = f"{twin}{box}int api(int x) {{ S s(x); return s.q + C1E().f(x); }}\n"
    flags = ["-g", "-xc++", "-ffunction-sections", "-fkeep-inline-functions"]
    files = linked(tmp_path, {"a": text, "main": MAIN}, "-Wl,--gc-sections", flags=flags)
    names = ["S::S", "_ZN1SC1Ei", "_ZN1SC2Ei", "_ZN1SD1Ev", "_ZN3C1E1fEi", "_ZN3C2E1fEi"]
    assert outcomes(judged(files, names)) == [FAIL] * 5 + [PASS]


@pytest.mark.parametrize(
    ("level", "language", "verdicts"),
    [
        ("-g1", "c++", [INCONCLUSIVE, INCONCLUSIVE, PASS, PASS]),
        ("-g", "c++", [FAIL, PASS, PASS, PASS]),
        ("-g1", "c", [PASS, PASS, PASS, PASS]),
    ],
)
def test_a_pattern_may_mean_an_inlined_function_without_scopes(
    tmp_path: Path, level: str, language: str, verdicts: list[str]
) -> None:
    """-g1 leaves scopes out; a C function has none."""
    inline = NOINLINE.replace("noinline", "always_inline")
    body = f"static inline {inline} int helper(int x) {BODY}"
    scope = "ns::" if language == "c++" else ""
    local = f"namespace ns {{ {body} }}\n" if scope else body
    text = f"{local}int api(int x) {{ return {scope}helper(x) + {scope}helper(x + 1); }}\n"
    flags = [level, f"-x{language}"]
    files = linked(tmp_path, {"a": text, "main": MAIN}, flags=flags)
    patterns = ["ns::h*", "other::*", "ns::none*", "none*"]
    assert outcomes(judged(files, patterns)) == verdicts


def test_a_pattern_may_mean_an_inlined_lambda(tmp_path: Path) -> None:
    """gcc's debug information does not tell it from another class without a name."""
    inline = NOINLINE.replace("noinline", "always_inline")
    text = f"int api(int a) {{ auto f = [](int x) {inline} {BODY}; return f(a) + f(a + 1); }}\n"
    files = linked(tmp_path, {"a": text, "main": MAIN}, flags=["-g", "-xc++"])
    patterns = ["*lambda*", "api(int)::{lambda(int)#1}::*", "api::'lambda'*", "main::*lambda*"]
    assert outcomes(judged(files, patterns)) == [INCONCLUSIVE] * 3 + [PASS]
