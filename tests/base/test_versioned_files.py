"""Files of two releases are one file if only their versions differ."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from sizeguard.columns.text_hash import hash_texts
from sizeguard.columns.texts import Texts
from sizeguard.diff.side import Values
from sizeguard.diff.versioned_files import paired


def of_images(names: Sequence[str]) -> Values:
    texts = Texts.of(names)
    return Values("image", np.arange(len(names), dtype=np.int32), texts, hash_texts(texts))


@pytest.mark.parametrize(
    ("old", "new", "pairs"),
    [
        (["libo.so.1.22.0"], ["libo.so.1.23.0"], {(0, 0)}),
        (["a/libo.1.22.dylib", "b"], ["b", "a/libo.1.23.dylib"], {(0, 1), (1, 0)}),
        (["libo.so.6"], ["libo.so.7"], {(0, 0)}),
        (["m.cpython-310-x86_64-linux-gnu.so"], ["m.cpython-311-x86_64-linux-gnu.so"], {(0, 0)}),
        (["libgomp-a34b3233.so.1"], ["libgomp-98b21ff3.so.1"], {(0, 0)}),
        (["p-1.2.data/x.so"], ["p-1.3.data/x.so"], {(0, 0)}),
        # two versions side by side, of which one stays
        (["libo.so.1", "libo.so.2"], ["libo.so.2", "libo.so.3"], {(1, 0), (0, 1)}),
        # which of two became which is unknown
        (["libo.so.1", "libo.so.2"], ["libo.so.3"], set()),
        (["libavx2.so"], ["libavx512.so"], set()),  # another library
        (["x86_64/a.so"], ["x86_32/a.so"], set()),
    ],
)
def test_a_version_is_no_part_of_a_files_name(
    old: list[str], new: list[str], pairs: set[tuple[int, int]]
) -> None:
    before, after = (values.hashes.tolist() for values in paired([of_images(old), of_images(new)]))
    found = {
        (i, j) for i, one in enumerate(before) for j, other in enumerate(after) if one == other
    }
    assert found == pairs
