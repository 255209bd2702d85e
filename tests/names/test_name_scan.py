"""The steps that scan mangled names, each compared with a plain loop over one name at a time."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from dataclasses import dataclass
from fnmatch import fnmatchcase

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sizeguard.columns.text_hash import hash_texts
from sizeguard.columns.texts import Int, Texts
from sizeguard.names.labels import FirstValues, NameLabels, label_names
from sizeguard.names.operator_words import OperatorNames
from sizeguard.names.rules import MANGLED_ANONYMOUS, Rule, Rules
from sizeguard.names.scan import packed_names
from sizeguard.names.scan.dtype_scan import ChunkDtypes, DtypeScan, dtype_texts
from sizeguard.names.scan.families import families
from sizeguard.names.scan.identifiers import (
    Chunk,
    Dictionary,
    FoundWords,
    beginnings,
)
from sizeguard.names.scan.packed_names import PackedNames
from sizeguard.names.scan.rule_hits import Scanned
from sizeguard.names.scan.rule_scan import scan_names
from sizeguard.names.scan.type_grammar import (
    builtin_types,
    element_types,
    is_allocator,
    is_behind,
    is_grammar,
    is_substituted,
    number_at,
)
from sizeguard.operators.dtypes import CODE_OF_NAME, COMPLEX_OF_REAL, NAME_OF_LETTER
from tests.support.images.packed_texts import chunk_of, side_by_side

pytestmark = pytest.mark.native

PIECES = (
    *("_ZN2at6native", "_ZN2at", "_Z", "plain_", "NS_", "N", "E", "_", "L", "3c10", "St", "_13add"),
    *(
        "12_GLOBAL__N_1",
        "S5_12_GLOBAL__N_1",
        "10add_kernel",
        "10mul_kernel",
        "12general_c2r_",
        "13general_c2r_",
    ),
    *("IfE", "IlE", "IxfdE", "IlfEE", "UlffE_", "UlllE0_", "UlvE17_", "ULlE", "I3addE", "ILb1EfE"),
    *("4Half", "8BFloat16", "N3c104HalfE", "7complexIfE", "7complexIN3c104HalfEE", "4Halff"),
    *("5ArrayIfE", "6vectorIlE", "SaIlE", "SB_IlE", "S_IfE", "clIllEEDaT_T0_", "clIfE", "4loopI"),
    *("10ScalarTypeE6E", "10ScalarTypeE66E", "10ScalarTypeE", "8internalILi4EfLb0EdE", "8internal"),
    *(
        "ILi6EfE",
        "7IsEmpty",
        "16native_layernorm",
        "6memory",
        "4dnnl",
        "_fE",
        "0",
        "12",
        "I",
        "l",
        "d",
    ),
)
NAMES = st.lists(
    st.lists(st.sampled_from(PIECES), min_size=1, max_size=7).map("".join), min_size=1, max_size=5
)
# Pieces of names: members of namespaces, and other words that rules match.
MEMBERS = (
    *("_ZN2at6native", "_ZN2at", "_ZNSt", "plain_", "N2at", "NS_6native", "6native", "S5_", "E"),
    *("12_GLOBAL__N_1", "S5_12_GLOBAL__N_1", "NS3_", "10add_kernel", "10mul_kernel", "L7add_one"),
    *("12general_c2r_", "7IsEmpty", "6memory", "4dnnl", "IfE", "3max", "16native_layernorm"),
)
OF_MEMBERS = st.lists(
    st.lists(st.sampled_from(MEMBERS), min_size=1, max_size=7).map("".join), min_size=1, max_size=5
)
RULES = Rules(
    names=OperatorNames(
        ["aten::add Tensor", "aten::mul -", "aten::max -"], last_words=["kernel", "impl"]
    ),
    transparent=(MANGLED_ANONYMOUS, "native"),
    drivers=("loop",),
    helpers=("memory",),
    marks=("_kernel",),
    containers=("Array",),
    indexed=("internal",),
    cases=(),
    case_types=(),
    libraries=(),
    dtypes=(("Half", "Half"), ("BFloat16", "BFloat16")),
    absent=("UInt32",),
    rules=(
        Rule("", within=("at",), operator="{operator}", kernel="{name}", component="kernels"),
        Rule("", within=("at",), identifier="IsEmpty", component="tests", dtype="Bool"),
        Rule("", within=("at",), kernel="{name}"),
        Rule("", within=("at", "native"), operator="{operator}", component="native"),
        Rule("", identifier="general_c2r_", operator="aten::max", component="fft"),
        Rule("", namespace=("at",), component="ATen"),
        Rule("", namespace=("dnnl",), component="oneDNN"),
        Rule("", namespace=("std",), component="standard library", weak=True, mentions=False),
        Rule("", prefix="plain_", component="C", operator="aten::mul", dtype="Byte"),
    ),
)


@dataclass(frozen=True)
class Scan:
    """A chunk of names, with the results of the steps before the search for dtypes."""

    chunk: Chunk
    candidates: Int
    words: FoundWords
    steps: ChunkDtypes
    dtypes: DtypeScan

    @property
    def text(self) -> bytes:
        return self.chunk.text.tobytes()

    def name_at(self, place: int) -> int:
        spans = zip(self.chunk.start.tolist(), self.chunk.end.tolist(), strict=True)
        return next((i for i, (start, end) in enumerate(spans) if start <= place < end), -1)

    def ends(self, kind: str) -> set[int]:
        """Ends of the words of one kind: containers, complex and so on."""
        is_kind = [kind == "complex" and word == "complex" for word in self.dtypes.words]
        if kind != "complex":
            is_kind = getattr(self.steps.kinds, kind).tolist()
        pairs = zip(self.words.word.tolist(), self.words.end.tolist(), strict=True)
        return {end for word, end in pairs if is_kind[word]}


def scan_of(names: list[str]) -> Scan:
    chunk = chunk_of(Texts.of(names))
    dtypes = DtypeScan(RULES, len(names))
    dictionary = Dictionary(dtypes.words)
    candidates = chunk.identifiers()
    words = dictionary.words_in(chunk, candidates)
    steps = ChunkDtypes(chunk, candidates, words, dtypes.kinds(dictionary))
    return Scan(chunk, candidates, words, steps, dtypes)


SCANS = NAMES.map(scan_of)


def is_digit(character: int) -> bool:
    return 48 <= character < 58


def builtin(character: int) -> int:
    return CODE_OF_NAME[NAME_OF_LETTER[chr(character)]] if chr(character) in NAME_OF_LETTER else -1


def pairs_of(found: tuple[Int, Int]) -> list[tuple[int, int]]:
    return sorted(zip(found[0].tolist(), found[1].tolist(), strict=True))


def all_pairs(found: list[tuple[Int, Int]]) -> list[tuple[int, int]]:
    return sorted(pair for columns in found for pair in pairs_of(columns))


@given(NAMES)
def test_identifiers_have_a_length_that_is_no_number(names: list[str]) -> None:
    chunk = chunk_of(Texts.of(names))
    text = chunk.text.tobytes()
    expected = []
    for place in range(8, len(text) - 1):
        following = chr(text[place + 1])
        if not is_digit(text[place]):
            continue
        if following.isascii() and following.isalpha():
            expected.append(place)
        if following == "_":
            digits = itertools.takewhile(lambda at: is_digit(text[at]), range(place, place - 3, -1))
            before = place - len(list(digits))
            is_number = chr(text[before]) in "ST" or text[before - 3 : before + 1] == b"UlvE"
            if not is_number:
                expected.append(place)
    assert chunk.identifiers().tolist() == expected


@given(NAMES, st.data())
def test_sorted_positions_are_in_the_names_that_contain_them(
    names: list[str], data: st.DataObject
) -> None:
    chunk = chunk_of(Texts.of(names))
    places = data.draw(st.lists(st.integers(0, len(chunk.text) - 1), max_size=20).map(sorted))
    position = np.array(places, np.int64)
    assert chunk.name_of(position).tolist() == chunk.name_at(position).tolist()


@given(NAMES, st.data())
def test_beginnings_are_the_texts_at_each_place(names: list[str], data: st.DataObject) -> None:
    chunk = chunk_of(Texts.of(names))
    text = chunk.text.tobytes()
    places = data.draw(st.lists(st.integers(8, len(text) - 73), min_size=1, max_size=8))
    # Most texts are parts of the names; the others differ in one character.
    lengths = st.integers(1, 30)
    wanted = data.draw(st.lists(st.tuples(st.sampled_from(places), lengths), max_size=6))
    texts = [text[at : at + length].rstrip(b"\0") or b"_" for at, length in wanted]
    texts += [each[:-1] + b"?" for each in texts]
    found = {
        (number, row)
        for number, rows in beginnings(chunk, np.array(places, np.int64), texts)
        for row in rows.tolist()
    }
    assert found == {
        (number, row)
        for number, each in enumerate(texts)
        for row, at in enumerate(places)
        if text.startswith(each, at)
    }


def plain_length(text: bytes, last: int) -> int:
    tens = text[last - 1] - 48
    return text[last] - 48 + (10 * tens if 0 < tens < 10 else 0)


def plain_is_grammar(scan: Scan, place: int) -> bool:
    text = scan.text
    name = max((start for start in scan.chunk.start.tolist() if start <= place), default=0)
    earlier = [last for last in scan.candidates.tolist() if name <= last < place]
    if not earlier:
        return True
    last = earlier[-1]
    if len(earlier) > 1 and earlier[-2] + plain_length(text, earlier[-2]) >= last:
        last = earlier[-2]
    if last + plain_length(text, last) < place:
        return True
    of_units = last + text[last] - 48
    return is_digit(text[last - 1]) and chr(text[last - 2]) == "_" and of_units < place


def plain_is_substituted(scan: Scan, at_i: int) -> bool:
    """Return whether the I follows a substitution of at most two characters: S_I, S5_I, SB1_I."""
    text = scan.text
    start = at_i - 2
    for _ in range(2):
        is_part = is_digit(text[start]) or (65 <= text[start] < 91 and chr(text[start]) != "S")
        start -= is_part
    ends = chr(text[at_i - 1]) == "_" and chr(text[start]) == "S"
    return ends and plain_is_grammar(scan, start)


@given(SCANS)
def test_grammar_is_what_lies_outside_of_identifiers(scan: Scan) -> None:
    places = np.arange(8, len(scan.text) - 72)
    text = scan.chunk.text
    for found, plain in (
        (is_grammar(scan.chunk, scan.candidates, places), plain_is_grammar),
        (is_substituted(scan.chunk, scan.candidates, places), plain_is_substituted),
        (is_allocator(text, places), lambda scan, at: scan.text[at - 2 : at] == b"Sa"),
    ):
        assert found.tolist() == [plain(scan, place) for place in places.tolist()]


@given(SCANS, st.data())
def test_words_before_a_place_are_in_the_same_name(scan: Scan, data: st.DataObject) -> None:
    place = st.integers(8, len(scan.text) - 73)
    words = sorted(data.draw(st.sets(place, max_size=4)))
    at = data.draw(st.lists(place, max_size=6))
    expected = []
    for here in at:
        earlier = [word for word in words if word < here]
        expected.append(bool(earlier) and scan.name_at(earlier[-1]) == scan.name_at(here))
    found = is_behind(scan.chunk, np.array(at, np.int64), np.array(words, np.int64))
    assert found.tolist() == expected


@given(SCANS)
def test_numbers_have_one_or_two_digits_before_an_e(scan: Scan) -> None:
    text = scan.text
    places = range(8, len(text) - 72)
    expected = []
    for place in places:
        digits = "".join(map(chr, itertools.takewhile(is_digit, text[place : place + 2])))
        ends = digits and chr(text[place + len(digits)]) == "E"
        expected.append(int(digits) if ends else -1)
    assert number_at(scan.chunk.text, np.array(places)).tolist() == expected


def plain_builtin_types(text: bytes, start: int) -> list[tuple[int, int]]:
    """Return up to four types; the list ends before a type that no valid character follows."""
    found = []
    for place in range(start, start + 4):
        code = builtin(text[place])
        if code < 0 or chr(text[place + 1]) not in "ENSLZTKRPXFJIDUsoncvzw123456789hasilxfdbtjmy":
            break
        found.append((place, code))
    return found


@given(SCANS)
def test_builtin_types_follow_each_other(scan: Scan) -> None:
    starts = np.arange(8, len(scan.text) - 72)
    expected = [pair for start in starts.tolist() for pair in plain_builtin_types(scan.text, start)]
    assert all_pairs(builtin_types(scan.chunk.text, starts)) == sorted(expected)


def plain_element_types(text: bytes, start: int) -> list[tuple[int, int]]:
    """Return types other than indices among eight types and literals of up to six characters."""
    found = []
    place = start
    for _ in range(8):
        code = builtin(text[place])
        if chr(text[place]) == "L":
            end = text.find(b"E", place + 2, place + 7)
            if end < 0:
                break
            place = end + 1
        elif code >= 0:
            is_index = code in (CODE_OF_NAME["Int"], CODE_OF_NAME["Long"])
            if not is_index and plain_builtin_types(text, place):
                found.append((place, code))
            place += 1
        else:
            break
        place = min(place, len(text) - 2)
    return found


@given(SCANS)
def test_elements_stand_between_indices_and_literals(scan: Scan) -> None:
    starts = np.arange(8, len(scan.text) - 72)
    expected = [pair for start in starts.tolist() for pair in plain_element_types(scan.text, start)]
    assert all_pairs(element_types(scan.chunk.text, starts)) == sorted(expected)


def plain_classes(scan: Scan) -> list[tuple[int, int]]:
    found = []
    text, complexes = scan.text, scan.ends("complex")
    for word, place in zip(scan.words.word.tolist(), scan.words.position.tolist(), strict=True):
        dtype = dict(RULES.dtypes).get(scan.dtypes.words[word])
        if dtype:
            before = max((end for end in complexes if end < place), default=-9)
            if place - before <= 6 and text[before : before + 2] == b"IN":
                dtype = COMPLEX_OF_REAL.get(dtype, dtype)
            found.append((place, CODE_OF_NAME[dtype]))
    return sorted(found)


def plain_enum_values(scan: Scan) -> list[tuple[int, int]]:
    found = []
    for word, place, end in zip(
        *(c.tolist() for c in (scan.words.word, scan.words.position, scan.words.end)), strict=True
    ):
        if scan.dtypes.words[word] == "ScalarType" and chr(scan.text[end]) == "E":
            value, is_ended, _ = scan.text[end + 1 : end + 4].partition(b"E")
            if is_ended and value.isdigit() and len(value) < 3 and int(value) < len(CODE_OF_NAME):
                found.append((place, int(value)))
    return sorted(found)


def is_in_mangled(scan: Scan, place: int) -> bool:
    """Return whether the place is behind the _Z of its name."""
    start = max(start for start in scan.chunk.start.tolist() if start <= place)
    return b"_Z" in scan.text[start:place]


def plain_after_classes(scan: Scan) -> list[int]:
    is_class = [word in dict(RULES.dtypes) for word in scan.dtypes.words]
    pairs = zip(scan.words.word.tolist(), scan.words.end.tolist(), strict=True)
    return sorted(e + 1 for word, e in pairs if is_class[word] and chr(scan.text[e]) == "E")


def plain_argument_lists(scan: Scan) -> list[int]:
    found = []
    containers = scan.ends("is_container") - scan.ends("complex")
    for at_i in range(8, len(scan.text) - 72):
        if chr(scan.text[at_i]) == "I" and builtin(scan.text[at_i + 1]) >= 0:
            is_hidden = (
                at_i in containers
                or scan.text[at_i - 2 : at_i] == b"Sa"
                or plain_is_substituted(scan, at_i)
            )
            is_list = is_in_mangled(scan, at_i + 1) and plain_is_grammar(scan, at_i)
            if is_list and not is_hidden:
                found.append(at_i + 1)
    return found


def plain_lambda_parameters(scan: Scan) -> list[int]:
    text = scan.text
    return [
        place + 2
        for place in range(8, len(text) - 72)
        if text[place : place + 2] == b"Ul"
        and builtin(text[place + 2]) >= 0
        and is_in_mangled(scan, place)
        and plain_is_grammar(scan, place)
    ]


@pytest.mark.parametrize(
    ("step", "plain"),
    [
        (ChunkDtypes.argument_lists, plain_argument_lists),
        (ChunkDtypes.lambda_parameters, plain_lambda_parameters),
        (ChunkDtypes.after_classes, plain_after_classes),
    ],
)
@given(SCANS)
def test_lists_of_types_begin_where_a_loop_finds_them(
    step: Callable[[ChunkDtypes], Int], plain: Callable[[Scan], list[int]], scan: Scan
) -> None:
    assert sorted(step(scan.steps).tolist()) == plain(scan)


@given(SCANS)
def test_classes_and_enum_values_are_those_of_a_loop(scan: Scan) -> None:
    assert pairs_of(scan.steps.classes()) == plain_classes(scan)
    assert pairs_of(scan.steps.enum_values()) == plain_enum_values(scan)


def plain_without_bounds(scan: Scan, start: int) -> list[int]:
    """Return where the elements begin; nothing if there are only bounds."""
    drivers = {
        name
        for word, name in zip(scan.words.word.tolist(), scan.words.name.tolist(), strict=True)
        if scan.dtypes.words[word] in RULES.drivers
    }
    if scan.name_at(start) in drivers:
        return [start]
    place = start
    while chr(scan.text[place]) == "l" and place < start + 4:
        place += 1
    return [] if place > start and chr(scan.text[place]) == "E" else [place]


@given(SCANS)
def test_bounds_of_loops_are_no_elements(scan: Scan) -> None:
    starts = scan.steps.lambda_parameters()
    expected = [place for s in starts.tolist() for place in plain_without_bounds(scan, s)]
    assert scan.steps.without_bounds(starts).tolist() == expected
    lists = scan.steps.argument_lists()
    found = []
    for place in lists.tolist():
        is_call = scan.text[place - 3 : place - 1] == b"cl" and plain_is_grammar(scan, place - 3)
        found += plain_without_bounds(scan, place) if is_call else [place]
    assert sorted(scan.steps.without_bounds_of_calls(lists).tolist()) == sorted(found)


@given(NAMES)
def test_dtypes_are_those_of_all_steps(names: list[str]) -> None:
    """A name's mask has all dtypes that the steps find in it; its first dtype is the leftmost."""
    scan = scan_of(names)
    text = scan.text
    found = [*plain_classes(scan), *plain_enum_values(scan)]
    complexes, spaces = scan.ends("complex"), sorted(scan.ends("is_indexed"))
    starts = plain_after_classes(scan)
    for start in plain_lambda_parameters(scan):
        starts += plain_without_bounds(scan, start)
    for start in plain_argument_lists(scan):
        if start - 1 in complexes:
            name = COMPLEX_OF_REAL.get(NAME_OF_LETTER[chr(text[start])])
            found += [(start, CODE_OF_NAME[name])] if name else []
            continue
        is_call = text[start - 3 : start - 1] == b"cl" and plain_is_grammar(scan, start - 3)
        for place in plain_without_bounds(scan, start) if is_call else [start]:
            if follows_in_name(scan, spaces, place):
                found += plain_element_types(text, place)
            else:
                starts.append(place)
    for place in range(8, len(text) - 72):
        if text[place - 1 : place + 1] == b"IL" and follows_in_name(scan, spaces, place):
            found += plain_element_types(text, place) if plain_is_grammar(scan, place - 1) else []
    found += [pair for start in starts for pair in plain_builtin_types(text, start)]
    absent = {CODE_OF_NAME[dtype] for dtype in RULES.absent}
    by_name: dict[int, list[tuple[int, int]]] = {}
    for place, code in found:
        if code not in absent:
            by_name.setdefault(scan.name_at(place), []).append((place, code))
    scan.dtypes.take(scan.chunk, scan.candidates, scan.words, scan.steps.kinds)
    for i in range(len(names)):
        here = by_name.get(i, [])
        assert scan.dtypes.mask[i] == sum(1 << code for code in {code for _, code in here})
        assert scan.dtypes.first[i] == (min(here)[1] if here else -1)


