"""Write hand-made ExecuTorch programs, and gen_oplist's answers about them.

The programs have features that small models lack.

They go to tests/data/models_executorch. Run it with a Python that has executorch 1.5.1, and with
flatc on the path:
    python -m tests.generators.executorch_programs
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from importlib.resources import files
from pathlib import Path
from typing import Any

from tests.support.places import DATA

MODELS = DATA / "models_executorch"

Json = dict[str, Any]


def tensor(dtype: str, *dim_order: int) -> Json:
    return value(
        "Tensor",
        scalar_type=dtype,
        sizes=[2] * len(dim_order),
        dim_order=list(dim_order),
        data_buffer_idx=0,
    )


def value(kind: str, **content: Any) -> Json:
    return {"val_type": kind, "val": content}


def instruction(kind: str, **content: int | list[int]) -> Json:
    return {"instr_args_type": kind, "instr_args": content}


def call(operator: int, *arguments: int) -> Json:
    return instruction("KernelCall", op_index=operator, args=list(arguments))


def plan(name: str, values: list[Json], operators: list[str], *chains: list[Json]) -> Json:
    return {
        "name": name,
        "values": values,
        "inputs": [],
        "outputs": [],
        "operators": [
            {"name": text.partition(".")[0], "overload": text.partition(".")[2]}
            for text in operators
        ],
        "chains": [
            {"inputs": [], "outputs": [], "instructions": instructions} for instructions in chains
        ],
        "delegates": [],
        "non_const_buffer_sizes": [0],
    }


def program(*plans: Json) -> Json:
    return {
        "version": 0,
        "execution_plan": list(plans),
        "constant_buffer": [],
        "backend_delegate_data": [],
        "segments": [],
    }


LISTS = program(
    plan(
        "forward",
        [
            tensor("FLOAT", 0, 1),
            tensor("HALF", 1, 0),
            tensor("BFLOAT16"),
            value("TensorList", items=[1, 0]),
            value("TensorList", items=[]),
            value("OptionalTensorList", items=[5, 0, 1]),
            value("Null"),
            value("OptionalTensorList", items=[-1, 1]),
            value("OptionalTensorList", items=[-1, -1]),
            value("OptionalTensorList", items=[]),
            value("Int", int_val=1),
            value("IntList", items=[10]),
            value("String", string_val="x"),
        ],
        ["aten::cat.out", "aten::index.Tensor_out", "aten::stack.out", "aten::scalar_tensor.out"],
        [
            call(0, 3, 10, 0),
            call(0, 3, 10, 0),
            call(2, 4, 10, 0),
            call(1, 2, 7, 1),
            call(1, 2, 8, 1),
            call(1, 2, 9, 1),
            call(3, 10, 11, 6, 2),
        ],
    )
)
METHODS = program(
    plan(
        "forward",
        [tensor("UINT16", 2, 0, 1), tensor("BOOL", 0)],
        ["aten::relu", "aten::never_called.out"],
        [call(0, 0, 1)],
        [call(0, 1, 1)],
    ),
    plan(
        "other",
        [tensor("LONG", 0), value("Int", int_val=2)],
        ["aten::relu", "executorch_prim::add.Scalar"],
        [call(0, 0), call(1, 1, 1, 1)],
    ),
)
CONTROL = program(
    {
        **plan(
            "forward",
            [tensor("INT", 0), value("Bool", bool_val=True)],
            ["aten::abs.out"],
            [
                instruction("JumpFalseCall", cond_value_index=1, destination_instruction=3),
                instruction("DelegateCall", delegate_index=0, args=[0]),
                instruction("MoveCall", move_from=0, move_to=0),
                call(0, 0, 0),
                instruction("FreeCall", value_index=0),
            ],
        ),
        "delegates": [
            {"id": "Backend", "processed": {"location": "INLINE", "index": 0}, "compile_specs": []}
        ],
    }
)


def compiled(schema: str, content: Json, folder: Path) -> bytes:
    source = folder / "content.json"
    source.write_text(json.dumps(content), encoding="utf-8")
    subprocess.run(["flatc", "--binary", "-o", str(folder), schema, str(source)], check=True)
    output = next(path for path in folder.glob("content.*") if path.suffix != ".json")
    data = output.read_bytes()
    output.unlink()
    return data


def main() -> None:
    package = Path(str(files("executorch.exir"))).parent
    schema = str(package / "exir/_serialize/program.fbs")
    bundle = str(package / "devtools/bundled_program/schema/bundled_program_schema.fbs")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        programs = {
            case: compiled(schema, content, folder)
            for case, content in (("lists", LISTS), ("methods", METHODS), ("control", CONTROL))
        }
        suites = [{"method_name": "forward", "test_cases": []}]
        programs["bundled"] = compiled(
            bundle,
            {"version": 0, "method_test_suites": suites, "program": list(programs["lists"])},
            folder,
        )
    for case, data in programs.items():
        path = MODELS / f"{case}.pte"
        path.write_bytes(data)
        subprocess.run(
            [
                sys.executable,
                "-m",
                "executorch.codegen.tools.gen_oplist",
                f"--model_file_path=models/{path.name}",
                f"--output_path={path.with_suffix('.yaml')}",
            ],
            check=True,
            cwd=folder_with_models(),
        )


def folder_with_models() -> Path:
    """Make a folder with the files in models/, since gen_oplist writes the path that it gets."""
    folder = Path(tempfile.mkdtemp())
    (folder / "models").symlink_to(MODELS)
    return folder


if __name__ == "__main__":
    main()
