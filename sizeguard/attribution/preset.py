"""Turns a YAML file of rules into what the names of an image mean: operator, kernel, dtype, component."""

from __future__ import annotations

import difflib
import fnmatch
import functools
import re
from dataclasses import dataclass
from pathlib import Path as File

from sizeguard.attribution.dtypes import DTYPES
from sizeguard.attribution.operator_names import OperatorNames
from sizeguard.attribution.preset_names import PRESETS, identifier_of
from sizeguard.errors import InputError
from sizeguard.yaml_nodes import Listing, Node, Scalar, Table, read_nodes

FOLDER = File(__file__).parent / "presets"

# A namespace, word by word, as they are mangled.
Path = tuple[str, ...]

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
_PLACEHOLDER = re.compile(r"\{(\w*)\}")
_PLACEHOLDERS = ("name", "operator")
_PATH = re.compile(r"(?:\(anonymous namespace\)|\w+)(?:::(?:\(anonymous namespace\)|\w+))*")


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule. Its condition is one of three:

    within:    members of a namespace, path by path; with `identifier`, those that the pattern fits
    namespace: names that lie in it; those of others that mention it, too, unless `mentions` is false. A weak rule gives way to what a
               name mentions: std::vector<dnnl::memory> is oneDNN's
    prefix:    names that begin with the text

    and `identifier` alone: names that hold this identifier; its operator comes before those of members. What follows may
    hold {name}, the member's identifier, and {operator}, the known operator that it names; a rule with {operator} does not fit a member
    that names none.
    """

    place: str
    within: Path = ()
    identifier: str = ""
    namespace: Path = ()
    prefix: str = ""
    weak: bool = False
    mentions: bool = True
    operator: str = ""
    kernel: str = ""
    dtype: str = ""
    component: str = ""

    def fits(self, identifier: str) -> bool:
        return not self.identifier or fnmatch.fnmatchcase(identifier, self.identifier)


@dataclass(frozen=True)
class Preset:
    """Rules, in order; the first that fits decides, for operator, kernel, dtype and component apart.

    names:       the known operators
    transparent: namespaces whose members count as members of what they lie in
    drivers:     templates that run any operator's loop: no operator's own, and a lambda of theirs takes elements
    helpers:     more names that are no operator's own
    marks:       how members end that stand behind a substitution (S3_), whose namespace cannot be seen
    containers:  templates whose arguments are no dtype: ArrayRef<long>
    indexed:     namespaces of templates over elements and an index type, Int or Long: Eigen's gemm_pack_rhs<float, long>
    cases:       functions that a dtype switch inlines, one for each branch, with the dtype among their template arguments
    case_types:  templates that have the type of a switch's branch: a lambda that uses a local name for it, CTYPE, is the branch's
    libraries:   components whose names without a meaning lie between others of theirs
    dtypes:      class → dtype
    absent:      dtypes that such images have none of: uint32_t stands for four bytes of any dtype there
    """

    names: OperatorNames
    transparent: tuple[str, ...]
    drivers: tuple[str, ...]
    helpers: tuple[str, ...]
    marks: tuple[str, ...]
    containers: tuple[str, ...]
    indexed: tuple[str, ...]
    cases: tuple[str, ...]
    case_types: tuple[str, ...]
    libraries: tuple[str, ...]
    dtypes: tuple[tuple[str, str], ...]
    absent: tuple[str, ...]
    rules: tuple[Rule, ...]

    @functools.cached_property
    def shared(self) -> frozenset[str]:
        """Members that are no operator's own."""
        return frozenset((*self.drivers, *self.helpers))

    @property
    def has_cases(self) -> bool:
        """Whether debug information may say which code is a branch's."""
        return bool(self.cases or self.case_types)

    def before(self, other: Preset) -> Preset:
        """Both; where both say something, this one."""
        return Preset(
            self.names if len(self.names) else other.names,
            tuple(dict.fromkeys([*self.transparent, *other.transparent])),
            tuple(dict.fromkeys([*self.drivers, *other.drivers])),
            tuple(dict.fromkeys([*self.helpers, *other.helpers])),
            tuple(dict.fromkeys([*self.marks, *other.marks])),
            tuple(dict.fromkeys([*self.containers, *other.containers])),
            tuple(dict.fromkeys([*self.indexed, *other.indexed])),
            tuple(dict.fromkeys([*self.cases, *other.cases])),
            tuple(dict.fromkeys([*self.case_types, *other.case_types])),
            tuple(dict.fromkeys([*self.libraries, *other.libraries])),
            tuple({**dict(other.dtypes), **dict(self.dtypes)}.items()),
            tuple(dict.fromkeys([*self.absent, *other.absent])),
            (*self.rules, *other.rules),
        )


