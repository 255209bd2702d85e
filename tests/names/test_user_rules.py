"""Rules of users: wrong ones are refused with their line, and they come before the preset's."""

from __future__ import annotations

from pathlib import Path

import pytest

from sizeguard.base.errors import InputError
from sizeguard.columns.texts import Texts
from sizeguard.names.labels import label_names
from sizeguard.names.rules_reader import read_preset
from sizeguard.runtimes.known import runtime_named


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "rules:\n  - {namespce: dnnl, component: x}",
            r"rules\.yaml:2: unknown field 'namespce'; nearest is 'namespace'",
        ),
        (
            "rules:\n  - {component: x}",
            r"rules\.yaml:2: a rule has one of within, namespace, prefix",
        ),
        (
            "rules:\n  - {namespace: a, prefix: b, component: x}",
            r"rules\.yaml:2: a rule has one of",
        ),
        ("rules:\n  - {namespace: a}", r"rules\.yaml:2: a rule needs one of operator"),
        (
            "rules:\n  - {namespace: 'a:b', component: x}",
            r"rules\.yaml:2: namespace is a namespace such as std::chrono, not 'a:b'",
        ),
        (
            "rules:\n  - {prefix: a, dtype: Flot}",
            r"rules\.yaml:2: unknown dtype 'Flot'; nearest is 'Float'",
        ),
        (
            "rules:\n  - {prefix: a, operator: '{operator}'}",
            r"rules\.yaml:2: \{operator\} stands for a member's name; the rule needs within",
        ),
        (
            "rules:\n  - {within: at, operator: '{opertor}'}",
            r"rules\.yaml:2: unknown placeholder \{opertor\}",
        ),
        (
            "rules:\n  - {identifier: 'a*', operator: x}",
            r"rules\.yaml:2: names are searched for words of 2 to 63 bytes, not 'a\*'",
        ),
        *(
            (text, rf"rules\.yaml:2: names are searched for words of 2 to 63 bytes, not '{word}'")
            for text, word in (
                ("rules:\n  - {namespace: a, component: x}", "a"),
                ("rules:\n  - {within: 'at::b', component: x}", "b"),
                (f"rules:\n  - {{namespace: {'a' * 64}, component: x}}", "a{64}"),
                (f"rules:\n  - {{identifier: {'ö' * 32}, component: x}}", "ö{32}"),
                ("transparent:\n  - a", "a"),
                ("containers:\n  - std::vector", "std::vector"),
                ("dtypes:\n  H: Half", "H"),
            )
        ),
        ("dtypes:\n  Half: half", r"rules\.yaml:2: unknown dtype 'half'; nearest is 'Half'"),
        (
            "dtypes: {}\nabsent: [Long, Uint32]",
            r"rules\.yaml:2: unknown dtype 'Uint32'; nearest is 'UInt32'",
        ),
        ("absent: UInt32", r"rules\.yaml:1: expected a list of texts"),
        ("ruls: []", r"rules\.yaml:1: unknown key 'ruls'; nearest is 'rules'"),
        ("rules: {}", r"rules\.yaml:1: rules is a list"),
        ("- a", r"rules\.yaml:1: rules are a table"),
        ("operators: none.txt", r"none\.txt: cannot read the list of operators"),
        ("", r"rules\.yaml: no rules: the file is empty"),
        ("a: [", r"rules\.yaml:2: not YAML"),
    ],
)
def test_a_wrong_rule_is_refused_with_its_line(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "rules.yaml"
    path.write_text(text)
    with pytest.raises(InputError, match=message) as error:
        read_preset(path)
    assert "\n" not in str(error.value)


def test_an_unknown_preset_is_refused() -> None:
    with pytest.raises(InputError, match="unknown preset 'atn'; nearest is aten"):
        runtime_named("atn")


def test_user_rules_come_first(tmp_path: Path) -> None:
    path = tmp_path / "rules.yaml"
    path.write_text(
        "rules:\n"
        "  - {namespace: dnnl, component: mine}\n"
        "  - {within: 'at::native', identifier: add_kernel, operator: 'my::add'}\n"
        "  - {identifier: special_thing, operator: 'my::special', dtype: Half}\n"
        "  - {prefix: hand_written_, kernel: assembly}\n"
    )
    preset = read_preset(path).before(runtime_named("aten").rules)
    names = [
        "_ZN4dnnl3fooEv",
        "_ZN2at6native10add_kernelEv",
        "_ZN2at6native10mul_kernelEv",
        "_ZN1a13special_thingEv",
        "hand_written_gemm",
    ]
    found = label_names(Texts.of(names), preset)
    assert found.component.texts[found.component.ids[0]] == "mine"
    assert [found.operator.texts[i] for i in found.operator.ids] == [
        "",
        "my::add",
        "aten::mul",
        "my::special",
        "",
    ]
    assert [found.dtype.texts[i] for i in found.dtype.ids][3] == "Half"
    assert [found.kernel.texts[i] for i in found.kernel.ids][4] == "assembly"
