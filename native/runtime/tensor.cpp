// Shapes: contiguity, comparison and element counts.

#include "native/runtime/tensor.h"

namespace sg {

bool Tensor::is_contiguous() const {
  int64_t expected = 1;
  for (int64_t axis = dim() - 1; axis >= 0; --axis) {
    if (size(axis) != 1 && stride(axis) != expected) return numel() == 0;
    expected *= size(axis);
  }
  return true;
}

bool same_sizes(IntArrayRef a, IntArrayRef b) {
  if (a.size() != b.size()) return false;
  for (size_t axis = 0; axis < a.size(); ++axis) {
    if (a[axis] != b[axis]) return false;
  }
  return true;
}

bool are_bools(const void* bytes, size_t size) {
  const auto* byte = static_cast<const uint8_t*>(bytes);
  while (size > 0 && *byte <= 1) {
    ++byte;
    --size;
  }
  return size == 0;
}

/// Strides in bytes, and sums of two of them, fit 64 bits.
constexpr int64_t kMostElements = INT64_MAX / 16;

int64_t count_elements(IntArrayRef sizes) {
  int64_t count = 1;
  bool none = false;
  for (const int64_t size : sizes) {
    if (size < 0) return -1;
    // A size of zero must not hide an overflow of the other sizes: callers still compute the
    // strides of the other dimensions.
    if (size == 0) none = true;
    if (__builtin_mul_overflow(count, size == 0 ? 1 : size, &count) || count > kMostElements)
      return -1;
  }
  return none ? 0 : count;
}

}  // namespace sg