def follows_in_name(scan: Scan, word_ends: list[int], place: int) -> bool:
    earlier = [end for end in word_ends if end <= place]
    return bool(earlier) and scan.name_at(earlier[-1] - 1) == scan.name_at(place)


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


VALUES = st.lists(
    st.lists(st.tuples(st.integers(0, 3), st.integers(-3, 9), st.integers(0, 3)), max_size=6),
    min_size=1,
    max_size=3,
)


@given(VALUES, st.booleans())
def test_the_value_with_the_lowest_place_counts(
    pieces: list[list[tuple[int, int, int]]], with_otherwise: bool
) -> None:
    found = FirstValues(4)
    for piece in pieces:
        name, place, value = np.array(piece, np.int64).reshape(-1, 3).T
        found.add(name, place, value.astype(np.int32))
    otherwise = np.array([7, 7, 0, 0], np.int32) if with_otherwise else None
    expected = [0] * 4 if otherwise is None else otherwise.tolist()
    best: dict[int, int] = {}
    for name, place, value in itertools.chain(*pieces):
        if value and place < best.get(name, 10):
            best[name], expected[name] = place, value
    assert found.values(otherwise).tolist() == expected


def identifier_at(text: bytes, place: int) -> bytes:
    """Return the identifier whose length is at `place`, or after an L (internal linkage) there."""
    match = re.compile(rb"L?([1-9][0-9]{0,2})(?=[A-Za-z_])").match(text, place)
    found = text[match.end() : match.end() + int(match[1])] if match else b""
    return found if match and len(found) == int(match[1]) else b""


