"""A local server of GitHub's API: runs, artifacts, pull requests, comments and statuses."""

from __future__ import annotations

import base64
import gzip
import io
import json
import re
import zipfile
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tests.support.services.local_server import serving

HEAD = "77b01de5577b01de5577b01de5577b01de5577b0"
MERGE = "3f9a0c113f9a0c113f9a0c113f9a0c113f9a0c11"
BASE = "4f2a91cd4f2a91cd4f2a91cd4f2a91cd4f2a91cd"
FORK = "ana/runtime"
TOKEN = "not-for-the-storage"
BOT = {"type": "Bot", "login": "github-actions[bot]"}


def pull(number: int = 7, **more: Any) -> dict[str, Any]:
    """Make a pull request at HEAD of the fork."""
    head = {"sha": HEAD, "repo": {"full_name": FORK}, "label": "ana:tiles"}
    return {"number": number, "state": "open", "head": head, **more}


def zipped(files: Mapping[str, bytes | str]) -> bytes:
    """Pack files as actions/upload-artifact does."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return content.getvalue()


@dataclass
class LocalHub:
    """The state of the local GitHub.

    archive:  archive of the run's artifact; None for none
    parts:    archives of the artifacts of a matrix, by part
    pages:    name of an artifact with pages; empty for none
    created:  time at which the artifacts were made
    size:     the stated size of the artifact
    refusals: answers by the beginning of METHOD ROUTE, used one by one before the real answer
    """

    archive: bytes | None = None
    size: int | None = None
    parts: dict[str, bytes] = field(default_factory=dict)
    pages: str = ""
    created: str = "2026-01-02T00:00:00Z"
    run: dict[str, Any] = field(default_factory=dict)
    pulls: list[dict[str, Any]] = field(default_factory=lambda: [pull()])
    parents: dict[str, list[str]] = field(default_factory=lambda: {MERGE: [BASE, HEAD]})
    comments: list[dict[str, Any]] = field(default_factory=list)
    statuses: list[dict[str, Any]] = field(default_factory=list)
    written: list[str] = field(default_factory=list)
    files: list[str] = field(default_factory=list)
    scanned: list[dict[str, Any]] = field(default_factory=list)
    leaked: list[str] = field(default_factory=list)
    refusals: dict[str, list[tuple[int, dict[str, str]]]] = field(default_factory=dict)
    artifact: str = "sizeguard-results"
    author: dict[str, str] = field(default_factory=lambda: BOT)
    address: str = ""

    def environment(self, **more: str) -> dict[str, str]:
        """Return the variables of the job with write permissions."""
        return {
            "GITHUB_API_URL": self.address,
            "GITHUB_REPOSITORY": "org/runtime",
            "GITHUB_SERVER_URL": "https://github.example",
            "GITHUB_TOKEN": TOKEN,
            "RUN_ID": "42",
            **more,
        }

    def answer(
        self, method: str, path: str, content: bytes, authorization: str | None
    ) -> tuple[int, bytes, dict[str, str]]:
        """Answer one call."""
        if path.startswith("/storage"):
            self.leaked += [authorization] if authorization else []
            number = int(path.rpartition("/")[2].partition(".")[0])
            return 200, self._artifacts()[number][1], {}
        if authorization != f"Bearer {TOKEN}":
            return 401, b"{}", {}
        parts = urlsplit(path.removeprefix("/repos/org/runtime/"))
        for begin, answers in self.refusals.items():
            if answers and f"{method} {parts.path}".startswith(begin):
                code, headers = answers.pop(0)
                return code, b"<html>", headers
        if method != "GET":
            return self._write(method, parts.path, json.loads(content))
        if found := re.fullmatch("actions/artifacts/([0-9]+)/zip", parts.path):
            return 302, b"", {"Location": f"{self.address}/storage/{found[1]}.zip"}
        answer = self._read(parts.path, {k: v[0] for k, v in parse_qs(parts.query).items()})
        return (404, b"{}", {}) if answer is None else (200, json.dumps(answer).encode(), {})

    def _artifacts(self) -> dict[int, tuple[str, bytes]]:
        """Name the artifacts by their ids."""
        found = {} if self.archive is None else {5: (self.artifact, self.archive)}
        for i, (part, archive) in enumerate(self.parts.items()):
            found[6 + i] = (f"{self.artifact}-{part}", archive)
        if self.pages:
            found[90] = (self.pages, b"")
        return found

    def _read(self, route: str, query: Mapping[str, str]) -> Any:
        page, size = int(query.get("page", 1)), int(query.get("per_page", 30))

        def part(rows: list[Any]) -> list[Any]:
            return rows[(page - 1) * size : page * size]

        if route == "actions/runs/42":
            plain = {
                "id": 42, "run_attempt": 1, "event": "pull_request", "head_sha": HEAD,
                "head_branch": "tiles", "head_repository": {"full_name": FORK},
                "conclusion": "success", "run_started_at": "2026-01-01T00:00:00Z",
            }  # fmt: skip
            return {**plain, **self.run}
        if route == "actions/runs/42/artifacts":
            listed = [
                {
                    "id": number, "name": name, "created_at": self.created,
                    "size_in_bytes": len(archive) if self.size is None else self.size,
                }
                for number, (name, archive) in self._artifacts().items()
                if query.get("name", name) == name
            ]  # fmt: skip
            return {"artifacts": part(listed)}
        if route == "pulls":
            assert query["state"] == "open"
            found = [
                each for each in self.pulls
                if each["state"] == "open" and each["head"].get("label") == query["head"]
            ]  # fmt: skip
            return part(found)
        if commit := re.fullmatch("git/commits/([0-9a-f]{40})", route):
            parents = self.parents.get(commit[1])
            return None if parents is None else {"parents": [{"sha": each} for each in parents]}
        if route == f"commits/{self.run.get('head_sha', HEAD)}/statuses":
            return part([*reversed(self.statuses)])
        if re.fullmatch("pulls/[0-9]+/files", route):
            return part([{"filename": name} for name in self.files])
        if listed := re.fullmatch("issues/([0-9]+)/comments", route):
            return part([each for each in self.comments if each["issue"] == int(listed[1])])
        return None

    def _write(
        self, method: str, route: str, content: dict[str, Any]
    ) -> tuple[int, bytes, dict[str, str]]:
        self.written.append(f"{method} {route}")
        if route == f"statuses/{self.run.get('head_sha', HEAD)}":
            assert len(content["description"]) <= 140
            self.statuses.append(content)
        elif method == "POST" and route == "code-scanning/sarifs":
            sarif = json.loads(gzip.decompress(base64.b64decode(content["sarif"])))
            self.scanned.append({**content, "sarif": sarif})
        elif method == "POST" and (found := re.fullmatch("issues/([0-9]+)/comments", route)):
            number = len(self.comments) + 1
            made = {"id": number, "issue": int(found[1]), "user": self.author, **content}
            self.comments.append(made)
        elif method == "PATCH" and (found := re.fullmatch("issues/comments/([0-9]+)", route)):
            (one,) = [each for each in self.comments if each["id"] == int(found[1])]
            one |= content
        else:
            return 404, b"{}", {}
        return 201, b"{}", {}


def served(hub: LocalHub) -> AbstractContextManager[LocalHub]:
    """Serve its answers on a local port."""
    return serving(hub, "Authorization")
