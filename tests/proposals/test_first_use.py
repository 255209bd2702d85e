"""Texts that a first user of an own project reads: what has no name, or cannot be decided."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from sizeguard.base.errors import BuildError, InputError
from sizeguard.base.plain_data import parse
from sizeguard.base.yaml.nodes import read_nodes
from sizeguard.builds.image_tools import described
from sizeguard.claims.verdict import ABSENT, FAIL, INCONCLUSIVE, PASS, Verdict, Verification
from sizeguard.gate.causes.growth_result import Cause
from sizeguard.gate.gate_result import ELIMINATION, GateResult
from sizeguard.projects.known_reads import KnownReads
from sizeguard.proposals.build_folder import BUILD_ID, BuildFolder, LinkedFile
from sizeguard.proposals.build_systems.cargo import Cargo
from sizeguard.report.gate.gate_sections import cause_texts
from sizeguard.report.gate.gate_terminal import terminal_text as gate_text
from sizeguard.report.gate.gate_words import elimination_text
from sizeguard.report.verify.verify_terminal import terminal_text
from sizeguard.report.writers.style import Style
from sizeguard.toolchains.stripped import strip
from tests.support.results.gate_samples import app_result, check

TARGET = "x86_64-linux"


def test_bytes_without_a_symbol_have_a_name() -> None:
    causes = [
        Cause(name, "", "", 0, 8, kind="other") for name in ("(core)", "(headers, tables, padding)")
    ]
    assert cause_texts(causes, Style(full=True)) == [
        "(core)  without a symbol",
        "(headers, tables, padding)",
    ]


def test_a_claim_that_cannot_be_decided_is_no_leftover() -> None:
    app = app_result("vision", TARGET, 10, 10, verdict=INCONCLUSIVE)
    (claims,) = [each for each in app.checks if each.kind == ELIMINATION]
    claims = replace(claims, verdict=INCONCLUSIVE, actual=1, headroom=-1, advice="see why")
    unknown = Verdict("symbol", "hsah", ABSENT, INCONCLUSIVE, "unknown", 0, ())
    found = Verification("a", "names", (unknown,), (), "ok", ())
    app = replace(app, checks=(claims,), verification=found)
    assert elimination_text(app) == ("0 absent, 0 present, 0 leftovers, 1 undecided", INCONCLUSIVE)
    first = gate_text(GateResult(INCONCLUSIVE, (app,)), Style(full=True)).splitlines()[0]
    assert first.endswith(": 1 claim cannot be decided")
    failed = replace(app, verdict=FAIL, checks=(replace(claims, verdict=FAIL),))
    first = gate_text(GateResult(FAIL, (failed,)), Style(full=True)).splitlines()[0]
    assert first.endswith(": 1 claim does not hold")


def test_a_failed_verification_names_undecided_claims_and_patterns_without_a_match() -> None:
    verdicts = (
        Verdict("symbol", "zork*", ABSENT, PASS, "not_generated", 0, ("matches nothing: zork*",)),
        Verdict("symbol", "hsh", ABSENT, INCONCLUSIVE, "unknown", 0, ("nearest is hash",)),
        Verdict("symbol", "put", ABSENT, FAIL, "still_there", 42, ("put.o",)),
    )
    text = terminal_text(Verification("a", "names", verdicts, (), "ok", ()), Style(full=True))
    assert text.index("still there  symbol put") < text.index("not decided  symbol hsh (absent)")
    assert "nearest is hash" in text
    assert any(line.split() == ["nothing", "is", "called", "zork*"] for line in text.splitlines())


@pytest.mark.parametrize("width", [40, 60, 80])
def test_the_least_room_is_never_cut_inside_a_number(width: int) -> None:
    app = app_result("vision", TARGET, 14_600, 14_600)
    apps = tuple(
        replace(app, app=name, checks=(check(name, TARGET, "file", 14_600, 15_112),))
        for name in ("project.library", "project.shapes")
    )
    text = gate_text(GateResult(PASS, apps), Style(width=width))
    assert text.count("file, 14,600 of 15,112") == 2


def test_flags_for_rust_are_yaml() -> None:
    image = LinkedFile(Path("target/release/app"), "app")
    text = Cargo().advice(BUILD_ID, BuildFolder(Path(), Path("target")), image)
    (flags,) = yaml.safe_load(text.removesuffix(" in sizeguard.yaml"))["env"].values()
    assert flags.startswith("-C link-arg=-Wl,-")


def test_texts_of_another_encoding_are_named_by_their_line(tmp_path: Path) -> None:
    path = tmp_path / "sizeguard.yaml"
    path.write_bytes(b"apps:\n  a:\n    image: \xff\xfe\n")
    with pytest.raises(InputError, match=r"sizeguard\.yaml:3: not YAML: not UTF-8 text$"):
        read_nodes(path, "selection")
    with pytest.raises(InputError, match=r"^gate\.json: not JSON: not UTF-8 text$"):
        parse(b"\x80\x04", "gate.json")


def test_a_file_that_is_no_image_is_described(tmp_path: Path) -> None:
    (tmp_path / "app").write_text("hello\n")
    assert described(tmp_path / "app") == "text"
    (tmp_path / "app").write_text("")
    assert described(tmp_path / "app") == "an empty file"


def test_a_missing_program_of_strip_is_named(tmp_path: Path) -> None:
    (tmp_path / "app").write_bytes(b"")
    with pytest.raises(BuildError, match="strip: no/tool cannot be started: No such file"):
        strip("no/tool", tmp_path / "app", tmp_path / "stripped")


def test_a_store_below_a_file_is_wrong_usage(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match=r"cannot write: .*file is a file"):
        KnownReads(tmp_path / "file" / "reads", "name").add(None)
