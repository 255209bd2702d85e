"""Labels of names: operators, dtypes, kernels and components.

Labels were judged by hand, and the scanner is compared with a reader of single names.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import numpy as np
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from sizeguard import runtimes
from sizeguard.columns.texts import Texts
from sizeguard.names.labels import label_names
from sizeguard.runtimes.known import runtime_named
from tests.support.places import DATA

FOLDER = DATA / "attribution"
LEVELS = ("operator", "kernel", "dtype", "component")
TYPES = {"float": "Float", "double": "Double"}


def labels(names: list[str], preset: str) -> list[dict[str, str]]:
    found = label_names(Texts.of(names), runtime_named(preset).rules)
    columns = {level: getattr(found, level) for level in LEVELS}
    return [
        {level: label.texts[label.ids[i]] for level, label in columns.items()}
        for i in range(len(names))
    ]


@pytest.mark.parametrize("file", sorted(FOLDER.glob("*.yaml")), ids=lambda file: file.stem)
def test_at_least_95_of_100_labels_are_right(file: Path) -> None:
    judged = yaml.safe_load(file.read_text())
    assert len(judged) == 100
    found = labels(
        [row["name"] for row in judged],
        file.stem.rpartition("_")[0].replace("libtorch_cpu", "aten"),
    )
    wrong = [
        (row["name"], answer)
        for row, answer in zip(judged, found, strict=True)
        if any(row[level] != answer[level] for level in ("operator", "dtype", "component"))
    ]
    assert len(wrong) <= 5, wrong


@pytest.mark.parametrize(
    ("name", "operator", "dtype", "component"),
    [
        (
            "_ZN2at4_ops10add_Tensor4callERKNS_6TensorES4_RKN3c106ScalarE",
            "aten::add",
            "",
            "ATen dispatch",
        ),
        (
            "_ZN2at4_ops11add__Tensor4callERNS_6TensorERKS2_RKN3c106ScalarE",
            "aten::add_",
            "",
            "ATen dispatch",
        ),
        (
            "_ZN2at6native12_GLOBAL__N_110add_kernelERNS_18TensorIteratorBaseERKN3c106ScalarE",
            "aten::add",
            "",
            "ATen kernels",
        ),
        (
            "_ZN2at6native7cpublas12_GLOBAL__N_110gemm_core_IsssEEvNS0_13TransposeTypeES4_lllT0_PKT_l",
            "aten::mm",
            "Short",
            "ATen kernels",
        ),
        ("_ZN4dnnl4impl3cpu3x643fooEv", "", "", "oneDNN"),
        ("_ZNSt6vectorIN4dnnl6memoryESaIS1_EE17_M_realloc_insertEv", "", "", "oneDNN"),
        ("mkl_blas_avx2_dgemm", "", "", "MKL"),
        ("_ZN2at12_GLOBAL__N_115toStorageOffsetElN3c1010ScalarTypeE", "", "", "ATen"),
        ("_ZN5torch3jit5GraphC2Ev", "", "", "JIT"),
        ("_ZN5torch5otherEv", "", "", "torch"),
        # Members of other namespaces and classes look like operators, but are not.
        ("_ZN5other3addERKNS_6TensorE", "", "", ""),
        ("_ZN5other10add_kernelEv", "", "", ""),
        ("_ZNSt6vectorIlSaIlEE6insertEv", "", "", "C++ library"),
        ("add_kernel", "", "", ""),
        # Sizes and indices are not dtypes; neither is an I in an identifier.
        ("_ZN2at6native3catEN3c108ArrayRefIlEEl", "aten::cat", "", "ATen kernels"),
        ("_ZN2at6native7IsEmptyEv", "", "", "ATen kernels"),
        # 9 and 12 are the numbers of a lambda and a substitution. As lengths of identifiers, they
        # would hide the type after them.
        (
            "_ZN2at6native10cpu_kernelIZZNS0_10eq_kernelERNS_1TEENKUlvE_clEvENKUlvE9_clEvEUliE_EEvv",
            "",
            "Int",
            "ATen kernels",
        ),
        ("_ZN2at6native10add_kernelIN1aES12_NS_1bIfEEEEvv", "aten::add", "Float", "ATen kernels"),
        # An operator() whose arguments are bounds.
        (
            "_ZZN2at6native10add_kernelEvENKUlT_T0_E_clIllEEDaS1_S2_",
            "aten::add",
            "",
            "ATen kernels",
        ),
        # A substitution's arguments: optional<bool> here.
        ("_ZN2at6native3addESt8optionalINS_6LayoutEESA_IbE", "aten::add", "", "ATen kernels"),
        ("_ZN2at6native10gemm_core_IfEEvv", "aten::mm", "Float", "ATen kernels"),
        (
            "_ZN2at6native10add_kernelIN3c107complexINS2_4HalfEEEEEvv",
            "aten::add",
            "ComplexHalf",
            "ATen kernels",
        ),
        (
            "_ZN2at6native10add_kernelIN3c107complexIfEENS2_4HalfEEEvv",
            "aten::add",
            "ComplexFloat+Half",
            "ATen kernels",
        ),
        # The bounds of parallel_reduce precede the type that it reduces.
        (
            "_ZN2at6native10max_kernelIZNS0_3maxERNS_6TensorEEUlllfE_EEvv",
            "aten::max",
            "Float",
            "ATen kernels",
        ),
        # Functions registered for operators with other names; aten's overloads before quantized
        # operators; two structured operators and a plain one.
        ("_ZN2at6native12ctc_loss_cpuERKNS_6TensorE", "aten::_ctc_loss", "", "ATen kernels"),
        (
            "_ZN2at6native4DistIfE27run_backward_parallel_pdistEv",
            "aten::_pdist_backward",
            "Float",
            "ATen kernels",
        ),
        ("_ZN2at4_ops7add_out4callERKNS_6TensorE", "aten::add", "", "ATen dispatch"),
        ("_ZN2at4_ops14conv2d_padding4callERKNS_6TensorE", "aten::conv2d", "", "ATen dispatch"),
        (
            "_ZN2at12_GLOBAL__N_120wrapper_CPU__softmaxERKNS_6TensorE",
            "aten::_softmax",
            "",
            "ATen dispatch",
        ),
        (
            "_ZN2at12_GLOBAL__N_131wrapper_CPU_sort_out_values_stableERKNS_6TensorE",
            "aten::sort",
            "",
            "ATen dispatch",
        ),
        (
            "_ZN2at12_GLOBAL__N_118wrapper_CPU__stackERKNS_6TensorE",
            "aten::stack",
            "",
            "ATen dispatch",
        ),
        (
            "_ZN2at12_GLOBAL__N_119wrapper_CPU___stackERKNS_6TensorE",
            "aten::_stack",
            "",
            "ATen dispatch",
        ),
        # Names that differ in the middle of their 81 characters.
        *(
            (
                f"_ZN2at12_GLOBAL__N_181wrapper_CompositeExplicitAutogradNonFunctional__upsample_nearest_exact{n}d_backwardERKNS_6TensorE",
                f"aten::_upsample_nearest_exact{n}d_backward",
                "",
                "ATen dispatch",
            )
            for n in (1, 2, 3)
        ),
        ("main", "", "", ""),
        ("", "", "", ""),
        ("_Z", "", "", ""),
    ],
)
def test_names_of_aten(name: str, operator: str, dtype: str, component: str) -> None:
    (found,) = labels([name], "aten")
    assert (found["operator"], found["dtype"], found["component"]) == (operator, dtype, component)


@pytest.mark.parametrize(
    ("name", "dtype"),
    [
        # uint32_t and uint64_t are widths here; no tensor has such a dtype.
        ("_ZN2sg7kernels12_GLOBAL__N_18copy_runIjEEvlPclS3_PKv", ""),
        ("_ZN2sg12_GLOBAL__N_110copy_wordsImEEvlPKclPcl", ""),
        ("_ZN2sg12_GLOBAL__N_18load_rowIjlEEvlPKclPv", "Long"),
        ("_ZN2sg12_GLOBAL__N_18load_rowIhEEvlPKclPv", "Byte"),
        # Fields of the program file.
        ("_ZNK11flatbuffers5Table11VerifyFieldIaEEbRKNS_8VerifierEtm", ""),
        ("_ZN11flatbuffers5Table10GetPointerIPKNS_6VectorIlEEEET_t", ""),
    ],
)
def test_dtypes_of_the_runtime(name: str, dtype: str) -> None:
    assert labels([name], "sizeguard")[0]["dtype"] == dtype
    assert labels([name.replace("2sg", "2at")], "aten")[0]["dtype"] or not dtype


@pytest.mark.parametrize(
    ("name", "kernel", "component"),
    [
        # S0_ stands for scopes that the name spells before it: lib::cpu, and sg.
        ("_ZTSN3lib3cpu4BaseINS0_7kernels10add_kernelEEE", "", ""),
        ("_ZN2sg4BaseINS_7kernels10add_kernelEEE", "add_kernel", "kernels"),
        ("_GLOBAL__sub_I_main.cpp", "", "static initializers"),
    ],
)
def test_namespaces_of_the_runtime_in_names_of_other_code(
    name: str, kernel: str, component: str
) -> None:
    (found,) = labels([name], "sizeguard")
    assert (found["kernel"], found["component"]) == (kernel, component)


@pytest.mark.parametrize("preset", ["aten", "executorch"])
def test_moments_of_norms_are_no_update_of_a_dictionary(preset: str) -> None:
    """aten::update is TorchScript's dict.update."""
    space = {"aten": "2at6native", "executorch": "5torch8executor6native"}[preset]
    (found,) = labels([f"_ZN{space}16UpdateMomentsVecIfEEvlPKT_"], preset)
    assert found["operator"] == ""


