"""Harmless refactorings that were added after the verifier was finished."""

from __future__ import annotations

from tests.support.refactorings.refactoring_edits import (
    ADD_HEAD,
    ADDED,
    KERNELS,
    MATRIX,
    NORMALIZATION,
    QUANTIZATION,
    REDUCTION,
    UNARY,
    Edit,
    Refactoring,
    one_edit,
)

POOLING = f"{KERNELS}/pooling.cpp"
VIEWS = f"{KERNELS}/views.cpp"
REDUCE = "native/operators/reduce.cpp"
_PERMUTE = "Result<Tensor> permute(Context& context, Tensor self, IntArrayRef dims) {"
_DROPOUT = """\
Result<Tensor> dropout(Context& context, Tensor input, double p, bool train) {
  if (!(p >= 0 && p <= 1)) return context.invalid("a probability is between 0 and 1");
  if (train) return context.invalid("drops nothing at random: export the model in evaluation mode");
  return input;
}
"""
_SIGMOID = """\
Result<Tensor> sigmoid(Context& context, Tensor self) {
  const ScalarType dtype = floating_type(self.scalar_type());
  ElementLoop loop;
  SG_SWITCH_FLOATING(compute_type(dtype), sigmoid,
                     [&]<typename T>() { loop = unary_loop<T, T, Sigmoid>; });
  return run(context, loop, dtype, self);
}
"""
_LIMIT = """\
  const bool is_signed = dtype != ScalarType::Byte;
  const int64_t limit = int64_t{1} << (8 * element_size(dtype) - is_signed);
"""
_REDUCED = """\
      switch (out.scalar_type()) {
        case ScalarType::Float:
          *reinterpret_cast<float*>(target) = static_cast<float>(total.number / divisor);
          break;
        case ScalarType::Double:
          *reinterpret_cast<double*>(target) = total.number / divisor;
          break;
        case ScalarType::Long:
          *reinterpret_cast<int64_t*>(target) = total.integer;
          break;
        default:
          *reinterpret_cast<bool*>(target) = total.integer != 0;
      }
"""
_NORMALIZE = """\
template <typename T>
SG_DTYPE_BODY void normalize_channels(int64_t images, int64_t channels, int64_t length,
                                      const T* const* data, T* out, T eps) {
"""
_NORMALIZE_CALL = "    normalize_channels(images, channels, length, pointers,"