def scopes_in(text: bytes) -> list[tuple[int, bool, int]]:
    """Return the end of each namespace, whether it is transparent, and its scope (-1: none).

    A transparent namespace takes the scope before it, preferably a certain one.
    """
    words = []
    # The pattern skips the 6native of 16native_layernorm.
    for match in re.finditer(rb"2at|(?:(?<![0-9])6native|6native(?![a-z_]))|12_GLOBAL__N_1", text):
        before, is_transparent = text[: match.start()], match[0] != b"2at"
        is_substituted = before.endswith(b"_") and b"2at" in before
        scope, is_sure = -1, False
        if match[0] == b"2at":
            scope, is_sure = 0, True
        elif match[0] == b"6native" and (before.endswith(b"2at") or is_substituted):
            scope, is_sure = 1, not is_substituted
        words.append([match.end(), is_transparent, scope, is_sure])
    for only_certain in (True, False):
        last = -1
        for word in words:
            if word[2] >= 0 and (not only_certain or word[3] or not word[1]):
                last = word[2]
            elif word[1] and last >= 0:
                word[2] = last
    return [(end, is_transparent, scope) for end, is_transparent, scope, _ in words]


def plain_members(text: bytes, begin: int, end: int) -> list[tuple[bytes, int]]:
    """Return identifiers after a namespace, and kernels after a substitution that follows one.

    The name is text[begin:end]; an identifier of a damaged name may extend into the next name.
    """
    namespaces = [(begin + at, *others) for at, *others in scopes_in(text[begin:end])]
    transparent = {at for at, is_transparent, _ in namespaces if is_transparent}
    found = [
        (identifier, scope)
        for at, _, scope in namespaces
        if scope >= 0 and (identifier := identifier_at(text, at))
        if text.index(identifier, at) + len(identifier) not in transparent
    ]
    for match in re.compile(rb"(?<=[0-9A-Z])_(?=[0-9L])").finditer(text, begin, end):
        identifier = identifier_at(text, match.end())
        before = [scope for at, _, scope in namespaces if at <= match.end() and scope >= 0]
        if before and identifier.endswith(b"_kernel") and len(identifier) > len(b"_kernel"):
            found.append((identifier, before[-1]))
    return sorted(found)


