"""Two threads give the same results as one; errors are raised where results are requested."""

from __future__ import annotations

import threading

import pytest

from sizeguard.base.parallel import beside, in_threads


@pytest.fixture(params=[True, False], ids=["threads", "no threads"])
def allowed(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    def refuse(self: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    if not request.param:
        monkeypatch.setattr(threading.Thread, "start", refuse)
    return bool(request.param)


def test_results_come_in_the_order_of_the_items(allowed: bool) -> None:
    assert in_threads(lambda item: item * item, range(1000)) == [
        item * item for item in range(1000)
    ]


def test_an_error_ends_the_work(allowed: bool) -> None:
    taken = []

    def divide(item: int) -> int:
        taken.append(item)
        return 12 // item

    with pytest.raises(ZeroDivisionError):
        in_threads(divide, [3, 0, *range(1, 10_000)])
    assert len(taken) < 10_000


def test_what_is_beside_is_done_once(allowed: bool) -> None:
    done = []

    def work() -> int:
        done.append(threading.current_thread() is threading.main_thread())
        return 7

    result = beside(work)
    assert (result(), result()) == (7, 7)
    assert done == [not allowed]


def test_an_error_beside_is_raised_where_the_result_is_asked_for(allowed: bool) -> None:
    done = []

    def work() -> int:
        done.append(1)
        raise ValueError("what")

    result = beside(work)
    for _ in range(2):
        with pytest.raises(ValueError, match="what"):
            result()
    assert len(done) == 1
