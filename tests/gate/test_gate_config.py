"""Test how sizeguard.yaml is read, the positions of errors, and the published schema."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest
import yaml

from sizeguard.base.errors import InputError
from sizeguard.gate.policy.read_limits import read_limits
from sizeguard.measurement.metric_names import MetricNames, matches
from sizeguard.projects.project import App, Target
from sizeguard.projects.reader import read_config
from sizeguard.toolchains.targets import host_target
from tests.support.places import ROOT

SCHEMA = json.loads((ROOT / "sizeguard" / "report" / "schemas" / "config.schema.json").read_text())
APPS = "apps:\n  a: {selection: s.yaml, models: [m.pt2]}\n"


def written(folder: Path, root: Path, text: str) -> Path:
    """Make a source tree with this configuration, which may use the runtime's names."""
    (folder / "sizeguard.yaml").write_text(text)
    if not (folder / "native").exists():
        (folder / "native").symlink_to(root / "native")
    return folder


def test_what_a_configuration_means(tmp_path: Path, root: Path) -> None:
    text = """
base: origin/stable
targets:
  x86_64-linux:
  cross: {machine: aarch64-linux, compiler: gcc, linker: mold, optimize: 2, link: static, lto: full}
  arm64-macos:
    run: false
    limits: {file: 60 KiB}
limits:
  load: {growth: "max(1%, 512B)", creep: "2% since v1.0"}
  operator/aten::*: {growth: 256B}
growth:
  ram: 1%
apps:
  a:
    selection: a/s.yaml
    models: [m.pt2]
    limits:
      load: 41,000 B
  b:
    selection: b/s.yaml
    models: []
    targets: {cross: {limits: {dtype/Double: 0}}, x86_64-linux: }
"""
    config = read_config(written(tmp_path, root, text))
    assert config.base == "origin/stable"
    assert config.targets == (
        Target("x86_64-linux", "x86_64-linux", place="sizeguard.yaml:4:3"),
        Target(
            "cross",
            "aarch64-linux",
            "gcc",
            "mold",
            "2",
            "static",
            "full",
            place="sizeguard.yaml:5:3",
        ),
        Target("arm64-macos", "arm64-macos", run=False, place="sizeguard.yaml:6:3"),
    )
    every = ("x86_64-linux", "cross", "arm64-macos")
    assert config.apps[0] == App(
        "a", tmp_path / "a/s.yaml", (tmp_path / "m.pt2",), every, "sizeguard.yaml:16:5"
    )
    assert config.apps[1].targets == ("cross", "x86_64-linux")
    said = {
        (limit.metric, limit.kind, limit.app, limit.target, limit.allowance.text, limit.since)
        for limit in read_limits(config, MetricNames(root))
    }
    assert said == {
        ("file", "absolute", "", "arm64-macos", "60 KiB", ""),
        ("load", "growth", "", "", "max(1%, 512B)", ""),
        ("load", "creep", "", "", "2%", "v1.0"),
        ("operator/aten::*", "growth", "", "", "256B", ""),
        ("ram", "growth", "", "", "1%", ""),
        ("load", "absolute", "a", "", "41,000 B", ""),
        ("dtype/Double", "absolute", "b", "cross", "0", ""),
    }
    jsonschema.validate(yaml.safe_load(text), SCHEMA)


def test_without_targets_it_is_this_machine(tmp_path: Path, root: Path) -> None:
    config = read_config(written(tmp_path, root, APPS))
    assert config.targets == (Target(host_target(), host_target()),)
    assert config.apps[0].targets == (host_target(),)