@given(OF_MEMBERS)
def test_members_are_those_of_a_loop_over_namespaces(names: list[str]) -> None:
    places = side_by_side(Texts.of(names))
    scanned = scan_names(places, RULES)
    assert scanned.scopes == (("at",), ("at", "native"))
    texts = scanned.names.texts(scanned.members.start, scanned.members.length)
    rows = list(
        zip(scanned.members.name.tolist(), texts, scanned.members.scope.tolist(), strict=True)
    )
    for i, (begin, end) in enumerate(zip(places.start.tolist(), places.end.tolist(), strict=True)):
        expected = plain_members(places.buffer[: places.end[-1]].tobytes(), begin, end)
        assert sorted((text, scope) for k, text, scope in rows if k == i) == expected, names[i]


# Values, each with the place or rule number that orders it.
Said = list[tuple[int, str]]


def first_of(*lists: Said) -> str:
    """Return the value with the lowest key in the first list that is not empty."""
    return next((min(said, key=lambda pair: pair[0])[1] for said in lists if said), "")


def judged(identifier: str, scope: tuple[str, ...]) -> tuple[dict[str, str], int]:
    """Return the labels that the rules give a member, and the first rule that gives one."""
    said: dict[str, str] = {}
    first = len(RULES.rules)
    operator = "" if identifier in RULES.shared else RULES.names.find(identifier)
    for number, rule in enumerate(RULES.rules):
        if (
            rule.within != scope
            or not fnmatchcase(identifier, rule.identifier or "*")
            or identifier == MANGLED_ANONYMOUS
        ):
            continue
        for level in ("operator", "kernel", "dtype", "component"):
            pattern = getattr(rule, level)
            if pattern and level not in said and (operator or "{operator}" not in pattern):
                said[level] = pattern.replace("{operator}", operator).replace("{name}", identifier)
                first = min(first, number)
    return said, first


