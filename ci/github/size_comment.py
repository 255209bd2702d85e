"""Post the artifact of a measuring run as a comment on its pull request.

It runs with rights, so it believes nothing that it is given.

The artifact was written by the pull request's own code. Taken from it are two files of bounded
size: the number of the pull request, which must be one that is at the run's commit, and a result,
which is read strictly by its types and rendered here, where every text in it comes out as text.
Nothing in it reaches a shell, a path or an address.

GITHUB_API_URL, GITHUB_REPOSITORY and GITHUB_TOKEN are the runner's; RUN_ID, HEAD_SHA and
HEAD_REPOSITORY are GitHub's word on the run.
"""

from __future__ import annotations

import io
import json
import os
import re
import sys
import urllib.error
import urllib.request
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from sizeguard.base.errors import InputError
from sizeguard.report.gate.gate_json import LARGEST, result_of
from sizeguard.report.gate.gate_markdown import COMMENT, MARKER, markdown_text

ARTIFACT = "sizeguard-results"
RESULT, NUMBER = "gate.json", "pull-request"
ARCHIVE = 8 << 20  # bytes of the archive; six builds have 40 KB
ANSWER = 8 << 20  # bytes of an answer of the API
PAGES = 20  # of 100 comments that are looked at for ours
SECONDS = 30.0
_FOOT = 400  # bytes kept for what is said below the result


class Refused(Exception):
    """The artifact is not what a run of ours writes."""


class _Redirects(urllib.request.HTTPRedirectHandler):
    """Archives are at a storage with an address of its own: the token is not for it."""

    def redirect_request(
        self, request: Any, answer: Any, code: int, message: str, headers: Any, address: str
    ) -> Any:
        following = super().redirect_request(request, answer, code, message, headers, address)
        if following is not None:
            following.remove_header("Authorization")
        return following


class Api:
    """A repository in the API of GitHub."""

    def __init__(self, address: str, repository: str, token: str) -> None:
        """Raise Refused for a name that is no repository's."""
        if not re.fullmatch(r"[\w.-]+/[\w.-]+", repository):
            raise Refused(f"'{repository}' is no repository")
        self.repository = f"{address}/repos/{repository}"
        self.headers = {
            "Authorization": f"Bearer {token}",
            "Accept": "application/vnd.github+json",
            "X-GitHub-Api-Version": "2022-11-28",
            "User-Agent": "sizeguard",
        }
        self.opener = urllib.request.build_opener(_Redirects)

    def call(self, method: str, path: str, content: Mapping[str, Any] | None = None) -> Any:
        """Call the API and read the JSON that it answers."""
        return json.loads(self.bytes(method, path, ANSWER, content))

    def bytes(
        self, method: str, path: str, limit: int, content: Mapping[str, Any] | None = None
    ) -> bytes:
        """Call the API; raise Refused for an answer of more than `limit` bytes."""
        data = None if content is None else json.dumps(content).encode()
        request = urllib.request.Request(
            f"{self.repository}/{path}", data, self.headers, method=method
        )
        with self.opener.open(request, timeout=SECONDS) as answer:
            found: bytes = answer.read(limit + 1)
        if len(found) > limit:
            raise Refused(f"{path} is larger than {limit:,} bytes")
        return found


def artifact(api: Api, run: int) -> bytes:
    """Download the archive of the run's results."""
    listed = api.call("GET", f"actions/runs/{run}/artifacts?name={ARTIFACT}&per_page=100")[
        "artifacts"
    ]
    named = [each for each in listed if each["name"] == ARTIFACT and not each.get("expired")]
    if not named:
        raise Refused(f"run {run} has no artifact {ARTIFACT}: it ended before it measured")
    newest = max(named, key=lambda each: int(each["id"]))  # of a run that was run again
    if int(newest["size_in_bytes"]) > ARCHIVE:
        raise Refused(
            f"the artifact has {int(newest['size_in_bytes']):,} bytes, {ARCHIVE:,} are allowed"
        )
    return api.bytes("GET", f"actions/artifacts/{int(newest['id'])}/zip", ARCHIVE)