@functools.cache
def load_preset(name: str) -> Preset:
    if name not in PRESETS:
        near = difflib.get_close_matches(name, PRESETS, n=1)
        hint = f"; nearest is {near[0]}" if near else ""
        raise InputError(f"unknown preset {name}{hint}; there are auto, {', '.join(PRESETS)}")
    return read_preset(FOLDER / f"{name}.yaml")


def read_preset(path: File) -> Preset:
    """Raises InputError, with file and line, for what is no rule."""
    if path.is_file() and not path.stat().st_size:
        raise InputError(f"{path}: no rules: the file is empty")
    root = read_nodes(path)
    if not isinstance(root, Table):
        raise InputError(f"{path}:{root.line}: rules are a table with the keys {', '.join(_KEYS)}")
    keys = {key: node for key, node in _pairs(path, root, _KEYS, "key").items() if not (isinstance(node, Scalar) and node.kind == "null")}
    table = keys.get("words", Table(root.line))
    if not isinstance(table, Table):
        raise InputError(f"{path}:{table.line}: words is a table with first and last")
    words = _pairs(path, table, ("first", "last"), "key")
    known: tuple[str, ...] = ()
    if "operators" in keys:
        known = _lines(path, _text(path, keys["operators"]))
    kernels = _lines(path, _text(path, keys["kernels"])) if "kernels" in keys else ()
    names = OperatorNames(known, _texts(path, words.get("first")), _texts(path, words.get("last")), kernels)
    rules = keys.get("rules", Listing(root.line))
    if not isinstance(rules, Listing):
        raise InputError(f"{path}:{rules.line}: rules is a list")
    return Preset(
        names,
        tuple(identifier_of(text) for text in _texts(path, keys.get("transparent"))),
        tuple(_texts(path, keys.get("drivers"))),
        tuple(_texts(path, keys.get("helpers"))),
        tuple(_texts(path, keys.get("marks"))),
        tuple(_texts(path, keys.get("containers"))),
        tuple(_texts(path, keys.get("indexed"))),
        tuple(_texts(path, keys.get("cases"))),
        tuple(_texts(path, keys.get("case_types"))),
        tuple(_texts(path, keys.get("libraries"))),
        tuple(_dtypes(path, keys.get("dtypes", Table(root.line)))),
        _absent(path, keys.get("absent")),
        tuple(_rule(path, node) for node in rules.items),
    )


def _lines(path: File, name: str) -> tuple[str, ...]:
    try:
        text = (path.parent / name).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path.parent / name}: cannot read the list of operators: {error}") from error
    lines = []
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip() and not line.startswith("#"):
            if "::" not in line.split()[0]:
                raise InputError(
                    f"{path.parent / name}:{number}: an operator has a namespace, such as aten::add; this is '{line.split()[0]}'"
                )
            lines.append(line)
    return tuple(lines)


