"""Measurements of commits.

Metrics of an analysis, the store, hashes of build inputs, worktrees, and builds in them.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sizeguard.attribution.open_analysis import analysis_of
from sizeguard.base.errors import BuildError, InputError
from sizeguard.builds.build_inputs import BuildInputs
from sizeguard.builds.measured_sizes import measure
from sizeguard.git.trees import Scope, check_scope, tree_hash
from sizeguard.git.worktrees import MARKER, remove_worktrees, worktree
from sizeguard.measurement.measured_commits import (
    MeasurementPlace,
    measure_commit,
    measurement_key,
    try_commit,
)
from sizeguard.measurement.metric import (
    NAMED,
    PARTITIONS,
    TOTALS,
    Metric,
    bucket_vector,
    known_metrics,
    metric_value,
    nearest_metric,
    parse_metric,
)
from sizeguard.measurement.store_place import project_store
from sizeguard.projects.command import CommandRecipe, check_command
from sizeguard.runtimes.sizeguard.building.commit_config import selection_in, target_in
from sizeguard.runtimes.sizeguard.building.commit_inputs import runtime_hash
from sizeguard.runtimes.sizeguard.building.native_recipe import RuntimeRecipe, _elsewhere
from sizeguard.snapshots.store import FOLDER_VARIABLE, Store, content_key
from sizeguard.toolchains.recipe import DoesNotBuildError, Limits
from sizeguard.toolchains.toolchain import Toolchain, find_toolchain
from tests.support.histories.small_history import SmallRepository, state_of_checkout
from tests.support.tricks.any_project import made_project


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory, native_tools: None) -> Path:
    folder = tmp_path_factory.mktemp("program")
    source = folder / "a.cpp"
    source.write_text(
        "template <class T> __attribute__((noinline)) T twice(T x) { return x + x; }\n"
        "char table[300];\n"
        "int main(int n, char**) { return twice(n) + (int)twice((double)n) + table[n]; }\n"
    )
    subprocess.run(["g++", "-Os", str(source), "-o", str(folder / "a")], check=True)
    subprocess.run(["strip", "-o", str(folder / "a.stripped"), str(folder / "a")], check=True)
    return folder / "a"


@pytest.mark.parametrize(
    ("text", "nearest"),
    [
        ("opertor/aten::add", "operator/aten::add"),
        ("lod", "load"),
        ("load/x", "load"),
        ("operator/", "operator/NAME"),
        ("page-slack", "page_slack"),
        ("Section/.text", "section/.text"),
    ],
)
def test_wrong_metrics_name_the_nearest(text: str, nearest: str) -> None:
    with pytest.raises(InputError, match=r"^policy:3: ") as raised:
        parse_metric(text, "policy:3")
    assert str(raised.value).endswith(f"'{nearest}'")


def test_overloads_are_suggested_and_never_guessed() -> None:
    known = ["operator/aten::add.Tensor", "operator/aten::addmm", "dtype/Float"]
    assert (
        nearest_metric(parse_metric("operator/aten::add.Tenso", "x"), known)
        == "operator/aten::add.Tensor"
    )
    assert nearest_metric(parse_metric("dtype/zzzzzz", "x"), known) == ""
    assert [str(parse_metric(text, "x")) for text in ("ram", "symbol/*a/b*", "section/.text")] == [
        "ram",
        "symbol/*a/b*",
        "section/.text",
    ]


@given(st.text(max_size=30))
def test_any_text_is_a_metric_or_one_line(text: str) -> None:
    try:
        metric = parse_metric(text, "--metric")
    except InputError as error:
        assert "\n" not in str(error)
        return
    assert str(metric) == text
    assert metric.kind in (*TOTALS, *NAMED)


def test_metrics_agree_with_size_and_nm(program: Path) -> None:
    analysis = analysis_of(program)
    sections = {}
    for line in subprocess.run(
        ["readelf", "-SW", str(program)], capture_output=True, text=True, check=True
    ).stdout.splitlines():
        words = line.replace("[ ", "[").split()
        if len(words) > 7 and words[0].startswith("[") and words[1].startswith("."):
            sections[words[1]] = int(words[5], 16), words[7]
    sizes = measure(program)
    assert [metric_value(analysis, Metric(name)) for name in TOTALS] == [
        sizes.load,
        sizes.ram,
        sizes.file,
        sizes.page_slack,
    ]
    for name, (size, flags) in sections.items():
        assert metric_value(analysis, Metric("section", name)) == (
            size if "A" in flags and name != ".tbss" else 0
        ), name
    assert metric_value(analysis, Metric("section", ".nothing")) == 0
    symbols = [
        line.split()
        for line in subprocess.run(
            ["nm", "-S", str(program)], capture_output=True, text=True, check=True
        ).stdout.splitlines()
    ]
    code = sum(int(words[1], 16) for words in symbols if len(words) == 4 and "twice" in words[3])
    by_name = metric_value(analysis, Metric("symbol", "*twice<*"))
    assert by_name >= code > 0  # it includes unwind entries
    assert by_name == metric_value(analysis, Metric("symbol", "_Z5twiceI?ET_S0_"))


def test_filters_of_a_metric_leave_its_rows(program: Path) -> None:
    from sizeguard.attribution.group import group

    analysis = analysis_of(program)
    for metric in [
        *map(Metric, TOTALS),
        Metric("section", ".text"),
        Metric("section", ".bss"),
        Metric("symbol", "*twice<*"),
        Metric("component", "twice"),
    ]:
        report = group(analysis, ("symbol",), metric.filters)
        column = getattr(report, metric.column(analysis))
        assert int(column.sum()) == metric_value(analysis, metric), metric


def test_buckets_of_each_partition_sum_to_the_load(program: Path) -> None:
    vector = bucket_vector(analysis_of(program))
    for levels in PARTITIONS:
        assert (
            sum(
                size
                for key, size in vector.items()
                if key[0] == levels[0] and len(key) == 2 * len(levels)
            )
            == vector["load",]
        )
    assert (
        sum(size for key, size in vector.items() if key[0] == "ram" and len(key) == 2)
        == vector["ram",]
    )
    assert "section/.text" in known_metrics(analysis_of(program))


def test_the_store_gives_back_what_was_put(
    tmp_path: Path, program: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = Store(tmp_path / "store")
    key = content_key({"tree": "1"})
    assert store.get(key) is None
    assert not store.folder.exists()
    analysis = analysis_of(program)
    store.put(key, {"commit": "c"}, analysis)
    found = store.get(key)
    assert found is not None
    assert found.analysis is not None
    assert bucket_vector(found.analysis) == bucket_vector(analysis)
    assert store.facts(key) == {"commit": "c"}
    store.put(content_key({"tree": "2"}), {"does_not_build": "x"})
    only = store.get(content_key({"tree": "2"}))
    assert only is not None
    assert only.analysis is None
    store.put(content_key({"tree": "3"}), {}, analysis)
    assert len(list((store.folder / "snapshots").iterdir())) == 1  # equal content is stored once
    same = store.get(content_key({"tree": "3"}))
    assert same is not None
    assert same.analysis is found.analysis  # and read once
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path / "elsewhere"))
    assert project_store(tmp_path).folder == tmp_path / "elsewhere"
    monkeypatch.delenv(FOLDER_VARIABLE)
    assert project_store(tmp_path).folder == tmp_path / ".sizeguard" / "store"


@pytest.mark.parametrize(
    "damage",
    [
        "facts cut",
        "facts of another key",
        "facts no object",
        "snapshot cut",
        "snapshot gone",
        "snapshot changed",
    ],
)
def test_a_damaged_entry_is_a_miss_and_is_removed(
    tmp_path: Path, program: Path, damage: str
) -> None:
    store = Store(tmp_path)
    key = content_key({"a": 1})
    analysis = analysis_of(program)
    store.put(key, {"commit": "c"}, analysis)
    facts = tmp_path / "facts" / f"{key}.json"
    snapshot = next((tmp_path / "snapshots").iterdir())
    if damage == "facts cut":
        facts.write_bytes(facts.read_bytes()[:-9])
    elif damage == "facts of another key":
        facts.write_text(json.dumps({**json.loads(facts.read_text()), "key": "other"}))
    elif damage == "facts no object":
        facts.write_text("[" * 100_000)
    elif damage == "snapshot cut":
        snapshot.write_bytes(snapshot.read_bytes()[:-9])
    elif damage == "snapshot gone":
        snapshot.unlink()
    else:
        data = bytearray(snapshot.read_bytes())
        data[len(data) // 2] ^= 1
        snapshot.write_bytes(data)
    assert store.get(key) is None
    assert not facts.exists()
    store.put(key, {"commit": "c"}, analysis)
    assert store.get(key) is not None


def test_two_writers_of_one_key_both_succeed(tmp_path: Path, program: Path) -> None:
    analysis = analysis_of(program)
    key = content_key({"a": 1})
    failures: list[str] = []

    def write(number: int) -> None:
        store = Store(tmp_path)
        for i in range(20):
            store.put(key, {"writer": number, "i": i}, analysis)
            if store.get(key) is None:
                failures.append(f"{number} lost {i}")

    threads = [threading.Thread(target=write, args=(n,)) for n in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert not [path for path in tmp_path.rglob(".*") if path.is_file()]


def test_hashes_of_commits_tell_what_a_build_reads(tmp_path: Path) -> None:
    repository = SmallRepository(tmp_path / "r")
    first = repository.commit("one", {"size.txt": "1", "README.md": "a", "src/a.c": "int a;"})
    docs = repository.commit("docs", {"README.md": "b"})
    code = repository.commit("code", {"src/a.c": "int b;"})
    back = repository.commit("back", {"src/a.c": "int a;", "README.md": "a"})
    root = repository.path
    everything = [tree_hash(root, each, Scope()) for each in (first, docs, code, back)]
    assert len(set(everything)) == 3
    assert everything[0] == everything[3]
    inputs = [
        tree_hash(root, each, Scope(("src", "size.txt"))) for each in (first, docs, code, back)
    ]
    assert inputs[0] == inputs[1] == inputs[3] != inputs[2]
    ignoring = [
        tree_hash(root, each, Scope(ignore=("*.md",))) for each in (first, docs, code, back)
    ]
    assert ignoring[0] == ignoring[1] == ignoring[3] != ignoring[2]
    with pytest.raises(InputError, match="leave no file"):
        check_scope(root, first, Scope(("srcs",)))
    for outside in ("/etc", "../x", "a/../../b"):
        with pytest.raises(InputError, match="from its root"):
            tree_hash(root, first, Scope((outside,)))


def test_the_runtimes_hash_knows_code_from_data(tmp_path: Path) -> None:
    repository = SmallRepository(tmp_path / "r")
    selection = "native/apps/vision/selected_operators.yaml"
    base = {
        "native/CMakeLists.txt": "x",
        "native/runtime/a.cpp": "a",
        selection: "operators: {}",
        "native/models/m/model.pt2": "m",
        "README.md": "words",
        "sizeguard/y.py": "y",
    }
    first = repository.commit("one", base)

    def changed(path: str) -> bool:
        commit = repository.commit(path, {path: "changed"})
        answer = runtime_hash(repository.path, commit, selection) != runtime_hash(
            repository.path, first, selection
        )
        repository.git("reset", "-q", "--hard", first)
        return answer

    reads = (
        "native/runtime/a.cpp",
        "native/runtime/new.h",
        "native/CMakeLists.txt",
        selection,
        "native/apps/app.cpp",
        "native/new/x.cpp",
        "native/runtime/table.inc",
        "native/runtime/vector",
        "vector",  # precedes the compiler's own header in the include path
        "stdint.h",
        "extra/x",  # a build may have looked for the folder
    )
    leaves = (
        "README.md",
        "native/README.md",
        "native/models/m/model.pt2",
        "native/apps/language/selected_operators.yaml",
        "sizeguard/x.py",
    )
    assert [path for path in reads if not changed(path)] == []
    assert [path for path in leaves if changed(path)] == []
    elsewhere = repository.commit("elsewhere", {"selection.yaml": "a"})
    other = repository.commit("other", {"selection.yaml": "b"})
    assert runtime_hash(repository.path, elsewhere, "selection.yaml") != runtime_hash(
        repository.path, other, "selection.yaml"
    )
    assert runtime_hash(repository.path, elsewhere, selection) == runtime_hash(
        repository.path, other, selection
    )
    assert runtime_hash(repository.path, elsewhere, "") == runtime_hash(repository.path, other, "")


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("apps:\n  vision:\n    selection: a/b.yaml\n", "a/b.yaml"),
        ("apps:\n  vision:\n    selection: ./a//b.yaml\n", "a/b.yaml"),
        ("apps:\n  vision:\n    selection: /etc/passwd\n", None),
        ("apps:\n  vision:\n    selection: ../x\n", None),
        ("apps: [1]\n", None),
        ("apps: &a {vision: *a}\n", None),
        ("limits: &l {}\ngrowth: *l\napps:\n  vision: {selection: a/b.yaml}\n", "a/b.yaml"),
        ("#" * (1 << 20) + "\napps:\n  vision: {selection: a/b.yaml}\n", "a/b.yaml"),
        ("apps:\n  vision: {selection: 1}\n", "1"),
        ("apps:\n  vision: {selection: ~}\n", None),
        ("[" * 5000, None),
        (": :", None),
        ("", None),
    ],
)
def test_the_selection_of_an_app_in_a_commit(text: str, path: str | None) -> None:
    assert selection_in(text.encode(), "vision") == path
    assert selection_in(text.encode("utf-16"), "vision") == path


@pytest.mark.parametrize("app", ["7", "yes", "1.5", "null"])
def test_an_app_may_be_called_like_a_number(app: str) -> None:
    text = f"apps:\n  {app}: {{selection: a/b.yaml}}\n"
    assert selection_in(text.encode(), app) == "a/b.yaml"


LEVEL = "targets:\n  linux: {machine: x86_64-linux, optimize: '2'}\n"


@pytest.mark.parametrize(
    ("text", "options"),
    [
        (LEVEL, {"machine": "x86_64-linux", "optimize": "2"}),
        ("targets: {linux: }\n", {}),
        ("targets: {linux: {optimize: ~}}\n", {}),
        ("targets: {other: }\n", None),
        ("targets: [linux]\n", None),
        ("apps: {}\n", None),
        ("[" * 5000, None),
    ],
)
def test_the_options_of_a_target_in_a_commit(text: str, options: Mapping[str, str] | None) -> None:
    assert target_in(text.encode(), "linux") == options


@pytest.mark.native
def test_each_commit_is_built_with_its_own_level_and_tools(tmp_path: Path) -> None:
    """Otherwise growth by another level of optimization would be 0: both sides had it."""
    changes = {"none": "", "level": LEVEL, "usual": "targets: {linux: {machine: x86_64-linux}}\n"}
    changes["lto"] = "targets: {linux: {machine: x86_64-linux, lto: full}}\n"
    changes["compiler"] = "targets: {linux: {machine: x86_64-linux, compiler: nocc}}\n"
    project = made_project(tmp_path / "p", "", {"a": ""})
    ids = {}
    for name, text in changes.items():
        (project.root / "sizeguard.yaml").write_text(f"# {name}\n{text}")
        ids[name] = project.commit(name)
    tools = find_toolchain(None, None, "x86_64-linux")
    recipe = RuntimeRecipe(tools, "vision", target="linux")
    at = {name: recipe.at(project.root, commit) for name, commit in ids.items()}
    assert at["none"] == at["usual"] == recipe
    assert at["level"] == replace(recipe, optimize="2")
    assert "lto: full" in at["lto"].refused
    assert "unknown compiler nocc" in at["compiler"].refused
    keys = {content_key(each.key(project.root, ids["none"], 0)) for each in at.values()}
    assert len(keys) == 4
    alike = RuntimeRecipe(tools, "vision")
    assert alike.at(project.root, ids["level"]) == alike


@pytest.mark.parametrize(
    ("place", "flags", "counts"),
    [("native/a.cmake", "", True), ("a.cmake", "", False), ("a.cmake", "-march=native", True)],
)
def test_the_processor_counts_for_our_code_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str, flags: str, *, counts: bool
) -> None:
    """Machines that share a store may have other processors."""
    monkeypatch.setenv("CXXFLAGS", flags)
    project = made_project(tmp_path / "p", "", {"native/a.cmake": "", place: "# -march=native\n"})
    tools = Toolchain("gcc", "bfd", "x86_64-linux", "gcc", "g++", "12.2.0", "2.40")
    key = RuntimeRecipe(tools, "vision").key(project.root, "HEAD", 0)
    assert ("processor" in key) is counts


def test_a_policy_behind_a_link_names_the_selection(tmp_path: Path) -> None:
    text = "apps:\n  vision: {selection: a/b.yaml}\n"
    project = made_project(tmp_path / "p", "", {"terms/policy.yaml": text})
    (project.root / "sizeguard.yaml").unlink()
    (project.root / "sizeguard.yaml").symlink_to("terms/policy.yaml")
    tools = Toolchain("gcc", "bfd", "x86_64-linux", "gcc", "g++", "12.2.0", "2.40")
    recipe = RuntimeRecipe(tools, "vision")
    assert recipe.selection(project.root, project.commit("A link")) == "a/b.yaml"


def test_a_selection_behind_a_link_leads_out_of_the_key(tmp_path: Path) -> None:
    (tmp_path / "selections").mkdir()
    (tmp_path / "selections/vision.yaml").touch()
    (tmp_path / "s.yaml").symlink_to("selections/vision.yaml")
    inputs = BuildInputs({f"{tmp_path}/s.yaml": "1"}, {}, environment={})
    assert _elsewhere(inputs, tmp_path, "s.yaml") == "selections/vision.yaml"


def place_of(repository: SmallRepository, folder: Path) -> MeasurementPlace:
    return MeasurementPlace(repository.path, folder / "trees", Store(folder / "store"))


@pytest.mark.native
def test_a_commit_is_built_once_and_the_checkout_is_untouched(tmp_path: Path) -> None:
    repository = SmallRepository(tmp_path / "r")
    first, second = repository.sized(40), repository.sized(80)
    broken = repository.commit("broken", {"main.c": "int main(void) { return }\n"})
    (repository.path / "main.c").write_text("uncommitted\n")
    (repository.path / "untracked").write_text("mine\n")
    before = state_of_checkout(repository.path)
    place, recipe = place_of(repository, tmp_path), repository.recipe
    a, b = measure_commit(place, first[:9], recipe), measure_commit(place, second, recipe)
    assert a.was_built
    assert b.was_built
    assert a.analysis is not None
    assert b.analysis is not None
    assert (
        metric_value(b.analysis, Metric("symbol", "table"))
        - metric_value(a.analysis, Metric("symbol", "table"))
        == 40
    )
    assert not measure_commit(place, first, recipe).was_built
    with pytest.raises(DoesNotBuildError, match=r"main\.c:1:.*error"):
        measure_commit(place, broken, recipe)
    assert not try_commit(place, broken, measurement_key(place, broken, recipe), recipe).was_built
    assert state_of_checkout(repository.path) == before
    remove_worktrees(repository.path, place.worktrees)
    assert repository.git("worktree", "list", "--porcelain").count("worktree ") == 1
    assert [path.name for path in place.worktrees.iterdir()] == ["tree-00.lock"]


@pytest.mark.native
def test_equal_inputs_at_two_paths_of_one_length_give_one_key(tmp_path: Path) -> None:
    repository = SmallRepository(tmp_path / "r")
    commit = repository.sized(40)
    keys = [
        measurement_key(
            MeasurementPlace(repository.path, tmp_path / name, Store(tmp_path)),
            commit,
            repository.recipe,
        )
        for name in ("ab", "cd", "abc")
    ]
    assert keys[0] == keys[1] != keys[2]


@pytest.mark.native
def test_a_machine_that_fails_says_nothing_of_the_commit(tmp_path: Path) -> None:
    repository = SmallRepository(tmp_path / "r")
    commit = repository.sized(40)
    place = place_of(repository, tmp_path)
    for command, told in (
        (
            "echo 'x.c: fatal error: error writing to x.o: No space left on device'; exit 1",
            "No space left on device",
        ),
        ("kill -9 $$", "signal 9"),
        ("echo > app", "cannot be measured"),
    ):
        with pytest.raises(BuildError, match=told) as raised:
            measure_commit(place, commit, CommandRecipe(command, "app"))
        assert not isinstance(raised.value, DoesNotBuildError)
    with pytest.raises(BuildError, match="did not end within"):
        measure_commit(
            MeasurementPlace(place.repository, place.worktrees, place.store, Limits(timeout=0.3)),
            commit,
            CommandRecipe("sleep 60", "app"),
        )
    with pytest.raises(DoesNotBuildError, match="made no app"):
        measure_commit(place, commit, CommandRecipe("true", "app"))
    assert len(list((place.store.folder / "facts").iterdir())) == 1
    for image in ("", "/bin/ls", "../x"):
        with pytest.raises(InputError):
            check_command("make", image)


@pytest.mark.native
def test_what_a_killed_run_started_is_ended_and_its_tree_made_anew(tmp_path: Path) -> None:
    repository = SmallRepository(tmp_path / "r")
    commit = repository.sized(40)
    place = place_of(repository, tmp_path)
    code = (
        "import sys; from pathlib import Path; from sizeguard.measurement.measured_commits import"
        " *;from sizeguard.projects.command import CommandRecipe; from sizeguard.snapshots.store"
        " import Store;r, t, s, c = sys.argv[1:];measure_commit(MeasurementPlace(Path(r), Path(t),"
        " Store(Path(s))), c, CommandRecipe('touch half-written; (setsid sleep 1000 &) ; sleep"
        " 1000', 'app'))"
    )
    process = subprocess.Popen(
        [
            sys.executable,
            "-c",
            code,
            str(repository.path),
            str(place.worktrees),
            str(place.store.folder),
            commit,
        ]
    )
    tree = place.worktrees.resolve() / "tree-00"
    deadline = time.monotonic() + 60
    while not (tree / "half-written").exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert (tree / "half-written").exists()
    (repository.path / ".git" / "worktrees" / "tree-00" / "index.lock").touch()
    measured = measure_commit(place, commit, repository.recipe)
    assert measured.was_built
    assert not (tree / "half-written").exists()
    mark = f"{MARKER}={tree}".encode()
    alive = []
    for each in Path("/proc").glob("[0-9]*/environ"):
        try:
            if mark in each.read_bytes().split(b"\0"):
                alive.append(each.parent.name)
        except OSError:
            continue
    assert alive == []


def test_two_users_have_two_work_trees(tmp_path: Path) -> None:
    repository = SmallRepository(tmp_path / "r")
    commit = repository.sized(40)
    with (
        worktree(repository.path, tmp_path / "trees") as one,
        worktree(repository.path, tmp_path / "trees") as two,
    ):
        assert (one.path.name, two.path.name) == ("tree-00", "tree-01")
        with one.check_out(commit) as a, two.check_out(commit) as b:
            assert (a / "main.c").read_bytes() == (b / "main.c").read_bytes()
        remove_worktrees(repository.path, tmp_path / "trees")
        assert (one.path / "main.c").exists()
    remove_worktrees(repository.path, tmp_path / "trees")
    assert not (tmp_path / "trees" / "tree-01").exists()


def test_a_tree_that_somebody_damaged_is_repaired(tmp_path: Path) -> None:
    repository = SmallRepository(tmp_path / "r")
    commit = repository.sized(40)
    for damage in ("removed", "no .git", "edited", "unregistered"):
        with worktree(repository.path, tmp_path / "trees") as tree:
            if damage == "removed" and tree.path.exists():
                shutil.rmtree(tree.path)
            elif damage == "no .git":
                (tree.path / ".git").unlink()
            elif damage == "edited":
                (tree.path / "main.c").write_text("x")
                (tree.path / "more").write_text("x")
            elif damage == "unregistered":
                shutil.rmtree(repository.path / ".git" / "worktrees")
            with tree.check_out(commit) as path:
                assert sorted(each.name for each in path.iterdir()) == [".git", "main.c"]
                assert hashlib.sha1(
                    f"blob {(path / 'main.c').stat().st_size}\0".encode()
                    + (path / "main.c").read_bytes()
                ).hexdigest() in repository.git("ls-tree", commit)


def test_the_package_s_version_is_part_of_the_key_and_nothing_else_beside_the_sources(
    tmp_path: Path,
) -> None:
    """CMake reads it for the installed package; bases in our own repository are measured."""
    read = ["sizeguard/__init__.py", "native/runtime/value.h", "s.yaml"]
    inputs = BuildInputs({f"{tmp_path}/{name}": "1" for name in read}, {}, environment={})
    assert _elsewhere(inputs, tmp_path, "s.yaml") == ""
    for name in ("sizeguard/base/__init__.py", "extra/table.inc", "sizeguard/other.py"):
        more = BuildInputs({**inputs.files, f"{tmp_path}/{name}": "1"}, {}, environment={})
        assert _elsewhere(more, tmp_path, "s.yaml") == name
    looked = ["ctime", "extra", "native/runtime/x.h", "build/app/ctime"]
    told = replace(inputs, absent=tuple(f"{tmp_path}/{name}" for name in looked))
    assert _elsewhere(told, tmp_path, "s.yaml") == ""
    told = replace(inputs, globs={f"{tmp_path}/native/runtime/*.cpp": "1"})
    assert _elsewhere(told, tmp_path, "s.yaml") == ""
    for name in ("extra/switch", "extra/*.inc", "extra/folder/**/*"):
        path = f"{tmp_path}/{name}"
        assert _elsewhere(replace(inputs, absent=(path,)), tmp_path, "s.yaml") == name
        assert _elsewhere(replace(inputs, globs={path: "1"}), tmp_path, "s.yaml") == name
    project = made_project(tmp_path / "p", "", {"sizeguard/__init__.py": "1", "a.py": "1"})
    first = runtime_hash(project.root, project.git("rev-parse", "HEAD"), "")
    project.write({"a.py": "2"})
    assert runtime_hash(project.root, project.commit("Two"), "") == first
    project.write({"sizeguard/__init__.py": "2"})
    assert runtime_hash(project.root, project.commit("Three"), "") != first
