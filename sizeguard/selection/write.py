"""Write a selection file: sorted, byte-stable, every flag stated, readable by torchgen."""

from __future__ import annotations

from pathlib import Path

from sizeguard.base.files import write_if_changed
from sizeguard.base.yaml.text import ascii_quoted, yaml_list, yaml_table
from sizeguard.selection.provenance import write_record
from sizeguard.selection.selection import SelectedOperator, Selection

# The list of files that a generator wrote, relative to its folder, for build systems.
OUTPUTS = "outputs.txt"


def write_selection(path: Path, selection: Selection) -> bool:
    """Write the file, unless it has this content already, so that builds stay up to date.

    Returns whether it was written.
    """
    return write_if_changed(path, format_selection(selection))


def format_selection(selection: Selection) -> str:
    """Write one line per operator and per tag, so that diffs are readable."""
    debug_info = sorted(
        {
            *selection.debug_info,
            *(write_record(model, asked) for model, asked in selection.provenance.items()),
        }
    )
    lines = [
        f"include_all_operators: {_flag(selection.include_all_operators)}",
        f"include_all_non_op_selectives: {_flag(selection.include_all_non_op_selectives)}",
        *yaml_table(
            "operators", {name: _operator(entry) for name, entry in selection.operators.items()}
        ),
        *yaml_table(
            "kernel_metadata",
            {tag: yaml_list(dtypes) for tag, dtypes in selection.kernel_metadata.items()},
        ),
        *yaml_table(
            "et_kernel_metadata",
            {name: yaml_list(keys) for name, keys in selection.et_kernel_metadata.items()},
        ),
        f"custom_classes: {yaml_list(selection.custom_classes)}",
        f"build_features: {yaml_list(selection.build_features)}",
    ]
    if debug_info:
        lines += ["debug_info:", *(f"- {ascii_quoted(text)}" for text in debug_info)]
    return "\n".join(lines) + "\n"


def _operator(entry: SelectedOperator) -> str:
    text = (
        f"{{is_root_operator: {_flag(entry.is_root_operator)}, is_used_for_training:"
        f" {_flag(entry.is_used_for_training)}, include_all_overloads:"
        f" {_flag(entry.include_all_overloads)}"
    )
    return text + (f", debug_info: {yaml_list(entry.debug_info)}}}" if entry.debug_info else "}")


def _flag(value: bool) -> str:
    return "true" if value else "false"