def test_mentions_by_substitution_need_the_namespace_in_the_name() -> None:
    names = ["_ZN3lib1fENS_8protobuf4TypeE", "_ZN6google1fENS_8protobuf4TypeE"]
    assert [found["component"] for found in labels(names, "aten")] == ["", "Protobuf"]


@pytest.mark.parametrize(
    ("identifier", "operator"),
    [
        ("softmax_out", "aten::_softmax"),
        ("opt_log_softmax_out", "aten::_log_softmax"),
        ("opt_fft_r2c_out", "aten::_fft_r2c"),
        ("add_scalar_out", "aten::add"),
        ("opt_sub_scalar_out", "aten::sub"),
        ("_h2d_copy_out", "et_copy::_h2d_copy"),
        ("quantized_add_out", "quantized_decomposed::add"),
        ("choose_qparams_tensor_out", "quantized_decomposed::choose_qparams"),
        ("dequantize_per_channel_out", "quantized_decomposed::dequantize_per_channel"),
        ("update_cache_with_indices_aten", "llama::update_cache_with_indices"),
        # For operators of two and of four bits.
        ("quantized_embedding_xbit_dtype_out", ""),
    ],
)
def test_kernels_of_executorch_are_of_operators_that_it_registers(
    identifier: str, operator: str
) -> None:
    name = f"_ZN5torch8executor6native{len(identifier)}{identifier}Ev"
    found = labels([name], "executorch")[0]
    assert (found["operator"], found["component"]) == (operator, "kernels")