LATER = (
    Refactoring(
        "split_a_file",
        (
            Edit(UNARY, _DROPOUT, ""),
            Edit(
                f"{KERNELS}/dropout.cpp",
                "",
                '#include "native/operators/kernel.h"\n\nnamespace sg::kernels {\n\n'
                f"{_DROPOUT}\n}}  // namespace sg::kernels\n",
            ),
        ),
    ),
    Refactoring(
        "if_constexpr_in_a_helper",
        (
            Edit(REDUCTION, ADDED, "    accumulate(total, element);\n"),
            Edit(
                REDUCTION,
                ADD_HEAD,
                "template <typename T>\nvoid accumulate(Accumulator& total, T element) {\n"
                f"{ADDED}}}\n\n{ADD_HEAD}",
            ),
        ),
    ),
    one_edit(
        "structured_bindings",
        NORMALIZATION,
        "  return results[0];\n}\n\nResult<std::array<Tensor, 3>> native_layer",
        "  const auto& [normal, means, factors] = results;\n  return normal;\n}\n\n"
        "Result<std::array<Tensor, 3>> native_layer",
    ),
    Refactoring(
        "function_object_for_a_lambda",
        (
            Edit(
                UNARY,
                "relu, [&]<typename T>() { loop = unary_loop<T, T, Relu>; });",
                "relu, ChooseRelu{loop});",
            ),
            Edit(
                UNARY,
                "}  // namespace\n\nResult<Tensor> relu(",
                "struct ChooseRelu {\n  ElementLoop& loop;\n  template <typename T>\n"
                "  void operator()() const {\n    loop = unary_loop<T, T, Relu>;\n  }\n};\n\n"
                "}  // namespace\n\nResult<Tensor> relu(",
            ),
        ),
    ),
    one_edit(
        "constexpr_table",
        QUANTIZATION,
        _LIMIT,
        "  static constexpr int64_t kLimits[] = {1 << 8, 1 << 7, 1 << 15,"
        " int64_t{1} << 31};\n"
        "  const bool is_signed = dtype != ScalarType::Byte;\n"
        "  const int64_t limit = kLimits[static_cast<size_t>(dtype) & 3];\n",
    ),
    Refactoring(
        "kernel_in_a_detail_namespace",
        (
            Edit(VIEWS, _PERMUTE, f"namespace detail {{\n{_PERMUTE}"),
            Edit(
                VIEWS,
                "Result<Tensor> transpose(",
                "}  // namespace detail\n\n"
                f"{_PERMUTE}\n  return detail::permute(context, self, dims);\n}}\n\n"
                "Result<Tensor> transpose(",
            ),
        ),
    ),
    one_edit(
        "deselected_kernel_in_a_detail_namespace",
        UNARY,
        _SIGMOID,
        f"namespace detail {{\n{_SIGMOID}}}  // namespace detail\n\n"
        "Result<Tensor> sigmoid(Context& context, Tensor self) {\n"
        "  return detail::sigmoid(context, self);\n}\n",
    ),
    Refactoring(
        "order_of_template_parameters",
        (
            Edit(
                "native/operators/elementwise.h",
                "template <typename T, typename R, typename Op>\nSG_DTYPE_BODY void binary_loop",
                "template <typename Op, typename T, typename R>\nSG_DTYPE_BODY void binary_loop",
            ),
            *(
                Edit(
                    f"{KERNELS}/{file}.cpp",
                    r"binary_loop<(\w+), (\w+), (\w+)>",
                    r"binary_loop<\3, \1, \2>",
                    is_pattern=True,
                )
                for file in ("binary", "comparison", "quantization", "extremes")
            ),
        ),
    ),
    Refactoring(
        "inline_helper_header",
        (
            Edit(
                "native/operators/inferred.h",
                "",
                '#pragma once\n\n#include "native/operators/kernel.h"\n\nnamespace sg {\n\n'
                "inline bool is_hole(int64_t wanted) {\n  return wanted == -1;\n}\n\n"
                "inline bool fits(int64_t numel, int64_t count) {\n"
                "  return count > 0 && numel % count == 0;\n}\n\n}  // namespace sg\n",
            ),
            Edit(
                VIEWS,
                '#include "native/operators/kernel.h"\n',
                '#include "native/operators/inferred.h"\n#include "native/operators/kernel.h"\n',
            ),
            Edit(
                VIEWS,
                "const bool is_hole = wanted[axis] == -1;",
                "const bool is_hole = sg::is_hole(wanted[axis]);",
            ),
            Edit(VIEWS, "count > 0 && numel % count == 0", "fits(numel, count)"),
        ),
    ),
    one_edit(
        "conditions_for_a_switch",
        REDUCE,
        _REDUCED,
        "      const ScalarType written = out.scalar_type();\n"
        "      if (written == ScalarType::Float) {\n"
        "        *reinterpret_cast<float*>(target) ="
        " static_cast<float>(total.number / divisor);\n"
        "      } else if (written == ScalarType::Double) {\n"
        "        *reinterpret_cast<double*>(target) = total.number / divisor;\n"
        "      } else if (written == ScalarType::Long) {\n"
        "        *reinterpret_cast<int64_t*>(target) = total.integer;\n"
        "      } else {\n        *reinterpret_cast<bool*>(target) = total.integer != 0;\n"
        "      }\n",
    ),
    Refactoring(
        "trailing_return_types",
        (
            Edit(
                VIEWS,
                "Result<Tensor> flatten(Context& context, Tensor self, int64_t start_dim,"
                " int64_t end_dim) {",
                "auto flatten(Context& context, Tensor self, int64_t start_dim, int64_t end_dim)\n"
                "    -> Result<Tensor> {",
            ),
            Edit(MATRIX, "bool is_one(Scalar number) {", "auto is_one(Scalar number) {"),
        ),
    ),
    Refactoring(
        "static_assertions",
        (
            Edit(
                NORMALIZATION,
                _NORMALIZE,
                _NORMALIZE + "  static_assert(std::is_floating_point_v<T>);\n",
            ),
            Edit(
                POOLING,
                "struct Windows {",
                "static_assert(sizeof(int64_t) == 8);\nstruct Windows {",
            ),
        ),
    ),
    Refactoring(
        "functions_without_exceptions",
        (
            Edit(
                VIEWS,
                "bool view_strides(Tensor self, const Shape& sizes, Shape& strides) {",
                "bool view_strides(Tensor self, const Shape& sizes, Shape& strides) noexcept {",
            ),
            Edit(
                UNARY,
                "  static T apply(T a, const Parameters&) {\n    return a < T(0)",
                "  static T apply(T a, const Parameters&) noexcept {\n    return a < T(0)",
            ),
        ),
    ),
    one_edit(
        "helper_always_inlined",
        NORMALIZATION,
        "Result<ScalarType> prepare(",
        "[[gnu::always_inline]] inline Result<ScalarType> prepare(",
    ),
    one_edit(
        "helper_never_inlined",
        UNARY,
        "Result<Tensor> run(Context& context, ElementLoop",
        "[[gnu::noinline]] Result<Tensor> run(Context& context, ElementLoop",
    ),
    Refactoring(
        "static_for_an_unnamed_namespace",
        (
            Edit(
                QUANTIZATION,
                "Result<Tensor> subtract(Context& context, Tensor a, Tensor b) {",
                "}  // namespace\n\n"
                "static Result<Tensor> subtract(Context& context, Tensor a, Tensor b) {",
            ),
            Edit(
                QUANTIZATION,
                "Result<Tensor> multiply(Context& context",
                "static Result<Tensor> multiply(Context& context",
            ),
            Edit(
                QUANTIZATION,
                "/// Quantized values are Byte",
                "namespace {\n\n/// Quantized values are Byte",
            ),
        ),
    ),
    Refactoring(
        "functors_from_a_macro",
        (
            Edit(
                UNARY,
                r"struct (\w+) \{\n  template <typename T>\n"
                r"  static T apply\(T a, const Parameters&\) (?:noexcept )?\{\n"
                r"    return (.+);\n  \}\n\};",
                r"SG_UNARY(\1, \2)",
                is_pattern=True,
            ),
            Edit(
                UNARY,
                "namespace sg::kernels {\nnamespace {\n",
                "#define SG_UNARY(Op, result) \\\n  struct Op { \\\n"
                "    template <typename T> \\\n    static T apply(T a, const Parameters&) { \\\n"
                "      return result; \\\n    } \\\n  };\n\nnamespace sg::kernels {\nnamespace {\n",
            ),
        ),
    ),
    Refactoring(
        "body_in_a_class_template",
        (
            Edit(
                NORMALIZATION,
                _NORMALIZE,
                "template <typename T>\nstruct Channels {\n"
                "  static void normalize(int64_t images, int64_t channels, int64_t length,\n"
                "                        const T* const* data, T* out, T eps);\n};\n\n"
                "template <typename T>\n"
                "SG_DTYPE_BODY void Channels<T>::normalize(int64_t images, int64_t channels,\n"
                "                                          int64_t length, const T* const* data,\n"
                "                                          T* out, T eps) {\n",
            ),
            Edit(
                NORMALIZATION,
                _NORMALIZE_CALL,
                "    Channels<T>::normalize(images, channels, length, pointers,",
            ),
        ),
    ),
    one_edit(
        "body_with_a_requirement",
        POOLING,
        "template <typename T>\nSG_DTYPE_BODY void average_windows(",
        "template <typename T>\n  requires(std::is_floating_point_v<T>)\n"
        "SG_DTYPE_BODY void average_windows(",
    ),
    Refactoring(
        "body_as_a_constant_lambda",
        (
            Edit(
                MATRIX,
                "template <typename T>\nSG_DTYPE_BODY void scale_elements(int64_t n, T* data,"
                " const Parameters& factor) {",
                "constexpr auto scale_elements = []<typename T>(int64_t n, T* data,\n"
                "                                               const Parameters& factor) {",
            ),
            Edit(
                MATRIX,
                "static_cast<Number>(factor.get<T>(0)));\n}\n",
                "static_cast<Number>(factor.get<T>(0)));\n};\n",
            ),
            Edit(MATRIX, "scale_elements<T>(self.numel()", "scale_elements(self.numel()"),
        ),
    ),
    Refactoring(
        "helpers_in_an_inline_namespace",
        (
            Edit(
                VIEWS,
                "Result<Tensor> make_view(Context& context",
                "inline namespace v1 {\n\nResult<Tensor> make_view(Context& context",
            ),
            Edit(
                VIEWS,
                "/// wrap_dim for operators that reject",
                "}  // namespace v1\n\n/// wrap_dim for operators that reject",
            ),
        ),
    ),
    Refactoring(
        "join_two_files",
        (
            Edit(
                REDUCTION,
                '#include "selected/cumsum.h"\n',
                '#include "selected/_log_softmax.h"\n#include "selected/_softmax.h"\n'
                '#include "selected/cumsum.h"\n',
            ),
        ),
        joined=((f"{KERNELS}/softmax.cpp", REDUCTION),),
    ),
    Refactoring("rename_a_file", (), ((QUANTIZATION, f"{KERNELS}/decomposed.cpp"),)),
)
