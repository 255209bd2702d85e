"""A gate of many apps does their common work once."""

from __future__ import annotations

import functools
import subprocess
import sys
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import pytest

import sizeguard.projects.steps.commit_steps
from sizeguard.gate.reference.history import History
from sizeguard.gate.selection import all_apps
from sizeguard.measurement.measured_commits import measurement_key
from sizeguard.projects.any_build import recipe_of_app
from sizeguard.projects.project import Config
from sizeguard.projects.reader import read_config
from sizeguard.runtimes.sizeguard import native_tree
from sizeguard.snapshots.store import Store
from sizeguard.toolchains.read_files import ReadFiles
from tests.support.tricks.any_project import AnyProject, made_project

APP = """\
  app{number}:
    build: mkdir -p out && cp made out/app{number}
    image: out/app{number}
"""
HEAD = """\
targets:
  x86_64-linux:
limits:
  load: {growth: "max(1%, 256B)"}
apps:
"""


def project_of(folder: Path, apps: int) -> AnyProject:
    """Make a project whose apps are copies of one program, with reviewed sizes."""
    source = folder / "made.c"
    source.write_text("int main(void) { return 0; }\n")
    made = folder / "made"
    subprocess.run(["cc", "-Os", source, "-o", made], check=True)
    config = HEAD + "".join(APP.format(number=number) for number in range(apps))
    project = made_project(folder / "project", config, {".gitignore": "out/\n"})
    (project.root / "made").write_bytes(made.read_bytes())
    project.commit("Add the program")
    assert project.run("baseline", "update").code == 0
    project.commit("Review the sizes")
    return project


def forget() -> None:
    """Clear all caches of functions, as a new process begins."""
    ours = [module for name, module in sys.modules.items() if name.startswith("sizeguard.")]
    for module in ours:
        for each in vars(module).values():
            if isinstance(each, functools._lru_cache_wrapper):
                each.cache_clear()


def command_of(arguments: object) -> str:
    """Return a program's name; for git, the subcommand."""
    assert isinstance(arguments, list)
    program, *words = map(str, arguments)
    while words and words[0] in ("-c", "-C"):
        del words[:2]
    return f"git {words[0]}" if program == "git" else Path(program).name


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Count processes by their commands, and parsed configurations of commits."""
    found: Counter[str] = Counter()
    start, parse = subprocess.Popen.__init__, sizeguard.projects.steps.commit_steps.parse_config

    def started(self: subprocess.Popen[bytes], *given: object, **named: object) -> None:
        found[command_of(given[0] if given else named["args"])] += 1
        start(self, *given, **named)  # type: ignore[call-overload]

    def parsed(root: Path, data: bytes) -> Config:
        found["configurations"] += 1
        return parse(root, data)

    monkeypatch.setattr(subprocess.Popen, "__init__", started)
    monkeypatch.setattr(sizeguard.projects.steps.commit_steps, "parse_config", parsed)
    return found


def of_second_gate(folder: Path, apps: int, counted: Counter[str]) -> Counter[str]:
    """Gate a new project twice, and return what the second run starts and parses."""
    folder.mkdir()
    project = project_of(folder, apps)
    assert project.run("gate").code == 0
    forget()
    counted.clear()
    again = project.run("gate", "--again")
    assert again.code == 0, again.err
    assert f"PASS  {apps} builds" in again.out
    return counted.copy()


@pytest.mark.native
def test_more_apps_start_no_more_processes(tmp_path: Path, counted: Counter[str]) -> None:
    """The lesser of two runs: a build that waits for the machine too long is measured again."""
    few, many = (
        min(
            (of_second_gate(tmp_path / f"{apps}-{run}", apps, counted) for run in range(2)),
            key=Counter.total,
        )
        for apps in (2, 5)
    )
    assert few == many
    assert few.total() > few["configurations"] > 0


@pytest.mark.native
def test_a_new_read_of_a_build_changes_the_key_of_a_commit(tmp_path: Path) -> None:
    """A gate keeps keys for its run; files that builds show meanwhile count nevertheless."""
    config = HEAD + APP.format(number=0)
    project = made_project(tmp_path / "project", config, {"made": "one", "other": "two"})
    history = History(project.root, Store(tmp_path / "store"))
    app, commit = read_config(project.root).apps[0], project.git("rev-parse", "HEAD")
    recipe = recipe_of_app(app, "x86_64-linux", history.place.store.folder)
    assert recipe is not None
    keys = [history.key(commit, recipe)]
    for files in ({"made"}, {"made"}, {"other"}):
        assert recipe._known_reads is not None
        recipe._known_reads.add(ReadFiles(frozenset(files)))
        keys.append(history.key(commit, recipe))
        assert keys[-1] == measurement_key(history.place, commit, recipe)
    assert keys[1] == keys[2]
    assert len({*keys}) == 3
    project.write({"other": "changed"})
    assert history.key(project.commit("Change"), recipe) != keys[-1]
    assert history.key("HEAD", recipe) == measurement_key(history.place, "HEAD", recipe)


def test_the_apps_of_a_gate_share_the_prices_of_their_full_build(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    full = SimpleNamespace(image=tmp_path / "run_program", lto="", target="x86_64-linux")
    subject = SimpleNamespace(file=SimpleNamespace(selection=None))
    seen: list[object] = []
    for name, value in {
        "full_build": lambda *_: SimpleNamespace(**vars(full)),
        "kernel_calls": lambda *_: None,
        "read_subject": lambda *_: subject,
        "lint_findings": lambda *_: (),
        "replace": lambda old, **_: old,
        "check_selection": lambda *given: seen.append(given[-1].keywords["prices"]) or (),
        "check_call_table": lambda *_: (),
        "_stale": lambda *_: (),
    }.items():
        monkeypatch.setattr(all_apps, name, value)
    tree = SimpleNamespace(translated=lambda _: None, call_table=lambda: None)
    monkeypatch.setattr(all_apps, "source_tree", lambda *_: (None, tree))
    apps = [SimpleNamespace(name=name, models=()) for name in "abc"]
    found, problems = all_apps.check_selections(tmp_path, apps, [full], None, tracer=object())  # type: ignore[arg-type, list-item]
    assert (found, problems) == ((), ())
    assert len(seen) == 3
    assert len({*map(id, seen)}) == 1


def test_calls_and_names_are_read_again_after_a_change(tmp_path: Path) -> None:
    folder = tmp_path / "native" / "operators"
    folder.mkdir(parents=True)
    assert native_tree.op_deps(tmp_path) is None
    assert native_tree.pytorch_names(tmp_path).operators == {}
    for called in ("aten::b", "aten::cc"):
        (folder / "op_deps.yaml").write_text(
            f"- name: aten::a\n  depends:\n    - name: {called}\n- name: {called}\n"
        )
        (folder / "pytorch_names.yaml").write_text(f"operators:\n  aten::x: {called}\n")
        deps = native_tree.op_deps(tmp_path)
        assert deps is not None
        assert deps.calls["aten::a"] == {called}
        assert native_tree.op_deps(tmp_path) is deps
        assert native_tree.pytorch_names(tmp_path).operators == {"aten::x": called}
