"""Builds of any project: results of build commands, their failures, and measurements in place."""

from __future__ import annotations

import json
import subprocess
import time
from pathlib import Path

import pytest

from tests.support.tricks.any_project import made_project
from tests.support.tricks.c_project import GROWN, SOURCES, config_of, project_of, result_of


@pytest.mark.native
@pytest.mark.parametrize(
    ("build", "message"),
    [
        ("echo hello; exit 3", "does not build: hello"),
        ("echo 'x.c:1: error: no such type' >&2; exit 1", "x.c:1: error: no such type"),
        ("exit 7", "ended with 7 without a message"),
        ("make; rm app", "the build command made no file app"),
        ("make; echo text > app", "app is not an image that can be measured"),
        ("rm -rf app; mkdir app", "the build command made no file app"),
        ("kill -9 $$", "was stopped (signal 9)"),
        ("sh -c 'kill -9 $$'; exit 2", "was stopped (Killed)"),
        ("echo 'ld terminated with signal 9 [Killed]'; exit 1", "was stopped (Killed)"),
        ("echo 'sh: line 1:  12 Killed   cc -c x.c'; exit 1", "was stopped (Killed)"),
        ("echo '(signal: 9, SIGKILL: kill)'; exit 101", "was stopped (SIGKILL)"),
        ("echo 'error: Killed is not declared'; exit 1", "does not build: error: Killed is not"),
        ("cp lib.c app", "app is not an image that can be measured"),
    ],
)
def test_a_bad_command_is_one_line(tmp_path: Path, build: str, message: str) -> None:
    project = project_of(tmp_path, f"build: {json.dumps(build)}")
    done = project.run("baseline", "update")
    errors = [line for line in done.err.splitlines() if line.startswith("error: ")]
    assert done.code == 4
    assert len(errors) == 1
    assert message in errors[0]
    assert not (project.root / "baselines").exists()
    assert project.git("status", "--porcelain") == ""


@pytest.mark.native
def test_a_build_that_hangs_is_told_with_the_configured_time(tmp_path: Path) -> None:
    """The setup has used some of it."""
    project = project_of(tmp_path, "setup: sleep 0.4", "build: sleep 30", "timeout: 1 s")
    done = project.run("baseline", "update")
    assert done.code == 4
    told = "sleep 30 did not end within 1 s; increase timeout in sizeguard.yaml"
    assert told in done.err
    assert "/bin/sh" not in done.err


@pytest.mark.native
def test_what_hangs_forks_and_prints_ends_within_its_time(tmp_path: Path) -> None:
    forks = "make; (setsid sleep 4321 &); (setsid env -i sleep 4322 &); sleep 1"
    project = project_of(tmp_path, f"build: {json.dumps(forks)}", "timeout: 1 s")
    start = time.monotonic()
    done = project.run("baseline", "update")
    assert done.code == 4
    assert "did not end within" in done.err
    assert time.monotonic() - start < 20
    listed = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True)
    assert "sleep 4321" not in listed.stdout
    assert "sleep 4322" not in listed.stdout

    noisy = f"build: {json.dumps('make; yes | head -c 90000000')}"
    project.write({"sizeguard.yaml": config_of(noisy)})
    assert project.run("baseline", "update").code == 0
    log = next((project.root / ".sizeguard" / "worktrees").glob("*.log"))
    assert log.stat().st_size <= (64 << 20) + 100


@pytest.mark.native
def test_each_image_of_a_build_is_gated_and_built_once(tmp_path: Path) -> None:
    images = "images: {app: app, lib: {image: libf.so, limits: {load: 1 KiB}}}"
    project = project_of(
        tmp_path, "build: make", "limits: {load: {growth: 1%}, ram: 1 MiB}", image=images
    )
    done = project.run("baseline", "update")
    assert done.err.count("building") == 1
    assert sorted(path.name.partition(".x86")[0] for path in tmp_path.glob("baselines/*")) == [
        "a.app",
        "a.lib",
    ]
    project.commit("Review the sizes")
    found = result_of(project.run("gate", "--format", "json"))
    failing = [check["id"] for check in found["checks"] if check["verdict"] == "fail"]
    assert failing == ["a.lib/x86_64-linux/load/absolute"]
    assert {app["app"] for app in found["apps"]} == {"a.app", "a.lib"}
    only = result_of(project.run("gate", "--app", "a.app", "--format", "json"))
    assert [app["app"] for app in only["apps"]] == ["a.app"]
    assert only["verdict"] == "pass"


