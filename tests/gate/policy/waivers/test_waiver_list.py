"""`sizeguard waivers`: waivers that end soon, in each format, their owners, and failures."""

from __future__ import annotations

import datetime
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from sizeguard.base.errors import GateError
from sizeguard.cli.main import cli
from tests.support.places import ROOT

CONFIG = "targets: {x86_64-linux: }\napps: {words: {image: words}}\n"


def entry(days: int, metric: str) -> str:
    # Not once for all tests: a run may last beyond midnight.
    today = datetime.datetime.now(tz=datetime.UTC).date()
    return (
        f"- metric: {metric}\n  app: words\n  bytes: 200\n  owner: ann\n"
        f'  reason: "tiles: 3%|x"\n  expires: {today + datetime.timedelta(days)}\n'
    )


@pytest.fixture
def waivers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    (tmp_path / "sizeguard.yaml").write_text(CONFIG)
    (tmp_path / "baselines").mkdir()
    text = entry(90, "ram") + entry(-2, "file") + entry(14, "load") + entry(15, "page_slack")
    (tmp_path / "baselines" / "waivers.yaml").write_text(text)
    monkeypatch.chdir(tmp_path)

    def run(*words: str, fails: bool = False) -> str:
        runner = CliRunner()
        if not fails:
            done = runner.invoke(cli, ["waivers", *words], catch_exceptions=False)
            assert done.exit_code == 0
            return done.output
        done = runner.invoke(cli, ["waivers", *words])
        assert isinstance(done.exception, GateError)
        return f"{done.output}{done.exception}"

    return run


def test_all_are_listed_the_first_to_end_first(waivers: Callable[..., str]) -> None:
    lines = waivers().splitlines()
    assert [line.split(" bytes of ")[1].split()[0] for line in lines] == [
        "file", "load", "page_slack", "ram",
    ]  # fmt: skip
    assert "ended 2 days ago: 200 bytes of file for words, ann: tiles: 3%|x" in lines[0]
    assert "ends in 14 days" in lines[1]


def test_those_that_end_soon_fail(waivers: Callable[..., str]) -> None:
    said = waivers("--within", "14", fails=True)
    assert "2 waivers end within 14 days" in said
    assert "page_slack" not in said
    assert "1 waiver ends within 0 days" in waivers("--within", "0", fails=True)


def test_github_shows_them_at_their_lines(waivers: Callable[..., str]) -> None:
    lines = waivers("--within", "14", "--format", "github", fails=True).splitlines()
    assert lines[0].startswith("::warning file=baselines/waivers.yaml,title=Waiver,line=7::")
    assert lines[0].endswith("3%25|x")


def test_json_has_the_days(waivers: Callable[..., str]) -> None:
    found = json.loads(waivers("--format", "json"))
    assert [each["days"] for each in found["waivers"]] == [-2, 14, 15, 90]


def test_no_waivers_are_no_failure(waivers: Callable[..., str]) -> None:
    Path("baselines/waivers.yaml").unlink()
    assert waivers("--within", "14") == "no waiver ends within 14 days\n"
    assert waivers() == "no waivers\n"
    assert waivers("--format", "github") == ""


OWNED = "/sizeguard.yaml @org/size\n/baselines/ @bo ann@example.org\n"


@pytest.mark.parametrize("name", ["@Ann", "ann", "ann@example.org", "@org/ann"])
def test_owners_that_code_owners_names_hold(waivers: Callable[..., str], name: str) -> None:
    owner = name.replace("@org/", "").lstrip("@").replace("Ann", "ann")
    path = Path("baselines/waivers.yaml")
    path.write_text(path.read_text().replace("owner: ann", f"owner: {owner}"))
    Path("CODEOWNERS").write_text(f"{OWNED}*.md {name}\n")
    assert "200 bytes" in waivers("--owners")


def test_unknown_owners_and_files_without_owners_fail(waivers: Callable[..., str]) -> None:
    said = waivers("--owners", fails=True)
    assert "CODEOWNERS does not name 'ann'" in said
    assert "add to .github/CODEOWNERS: /sizeguard.yaml @OWNER" in said
    assert "add to .github/CODEOWNERS: /baselines/ @OWNER" in said
    Path("CODEOWNERS").write_text("* @org/all\n/baselines/\n")  # the last rule removes the owner
    said = waivers("--owners", fails=True)
    assert "does not name 'ann'" in said
    assert "/sizeguard.yaml" not in said
    assert "/baselines/ @OWNER" in said
    Path("CODEOWNERS").write_text("* @org/all\n*.md @anna\n")
    assert "does not name 'ann'" in waivers("--owners", fails=True)
    Path("CODEOWNERS").write_text("* @org/all @ann\n")
    waivers("--owners")


def test_our_own_policy_has_owners(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    done = CliRunner().invoke(cli, ["waivers", "--owners"])
    assert (done.exit_code, done.output) == (0, "")
