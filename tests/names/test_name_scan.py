"""The steps that scan mangled names, each compared with a plain loop over one name at a time."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sizeguard.columns.texts import Int, Texts
from sizeguard.names.scan.dtype_scan import ChunkDtypes, DtypeScan, dtype_texts
from sizeguard.names.scan.identifiers import Chunk, Dictionary, FoundWords, beginnings
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
from tests.support.names.drawn_names import NAMES, RULES
from tests.support.names.packed_texts import chunk_of

pytestmark = pytest.mark.native


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
