// Shapes: wrapped dimensions, broadcasting, promotion, and walks over strided tensors.

#pragma once

#include "native/runtime/context.h"

namespace sg {

/// Sizes (or strides) of a tensor, on the stack.
struct Shape {
  int64_t data[kMaxDims];
  size_t size = 0;

  Shape() = default;
  explicit Shape(IntArrayRef sizes) {
    for (const int64_t one : sizes) push_back(one);
  }
  void push_back(int64_t value) { data[size++] = value; }
  int64_t& operator[](size_t axis) { return data[axis]; }
  int64_t operator[](size_t axis) const { return data[axis]; }
  operator IntArrayRef() const { return {data, size}; }  // NOLINT: a shape is its sizes
};

/// A set of dimensions: bit `axis`.
using DimMask = uint32_t;

/// The dimension, counted from the front. Negative ones count from the end. A tensor without
/// dimensions counts as one-dimensional.
Result<int64_t> wrap_dim(Context& context, int64_t dim, int64_t dims);

/// The dimensions as a set; an empty list means all. A repeated dimension is an error.
Result<DimMask> wrap_dims(Context& context, IntArrayRef dims, Tensor self);

/// Computes the shape that the tensors broadcast to.
Status broadcast(Context& context, Span<const Tensor> tensors, Shape& shape);

/// The dtype that the tensors promote to, as torch.result_type. Tensors with dimensions win over
/// those without, and those win over wrapped numbers, unless the weaker one has a higher category
/// (bool < integer < floating).
ScalarType result_type(Span<const Tensor> tensors);

/// The dtype that division, sqrt and the like compute in: a floating dtype itself, Float for
/// others.
constexpr ScalarType floating_type(ScalarType dtype) {
  return is_floating(dtype) ? dtype : ScalarType::Float;
}

/// A walk over up to four operands of one shape, row by row. A row is the last dimension, after all
/// possible merges of dimensions.
///
///   Rows rows(shape);
///   rows.add(out); rows.add(in);
///   for (rows.start(); !rows.done(); rows.next()) loop(rows.length(), rows.data, rows.strides);
class Rows {
 public:
  static constexpr int kMaxOperands = 4;

  explicit Rows(IntArrayRef shape);
  /// Adds an operand, broadcast to the shape.
  void add(Tensor tensor);
  /// Adds an operand with strides in bytes, one for each dimension of the shape.
  void add(char* data, IntArrayRef strides);

  void start();
  bool done() const { return done_; }
  void next();
  int64_t length() const { return length_; }

  char* data[kMaxOperands];       // start of the current row
  int64_t strides[kMaxOperands];  // bytes from one element of a row to the next

 private:
  void merge();

  int operands_ = 0;
  int dims_ = 0;
  int64_t length_ = 1;
  bool done_ = false;
  bool merged_ = false;
  char* first_[kMaxOperands];
  int64_t sizes_[kMaxDims];
  int64_t index_[kMaxDims];
  int64_t steps_[kMaxOperands][kMaxDims];  // bytes
};

/// The 1-d lines of a contiguous tensor along a dimension.
struct Lines {
  int64_t count;   // lines
  int64_t length;  // elements of a line
  int64_t stride;  // from one element of a line to the next

  /// Index of a line's first element.
  int64_t offset(int64_t line) const { return line / stride * stride * length + line % stride; }
};

/// `axis` is already wrapped. A tensor without dimensions is one line of one element.
Lines lines_along(Tensor tensor, int64_t axis);

}  // namespace sg
