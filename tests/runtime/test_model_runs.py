"""Models run on an app's build and on the full build.

The tests cover passing runs and the stored results; failures must never pass.
"""

from __future__ import annotations

import dataclasses
import os
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from sizeguard.base.errors import BuildError, InconclusiveError, InputError
from sizeguard.builds.build_record import Build
from sizeguard.gate.gate_result import ModelResult
from sizeguard.gate.model_runs import compare_model
from sizeguard.models.npy import Array, read_npy, write_npy
from sizeguard.runtimes.sizeguard.building.driver import build
from sizeguard.runtimes.sizeguard.building.tracing import trace_programs
from sizeguard.runtimes.sizeguard.building.variants import Variant, default_folder
from sizeguard.runtimes.sizeguard.native_models import NativeModels
from sizeguard.runtimes.sizeguard.program.program import Instruction, Kind
from sizeguard.runtimes.sizeguard.program.program_file import read_program, write_program
from sizeguard.snapshots.store import Facts, Store
from sizeguard.toolchains.bounded import run_bounded
from sizeguard.toolchains.host import machine_files
from sizeguard.toolchains.toolchain import find_toolchain
from tests.support.places import ROOT

MODELS = NativeModels(None)
pytestmark = pytest.mark.native


class Kept(Store):
    """A store that counts lookups without a result."""

    misses = 0

    def facts(self, key: str) -> Facts | None:
        found = super().facts(key)
        self.misses += found is None
        return found

    def __len__(self) -> int:
        return len(list(self.folder.glob("facts/*")))


def standing_in(folder: Path, like: Build, script: str) -> Build:
    """Return a build whose shipped file is a script."""
    shipped = folder / f"script{len(list(folder.iterdir()))}"
    shipped.write_text(f"#!/bin/sh\n{script}\n")
    shipped.chmod(0o755)
    return dataclasses.replace(like, shipped=shipped)


def test_what_ran_with_all_the_same_does_not_run_again(
    program: Callable[..., Path], full_build: Build, selective: Callable[..., Build], tmp_path: Path
) -> None:
    mlp, app = program("mlp"), selective("mlp")
    kept = Kept(tmp_path / "store")
    first = compare_model(MODELS, mlp, "app", full_build, app, store=kept)
    assert (first.verdict, first.cases, first.cached, kept.misses) == ("pass", 2, False, 4)
    assert (
        dataclasses.replace(
            compare_model(MODELS, mlp, "app", full_build, app, store=kept), cached=False
        )
        == first
    )
    assert kept.misses == 4
    assert compare_model(MODELS, mlp, "other app", full_build, app, store=kept).cached
    # A copy of the program counts as the same; a changed image or program does not.
    copy = tmp_path / "mlp.sgp"
    copy.write_bytes(mlp.read_bytes())
    assert compare_model(MODELS, copy, "app", full_build, app, store=kept).cached
    image = tmp_path / "run_program"
    image.write_bytes(app.shipped.read_bytes() + b"\0")
    image.chmod(0o755)
    changed = compare_model(
        MODELS, mlp, "app", full_build, dataclasses.replace(app, shipped=image), store=kept
    )
    assert (changed.verdict, changed.cached, kept.misses) == ("pass", False, 6)
    written = read_program(mlp)
    write_program(dataclasses.replace(written, cases=(written.cases[1],)), copy)
    assert not compare_model(MODELS, copy, "app", full_build, app, store=kept).cached


