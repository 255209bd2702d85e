"""The store gives back what was put; damaged entries are removed."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import pytest

from sizeguard.attribution.open_analysis import analysis_of
from sizeguard.measurement.metric import bucket_vector
from sizeguard.measurement.store_place import project_store
from sizeguard.snapshots.store import FOLDER_VARIABLE, Store, content_key
from tests.support.builds.small_program import small_program


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory, native_tools: None) -> Path:
    return small_program(tmp_path_factory.mktemp("program"))


def test_the_store_gives_back_what_was_put(
    tmp_path: Path, program: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = Store(tmp_path / "store")
    key = content_key({"tree": "1"})
    assert store.get(key) is None
    assert not store.folder.exists()
    analysis = analysis_of(program)
    store.put(key, {"commit": "c"}, analysis)
    found = store.get(key)
    assert found is not None
    assert found.analysis is not None
    assert bucket_vector(found.analysis) == bucket_vector(analysis)
    assert store.facts(key) == {"commit": "c"}
    store.put(content_key({"tree": "2"}), {"does_not_build": "x"})
    only = store.get(content_key({"tree": "2"}))
    assert only is not None
    assert only.analysis is None
    store.put(content_key({"tree": "3"}), {}, analysis)
    assert len(list((store.folder / "snapshots").iterdir())) == 1  # equal content is stored once
    same = store.get(content_key({"tree": "3"}))
    assert same is not None
    assert same.analysis is found.analysis  # and read once
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path / "elsewhere"))
    assert project_store(tmp_path).folder == tmp_path / "elsewhere"
    monkeypatch.delenv(FOLDER_VARIABLE)
    assert project_store(tmp_path).folder == tmp_path / ".sizeguard" / "store"


@pytest.mark.parametrize(
    "damage",
    [
        "facts cut",
        "facts of another key",
        "facts no object",
        "snapshot cut",
        "snapshot gone",
        "snapshot changed",
    ],
)
def test_a_damaged_entry_is_a_miss_and_is_removed(
    tmp_path: Path, program: Path, damage: str
) -> None:
    store = Store(tmp_path)
    key = content_key({"a": 1})
    analysis = analysis_of(program)
    store.put(key, {"commit": "c"}, analysis)
    facts = tmp_path / "facts" / f"{key}.json"
    snapshot = next((tmp_path / "snapshots").iterdir())
    if damage == "facts cut":
        facts.write_bytes(facts.read_bytes()[:-9])
    elif damage == "facts of another key":
        facts.write_text(json.dumps({**json.loads(facts.read_text()), "key": "other"}))
    elif damage == "facts no object":
        facts.write_text("[" * 100_000)
    elif damage == "snapshot cut":
        snapshot.write_bytes(snapshot.read_bytes()[:-9])
    elif damage == "snapshot gone":
        snapshot.unlink()
    else:
        data = bytearray(snapshot.read_bytes())
        data[len(data) // 2] ^= 1
        snapshot.write_bytes(data)
    assert store.get(key) is None
    assert not facts.exists()
    store.put(key, {"commit": "c"}, analysis)
    assert store.get(key) is not None


def test_two_writers_of_one_key_both_succeed(tmp_path: Path, program: Path) -> None:
    analysis = analysis_of(program)
    key = content_key({"a": 1})
    failures: list[str] = []

    def write(number: int) -> None:
        store = Store(tmp_path)
        for i in range(20):
            store.put(key, {"writer": number, "i": i}, analysis)
            if store.get(key) is None:
                failures.append(f"{number} lost {i}")

    threads = [threading.Thread(target=write, args=(n,)) for n in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert not [path for path in tmp_path.rglob(".*") if path.is_file()]
