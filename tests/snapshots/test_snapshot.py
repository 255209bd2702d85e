"""Snapshots: same reports as the analysis, equal bytes for equal analyses, refusal of damage."""

from __future__ import annotations

import hashlib
import json
import lzma
import os
import random
import struct
import time
import tracemalloc
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from zstandard import ZstdDecompressor

from sizeguard.attribution.analysis import Aliases
from sizeguard.attribution.group import group
from sizeguard.attribution.levels import LEVELS
from sizeguard.base.errors import InputError
from sizeguard.diff.compare import diff
from sizeguard.snapshots import version_1
from sizeguard.snapshots.magic import MAGIC, is_snapshot
from sizeguard.snapshots.packing import (
    DamagedError,
    _compressor,
    compress,
    decompress,
    pack_numbers,
    pack_texts,
    unpack_ids,
    unpack_numbers,
    unpack_texts,
)
from sizeguard.snapshots.snapshot import Snapshot, read_snapshot, snapshot_bytes
from tests.support.images.made_up import MadeUp, Part, parts
from tests.support.places import DATA
from tests.support.whole_products import choose

HEAD = len(MAGIC) + 2 + 32


def part(symbol: str, load: int, *names: str) -> Part:
    return Part({"symbol": symbol, "kind": "code", "object": "a.o"}, load, load, names=names)


SAMPLE = [part("f", 10), part("g", 20, "g", "h"), part("f.cold", 3), part("k", 20, "k", "h2")]


@pytest.mark.native
@given(parts(), st.booleans())
def test_a_snapshot_reports_what_its_analysis_does(made: list[Part], doubled: bool) -> None:
    analysis = MadeUp(made, doubled=doubled)
    snapshot = Snapshot(Path("x"), snapshot_bytes(analysis))
    for by in (["operator", "symbol"], ["kind"], list(LEVELS)):
        assert group(snapshot, by).rows == group(analysis, by).rows
    assert len(diff(analysis, snapshot, ["symbol", "object"])) == 0


@pytest.mark.native
@given(parts())
def test_equal_analyses_make_equal_bytes(made: list[Part]) -> None:
    assert snapshot_bytes(MadeUp(made)) == snapshot_bytes(MadeUp(made[::-1], doubled=True))


def test_where_an_image_lies_does_not_matter() -> None:
    class Elsewhere(MadeUp):
        pass

    here, there = MadeUp(SAMPLE), Elsewhere(SAMPLE)
    there.image = type(here.image)(
        "/home/me/app",
        *[getattr(here.image, f) for f in ("title", "format", "arch", "id", "file", "load", "ram")],
    )
    assert snapshot_bytes(here) == snapshot_bytes(there)


def test_a_snapshot_knows_one_with_the_same_rows() -> None:
    def snapshot(*made: Part) -> Snapshot:
        return Snapshot(Path("x"), snapshot_bytes(MadeUp(list(made))))

    one = snapshot(part("f", 10), part("g", 20))
    assert one.has_rows_of(snapshot(part("g", 20), part("f", 10)))
    assert not one.has_rows_of(snapshot(part("f", 10), part("g", 21)))
    assert not one.has_rows_of(snapshot(part("f", 10), part("h", 20)))
    assert not one.has_rows_of(MadeUp([part("f", 10), part("g", 20)]))


def test_aliases_come_back() -> None:
    def names_of(aliases: Aliases | None, symbols: list[str]) -> dict[str, set[str]]:
        assert aliases is not None
        found = {}
        for symbol, g in zip(symbols, aliases.group.tolist(), strict=True):
            members = range(int(aliases.first[g]), int(aliases.first[g + 1])) if g >= 0 else ()
            found[symbol] = {aliases.names[i] for i in members}
        return found

    analysis = MadeUp(SAMPLE)
    snapshot = Snapshot(Path("x"), snapshot_bytes(analysis))
    label = snapshot.label("symbol")
    symbols = [label.texts[i] for i in label.ids.tolist()]
    assert names_of(snapshot.aliases(), symbols) == names_of(
        analysis.aliases(), [p.values["symbol"] for p in SAMPLE]
    )
    assert Snapshot(Path("x"), snapshot_bytes(MadeUp(SAMPLE[:1]))).aliases() is None


