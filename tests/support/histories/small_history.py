"""Small git repositories of C programs, and the state of a checkout."""

from __future__ import annotations

import hashlib
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

from sizeguard.projects.command import CommandRecipe

_WHO = {
    f"GIT_{role}_{what}": value
    for role in ("AUTHOR", "COMMITTER")
    for what, value in (("NAME", "A. Author"), ("EMAIL", "a@example.org"))
}


class SmallRepository:
    """A repository that a test writes commit by commit, one second apart."""

    recipe = CommandRecipe("cc -Os main.c -o app", "app")

    def __init__(self, path: Path) -> None:
        self.path = path
        self.seconds = 1_700_000_000
        path.mkdir(parents=True)
        self.git("init", "-q", "-b", "main")

    def git(self, *arguments: str, stdin: str | None = None) -> str:
        date = f"{self.seconds} +0000"
        environment = {
            **os.environ,
            **_WHO,
            "GIT_AUTHOR_DATE": date,
            "GIT_COMMITTER_DATE": date,
            "GIT_CONFIG_GLOBAL": os.devnull,
        }
        done = subprocess.run(
            ["git", "-C", str(self.path), *arguments],
            input=stdin,
            capture_output=True,
            text=True,
            env=environment,
            check=False,
        )
        assert done.returncode == 0, f"git {arguments}: {done.stderr}"
        return done.stdout.strip()

    def commit(self, subject: str, files: Mapping[str, str | None]) -> str:
        """Write files (None removes one) and commit; return the commit's id."""
        self.seconds += 1
        for name, text in files.items():
            path = self.path / name
            if text is None:
                path.unlink()
                continue
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-F", "-", stdin=subject)
        return self.git("rev-parse", "HEAD")

    def sized(self, size: int) -> str:
        """Commit a program with a table of this many bytes."""
        source = (
            f"const char table[{size}] = {{1}};\nint main(int n, char** v) {{ return table[n %"
            f" {size}] + (v == 0); }}\n"
        )
        return self.commit(f"A table of {size}", {"main.c": source})


def state_of_checkout(path: Path, besides: str = "") -> dict[str, str]:
    """Return the hashes of every file of the worktree, the index and HEAD.

    Tests compare it before and after. besides: a folder to leave out.
    """
    state = {}
    for folder, folders, files in os.walk(path):
        if Path(folder) == path:
            folders[:] = [name for name in folders if name not in (".git", besides)]
        for name in files:
            file = Path(folder) / name
            state[str(file.relative_to(path))] = hashlib.sha256(file.read_bytes()).hexdigest()
    for name in ("index", "HEAD", "config", "packed-refs", "ORIG_HEAD"):
        file = path / ".git" / name
        state[f".git/{name}"] = (
            hashlib.sha256(file.read_bytes()).hexdigest() if file.exists() else "none"
        )
    refs = subprocess.run(
        ["git", "-C", str(path), "for-each-ref"], capture_output=True, text=True, check=True
    ).stdout
    return {**state, "refs": refs}
