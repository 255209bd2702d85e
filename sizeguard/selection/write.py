"""Write a selection file: sorted, byte-stable, every flag stated, readable by torchgen."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from sizeguard.base.files import write_if_changed
from sizeguard.base.yaml_text import ascii_quoted, yaml_name
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
        *_block(
            "operators", {name: _operator(entry) for name, entry in selection.operators.items()}
        ),
        *_block(
            "kernel_metadata",
            {tag: _flow(dtypes) for tag, dtypes in selection.kernel_metadata.items()},
        ),
        *_block(
            "et_kernel_metadata",
            {name: _flow(keys) for name, keys in selection.et_kernel_metadata.items()},
        ),
        f"custom_classes: {_flow(selection.custom_classes)}",
        f"build_features: {_flow(selection.build_features)}",
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
    return text + (f", debug_info: {_flow(entry.debug_info)}}}" if entry.debug_info else "}")


def _block(key: str, entries: Mapping[str, str]) -> list[str]:
    if not entries:
        return [f"{key}: {{}}"]
    return [f"{key}:", *(f"  {yaml_name(name)}: {entries[name]}" for name in sorted(entries))]


def _flow(words: Iterable[str]) -> str:
    return f"[{', '.join(yaml_name(text) for text in sorted(words))}]"


def _flag(value: bool) -> str:
    return "true" if value else "false"