@given(st.lists(st.integers(0, 2**62 - 1) | st.integers(0, 300), max_size=30))
def test_numbers_come_back(values: list[int]) -> None:
    assert unpack_numbers(pack_numbers(np.array(values, np.int64)), len(values)).tolist() == values


@given(st.lists(st.integers(0, 2**31 - 1) | st.integers(0, 300), max_size=30), st.booleans())
def test_indices_come_back(values: list[int], in_order: bool) -> None:
    values = sorted(values) if in_order else values
    found = unpack_ids(pack_numbers(np.array(values, np.int64)), len(values))
    assert (found.dtype, found.tolist()) == (np.int32, values)


@pytest.mark.parametrize("data", [b"", b"\0", b"\0\4\0\0\0\x80", b"\1\1\1", b"\1\2\1\0", b"\2\1\0"])
def test_damaged_indices_are_refused(data: bytes) -> None:
    with pytest.raises(DamagedError):
        unpack_ids(data, 1)


def test_sums_of_large_differences_do_not_wrap() -> None:
    """Two differences of 2^31 - 1 would wrap in 32 bits to a number that looks valid."""
    steps = np.full(3, 2 * (2**31 - 1), "<u4").view(np.uint8).reshape(-1, 4).T.tobytes()
    with pytest.raises(DamagedError, match="31 bits"):
        unpack_ids(b"\1\4" + steps, 3)


@given(st.lists(st.binary(max_size=12), max_size=20, unique=True))
def test_texts_come_back(texts: list[bytes]) -> None:
    texts.sort()
    lengths, data = pack_texts(texts)
    found = unpack_texts(unpack_numbers(lengths, len(texts)), data)
    assert [found.raw(i) for i in range(len(found))] == texts


def read(path: Path, data: bytes) -> None:
    """Write a snapshot and read all its content."""
    path.write_bytes(data)
    snapshot = read_snapshot(path)
    for level in LEVELS:
        snapshot.label(level)
    snapshot.aliases()


