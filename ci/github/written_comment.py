"""One comment per pull request or merge request, which later runs change."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ci.github.hub_api import ApiError, WebApi, number_of, text_of

_RUN = re.compile(r"run ([0-9]{1,18})\.([0-9]{1,6}) -->")
Mark = tuple[str, str, tuple[int, int]]  # beginning of the first line, author, run and attempt


@dataclass(frozen=True, slots=True)
class Thread:
    """Where the comments of a request are.

    listed, made: paths of the list of comments, and for a new one
    changed: path of a comment, without its id, and the method that changes it
    author:  keys of the object with the author and of the name in it
    """

    listed: str
    made: str
    changed: str
    method: str = "PATCH"
    author: tuple[str, str] = ("user", "login")


def on_github(number: int) -> Thread:
    """Return the comments of a pull request."""
    path = f"issues/{number}/comments"
    return Thread(path, path, "issues/comments")


def publish(api: WebApi, thread: Thread, text: str, mark: Mark, *, is_wanted: bool) -> str:
    """Change our comment, or make one if it is wanted; return what was done.

    A comment of a later run is kept. The server may have made a comment without confirming it, and
    a person may delete ours, so publish looks for the comment again before it retries.
    """
    for is_last in (False, True):
        found = _ours(api, thread, mark)
        if found is not None:
            try:
                return _change(api, thread, found, text, mark)
            except ApiError as error:
                if error.status != 404 or is_last:
                    raise  # else a person has deleted it meanwhile
                continue
        if not is_wanted:
            return "not wanted"
        try:
            api.call("POST", thread.made, {"body": text})
        except ApiError as error:
            if is_last or (error.status and error.status < 500):
                raise
            continue
        return "made"
    raise ApiError("no comment was made")


def _change(api: WebApi, thread: Thread, found: tuple[int, str], text: str, mark: Mark) -> str:
    identity, before = found
    if _run_of(before) > mark[2]:
        return "kept: a later run wrote it"
    if before == text:
        return "unchanged"
    api.call(thread.method, f"{thread.changed}/{identity}", {"body": text})
    return "changed"


def _ours(api: WebApi, thread: Thread, mark: Mark) -> tuple[int, str] | None:
    """Find our comment by marker and author, since others may copy the marker."""
    begin, author, _ = mark
    person, name = thread.author
    for comment in api.rows(thread.listed):
        body, user = text_of(comment.get("body")), comment.get(person)
        login = text_of(user.get(name)) if isinstance(user, dict) else ""
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