def plain_labels(scanned: Scanned, i: int) -> tuple[str, str, str, str]:
    """Return operator, kernel, dtype and component of name i."""
    hits, members = scanned.rules, scanned.members
    own, mentions, weak = [], [], []
    for number, rule, start, is_mention in zip(
        *(c.tolist() for c in (hits.name, hits.rule, hits.start, hits.is_mention)), strict=True
    ):
        if number == i:
            is_weak = RULES.rules[rule].weak
            (mentions if is_mention else weak if is_weak else own).append((rule, start))
    of_members = []
    for row in np.flatnonzero(members.name == i).tolist():
        (text,) = scanned.names.texts(members.start[[row]], members.length[[row]])
        said, first = judged(text.decode(), scanned.scopes[int(members.scope[row])])
        of_members.append((int(members.start[row]), first, said))

    def by_rules(level: str, rows: list[tuple[int, int]], key: Callable[[int, int], int]) -> Said:
        values = [(key(rule, start), getattr(RULES.rules[rule], level)) for rule, start in rows]
        return [(place, value) for place, value in values if value]

    def by_members(level: str, *, is_operator: bool = False) -> Said:
        return [
            (start, said[level])
            for start, _, said in of_members
            if said.get(level) and (not is_operator or said.get("operator"))
        ]

    def place(rule: int, start: int) -> int:
        return start

    def word_first(rule: int, start: int) -> int:
        return start - (scanned.names.places if RULES.rules[rule].identifier else 0)

    def in_order(rule: int, start: int) -> int:
        return rule

    components = by_rules("component", own, in_order)
    components += [
        (first, said["component"]) for _, first, said in of_members if "component" in said
    ]
    ids, labels = dtype_texts(scanned.dtypes, scanned.first_dtype)
    return (
        first_of([*by_rules("operator", own + weak, word_first), *by_members("operator")]),
        first_of(
            [*by_rules("kernel", own + weak, place), *by_members("kernel", is_operator=True)],
            by_members("kernel"),
        ),
        first_of(
            [*by_rules("dtype", own + weak, place), *by_members("dtype")], [(0, labels[ids[i]])]
        ),
        first_of(
            components,
            by_rules("component", mentions, place),
            by_rules("component", weak, in_order),
        ),
    )


