// Copies and dtype conversions: the functions that move elements from one tensor to another.

#pragma once

#include "native/operators/shape.h"

namespace sg {

/// Converts rows of elements. Widens to int64_t or double, then narrows, so that no pair of dtypes
/// needs its own code.
class Converter {
 public:
  Converter() = default;  // uninitialised
  Converter(Context& context, ScalarType from, ScalarType to);
  /// Whether it changes the dtype; false if it only copies.
  bool converts() const { return copied_size_ == 0; }
  void operator()(int64_t n, const char* source, int64_t source_stride, char* target,
                  int64_t target_stride) const;

 private:
  // Chunks of `n` elements at a stride in bytes, from or to a buffer of 8-byte elements.
  using Load = void (*)(int64_t n, const char* source, int64_t stride, void* wide);
  using Store = void (*)(int64_t n, char* target, int64_t stride, const void* wide);

  Load load_;
  Store store_;
  bool widens_to_number_;  // load_ writes doubles
  bool narrows_number_;    // store_ takes doubles
  bool rounds_to_float_;   // integers become Half, BFloat16 or Float, by way of a float
  int8_t copied_size_;     // bytes of an element if there is nothing to convert, else 0
};

/// Writes source into target, broadcast and converted. The memory of the two may overlap only if
/// they are the same view.
Status copy_elements(Context& context, Tensor target, Tensor source);

/// A new contiguous tensor with the elements of `self`, converted to `dtype`.
Result<Tensor> copy_to_dtype(Context& context, Tensor self, ScalarType dtype);

/// `self` if it has the dtype, else a contiguous copy that does.
Result<Tensor> to_dtype(Context& context, Tensor self, ScalarType dtype);

/// A number as a tensor without dimensions. Its dtype is one that arithmetic uses (not Half, not
/// BFloat16). No dtype switch, so the cost of numbers does not depend on the selection.
Result<Tensor> number_as(Context& context, Scalar number, ScalarType dtype);

/// The number in a tensor that Context::wrap_number made.
Scalar wrapped_number(Tensor tensor);

/// `self` if it is contiguous and has the dtype, else a copy that is.
Result<Tensor> to_contiguous(Context& context, Tensor self, ScalarType dtype);

/// An uninitialised contiguous tensor with the dtype and sizes of `self`.
Result<Tensor> empty_like(Context& context, Tensor self);

/// An uninitialised tensor. Its elements have the memory order that the operands have, as far as
/// they agree. Later views of the result depend on this order.
Result<Tensor> empty_in_order(Context& context, ScalarType dtype, IntArrayRef sizes,
                              Span<const Tensor> operands);

/// Fills a tensor with a number, converted to its dtype.
Status fill_elements(Context& context, Tensor self, Scalar value);

/// Fails if the tensor is not writable: it is a constant, or a view with several elements at one
/// address.
Status check_writable(Context& context, Tensor self);

}  // namespace sg