def test_a_library_of_another_content_makes_it_run_again(
    program: Callable[..., Path], full_build: Build, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    loaded = machine_files(full_build.shipped, full_build.target)
    assert {path.name.split(".")[0] for path in loaded} >= {"libc", "libm"}
    kept = Kept(tmp_path / "store")
    compare_model(MODELS, program("mlp"), "full", full_build, full_build, store=kept)
    libm = next(path for path in loaded if path.name.startswith("libm."))
    (tmp_path / libm.name).write_bytes(libm.read_bytes() + b"\0")
    monkeypatch.setenv("LD_LIBRARY_PATH", str(tmp_path))
    assert tmp_path / libm.name in machine_files(full_build.shipped, full_build.target)
    assert not compare_model(
        MODELS, program("mlp"), "full", full_build, full_build, store=kept
    ).cached


def test_what_a_program_started_ends_with_it(tmp_path: Path) -> None:
    script = f"(sleep 5; touch {tmp_path}/late) & sleep 5"
    assert run_bounded(["sh", "-c", script], 0.2).trouble == "did not end within 0.2 s"
    group = subprocess.run(
        ["pgrep", "-f", f"touch {tmp_path}/late"], capture_output=True, text=True, check=False
    )
    assert group.stdout == ""


def test_what_went_wrong_fails_and_runs_again(
    program: Callable[..., Path], full_build: Build, core_build: Build, tmp_path: Path
) -> None:
    mlp, kept = program("mlp"), Kept(tmp_path / "store")
    for _ in range(2):
        lacking = compare_model(MODELS, mlp, "core", full_build, core_build, store=kept)
        assert (lacking.verdict, lacking.cached) == ("fail", False)
        named = {"aten::linear", "aten::relu", "aten::softmax.int"}
        assert named < set(lacking.missing)
        assert {"aten::addmm", "aten::_softmax"} <= set(lacking.missing) - named  # their callees
    assert len(kept) == 1  # the full build's
    wrong = {
        "kill -SEGV $$": "case 0 on app: crashed: SIGSEGV",
        "echo 'error: no' >&2; exit 2": "case 0 on app: no",
        "exit 7": "case 0 on app: ended with 7",
        "exit 0": "case 0 on app: wrote no output",
        "yes | head -c 100000 >&2; exit 1": "case 0 on app: y",
        "exec yes >&2": "case 0 on app: crashed: SIGXFSZ",
        'echo x > "$6/output0.npy"': "case 0: app gives other results than full",
    }
    for script, message in wrong.items():
        result = compare_model(
            MODELS, mlp, "app", full_build, standing_in(tmp_path, full_build, script), store=kept
        )
        assert (result.verdict, result.message) == ("fail", message)
    gone = dataclasses.replace(full_build, shipped=tmp_path / "gone")
    assert "cannot be started" in compare_model(MODELS, mlp, "app", full_build, gone).message


def test_expected_outputs_are_compared_within_tolerances(
    program: Callable[..., Path], full_build: Build, tmp_path: Path
) -> None:
    shutil.copytree(ROOT / "native" / "models" / "mlp", tmp_path / "mlp")
    model, kept = tmp_path / "mlp" / "model.pt2", Kept(tmp_path / "store")
    file = model.with_name("case1_expected0.npy")
    right = read_npy(file)

    def judged() -> ModelResult:
        return compare_model(
            MODELS,
            program("mlp"),
            "full",
            full_build,
            full_build,
            store=kept,
            expected=MODELS.expected(model),
        )

    def with_first(by: float) -> Array:
        numbers = np.frombuffer(right.data, "<f4").copy()
        numbers[0] += np.float32(by)
        return dataclasses.replace(right, data=numbers.tobytes())

    assert [sorted(case) for case in MODELS.expected(model)] == [[0], [0]]
    assert judged().verdict == "pass"
    assert judged().cached
    write_npy(file, with_first(2e-6))
    close = judged()
    assert (close.verdict, close.cached) == ("pass", False)
    halves = dataclasses.replace(right, dtype="Half", data=right.data[::2])
    long = dataclasses.replace(right, shape=(*right.shape, 1))
    for wrong, said in (
        (with_first(1e-3), r"1 of \d+ numbers differ, at \[0, 0\] "),
        (halves, "dtype Float, expected Half"),
        (long, r"shape \([\d, ]+\), expected \([\d, ]+, 1\)"),
    ):
        write_npy(file, wrong)
        for _ in range(2):  # failures are not kept
            result = judged()
            assert result.verdict == "fail"
            assert re.match(f"case 1 on full: output 0 is not {file.name}: {said}", result.message)
    write_npy(file, right)
    write_npy(model.with_name("case0_expected1.npy"), right)
    assert (
        judged().message == "case 0 on full: wrote no output 1, which case0_expected1.npy expects"
    )
    write_npy(model.with_name("case2_expected0.npy"), right)
    with pytest.raises(InputError, match=r"case2_expected0\.npy: is never compared: there is no"):
        judged()


@pytest.fixture
def endless(program: Callable[..., Path], tmp_path: Path) -> Path:
    """Make a program that jumps to its first instruction for ever."""
    written = read_program(program("mlp"))
    path = tmp_path / "endless.sgp"
    looping = (Instruction(Kind.JUMP, 0), *written.instructions)
    write_program(dataclasses.replace(written, instructions=looping), path)
    return path


def test_a_model_that_never_ends_fails(endless: Path, full_build: Build, tmp_path: Path) -> None:
    kept = Kept(tmp_path / "store")
    result = compare_model(MODELS, endless, "app", full_build, full_build, store=kept, timeout=0.5)
    assert (result.verdict, result.message) == ("fail", "case 0 on full: did not end within 0.5 s")
    assert not len(kept)


def test_a_model_that_never_ends_is_not_traced(
    endless: Path, instrumented_build: Build, tmp_path: Path
) -> None:
    with pytest.raises(
        BuildError, match=r"^model_tracer on endless\.sgp: did not end within 0\.5 s$"
    ):
        trace_programs(
            instrumented_build,
            [endless],
            tmp_path / "traced.yaml",
            executed_only=False,
            timeout=0.5,
        )
    crashing = tmp_path / "tracer"
    crashing.write_text("#!/bin/sh\nkill -SEGV $$\n")
    crashing.chmod(0o755)
    with pytest.raises(BuildError, match=r"^model_tracer on endless\.sgp: crashed: SIGSEGV$"):
        trace_programs(
            dataclasses.replace(instrumented_build, model_tracer=crashing),
            [endless],
            tmp_path / "t.yaml",
            executed_only=False,
        )
    assert not (tmp_path / "traced.yaml").exists()


def test_a_model_without_inputs_fails(
    program: Callable[..., Path], full_build: Build, tmp_path: Path
) -> None:
    bare = tmp_path / "bare.sgp"
    write_program(dataclasses.replace(read_program(program("mlp")), cases=()), bare)
    result = compare_model(MODELS, bare, "app", full_build, full_build)
    assert (result.verdict, result.message) == (
        "fail",
        "has no bundled inputs, so that nothing was compared",
    )


@pytest.mark.parametrize("target", ["arm64-macos", "x86_64-macos"])
def test_what_does_not_run_here_is_not_run(
    target: str, program: Callable[..., Path], full_build: Build, tmp_path: Path
) -> None:
    there = dataclasses.replace(full_build, target=target)
    result = compare_model(
        MODELS, program("mlp"), "app", there, there, store=Kept(tmp_path / "store")
    )
    assert (result.verdict, result.target, result.cached) == ("not_run", target, False)
    assert result.message == f"{target} does not run here"
    with pytest.raises(InconclusiveError, match="does not run here"):
        machine_files(there.shipped, target)


def test_models_run_in_an_emulator(
    root: Path, program: Callable[..., Path], tmp_path: Path
) -> None:
    toolchain = find_toolchain("gcc", None, "aarch64-linux")
    full = build(root, Variant("full"), toolchain, default_folder(root, Variant("full"), toolchain))
    names = {path.name for path in machine_files(full.shipped, full.target)}
    assert {"qemu-aarch64", "libc.so.6", "libm.so.6"} <= names
    kept = Kept(tmp_path / "store")
    first = compare_model(MODELS, program("mlp"), "full", full, full, store=kept)
    assert (first.verdict, first.target, first.cached) == ("pass", "aarch64-linux", False)
    assert kept.misses == 2  # both builds are the same
    assert compare_model(MODELS, program("mlp"), "full", full, full, store=kept).cached


def test_a_selection_replaces_files_and_is_written_through_the_rest(
    instrumented_build: Build, program: Callable[..., Path], tmp_path: Path
) -> None:
    assert instrumented_build.model_tracer is not None
    command = [instrumented_build.model_tracer, "--model_input_path", program("mlp")]

    def write(path: Path) -> None:
        subprocess.run([*command, "--build_yaml_path", path], check=True, timeout=60)

    file, link, pipe = (tmp_path / name for name in ("file", "link", "pipe"))
    write(file)
    selection = file.read_bytes()
    assert b"operators:" in selection
    file.write_bytes(b"old")
    file.chmod(0o640)
    before = file.stat().st_ino
    link.symlink_to("file")
    write(link)
    assert link.is_symlink() and file.read_bytes() == selection
    assert file.stat().st_mode & 0o777 == 0o640 and file.stat().st_ino != before
    os.mkfifo(pipe)
    with subprocess.Popen(["cat", pipe], stdout=subprocess.PIPE) as reader:
        write(pipe)
        assert reader.communicate(timeout=60)[0] == selection
    assert pipe.is_fifo()
    file.unlink()
    write(link)
    assert link.is_symlink() and file.read_bytes() == selection
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "link", "pipe"]
