"""One comment per pull request, which later runs change."""

from __future__ import annotations

import re

from ci.github.hub_api import Api, ApiError, number_of, text_of

_RUN = re.compile(r"run ([0-9]{1,18})\.([0-9]{1,6}) -->")
Mark = tuple[str, str, tuple[int, int]]  # beginning of the first line, author, run and attempt


def publish(api: Api, number: int, text: str, mark: Mark, *, is_wanted: bool) -> str:
    """Change our comment, or make one if it is wanted; return what was done.

    A comment of a later run is kept. GitHub may have made a comment without confirming it, and a
    person may delete ours, so publish looks for the comment again before it retries.
    """
    for is_last in (False, True):
        found = _ours(api, number, mark)
        if found is not None:
            try:
                return _change(api, found, text, mark)
            except ApiError as error:
                if error.status != 404 or is_last:
                    raise  # else a person has deleted it meanwhile
        if not is_wanted:
            return "not wanted"
        try:
            api.call("POST", f"issues/{number}/comments", {"body": text})
        except ApiError as error:
            if is_last or (error.status and error.status < 500):
                raise
            continue
        return "made"
    raise ApiError("no comment was made")


def _change(api: Api, found: tuple[int, str], text: str, mark: Mark) -> str:
    identity, before = found
    if _run_of(before) > mark[2]:
        return "kept: a later run wrote it"
    if before == text:
        return "unchanged"
    api.call("PATCH", f"issues/comments/{identity}", {"body": text})
    return "changed"


def _ours(api: Api, number: int, mark: Mark) -> tuple[int, str] | None:
    """Find our comment by marker and author, since others may copy the marker."""
    begin, author, _ = mark
    for comment in api.rows(f"issues/{number}/comments"):
        body, user = text_of(comment.get("body")), comment.get("user")
        login = text_of(user.get("login")) if isinstance(user, dict) else ""
        line = body.partition("\n")[0]
        is_marked = line.startswith(begin) and (
            _RUN.fullmatch(line.removeprefix(begin)) or line == f"{begin}-->"
        )
        if is_marked and login == author and number_of(comment.get("id")):
            return number_of(comment.get("id")), body
    return None


def _run_of(body: str) -> tuple[int, int]:
    found = _RUN.search(body.partition("\n")[0])
    return (int(found[1]), int(found[2])) if found else (0, 0)
