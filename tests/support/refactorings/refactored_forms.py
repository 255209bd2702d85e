"""Harmless refactorings of other kinds: concepts, tags, new operators and branches.

All can be applied to one tree, but for new_operator and new_operator_selected. The latter can only
be verified beside a full build, since names.json lacks the operator.
"""

from __future__ import annotations

from tests.support.refactorings.refactoring_edits import (
    ADD_HEAD,
    ADDED,
    GEMM,
    KERNELS,
    NORMALIZATION,
    QUANTIZATION,
    REDUCTION,
    UNARY,
    Edit,
    Refactoring,
    one_edit,
)

SWITCH = "native/selective/dtype_switch.h"
POOLING = f"{KERNELS}/pooling.cpp"
VIEWS = f"{KERNELS}/views.cpp"
COPIES = f"{KERNELS}/copies.cpp"
OPERATORS = "native/operators/operators.yaml"
VISION = "native/apps/vision/selected_operators.yaml"
INTERPRETER = "native/runtime/interpreter.cpp"
_PERMUTE = """\
Result<Tensor> permute(Context& context, Tensor self, IntArrayRef dims) {
  if (static_cast<int64_t>(dims.size()) != self.dim())
    return context.invalid("wrong number of dimensions");
  SG_TRY(wrap_dims(context, dims, self));
  Layout layout;
  for (const int64_t dim : dims) {
    const int64_t axis = dim < 0 ? dim + self.dim() : dim;
    layout.push_back(self.size(axis), self.stride(axis));
  }
  return make_view(context, self, layout);
}

"""
_NEW_KERNEL = """\
Result<Tensor> square(Context& context, Tensor self) {
  const ScalarType dtype = self.scalar_type();
  ElementLoop loop;
  SG_SWITCH_REAL(compute_type(dtype), square,
                 [&]<typename T>() { loop = unary_loop<T, T, Square>; });
  return run(context, loop, dtype, self);
}

"""
_NEW_OPERATOR = (
    Edit(
        OPERATORS,
        '- {func: "aten::sqrt(Tensor self) -> Tensor", kernel: sqrt, kind: core}\n',
        '- {func: "aten::sqrt(Tensor self) -> Tensor", kernel: sqrt, kind: core}\n'
        '- {func: "aten::square(Tensor self) -> Tensor", kernel: square, kind: core}\n',
    ),
    Edit(
        UNARY,
        '#include "selected/sqrt.h"\n',
        '#include "selected/sqrt.h"\n#include "selected/square.h"\n',
    ),
    Edit(
        UNARY,
        "struct Sqrt {",
        "struct Square {\n  template <typename T>\n  static T apply(T a, const Parameters&) {\n"
        "    return static_cast<T>(Arithmetic<T>(a) * Arithmetic<T>(a));\n  }\n};\n\nstruct Sqrt {",
    ),
    Edit(UNARY, "Result<Tensor> hardtanh_(", f"{_NEW_KERNEL}Result<Tensor> hardtanh_("),
)

