"""A project's own rules in sizeguard.yaml: a list or a file, in reports and in the gate."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sizeguard.base.errors import InputError
from sizeguard.projects.reader import parse_config, read_config
from tests.support.tricks.any_project import AnyProject

LIST = '- {symbol: "zip*", component: zipping}\n'
APP = "apps:\n  p: {build: gcc -Os main.c -o p, image: p, limits: {component/zipping: 40 B}}\n"
MAIN = "int zip_it(int n) { return n * 7 + 1; }\nint main(int n, char **v) { return zip_it(n); }\n"


def config(rules: str) -> str:
    return f"rules: {rules}\n{APP}"


def indented() -> str:
    return "\n" + "".join(f"  {line}\n" for line in LIST.splitlines())


@pytest.mark.native
@pytest.mark.parametrize("form", ["list", "file"])
def test_the_gate_limits_components_of_own_rules(
    tmp_path: Path, native_tools: None, form: str
) -> None:
    project = AnyProject(tmp_path)
    project.write({"main.c": MAIN, "rules.yaml": f"rules:\n{LIST}", ".gitignore": "/p\n"})
    project.write({"sizeguard.yaml": config(indented() if form == "list" else "rules.yaml")})
    project.git("init", "--quiet", "--initial-branch=main")
    project.commit("Begin")
    project.git("checkout", "--quiet", "-b", "more")
    project.write({"main.c": MAIN.replace("+ 1", "+ n / 13 % 1009 / 17")})
    project.commit("Divide")
    done = project.run("gate", "--format", "json")
    assert done.code == 1, done.err
    checks = {each["metric"]: each for each in json.loads(done.out)["checks"]}
    found = checks["component/zipping"]
    assert found["verdict"] == "fail" and found["actual"] > 40
    build = ".sizeguard/builds/p.x86_64-linux"
    for path in (build, f"{build}/p"):  # the build's folder, and the image in it
        shown = project.run("report", path, "--by", "component", "--format", "json")
        rows = {row["component"]: row["load"] for row in json.loads(shown.out)["rows"]}
        assert rows["zipping"] == found["actual"]
    # With another component name the limit matches nothing, and the new rules change the terms.
    for name in ("sizeguard.yaml", "rules.yaml"):
        path = project.root / name
        path.write_text(path.read_text().replace("component: zipping", "component: other"))
    project.commit("Call it otherwise")
    result = json.loads(project.run("gate", "--format", "json").out)
    assert result["verdict"] != "pass"
    assert [each["what"] for each in result["policy_changes"]] == ["rules changed"]
    assert all(each["loosens"] for each in result["policy_changes"])


def test_rules_of_a_commit_need_no_file(tmp_path: Path) -> None:
    text = config("gone.yaml")
    assert parse_config(tmp_path, text.encode()).rules_file == "gone.yaml"
    (tmp_path / "sizeguard.yaml").write_text(text)
    with pytest.raises(InputError, match=r"^sizeguard\.yaml: rules: gone\.yaml: no such file"):
        read_config(tmp_path)


@pytest.mark.parametrize(
    ("rules", "words"),
    [
        ("[{symbol: a}]", "sizeguard.yaml:1: a rule by section, object, source, symbol needs"),
        ("[{smybol: a, component: b}]", "sizeguard.yaml:1"),
        ("{symbol: a}", "sizeguard.yaml:1: rules is a list, or the path of a file"),
        ("../rules.yaml", "a path inside the source tree"),
    ],
)
def test_wrong_rules_are_named(tmp_path: Path, rules: str, words: str) -> None:
    (tmp_path / "sizeguard.yaml").write_text(config(rules))
    with pytest.raises(InputError) as error:
        read_config(tmp_path)
    assert words in str(error.value)
