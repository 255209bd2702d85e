// The elementwise driver.

#include "native/operators/elementwise.h"

#include "selected/copy.h"

namespace sg {
namespace {

constexpr int64_t kChunk = 128;

/// The dtype in which the loop reads operand i.
ScalarType wanted(const Elementwise& what, size_t i) {
  return i == 0 && what.condition_first ? ScalarType::Bool : what.reads;
}

/// Runs a loop whose operands or result have other dtypes, chunk by chunk through buffers.
void run_converted(Context& context, const Elementwise& what, Rows& rows, Tensor out,
                   Span<const Tensor> operands, const Parameters& parameters) {
  alignas(8) char buffers[Rows::kMaxOperands][kChunk * 8];
  const size_t count = operands.size() + 1;
  Converter converters[Rows::kMaxOperands];
  int64_t sizes[Rows::kMaxOperands];  // of the elements that the loop reads and writes
  for (size_t k = 0; k < count; ++k) {
    const ScalarType inner = k == 0 ? what.writes : wanted(what, k - 1);
    sizes[k] = element_size(inner);
    converters[k] = k == 0 ? Converter(context, inner, out.scalar_type())
                           : Converter(context, operands[k - 1].scalar_type(), inner);
  }
  for (rows.start(); !rows.done(); rows.next()) {
    for (int64_t done = 0; done < rows.length(); done += kChunk) {
      const int64_t n = rows.length() - done < kChunk ? rows.length() - done : kChunk;
      char* outer[Rows::kMaxOperands];
      char* data[Rows::kMaxOperands];
      int64_t strides[Rows::kMaxOperands];
      for (size_t k = 0; k < count; ++k) {
        outer[k] = rows.data[k] + done * rows.strides[k];
        const bool converts = converters[k].converts();
        data[k] = converts ? buffers[k] : outer[k];
        strides[k] = converts ? sizes[k] : rows.strides[k];
        if (converts && k > 0) converters[k](n, outer[k], rows.strides[k], buffers[k], sizes[k]);
      }
      what.loop(n, data, strides, parameters);
      if (converters[0].converts())
        converters[0](n, buffers[0], sizes[0], outer[0], rows.strides[0]);
    }
  }
}

}  // namespace

void Parameters::set(int index, Scalar number) {
  numbers[index] = number.to_double();
  integers[index] = number.to_int();
  singles[index] = number.to_float();
}

Result<Tensor> elementwise(Context& context, const Elementwise& what, Span<const Tensor> given,
                           const Parameters& parameters) {
  // Convert a single element once, not in every chunk: most calls with mixed dtypes have a tensor
  // and a number.
  Tensor converted[Rows::kMaxOperands];
  for (size_t i = 0; i < given.size(); ++i) {
    converted[i] = given[i];
    if (given[i].is_wrapped_number()) {
      SG_ASSIGN(converted[i], number_as(context, wrapped_number(given[i]), wanted(what, i)));
    } else if (given[i].numel() == 1) {
      SG_ASSIGN(converted[i], to_dtype(context, given[i], wanted(what, i)));
    }
  }
  const Span<const Tensor> operands(converted, given.size());
  Shape shape;
  SG_TRY(broadcast(context, operands, shape));
  SG_ASSIGN(const Tensor out, empty_in_order(context, what.result, shape, operands));
  Rows rows(shape);
  rows.add(out);
  bool converts = what.result != what.writes;
  for (size_t i = 0; i < operands.size(); ++i) {
    rows.add(operands[i]);
    converts |= operands[i].scalar_type() != wanted(what, i);
  }
  if (converts) {
    // A selection without any conversion needs none of this code.
    if constexpr (!selected::copy.any()) dtype_not_selected(context, what.reads);
    run_converted(context, what, rows, out, operands, parameters);
    return out;
  }
  for (rows.start(); !rows.done(); rows.next())
    what.loop(rows.length(), rows.data, rows.strides, parameters);
  return out;
}

}  // namespace sg