@given(st.one_of(NAMES, OF_MEMBERS))
@example(["_ZN2at6nativeS0_999_12E", "_ZN2at6nativeES_999xE"])  # lengths beyond all names
def test_labels_are_those_of_a_loop_over_rules_and_members(names: list[str]) -> None:
    texts = side_by_side(Texts.of(names))
    scanned = scan_names(texts, RULES)
    found, few = label_names(texts, RULES), label_names(texts, RULES, dtypes=False)
    for i in range(len(names)):
        columns = (found.operator, found.kernel, found.dtype, found.component)
        assert tuple(c.texts[c.ids[i]] for c in columns) == plain_labels(scanned, i), names[i]
        for whole, part in zip(
            columns, (few.operator, few.kernel, None, few.component), strict=True
        ):
            assert part is None or part.texts[part.ids[i]] == whole.texts[whole.ids[i]]


OPERATOR = "_ZStlsIdcSt11char_traitsIcEERSt13basic_ostreamIT0_T1_ES6_RKSt7complexIT_E"


@given(NAMES)
@example(["_ZN2at6native3addILi16EEEv", OPERATOR])  # 16E looks like an identifier
@example(["_ZN2at6native12_GLOBAL__N_13addE", "_ZN2at6native10add_kernelIdE"])
def test_the_dtypes_of_a_name_do_not_depend_on_its_neighbours(names: list[str]) -> None:
    """A string table has a zero after each name, and a name alone has zeros after it."""
    text = "".join(f"{name}\0" for name in names).encode()
    end = np.flatnonzero(np.frombuffer(text, np.uint8) == 0)
    together = Texts(np.frombuffer(text, np.uint8), np.append(0, end[:-1] + 1), end)
    assert dtypes_of(together) == [each for name in names for each in dtypes_of(Texts.of([name]))]