def test_names_of_c_have_no_dtypes() -> None:
    """IsE would begin a list of template arguments in a mangled name: a Short."""
    names = ["IsNan", "PyType_IsSubtype", "AppIsEventReady", "run.plt_call.Py_IsInitialized"]
    assert [found["dtype"] for found in labels(names, "aten")] == [""] * len(names)
    assert labels(["wrapped__ZN2at3runIsEEvv"], "aten")[0]["dtype"] == "Short"


def test_labels_do_not_depend_on_neighbours() -> None:
    """Names are labeled separately, together, reordered, and as ends of others (tail merging)."""
    judged = [
        row["name"]
        for file in sorted(FOLDER.glob("libtorch_cpu*.yaml"))
        for row in yaml.safe_load(file.read_text())
    ][:120]
    together = labels(judged, "aten")
    assert labels(judged[::-1], "aten") == together[::-1]
    assert [labels([name], "aten")[0] for name in judged[:25]] == together[:25]
    inside = Texts.of([f"prefix{name}" for name in judged])
    both = Texts(
        inside.buffer,
        np.concatenate([inside.start + 6, inside.start]),
        np.concatenate([inside.end, inside.end]),
    )
    found = label_names(both, runtime_named("aten").rules)
    assert [found.operator.texts[i] for i in found.operator.ids[: len(judged)]] == [
        row["operator"] for row in together
    ]