# Wrong text, message, and whether the schema rejects it, too.
WRONG = [
    ("", r"sizeguard\.yaml: is empty", True),
    ("apps: [a]", r"sizeguard\.yaml:1:7: apps is a table", True),
    ("aps: {}", r"sizeguard\.yaml:1:1: unknown key 'aps'; nearest is 'apps'", True),
    ("growth: {load: 1%}", "names no apps; sizeguard init", True),
    ("apps: {}", r"sizeguard\.yaml:1:7: names no apps; sizeguard init", True),
    ("apps:\n  a: {models: [m.pt2]}", r"sizeguard\.yaml:2:6: app a needs selection", True),
    ("apps:\n  a: {selection: s, models: m}", r"sizeguard\.yaml:2:29: models is a list", True),
    (
        "apps:\n  a: {selection: s, models: [m], targts: [x]}",
        r"2:34: unknown key 'targts'; nearest is 'targets'",
        True,
    ),
    ("apps:\n  full: {selection: s, models: [m]}", r"2:3: 'full' is not an app name", True),
    (
        "apps:\n  a: {selection: ../s, models: [m]}",
        r"2:18: '\.\./s' is not a path inside the source tree",
        False,
    ),
    (
        "apps:\n  a: {selection: s, models: [m], targets: [nowhere]}",
        r"2:44: unknown 'nowhere'; there is x86_64-linux",
        False,
    ),
    (
        APPS + "growth: {opertor: 1%}",
        r"sizeguard\.yaml:3:10: unknown metric 'opertor'; nearest is 'operator/…'",
        True,
    ),
    (
        f"apps: {{a: {{image: build/{'a' * 256}}}}}",
        r"1:19: no file has a name of more than 255 bytes",
        False,
    ),
    (APPS + "growth: {load: many}", r"sizeguard\.yaml:3:16: 'many' is not a limit", True),
    (APPS + "limits: {load: '4,096'}", r"3:16: '4,096' has no unit; write 4,096 B", True),
    (APPS + "limits: {load: 1%}", r"3:16: '1%' is not a size in whole bytes; write 41,000 B", True),
    (APPS + "limits: {load: [1]}", r"3:16: a limit is a size, or a table", True),
    (APPS + "limits: {load: {}}", r"3:16: a limit has max, growth or creep", True),
    (
        APPS + "limits: {load: {creep: 1%}}",
        r"3:24: '1%' is not a creep limit; write max\(2%, 1 KiB\) since TAG",
        True,
    ),
    (APPS + "limits: {load: {grwth: 1%}}", r"3:17: unknown key 'grwth'; nearest is 'growth'", True),
    (
        APPS + "limits:\n  opertor/aten::add: 0",
        (
            r"sizeguard\.yaml:4:3: unknown metric 'opertor/aten::add'; nearest is"
            r" 'operator/aten::add\.Tensor'"
        ),
        True,
    ),
    (APPS + "limits:\n  laod: 0", r"4:3: unknown metric 'laod'; nearest is 'load'", True),
    (APPS + "limits: {load: {max: 1, unknown: yes}}", r"unknown 'yes'; there is ok", True),
    (APPS + "limits: {load: {unknown: ok}}", r"a limit has max, growth or creep", False),
    (APPS + "limits:\n  operator/atn::*: 0", r"4:3: 'operator/atn::\*' matches no operator", False),
    (APPS + "limits:\n  operator/: 0", r"4:3: 'operator/' names no operator", True),
    (
        APPS + "limits: {load: {growth: 1%}}\ngrowth: {load: 2%}",
        r"4:16: duplicate growth limit of load, also at sizeguard\.yaml:3:25",
        False,
    ),
    (
        APPS + "targets: {x86_64-lin: {}}",
        r"3:11: unknown target 'x86_64-lin'; nearest is 'x86_64-linux'",
        False,
    ),
    (
        APPS + "targets: {x: {machine: arm64-mac}}",
        r"3:24: unknown target 'arm64-mac'; nearest is 'arm64-macos'",
        False,
    ),
    (
        APPS + "targets: {x86_64-linux: {compiler: gc}}",
        r"3:36: unknown 'gc'; nearest is 'gcc'",
        True,
    ),
    (APPS + "targets: {x86_64-linux: {run: maybe}}", r"3:31: expected true or false", True),
    (APPS + "targets: {}", r"3:10: names no targets", True),
    ("apps: [", r"sizeguard\.yaml:2: not YAML", True),
    ("apps: {a: &x {selection: *x}}", r"alias \*x names nothing before it", True),
    ("[" * 400, r"nested more than 16 deep", True),
]


@pytest.mark.parametrize(
    ("metric", "nearest"),
    [
        ("operator/aten::ad.Tensor", "operator/aten::add.Tensor"),
        ("dtype/Flot", "dtype/Float"),
        ("kernel/convolutio", "kernel/convolution"),
        ("component/kernel", "component/kernels"),
        ("operator/aten::qqqqqqqqq", ""),  # nothing is like it
        ("operator/aten::add", None),  # all of its overloads
        ("symbol/nobody", None),  # only a build has the symbols
    ],
)
def test_an_unknown_name_is_kept_for_the_check(
    tmp_path: Path, root: Path, metric: str, nearest: str | None
) -> None:
    text = f"{APPS}limits:\n  {metric}: {{max: 0, unknown: ok}}\n"
    (limit,) = read_limits(read_config(written(tmp_path, root, text)), MetricNames(root))
    assert (limit.metric, limit.nearest, limit.unknown_ok) == (metric, nearest, True)


@pytest.mark.parametrize(("text", "message", "schema_sees_it"), WRONG)
def test_a_wrong_configuration_is_named_with_its_place(
    tmp_path: Path, root: Path, text: str, message: str, schema_sees_it: bool
) -> None:
    with pytest.raises(InputError, match=message) as error:
        read_limits(read_config(written(tmp_path, root, text)), MetricNames(root))
    assert "\n" not in str(error.value)
    try:
        content = yaml.safe_load(text)
    except (yaml.YAMLError, RecursionError):
        return
    valid = jsonschema.Draft202012Validator(SCHEMA).is_valid(content)
    assert valid != schema_sees_it


