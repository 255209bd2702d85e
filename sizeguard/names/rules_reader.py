"""Read rules from a YAML file; errors name the wrong line."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path as File

from sizeguard.base.errors import InputError
from sizeguard.base.input_files import readable
from sizeguard.base.yaml.nodes import Listing, Node, Scalar, YamlTable, parse_nodes, read_nodes
from sizeguard.names.operator_words import OperatorNames
from sizeguard.names.rules import Path, PlaceRule, Rule, Rules, identifier_of
from sizeguard.operators.dtypes import SCALAR_TYPES

_WHAT = "list of rules"
_KEYS = (
    "operators",
    "kernels",
    "words",
    "transparent",
    "drivers",
    "helpers",
    "marks",
    "containers",
    "indexed",
    "cases",
    "case_types",
    "libraries",
    "dtypes",
    "absent",
    "rules",
)
_CONDITIONS = ("within", "identifier", "namespace", "prefix")
_RESULTS = ("operator", "kernel", "dtype", "component")
_FIELDS = (*_CONDITIONS, *_RESULTS, "weak", "mentions")
_PLACES = ("section", "object", "source", "symbol")  # the cheapest first
_PLACE_FIELDS = (*_PLACES, "component")
_PLACEHOLDER = re.compile(r"\{(\w*)\}")
_PLACEHOLDERS = ("name", "operator")
_LONGEST_WORD = 63
_PATH = re.compile(r"(?:\(anonymous namespace\)|\w+)(?:::(?:\(anonymous namespace\)|\w+))*")


def read_preset(path: File) -> Rules:
    """Read rules. Raises InputError, with file and line, for anything that is not a rule."""
    if path.is_file() and not path.stat().st_size:
        raise InputError(f"{path}: no rules: the file is empty")
    return _rules_of(path, read_nodes(path, _WHAT))


def parse_preset(text: str, path: File) -> Rules:
    """Parse rules as read_preset does; path appears in error messages."""
    return _rules_of(path, parse_nodes(text.encode(), path, _WHAT))


def check_rules(node: Node, path: File) -> None:
    """Raise InputError for a node that is not a list of rules, such as `rules:` of another file."""
    if not isinstance(node, Listing):
        raise InputError(f"{path}:{node.line}: rules is a list, or the path of a file")
    _rules_of(path, YamlTable(node.line, [(Scalar(node.line, "str", "rules"), node)]))


def _rules_of(path: File, root: Node) -> Rules:
    if not isinstance(root, YamlTable):
        raise InputError(f"{path}:{root.line}: rules are a table with the keys {', '.join(_KEYS)}")
    keys = {
        key: node
        for key, node in _pairs(path, root, _KEYS, "key").items()
        if not (isinstance(node, Scalar) and node.kind == "null")
    }
    names = _operator_names(path, keys, root.line)
    rules = keys.get("rules", Listing(root.line))
    if not isinstance(rules, Listing):
        raise InputError(f"{path}:{rules.line}: rules is a list")
    return Rules(
        names=names,
        transparent=tuple(map(identifier_of, _words(path, keys.get("transparent")))),
        drivers=_words(path, keys.get("drivers")),
        helpers=_texts(path, keys.get("helpers")),
        marks=_texts(path, keys.get("marks")),
        containers=_words(path, keys.get("containers")),
        indexed=_words(path, keys.get("indexed")),
        cases=_texts(path, keys.get("cases")),
        case_types=_texts(path, keys.get("case_types")),
        libraries=_texts(path, keys.get("libraries")),
        dtypes=_dtypes(path, keys.get("dtypes", YamlTable(root.line))),
        absent=_absent(path, keys.get("absent")),
        rules=tuple(_rule(path, node) for node in rules.items if not _is_of_place(node)),
        places=tuple(_place_rule(path, node) for node in rules.items if _is_of_place(node)),
    )


def _is_of_place(node: Node) -> bool:
    return isinstance(node, YamlTable) and any(key.text in _PLACES for key, _ in node.pairs)


def _place_rule(path: File, node: Node) -> PlaceRule:
    """Read a rule such as {source: */zlib/*, component: zlib}."""
    place = f"{path}:{node.line}"
    pairs = _pairs(path, node, _PLACE_FIELDS, "field") if isinstance(node, YamlTable) else {}
    fields = {key: _text(path, value) for key, value in pairs.items()}
    if "component" not in fields:
        raise InputError(f"{place}: a rule by {', '.join(_PLACES)} needs a component")
    globs = tuple((key, fields[key]) for key in _PLACES if key in fields)
    return PlaceRule(place, globs, fields["component"])


def _operator_names(path: File, keys: Mapping[str, Node], line: int) -> OperatorNames:
    """Read the keys words, operators and kernels; the last two name files next to this one."""
    table = keys.get("words", YamlTable(line))
    if not isinstance(table, YamlTable):
        raise InputError(f"{path}:{table.line}: words is a table with first and last")
    words = _pairs(path, table, ("first", "last"), "key")
    known, kernels = (
        _lines(path, _text(path, keys[key])) if key in keys else ()
        for key in ("operators", "kernels")
    )
    first, last = _texts(path, words.get("first")), _texts(path, words.get("last"))
    return OperatorNames(known, first, last, kernels)


def _lines(path: File, name: str) -> tuple[str, ...]:
    try:
        text = readable(path.parent / name).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(
            f"{path.parent / name}: cannot read the list of operators: {error}"
        ) from error
    lines = []
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip() and not line.startswith("#"):
            if "::" not in line.split()[0]:
                raise InputError(
                    f"{path.parent / name}:{number}: an operator has a namespace, such as"
                    f" aten::add; this is '{line.split()[0]}'"
                )
            lines.append(line)
    return tuple(lines)


def _rule(path: File, node: Node) -> Rule:
    if not isinstance(node, YamlTable):
        raise InputError(
            f"{path}:{node.line}: a rule is a table such as {{namespace: dnnl, component: oneDNN}}"
        )
    place = f"{path}:{node.line}"
    fields = {
        key: _text(path, value)
        for key, value in _pairs(path, node, (*_FIELDS, *_PLACES), "field").items()
    }
    _check_conditions(place, fields)
    _check_placeholders(place, fields)
    _check_identifier(place, fields)
    if "dtype" in fields and not all(part in SCALAR_TYPES for part in fields["dtype"].split("+")):
        raise InputError(f"{place}: {_unknown('dtype', fields['dtype'], SCALAR_TYPES)}")
    for key in ("weak", "mentions"):
        if fields.get(key, "true") not in ("true", "false"):
            raise InputError(f"{place}: {key} is true or false, not '{fields[key]}'")
    is_weak = fields.get("weak") == "true"
    return Rule(
        place,
        within=_path(fields.get("within", "")),
        identifier=fields.get("identifier", ""),
        namespace=_path(fields.get("namespace", "")),
        prefix=fields.get("prefix", ""),
        weak=is_weak,
        mentions=fields.get("mentions") != "false" and not is_weak,
        operator=fields.get("operator", ""),
        kernel=fields.get("kernel", ""),
        dtype=fields.get("dtype", ""),
        component=fields.get("component", ""),
    )


def _path(text: str) -> Path:
    return tuple(identifier_of(word) for word in text.split("::")) if text else ()


def _conditions(fields: Mapping[str, str]) -> list[str]:
    return [key for key in ("within", "namespace", "prefix") if key in fields]


def _check_conditions(place: str, fields: Mapping[str, str]) -> None:
    conditions = _conditions(fields)
    if len(conditions) > 1 or (not conditions and "identifier" not in fields):
        raise InputError(
            f"{place}: a rule has one of within, namespace, prefix, or identifier alone"
        )
    if not any(key in fields for key in _RESULTS):
        raise InputError(f"{place}: a rule needs one of {', '.join(_RESULTS)}")
    for key in ("within", "namespace"):
        if key in fields and not _PATH.fullmatch(fields[key]):
            raise InputError(
                f"{place}: {key} is a namespace such as std::chrono, not '{fields[key]}'"
            )
        if key in fields:
            _check_word(place, fields[key].rpartition("::")[2])


def _check_placeholders(place: str, fields: Mapping[str, str]) -> None:
    for key in _RESULTS:
        for placeholder in _PLACEHOLDER.findall(fields.get(key, "")):
            if placeholder not in _PLACEHOLDERS:
                raise InputError(
                    f"{place}: unknown placeholder {{{placeholder}}}; there are {{name}} and"
                    " {operator}"
                )
            if "within" not in fields:
                raise InputError(
                    f"{place}: {{{placeholder}}} stands for a member's name; the rule needs within"
                )


def _check_identifier(place: str, fields: Mapping[str, str]) -> None:
    if "identifier" not in fields:
        return
    conditions = _conditions(fields)
    if conditions and conditions != ["within"]:
        raise InputError(f"{place}: identifier needs within, or no other condition")
    if not conditions:
        _check_word(place, fields["identifier"])


def _check_word(place: str, word: str) -> None:
    """Raise InputError for a word that scans of names cannot find."""
    is_word = re.fullmatch(r"\w+|\(anonymous namespace\)", word)
    if not is_word or not 2 <= len(word.encode()) <= _LONGEST_WORD:
        raise InputError(
            f"{place}: names are searched for words of 2 to {_LONGEST_WORD} bytes, not '{word}'"
        )


def _dtypes(path: File, node: Node) -> tuple[tuple[str, str], ...]:
    if not isinstance(node, YamlTable):
        raise InputError(f"{path}:{node.line}: dtypes is a table of C++ class and dtype")
    found = []
    for key, value in node.pairs:
        dtype = _text(path, value)
        if dtype not in SCALAR_TYPES:
            raise InputError(f"{path}:{value.line}: {_unknown('dtype', dtype, SCALAR_TYPES)}")
        _check_word(f"{path}:{key.line}", key.text)
        found.append((key.text, dtype))
    return tuple(found)


def _absent(path: File, node: Node | None) -> tuple[str, ...]:
    names = _texts(path, node)
    for item, name in zip(node.items if isinstance(node, Listing) else (), names, strict=True):
        if name not in SCALAR_TYPES:
            raise InputError(f"{path}:{item.line}: {_unknown('dtype', name, SCALAR_TYPES)}")
    return names


def _pairs(path: File, table: YamlTable, known: tuple[str, ...], what: str) -> dict[str, Node]:
    found: dict[str, Node] = {}
    for key, value in table.pairs:
        if key.text not in known:
            raise InputError(f"{path}:{key.line}: {_unknown(what, key.text, known)}")
        if key.text in found:
            raise InputError(f"{path}:{key.line}: duplicate {what} {key.text}")
        found[key.text] = value
    return found


def _unknown(what: str, word: str, known: tuple[str, ...]) -> str:
    import difflib  # 3 ms

    near = difflib.get_close_matches(word, known, n=1)
    return f"unknown {what} '{word}'" + (
        f"; nearest is '{near[0]}'" if near else f"; there are {', '.join(known)}"
    )


def _text(path: File, node: Node) -> str:
    if not isinstance(node, Scalar) or node.kind == "null" or not node.text:
        raise InputError(f"{path}:{node.line}: expected a text")
    return node.text


def _words(path: File, node: Node | None) -> tuple[str, ...]:
    names = _texts(path, node)
    for item, name in zip(node.items if isinstance(node, Listing) else (), names, strict=True):
        _check_word(f"{path}:{item.line}", name)
    return names


def _texts(path: File, node: Node | None) -> tuple[str, ...]:
    if node is None:
        return ()
    if not isinstance(node, Listing):
        raise InputError(f"{path}:{node.line}: expected a list of texts")
    return tuple(_text(path, item) for item in node.items)
