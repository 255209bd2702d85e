"""`sizeguard history` on real repositories: from the store, from baselines, or built on request."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import jsonschema
import pytest

import sizeguard
from tests.support.tricks.any_project import AnyProject, made_project

SCHEMA = json.loads(
    (Path(sizeguard.__file__).parent / "report" / "schemas" / "history.schema.json").read_text()
)
CONFIG = """targets:
  x86_64-linux:
apps:
  app:
    build: cc -Os -c extra.c && cc -Os main.c extra.o -o app
    images: {one: app, two: extra.o}
    ignore: "*.md"
"""


def sources(size: int) -> dict[str, str]:
    return {
        "main.c": f"const char table[{size}] = {{1}};\n"
        f"int main(int n, char** v) {{ return table[n % {size}] + (v == 0); }}\n",
        "extra.c": "int extra(int n) { return 3 * n; }\n",
    }


def known(project: AnyProject, *arguments: str) -> dict[str, Any]:
    """Run `sizeguard history`, check the laws of every result, and return it."""
    done = project.run("history", "--format", "json", *arguments)
    assert done.code == 0, done.err
    result: dict[str, Any] = json.loads(done.out)
    jsonschema.validate(result, SCHEMA)
    before: dict[str, dict[str, Any]] = {}
    for point in result["points"]:
        line = point["app"] + point["target"]
        if point["load"] is None:
            continue
        if point["parts"]:
            assert sum(point["parts"].values()) == point["load"]
        change, old = point["change"], before.get(line)
        assert (change is None) == (old is None)
        if change is not None and old is not None:
            assert change["since"] == old["commit"]
            for size in ("load", "ram", "file"):
                assert change[size] == point[size] - old[size]
            if change["rows"] is not None:
                assert sum(row["delta"] for row in change["rows"]) == change["load"]
        before[line] = point
    return result


def loads(result: dict[str, Any], app: str) -> list[tuple[str, int | None, str]]:
    return [
        (" ".join(point["names"]), point["load"], point["source"])
        for point in result["points"]
        if point["app"] == app
    ]


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory, native_tools: None) -> AnyProject:
    """Make six commits, three with tags; one changes only a document, and one does not build."""
    made = made_project(tmp_path_factory.mktemp("history") / "p", CONFIG, sources(40))
    made.write({"README.md": "Read."})
    assert made.run("baseline", "update").code == 0
    made.commit("Review")
    made.git("tag", "v1.0")
    made.write(sources(4040))
    made.commit("Grow")
    made.git("tag", "-a", "-m", "two", "v1.1")
    made.write({"README.md": "Read me."})
    made.commit("Document")
    made.write({"main.c": "int main(void) { return x; }\n"})
    made.commit("Break")
    made.git("tag", "broken")
    made.write(sources(1040))
    made.commit("Shrink")
    return made


def test_history_of_any_project(project: AnyProject) -> None:
    """Without builds, show baselines; --build builds each missing commit once."""
    before = known(project)
    assert (before["kind"], before["builds"]) == ("releases", 0)
    reviewed = {point["load"] for point in before["points"] if point["source"] == "baseline"}
    assert len(reviewed) == 2  # one for each image
    measured = {point["commit"] for point in before["points"] if point["source"] == "measured"}
    assert len(measured) <= 1
    built = known(project, "--build", "--jobs", "2")
    assert 1 <= built["builds"] <= 5  # four commits; the failing one is tried for both images
    one = loads(built, "app.one")
    assert [names for names, _, _ in one] == ["v1.0", "v1.1", "broken", ""]
    assert [source for _, _, source in one] == [
        "measured",
        "measured",
        "does not build",
        "measured",
    ]
    sizes = [load for _, load, _ in one if load is not None]
    assert [b - a for a, b in itertools.pairwise(sizes)] == [4000, -3000]
    assert "undeclared" in built["points"][2]["why"]
    rows = built["points"][1]["change"]["rows"]
    assert [(row["symbol"], row["delta"], row["cause"]) for row in rows] == [
        ("table", 4000, "grew")
    ]
    assert len({load for _, load, _ in loads(built, "app.two")}) == 2  # None where a build failed
    again = known(project, "--build")
    assert again["builds"] == 0
    assert again["points"] == built["points"]
    assert project.git("status", "--porcelain") == ""
    assert not list((project.root / ".sizeguard" / "worktrees").glob("tree-*/"))


def test_commits_since_a_release(project: AnyProject) -> None:
    result = known(project, "--commits", "--since", "v1.1", "--app", "app.one")
    subjects = [point["subject"] for point in result["points"]]
    assert subjects == ["Grow", "Document", "Break", "Shrink"]
    assert known(project, "--since", "HEAD~2", "--app", "app.one")["kind"] == "releases"
    last = known(project, "--commits", "--last", "2", "--app", "app.one")
    assert last["older"]
    assert [point["subject"] for point in last["points"]] == ["Break", "Shrink"]


def test_a_document_s_commit_needs_no_build(project: AnyProject) -> None:
    known(project, "--build")
    result = known(project, "--commits", "--app", "app.one")
    grow, document = (
        next(point for point in result["points"] if point["subject"] == subject)
        for subject in ("Grow", "Document")
    )
    assert document["source"] == "measured"
    assert document["load"] == grow["load"]
    assert document["change"]["rows"] == []


def test_every_format(project: AnyProject) -> None:
    for format_ in ("terminal", "markdown", "csv", "html"):
        done = project.run("history", "--format", format_, "--by", "section")
        assert done.code == 0
        assert "v1.1" in done.out
    assert "<script" not in project.run("history", "--format", "html").out


def test_a_badge_and_a_trend(project: AnyProject) -> None:
    lines = known(project, "--releases")["points"]
    several = project.run("history", "--format", "badge")
    assert (several.code, several.err.count("\n")) == (2, 1)
    app = lines[0]["app"]
    badge = json.loads(project.run("history", "--app", app, "--format", "badge").out)
    loads = [point["load"] for point in lines if point["app"] == app and point["load"]]
    assert badge["schemaVersion"] == 1
    assert badge["label"].startswith(app)
    assert badge["message"].startswith(f"{loads[-1]:,} bytes")
    image = project.run("history", "--format", "svg").out
    names = {each.tag.rpartition("}")[2] for each in ElementTree.fromstring(image).iter()}
    assert names == {"svg", "title", "style", "text", "path", "circle"}
    assert f"{loads[-1]:,} bytes" in image


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("--since", "nowhere"), 2, "no such commit"),
        (("--app", "nothing"), 2, "nothing"),
        (("--by", "opertor"), 2, "--by: unknown level 'opertor'"),
    ],
)
def test_what_is_wrong_is_one_line(
    project: AnyProject, arguments: tuple[str, ...], code: int, words: str
) -> None:
    done = project.run("history", *arguments)
    assert (done.code, done.err.count("\n")) == (code, 1)
    assert words in done.err


def test_a_commit_of_another_line_is_no_beginning(project: AnyProject) -> None:
    tree = project.git("rev-parse", "HEAD^{tree}")
    other = project.git("commit-tree", tree, "-m", "Elsewhere")
    done = project.run("history", "--since", other)
    assert done.code == 2
    assert "not an ancestor" in done.err


def test_a_build_that_the_machine_fails_is_told_beside_the_baseline(
    tmp_path: Path, native_tools: None
) -> None:
    """A hanging build proves nothing about its commit: show the baseline and the reason."""
    made = made_project(tmp_path / "p", CONFIG, sources(8))
    assert made.run("baseline", "update").code == 0
    slow = CONFIG.replace("cc -Os -c extra.c &&", "sleep 30;").replace(
        "    ign", "    timeout: 1\n    ign"
    )
    assert slow.count("sleep") == slow.count("timeout") == 1
    made.write({"sizeguard.yaml": slow})
    made.commit("Review")
    result = known(made, "--build", "--app", "app.one")
    assert [point["source"] for point in result["points"]] == ["measured", "baseline"]
    assert "did not end within 1 s" in result["points"][1]["why"]
    assert "not built: 1" in made.run("history", "--build", "--app", "app.one").out


def test_what_history_writes_is_ignored_by_git(tmp_path: Path, native_tools: None) -> None:
    made = made_project(tmp_path / "p", CONFIG, sources(8))
    assert made.run("history", "--build").code == 0
    assert made.git("status", "--porcelain") == ""


def test_what_the_first_builds_measured_is_known_later(tmp_path: Path, native_tools: None) -> None:
    """The first builds know of no reads; later keys have the files that they read."""
    made = made_project(tmp_path / "p", CONFIG, sources(8))
    first = known(made, "--build")
    assert first["builds"] == 1
    assert known(made)["points"] == first["points"]


def test_without_git_there_is_no_history(tmp_path: Path) -> None:
    (tmp_path / "sizeguard.yaml").write_text("apps:\n  found:\n    image: image\n")
    done = AnyProject(tmp_path).run("history")
    assert done.code == 3
    assert "no history" in done.err


def test_each_commit_is_built_by_its_own_commands(tmp_path: Path, native_tools: None) -> None:
    """By the last commit's commands the sizes were others, and were stored for the gate, too."""
    config = "apps:\n  app:\n    build: cc {} -o app main.c\n    image: app\n"
    made = made_project(tmp_path / "p", config.format("-DROOM=5000"), {"main.c": _ROOM})
    made.write({"sizeguard.yaml": config.format("-DROOM=1000")})
    made.commit("Less room")
    for _ in range(2):
        points = known(made, "--build", "--commits")["points"]
        first, last = (point["load"] for point in points)
        assert 3900 < first - last < 4100


_ROOM = "const char room[ROOM] = {1};\nint main(int n, char **v) { return room[n]; }\n"
