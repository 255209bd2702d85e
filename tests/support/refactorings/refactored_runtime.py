"""Harmless refactorings of the runtime's kernels: same operators and dtypes, other C++.

Each is a list of edits: a file, the old text and the new text. With an empty old text, the file is
new.
"""

from __future__ import annotations

from tests.support.refactorings.refactored_forms import FORMS
from tests.support.refactorings.refactored_invented import INVENTED
from tests.support.refactorings.refactored_later import LATER
from tests.support.refactorings.refactoring_edits import (
    BINARY,
    COPY,
    GEMM,
    KERNELS,
    MATRIX,
    NORMALIZATION,
    REDUCTION,
    UNARY,
    Edit,
    Refactoring,
    one_edit,
)

RELU = "relu, [&]<typename T>() { loop = unary_loop<T, T, Relu>; });"
ADD = "add, [&]<typename T>() { loop = binary_loop<T, T, Add>; });"
MEAN = "SG_SWITCH_FLOATING(in.scalar_type(), mean, [&]<typename T>() { loop = add_elements<T>; });"
GEMM_SWITCH = "SG_SWITCH_ACCUMULATE(dtype, gemm, [&]<typename T>() { multiply<T>(product); });"
HARDTANH = """\
  SG_SWITCH_REAL(compute_type(dtype), hardtanh,
                 [&]<typename T>() { loop = unary_loop<T, T, Clamp>; });
  return run(context, loop, dtype, self, Parameters(min_val, max_val));
"""
RELU_BODY = """\
Result<Tensor> relu(Context& context, Tensor self) {
  const ScalarType dtype = self.scalar_type();
  ElementLoop loop;
  SG_SWITCH_REAL(compute_type(dtype), relu, [&]<typename T>() { loop = unary_loop<T, T, Relu>; });
  return run(context, loop, dtype, self);
}
"""


