"""sizeguard clean removes old and excess entries, but none that a running process uses."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import sizeguard
from sizeguard.base.errors import InputError
from sizeguard.base.kept.hash_cache import HashCache
from sizeguard.projects.known_reads import KnownReads
from sizeguard.snapshots.cleaning import StoreLimits, clean_store
from sizeguard.snapshots.store import Store
from sizeguard.toolchains.read_files import ReadFiles
from tests.support.results.golden_sample import new, old
from tests.support.tricks.any_project import AnyProject

DAY = 86400
SCHEMA = json.loads(
    (Path(sizeguard.__file__).parent / "report" / "schemas" / "clean.schema.json").read_text()
)
# A process that reads an entry of a store, waits until its input ends, and reads it again.
READER = """
import sys
from pathlib import Path
from sizeguard.snapshots.store import Store
store = Store(Path(sys.argv[1]))
print(store.get(sys.argv[2]) is not None, flush=True)
sys.stdin.read()
print(store.get(sys.argv[2]) is not None, flush=True)
"""


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """Make four entries, used 400, 300, 200 and 100 days ago; the first two share a snapshot."""
    made = Store(tmp_path / "store")
    for days, key in ((400, "a"), (300, "b"), (200, "c"), (100, "d")):
        made.put(key, {"n": 1}, {"a": old(), "b": old(), "c": new()}.get(key))
        aged(made, key, days)
    return made


def aged(store: Store, key: str, days: int) -> None:
    then = time.time() - days * DAY
    os.utime(store.folder / "facts" / f"{key}.json", (then, then))


def keys(store: Store) -> str:
    return "".join(sorted(path.stem for path in (store.folder / "facts").glob("*.json")))


def snapshots(store: Store) -> int:
    return len(list((store.folder / "snapshots").glob("*.snapshot")))


def bytes_of(store: Store) -> int:
    files = [*store.folder.glob("facts/*"), *store.folder.glob("snapshots/*")]
    return sum(path.stat().st_size for path in files)


@pytest.mark.parametrize(
    ("days", "left", "files"), [(500, "abcd", 2), (350, "bcd", 2), (250, "cd", 1), (50, "", 0)]
)
def test_what_is_old_goes(store: Store, days: int, left: str, files: int) -> None:
    before = bytes_of(store)
    dry = clean_store(store.folder, StoreLimits(max_age=days * DAY), is_dry=True)
    assert (keys(store), bytes_of(store)) == ("abcd", before)
    done = clean_store(store.folder, StoreLimits(max_age=days * DAY), is_dry=False)
    assert (keys(store), snapshots(store)) == (left, files)
    assert before - bytes_of(store) == done.goes.size == dry.goes.size
    assert done.held.size == before


def test_what_is_too_much_goes_by_its_last_use(store: Store) -> None:
    store.get("a")  # used last, so it is removed last
    aged(store, "d", 350)
    most = bytes_of(store) - 1
    done = clean_store(store.folder, StoreLimits(most, 999 * DAY), is_dry=False)
    assert keys(store) == "abc"
    assert bytes_of(store) <= most
    assert (done.over.count, done.old.count) == (1, 0)
    clean_store(store.folder, StoreLimits(0, 999 * DAY), is_dry=False)
    assert bytes_of(store) == 0


def test_lost_snapshots_and_damaged_entries_go(store: Store) -> None:
    (store.folder / "facts" / "a.json").unlink()
    (store.folder / "facts" / "b.json").write_text("{")
    done = clean_store(store.folder, StoreLimits(max_age=999 * DAY), is_dry=False)
    assert (done.lost.count, keys(store), snapshots(store)) == (1, "cd", 1)


@pytest.mark.parametrize("odd", ["a FIFO", "a device"])
def test_what_is_no_file_is_never_read(store: Store, tmp_path: Path, odd: str) -> None:
    """Reading a FIFO would wait forever, and a device may never end."""
    reads = KnownReads(tmp_path, "parse")
    reads.add(ReadFiles(frozenset({"a.c"})))
    cache = tmp_path / "hashes.json"
    for path in (*tmp_path.glob("parse*"), cache, store.folder / "facts" / "a.json"):
        path.unlink(missing_ok=True)
        if odd == "a FIFO":
            os.mkfifo(path)
        else:
            path.symlink_to("/dev/zero")
    assert reads.get() is None
    assert HashCache(cache, lambda path: path)(__file__) == __file__
    with pytest.raises(InputError, match="not a regular file"):
        store.facts("a")


def test_a_lock_that_is_a_folder_is_one_line(tmp_path: Path) -> None:
    (tmp_path / ".lock").mkdir()
    with pytest.raises(InputError, match=r"\.lock: cannot write: it is a folder"):
        KnownReads(tmp_path, "parse").add(ReadFiles(frozenset({"a.c"})))


def test_a_running_process_loses_nothing(store: Store) -> None:
    """Its entry is kept despite the limits, and can be removed after the process ends."""
    with subprocess.Popen(
        [sys.executable, "-c", READER, str(store.folder), "a"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as reader:
        assert reader.stdout is not None
        assert reader.stdout.readline() == "True\n"
        done = clean_store(store.folder, StoreLimits(0, 0), is_dry=False)
        assert (keys(store), snapshots(store)) == ("a", 1)
        assert (done.users, done.in_use.count) == (1, 1)
        out, _ = reader.communicate("", timeout=60)
    assert out == "True\n"
    done = clean_store(store.folder, StoreLimits(0, 0), is_dry=False)
    assert (keys(store), done.users) == ("", 0)


def test_a_store_that_was_never_made(tmp_path: Path) -> None:
    done = clean_store(tmp_path / "none", StoreLimits(), is_dry=False)
    assert (done.held.count, done.goes.count) == (0, 0)
    assert not (tmp_path / "none").exists()


@pytest.fixture
def project(tmp_path: Path, store: Store) -> AnyProject:
    made = AnyProject(tmp_path / "p")
    config = "store: {max_age: 30 weeks}\napps:\n  found:\n    image: image\n"
    made.root.mkdir()
    made.git("init", "--quiet")
    made.write({"sizeguard.yaml": config})
    (made.root / ".sizeguard").mkdir()
    store.folder.rename(made.root / ".sizeguard" / "store")
    return made


def cleaned(project: AnyProject, *arguments: str) -> dict[str, Any]:
    done = project.run("clean", "--format", "json", *arguments)
    assert done.code == 0, done.err
    result: dict[str, Any] = json.loads(done.out)
    jsonschema.validate(result, SCHEMA)
    return result


def test_limits_of_the_project_and_of_options(project: AnyProject) -> None:
    result = cleaned(project, "--dry-run")
    assert (result["max_age"], result["old"]["count"], result["dry_run"]) == (210 * DAY, 2, True)
    assert result["place"] == "sizeguard.yaml:1:8"
    assert cleaned(project, "--dry-run", "--max-age", "50d")["old"]["count"] == 4
    assert cleaned(project, "--dry-run", "--max-size", "1 B")["goes"]["count"] == 4
    text = project.run("clean")
    assert "removed 2 entries" in text.out
    assert cleaned(project)["goes"]["count"] == 0


@pytest.mark.parametrize(
    ("arguments", "config", "words"),
    [
        (("--max-age", "soon"), "", "--max-age: 'soon' is not an age"),
        (("--max-size", "many"), "", "--max-size: 'many' is not a size"),
        ((), "store: {max_age: 1 year}\n", "sizeguard.yaml:1:8: '1 year' is not an age"),
        ((), "store: {max_agee: 1d}\n", "nearest is 'max_age'"),
        ((), "store: 3\n", "store is a table"),
    ],
)
def test_a_wrong_limit_is_one_line(
    project: AnyProject, arguments: tuple[str, ...], config: str, words: str
) -> None:
    project.write({"sizeguard.yaml": f"{config}apps:\n  found:\n    image: image\n"})
    done = project.run("clean", *arguments)
    assert (done.code, done.err.count("\n")) == (2, 1)
    assert words in done.err
