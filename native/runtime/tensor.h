// Tensors: strided views of storages. A Tensor is a handle of one pointer; the Context owns the
// tensor that it points to.

#pragma once

#include <cstddef>
#include <cstdint>

#include "native/runtime/scalar_type.h"
#include "native/runtime/span.h"

namespace sg {

/// Maximum number of dimensions. The loader and every factory check it, so that shapes fit on the
/// stack.
inline constexpr int64_t kMaxDims = 16;

/// An allocation that the Context tracks. Its list runs from the newest block to the oldest. The
/// Context frees a block when no slot uses it.
struct Block {
  enum class Kind : uint8_t { Tensor, Memory, Object };

  Block* previous;
  Block* next;
  int64_t size;   // bytes, with this header
  uint64_t uses;  // by slots and by objects; kernels do not count
  Kind kind;
};

/// Bytes that one or more tensors view.
struct Storage {
  char* data;
  int64_t bytes;   // from data on; no view reaches beyond
  uint32_t views;  // tensors that view it
  bool read_only;  // a constant of the program, or the caller's memory
};

struct TensorImpl : Block {
  Storage* storage;
  char* data;  // of element (0, …, 0)
  int64_t numel;
  ScalarType dtype;
  int8_t dim;
  bool wrapped_number;  // made from a Python number: only its category counts in promotion
  int64_t shape[1];     // sizes, then strides in elements; allocated to 2 × dim
};

/// A handle to a tensor, or to none (an optional argument that was not given). Copying it copies a
/// pointer.
class Tensor {
 public:
  Tensor() = default;
  explicit Tensor(TensorImpl* impl) : impl_(impl) {}

  bool defined() const { return impl_ != nullptr; }
  TensorImpl* impl() const { return impl_; }

  // The functions below require a defined tensor.
  ScalarType scalar_type() const { return impl_->dtype; }
  int64_t dim() const { return impl_->dim; }
  int64_t numel() const { return impl_->numel; }
  IntArrayRef sizes() const { return {impl_->shape, static_cast<size_t>(impl_->dim)}; }
  IntArrayRef strides() const {
    return {impl_->shape + impl_->dim, static_cast<size_t>(impl_->dim)};
  }
  int64_t size(int64_t axis) const { return impl_->shape[axis]; }
  int64_t stride(int64_t axis) const { return impl_->shape[impl_->dim + axis]; }
  int64_t element_size() const { return sg::element_size(impl_->dtype); }
  bool is_wrapped_number() const { return impl_->wrapped_number; }

  /// Address of element (0, …, 0). The strides give the positions of the others.
  template <typename T>
  T* data() const {
    return reinterpret_cast<T*>(impl_->data);
  }
  char* bytes() const { return impl_->data; }

  /// Whether the elements lie one after another, in order of the indices.
  bool is_contiguous() const;

 private:
  TensorImpl* impl_ = nullptr;
};

using TensorList = Span<const Tensor>;

/// Position of the element of a number, in order of the indices: in elements after data().
[[gnu::always_inline]] inline int64_t offset_of(Tensor tensor, int64_t number) {
  int64_t offset = 0;
  for (int64_t axis = tensor.dim() - 1; axis >= 0; --axis) {
    offset += number % tensor.size(axis) * tensor.stride(axis);
    number /= tensor.size(axis);
  }
  return offset;
}

bool same_sizes(IntArrayRef a, IntArrayRef b);

/// Whether all bytes from a file are 0 or 1. C++ does not define bools with other values.
bool are_bools(const void* bytes, size_t size);

/// Product of the sizes; -1 if a size is negative or the elements' bytes exceed 64 bits.
int64_t count_elements(IntArrayRef sizes);

}  // namespace sg
