// The elementwise driver.

#include "native/operators/elementwise.h"

namespace sg {
namespace {

constexpr int64_t kChunk = 128;

/// The dtype in which the loop reads operand i.
ScalarType wanted(const Elementwise& what, size_t i) {
  return i == 0 && what.condition_first ? ScalarType::Bool : what.reads;
}

/// A loop whose operands or result are of other dtypes: chunk by chunk through buffers.
void run_converted(Context& context, const Elementwise& what, Rows& rows, Tensor out, Span<const Tensor> operands,
                   const Parameters& parameters) {
  alignas(8) char buffers[Rows::kMaxOperands][kChunk * 8];
  const auto dtype_of = [&](size_t k) { return k == 0 ? out.scalar_type() : operands[k - 1].scalar_type(); };
  const auto wanted_of = [&](size_t k) { return k == 0 ? what.writes : wanted(what, k - 1); };
  const size_t count = operands.size() + 1;
  // Same dtypes make a converter that copies, so the code stays one path; what needs none is not copied below.
  const Converter store(context, what.writes, out.scalar_type());
  for (rows.start(); !rows.done(); rows.next()) {
    for (int64_t done = 0; done < rows.length(); done += kChunk) {
      const int64_t n = rows.length() - done < kChunk ? rows.length() - done : kChunk;
      char* data[Rows::kMaxOperands];
      int64_t strides[Rows::kMaxOperands];
      for (size_t k = 0; k < count; ++k) {
        data[k] = rows.data[k] + done * rows.strides[k];
        strides[k] = rows.strides[k];
        if (dtype_of(k) == wanted_of(k)) continue;
        if (k > 0) {
          const Converter load(context, dtype_of(k), wanted_of(k));
          load(n, data[k], strides[k], buffers[k], element_size(wanted_of(k)));
        }
        data[k] = buffers[k];
        strides[k] = element_size(wanted_of(k));
      }
      what.loop(n, data, strides, parameters);
      if (data[0] == buffers[0])
        store(n, buffers[0], strides[0], rows.data[0] + done * rows.strides[0], rows.strides[0]);
    }
  }
}

}  // namespace

Result<Tensor> elementwise(Context& context, const Elementwise& what, Span<const Tensor> given,
                           const Parameters& parameters) {
  // A single number is converted once, not in every chunk: most mixtures of dtypes are a tensor and a number.
  Tensor converted[Rows::kMaxOperands];
  for (size_t i = 0; i < given.size(); ++i) {
    converted[i] = given[i];
    if (given[i].numel() == 1) {
      SG_ASSIGN(converted[i], to_dtype(context, given[i], wanted(what, i)));
    }
  }
  const Span<const Tensor> operands(converted, given.size());
  Shape shape;
  SG_TRY(broadcast(context, operands, shape));
  SG_ASSIGN(const Tensor out, context.empty(what.result, shape));
  Rows rows(shape);
  rows.add(out);
  bool converts = what.result != what.writes;
  for (size_t i = 0; i < operands.size(); ++i) {
    rows.add(operands[i]);
    converts |= operands[i].scalar_type() != wanted(what, i);
  }
  if (converts) {
    run_converted(context, what, rows, out, operands, parameters);
    return out;
  }
  for (rows.start(); !rows.done(); rows.next()) what.loop(rows.length(), rows.data, rows.strides, parameters);
  return out;
}

}  // namespace sg