FORMS = (
    one_edit(
        "concept_for_a_type",
        NORMALIZATION,
        "template <typename T>\nSG_DTYPE_BODY void normalize_channels(",
        "template <typename T>\nconcept Real = std::is_floating_point_v<T>;\n\n"
        "template <Real T>\nSG_DTYPE_BODY void normalize_channels(",
    ),
    Refactoring(
        "tag_dispatch",
        (
            Edit(
                REDUCTION, ADDED, "    accumulate(total, element, std::is_floating_point<T>());\n"
            ),
            Edit(
                REDUCTION,
                ADD_HEAD,
                "template <typename T>\nvoid accumulate(Accumulator& total, T element,"
                " std::true_type) {\n  total.number += element;\n}\n\ntemplate <typename T>\n"
                "void accumulate(Accumulator& total, T element, std::false_type) {\n"
                "  total.integer = static_cast<int64_t>(static_cast<uint64_t>(total.integer) +\n"
                "                                       static_cast<uint64_t>(element));\n}\n\n"
                + ADD_HEAD,
            ),
        ),
    ),
    Refactoring(
        "body_with_auto_parameters",
        (
            Edit(
                POOLING,
                "template <typename T>\nSG_DTYPE_BODY void average_windows(int64_t planes,"
                " const int64_t* in_sizes,\n"
                "                                   const int64_t*"
                " out_sizes, const T* in, T* out) {\n",
                "SG_DTYPE_BODY void average_windows(int64_t planes, const int64_t* in_sizes,\n"
                "                                   const int64_t* out_sizes, const auto* in,"
                " auto* out) {\n  using T = std::remove_pointer_t<decltype(out)>;\n",
            ),
        ),
    ),
    Refactoring(
        "marker_in_a_header_of_its_own",
        (
            Edit(
                SWITCH,
                "/// The code of a dtype branch, one symbol per branch. It"
                " takes pointers and strides,"
                " not tensors.\n#define SG_DTYPE_BODY [[gnu::noinline]]\n",
                "",
            ),
            Edit(
                SWITCH,
                '#include "native/runtime/hooks.h"\n',
                '#include "native/runtime/hooks.h"\n#include "native/selective/dtype_body.h"\n',
            ),
            Edit(
                "native/selective/dtype_body.h",
                "",
                "#pragma once\n\n#define SG_DTYPE_BODY [[gnu::noinline, gnu::hot]]\n",
            ),
        ),
    ),
    one_edit(
        "lambda_with_two_template_parameters",
        UNARY,
        "relu, [&]<typename T>() { loop = unary_loop<T, T, Relu>; });",
        "relu,\n                 [&]<typename Number, typename Result = Number>() {\n"
        "    loop = unary_loop<Number, Result, Relu>;\n  });",
    ),
    one_edit(
        "table_in_a_lambda",
        UNARY,
        "[&]<typename T>() { loop = unary_loop<T, T, Clamp>; });\n  return run(context, loop,"
        " dtype, self, Parameters(min_val",
        "[&]<typename T>() {\n    static constexpr ElementLoop"
        " kLoops[] = {unary_loop<T, T, Clamp>};\n"
        "    loop = kLoops[0];\n  });\n  return run(context, loop, dtype, self, Parameters(min_val",
    ),
    Refactoring(
        "order_of_registrations",
        (
            Edit(
                OPERATORS,
                '- {func: "aten::relu(Tensor self) -> Tensor", kernel: relu, kind: core}\n'
                '- {func: "aten::relu_(Tensor(a!) self) -> Tensor(a!)",'
                " kernel: relu_, kind: composite}\n",
                '- {func: "aten::relu_(Tensor(a!) self) -> Tensor(a!)",'
                " kernel: relu_, kind: composite}\n"
                '- {func: "aten::relu(Tensor self) -> Tensor", kernel: relu, kind: core}\n',
            ),
            Edit(
                "native/prepacked/registration.cpp",
                '    impl<&kernels::linear_clamp_prepack>(SG_SELECTIVE_NAME("prepacked::'
                'linear_clamp_prepack"),\n'
                '                                         "(tt?s?s?)c"),\n'
                "    impl<&kernels::linear_clamp_run>(SG_SELECTIVE_NAME("
                '"prepacked::linear_clamp_run"), "(tc)t"));\n',
                "    impl<&kernels::linear_clamp_run>(SG_SELECTIVE_NAME("
                '"prepacked::linear_clamp_run"), "(tc)t"),\n'
                '    impl<&kernels::linear_clamp_prepack>(SG_SELECTIVE_NAME("prepacked::'
                'linear_clamp_prepack"),\n'
                '                                         "(tt?s?s?)c"));\n',
            ),
        ),
    ),
    Refactoring(
        "old_nesting_of_namespaces",
        (
            Edit(POOLING, "namespace sg::kernels {\n", "namespace sg {\nnamespace kernels {\n"),
            Edit(
                POOLING,
                "}  // namespace sg::kernels",
                "}  // namespace kernels\n}  // namespace sg",
            ),
        ),
    ),
    Refactoring(
        "kernel_in_the_file_of_another_family",
        (
            Edit(VIEWS, _PERMUTE, ""),
            Edit(
                COPIES,
                "Result<Tensor> embedding(",
                _PERMUTE.replace("Layout layout;", "Shape sizes;\n  Shape strides;")
                .replace(
                    "layout.push_back(self.size(axis), self.stride(axis));",
                    "sizes.push_back(self.size(axis));\n    strides.push_back(self.stride(axis));",
                )
                .replace(
                    "make_view(context, self, layout)", "context.view(self, sizes, strides, 0)"
                )
                + "Result<Tensor> embedding(",
            ),
        ),
    ),
    Refactoring("new_operator", _NEW_OPERATOR),
    one_edit(
        "new_dtype_branch",
        REDUCTION,
        "SG_SWITCH_FLOATING(in.scalar_type(), mean,",
        "SG_SWITCH_ACCUMULATE(in.scalar_type(), mean,",
    ),
    one_edit(
        "explicit_instantiation",
        NORMALIZATION,
        "/// Normalizes rows of `length`",
        "template void normalize_channels<float>(int64_t, int64_t, int64_t,"
        " const float* const*, float*,\n                                        float);\n\n"
        "/// Normalizes rows of `length`",
    ),
    Refactoring(
        "body_with_a_second_template_parameter",
        (
            Edit(
                GEMM,
                "template <typename T>\nSG_DTYPE_BODY void multiply(",
                "template <typename T, bool is_checked = false>\nSG_DTYPE_BODY void multiply(",
            ),
        ),
    ),
    Refactoring(
        "functor_in_a_named_namespace",
        (
            Edit(
                QUANTIZATION,
                "namespace {\n\n/// Parameters: the",
                "namespace steps {\n\nstruct Product {\n  template <typename"
                " T>\n  static T apply(T a, T b, const Parameters&) {\n"
                "    return a * b;\n  }\n};\n\n"
                "}  // namespace steps\n\nnamespace {\n\n"
                "using steps::Product;\n\n/// Parameters: the",
            ),
            Edit(
                QUANTIZATION,
                "struct Product {\n  template <typename T>\n  static T apply(T a, T b, const"
                " Parameters&) {\n    return a * b;\n  }\n};\n\nResult",
                "Result",
            ),
        ),
    ),
    Refactoring(
        "new_feature",
        (
            Edit(
                INTERPRETER,
                "}  // namespace\n\nStatus Program::check_inputs",
                "[[maybe_unused]] void note_step(uint32_t target) {\n"
                "  if constexpr (SG_BUILD_FEATURE(step_notes)) {\n"
                '    record_feature("step_notes");\n    steps[target % 16] += 1;\n  }\n}\n\n'
                "}  // namespace\n\nStatus Program::check_inputs",
            ),
            Edit(
                INTERPRETER,
                "namespace {\n",
                "namespace {\n\n[[maybe_unused]] uint32_t steps[16];\n",
            ),
        ),
    ),
)

NEW_SELECTED_OPERATOR = Refactoring(
    "new_operator_selected",
    (
        *_NEW_OPERATOR,
        Edit(
            VISION,
            "  aten::view: {",
            "  aten::square: {is_root_operator: true, is_used_for_training: false,"
            " include_all_overloads: false, debug_info: [mobilenet_v2.sgp]}\n  aten::view: {",
        ),
        Edit(VISION, "  relu: [Float]\n", "  relu: [Float]\n  square: [Float]\n"),
    ),
)
