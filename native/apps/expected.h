// Compares the outputs of a program with expected ones, within the tolerances of their dtypes.

#pragma once

#include <cstdio>
#include <cstring>

#include "native/apps/npy.h"
#include "native/runtime/tolerance.h"

namespace sg {

inline constexpr int kOutputsDiffer = 3;  // exit code

/// An element of a tensor by its number in the order of the indices, exactly: as an integer if the
/// dtype is integral, else as a double.
struct Number {
  int64_t integer = 0;
  double number = 0;

  Number(Tensor tensor, int64_t i) {
    const char* place = tensor.bytes() + offset_of(tensor, i) * tensor.element_size();
    const auto read = [place](auto value) {
      std::memcpy(&value, place, sizeof value);
      return value;
    };
    switch (tensor.scalar_type()) {
      case ScalarType::Char:
        integer = read(int8_t{});
        break;
      case ScalarType::Short:
        integer = read(int16_t{});
        break;
      case ScalarType::Int:
        integer = read(int32_t{});
        break;
      case ScalarType::Long:
        integer = read(int64_t{});
        break;
      case ScalarType::Half:
        number = static_cast<double>(read(Half{}));
        break;
      case ScalarType::BFloat16:
        number = static_cast<double>(read(BFloat16{}));
        break;
      case ScalarType::Float:
        number = static_cast<double>(read(float{}));
        break;
      case ScalarType::Double:
        number = read(double{});
        break;
      default:  // Byte, Bool
        integer = read(uint8_t{});
    }
    if (!is_floating(tensor.scalar_type())) number = static_cast<double>(integer);
  }
};

/// The distance of two numbers; infinite if only one of them is not a number.
inline double distance(const Number& a, const Number& b) {
  if (a.integer == b.integer && a.number == b.number) return 0;
  const bool is_nan = a.number != a.number;
  if (is_nan || b.number != b.number) return is_nan == (b.number != b.number) ? 0 : __builtin_inf();
  const double between = __builtin_fabs(a.number - b.number);
  return between == 0 ? 1 : between;  // integers beyond the precision of a double
}

inline bool is_near(const Number& actual, const Number& wanted, Tolerance tolerance) {
  const double between = distance(actual, wanted);
  const double room = tolerance.absolute + tolerance.relative * __builtin_fabs(wanted.number);
  return between == 0 || (__builtin_isfinite(wanted.number) && between <= room);
}

/// Writes the indices of an element: [1, 2].
inline void write_index(char (&text)[24 * kMaxDims + 3], Tensor tensor, int64_t number) {
  int64_t indices[kMaxDims];
  for (int64_t axis = tensor.dim() - 1; axis >= 0; --axis) {
    indices[axis] = number % tensor.size(axis);
    number /= tensor.size(axis);
  }
  size_t used = 1;
  text[0] = '[';
  for (int64_t axis = 0; axis < tensor.dim(); ++axis) {
    used += static_cast<size_t>(std::snprintf(text + used, sizeof text - used,
                                              axis == 0 ? "%lld" : ", %lld",
                                              static_cast<long long>(indices[axis])));
  }
  std::snprintf(text + used, sizeof text - used, "]");
}

inline void write_number(char (&text)[40], ScalarType dtype, const Number& number) {
  if (is_floating(dtype)) {
    std::snprintf(text, sizeof text, dtype == ScalarType::Double ? "%.17g" : "%.9g", number.number);
  } else {
    std::snprintf(text, sizeof text, "%lld", static_cast<long long>(number.integer));
  }
}

/// Compares the elements of two tensors of one dtype and shape. Prints the first and the largest
/// difference. Returns an exit code.
inline int compare_elements(Tensor actual, Tensor wanted, size_t output, const char* file) {
  const Tolerance tolerance = tolerance_of(wanted.scalar_type());
  int64_t wrong = 0;
  int64_t first = 0;
  int64_t farthest = 0;
  double largest = 0;
  for (int64_t i = 0; i < wanted.numel(); ++i) {
    const Number a(actual, i);
    const Number b(wanted, i);
    if (is_near(a, b, tolerance)) continue;
    if (wrong++ == 0) first = i;
    if (distance(a, b) > largest) {
      largest = distance(a, b);
      farthest = i;
    }
  }
  if (wrong == 0) return 0;
  char at[24 * kMaxDims + 3];
  char far[24 * kMaxDims + 3];
  char got[40];
  char expected[40];
  write_index(at, wanted, first);
  write_index(far, wanted, farthest);
  write_number(got, wanted.scalar_type(), Number(actual, first));
  write_number(expected, wanted.scalar_type(), Number(wanted, first));
  std::fprintf(
      stderr,
      "error: output %zu is not %s: %lld of %lld numbers differ, first at %s: %s, expected "
      "%s; the largest difference is %.9g, at %s\n",
      output, file, static_cast<long long>(wrong), static_cast<long long>(wanted.numel()), at, got,
      expected, largest, far);
  return kOutputsDiffer;
}

/// Compares an output with the array in a .npy file. Prints the error. Returns an exit code:
/// 0 equal within the tolerance, 2 the file is bad, kOutputsDiffer otherwise.
inline int compare_output(Context& context, const Value& output, size_t number, const char* file) {
  size_t size;
  const void* bytes = read_file(context, file, &size);
  if (bytes == nullptr) return 2;
  const auto wanted = read_npy(context, bytes, size);
  if (!wanted.ok()) {
    std::fprintf(stderr, "error: %s: %s\n", file, context.message());
    return 2;
  }
  const bool is_array = output.tag == Tag::Tensor;
  if (!is_array && (output.tag == Tag::None || output.tag > Tag::Double)) {
    std::fprintf(stderr, "error: output %zu is not %s: it is not an array\n", number, file);
    return kOutputsDiffer;
  }
  const auto actual =
      is_array ? Result<Tensor>(Tensor(output.tensor)) : context.wrap_number(output.to_scalar());
  if (!actual.ok()) {
    std::fprintf(stderr, "error: %s: %s\n", file, context.message());
    return 2;
  }
  const Tensor a = actual.value();
  const Tensor b = wanted.value();
  if (a.scalar_type() != b.scalar_type()) {
    std::fprintf(stderr, "error: output %zu is not %s: dtype %s, expected %s\n", number, file,
                 scalar_type_name(a.scalar_type()), scalar_type_name(b.scalar_type()));
    return kOutputsDiffer;
  }
  if (!same_sizes(a.sizes(), b.sizes())) {
    std::fprintf(stderr, "error: output %zu is not %s: the shapes differ\n", number, file);
    return kOutputsDiffer;
  }
  return compare_elements(a, b, number, file);
}

}  // namespace sg
