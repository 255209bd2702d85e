"""Laws of the bisect search, on generated histories with a builder that only counts."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sizeguard.bisect.search import Built, Failed, Outcome, Search, search
from tests.support.drawn import at_least

pytestmark = pytest.mark.native

COMMITS = 200
BUCKETS = 3


@dataclass(frozen=True)
class Series:
    """A history as the search sees it.

    sizes:  sizes of the buckets at each commit
    keys:   key of each commit's inputs
    broken: commits that do not build
    undone: pairs that git recognizes as a change and its revert
    """

    sizes: tuple[tuple[int, ...], ...]
    keys: tuple[str, ...]
    broken: frozenset[int]
    undone: tuple[tuple[int, int], ...]

    def outcome(self, commit: int) -> Outcome:
        return (
            Failed("no")
            if commit in self.broken
            else Built(sum(self.sizes[commit]), self.sizes[commit])
        )

    def expected(self) -> list[tuple[int, int]]:
        """Return successive commits that build and differ, as an exhaustive search finds them."""
        built = [i for i in range(len(self.keys)) if i not in self.broken]
        return [(a, b) for a, b in itertools.pairwise(built) if self.sizes[a] != self.sizes[b]]


@st.composite
def histories(
    draw: st.DrawFn, *, reverts: bool = False, broken: bool = False, positive: bool = False
) -> Series:
    """Draw a history: steps of several buckets at few commits, plateaus, and documents.

    A plateau's commits change code but no size; commits of documents change only documents.

    positive: buckets only grow, so no bucket returns to an earlier size.
    """
    count = draw(st.sampled_from((COMMITS, COMMITS, 60, 17, 5, 1)))
    places = draw(st.sets(st.integers(1, count), min_size=1, max_size=min(8, count)))
    docs = draw(st.sets(st.integers(1, count), max_size=count // 3)) - places
    undone: list[tuple[int, int]] = []
    sizes = [tuple([10_000] * BUCKETS)]
    keys = ["0"]
    grown = 0
    for i in range(1, count + 1):
        now = list(sizes[-1])
        if i in places:
            bucket = draw(st.integers(0, BUCKETS - 1))
            grown += 1
            # Each step is larger than the sum of all before it, so no two sums are equal.
            now[bucket] += 3**grown * (1 if positive else draw(st.sampled_from((1, -1))))
        sizes.append(tuple(now))
        keys.append(keys[-1] if i in docs else str(i))
    if reverts and count >= 5:
        for _ in range(draw(st.integers(1, 2))):
            # A commit grows a bucket and a later one undoes exactly that, independent of the
            # commits between them.
            first = draw(st.integers(1, count - 1))
            last = draw(st.integers(first + 1, count))
            if {first, last} & (docs | places) or any({first, last} & set(pair) for pair in undone):
                continue
            undone.append((first, last))
            sizes = [
                (s[0] + (7 + 100_000_000 * len(undone) if first <= i < last else 0), *s[1:])
                for i, s in enumerate(sizes)
            ]
            keys = [
                f"{key}r{len(undone)}" if first <= i < last else key for i, key in enumerate(keys)
            ]
            keys = [f"{key}u{len(undone)}" if i >= last else key for i, key in enumerate(keys)]
    failing: set[int] = set()
    if broken:
        for _ in range(draw(st.integers(1, 4))):
            start = draw(st.integers(1, count))
            failing |= set(range(start, min(start + draw(st.integers(1, 12)), count)))
        failing = {i for i in failing if 0 < i < count}
        # Commits with equal inputs either all build or all fail.
        failing = {i for i in range(1, count) if keys[i] in {keys[j] for j in failing}} - {
            i for i in range(count + 1) if keys[i] == keys[-1]
        }
        failing -= {i for i in range(count + 1) if keys[i] == keys[0]}
    return Series(tuple(sizes), tuple(keys), frozenset(failing), tuple(undone))


def run(series: Series, *, exhaustive: bool = False) -> tuple[Search, list[int]]:
    asked: list[int] = []

    def measure(commit: int) -> Outcome:
        asked.append(commit)
        return series.outcome(commit)

    return search(series.keys, measure, series.undone, exhaustive), asked


def found_in(done: Search) -> list[tuple[int, int]]:
    """Return where sizes changed: the last commit of a state and the first of the next."""
    return [
        (done.states[step.start].last, done.states[step.end].first)
        for step in done.steps()
        if done.differs(step)
    ]


def as_states(pairs: list[tuple[int, int]], done: Search) -> list[tuple[int, int]]:
    return [
        (
            next(s.last for s in done.states if s.first <= a <= s.last),
            next(s.first for s in done.states if s.first <= b <= s.last),
        )
        for a, b in pairs
    ]


def allowed(culprits: int, commits: int) -> int:
    """Return the most builds allowed: k (log2 n + 2) for k culprits.

    log2 n is rounded up: one culprit among three commits takes two halvings and two ends.
    """
    return max(culprits, 1) * (math.ceil(math.log2(max(commits, 1))) + 2)


@at_least(100)
@given(histories(positive=True))
def test_every_culprit_is_found_within_the_bound(series: Series) -> None:
    done, asked = run(series)
    expected = as_states(series.expected(), done)
    assert found_in(done) == expected
    assert len(asked) <= allowed(len(expected), len(series.keys) - 1)
    assert len({series.keys[i] for i in asked}) == len(asked)  # no input is built twice


@at_least(100)
@given(histories())
def test_growth_behind_shrinkage_is_found_within_the_bound(series: Series) -> None:
    """Steps have both signs, and none cancels the others.

    The ends of every range with a step differ.
    """
    done, asked = run(series)
    expected = as_states(series.expected(), done)
    assert found_in(done) == expected
    assert len(asked) <= allowed(len(expected), len(series.keys) - 1)


@at_least(100)
@given(histories(reverts=True))
def test_what_came_and_went_is_found_where_git_can_tell(series: Series) -> None:
    done, asked = run(series)
    expected = as_states(series.expected(), done)
    assert found_in(done) == expected
    assert len(asked) <= allowed(len(expected), len(series.keys) - 1)


@at_least(100)
@given(histories(broken=True))
def test_commits_that_do_not_build_form_ranges(series: Series) -> None:
    done, asked = run(series)
    expected = [(a, b) for a, b in as_states(series.expected(), done)]
    assert found_in(done) == expected
    for step in done.steps():
        if done.differs(step):
            assert not step.unknown  # each commit inside a range was tried
    failed = [i for i in asked if i in series.broken]
    # A commit that fails in the middle costs a build on each side of it instead of one
    more = 2 * len(failed)
    assert len(asked) - len(failed) <= allowed(len(expected), len(series.keys) - 1) + more


@at_least(100)
@given(histories(reverts=True, broken=True), st.booleans())
def test_sums_are_exact(series: Series, exhaustive: bool) -> None:
    done, _ = run(series, exhaustive=exhaustive)
    total = 0
    for step in done.steps():
        old, new = done.outcome(step.start), done.outcome(step.end)
        assert isinstance(old, Built)
        assert isinstance(new, Built)
        total += new.value - old.value
        if not done.differs(step):
            assert old == new
    assert total == sum(series.sizes[-1]) - sum(series.sizes[0])


@at_least(80)
@given(histories(reverts=True, broken=True))
def test_exhaustive_misses_nothing(series: Series) -> None:
    blind = Series(series.sizes, series.keys, series.broken, ())
    done, asked = run(blind, exhaustive=True)
    assert found_in(done) == as_states(series.expected(), done)
    assert len(asked) == len(set(series.keys))


@at_least(80)
@given(histories(reverts=True, broken=True), st.integers(0, 40))
def test_a_run_that_stops_goes_on_with_what_it_knows(series: Series, stop: int) -> None:
    """A run stops after any number of builds.

    The second run has the result of an uninterrupted run, and builds nothing again.
    """
    whole, asked = run(series)
    known = {series.keys[i]: series.outcome(i) for i in asked[:stop]}
    again: list[str] = []

    def measure(commit: int) -> Outcome:
        key = series.keys[commit]
        if key not in known:
            again.append(key)
        return known.get(key) or series.outcome(commit)

    second = search(series.keys, measure, series.undone)
    assert found_in(second) == found_in(whole)
    assert len(again) == len(asked) - len(known)


@at_least(80)
@given(histories(reverts=True, broken=True), st.randoms(use_true_random=False))
def test_the_order_of_answers_does_not_matter(series: Series, random: Random) -> None:
    whole, asked = run(series)
    other = Search(series.keys, series.undone)
    count = 0
    while wave := other.wave():
        random.shuffle(wave)
        for commit in wave:
            other.tell(series.keys[commit], series.outcome(commit))
            count += 1
    assert found_in(other) == found_in(whole)
    assert count == len(asked)


@at_least(60)
@given(histories())
def test_the_estimate_ends_at_none(series: Series) -> None:
    done, _ = run(series)
    assert done.remaining() == 0


def test_what_cancels_out_is_a_blind_spot_and_is_named() -> None:
    values = [0, 0, 5, 5, 0, 0, 0, 0, 0]
    done = search([str(i) for i in range(9)], lambda i: Built(values[i], values[i]))
    assert found_in(done) == []
    (step,) = done.steps()
    assert len(step.unknown) == 7
    thorough = search(
        [str(i) for i in range(9)], lambda i: Built(values[i], values[i]), exhaustive=True
    )
    assert found_in(thorough) == [(1, 2), (3, 4)]


def test_files_that_come_back_are_looked_into() -> None:
    """The files of a commit equal those of an earlier one, so a change was undone."""
    keys = ["a", "b", "c", "a", "d"]
    values = {"a": 0, "b": 9, "c": 9, "d": 0}
    done = search(keys, lambda i: Built(values[keys[i]], values[keys[i]]))
    assert found_in(done) == [(0, 1), (2, 3)]
    assert len(done.outcomes) == 4