def test_damage_is_one_line(tmp_path: Path) -> None:
    data = snapshot_bytes(MadeUp(SAMPLE))
    path = tmp_path / "x.snapshot"
    read(path, data)
    assert is_snapshot(path)
    assert not is_snapshot(tmp_path)
    chance = random.Random(0)
    for _ in range(300):
        damaged = bytearray(data)
        damaged[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
        with pytest.raises(
            InputError,
            match=r"x\.snapshot: (damaged snapshot|a snapshot of version|not a snapshot)",
        ):
            read(path, bytes(damaged))
    for length in range(0, len(data), 7):
        with pytest.raises(InputError):
            read(path, data[:length])


def test_another_version_says_so(tmp_path: Path) -> None:
    data = bytearray(snapshot_bytes(MadeUp(SAMPLE)))
    data[len(MAGIC)] = 3
    with pytest.raises(
        InputError,
        match=(
            "a snapshot of version 3, this is version 2; make it again with sizeguard report --save"
        ),
    ):
        read(tmp_path / "x", bytes(data))


def _unpacked(data: bytes, block: bytes) -> bytes:
    return lzma.decompress(block) if data[len(MAGIC)] == 1 else ZstdDecompressor().decompress(block)


def _packed(data: bytes, content: bytes) -> bytes:
    # With the default preset, the compressor of xz takes 94 MiB
    return lzma.compress(content, preset=0) if data[len(MAGIC)] == 1 else compress(content)


def forged(data: bytes, change: random.Random) -> bytes:
    """Damage a snapshot but give it a correct checksum, as only an attacker would.

    Change a value in the header, or a byte of an unpacked block.
    """
    (length,) = struct.unpack_from("<I", data, HEAD)
    header = json.loads(data[HEAD + 4 : HEAD + 4 + length])
    at, blocks = HEAD + 4 + length, []
    for _, _, packed in header["blocks"]:
        blocks.append(data[at : at + packed])
        at += packed
    which = change.randrange(len(blocks))
    kind = change.randrange(4)
    if kind == 0:
        header["blocks"][which][change.choice([1, 2])] = change.choice(
            [0, 1, 2**30, 2**62, -1, 1.5, "x", None]
        )
    elif kind == 1:
        header[change.choice(["rows", "texts", "image", "blocks"])] = change.choice(
            [0, 5, 2**62, -1, {}, [], [[]], "x", None]
        )
    else:
        content = bytearray(_unpacked(data, blocks[which]))
        if content:
            content[change.randrange(len(content))] = change.choice([0, 1, 127, 255])
        content += b"\xff" * change.choice([0, 0, 1, 40])
        blocks[which] = _packed(data, bytes(content))
        header["blocks"][which][1:] = [len(content), len(blocks[which])]
    return _with(data, header, blocks)


def _with(data: bytes, header: object, blocks: list[bytes]) -> bytes:
    text = json.dumps(header).encode()
    body = struct.pack("<I", len(text)) + text + b"".join(blocks)
    return data[: len(MAGIC) + 2] + hashlib.sha256(body).digest() + body


@pytest.mark.parametrize("groups", [2**40, 2**62])
def test_more_aliases_than_fit_into_memory_are_damage(tmp_path: Path, groups: int) -> None:
    data = snapshot_bytes(MadeUp([part("f", 1, "f", "g")]))
    (length,) = struct.unpack_from("<I", data, HEAD)
    header = json.loads(data[HEAD + 4 : HEAD + 4 + length])
    at, blocks = HEAD + 4 + length, []
    forged_blocks = {
        "aliases/counts": pack_numbers(np.array([groups, 0], np.int64)),
        "aliases/sizes": b"\0\0",
    }
    for block in header["blocks"]:
        name, _, packed = block
        if name in forged_blocks:
            blocks.append(compress(forged_blocks[name]))
            block[1:] = len(forged_blocks[name]), len(blocks[-1])
        else:
            blocks.append(data[at : at + packed])
        at += packed
    with pytest.raises(InputError, match="damaged snapshot: it has too many aliases"):
        read(tmp_path / "x", _with(data, header, blocks))


@pytest.mark.native
@pytest.mark.parametrize("seed", choose([0], [0, 1, 2]))
@pytest.mark.parametrize("version", [1, 2])
def test_a_forged_snapshot_is_read_or_refused_in_one_line(
    tmp_path: Path, version: int, seed: int
) -> None:
    before = DATA / "previous_version" / "vision.snapshot"
    data = snapshot_bytes(MadeUp(SAMPLE)) if version == 2 else before.read_bytes()
    chance = random.Random(seed)
    refused = 0
    tracemalloc.start()
    for _ in range(300):
        try:
            read(tmp_path / "x", forged(data, chance))
        except InputError as error:
            assert "\n" not in str(error)
            refused += 1
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert refused > 100
    assert peak < 64 << 20


@pytest.mark.native
@pytest.mark.parametrize(
    ("pack", "unpack"), [(compress, decompress), (lzma.compress, version_1.decompress)]
)
def test_a_bomb_does_not_unpack(
    pack: Callable[[bytes], bytes], unpack: Callable[[bytes, int], bytes]
) -> None:
    bomb = pack(b"\0" * (200 << 20))
    with pytest.raises(DamagedError):
        unpack(bomb, 1000)


def test_blocks_are_compressed_in_several_threads_at_once() -> None:
    """A compressor that two threads share crashes the interpreter."""
    blocks = [bytes([n]) * 300_000 + os.urandom(50_000) for n in range(8)]

    def own(number: int) -> int:
        time.sleep(0.01)
        return id(_compressor())

    with ThreadPoolExecutor(8) as pool:
        packed = list(pool.map(compress, blocks * 8))
        assert len(set(pool.map(own, range(16)))) > 1
    assert [decompress(data, len(blocks[0])) for data in packed[:8]] == blocks


def test_a_stored_namespace_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    snapshot = Snapshot(Path("x"), snapshot_bytes(MadeUp([part("a::f", 10)])))
    expected = group(snapshot, ["namespace"]).rows
    blocks = snapshot._blocks
    for block in ("count", "ids", "lengths", "bytes"):
        monkeypatch.setitem(blocks, f"namespace/{block}", blocks[f"kind/{block}"])
    assert group(snapshot, ["kind"]).rows != expected
    assert group(snapshot, ["namespace"]).rows == expected