@given(st.lists(st.binary(max_size=60), max_size=30))
def test_no_name_is_too_odd(names: list[bytes]) -> None:
    for preset in ("aten", "executorch", "sizeguard"):
        found = label_names(Texts.of(names), runtime_named(preset).rules)
        assert all(len(getattr(found, level).ids) == len(names) for level in LEVELS)


@pytest.mark.parametrize("preset", ["sizeguard", "executorch", "aten"])
def test_identifiers_of_other_alphabets(preset: str) -> None:
    """gcc mangles such identifiers without escapes; a damaged name can have any bytes."""
    spaces = {
        "sizeguard": b"2sg7kernels",
        "executorch": b"5torch8executor6native",
        "aten": b"2at6native",
    }
    names = [
        b"_ZN" + spaces[preset] + member + b"IfEEvv"
        for member in ("größe".encode(), b"\x038\xc2\xff")
    ]
    names[0] = names[0].replace("größe".encode(), b"7" + "größe".encode())
    found = label_names(Texts.of(names), runtime_named(preset).rules)
    assert found.dtype.texts[found.dtype.ids[0]] == "Float"


@pytest.mark.native
def test_demanglers_see_the_same_dtypes() -> None:
    """The dtypes equal the template arguments that c++filt prints.

    The names are judged ones of cpu_flash_attention, a template with two types.
    """
    types = {
        "float": "Float",
        "double": "Double",
        "bool": "Bool",
        "c10::Half": "Half",
        "c10::BFloat16": "BFloat16",
    }
    judged = [
        row["name"]
        for file in sorted(FOLDER.glob("libtorch_cpu*.yaml"))
        for row in yaml.safe_load(file.read_text())
    ]
    demangled = subprocess.run(
        ["c++filt"], input="\n".join(judged), capture_output=True, text=True, check=True
    ).stdout.splitlines()
    checked = 0
    for name, text, answer in zip(judged, demangled, labels(judged, "aten"), strict=True):
        match = re.search(r"cpu_flash_attention(?:_backward)?<([\w: ]+), ([\w: ]+), ", text)
        if match:
            assert name and answer["dtype"] == "+".join(
                dict.fromkeys(types[part] for part in match.groups())
            )
            checked += 1
    assert checked >= 20


@pytest.mark.native
def test_index_types_of_eigen_are_no_dtypes() -> None:
    """Label every sixth Eigen name in libexecutorch_kernels_optimized.so of executorch 1.5.1.

    Dtypes are the element types that c++filt prints. Next to a complex type, the label may have its
    real type, which is that of a norm or a factor.
    """
    names = (FOLDER / "eigen_names.txt").read_text().splitlines()
    demangled = subprocess.run(
        ["c++filt"], input="\n".join(names), capture_output=True, text=True, check=True
    ).stdout.splitlines()
    for text, answer in zip(demangled, labels(names, "executorch"), strict=True):
        found = set(filter(None, answer["dtype"].split("+")))
        complexes = {
            f"Complex{name}" for word, name in TYPES.items() if f"std::complex<{word}>" in text
        }
        plain = re.sub(r"std::complex<\w+>", "", text)
        reals = {name for word, name in TYPES.items() if re.search(rf"\b{word}\b", plain)}
        assert found == (complexes or reals) or (complexes and found == complexes | reals), text
        assert answer["component"] == "Eigen"
    # Outside Eigen, an Int is a dtype.
    assert labels(["_ZN5torch8executor6native3addIilEEvv"], "executorch")[0]["dtype"] == "Int+Long"


def test_every_registered_function_is_its_operators() -> None:
    """The preset gives each function in aten/kernels.txt the operator in torchgen's table."""
    lines = [
        line.split()
        for line in Path(runtimes.__file__)
        .with_name("aten")
        .joinpath("kernels.txt")
        .read_text()
        .splitlines()
        if not line.startswith("#")
    ]
    expected = {kernel: operator for operator, *kernels in lines for kernel in kernels}
    assert len(expected) > 500
    scope = {
        kernel: "12_GLOBAL__N_1" if kernel.startswith("wrapper_") else "6native"
        for kernel in expected
    }
    found = labels(
        [f"_ZN2at{scope[kernel]}{len(kernel)}{kernel}ERKNS_6TensorE" for kernel in expected], "aten"
    )
    assert {
        kernel: row["operator"] for kernel, row in zip(expected, found, strict=True)
    } == expected