def dtypes_of(names: Texts) -> list[str]:
    found = label_names(names, RULES).dtype
    return [found.texts[i] for i in found.ids]


def test_few_names_of_a_large_buffer_are_scanned_without_the_text_between() -> None:
    few = ["_ZN2at6native10add_kernelIfEEvv", "_ZN2at6native10mul_kernelIdEEvv"]
    texts = Texts.of([few[0], "_ZN4dnnl1fEv" * 10_000, few[1]])
    scanned = scan_names(texts.take([0, 2]), RULES)
    assert scanned.names.places < 100
    found, alone = label_names(texts.take([0, 2]), RULES), label_names(Texts.of(few), RULES)
    assert rows_of(found) == rows_of(alone)


def test_a_member_ends_in_its_name() -> None:
    """The 125 after _N_ is no length: a text of 125 bytes would end with the name behind it."""
    names = [f"_ZN2at12_GLOBAL__N_125{'a' * 25}E", f"_Z{'f' * 89}_kernel"]
    members = (scanned := scan_names(side_by_side(Texts.of(names)), RULES)).members
    assert scanned.names.texts(members.start, members.length) == [b"a" * 25]


def rows_of(labels: NameLabels) -> list[tuple[str, ...]]:
    """Return operator, kernel, dtype and component of each name."""
    columns = (labels.operator, labels.kernel, labels.dtype, labels.component)
    return list(zip(*([each.texts[i] for i in each.ids] for each in columns), strict=True))


