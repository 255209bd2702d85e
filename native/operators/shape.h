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

/// The dimension counted from the front. Negative ones count from the end; a tensor without
/// dimensions is treated as of one.
Result<int64_t> wrap_dim(Context& context, int64_t dim, int64_t dims);

/// The dimensions as a set; an empty list means all. Naming one twice is an error.
Result<DimMask> wrap_dims(Context& context, IntArrayRef dims, Tensor self);

/// The shape that the tensors broadcast to.
Status broadcast(Context& context, Span<const Tensor> tensors, Shape& shape);

/// The dtype that the tensors promote to: torch.result_type. Tensors with dimensions decide before
/// those without, and those before wrapped numbers, unless a later one is of a higher category
/// (bool < integer < floating).
ScalarType result_type(Span<const Tensor> tensors);

/// floating → itself, the others → Float: what division, sqrt and the like compute in.
constexpr ScalarType floating_type(ScalarType dtype) {
  return is_floating(dtype) ? dtype : ScalarType::Float;
}

/// A walk over up to four operands of one shape, row by row: the last dimension after merging those
/// that can be.
///
///   Rows rows(shape);
///   rows.add(out); rows.add(in);
///   for (rows.start(); !rows.done(); rows.next()) loop(rows.length(), rows.data, rows.strides);
class Rows {
 public:
  static constexpr int kMaxOperands = 4;

  explicit Rows(IntArrayRef shape);
  /// An operand, broadcast to the shape.
  void add(Tensor tensor);
  /// An operand with strides in bytes, one for each dimension of the shape.
  void add(char* data, IntArrayRef strides);

  void start();
  bool done() const { return done_; }
  void next();
  int64_t length() const { return length_; }

  char* data[kMaxOperands];       // of the row that it stands at
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

/// `axis` is wrapped. A tensor without dimensions is one line of one element.
Lines lines_along(Tensor tensor, int64_t axis);

}  // namespace sg
