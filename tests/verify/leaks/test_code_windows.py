"""The laws of windows of machine code, against loops over bytes."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sizeguard.verify.evidence.code_search import Pattern
from sizeguard.verify.leaks.code_windows import (
    WINDOW,
    Bool,
    CodeWindows,
    covered,
    densest,
    is_in,
    window_hashes,
)
from sizeguard.verify.leaks.toolchain_files import (
    is_installed,
    is_of_system,
    is_of_toolchain,
    is_system_library,
)

HITS = st.lists(st.booleans(), max_size=60)


def hits_of(values: list[bool]) -> Bool:
    return np.array(values, np.bool_)


def bytes_in(values: list[bool], start: int, end: int) -> set[int]:
    """List the bytes of windows that begin from start to end."""
    places = [at for at in range(start, min(end, len(values))) if values[at]]
    return {byte for at in places for byte in range(at, at + WINDOW)}


@given(HITS)
def test_covered_counts_each_byte_once(values: list[bool]) -> None:
    assert covered(hits_of(values)) == len(bytes_in(values, 0, len(values)))


@pytest.mark.parametrize("places, expected", [([0], 12), ([3, 4], 13), ([0, 12], 24), ([], 0)])
def test_covered_bytes_of_single_windows(places: list[int], expected: int) -> None:
    assert covered(hits_of([at in places for at in range(20)])) == expected


@pytest.mark.parametrize(
    "places, length, expected",
    [
        ([], 40, (0, 0)),
        ([5], 40, (5, 12)),
        ([0, 100, 112, 124], 40, (100, 36)),
        ([0, 12, 100], 40, (0, 24)),
        ([0, 6, 100, 106], 6, (6, 12)),
        ([0, 40], 40, (0, 12)),
        ([0, 39], 40, (0, 24)),
    ],
)
def test_the_densest_range_has_most_bytes(
    places: list[int], length: int, expected: tuple[int, int]
) -> None:
    assert densest(hits_of([at in places for at in range(140)]), length) == expected


@given(st.binary(max_size=40), st.integers(0, 40))
def test_equal_windows_have_equal_hashes_anywhere(data: bytes, start: int) -> None:
    whole = window_hashes(np.frombuffer(data, np.uint8))
    assert len(whole) == max(len(data) - WINDOW + 1, 0)
    part = window_hashes(np.frombuffer(data[start:], np.uint8))
    assert part.tolist() == whole[start:].tolist()


def test_windows_that_differ_in_one_byte_have_other_hashes() -> None:
    data = bytes(range(WINDOW))
    changed = [data[:at] + b"\xee" + data[at + 1 :] for at in range(WINDOW)]
    hashes = {int(window_hashes(np.frombuffer(each, np.uint8))[0]) for each in (data, *changed)}
    assert len(hashes) == WINDOW + 1


def code(seed: int, size: int, *masked: int) -> Pattern:
    """Return made-up bytes of a function; masked: offsets that a relocation changes."""
    data = random.Random(seed).randbytes(size)
    fixed = [at not in masked for at in range(size)]
    return Pattern(np.frombuffer(data, np.uint8), np.array(fixed))


def windows(**patterns: Pattern) -> CodeWindows:
    return CodeWindows(list(patterns), list(patterns.values()))


@pytest.mark.parametrize(
    "pattern, count",
    [
        (code(1, 40), 29),
        (code(1, 12), 1),
        (code(1, 11), 0),
        (code(1, 40, 0), 28),
        (code(1, 40, 39), 28),
        (code(1, 40, 20), 17),  # the 12 windows with this byte are left out
        (code(1, 40, 11, 28), 5),
        (Pattern(np.zeros(40, np.uint8), np.ones(40, np.bool_)), 0),
        (Pattern(np.arange(40, dtype=np.uint8) // 3, np.ones(40, np.bool_)), 19),
        (Pattern(np.arange(40, dtype=np.uint8) // 4, np.ones(40, np.bool_)), 0),
    ],
)
def test_windows_of_a_function(pattern: Pattern, count: int) -> None:
    """Windows with fewer than four changes from byte to byte are padding or tables."""
    assert len(windows(f=pattern).hashes) == count
    assert len(windows(f=pattern).hashes_of(0)) == count


def test_no_window_is_of_two_functions() -> None:
    both = windows(f=code(1, 20), g=code(2, 30))
    assert len(both.hashes) == 9 + 19
    assert both.hashes_of(0).tolist() == windows(f=code(1, 20)).hashes.tolist()
    assert both.hashes_of(1).tolist() == windows(g=code(2, 30)).hashes.tolist()
    assert both.without([windows(h=code(1, 20))]).tolist() == both.hashes_of(1).tolist()
    assert both.without([]).tolist() == both.hashes.tolist()
    assert len(windows().hashes) == 0


@pytest.mark.parametrize(
    "found, fewest, expected",
    [
        ([code(1, 20)], 20, [(0, 20)]),
        ([code(1, 20)], 21, []),
        ([code(2, 30)], 12, [(1, 30)]),
        ([code(1, 20), code(2, 30)], 12, [(1, 30), (0, 20)]),
        ([code(1, 20), code(2, 30)], 21, [(1, 30)]),
        ([code(1, 20).part(2, 15)], 15, [(0, 15)]),
        ([code(1, 20).part(2, 15)], 16, []),
        ([code(3, 30)], 1, []),
    ],
)
def test_functions_match_by_their_bytes(
    found: list[Pattern], fewest: int, expected: list[tuple[int, int]]
) -> None:
    hashes = np.concatenate([window_hashes(each.data) for each in found])
    assert windows(f=code(1, 20), g=code(2, 30)).matches(hashes, fewest) == expected


def test_the_largest_function_of_a_name_matches() -> None:
    three = CodeWindows(["f", "f", "f"], [code(1, 20), code(2, 30), code(3, 25)])
    assert three.matches(three.hashes, 1) == [(1, 30)]


def test_ranges_have_their_own_bytes_only() -> None:
    both = windows(f=code(1, 20), g=code(2, 30))
    hits = np.zeros(50, np.bool_)
    hits[[8, 9, 20, 32]] = True  # a window of f, one of f and g, and two of g
    assert [*both.ranges_with(hits, 12)] == [(0, (0, 20)), (1, (20, 50))]
    assert [*both.ranges_with(hits, 13)] == [(1, (20, 50))]
    assert [*both.ranges_with(hits, 24)] == [(1, (20, 50))]
    assert [*both.ranges_with(hits, 25)] == []


@given(st.lists(st.integers(0, 9)), st.lists(st.integers(0, 9)))
def test_is_in_finds_each_hash(hashes: list[int], wanted: list[int]) -> None:
    found = is_in(np.array(hashes, np.uint64), np.unique(np.array(wanted, np.uint64)))
    assert found.tolist() == [each in wanted for each in hashes]


@pytest.mark.parametrize(
    "path, expected",
    [
        ("/usr/lib/gcc/x86_64-linux-gnu/12/libgcc.a", True),
        ("/home/me/libgcc.a", False),
        ("/usr/lib/libkernels.a", False),
        ("/home/me/venv/ziglang/lib/libcompiler_rt.a", True),
        ("/home/me/gcc/crtbeginS.o", True),
        ("/usr/lib/Scrt1.o", True),
        ("crti.o", True),
        ("/usr/lib/kernels.o", False),
        ("/usr/lib/x86_64-linux-gnu/libm-2.36.a", True),
        ("/usr/lib/libm-kernels.a", False),
        ("/usr/lib/xcrti.o.o", False),
    ],
)
def test_files_that_compilers_link_by_themselves(path: str, expected: bool) -> None:
    assert is_of_toolchain(path) == expected


@pytest.mark.parametrize(
    "path, code, expected",
    [
        ("/home/me/gcc/crtbegin.o", 1024, True),
        ("/home/me/gcc/crtbegin.o", 1025, False),
        ("/usr/lib/crtbegin.o", 1 << 20, True),
    ],
)
def test_a_moved_start_up_file_is_small(path: str, code: int, expected: bool) -> None:
    assert is_of_toolchain(path, code) == expected
    assert is_of_system(path) == path.startswith("/usr")


@pytest.mark.parametrize(
    "path, expected",
    [
        ("/usr/lib/libz.so.1", True),
        ("/home/me/ndk/sysroot/usr/lib/liblog.so", True),
        ("/home/me/gcc/lib64/libstdc++.so.6", True),
        ("/home/me/libz.so.1", False),
        ("/usr/lib/libSystem.B.dylib", True),
        ("/home/me/libSystem.B.dylib", False),
        ("/opt/x.dylib", False),
    ],
)
def test_libraries_of_systems(path: str, expected: bool) -> None:
    assert is_system_library(path) == expected


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/usr/lib/x86_64-linux-gnu/libcrypto.a", True),
        ("/home/me/toolchain/lib/libc.a", True),
        ("/home/me/toolchain/crt1.o", True),
        ("/home/me/app/vendor/libfast.a", False),
        ("vendor/fast.o", False),
    ],
)
def test_what_a_system_brings_is_installed(path: str, expected: bool) -> None:
    assert is_installed(path) == expected
