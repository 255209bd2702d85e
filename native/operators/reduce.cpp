// The walk that all reductions share.

#include "native/operators/reduce.h"

namespace sg {

Shape reduced_shape(Tensor in, DimMask dims, bool keepdim) {
  Shape shape;
  for (int64_t axis = 0; axis < in.dim(); ++axis) {
    const bool reduced = ((dims >> axis) & 1) != 0;
    if (!reduced || keepdim) shape.push_back(reduced ? 1 : in.size(axis));
  }
  return shape;
}

Result<Tensor> reduce(Context& context, ReductionLoop loop, Accumulator initial, Tensor in,
                      DimMask dims, bool keepdim, double divisor) {
  SG_ASSIGN(const Tensor out, context.empty(in.scalar_type(), reduced_shape(in, dims, keepdim)));
  Shape sizes[2];  // kept, reduced
  Shape steps[2];
  for (int64_t axis = 0; axis < in.dim(); ++axis) {
    const size_t part = (dims >> axis) & 1;
    sizes[part].push_back(in.size(axis));
    steps[part].push_back(in.stride(axis) * in.element_size());
  }
  Rows kept(sizes[0]);
  kept.add(in.bytes(), steps[0]);
  char* target = out.bytes();
  // The result is contiguous, and rows come in its order.
  for (kept.start(); !kept.done(); kept.next()) {
    for (int64_t i = 0; i < kept.length(); ++i, target += out.element_size()) {
      Accumulator total = initial;
      Rows reduced(sizes[1]);
      reduced.add(kept.data[0] + i * kept.strides[0], steps[1]);
      for (reduced.start(); !reduced.done(); reduced.next())
        loop(reduced.length(), reduced.data[0], reduced.strides[0], total);
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
    }
  }
  return out;
}

}  // namespace sg