@pytest.mark.native
def test_equal_commands_of_several_apps_are_run_once(tmp_path: Path) -> None:
    """The command counts its runs; only an app with another variable is built separately."""
    runs = tmp_path.parent / "runs"
    app = f"build: 'echo >> {runs}; make'"
    project = made_project(
        tmp_path,
        f"apps:\n  a: {{{app}, image: app}}\n  b: {{{app}, image: libf.so}}\n"
        f"  c: {{{app}, image: app, env: {{MORE: -O2}}}}\n"
        "limits: {load: {growth: 1%}}\n",
        SOURCES,
    )
    assert project.run("baseline", "update").code == 0
    assert len(runs.read_text().splitlines()) == 2
    project.commit("Review the sizes")
    project.git("checkout", "--quiet", "-b", "change")
    runs.write_text("")
    project.write({"lib.c": SOURCES["lib.c"].replace("3", "5")})
    found = result_of(project.run("gate", "--app", "a", "--app", "b", "--format", "json"))
    assert found["verdict"] == "pass"
    assert len(runs.read_text().splitlines()) == 2  # head and base
    runs.write_text("")
    assert len(result_of(project.run("gate", "--format", "json"))["apps"]) == 3
    assert len(runs.read_text().splitlines()) == 2  # head and base of app c

    text = (project.root / "sizeguard.yaml").read_text()
    project.write({"sizeguard.yaml": text.replace("image: libf.so", "image: gone.so")})
    done = project.run("gate", "--format", "json")
    assert done.code == 4
    assert "the build command made no file gone.so" in json.dumps(result_of(done)["problems"])
    assert {each["app"] for each in result_of(done)["apps"]} == {"a", "c"}


@pytest.mark.native
def test_a_setup_differs_between_targets(tmp_path: Path) -> None:
    project = made_project(
        tmp_path,
        "apps:\n  a:\n    setup: echo cc -Os > tool\n    build: $(cat tool) main.c lib.c -o app\n"
        "    image: app\n    limits: {load: {growth: 1%}}\n    targets:\n      x86_64-linux:\n"
        "      arm64: {setup: echo aarch64-linux-gnu-gcc -Os > tool}\n",
        SOURCES,
    )
    assert project.run("baseline", "update").code == 0
    apps = result_of(project.run("gate", "--format", "json"))["apps"]
    assert [each["target"] for each in apps] == ["x86_64-linux", "arm64"]
    for target, machine in (("x86_64-linux", "x86-64"), ("arm64", "aarch64")):
        image = project.root / ".sizeguard" / "builds" / f"a.{target}" / "app"
        told = subprocess.run(["file", image], capture_output=True, text=True, check=True).stdout
        assert machine in told


@pytest.mark.native
def test_paths_and_a_dirty_checkout_make_no_growth_and_commits_share_a_creep(
    tmp_path: Path,
) -> None:
    project = project_of(
        tmp_path,
        "env: {MORE: -fno-ident}",
        "build: make app",
        'limits: {load: {growth: 0, creep: "64 B since v1"}}',
    )
    project.git("tag", "v1")
    assert project.run("baseline", "update").code == 0
    project.commit("Review the sizes")
    assert project.run("gate").code == 0
    project.write({"untracked.txt": "read by nobody\n"})
    dirty = result_of(project.run("gate", "--format", "json"))
    assert dirty["verdict"] == "pass"
    assert dirty["apps"][0]["growth_since_base"] == {"load": 0, "ram": 0, "file": 0}

    project.write({"lib.c": SOURCES["lib.c"] + GROWN})
    grown = project.commit("Add g")
    found = result_of(project.run("gate", "--format", "json"))
    creep = next(check for check in found["checks"] if check["kind"] == "creep")
    assert (creep["verdict"], creep["shares"][0]["commit"]) == ("fail", grown[:7])
    assert creep["shares"][0]["delta"] == creep["actual"] - creep["base"]
    assert "what" not in [cause["symbol"] for cause in found["apps"][0]["causes"]]
    assert found["apps"][0]["causes"][0]["symbol"] == "g"

    bisected = project.run("bisect", "v1", "HEAD", "--format", "json")  # of the only app
    assert [each["commit"] for each in json.loads(bisected.out)["culprits"]] == [grown]
    assert json.loads(bisected.out)["builds"] == 0

    waived = ["--bytes", "5000", "--owner", "me", "--reason", "x", "--expires", "2999-01-01"]
    assert project.run("waive", "load", "--app", "a", *waived).code == 0
    assert project.run("gate").code == 0