def member(archive: bytes, name: str, limit: int) -> bytes:
    """One file of an archive, at most `limit` bytes of it: an archive may say less than unpacks.

    Nothing is written to the disk.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(archive)) as files:
            if files.namelist().count(name) != 1:
                raise Refused(f"the artifact has not one file {name}")
            with files.open(name) as file:
                found = file.read(limit + 1)
    except (
        zipfile.BadZipFile,
        zlib.error,
        NotImplementedError,
        RuntimeError,
        EOFError,
        ValueError,
        OSError,
    ) as error:
        raise Refused(f"the artifact cannot be read: {error}") from error
    if len(found) > limit:
        raise Refused(f"{name} in the artifact is larger than {limit:,} bytes")
    return found


def pull_request(api: Api, archive: bytes, head: str, repository: str) -> int | None:
    """Return the number that the artifact names, if that pull request is at the run's commit.

    None if it has moved on or is another's.
    """
    text = member(archive, NUMBER, 20)
    if not re.fullmatch(rb"[1-9][0-9]{0,8}\n?", text):
        raise Refused(f"{NUMBER} in the artifact is no number")
    number = int(text)
    try:
        found = api.call("GET", f"pulls/{number}")
    except urllib.error.HTTPError as error:
        raise Refused(f"there is no pull request {number}: {error.code}") from error
    theirs = (found["head"].get("repo") or {}).get("full_name")
    return (
        number
        if (found["head"]["sha"], theirs) == (head, repository) and found["state"] == "open"
        else None
    )


def body(archive: bytes, head: str, run: int) -> str:
    """Make the comment from the result in the archive."""
    # Of the commit we have GitHub's word
    result = replace(result_of(member(archive, RESULT, LARGEST), RESULT), head=head)
    address = f"{os.environ.get('GITHUB_SERVER_URL', 'https://github.com')}/{os.environ['GITHUB_REPOSITORY']}/actions/runs/{run}"
    foot = (
        f"\n\n<sub>Measured without rights by the pull request's own code in [this run]({address}):"
        " its word, shown as it came.</sub>"
    )
    return markdown_text(result, COMMENT - _FOOT) + foot


def comments(api: Api, number: int) -> Iterator[dict[str, Any]]:
    """Yield the comments of a pull request."""
    for page in range(1, PAGES + 1):
        found = api.call("GET", f"issues/{number}/comments?per_page=100&page={page}")
        yield from found
        if len(found) < 100:
            return


def publish(api: Api, number: int, text: str) -> str:
    """One comment a pull request: ours is changed if there is one.

    Others may copy our mark, so the author counts, too.
    """
    for comment in comments(api, number):
        author = comment["user"] or {}
        if (
            comment["body"].startswith(MARKER)
            and author.get("type") == "Bot"
            and author.get("login") == "github-actions[bot]"
        ):
            api.call("PATCH", f"issues/comments/{int(comment['id'])}", {"body": text})
            return "changed"
    api.call("POST", f"issues/{number}/comments", {"body": text})
    return "made"


def main() -> int:
    """Publish the comment of a run; 1 if anything is refused."""
    names = (
        "RUN_ID",
        "HEAD_SHA",
        "HEAD_REPOSITORY",
        "GITHUB_API_URL",
        "GITHUB_REPOSITORY",
        "GITHUB_TOKEN",
    )
    run, head, fork, address, repository, token = (os.environ.get(name, "") for name in names)
    try:
        if not re.fullmatch(r"[0-9]{1,18}", run) or not re.fullmatch(r"[0-9a-f]{40}", head):
            raise Refused("RUN_ID or HEAD_SHA is missing")
        api = Api(address, repository, token)
        archive = artifact(api, int(run))
        text = body(archive, head, int(run))
        number = pull_request(api, archive, head, fork)
        if number is None:
            print(
                "no comment: the pull request that the artifact names is closed or at another"
                " commit than the run's"
            )
            return 0
        print(f"comment {publish(api, number, text)} on pull request {number}")
    except (Refused, InputError) as error:
        # As InputError prints: on one line, and what a runner would read as a command is behind a
        # word of ours.
        print(f"error: {InputError(str(error))}", file=sys.stderr)
        return 1
    except (OSError, KeyError, ValueError, TypeError) as error:
        print(
            "error: the API of GitHub did not answer as expected:"
            f" {InputError(f'{type(error).__name__}: {error}')}",
            file=sys.stderr,
        )
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
