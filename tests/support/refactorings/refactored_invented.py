"""Fifteen harmless refactorings that were invented after those of refactored_later."""

from __future__ import annotations

from tests.support.places import ROOT
from tests.support.refactorings.refactoring_edits import (
    COPY,
    GEMM,
    KERNELS,
    NORMALIZATION,
    REDUCTION,
    UNARY,
    Edit,
    Refactoring,
    one_edit,
)

ELEMENTWISE = "native/operators/elementwise.h"
SWITCH = "native/selective/dtype_switch.h"
POOLING = f"{KERNELS}/pooling.cpp"
INTERPRETER = "native/runtime/interpreter.cpp"
CLASSES = "native/prepacked/registration.cpp"
_RELU = """\
  SG_SWITCH_REAL(compute_type(dtype), relu, [&]<typename T>() { loop = unary_loop<T, T, Relu>; });
"""
_SIGMOID_BODY = """\
  const ScalarType dtype = floating_type(self.scalar_type());
  ElementLoop loop;
  SG_SWITCH_FLOATING(compute_type(dtype), sigmoid,
                     [&]<typename T>() { loop = unary_loop<T, T, Sigmoid>; });
  return run(context, loop, dtype, self);
"""
_RELU_BODY = f"""\
  const ScalarType dtype = self.scalar_type();
  ElementLoop loop;
{_RELU}  return run(context, loop, dtype, self);
"""
_MULTIPLY = "SG_SWITCH_ACCUMULATE(dtype, gemm, [&]<typename T>() { multiply<T>(product); });"
_ENTRIES = """\
    impl<&kernels::linear_clamp_prepack>(SG_SELECTIVE_NAME("prepacked::linear_clamp_prepack"),
                                         "(tt?s?s?)c"),
"""
_PROFILE = """\
          if (OperatorProfile* profile = profile_; profile != nullptr) {
            record_feature("profiling");
            profile[instruction.target].calls += 1;
            profile[instruction.target].nanoseconds += now() - start;
          }
"""
_CHANNELS = """\
template <typename T>
SG_DTYPE_BODY void normalize_channels(int64_t images, int64_t channels, int64_t length,
                                      const T* const* data, T* out, T eps) {
"""
_MEAN_OF_WINDOW = """\
        T sum = 0;
        for (int64_t y = top; y < bottom; ++y) {
          for (int64_t x = left; x < right; ++x) sum += in[y * width + x];
        }
"""
_SUM = "SG_SWITCH_FLOATING(in.scalar_type(), mean, [&]<typename T>() { loop = add_elements<T>; });"
_HEADER = (ROOT / ELEMENTWISE).read_text()
_LOOPS = _HEADER[_HEADER.index("/// result[i] = Op::apply(a[i], parameters): Op") :].removesuffix(
    "}  // namespace sg\n"
)
_INCLUDED = '}  // namespace sg\n\n#include "native/operators/element_loops.h"\n'