@pytest.mark.native
def test_libraries_that_an_image_needs_count_in_place(tmp_path: Path) -> None:
    """As they count in the base, which is built."""
    rules = (
        "app: app.c libf.so\n\tgcc -Os -o $@ app.c -L. -lf -Wl,-rpath,'$$ORIGIN'\n"
        "libf.so: f.c\n\tgcc -Os -shared -fPIC -o $@ f.c\n"
    )
    sources = {
        "Makefile": rules,
        "app.c": "extern int f(int);\nint main(int n) { return f(n); }\n",
        "f.c": "int numbers[5000] = {1};\nint f(int x) { return numbers[x]; }\n",
        ".gitignore": "app\nlibf.so\n",
    }
    config = "targets: {x86_64-linux: }\napps:\n  a: {build: make, image: app, limits: {load: "
    project = made_project(tmp_path, config + "{growth: 64 B}}}\n", sources)

    def gate(*options: str) -> tuple[str, int]:
        subprocess.run(["make", "-s"], cwd=project.root, check=True)
        found = result_of(project.run("gate", *options, "--format", "json"))
        return found["verdict"], found["apps"][0]["sizes"]["load"]

    built = gate()
    assert built[0] == "pass" and built[1] > 20_000
    assert gate("--in-place") == built
    library = {"f.c": sources["f.c"].replace("5000", "5040")}
    for grown in (library, {"app.c": sources["app.c"] + "int more[40] = {1};\n"}):
        project.write(sources | grown)
        verdict, size = gate("--in-place")
        assert verdict == "fail" and size >= built[1] + 160
        assert gate("--in-place")[1] == size


@pytest.mark.native
def test_the_checkouts_own_build_is_measured_in_place(tmp_path: Path) -> None:
    project = project_of(tmp_path, "build: make app", "limits: {load: {growth: 256 B}}")
    assert project.run("gate", "--in-place").code == 4
    project.run("baseline", "update")
    project.write({".gitignore": "app\napp.map\n"})
    project.commit("Review the sizes")
    project.write({"lib.c": SOURCES["lib.c"] + GROWN})
    subprocess.run(["make", "-s", "app"], cwd=project.root, check=True)
    done = project.run("gate", "--in-place", "--format", "json")
    check = next(each for each in result_of(done)["checks"] if each["metric"] == "load")
    assert (check["verdict"], check["kind"]) == ("fail", "growth")
    assert "built at another path" in check["since"]
    # A measurement in place is not stored as a commit's
    project.git("checkout", "--", ".")
    assert project.run("gate").code == 0


@pytest.mark.native
def test_nothing_seems_to_move_in_place(tmp_path: Path) -> None:
    """An image in place has no record of its link, so the base is measured without one, too."""
    project = project_of(tmp_path, "build: make app", "map: app.map")
    assert project.run("gate").code in (0, 3)  # the base is measured with the record of its link
    project.write({"lib.c": SOURCES["lib.c"] + GROWN, ".gitignore": "app\napp.map\n"})
    subprocess.run(["make", "-s", "app"], cwd=project.root, check=True)
    (app,) = result_of(project.run("gate", "--base", "HEAD", "--in-place", "--format", "json"))[
        "apps"
    ]
    grown = {cause["operator"]: cause["new"] - cause["old"] for cause in app["causes"]}
    assert [cause["symbol"] for cause in app["causes"] if cause["kind"] == "symbol"] == ["g"]
    assert "moved" not in [cause["kind"] for cause in app["causes"]]
    assert all(more >= 0 for more in grown.values())


@pytest.mark.native
def test_claims_the_run_and_libraries_that_ship_count(tmp_path: Path) -> None:
    project = project_of(
        tmp_path, "build: make", "map: app.map", "also: libf.so", "run: ./app", "present: [main]"
    )
    assert project.run("baseline", "update").code == 0
    project.commit("Review the sizes")
    found = result_of(project.run("gate", "--format", "json"))
    assert found["verdict"] == "pass", found["problems"]
    kinds = {check["kind"]: check["verdict"] for check in found["checks"]}
    assert (kinds["run"], kinds["elimination"]) == ("pass", "pass")
    (library,) = found["apps"][0]["libraries"]
    assert library["name"] == "also/libf.so"
    assert found["apps"][0]["sizes"]["load"] > library["load"] > 0

    lines = ("build: make", "run: 'false'", "absent: [main]")
    project.write({"sizeguard.yaml": config_of(*lines)})
    found = result_of(project.run("gate", "--format", "json"))
    kinds = {check["kind"]: check["verdict"] for check in found["checks"]}
    assert (kinds["run"], kinds["elimination"]) == ("fail", "fail")


@pytest.mark.native
def test_a_second_bisect_takes_the_measurements_of_the_first(tmp_path: Path) -> None:
    """They were stored before anything was known of the reads of the builds."""
    source = "namespace n {{ char big[{}] = {{1}}; }}\nint main() {{ return n::big[0]; }}\n"
    config = "apps:\n  a:\n    build: g++ -Os -o a main.cpp\n    image: a\n"
    project = made_project(tmp_path, config, {"main.cpp": source.format(1)})
    for size in (2, 3):
        project.write({"main.cpp": source.format(size)})
        project.commit("Grow")
    for metric, code, built in (("load", 0, 3), ("symbol/n::big", 0, 0), ("symbol/bi*", 3, 0)):
        done = project.run("bisect", "HEAD~2", "HEAD", "--app", "a", "--metric", metric)
        assert done.code == code, done.err
        assert f"{built} built, {3 - built} from the store" in done.err


