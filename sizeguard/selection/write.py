"""Write a selection file: sorted, byte-stable, every flag stated, readable by torchgen."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path

import yaml

from sizeguard.base.files import write_if_changed
from sizeguard.base.yaml_nodes import resolve
from sizeguard.selection.provenance import write_record
from sizeguard.selection.selection import SelectedOperator, Selection

# The list of files that a generator wrote, relative to its folder, for build systems.
OUTPUTS = "outputs.txt"
# Words that YAML reads as strings anywhere, unless the resolver reads them as a number, a date or a
# boolean.
_WORD = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_./-]*(?:::?[A-Za-z0-9_./-]+)*")
_PRINTABLE = re.compile(r"[ -~]*")


def write_selection(path: Path, selection: Selection) -> bool:
    """Write the file, unless it has this content already, so that builds stay up to date.

    True if it was written.
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
        lines += ["debug_info:", *(f"- {_quoted(text)}" for text in debug_info)]
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
    return [f"{key}:", *(f"  {word(name)}: {entries[name]}" for name in sorted(entries))]


def _flow(words: Iterable[str]) -> str:
    return f"[{', '.join(word(text) for text in sorted(words))}]"


def _flag(value: bool) -> str:
    return "true" if value else "false"


def word(text: str) -> str:
    """Write a string unquoted if YAML allows it, because that is easier to read; else quote it."""
    if (
        _WORD.fullmatch(text)
        and resolve(yaml.ScalarNode, text, (True, False)) == "tag:yaml.org,2002:str"
    ):
        return text
    return _quoted(text)


def _quoted(text: str) -> str:
    """Quote in single quotes, which need the fewest escapes for JSON, else in double quotes."""
    if _PRINTABLE.fullmatch(text):
        return "'" + text.replace("'", "''") + "'"
    return '"' + "".join(_escaped(character) for character in text) + '"'


def _escaped(character: str) -> str:
    code = ord(character)
    if character in '"\\':
        return "\\" + character
    if 0x20 <= code < 0x7F:
        return character
    return (
        f"\\x{code:02x}"
        if code < 0x100
        else f"\\u{code:04x}"
        if code < 0x10000
        else f"\\U{code:08x}"
    )
