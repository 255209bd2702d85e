"""Records of selections are read as they were written; damaged ones are refused."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sizeguard.base.errors import InputError
from sizeguard.gate.selection.review_record import (
    Kernel,
    ModelState,
    SelectionRecord,
    read_record,
    write_record,
)

NAMES = st.text("abcdefghijklmnopqrstuvwxyz_:.'\" #{}[]\\é\n", min_size=1, max_size=12)
HASHES = st.text("0123456789abcdef", min_size=16, max_size=16)
KERNELS = st.builds(Kernel, st.frozensets(NAMES, max_size=3), st.frozensets(NAMES, max_size=3))
RECORDS = st.builds(
    SelectionRecord,
    HASHES,
    st.dictionaries(NAMES, st.builds(ModelState, HASHES, HASHES | st.just("")), max_size=3),
    st.dictionaries(NAMES, KERNELS, max_size=4),
)


@given(RECORDS)
def test_a_record_reads_as_it_was_written(
    tmp_path_factory: pytest.TempPathFactory, record: SelectionRecord
) -> None:
    path = tmp_path_factory.getbasetemp() / "record.yaml"
    write_record(path, "shop", record)
    assert read_record(path) == record
    assert not write_record(path, "shop", record)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "it has the keys selection, models, kernels"),
        ("{", "not YAML"),
        ("selection: 1\nmodels: {}\nkernels: {}", "the hash of selection has 16 digits"),
        (f"selection: '{'a' * 16}'\nmodels: []\nkernels: {{}}", "models is a table of names"),
        (
            f"selection: '{'a' * 16}'\nmodels: {{m: {{model: x, inputs: ''}}}}\nkernels: {{}}",
            "the hash of m has 16 digits",
        ),
        (
            f"selection: '{'a' * 16}'\nmodels: {{}}\nkernels: {{k: {{calls: b, switches: []}}}}",
            "k has lists of names",
        ),
    ],
)
def test_a_damaged_record_is_refused(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "record.yaml"
    path.write_text(text)
    with pytest.raises(InputError, match=message) as error:
        read_record(path)
    assert "\n" not in str(error.value)
    assert str(error.value).startswith(str(path))