@pytest.mark.native
def test_another_command_after_an_equal_build_runs(tmp_path: Path) -> None:
    project = project_of(tmp_path, "build: make app")
    codes = []
    for run in (["run: ./ap"], ["run: ./app"], ["env: {MORE: -g1}"], [], ["run: ./ap"]):
        project.write({"sizeguard.yaml": config_of("build: make app", *run)})
        codes.append(project.run("gate", "--base", "HEAD").code)
    assert codes == [1, 0, 0, 0, 1]


@pytest.mark.native
def test_targets_replace_keys_and_a_kept_tree_is_cleaned(tmp_path: Path) -> None:
    project = project_of(
        tmp_path,
        "setup: echo >> set_up.txt",
        "build: make app && cat set_up.txt | wc -l > times.txt && test ! -s stop",
        "clean: make clean && echo >> cleaned.txt",
        "targets: {small: {setup: 'true', build: make app MORE=-DNDEBUG}}",
    )
    done = project.run("baseline", "update")
    names = sorted(path.name for path in (project.root / "baselines").glob("a.*"))
    assert done.code == 0, done.err
    assert [name.split(".")[1].partition("-")[0] for name in names] == ["small", "x86_64"]
    for text in ("1", "2"):
        project.write({"lib.c": f"{SOURCES['lib.c']}int more = {text};\n"})
        assert project.run("gate", "--target", "x86_64-linux").code in (0, 1)
    tree = project.root / ".sizeguard" / "worktrees" / "tree-00"
    assert (tree / "times.txt").read_text().strip() == "1"
    assert (tree / "cleaned.txt").read_text().count("\n") >= 1


@pytest.mark.native
def test_submodules_come_along_with_their_changes(tmp_path: Path) -> None:
    part = made_project(tmp_path / "part", "", {"lib.c": SOURCES["lib.c"]})
    rest = {name: text for name, text in SOURCES.items() if name != "lib.c"}
    rest["Makefile"] = rest["Makefile"].replace("lib.c", "part/lib.c")
    config = config_of("build: make app", "limits: {load: {growth: 256 B}}")
    project = made_project(tmp_path / "whole", config, rest)
    local = ("-c", "protocol.file.allow=always")
    project.git(*local, "submodule", "--quiet", "add", str(part.root), "part")
    project.commit("Add the part")
    assert project.run("baseline", "update").code == 0
    project.commit("Review the sizes")
    assert project.run("gate").code == 0
    project.write({"part/lib.c": SOURCES["lib.c"] + GROWN})
    found = result_of(project.run("gate", "--format", "json"))
    assert found["verdict"] == "fail"
    assert found["apps"][0]["causes"][0]["symbol"] == "g"


@pytest.mark.native
@pytest.mark.parametrize("debug", ["app.debug", "dbg", "names/app"])
def test_names_come_from_a_debug_file_and_its_bytes_do_not_count(
    tmp_path: Path, debug: str
) -> None:
    split = (
        "make app MORE=-Wl,--build-id && objcopy --only-keep-debug app app.debug && strip app"
        " && objcopy --add-gnu-debuglink=app.debug app"
        " && id=$(readelf -n app | sed -n 's/.*Build ID. //p') && end=${id#??}"
        " && mkdir -p dbg/.build-id/${id%$end} && cp app.debug dbg/.build-id/${id%$end}/$end.debug"
        " && mkdir names && cp app.debug names/app"
    )
    project = project_of(
        *(tmp_path, f"build: {json.dumps(split)}", f"debug: {debug}"),
        "limits: {symbol/main: 1 KiB}",
    )
    assert project.run("baseline", "update").code == 0
    found = result_of(project.run("gate", "--format", "json"))
    named = next(check for check in found["checks"] if check["metric"] == "symbol/main")
    assert named["verdict"] == "pass"
    assert named["actual"] > 0
    assert found["apps"][0]["sizes"]["load"] > 1000
    assert found["apps"][0]["sizes"]["file"] < 20_000
    assert found["apps"][0]["libraries"] == []


def test_tools_are_chosen_by_the_commands_alone(tmp_path: Path) -> None:
    project = project_of(tmp_path, "build: make app")
    done = project.run("gate", "--compiler", "clang")
    assert done.code == 2
    assert "--compiler and --linker are for apps of a known runtime" in done.err
    assert "change the commands of their targets in sizeguard.yaml" in done.err


@pytest.mark.native
def test_commands_that_fail_for_one_image_are_not_repeated_for_the_others(tmp_path: Path) -> None:
    project = project_of(tmp_path, "build: exit 3", image="images: {app: app, lib: libf.so}")
    done = project.run("gate")
    assert done.code != 0
    assert done.err.count("building") == 1
