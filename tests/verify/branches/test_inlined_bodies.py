"""Kernels that contain the body of a dtype branch without its switch, without a compiler."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from sizeguard.attribution.owners.inlined import case_dtypes
from sizeguard.base.dataclass import dataclass
from sizeguard.columns.texts import Texts
from sizeguard.runtimes.known import runtime_named
from sizeguard.verify.branches.bodies import Instance
from sizeguard.verify.branches.kernel_users import KernelUsers, hosts_of, users_of
from sizeguard.verify.branches.references import Place, References
from sizeguard.verify.evidence.object_evidence import NamedPiece
from sizeguard.verify.leaks import deselected_code
from tests.support.images.made_frames import frames_over

LOOP = "_ZN2sg4loopIdEEvv"
TEXT = "loop<double>"
# Functions over four ranges of code, the innermost first.
OVER = (("main",), (LOOP, "add"), ("other", f"_{LOOP}", "mean"), (LOOP, "other", "add"))
INSTANCE = Instance("loop", ("double",), NamedPiece(-1, 0, 0, 9, LOOP))


def evidence() -> Any:
    frames = frames_over((16 * i, 16 * i + 16, over) for i, over in enumerate(OVER))
    return SimpleNamespace(frames=frames, objects=SimpleNamespace(index={}))


def kernels(*names: str) -> Any:
    return SimpleNamespace(function_of=lambda symbol: symbol if symbol in names else "")


def test_the_hosts_are_the_outermost_functions() -> None:
    assert hosts_of(evidence(), LOOP) == {"add", "mean"}
    assert hosts_of(evidence(), "other") == {"add", "mean"}
    assert hosts_of(evidence(), "main") == {"main"}
    assert hosts_of(evidence(), "absent") == frozenset()
    assert hosts_of(SimpleNamespace(frames=None), LOOP) == frozenset()  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("known", "own", "expected"),
    [
        ({TEXT: ("add", "mean")}, ("add", "mean"), True),
        ({TEXT: ("add",)}, ("add", "mean"), False),
        ({TEXT: ("add", "mean")}, ("add",), False),  # the other host is no kernel
        ({"loop<float>": ("add", "mean")}, ("add", "mean"), False),
    ],
)
def test_only_known_kernels_may_contain_a_body(
    known: dict[str, tuple[str, ...]], own: tuple[str, ...], expected: bool
) -> None:
    references: Any = SimpleNamespace(evidence=evidence())
    users = KernelUsers(kernels(*own), references, known)
    assert users.explain_inlined(INSTANCE) == expected


@pytest.mark.parametrize(
    ("hosts", "expected"),
    [
        ({}, {TEXT: ("add", "mean")}),
        ({"sum": ("add",)}, {TEXT: ("mean",)}),
        ({"sum": ("add",), "prod": ("mean",)}, {}),
        ({"max": ("add",)}, {TEXT: ("add", "mean")}),  # no tag of the body
    ],
)
def test_kernels_with_a_switch_of_the_tag_are_no_other_users(
    hosts: dict[str, tuple[str, ...]], expected: dict[str, tuple[str, ...]]
) -> None:
    bodies: Any = SimpleNamespace(
        evidence=evidence(),
        references=SimpleNamespace(evidence=evidence()),
        of_branch={},
        inlined_of_branch={("sum", "Double"): [INSTANCE], ("prod", "Double"): [INSTANCE]},
        noted=SimpleNamespace(hosts=lambda tag: hosts.get(tag, ())),
    )
    assert users_of(kernels("add", "mean"), bodies) == expected


@pytest.mark.parametrize(
    ("code", "dtype"), [("6", "Float"), ("44", "Float8_e8m0fnu"), ("43", ""), ("9" * 5000, "")]
)
def test_the_case_of_a_code_of_any_length(code: str, dtype: str) -> None:
    """Names in damaged debug information have numbers of any length."""
    rules = replace(runtime_named("sizeguard").rules, cases=("run_case",))
    names = Texts.of([f"run_case<(sg::ScalarType){code}, float>".encode()])
    assert case_dtypes(names, rules) == [dtype]


def piece(symbol: str, size: int = 32) -> NamedPiece:
    return NamedPiece(0, len(symbol), 0, size, symbol)


@pytest.mark.parametrize(
    ("known", "users", "expected"),
    [
        (("add",), ("add",), True),
        (("add", "mean"), ("add",), True),
        (("add",), ("add", "mean"), False),
        (("add",), ("add", "plain"), False),
        (("add",), ("add", None), False),  # a table refers to it
        (("add",), (), False),
        ((), ("add",), False),
        (None, ("add",), False),
    ],
)
def test_a_body_is_explained_if_only_known_kernels_refer_to_it(
    known: tuple[str, ...] | None, users: tuple[str | None, ...], expected: bool
) -> None:
    pieces = [user and piece(user) for user in users]
    references: Any = SimpleNamespace(users_of=lambda _: pieces)
    texts = {} if known is None else {TEXT: known}
    assert KernelUsers(kernels("add", "mean"), references, texts).explain(INSTANCE) == expected


@dataclass(frozen=True, eq=False)
class Chain(References):
    """References of made-up functions f, ff, fff…, each to the next one, which has a size."""

    size: int

    def symbols_of(self, place: Place, depth: int = 0) -> Iterator[tuple[str, NamedPiece | None]]:
        name = "f" * (place[0][1] + 1)
        yield name, piece(name, self.size)


@pytest.mark.parametrize(("size", "longest"), [(16, 6), (17, 2)])
def test_references_behind_five_small_functions_are_those_of_the_first(
    size: int, longest: int
) -> None:
    chain = Chain(evidence(), size)
    assert chain.called(chain.place_of(piece("f"))) == {"f" * n for n in range(2, longest + 1)}


def test_users_of_a_body_are_kernels_of_the_image_without_its_switch() -> None:
    names = ("add", "mean", "sum", "mul", "plain")
    evidence: Any = SimpleNamespace(
        objects=SimpleNamespace(index={name: [piece(name)] for name in names}),
        placement=SimpleNamespace(where=lambda at: None if at.symbol == "sum" else 0x1000),
    )
    references = SimpleNamespace(
        evidence=evidence, place_of=lambda at: at, called=lambda _: {LOOP, "memcpy"}
    )
    bodies: Any = SimpleNamespace(
        of_branch={("tag", "Double"): [INSTANCE], ("other", "Double"): [INSTANCE]},
        inlined_of_branch={},
        references=references,
        evidence=evidence,
        noted=SimpleNamespace(hosts=lambda tag: {"add": 0} if tag == "other" else {}),
    )
    of: Any = SimpleNamespace(
        function_of=lambda symbol: symbol if symbol != "plain" else "",
        is_helper=lambda symbol: symbol == "mul",
    )
    assert users_of(of, bodies) == {TEXT: ("mean",)}


def test_functions_inlined_in_the_full_image_are_known(monkeypatch: pytest.MonkeyPatch) -> None:
    """Their names are those of its debug information, if it has a full build and can be read."""
    build = SimpleNamespace(image="full", debug=None)
    frames = {"full": (evidence().frames, ""), "damaged": (None, "it is damaged")}
    monkeypatch.setattr(deselected_code, "frames_of", lambda image, _: frames[image])
    for image, expected in (
        ("full", {"main", "add", "mean", "other", LOOP}),
        ("damaged", set()),
        ("", set()),
    ):
        build.image = image
        found = build if image else None
        monkeypatch.setattr(deselected_code, "full_build", lambda _, found=found: found)
        assert deselected_code.DeselectedCode(evidence(), None).inlined_in_full == expected