INVENTED = (
    Refactoring(
        "switch_in_a_constructor",
        (
            Edit(
                UNARY,
                "}  // namespace\n\nResult<Tensor> relu(",
                "struct Rectifier {\n  ElementLoop loop;\n"
                "  Rectifier(Context& context, ScalarType dtype) {\n"
                f"{_RELU.replace('compute_type(dtype)', 'dtype')}  }}\n}};\n\n"
                "}  // namespace\n\nResult<Tensor> relu(",
            ),
            Edit(
                UNARY,
                f"  ElementLoop loop;\n{_RELU}  return run(context, loop, dtype, self);",
                "  return run(context, Rectifier(context, compute_type(dtype)).loop, dtype, self);",
            ),
        ),
    ),
    one_edit(
        "switch_in_a_local_lambda",
        REDUCTION,
        f"  ReductionLoop loop;\n  {_SUM}\n",
        "  const auto choose = [&](ScalarType dtype) {\n    ReductionLoop chosen = nullptr;\n"
        "    SG_SWITCH_FLOATING(dtype, mean, [&]<typename T>() { chosen = add_elements<T>; });\n"
        "    return chosen;\n  };\n  const ReductionLoop loop = choose(in.scalar_type());\n",
    ),
    one_edit(
        "two_switches_of_one_tag",
        GEMM,
        f"  {_MULTIPLY}\n",
        f"  if (product.m == 1) {{\n    {_MULTIPLY}\n    return;\n  }}\n  {_MULTIPLY}\n",
    ),
    Refactoring(
        "helpers_named_like_deselected_kernels",
        (
            Edit(COPY, r"\btruncate\(", "floor(", is_pattern=True),
            Edit(COPY, r"\bis_number\(", "any(", is_pattern=True),
            Edit(GEMM, r"\bpack_panel\b", "gather", is_pattern=True),
        ),
    ),
    one_edit(
        "message_with_an_operators_name",
        INTERPRETER,
        '"more instructions than the limit"',
        '"more instructions than the limit, as of aten::unsqueeze"',
    ),
    Refactoring(
        "two_tables_of_operators",
        (
            Edit(
                CLASSES,
                f"constexpr auto kOperators = operator_table(\n{_ENTRIES}",
                f"constexpr auto kPrepack = operator_table(\n{_ENTRIES.rstrip()[:-1]});\n"
                "constexpr auto kOperators = operator_table(\n",
            ),
            Edit(
                CLASSES,
                'SG_REGISTER_OPERATORS("prepacked", "CPU", kOperators);',
                'SG_REGISTER_OPERATORS("prepacking", "CPU", kPrepack);\n'
                'SG_REGISTER_OPERATORS("prepacked", "CPU", kOperators);',
            ),
        ),
    ),
    Refactoring(
        "feature_in_a_member_function",
        (
            Edit(
                INTERPRETER,
                _PROFILE,
                "          count_call(profile_, instruction.target, start);\n",
            ),
            Edit(
                INTERPRETER,
                "}  // namespace\n\nStatus Program::check_inputs",
                "[[maybe_unused]] void count_call(OperatorProfile* profile, uint32_t target,\n"
                "                                 uint64_t start) {\n"
                '  if (profile == nullptr) return;\n  record_feature("profiling");\n'
                "  profile[target].calls += 1;\n"
                "  profile[target].nanoseconds += now() - start;\n}\n\n"
                "}  // namespace\n\nStatus Program::check_inputs",
            ),
        ),
    ),
    one_edit(
        "lambda_in_a_body",
        POOLING,
        _MEAN_OF_WINDOW,
        "        const auto total = [&](int64_t from, int64_t to) {\n          T sum = 0;\n"
        "          for (int64_t y = from; y < to; ++y) {\n"
        "            for (int64_t x = left; x < right; ++x) sum += in[y * width + x];\n"
        "          }\n          return sum;\n        };\n"
        "        const T sum = total(top, bottom);\n",
    ),
    Refactoring(
        "arguments_in_a_struct",
        (
            Edit(
                NORMALIZATION,
                _CHANNELS,
                "struct Planes {\n  int64_t images;\n  int64_t channels;\n  int64_t length;\n};\n\n"
                "template <typename T>\nSG_DTYPE_BODY void normalize_channels(const Planes& planes,"
                " const T* const* data, T* out,\n                                      T eps) {\n"
                "  const auto [images, channels, length] = planes;\n",
            ),
            Edit(
                NORMALIZATION,
                "normalize_channels(images, channels, length, pointers,",
                "normalize_channels(Planes{images, channels, length}, pointers,",
            ),
        ),
    ),
    Refactoring(
        "helper_shared_with_a_deselected_kernel",
        (
            Edit(
                UNARY,
                "}  // namespace\n\nResult<Tensor> relu(",
                "template <typename Choose>\n"
                "Result<Tensor> run_chosen(Context& context, Tensor self,"
                " ScalarType dtype, Choose choose) {\n  ElementLoop loop;\n"
                "  choose(compute_type(dtype), loop);\n"
                "  return run(context, loop, dtype, self);\n}\n\n"
                "}  // namespace\n\nResult<Tensor> relu(",
            ),
            Edit(
                UNARY,
                _RELU_BODY,
                "  return run_chosen(context, self, self.scalar_type(),\n"
                "                    [&](ScalarType computed, ElementLoop& loop) {\n"
                "    SG_SWITCH_REAL(computed, relu,"
                " [&]<typename T>() { loop = unary_loop<T, T, Relu>; });\n  });\n",
            ),
            Edit(
                UNARY,
                _SIGMOID_BODY,
                "  return run_chosen(context, self, floating_type(self.scalar_type()),\n"
                "                    [&](ScalarType computed, ElementLoop& loop) {\n"
                "    SG_SWITCH_FLOATING(computed, sigmoid,"
                " [&]<typename T>() { loop = unary_loop<T, T, Sigmoid>; });\n  });\n",
            ),
        ),
    ),
    Refactoring(
        "macros_with_other_variables",
        (
            Edit(SWITCH, "switch_body", "body_of_case"),
            Edit(SWITCH, "switch_dtype", "dtype_of_switch"),
            Edit(
                SWITCH, "cases(SG_CASE_, tag) default ", "cases(SG_CASE_, tag) [[unlikely]] default"
            ),
        ),
    ),
    Refactoring(
        "header_of_loops",
        (
            Edit(ELEMENTWISE, f"{_LOOPS}}}  // namespace sg\n", _INCLUDED),
            Edit(
                "native/operators/element_loops.h",
                "",
                "#pragma once\n\nnamespace sg {\n\n" + _LOOPS + "}  // namespace sg\n",
            ),
        ),
    ),
    one_edit(
        "unrolled_body",
        REDUCTION,
        "  for (; n > 0; --n, data += stride) {\n"
        "    const T element = *reinterpret_cast<const T*>(data);\n"
        "    if constexpr (std::is_floating_point_v<T>) {\n      total.number += element;",
        "#pragma GCC unroll 4\n  for (; n > 0; --n, data += stride) {\n"
        "    const T element = *reinterpret_cast<const T*>(data);\n"
        "    if constexpr (std::is_floating_point_v<T>) {\n      total.number += element;",
    ),
    Refactoring(
        "functors_with_call_operators",
        (
            *(
                Edit(f"{KERNELS}/{file}.cpp", old, new, is_pattern=True)
                for file in ("unary", "binary", "comparison", "quantization", "extremes", "math")
                for old, new in (
                    (
                        r"static (T|bool|float|double|auto) apply\((.*)\) \{",
                        r"\1 operator()(\2) const {",
                    ),
                    (r"Op::template apply<(\w+)>\(", r"Op().template operator()<\1>("),
                )
            ),
            Edit(ELEMENTWISE, "Op::template apply<T>(", "Op().template operator()<T>("),
        ),
    ),
    Refactoring(
        "body_in_a_policy_class",
        (
            Edit(
                REDUCTION,
                "/// Adds elements. Integers wrap around; floats accumulate in a double.\n"
                "template <typename T>\nSG_DTYPE_BODY void add_elements(",
                "struct Sums {\n  template <typename T>\n"
                "  SG_DTYPE_BODY static void add_elements(int64_t n, const char* data,"
                " int64_t stride,\n"
                "                                         Accumulator& total);\n};\n\n"
                "template <typename T>\nSG_DTYPE_BODY void Sums::add_elements(",
            ),
            Edit(REDUCTION, "loop = add_elements<T>", "loop = Sums::add_elements<T>"),
        ),
    ),
)
