"""Check, before any installation, whether a pull request changes only documents.

Needs only Python's library and git. SIZEGUARD_DOCUMENTS has patterns of files that no build
reads, in the syntax of CODEOWNERS, such as `*.md docs/**`. In doubt, the change is measured.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from sizeguard.attribution.teams.code_owners import path_pattern
from sizeguard.base.errors import SizeguardError
from sizeguard.claims.verdict import PASS
from sizeguard.gate.gate_result import Base, GateResult
from sizeguard.gate.reference.base_branch import named_base
from sizeguard.gate.reference.ci_event import ci_event
from sizeguard.git.git import DIFF, branch_id, commit_id, git
from sizeguard.report.gate.render import gate_text, write_step_summary

POLICY = frozenset({"sizeguard.yaml", "baselines"})  # files and folders, of any project
_CONFIG = "sizeguard.yaml"
_LINK = "120000"
_ESCAPED = r"\\[xuU]|\x00"  # YAML can write any name so, also in UTF-16
_JOINED = re.compile(r"\\\n[ \t]*")
_FILES = {"json": "gate.json", "sarif": "gate.sarif", "junit": "gate.xml"}
_PLAIN = {"100644", "000000"}  # modes: a plain file, and no file


def base_of_change(root: Path, asked: str) -> Base | None:
    """Find the merge base of a pull request; None for other events."""
    event = ci_event()
    if os.environ.get("GITHUB_EVENT_NAME") != "pull_request" or event.pushed:
        return None
    named = named_base(root, asked, event)
    if named is None:
        return None
    commit = git(root, "merge-base", "HEAD", branch_id(root, named.revision))
    return Base(commit, named.name)


def changed_paths(root: Path, base: str) -> list[str]:
    """List the paths that differ from the base; the entry of a link or a submodule is empty."""
    words = git(root, *DIFF, "--raw", "-z", "--no-renames", "--no-abbrev", base, "HEAD")
    fields = [word for word in words.split("\0") if word]
    return [
        path if set(about[1:].split()[:2]) <= _PLAIN else ""
        for about, path in zip(fields[::2], fields[1::2], strict=True)
    ]


def are_documents(paths: Sequence[str], patterns: Sequence[str]) -> bool:
    """Return whether there are paths, and each matches a pattern and is not a policy file."""
    known = [path_pattern(each) for each in patterns]
    return bool(paths) and all(
        path and POLICY.isdisjoint(path.split("/")) and any(each.match(path) for each in known)
        for path in paths
    )


def named_in_policy(root: Path, base: str, paths: Sequence[str]) -> bool:
    """Return whether a sizeguard.yaml, or a link, names one of the files or a file beside it.

    Rules and selections are named; inputs of a model stand beside it. Without installation, nothing
    here parses YAML: the file's name in the text is enough, or that of a link to a folder above it.
    """
    rows = [row for commit in (base, "HEAD") for row in _rows(root, commit)]
    told = {_spelled(path.rpartition("/")[2]) for path in paths}
    folders = {path.rpartition("/")[0] for path in paths} - {""}
    told |= {rf"{_spelled(folder)}/+(\./+)*[\w.-]+(?![\w./-])" for folder in folders}
    if any(row.has(each) for row in rows if not row.is_link for each in (*told, _ESCAPED)):
        return True
    parts = {"", ".", ".."}.union(*(path.split("/") for path in paths))
    links = [row for row in rows if row.is_link and row.text.rpartition("/")[2] in parts]
    names = {_spelled(link.path.rpartition("/")[2]) for link in links}
    return any(row.has(name) for row in rows for name in names)


def _spelled(name: str) -> str:
    """Return a pattern of a name or path, however YAML quotes, folds or repeats its signs."""
    return r"\W+".join(map(re.escape, re.split(r"\W+", name)))


class _Row(NamedTuple):
    """A sizeguard.yaml, or a symbolic link with its target as the text."""

    path: str
    text: str
    is_link: bool

    def has(self, pattern: str) -> bool:
        """Return whether the text has a match of a pattern."""
        return re.search(pattern, self.text) is not None


def _rows(root: Path, commit: str) -> Iterator[_Row]:
    """Yield each sizeguard.yaml and each symbolic link of a commit."""
    for row in git(root, "ls-tree", "-r", "-z", "--full-tree", commit).split("\0"):
        about, _, path = row.partition("\t")
        is_link = about.startswith(_LINK)
        if is_link or path.rpartition("/")[2] == _CONFIG:
            text = git(root, "cat-file", "blob", about.split()[2])
            yield _Row(path, _JOINED.sub("", text), is_link)


def main() -> int:
    """If only documents changed, write the result and set the outputs for later steps."""
    root, results = Path.cwd(), Path(os.environ["SIZEGUARD_RESULTS"])
    try:
        base = base_of_change(root, os.environ.get("SIZEGUARD_BASE", ""))
        paths = changed_paths(root, base.commit) if base else []
        head = commit_id(root, "HEAD")
        is_named = base is not None and named_in_policy(root, base.commit, paths)
    except SizeguardError as error:
        print(f"{error}: measured")  # the gate reports the error again, with a result
        return 0
    if is_named or not are_documents(paths, os.environ.get("SIZEGUARD_DOCUMENTS", "").split()):
        return 0
    skipped = f"documents alone changed: {len(paths)} files"
    result = GateResult(PASS, (), base=base, head=head, skipped=skipped)
    results.mkdir(parents=True, exist_ok=True)
    for format_, name in _FILES.items():
        (results / name).write_text(gate_text(result, format_) + "\n", encoding="utf-8")
    (results / ".gitignore").write_text("*\n", encoding="utf-8")
    print(f"{skipped}: {json.dumps(paths)[:2000]}")
    write_step_summary(result)
    with Path(os.environ["GITHUB_OUTPUT"]).open("a", encoding="utf-8") as output:
        output.write("only=true\nexit-code=0\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
