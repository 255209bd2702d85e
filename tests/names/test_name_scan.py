"""The scan of mangled names in C, compared with plain loops over one name at a time."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sizeguard.columns.texts import Texts
from sizeguard.names.rules import MANGLED_ANONYMOUS, Rules
from sizeguard.names.scan import scan_names as module
from sizeguard.names.scan.dtype_words import dtype_texts
from sizeguard.names.scan.scan_names import Scanned, scan_names
from sizeguard.operators.dtypes import CODE_OF_NAME
from tests.support.drawn import at_least
from tests.support.names.drawn_names import (
    ANY_NAMES,
    DRAWN_RULES,
    NAMES,
    OF_MEMBERS,
    RULES,
    all_rules,
)
from tests.support.names.packed_texts import side_by_side
from tests.support.names.plain_scan import PlainName

pytestmark = pytest.mark.native

ANY_OF_NAMES = st.one_of(
    ANY_NAMES,
    *(few.map(lambda names: [name.encode() for name in names]) for few in (NAMES, OF_MEMBERS)),
)
SPECIAL = [
    *(b"_ZN2at6nativeS0_999_12E", b"_ZN2at6nativeES_999xE", b"_ZN2at12_GLOBAL__N_125add"),
    *(b"_ZN2at6native12_GLOBAL__N_125" + b"a" * 25 + b"E", b"f" * 89 + b"_kernel"),
    *(b"_ZN2at1000" + b"a" * 1000, b"_ZN2at999" + b"a" * 999, b"_ZN2at03maxE"),
    *(b"_ZN2at6native3addILi16EEEv", b"_ZStlsIdcSt11char_traitsIcEERKSt7complexIT_E"),
    # Words with two scopes, or after a substitution
    *(b"_ZN2at3maxES0_6native3max", b"_ZN5torch3jitES0_6native3max", b"_ZNS0_6nativeE2at3max"),
    *(b"_ZN2at3maxES_L10add_kernelES0_7_kernelES_10add_kernel", b"_ZN2at6native12_GLOBAL__N_13max"),
    # What the first length is
    *(
        b"_ZN16native_layernorm2at3maxE",
        b"_ZN016native_layernorm2at",
        b"_ZS123_2at6native",
        b"_ZUlvE999_2at",
        b"_ZNSt3maxE",
    ),
    *(b"_ZThn16_N2at3maxE", b"_ZTv0_N2at3maxE", b"_ZTv0_n24_N2at3maxE", b"_ZTch0_N2at", b"_ZTh"),
    *(b"_ZN4loopUllfE", b"_ZN4loopUlllE", b"_ZN4loopclIllE", b"_ZN3abcUllfE", b"_ZN3abcUlllE"),
    # Places of types
    *(b"_ZN2at12a2r_IdE", b"_ZN3abcIffffdE", b"_ZN3abcILi123456EfE", b"_ZN8internalILi1Li2Lb1EfE"),
    *(b"_ZN8internalIiLi123EfLi1234EdLi12345EhLi123456EbE", b"_ZUllllllE_UllllfE_4loopUllllE"),
    *(b"_ZN8internalILi1ELi2ELi3ELi4ELi5ELi6ELi7EfdhE", b"_ZIf", b"If_ZUlf", b"_ZSSS_IdESAS_IfE"),
    *(b"_ZN7complexIN4HalfE7complexIN5abc104HalfE", b"_ZN7complexIN6abc1_04HalfE_N_13addIdE"),
    *(b"_ZN10ScalarTypeE6E10ScalarTypeE15E10ScalarTypeE43E", b"_ZN7complexE4Half7complexIN4HalfE"),
]
ANY_RULES = st.one_of(st.just(RULES), DRAWN_RULES)


def members_of(scanned: Scanned) -> list[tuple[int, int, bytes, tuple[str, ...]]]:
    """Return name, place in the name, text and scope of each member."""
    found = scanned.members
    texts = Texts(scanned.names.buffer, found.start, found.start + found.length).all_raw()
    place = found.start - scanned.names.start[found.name]
    scopes = [scanned.scopes[scope] for scope in found.scope.tolist()]
    return list(zip(found.name.tolist(), place.tolist(), texts, scopes, strict=True))


def hits_of(scanned: Scanned) -> list[tuple[int, int, int, bool]]:
    """Return name, rule, place in the name, and whether it is a mention."""
    found = scanned.rules
    place = found.start - scanned.names.start[found.name]
    columns = (found.name, found.rule, place, found.is_mention == 1)
    return list(zip(*(column.tolist() for column in columns), strict=True))


def check(texts: Texts, rules: Rules, *, dtypes: bool) -> None:
    """Compare all that is found with what a loop finds in each name."""
    scanned = scan_names(texts, rules, dtypes=dtypes)
    plain = [PlainName(raw, rules, dtypes=dtypes) for raw in texts.all_raw()]
    members, hits = members_of(scanned), hits_of(scanned)
    assert members == sorted(members, key=lambda row: row[0])
    assert sorted(members) == sorted(
        (i, member.start, member.text, member.scope)
        for i, name in enumerate(plain)
        for member in name.members()
    )
    assert hits == [(i, *hit) for i, name in enumerate(plain) for hit in name.hits()]
    found = zip(scanned.dtypes.tolist(), scanned.first_dtype.tolist(), strict=True)
    assert list(found) == ([name.dtypes() for name in plain] if dtypes else [])


@given(ANY_OF_NAMES, ANY_RULES, st.booleans())
@at_least(400)
@example(SPECIAL, RULES, True)
@example(SPECIAL, all_rules([MANGLED_ANONYMOUS], ["_kernel"]), True)
@example(SPECIAL, all_rules([], ["e", "l"]), True)
def test_all_that_is_found_in_a_name_is_what_a_loop_finds(
    names: list[bytes], rules: Rules, dtypes: bool
) -> None:
    check(Texts.of(names), rules, dtypes=dtypes)
    check(side_by_side(names), rules, dtypes=dtypes)


@given(ANY_OF_NAMES.map(b"".join), st.data())
def test_names_may_be_apart_overlap_and_end_anywhere(buffer: bytes, data: st.DataObject) -> None:
    place = st.integers(0, len(buffer))
    spans = data.draw(st.lists(st.tuples(place, place).map(sorted), max_size=6))
    start, end = np.array(spans, np.int64).reshape(-1, 2).T
    check(Texts(np.frombuffer(buffer, np.uint8), start, end), RULES, dtypes=True)


@given(ANY_OF_NAMES, st.integers(0, 1), st.integers(1, 3), st.booleans())
def test_little_room_gives_the_same_in_more_rounds(
    names: list[bytes], each: int, fewest: int, dtypes: bool
) -> None:
    texts = Texts.of([*names, b"_ZN2at6native10add_kernelIfE6native4Half" * 5])
    whole = scan_names(texts, RULES, dtypes=dtypes)
    rounds = []
    call = module.CODE.call
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_ROWS", each)
        patch.setattr(module, "_FEWEST_ROWS", fewest)
        patch.setattr(module.CODE, "call", lambda *given: rounds.append(1) or call(*given))
        few = scan_names(texts, RULES, dtypes=dtypes)
    most = max(len(whole.members.name), len(whole.rules.name))
    assert (len(rounds) > 1) == (most > each * len(texts) + fewest)
    assert few.dtypes.tolist() == whole.dtypes.tolist()
    assert few.first_dtype.tolist() == whole.first_dtype.tolist()
    for parts in ("members", "rules"):
        first, second = (dataclasses.asdict(getattr(found, parts)) for found in (whole, few))
        assert {k: v.tolist() for k, v in first.items()} == {
            k: v.tolist() for k, v in second.items()
        }


@given(
    st.lists(st.lists(st.sampled_from(sorted(CODE_OF_NAME)), unique=True, max_size=4), max_size=8)
)
def test_labels_of_dtypes_name_the_first_one_first(names: list[list[str]]) -> None:
    mask = [sum(1 << CODE_OF_NAME[dtype] for dtype in dtypes) for dtypes in names]
    first = [CODE_OF_NAME[dtypes[0]] if dtypes else -1 for dtypes in names]
    ids, labels = dtype_texts(np.array(mask, np.uint64), np.array(first, np.int8))
    expected = [
        [*dtypes[:1], *sorted(dtypes[1:], key=CODE_OF_NAME.__getitem__)] for dtypes in names
    ]
    assert [labels[i] for i in ids.tolist()] == ["+".join(dtypes) for dtypes in expected]
    assert len(set(labels)) == len(labels)
