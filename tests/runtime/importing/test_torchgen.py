"""Our answers about selections equal the recorded answers of torchgen.

See tests/generators/torchgen_answers.py.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from sizeguard.base.errors import InputError
from sizeguard.selection.provenance import write_record
from sizeguard.selection.read import read_selection
from sizeguard.selection.selection import Selection
from sizeguard.selection.union import merge
from sizeguard.selection.write import format_selection
from tests.support.places import DATA

RECORDED: dict[str, list[dict[str, Any]]] = json.loads(
    (DATA / "torchgen/answers.json").read_text(encoding="utf-8")
)
TEXTS = {entry["case"]: entry["text"] for entry in RECORDED["accepted"]}
DTYPES = ("Byte", "Int", "Long", "Float", "Double", "Bool", "6", "float")

# The one file that torchgen refuses and we read. PyTorch's mobile tracer writes such a file for a
# model that runs no dtype switch.
MILDER = {"kernel_metadata_empty_list"}


def cases(part: str) -> list[Any]:
    return [pytest.param(entry, id=entry["case"]) for entry in RECORDED[part]]


def read(text: str, folder: Path) -> Selection:
    path = folder / "selection.yaml"
    path.write_text(text, encoding="utf-8")
    return read_selection(path).selection


def our_kernels(selection: Selection, name: str, keys: list[str]) -> list[str] | str:
    try:
        return sorted(selection.selected_kernel_keys(name, keys))
    except InputError:
        return "Exception"


def check_answers(selection: Selection, answers: dict[str, Any]) -> None:
    for name, expected in answers["operators"].items():
        actual = [
            selection.is_operator_selected(name),
            selection.is_root_operator(name),
            selection.is_operator_selected_for_training(name),
        ]
        assert actual == expected, name
    for tag, dtypes in answers["dtypes"].items():
        assert [
            dtype for dtype in DTYPES if selection.is_kernel_dtype_selected(tag, dtype)
        ] == dtypes, tag
    for name, keys, expected in answers["kernels"]:
        # torchgen's IndexError is a defect: it splits "default" at a missing '/'.
        if expected != "IndexError":
            assert our_kernels(selection, name, keys) == expected, (name, keys)
    assert our_content(selection) == answers["content"]


def our_content(selection: Selection) -> dict[str, Any]:
    return {
        "include_all_operators": selection.include_all_operators,
        "include_all_non_op_selectives": selection.include_all_non_op_selectives,
        # Our records are free text to torchgen.
        "debug_info": sorted(
            {
                *selection.debug_info,
                *(write_record(model, asked) for model, asked in selection.provenance.items()),
            }
        ),
        "operators": {
            name: [
                entry.is_root_operator,
                entry.is_used_for_training,
                entry.include_all_overloads,
                sorted(entry.debug_info),
            ]
            for name, entry in selection.operators.items()
        },
        "kernel_metadata": {
            tag: sorted(dtypes) for tag, dtypes in selection.kernel_metadata.items()
        },
        "et_kernel_metadata": {
            name: sorted(keys) for name, keys in selection.et_kernel_metadata.items()
        },
        "custom_classes": sorted(selection.custom_classes),
        "build_features": sorted(selection.build_features),
    }


@pytest.mark.parametrize("entry", cases("accepted"))
def test_answers_are_torchgens(entry: dict[str, Any], tmp_path: Path) -> None:
    check_answers(read(entry["text"], tmp_path), entry["answers"])


@pytest.mark.parametrize("entry", cases("accepted"))
def test_our_form_is_the_one_that_torchgen_read(entry: dict[str, Any], tmp_path: Path) -> None:
    # torchgen gave the same answers for this text as for the original.
    assert format_selection(read(entry["text"], tmp_path)) == entry["ours"]
    assert read(entry["ours"], tmp_path) == read(entry["text"], tmp_path)


@pytest.mark.parametrize("entry", cases("refused") + cases("nonsense"))
def test_refused_with_file_and_line(entry: dict[str, Any], tmp_path: Path) -> None:
    if entry["case"] in MILDER:
        assert read(entry["text"], tmp_path) == Selection()
        return
    with pytest.raises(InputError) as refusal:
        read(entry["text"], tmp_path)
    message = str(refusal.value)
    assert "\n" not in message
    assert message.startswith(str(tmp_path / "selection.yaml"))
    if entry["text"].replace("# nothing\n", "") and entry["case"] != "binary":
        assert re.match(r":\d+: ", message.removeprefix(str(tmp_path / "selection.yaml")))


@pytest.mark.parametrize("entry", RECORDED["merges"], ids=lambda entry: "+".join(entry["cases"]))
def test_merges_are_torchgens(entry: dict[str, Any], tmp_path: Path) -> None:
    merged = merge([(case, read(TEXTS[case], tmp_path)) for case in entry["cases"]]).selection
    content, expected = our_content(merged), entry["answers"]["content"]
    # Our merge also records the requesting file if no file states one; all else is equal.
    assert set(expected["debug_info"]) <= set(content["debug_info"])
    for name, flags in expected["operators"].items():
        assert set(flags[3]) <= set(content["operators"][name][3])
        assert content["operators"][name][3]
        flags[3] = content["operators"][name][3]
    check_answers(
        merged, {**entry["answers"], "content": {**expected, "debug_info": content["debug_info"]}}
    )


def test_defects_of_torchgen_are_met_and_not_copied(tmp_path: Path) -> None:
    met = [
        (entry["text"], name, keys)
        for entry in RECORDED["accepted"]
        for name, keys, expected in entry["answers"]["kernels"]
        if expected == "IndexError"
    ]
    assert met
    for text, name, keys in met:
        answer = our_kernels(read(text, tmp_path), name, keys)
        assert answer == "Exception" if "default" not in keys else "default" in answer