TAILS = ("", "Ev", "D0Ev", "D1Ev", "D2Ev", "D3Ev", "C1Ev", ".cold", "D1Ev.isra.0.cold", ".part.1")


KINDS = ("", "_ZTV", "_ZTI", "_ZTS", "_ZTT")
OF_CLASSES = ("_ZTVN1a", "_ZTIN1a", "_ZTSN1a", "_ZTTN1a", "_ZTV1a", "_ZTI1a", "_ZTI")


def of_kind(kind: str, name: str, tail: str) -> str:
    return (kind + name.removeprefix("_Z") if kind else name) + tail


@given(
    st.lists(
        st.builds(of_kind, st.sampled_from(KINDS), NAMES.map("".join), st.sampled_from(TAILS)),
        max_size=8,
    ),
    st.booleans(),
)
@example(["_ZTVN2at3addIfEE", "_ZTSN2at3addIfEE", "_ZTIN2at3addIfEE"], False)
@example(["_ZTI3_at3addIfE", "_ZTS3_at3addIfE"], False)  # S3_ could be a substitution
@example(["_ZN2at6native8internalILi4EED0Ev", "_ZN2at6native8internalILi4EED2Ev.cold"], False)
@example(["plain_add", "plain_add.cold"], True)
def test_names_of_a_family_have_the_labels_that_each_has_alone(
    names: list[str], is_other: bool
) -> None:
    texts = side_by_side(Texts.of(dict.fromkeys(names)))
    hashes = hash_texts(texts)
    found = label_names(texts, RULES, hashes=~hashes if is_other else hashes)
    assert rows_of(found) == rows_of(label_names(texts, RULES))


LONG_TAILS = [".constprop.1", ".constprop.12", ".part.1234567", ".localalias", ".isra.", "0", "1"]


def family_of(name: str) -> str:
    """Return the name without suffixes of clones and what tells apart the parts of a class."""
    head = re.sub(r"(?<=.)(\.cold|\.(isra|part|constprop)\.\d{1,6}|\.localalias)+$", "", name)
    return re.sub(r"^_ZT[VIS](?=[NSZ].{3})", "", re.sub(r"^(_ZN.*D)[012]Ev$", r"\1", head))


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["f", "f.", "_ZN1a", "_ZN1b", "_ZNK1a", "_Z1f", "", "D", *OF_CLASSES]),
            st.lists(
                st.sampled_from([*TAILS, *LONG_TAILS]),
                max_size=3,
            ).map("".join),
        ).map("".join),
        max_size=10,
        unique=True,
    )
)
@example(["f.isra.10", "f.constprop.123456", "f.part.1234567", "f", "12.isra.3", "isra.12"])
def test_families_are_functions_with_their_clones_and_the_parts_of_a_class(
    names: list[str],
) -> None:
    texts = Texts.of(names)
    found = families(texts, hash_texts(texts))
    first = {family: i for i, family in reversed(list(enumerate(map(family_of, names))))}
    assert found.first[found.of].tolist() == [first[family_of(name)] for name in names]


@given(st.lists(st.tuples(st.binary(max_size=12), st.integers(0, 2)), max_size=12), st.data())
def test_names_without_the_gaps_between_them_are_the_same(
    drawn: list[tuple[bytes, int]], data: st.DataObject
) -> None:
    """Names that are apart precede those that may overlap; the others lie in gaps."""
    texts = side_by_side(Texts.of([raw for raw, _ in drawn]))
    apart, others = (
        texts.take([i for i, (_, chosen) in enumerate(drawn) if chosen == which])
        for which in (0, 1)
    )
    packed = PackedNames.of(apart, others)
    expected = apart.all_raw() + others.all_raw()
    assert packed.texts(packed.start, packed.end - packed.start) == expected
    assert bool(np.all(packed.start[1:] > packed.end[:-1]))
    # At most an eighth is gaps, or the runs of names are adjacent.
    found = slice(len(apart))
    assert len(apart) < 2 or (
        packed.end[found][-1] - packed.start[0] <= 1.125 * (apart.lengths() + 1).sum()
        or bool(np.all(packed.start[found][1:] - packed.end[found][:-1] <= 8))
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(packed_names, "CHUNK", data.draw(st.integers(1, 40)))
        chunks = list(packed.chunks())
    assert [
        chunk.text[a:b].tobytes()
        for chunk in chunks
        for a, b in zip(chunk.start.tolist(), chunk.end.tolist(), strict=True)
    ] == expected