@pytest.mark.parametrize("command", [["gate"], ["gate", "--again"], ["baseline", "update"]])
@pytest.mark.parametrize(
    ("limits", "message"),
    [
        ("limits: {lod: 1 KiB}", "3:10: unknown metric 'lod'; nearest is 'load'"),
        ("growth: {load: many}", "3:16: 'many' is not a limit"),
        ("limits: {load: {creep: 1%}}", "3:24: '1%' is not a creep limit"),
        (
            "limits: {load: {creep: {since: v9, max: 2%}}}",
            "3:24: creep is text, not a list or a table; write max(2%, 1 KiB) since TAG",
        ),
        (
            "limits: {load: {growth: [1%]}}",
            "3:25: growth is text, not a list or a table; write max(1%, 512B), 1% or 512B",
        ),
    ],
)
def test_a_wrong_limit_ends_a_command_before_anything_is_built(
    tmp_path: Path,
    root: Path,
    command: list[str],
    limits: str,
    message: str,
) -> None:
    written(tmp_path, root, APPS + limits)
    run = subprocess.run(
        [sys.executable, "-m", "sizeguard", *command, "--runtime-source", str(root)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert (run.returncode, run.stdout) == (2, "")
    assert run.stderr.startswith("error: ")
    assert f"sizeguard.yaml:{message}" in run.stderr
    assert run.stderr.count("\n") == 1
    assert not (tmp_path / "build").exists()


def test_this_projects_configuration(root: Path) -> None:
    config = read_config(root)
    assert read_limits(config, MetricNames(root))
    names = ["vision", "language"]
    assert [app.name for app in config.apps] == [*names, *(f"shared.{name}" for name in names)]
    assert [(target.name, target.run) for target in config.targets] == [
        ("x86_64-linux", True),
        ("aarch64-linux", True),
        ("x86_64-linux-lto", True),
        ("arm64-macos", False),
    ]
    for app in config.apps:
        claimed = {root / app.claimed(target) for target in app.steps}
        assert all(path.is_file() for path in (claimed if app.steps else {app.selection}))
        assert all(model.is_file() for model in app.models)
    jsonschema.validate(yaml.safe_load((root / "sizeguard.yaml").read_text()), SCHEMA)


def test_the_schema_is_one() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


def test_families_are_of_whole_names() -> None:
    assert matches("operator/*", "operator/aten::add.Tensor")
    assert matches("operator/aten::*", "operator/aten::add.Tensor")
    assert not matches("operator/aten::*", "operator/quantized::add")
    assert not matches("operator/*", "kernel/add")
    assert not matches("operator/aten::add", "operator/aten::add.Tensor")
    assert not matches("symbol/*", "symbol/x")  # a sum of symbols, not a family
    assert matches("symbol/f[abi:cxx11]*", "symbol/f[abi:cxx11]*")


def test_every_name_that_is_known_is_no_problem(root: Path) -> None:
    names = MetricNames(root)
    paths = [
        f"{level}/{name}"
        for level in ("component", "operator", "kernel", "dtype")
        for name in names.names(level)
    ]
    assert len(paths) > 200
    assert not [path for path in paths if names.problem(path)]
    assert not [
        path
        for path in ("load", "page_slack", "section/.text", "symbol/x*", "dtype/Float+Bool")
        if names.problem(path)
    ]
    assert all(
        re.search("nearest is|there are load, ram|matches no|names no", names.problem(path))
        for path in ("lod", "load/x", "wibble", "kernel/zz*")
    )


def test_surplus_is_noted_unless_it_fails(tmp_path: Path) -> None:
    file = tmp_path / "sizeguard.yaml"
    for text, mode in (("", "note"), ("surplus: note\n", "note"), ("surplus: fail\n", "fail")):
        file.write_text(text + APPS)
        assert read_config(tmp_path).surplus == mode
        jsonschema.validate(yaml.safe_load(file.read_text()), SCHEMA)
    file.write_text("surplus: fails\n" + APPS)
    with pytest.raises(InputError, match="unknown 'fails'; nearest is 'fail'"):
        read_config(tmp_path)


@pytest.mark.parametrize(
    "limits",
    [
        "{load: {growth: max(1%, 256B)}, symbol/std::regex*: 0}",
        "{symbol/std::regex*: 0, load: {growth: max(1%, 256B)}}",
        "{load: {growth: max(256B, 1%), max: 40 KiB}, symbol/std::regex*: 0}",
        '{load: {growth: "max(1%, 256B)"}, symbol/std::regex*: 0}',
    ],
)
def test_a_limit_in_a_flow_mapping_keeps_its_commas(tmp_path: Path, limits: str) -> None:
    (tmp_path / "sizeguard.yaml").write_text(
        "targets: {x86_64-linux: }\napps:\n"
        f"  a:\n    build: make\n    image: a\n    limits: {limits}\n"
    )
    limits_read = read_limits(read_config(tmp_path), MetricNames(None))
    found = {(limit.metric, limit.kind): limit.allowance for limit in limits_read}
    growth = found["load", "growth"]
    assert (growth.milli_percent, growth.bytes) == (1000, 256)
    assert found["symbol/std::regex*", "absolute"].bytes == 0


def test_an_open_bracket_joins_nothing_but_values_that_are_missing(tmp_path: Path) -> None:
    (tmp_path / "sizeguard.yaml").write_text(
        "apps:\n  a:\n    {build: make, image: a, limits: {load: {growth: max(1%, max: 40 KiB}}}\n"
    )
    config = read_config(tmp_path)
    with pytest.raises(InputError, match=r"sizeguard\.yaml:3:"):
        read_limits(config, MetricNames(None))
