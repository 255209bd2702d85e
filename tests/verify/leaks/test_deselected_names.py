"""Names by which verification recognises functions of deselected kernels."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from sizeguard.verify.leaks.deselected_code import key_of
from sizeguard.verify.leaks.hidden_code import code_name, code_names

LOCAL = "_ZN2sg7kernels12_GLOBAL__N_17look_upEi"


def file(path: str, member: str = "") -> Any:
    return SimpleNamespace(path=Path(path), member=member)


@pytest.mark.parametrize(
    "symbol, name",
    [
        ("_ZN2sg9elsewhere6gatherERNS_7ContextE", "gather"),
        ("_ZN2sg9elsewhere6gatherIiEEvT_", "gather"),
        ("_ZN2sg9elsewhere6gatherclERNS_7ContextE", "gather"),
        ("_ZN2sg9elsewhere6gatherIiEclIfEEvT_.isra.0", "gather"),
        ("_ZZN2sg9elsewhere6gatherEvENUlRNS_7ContextEE_4_FUNES2_", "gather"),
        ("_ZZN2sg9elsewhere6gatherEvENKUlTyvE_clIfEEDav", "gather"),
        ("_ZZN2sg4testEvEN3$_08__invokeEi", "test"),
        ("_ZN2sg9elsewhere6gatherD2Ev", "gather"),
        ("_ZN2sg9elsewhere6gathercvNS_6ResultINS_6TensorEEEEv", "gather"),
        ("_ZN2sg9elsewhere6gathercvPFvvEEv", "gather"),
        ("_ZN2sg9elsewhere6gatherB3appERNS_7ContextE", "gather"),
        ("_ZN2sg9elsewhereW4rows6gatherERNS_7ContextE", "gather"),
        ("_ZN2sgW4rowsWP4part6gatherEi", "gather"),
        ("_ZN2sg9elsewhere6gatherixENS_6TensorE", "gather"),
        ("_ZN2sg9elsewhere6gatherlsENS_6TensorE", "gather"),
        ("_ZL6gatherlRN2sg7ContextE", "gather"),
        ("_ZN2sg6gathernwEm", "operator new"),
        # A member, or a function that a kernel's own scope has, is another function.
        ("_ZN2sg6gather3runEv", "run"),
        ("_ZZN2sg6gatherEvE5total", "total"),
        ("_ZN2sg9elsewhereli7_gatherEy", "gather"),
        ("_ZN3app6gather17h0123456789abcdefE", "gather"),
        # A static member of a class that a module, or its partition, has; copies for vectors
        ("_ZNW4rows4Rows6gatherEv", "gather"),
        ("_ZNW4rowsWP4part4RowsIiE6gatherEv", "gather"),
        ("_ZGVbN4v__ZN3app6gatherEi", "gather"),
        ("_ZGVsMxvls8_gather", "gather"),
        ("__ZGVnN2v__ZN3app6gatherEi", "gather"),
        ("gather$variant", "gather"),
        ("gather$variant.cold", "gather"),
        ("operator()", "operator()"),
        ("gather", "gather"),
    ],
)
def test_a_lambda_or_function_object_has_the_name_of_its_scope(symbol: str, name: str) -> None:
    assert code_name(symbol) == name


@pytest.mark.parametrize(
    "symbol, has_name",
    [
        ("sg.gather", True),
        ("_gather", True),
        ("pkg__gather", True),
        ("__rows_MOD_gather", True),
        ("-[Rows gather:]", True),
        ("gather.sg.isra.0", True),
        # Blocks of Objective-C, in functions and a method; D; a function for transactions
        ("___ZN2sg9elsewhere6gatherEv_block_invoke", True),
        ("___ZN2sg9elsewhere6gatherEv_block_invoke_2.cold.1", True),
        ("__gather_block_invoke_3", True),
        ("__27-[Rows gather:]_block_invoke", True),
        ("_D4rows6gatherFZv", True),
        ("_ZGTtN2sg6gatherEv", True),
        ("___ZN2sg6gather3runEv_block_invoke", False),
        ("_D4rows7gathersFZv", False),
        ("gather_", True),  # Fortran
        # Swift: a function, a method, a closure in one; a method of an enumeration gather
        ("$s2sg6gatheryyF", True),
        ("_$s2sg2OpV6gatheryS2i_SitF", True),
        ("$s2sg6gatheryyFyyXEfU_", True),
        ("$s2sg6gatherO3runyyF", False),
        ("__wrap_gather", True),
        ("__real_gather", True),
        ("wrap_gather", False),
        ("sg_gather", False),
        ("_GLOBAL__sub_I_gather.cpp", False),
        ("gather::run()", False),  # of debug information
        ("_ZN2sg6gather3runEv", False),
        ("_RNvNtC3app6gather3run", False),
    ],
)
def test_a_name_that_is_not_mangled_is_each_of_its_words(symbol: str, has_name: bool) -> None:
    assert ("gather" in code_names(symbol)) == has_name


def test_local_functions_of_other_objects_of_that_name_are_other_functions() -> None:
    own = key_of(LOCAL, file("full/libk.a", "lookup.cpp.o"))
    assert own == key_of(f"{LOCAL}.isra.0", file("vision/libk.a", "lookup.cpp.o"))
    assert own != key_of(LOCAL, file("vision/libk.a", "views.cpp.o"))
    assert own != key_of(LOCAL, file("vision/lookup.cpp.o"))
    assert own != key_of(LOCAL, file("vision/libother.a", "lookup.cpp.o"))
    # LTO moves functions, and others have one definition anywhere.
    assert key_of(LOCAL, None) == LOCAL
    assert key_of("_ZN2sg3addEv", file("a.o")) == key_of("_ZN2sg3addEv", file("b.o"))