def _rule(path: File, node: Node) -> Rule:
    if not isinstance(node, Table):
        raise InputError(f"{path}:{node.line}: a rule is a table such as {{namespace: dnnl, component: oneDNN}}")
    place = f"{path}:{node.line}"
    fields = {key: _text(path, value) for key, value in _pairs(path, node, _FIELDS, "field").items()}
    conditions = [key for key in ("within", "namespace", "prefix") if key in fields]
    if len(conditions) > 1 or (not conditions and "identifier" not in fields):
        raise InputError(f"{place}: a rule has one of within, namespace, prefix, or identifier alone")
    if not any(key in fields for key in _RESULTS):
        raise InputError(f"{place}: a rule says one of {', '.join(_RESULTS)}")
    for key in ("within", "namespace"):
        if key in fields and not _PATH.fullmatch(fields[key]):
            raise InputError(f"{place}: {key} is a namespace such as at::native, not '{fields[key]}'")
    for key in _RESULTS:
        for placeholder in _PLACEHOLDER.findall(fields.get(key, "")):
            if placeholder not in _PLACEHOLDERS:
                raise InputError(f"{place}: unknown placeholder {{{placeholder}}}; there are {{name}} and {{operator}}")
            if "within" not in fields:
                raise InputError(f"{place}: {{{placeholder}}} is a member's; the rule needs within")
    if "identifier" in fields and conditions and conditions != ["within"]:
        raise InputError(f"{place}: identifier goes with within, or alone")
    if "identifier" in fields and not conditions and not re.fullmatch(r"\w{2,63}", fields["identifier"]):
        raise InputError(f"{place}: an identifier without within is one word of 2 to 63 characters, not '{fields['identifier']}'")
    if "dtype" in fields and not all(part in DTYPES for part in fields["dtype"].split("+")):
        raise InputError(f"{place}: {_unknown('dtype', fields['dtype'], DTYPES)}")
    for key in ("weak", "mentions"):
        if fields.get(key, "true") not in ("true", "false"):
            raise InputError(f"{place}: {key} is true or false, not '{fields[key]}'")
    path_of = {
        key: tuple(identifier_of(word) for word in fields[key].split("::")) if key in fields else () for key in ("within", "namespace")
    }
    return Rule(
        place,
        path_of["within"],
        fields.get("identifier", ""),
        path_of["namespace"],
        fields.get("prefix", ""),
        fields.get("weak") == "true",
        fields.get("mentions") != "false" and fields.get("weak") != "true",
        *(fields.get(key, "") for key in _RESULTS),
    )


def _dtypes(path: File, node: Node) -> list[tuple[str, str]]:
    if not isinstance(node, Table):
        raise InputError(f"{path}:{node.line}: dtypes is a table of C++ class and dtype")
    found = []
    for key, value in node.pairs:
        dtype = _text(path, value)
        if dtype not in DTYPES:
            raise InputError(f"{path}:{value.line}: {_unknown('dtype', dtype, DTYPES)}")
        found.append((key.text, dtype))
    return found


def _absent(path: File, node: Node | None) -> tuple[str, ...]:
    names = _texts(path, node)
    for item, name in zip(node.items if isinstance(node, Listing) else (), names, strict=True):
        if name not in DTYPES:
            raise InputError(f"{path}:{item.line}: {_unknown('dtype', name, DTYPES)}")
    return names


def _pairs(path: File, table: Table, known: tuple[str, ...], what: str) -> dict[str, Node]:
    found: dict[str, Node] = {}
    for key, value in table.pairs:
        if key.text not in known:
            raise InputError(f"{path}:{key.line}: {_unknown(what, key.text, known)}")
        if key.text in found:
            raise InputError(f"{path}:{key.line}: the {what} {key.text} is there twice")
        found[key.text] = value
    return found


def _unknown(what: str, word: str, known: tuple[str, ...]) -> str:
    near = difflib.get_close_matches(word, known, n=1)
    return f"unknown {what} '{word}'" + (f"; nearest is '{near[0]}'" if near else f"; there are {', '.join(known)}")


def _text(path: File, node: Node) -> str:
    if not isinstance(node, Scalar) or node.kind == "null" or not node.text:
        raise InputError(f"{path}:{node.line}: expected a text")
    return node.text


def _texts(path: File, node: Node | None) -> tuple[str, ...]:
    if node is None:
        return ()
    if not isinstance(node, Listing):
        raise InputError(f"{path}:{node.line}: expected a list of texts")
    return tuple(_text(path, item) for item in node.items)
