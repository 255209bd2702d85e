"""Record torchgen's answers about a corpus of selection files.

They go to tests/data/torchgen/answers.json.

Run it with a Python that has torch 2.13 (for torchgen) and this project's PyYAML; the tests need
neither torch nor this script:
    python -m tests.generators.torchgen_answers
"""

from __future__ import annotations

import json
import random
import tempfile
from pathlib import Path

from torchgen.selective_build.selector import (
    SelectiveBuilder,
    combine_selective_builders,
)

from sizeguard.selection.read import read_selection
from sizeguard.selection.write import format_selection
from tests.generators.selection_texts import (
    ACCEPTED,
    DTYPES,
    NONSENSE,
    REFUSED,
    random_selection,
)
from tests.support.places import ROOT

ANSWERS = ROOT / "tests/data/torchgen/answers.json"
SEED = 20
RANDOM_FILES = 60
RANDOM_MERGES = 40

# Names to query besides those in a file: families, other overloads, and unrelated names.
STRANGERS = (
    "aten::add", "aten::add.out", "aten::mul", "aten::mul.Scalar", "aten::sub.Tensor", "add",
    "aten::add.Tensor.out", "",
)  # fmt: skip
# Kernel keys that a library offers; torchgen chooses among them.
LIBRARY_KEYS = (
    ("default",),
    ("v1/6;0,1|6;0,1", "default"),
    ("v1/6;0,1|6;0,1", "v1/3;0|3;0"),
    ("v9/6;0,1|6;0,1", "v1/6;0,1|6;0,1"),
    (),
)


def answers(builder: SelectiveBuilder) -> dict[str, object]:
    """Return torchgen's answers to all queries, about the names of the file and some others."""
    names = sorted(
        {
            *builder.operators,
            *(name + ".other" for name in builder.operators if "." not in name),
            *STRANGERS,
        }
    )
    tags = sorted({*builder.kernel_metadata, "unknown_tag"})
    return {
        "operators": {
            name: [
                builder.is_operator_selected(name),
                builder.is_root_operator(name),
                builder.is_operator_selected_for_training(name),
            ]
            for name in names
        },
        "dtypes": {
            tag: [dtype for dtype in DTYPES if builder.is_kernel_dtype_selected(tag, dtype)]
            for tag in tags
        },
        "kernels": [
            [name, list(keys), kernels(builder, name, keys)]
            for name in sorted({*builder.et_kernel_metadata, "aten::add.out"})
            for keys in LIBRARY_KEYS
        ],
        "content": content(builder),
    }


def kernels(builder: SelectiveBuilder, name: str, keys: tuple[str, ...]) -> list[str] | str:
    """Return torchgen's choice, or the name of the exception.

    An IndexError is torchgen's defect for keys without '/'.
    """
    try:
        return sorted(builder.et_get_selected_kernels(name, list(keys)))
    except Exception as error:  # torchgen raises Exception itself
        return type(error).__name__


def blunt(answer: dict[str, object]) -> str:
    """Return the answers without the kinds of exceptions.

    With several bad keys, the kind depends on their order in the file.
    """
    return json.dumps(answer, sort_keys=True).replace('"IndexError"', '"Exception"')


def content(builder: SelectiveBuilder) -> dict[str, object]:
    """Return the file as torchgen stores it, with sorted lists without duplicates."""
    return {
        "include_all_operators": builder.include_all_operators,
        "include_all_non_op_selectives": builder.include_all_non_op_selectives,
        "debug_info": sorted(set(builder._debug_info or ())),
        "operators": {
            name: [
                operator.is_root_operator,
                operator.is_used_for_training,
                operator.include_all_overloads,
                sorted(set(operator._debug_info or ())),
            ]
            for name, operator in sorted(builder.operators.items())
        },
        "kernel_metadata": {
            tag: sorted(set(dtypes)) for tag, dtypes in sorted(builder.kernel_metadata.items())
        },
        "et_kernel_metadata": {
            name: sorted(set(keys)) for name, keys in sorted(builder.et_kernel_metadata.items())
        },
        "custom_classes": sorted(builder.custom_classes),
        "build_features": sorted(builder.build_features),
    }


def build(text: str, folder: Path) -> SelectiveBuilder:
    path = folder / "selection.yaml"
    path.write_text(text, encoding="utf-8")
    return SelectiveBuilder.from_yaml_path(str(path))


def ours(text: str, folder: Path) -> str:
    """Return the same selection in our writer's format."""
    path = folder / "theirs.yaml"
    path.write_text(text, encoding="utf-8")
    return format_selection(read_selection(path).selection)


def refusal(text: str, folder: Path) -> str:
    try:
        build(text, folder)
    except Exception as error:  # torchgen refuses with various exceptions
        return type(error).__name__
    return ""


def accepted(case: str, text: str, folder: Path) -> dict[str, object]:
    """Return torchgen's answers about a file; they must be the same about ours."""
    rewritten = ours(text, folder)
    theirs = answers(build(text, folder))
    if blunt(answers(build(rewritten, folder))) != blunt(theirs):
        raise SystemExit(f"{case}: torchgen answers otherwise about our file")
    return {"case": case, "text": text, "ours": rewritten, "answers": theirs}


def refusals(texts: dict[str, str], folder: Path, *, refuses: bool) -> list[dict[str, str]]:
    """Return torchgen's errors; refuses: whether all files must have one, or none."""
    found = [
        {"case": case, "text": text, "error": refusal(text, folder)} for case, text in texts.items()
    ]
    for entry in found:
        if bool(entry["error"]) != refuses:
            raise SystemExit(f"{entry['case']}: torchgen says '{entry['error']}'")
    return found


def merged(texts: dict[str, str], source: random.Random, folder: Path) -> dict[str, object]:
    """Return torchgen's answers about some of the files, merged."""
    cases = source.sample(sorted(texts), source.randint(2, 4))
    builder = build(texts[cases[0]], folder)
    for case in cases[1:]:
        builder = combine_selective_builders(builder, build(texts[case], folder))
    return {"cases": cases, "answers": answers(builder)}


def main() -> None:
    source = random.Random(SEED)
    texts = dict(ACCEPTED)
    for model in sorted((ROOT / "tests/data/models_executorch").glob("*.yaml")):
        texts[f"gen_oplist_{model.stem}"] = model.read_text(encoding="utf-8")
    texts |= {f"random{i:02}": random_selection(source) for i in range(RANDOM_FILES)}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        parts = {
            "accepted": [accepted(case, text, folder) for case, text in texts.items()],
            "refused": refusals(REFUSED, folder, refuses=True),
            "nonsense": refusals(NONSENSE, folder, refuses=False),
            "merges": [merged(texts, source, folder) for _ in range(RANDOM_MERGES)],
        }
    ANSWERS.write_text(
        "{\n"
        + ",\n".join(
            f'"{part}": [\n'
            + ",\n".join(json.dumps(entry, sort_keys=True) for entry in entries)
            + "\n]"
            for part, entries in parts.items()
        )
        + "\n}\n",
        encoding="utf-8",
    )
    print(", ".join(f"{len(entries)} {part}" for part, entries in parts.items()))


if __name__ == "__main__":
    main()
