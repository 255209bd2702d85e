"""A user's own rules by source, section, object and symbol, on a linked program."""

from __future__ import annotations

import datetime
import json
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ci.results.judged_result import judged_again
from sizeguard.attribution.teams.placed_components import placed_components
from sizeguard.base.errors import InputError
from sizeguard.columns.label import Label
from sizeguard.columns.texts import Texts
from sizeguard.names.rules import PlaceRule
from sizeguard.names.rules_reader import read_preset
from tests.support.places import ROOT
from tests.support.services.documents import blocks_of
from tests.support.tricks.any_project import AnyProject, made_project

SOURCES = {
    "third_party/zip.cpp": "int zip(int n) { return n * 7 + 1; }\n",
    "src/crc.cpp": "int crc(int n) { return n ^ 0x1234; }\n",
    "src/main.cpp": (
        "int zip(int n); int crc(int n);\n"
        "extern const int table_of_bytes[64] = {1, 2, 3};\n"
        "namespace app { __attribute__((noinline)) int run(int n) {"
        " return zip(n) + crc(n) + table_of_bytes[n & 63]; } }\n"
        "int main(int n, char**) { return app::run(n); }\n"
    ),
}
BUILD = """
for f in third_party/zip src/crc src/main; do g++ -g -O1 -c $f.cpp -o $f.o; done
ar rc libcrc.a src/crc.o && g++ third_party/zip.o src/main.o libcrc.a -o app -Wl,-Map,app.map
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory, native_tools: None) -> AnyProject:
    made = AnyProject(tmp_path_factory.mktemp("places"))
    made.write(SOURCES)
    subprocess.run(["/bin/sh", "-ec", BUILD], cwd=made.root, check=True)
    page = ROOT / "docs" / "extending.md"
    made.write({"rules.yaml": next(b.text for b in blocks_of(page) if b.language == "yaml")})
    return made


def reported(project: AnyProject, *arguments: str) -> dict[str, Any]:
    by = ("--by", "component,symbol", "--map", "app.map", "--format", "json")
    done = project.run("report", "app", *by, *arguments)
    assert done.code == 0, done.err
    result: dict[str, Any] = json.loads(done.out)
    assert sum(row["load"] for row in result["rows"]) == result["totals"]["load"]
    return result


def component_of(result: dict[str, Any], symbol: str) -> str:
    loaded = [row for row in result["rows"] if row["load"] and symbol in row["symbol"]]
    found = {row["component"] for row in loaded}
    assert len(found) == 1
    return str(found.pop())


def test_the_example_of_the_documentation(project: AnyProject) -> None:
    result = reported(project, "--rules", "rules.yaml")
    found = {name: component_of(result, name) for name in ("zip", "crc", "table_of", "app3run")}
    assert found == {
        "zip": "third party", "crc": "checksums", "table_of": "tables", "app3run": "app"
    }  # fmt: skip
    assert result["rules"] == "your own"
    assert component_of(result, "main") == ""
    without = reported(project)
    assert without["rules"] == ""
    assert {component_of(without, name) for name in found} == {""}


def test_the_first_rule_that_fits_decides(project: AnyProject, tmp_path: Path) -> None:
    rules = tmp_path / "rules.yaml"
    lines = '- {source: "*main*", component: one}\n- {symbol: "*", component: two}\n'
    rules.write_text(f"rules:\n{lines}")
    result = reported(project, "--rules", str(rules))
    assert (component_of(result, "app3run"), component_of(result, "crc")) == ("one", "two")
    rules.write_text('rules: [{source: "*main*", symbol: "nothing*", component: one}]\n')
    assert component_of(reported(project, "--rules", str(rules)), "app3run") == ""


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        (
            "{source: a}",
            "rules.yaml:2: a rule by section, object, source, symbol needs a component",
        ),
        ("{source: a, operator: aten::add}", "unknown field 'operator'"),
        ("{sorce: a, component: b}", "nearest is 'source'"),
        ("{section: , component: b}", "expected a text"),
        ("{source: a, source: b, component: c}", "duplicate field source"),
    ],
)
def test_a_wrong_rule_is_named(tmp_path: Path, rule: str, words: str) -> None:
    file = tmp_path / "rules.yaml"
    file.write_text(f"rules:\n  - {rule}\n")
    with pytest.raises(InputError, match=r"rules\.yaml:2") as error:
        read_preset(file)
    assert words in str(error.value)


def test_a_symbol_too_long_to_show_fits_a_pattern() -> None:
    pairs = "".join(f"ENS1_IiS{i}_EEE" for i in "3579BD")
    template = f"NS_19Expression_templateI{'NS1_I' * 6}fNS1_IifEEE{pairs}EE"
    symbols = Label(np.arange(2, dtype=np.int32), Texts.of([f"_ZN2ns3runI{template}EiPT_", "main"]))
    before = Label(np.zeros(2, np.int32), Texts.of(["other"]))
    rule = PlaceRule("rules.yaml:1", (("symbol", "*ns::run*"),), "mine")
    found = placed_components(before, [rule], lambda _: symbols)
    assert [found.texts[i] for i in found.ids] == ["mine", "other"]


GATED = """rules:
  - {source: "*third_party/*", component: zip}
  - {namespace: app, component: run}
limits: {component/zip: 1 KiB, component/run: 100 B}
apps: {app: {build: sh build.sh, image: app}}
"""


@pytest.mark.native
def test_a_component_whose_names_are_gone_has_no_known_size(tmp_path: Path) -> None:
    """Without -g no source is told, and with -s no namespace; both seemed to be 0 bytes."""
    build = "g++ -g -O1 src/main.cpp src/crc.cpp third_party/zip.cpp -o app\n"
    project = made_project(tmp_path, GATED, {**SOURCES, "build.sh": build, ".gitignore": "app\n"})
    project.write({"build.sh": build.replace("-g -O1", "-O1 -s")})
    done = project.run("gate", "--base", "main", "--format", "json")
    result = json.loads(done.out)
    assert not result["problems"], result["problems"]
    checks = {each["metric"]: each for each in result["checks"]}
    assert done.code == 3
    for name, advice in (("zip", "compile with -g"), ("run", "measure the image before it is")):
        check = checks[f"component/{name}"]
        assert (check["verdict"], check["actual"]) == ("inconclusive", 0)
        assert advice in check["advice"]
    assert judged_again(done.out.encode(), datetime.date.today()).against == ()


@pytest.mark.native
def test_a_component_that_lost_some_sources_has_no_known_size(tmp_path: Path) -> None:
    build = "g++ -g -O1 -c third_party/zip.cpp -o zip.o\ng++ -g -O1 src/*.cpp zip.o -o app\n"
    config = GATED.replace("component/zip: 1 KiB", "component/zip: {growth: 10 B}")
    project = made_project(tmp_path, config, {**SOURCES, "build.sh": build, ".gitignore": "app\n"})
    zip_ = SOURCES["third_party/zip.cpp"].replace(
        "return", f"volatile int v = n; {'v = v * 3; ' * 9}return v +"
    )
    for less, verdict in (("-g -O1 -c", "fail"), ("-O1 -c", "inconclusive")):
        project.write({"third_party/zip.cpp": zip_, "build.sh": build.replace("-g -O1 -c", less)})
        found = json.loads(project.run("gate", "--base", "main", "--format", "json").out)
        check = next(each for each in found["checks"] if each["metric"] == "component/zip")
        assert check["verdict"] == verdict, check
