"""A local server of GitLab's API: jobs of a pipeline, their artifacts, and notes."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tests.support.services.local_hub import HEAD, MERGE
from tests.support.services.local_server import serving

TOKEN = "glpat-not-for-the-storage"
BOT = {"username": "project_3_bot"}


def job(number: int, name: str = "size-gate", status: str = "success") -> dict[str, Any]:
    """Make a job of the pipeline."""
    return {"id": number, "name": name, "status": status}


@dataclass
class LocalLab:
    """The state of the local GitLab.

    results:  contents of gate.json by the job's id
    refusals: answers by the beginning of METHOD ROUTE, used one by one before the real answer
    """

    jobs: list[dict[str, Any]] = field(default_factory=lambda: [job(5)])
    results: dict[int, bytes] = field(default_factory=dict)
    notes: list[dict[str, Any]] = field(default_factory=list)
    written: list[str] = field(default_factory=list)
    leaked: list[str] = field(default_factory=list)
    refusals: dict[str, list[tuple[int, dict[str, str]]]] = field(default_factory=dict)
    address: str = ""

    def environment(self, **more: str) -> dict[str, str]:
        """Return the variables of the job with the token."""
        return {
            "CI_API_V4_URL": f"{self.address}/api/v4",
            "CI_SERVER_URL": "https://gitlab.example",
            "CI_PROJECT_ID": "3",
            "CI_PROJECT_PATH": "org/runtime",
            "CI_MERGE_REQUEST_PROJECT_ID": "3",
            "CI_MERGE_REQUEST_IID": "7",
            "CI_MERGE_REQUEST_SOURCE_BRANCH_SHA": HEAD,
            "CI_COMMIT_SHA": MERGE,
            "CI_PIPELINE_ID": "42",
            "CI_PIPELINE_URL": "https://gitlab.example/org/runtime/-/pipelines/42",
            "SIZEGUARD_NOTE_TOKEN": TOKEN,
            **more,
        }

    def answer(
        self, method: str, path: str, content: bytes, token: str | None
    ) -> tuple[int, bytes, dict[str, str]]:
        """Answer one call."""
        if path.startswith("/storage"):
            self.leaked += [token] if token else []
            return 200, self.results[int(path.rpartition("/")[2])], {}
        if token != TOKEN:
            return 401, b"{}", {}
        parts = urlsplit(path.removeprefix("/api/v4/"))
        for begin, answers in self.refusals.items():
            if answers and f"{method} {parts.path}".startswith(begin):
                code, headers = answers.pop(0)
                return code, b"<html>", headers
        if method != "GET":
            return self._write(method, parts.path, json.loads(content))
        found = re.fullmatch(
            "projects/3/jobs/([0-9]+)/artifacts/sizeguard-results/gate.json", parts.path
        )
        if found and int(found[1]) in self.results:
            return 302, b"", {"Location": f"{self.address}/storage/{found[1]}"}
        answer = self._read(parts.path, {k: v[0] for k, v in parse_qs(parts.query).items()})
        return (404, b"{}", {}) if answer is None else (200, json.dumps(answer).encode(), {})

    def _read(self, route: str, query: Mapping[str, str]) -> Any:
        page, size = int(query.get("page", 1)), int(query.get("per_page", 20))
        if route == "user":
            return BOT
        lists = {
            "projects/3/pipelines/42/jobs": [*reversed(self.jobs)],
            "projects/3/merge_requests/7/notes": self.notes,
        }
        return lists[route][(page - 1) * size : page * size] if route in lists else None

    def _write(
        self, method: str, route: str, content: dict[str, Any]
    ) -> tuple[int, bytes, dict[str, str]]:
        self.written.append(f"{method} {route}")
        notes = "projects/3/merge_requests/7/notes"
        if method == "POST" and route == notes:
            self.notes.append({"id": len(self.notes) + 1, "author": BOT, **content})
        elif method == "PUT" and (found := re.fullmatch(f"{notes}/([0-9]+)", route)):
            (one,) = [each for each in self.notes if each["id"] == int(found[1])]
            one |= content
        else:
            return 404, b"{}", {}
        return 201, b"{}", {}


def served(lab: LocalLab) -> AbstractContextManager[LocalLab]:
    """Serve its answers on a local port."""
    return serving(lab, "PRIVATE-TOKEN")