REFACTORINGS = (
    one_edit("rename_T_to_E", UNARY, RELU, RELU.replace("T", "E")),
    one_edit("rename_T_everywhere", BINARY, ADD, ADD.replace("T", "Element")),
    one_edit(
        "name_the_lambda",
        UNARY,
        HARDTANH,
        HARDTANH.replace(
            "  SG_SWITCH_REAL",
            "  const auto choose = [&]<typename T>() { loop = unary_loop<T, T, Clamp>; };\n"
            "  SG_SWITCH_REAL",
        ).replace("[&]<typename T>() { loop = unary_loop<T, T, Clamp>; });", "choose);", 1),
    ),
    Refactoring(
        "switch_in_a_helper",
        (
            Edit(
                REDUCTION,
                "}  // namespace\n\nResult<Tensor> sum(",
                "ReductionLoop mean_loop(Context& context, ScalarType dtype) {\n"
                "  ReductionLoop loop;\n"
                "  SG_SWITCH_FLOATING(dtype, mean,\n"
                "                     [&]<typename T>() { loop = add_elements<T>; });\n"
                "  return loop;\n}\n\n}  // namespace\n\nResult<Tensor> sum(",
            ),
            Edit(
                REDUCTION,
                f"  ReductionLoop loop;\n  {MEAN}\n",
                "  const ReductionLoop loop = mean_loop(context, in.scalar_type());\n",
            ),
        ),
    ),
    Refactoring(
        "switch_in_a_header",
        (
            Edit(
                "native/operators/scaling.h",
                "",
                '#pragma once\n\n#include "native/operators/kernel.h"\n'
                '#include "selected/hardtanh.h"\n\nnamespace sg {\n\n'
                "template <typename Choose>\n"
                "inline void choose_bounded(Context& context, ScalarType dtype, Choose choose) {\n"
                "  SG_SWITCH_REAL(dtype, hardtanh, choose);\n}\n\n}  // namespace sg\n",
            ),
            Edit(
                UNARY,
                '#include "native/operators/kernel.h"\n',
                '#include "native/operators/kernel.h"\n#include "native/operators/scaling.h"\n',
            ),
            Edit(
                UNARY,
                HARDTANH.splitlines(keepends=True)[0] + HARDTANH.splitlines(keepends=True)[1],
                "  choose_bounded(context, compute_type(dtype),\n"
                "                 [&]<typename T>() { loop = unary_loop<T, T, Clamp>; });\n",
            ),
        ),
    ),
    Refactoring(
        "switch_in_a_template",
        (
            Edit(
                UNARY,
                "}  // namespace\n\nResult<Tensor> relu(",
                "template <typename Op>\n"
                "ElementLoop relu_loop(Context& context, ScalarType dtype) {\n  ElementLoop loop;\n"
                "  SG_SWITCH_REAL(dtype, relu,\n"
                "                 [&]<typename T>() { loop = unary_loop<T, T, Op>; });\n"
                "  return loop;\n}\n\n}  // namespace\n\nResult<Tensor> relu(",
            ),
            Edit(
                UNARY,
                f"  ElementLoop loop;\n  SG_SWITCH_REAL(compute_type(dtype), {RELU}\n",
                "  const ElementLoop loop = relu_loop<Relu>(context, compute_type(dtype));\n",
            ),
        ),
    ),
    Refactoring("rename_a_helper_with_a_switch", (Edit(BINARY, "add_scaled(", "add_multiple("),)),
    Refactoring("rename_a_body", (Edit(REDUCTION, "add_elements", "gather_elements"),)),
    Refactoring("rename_a_functor", (Edit(UNARY, "Relu", "Rectify"),)),
    Refactoring(
        "rename_a_body_of_gemm",
        (
            Edit(GEMM, "multiply<", "multiply_panels<"),
            Edit(GEMM, "void multiply(", "void multiply_panels("),
        ),
    ),
    Refactoring(
        "alias_of_a_body",
        (
            Edit(
                UNARY,
                "}  // namespace\n\nResult<Tensor> relu(",
                "template <typename T>\nconstexpr ElementLoop kRelu = unary_loop<T, T, Relu>;\n\n"
                "}  // namespace\n\nResult<Tensor> relu(",
            ),
            Edit(UNARY, "{ loop = unary_loop<T, T, Relu>; });", "{ loop = kRelu<T>; });"),
        ),
    ),
    Refactoring(
        "using_an_alias_of_a_type",
        (
            Edit(
                BINARY,
                ADD,
                "add, [&]<typename T>() {\n    using Element = T;\n"
                "    loop = binary_loop<Element, Element, Add>;\n  });",
            ),
        ),
    ),
    Refactoring(
        "using_declaration",
        (
            Edit(
                COPY,
                "  if (copied_size_ != 0) return;\n  if constexpr",
                "  using selected::copy;\n  if (copied_size_ != 0) return;\n  if constexpr",
            ),
        ),
    ),
    Refactoring(
        "helper_lambda_around_a_body",
        (
            Edit(
                GEMM,
                GEMM_SWITCH,
                "SG_SWITCH_ACCUMULATE(dtype, gemm, [&]<typename T>() {\n"
                "    const auto run = [&] { multiply<T>(product); };\n    run();\n  });",
            ),
        ),
    ),
    Refactoring(
        "reorder_two_kernels",
        (
            Edit(UNARY, RELU_BODY, ""),
            Edit(UNARY, "Result<Tensor> hardtanh_(", RELU_BODY + "\nResult<Tensor> hardtanh_("),
        ),
    ),
    Refactoring(
        "reorder_two_switches",
        (
            Edit(
                COPY,
                "  SG_SWITCH_STORED(from, copy, [&]<typename T>() { load_ = load_row<T>; });\n"
                "  SG_SWITCH_STORED(to, copy, [&]<typename T>() { store_ = store_row<T>; });\n",
                "  SG_SWITCH_STORED(to, copy, [&]<typename T>() { store_ = store_row<T>; });\n"
                "  SG_SWITCH_STORED(from, copy, [&]<typename T>() { load_ = load_row<T>; });\n",
            ),
        ),
    ),
    Refactoring(
        "comments_with_macros",
        (
            Edit(
                UNARY,
                RELU_BODY,
                "// SG_SWITCH_REAL(dtype, relu, [&]<typename T>() {}) chooses.\n"
                '/* SG_SWITCH_ALL(dtype, no_such_tag, x); "SG_BUILD_FEATURE(nothing)" */\n'
                + RELU_BODY,
            ),
        ),
    ),
    Refactoring(
        "blank_lines_and_breaks",
        (
            Edit(
                NORMALIZATION,
                "  SG_SWITCH_FLOATING(out.scalar_type(), batch_norm, [&]<typename T>() {",
                "\n\n  SG_SWITCH_FLOATING(\n      out.scalar_type(),\n      batch_norm,\n"
                "      [&]<typename T>() {",
            ),
        ),
    ),
    Refactoring(
        "kernel_in_a_file_of_its_own",
        (
            Edit(UNARY, RELU_BODY, ""),
            Edit(
                f"{KERNELS}/relu.cpp",
                "",
                '#include "generated/ops.h"\n#include "native/operators/kernel.h"\n'
                '#include "selected/relu.h"\n\nnamespace sg::kernels {\nnamespace {\n\n'
                "struct Relu {\n  template <typename T>\n"
                "  static T apply(T a, const Parameters&) {\n    return a < T(0) ? T(0) : a;\n  }\n"
                "};\n\n}  // namespace\n\n"
                + RELU_BODY.replace(
                    "  return run(context, loop, dtype, self);",
                    "  return elementwise(context, {loop, compute_type(dtype), "
                    "compute_type(dtype), dtype}, {&self, 1});",
                )
                + "\n}  // namespace sg::kernels\n",
            ),
            Edit(
                UNARY,
                "/// NaN stays NaN.\nstruct Relu {\n  template <typename T>\n"
                "  static T apply(T a, const Parameters&) {\n    return a < T(0) ? T(0) : a;\n  }\n"
                "};\n\n",
                "",
            ),
        ),
    ),
    Refactoring(
        "functor_in_a_nested_namespace",
        (
            Edit(UNARY, "/// NaN stays NaN.\nstruct Relu {", "namespace inner {\nstruct Relu {"),
            Edit(
                UNARY,
                "    return a < T(0) ? T(0) : a;\n  }\n};\n",
                "    return a < T(0) ? T(0) : a;\n  }\n};\n}  // namespace inner\n"
                "using inner::Relu;\n",
            ),
        ),
    ),
    Refactoring(
        "body_without_the_marker",
        (
            Edit(
                NORMALIZATION,
                "template <typename T>\nSG_DTYPE_BODY void normalize_channels(",
                "template <typename T>\nvoid normalize_channels(",
            ),
        ),
    ),
    Refactoring(
        "body_as_a_generic_lambda",
        (
            Edit(
                MATRIX,
                "SG_SWITCH_ACCUMULATE(self.scalar_type(), addmm, [&]<typename T>() {\n"
                "    scale_elements<T>(self.numel(), self.data<T>(), Parameters(factor));\n  });",
                "const auto scaled = [&](auto* data) {\n"
                "    scale_elements(self.numel(), data, Parameters(factor));\n  };\n"
                "  SG_SWITCH_ACCUMULATE(self.scalar_type(), addmm,\n"
                "                       [&]<typename T>() { scaled(self.data<T>()); });",
            ),
        ),
    ),
    Refactoring(
        "dtype_in_a_variable",
        (
            Edit(
                REDUCTION,
                MEAN,
                "const ScalarType computed = in.scalar_type();\n"
                "  SG_SWITCH_FLOATING(computed, mean,\n"
                "                     [&]<typename T>() { loop = add_elements<T>; });",
            ),
        ),
    ),
    Refactoring(
        "switch_behind_a_condition",
        (
            Edit(
                GEMM,
                f"  if (product.m == 0) return;  // n may be any size then, and costs nothing\n"
                f"  {GEMM_SWITCH}\n",
                f"  if (product.m != 0) {{\n    {GEMM_SWITCH}\n  }}\n",
            ),
        ),
    ),
    Refactoring(
        "split_a_kernel",
        (
            Edit(
                BINARY,
                "Result<Tensor> add_scaled(Context& context, Tensor self, Tensor other, "
                "Scalar alpha) {\n  const ScalarType dtype = promote(self, other);\n"
                "  SG_TRY(check_alpha(context, dtype, alpha));\n",
                "Result<Tensor> add_checked(Context& context, ScalarType dtype, Tensor self, "
                "Tensor other,\n                           Scalar alpha) {\n",
            ),
            Edit(
                BINARY,
                "  return run(context, loop, dtype, self, other, Parameters(alpha));\n}\n",
                "  return run(context, loop, dtype, self, other, Parameters(alpha));\n}\n\n"
                "Result<Tensor> add_scaled(Context& context, Tensor self, Tensor other, "
                "Scalar alpha) {\n  const ScalarType dtype = promote(self, other);\n"
                "  SG_TRY(check_alpha(context, dtype, alpha));\n"
                "  return add_checked(context, dtype, self, other, alpha);\n}\n",
            ),
        ),
    ),
    one_edit("explicit_captures", BINARY, ADD, ADD.replace("[&]", "[&loop]")),
    *LATER,
    *INVENTED,
    *FORMS,
)

# These edits touch different places, so one build shows them all. They include each kind of
# refactoring.
COVERING = (
    "rename_T_to_E",
    "rename_a_helper_with_a_switch",
    "switch_in_a_helper",
    "switch_in_a_header",
    "rename_a_body_of_gemm",
    "reorder_two_switches",
    "body_without_the_marker",
    "body_as_a_generic_lambda",
    "split_a_file",
    "kernel_in_a_detail_namespace",
    "deselected_kernel_in_a_detail_namespace",
    "order_of_template_parameters",
    "conditions_for_a_switch",
    "body_with_a_requirement",
    "join_two_files",
    "rename_a_file",
    "message_with_an_operators_name",
    "two_tables_of_operators",
    "feature_in_a_member_function",
    "macros_with_other_variables",
)


def named(name: str) -> Refactoring:
    return next(each for each in REFACTORINGS if each.name == name)
