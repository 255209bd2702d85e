"""Call the API of GitHub or another forge for one repository: bounded answers and retries.

Uses only the standard library, since jobs with permissions install nothing.
"""

from __future__ import annotations

import email.utils
import http.client
import json
import re
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from typing import Any

ANSWER = 8 << 20  # maximum bytes of an answer
SECONDS = 30.0  # timeout of one call
TRIES = 5
PATIENCE = 240.0  # maximum sum of all waits, in seconds; the job has 10 minutes
_SECRET = ("Authorization", "Private-token")  # as urllib writes them
_PAGE = 100
_PAGES = 50


class Refused(Exception):
    """An input is not valid."""


class ApiError(Exception):
    """The forge refuses a call, or does not answer.

    status: HTTP status; 0 without an answer
    """

    def __init__(self, message: str, status: int = 0) -> None:
        """Keep message and status."""
        super().__init__(message)
        self.status = status


class _Redirects(urllib.request.HTTPRedirectHandler):
    """Remove the token from redirects, which lead to archives on another host."""

    def redirect_request(
        self, request: Any, answer: Any, code: int, message: str, headers: Any, address: str
    ) -> Any:
        following = super().redirect_request(request, answer, code, message, headers, address)
        if following is not None:
            for name in _SECRET:
                following.remove_header(name)
        return following


class WebApi:
    """A repository in the API of a forge."""

    def __init__(
        self,
        address: str,
        repository: str,
        headers: Mapping[str, str],
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """Raise Refused if the address is not valid.

        repository: its path below the address; empty if paths of calls name it
        headers:    of each call; redirects do not get the token
        """
        if not re.fullmatch(r"https?://[\w.:/-]+", address, re.ASCII):
            raise Refused(f"'{address}' is not an address of an API")
        self.repository = f"{address}/{repository}".rstrip("/")
        self.headers = {**headers, "User-Agent": "sizeguard"}
        self.opener = urllib.request.build_opener(_Redirects)
        self.sleep = sleep
        self.waited = 0.0

    def table(self, path: str) -> dict[str, Any]:
        """Get a JSON object."""
        return table_of(self.call("GET", path), path)

    def rows(self, path: str, key: str = "") -> Iterator[dict[str, Any]]:
        """Get the rows of a list, page by page.

        key: key of the list in each answer; empty if the answer is the list
        """
        mark = "&" if "?" in path else "?"
        for page in range(1, _PAGES + 1):
            answer = self.call("GET", f"{path}{mark}per_page={_PAGE}&page={page}")
            found = table_of(answer, path).get(key) if key else answer
            if not isinstance(found, list):
                raise ApiError(f"the answer to {path} is not a list")
            yield from (table_of(each, path) for each in found)
            if len(found) < _PAGE:
                return

    def call(
        self,
        method: str,
        path: str,
        content: Mapping[str, Any] | None = None,
        *,
        is_repeatable: bool = False,
    ) -> Any:
        """Call the API and parse its answer as JSON.

        is_repeatable: a second POST of the same content changes nothing
        """
        data = self.bytes(method, path, ANSWER, content, is_repeatable=is_repeatable)
        try:
            return json.loads(data)
        except (ValueError, RecursionError) as error:
            raise ApiError(f"the answer to {path} is not JSON") from error

    def bytes(
        self,
        method: str,
        path: str,
        limit: int,
        content: Mapping[str, Any] | None = None,
        *,
        is_repeatable: bool = False,
    ) -> bytes:
        """Call the API, with retries; raise Refused for more than `limit` bytes.

        POST is repeated only if GitHub's rate limit refused it, so no comment is made twice.
        """
        is_once = method == "POST" and not is_repeatable
        data = None if content is None else json.dumps(content).encode()
        for tried in range(1, TRIES + 1):
            request = urllib.request.Request(
                f"{self.repository}/{path}", data, self.headers, method=method
            )
            try:
                with self.opener.open(request, timeout=SECONDS) as answer:
                    found: bytes = answer.read(limit + 1)
            except urllib.error.HTTPError as error:
                with error:
                    wait = _wait(error, tried, is_once)
                    if wait is None or tried == TRIES:
                        raise ApiError(f"{method} {path}: {error.code}", error.code) from error
                why = f"{method} {path}: {error.code}"
            except (OSError, http.client.HTTPException, ValueError) as error:
                if is_once or tried == TRIES:
                    raise ApiError(f"{method} {path}: {type(error).__name__}") from error
                wait, why = 2.0**tried, f"{method} {path}: {type(error).__name__}"
            else:
                if len(found) > limit:
                    raise Refused(f"{path.partition('?')[0]} is larger than {limit:,} bytes")
                return found
            self._wait(wait, why)
        raise ApiError(f"{method} {path}: no answer")

    def _wait(self, seconds: float, why: str) -> None:
        if self.waited + seconds > PATIENCE:
            raise ApiError(f"{why}, and the server asks to wait {seconds:,.0f} s")
        self.waited += seconds
        self.sleep(seconds)


class Api(WebApi):
    """A repository in the API of GitHub."""

    def __init__(
        self,
        address: str,
        repository: str,
        token: str,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """Raise Refused if the name of the repository is not valid."""
        if not re.fullmatch(r"[\w.-]+/[\w.-]+", repository, re.ASCII):
            raise Refused(f"'{repository}' is not a repository")
        headers = {
            "Authorization": f"Bearer {token}",
            "Accept": "application/vnd.github+json",
            "X-GitHub-Api-Version": "2022-11-28",
        }
        super().__init__(address, f"repos/{repository}", headers, sleep)


def _wait(error: urllib.error.HTTPError, tried: int, is_once: bool) -> float | None:
    """Return the seconds until the next try; None if a retry is useless or repeats an effect."""
    asked = error.headers.get("Retry-After")
    is_limited = error.code == 429 or (
        error.code == 403 and (asked or error.headers.get("X-RateLimit-Remaining") == "0")
    )
    if not is_limited and (error.code < 500 or is_once):
        return None
    seconds = _seconds(asked) if asked else None
    if seconds is None and is_limited:
        reset = error.headers.get("X-RateLimit-Reset") or ""
        if re.fullmatch(r"[0-9]{1,12}", reset):
            seconds = max(int(reset) - time.time(), 0.0) + 1
    return 2.0**tried if seconds is None else seconds


def _seconds(text: str) -> float | None:
    """Read Retry-After: seconds, or a date."""
    if re.fullmatch(r"[0-9]{1,9}", text.strip()):
        return float(text)
    try:
        return max(email.utils.parsedate_to_datetime(text).timestamp() - time.time(), 0.0)
    except (ValueError, TypeError, OverflowError):
        return None


def table_of(value: object, where: str) -> dict[str, Any]:
    """Return a JSON object; raise ApiError for anything else."""
    if not isinstance(value, dict):
        raise ApiError(f"the answer to {where} is not an object")
    return value


def text_of(value: object) -> str:
    """Return a string; empty for anything else, including null."""
    return value if isinstance(value, str) else ""


def number_of(value: object) -> int:
    """Return a positive integer; 0 for anything else."""
    is_number = isinstance(value, int) and not isinstance(value, bool)
    return value if is_number and isinstance(value, int) and value > 0 else 0
