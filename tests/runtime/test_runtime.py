"""The runtime: errors in one line, budgets, aliasing, and traces that lack a branch."""

from __future__ import annotations

import random
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import yaml

from sizeguard.builds.build_record import Build
from sizeguard.projects.root import project_root
from sizeguard.runtimes.sizeguard.building.driver import build
from sizeguard.runtimes.sizeguard.building.tracing import trace
from sizeguard.runtimes.sizeguard.building.variants import Variant, checked_variant
from sizeguard.runtimes.sizeguard.importing.importer import default_library, import_model
from sizeguard.runtimes.sizeguard.program.program import (
    Dim,
    Instruction,
    Kind,
    Program,
    ProgramInput,
    Tag,
    TensorView,
    Value,
)
from sizeguard.runtimes.sizeguard.program.program_file import write_program
from sizeguard.toolchains.toolchain import Toolchain
from tests.support.commands.program_runs import assert_one_line, run

FLOAT = 6
LONG = 4
BOOL = 11


@pytest.fixture(scope="module")
def programs(models_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Return a function that imports a sample model and bundles the given cases, or all."""
    folder = tmp_path_factory.mktemp("programs")

    def make(model: str, *numbers: int, prepack: bool = False) -> Path:
        source = models_dir / model
        found = sorted(
            {int(file.name[4 : file.name.index("_")]) for file in source.glob("case*_input0.npy")}
        )
        cases = [sorted(source.glob(f"case{number}_input*.npy")) for number in numbers or found]
        output = folder / f"{model}{''.join(map(str, numbers))}{'p' if prepack else ''}.sgp"
        write_program(
            import_model(
                source / "model.pt2", default_library(), output.stem, cases, prepack
            ).program,
            output,
        )
        return output

    return make


def one_call(
    operator: str, tensors: int = 1, dims: int = 2, extra: tuple[Value, ...] = ()
) -> Program:
    """Return a program that passes its inputs and some constants to one operator."""
    count = len(extra)
    slots = tuple(range(count, count + tensors))
    inputs = tuple(ProgramInput(slot, Tag.TENSOR, FLOAT, (Dim(0, 8),) * dims) for slot in slots)
    call = Instruction(Kind.CALL, 0, (*slots, *range(count)), (count + tensors,))
    return Program(
        "one", (operator,), count + tensors + 1, extra, (), (), (call,), inputs, (count + tensors,)
    )


def test_a_missing_operator_is_named_before_running(
    core_build: Build, programs: Callable[..., Path]
) -> None:
    done = run(core_build.shipped, programs("branchy"), "--check")
    assert done.returncode == 1
    missing = {line.split("operator ")[1].split(" is not")[0] for line in done.stderr.splitlines()}
    assert {"aten::linear", "aten::erf", "aten::Bool.Tensor"} <= missing


def test_a_missing_class_is_named(core_build: Build, programs: Callable[..., Path]) -> None:
    done = run(core_build.shipped, programs("mlp", prepack=True), "--check")
    assert done.returncode == 1
    assert "class LinearOpContext is not in this build" in done.stderr


def test_check_of_a_complete_build_says_nothing(
    full_build: Build, programs: Callable[..., Path]
) -> None:
    done = run(full_build.shipped, programs("branchy"), "--check")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_prepacked_linear_layers_give_the_model_s_results(
    full_build: Build, programs: Callable[..., Path], models_dir: Path, tmp_path: Path
) -> None:
    for case in (0, 1):
        done = run(
            full_build.shipped,
            programs("mlp", prepack=True),
            "--case",
            str(case),
            "--output-dir",
            str(tmp_path),
        )
        assert done.returncode == 0, done.stderr
        expected = np.load(models_dir / "mlp" / f"case{case}_expected0.npy")
        np.testing.assert_allclose(
            np.load(tmp_path / "output0.npy"), expected, rtol=1.3e-6, atol=1e-5
        )


@pytest.mark.parametrize("size", [0, 1, 7, 100, 1000])
def test_a_truncated_program_is_refused(
    full_build: Build, programs: Callable[..., Path], tmp_path: Path, size: int
) -> None:
    cut = tmp_path / "cut.sgp"
    cut.write_bytes(programs("mlp").read_bytes()[:size])
    assert_one_line(run(full_build.shipped, cut, "--check"), 2, str(cut))


def test_mutated_programs_end_in_results_or_one_line(
    full_build: Build, programs: Callable[..., Path], tmp_path: Path
) -> None:
    original = programs("int_ops").read_bytes()
    draw = random.Random(0)
    refused = 0
    for _ in range(200):
        content = bytearray(original)
        for _ in range(draw.randint(1, 4)):
            content[draw.randrange(len(content))] = draw.randrange(256)
        mutated = tmp_path / "mutated.sgp"
        mutated.write_bytes(content)
        done = run(
            full_build.shipped,
            mutated,
            "--case",
            "0",
            "--output-dir",
            str(tmp_path),
            "--max-instructions",
            "1000",
        )
        assert done.returncode in (0, 1, 2), done.stderr
        if done.returncode:
            refused += 1
            assert done.stderr.startswith("error: ")
            if done.returncode == 2:
                assert done.stderr.count("\n") == 1
    assert refused > 20


def test_missing_files_are_named(
    full_build: Build, programs: Callable[..., Path], tmp_path: Path
) -> None:
    assert_one_line(run(full_build.shipped, tmp_path / "no.sgp", "--check"), 2, "no.sgp")
    output = ("--output-dir", str(tmp_path))
    assert_one_line(
        run(full_build.shipped, programs("mlp"), "--input", str(tmp_path / "no.npy"), *output),
        2,
        "no.npy",
    )
    assert_one_line(run(full_build.shipped, tmp_path, "--check"), 2, str(tmp_path))


def test_the_output_folder_is_made(
    full_build: Build, programs: Callable[..., Path], tmp_path: Path
) -> None:
    case = (programs("mlp"), "--case", "0", "--output-dir")
    folder = tmp_path / "of today" / "mlp"
    for _ in range(2):
        done = run(full_build.shipped, *case, str(folder))
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
        assert [file.name for file in folder.iterdir()] == ["output0.npy"]
    assert_one_line(run(full_build.shipped, *case, ""), 2, "error: --output-dir; usage: ")
    assert not Path("/output0.npy").exists()
    for refused in (folder / "output0.npy", folder / "output0.npy" / "deeper", "/proc/sizeguard"):
        assert_one_line(run(full_build.shipped, *case, str(refused)), 2, str(refused))
    long = tmp_path / "/".join(["long"] * 900)
    assert_one_line(run(full_build.shipped, *case, str(long)), 2, "cannot write output 0")
    assert not (tmp_path / "long").exists()


def test_wrong_inputs_are_refused(
    full_build: Build, programs: Callable[..., Path], tmp_path: Path
) -> None:
    mlp = programs("mlp")
    output = ("--output-dir", str(tmp_path))
    good = np.load(project_root() / "native" / "models" / "mlp" / "case0_input0.npy")
    for array, words in (
        (good.astype(np.float64), ("input 0", "Double", "Float")),
        (good[:, :-1].copy(), ("input 0", "dimension 1")),
        (good[0], ("input 0", "1 dimensions")),
    ):
        path = tmp_path / "in.npy"
        np.save(path, array)
        assert_one_line(run(full_build.shipped, mlp, "--input", str(path), *output), 2, *words)
    np.save(path, np.asfortranarray(good))
    assert_one_line(run(full_build.shipped, mlp, "--input", str(path), *output), 2, "in.npy")
    np.save(path, good.astype(">f4"))
    assert_one_line(run(full_build.shipped, mlp, "--input", str(path), *output), 2, "in.npy")
    path.write_bytes(path.read_bytes()[:100])
    assert_one_line(run(full_build.shipped, mlp, "--input", str(path), *output), 2, "in.npy")
    assert_one_line(run(full_build.shipped, mlp, *output), 2, "takes 1 inputs, not 0")
    assert_one_line(run(full_build.shipped, mlp, "--case", "9", *output), 2, "no number 9")


def test_an_instruction_budget_bounds_loops(full_build: Build, tmp_path: Path) -> None:
    forever = Program("forever", (), 0, (), (), (), (Instruction(Kind.JUMP, 0),), (), ())
    path = tmp_path / "forever.sgp"
    write_program(forever, path)
    done = run(
        full_build.shipped, path, "--output-dir", str(tmp_path), "--max-instructions", "1000000"
    )
    assert_one_line(done, 2, "more instructions than the limit")


def test_tensors_share_the_check_of_their_storage(full_build: Build, tmp_path: Path) -> None:
    """A file of 9 MB took 40 s to load: each tensor read all bools of its storage again."""
    views = (TensorView(BOOL, (1,), (1,), 0, 0),) * 20_000
    path = tmp_path / "shared.sgp"
    write_program(Program("shared", (), 0, (), views, (bytes(8 << 20),), (), (), ()), path)
    command = [full_build.shipped, "--program", path, "--check"]
    assert subprocess.run(command, timeout=10, check=False).returncode == 0


def test_a_loop_counts_down_and_reads_its_slots_again(full_build: Build, tmp_path: Path) -> None:
    # n = 5; total = 0; while n != 0: total = total + n; n = n - 1
    zero, one, five = (Value(Tag.INT, integer=number) for number in (0, 1, 5))
    n, total, more = 3, 4, 5
    operators = ("aten::add.int", "aten::ne.int", "aten::sub.int")
    instructions = (
        Instruction(Kind.MOVE, 0, (2,), (n,)),
        Instruction(Kind.MOVE, 0, (0,), (total,)),
        Instruction(Kind.CALL, 1, (n, 0), (more,)),
        Instruction(Kind.JUMP_FALSE, 7, (more,)),
        Instruction(Kind.CALL, 0, (total, n), (total,)),
        Instruction(Kind.CALL, 2, (n, 1), (n,)),
        Instruction(Kind.JUMP, 2),
    )
    path = tmp_path / "loop.sgp"
    write_program(
        Program("loop", operators, 6, (zero, one, five), (), (), instructions, (), (total,)), path
    )
    done = run(full_build.shipped, path, "--output-dir", str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert np.load(tmp_path / "output0.npy") == 15


def test_a_call_of_the_wrong_arity_is_refused(full_build: Build, tmp_path: Path) -> None:
    path = tmp_path / "arity.sgp"
    write_program(one_call("aten::add.Tensor", tensors=2), path)
    assert_one_line(
        run(full_build.shipped, path, "--check"), 2, "does not fit the operator's schema"
    )


def test_an_error_names_operator_and_caller(full_build: Build, tmp_path: Path) -> None:
    path = tmp_path / "linear.sgp"
    write_program(one_call("aten::linear", tensors=3), path)
    arrays = [np.ones((2, 3), np.float32), np.ones((4, 5), np.float32), np.ones((4, 4), np.float32)]
    arguments = []
    for i, array in enumerate(arrays):
        np.save(tmp_path / f"{i}.npy", array)
        arguments += ["--input", str(tmp_path / f"{i}.npy")]
    done = run(full_build.shipped, path, *arguments, "--output-dir", str(tmp_path))
    assert_one_line(done, 2, "aten::", "(called by aten::linear)")


def test_a_write_to_a_constant_is_refused(full_build: Build, tmp_path: Path) -> None:
    view = TensorView(FLOAT, (2,), (1,), 0, 0)
    constants = (Value(Tag.TENSOR, integer=0), Value(Tag.INT, integer=1))
    call = Instruction(Kind.CALL, 0, (0, 1), (2,))
    path = tmp_path / "write.sgp"
    write_program(
        Program(
            "write", ("aten::fill_.Scalar",), 3, constants, (view,), (bytes(8),), (call,), (), (2,)
        ),
        path,
    )
    assert_one_line(
        run(full_build.shipped, path, "--output-dir", str(tmp_path)),
        2,
        "aten::fill_.Scalar",
        "constant",
    )


def test_a_view_shares_its_storage_and_a_write_shows_through(
    full_build: Build, tmp_path: Path
) -> None:
    # x = full([2, 3], 1); y = x[:, 1] (a strided view); y.fill_(7); output x
    constants = (
        Value(Tag.INT_LIST, integers=(2, 3)),
        Value(Tag.DOUBLE, number=1.0),
        Value(Tag.NONE),
        Value(Tag.INT, integer=1),
        Value(Tag.INT, integer=7),
    )
    x, y, z = 5, 6, 7
    operators = ("aten::fill_.Scalar", "aten::full", "aten::select.int")
    instructions = (
        Instruction(Kind.CALL, 1, (0, 1, 2, 2, 2, 2), (x,)),
        Instruction(Kind.CALL, 2, (x, 3, 3), (y,)),
        Instruction(Kind.CALL, 0, (y, 4), (z,)),
    )
    path = tmp_path / "view.sgp"
    write_program(Program("view", operators, 8, constants, (), (), instructions, (), (x, z)), path)
    done = run(full_build.shipped, path, "--output-dir", str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert np.load(tmp_path / "output0.npy").tolist() == [[1, 7, 1], [1, 7, 1]]
    assert np.load(tmp_path / "output1.npy").tolist() == [7, 7]


def test_a_trace_of_one_branch_lacks_the_other(
    programs: Callable[..., Path], tmp_path: Path, instrumented_build: Build, toolchain: Toolchain
) -> None:
    second = tmp_path / "second.yaml"
    trace(project_root(), (programs("branchy", 1),), second, executed_only=False)
    selection = yaml.safe_load(second.read_text())
    assert selection["operators"]["aten::linear"]["is_root_operator"] is True
    assert "aten::addmm" not in selection["operators"]
    assert "sigmoid" not in selection["kernel_metadata"]

    variant = checked_variant(
        project_root(), Variant("selective", "", second, dtypes=True, optimize="s", sanitize="")
    )
    selective = build(
        project_root(), variant, toolchain, project_root() / "build" / "models" / "branchy_second"
    )
    both = programs("branchy")
    done = run(selective.shipped, both, "--case", "1", "--output-dir", str(tmp_path))
    assert done.returncode == 0, done.stderr
    done = run(selective.shipped, both, "--case", "0", "--output-dir", str(tmp_path))
    assert_one_line(done, 1, "aten::linear", "which is not in this build", "trace the model")


def test_a_trace_of_two_models_keeps_the_roots_of_both(
    instrumented_build: Build, programs: Callable[..., Path], tmp_path: Path
) -> None:
    roots: set[str] = set()
    for model in ("int_ops", "mlp"):
        alone = tmp_path / f"{model}.yaml"
        trace(project_root(), (programs(model),), alone, executed_only=False)
        operators = yaml.safe_load(alone.read_text())["operators"]
        roots |= {name for name, entry in operators.items() if entry["is_root_operator"]}
    together = tmp_path / "both.yaml"
    trace(project_root(), (programs("int_ops"), programs("mlp")), together, executed_only=False)
    operators = yaml.safe_load(together.read_text())["operators"]
    assert {name for name, entry in operators.items() if entry["is_root_operator"]} == roots


def test_executed_only_leaves_out_roots_that_no_input_reached(
    instrumented_build: Build, programs: Callable[..., Path], tmp_path: Path
) -> None:
    output = tmp_path / "executed.yaml"
    trace(project_root(), (programs("branchy", 1),), output, executed_only=True)
    operators = yaml.safe_load(output.read_text())["operators"]
    assert "aten::cumsum" in operators
    assert "aten::linear" not in operators
