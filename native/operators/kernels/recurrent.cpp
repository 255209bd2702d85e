// lstm.input: layers of long short-term memory, composed of other operators.

#include "generated/ops.h"
#include "native/operators/kernel.h"

namespace sg::kernels {
namespace {

/// The parameters of one direction of one layer.
struct Cell {
  Tensor input_weight;   // 4 · hidden × input: the gates in, forget, cell, out
  Tensor hidden_weight;  // 4 · hidden × hidden
  Tensor input_bias;     // 4 · hidden, or none
  Tensor hidden_bias;
};

/// Selects one index of a dimension of a tensor.
Result<Tensor> select(Context& context, Tensor self, int64_t axis, int64_t index) {
  Shape sizes;
  Shape strides;
  for (int64_t i = 0; i < self.dim(); ++i) {
    if (i == axis) continue;
    sizes.push_back(self.size(i));
    strides.push_back(self.stride(i));
  }
  return context.view(self, sizes, strides, index * self.stride(axis));
}

/// Runs one step. `gates` is the contribution of the input to the gates; `state` is the hidden and
/// the cell state (batch × hidden). Has PyTorch's order, so that 16-bit numbers round alike.
Status advance(Context& context, Tensor gates, const Cell& cell, Tensor* state) {
  SG_ASSIGN(const Tensor recurrent,
            ops::linear::call(context, state[0], cell.hidden_weight, cell.hidden_bias));
  SG_ASSIGN(const Tensor all, ops::add_Tensor::call(context, recurrent, gates, 1));
  // The sum broadcasts. Unless both operands hold four gates, its quarters are no gates.
  const int64_t shape[] = {state[0].size(0), 4 * state[0].size(1)};
  if (!same_sizes(recurrent.sizes(), shape) || !same_sizes(gates.sizes(), shape))
    return context.invalid("the weights must have four gates for each feature");
  Tensor parts[4];
  for (int64_t i = 0; i < 4; ++i) {
    SG_ASSIGN(const Tensor part,
              context.view(all, state[0].sizes(), all.strides(), i * state[0].size(1)));
    SG_ASSIGN(parts[i],
              i == 2 ? ops::tanh::call(context, part) : ops::sigmoid::call(context, part));
  }
  SG_ASSIGN(const Tensor kept, ops::mul_Tensor::call(context, parts[1], state[1]));
  SG_ASSIGN(const Tensor added, ops::mul_Tensor::call(context, parts[0], parts[2]));
  SG_ASSIGN(state[1], ops::add_Tensor::call(context, kept, added, 1));
  SG_ASSIGN(const Tensor shown, ops::tanh::call(context, state[1]));
  SG_ASSIGN(state[0], ops::mul_Tensor::call(context, parts[3], shown));
  return {};
}

/// Runs over all steps, the last one first if reversed; writes the hidden states to `out` (steps ×
/// batch × hidden).
Status run_direction(Context& context, Tensor input, const Cell& cell, bool reversed, Tensor* state,
                     Tensor out) {
  // The contribution of the input at all steps: one product instead of one per step.
  SG_ASSIGN(const Tensor gates,
            ops::linear::call(context, input, cell.input_weight, cell.input_bias));
  const int64_t steps = input.size(0);
  for (int64_t i = 0; i < steps; ++i) {
    const int64_t step = reversed ? steps - 1 - i : i;
    SG_ASSIGN(const Tensor one, select(context, gates, 0, step));
    SG_TRY(advance(context, one, cell, state));
    SG_ASSIGN(const Tensor target, select(context, out, 0, step));
    SG_TRY(copy_elements(context, target, state[0]));
  }
  return {};
}

/// Swaps the first two dimensions, for inputs and outputs whose first dimension is the batch.
Result<Tensor> swap_batch(Context& context, Tensor self) {
  const int64_t order[] = {1, 0, 2};
  return ops::permute::call(context, self, order);
}

}  // namespace

// Longer than 40 lines: it checks ten arguments, and loops over layers and directions.
Result<std::array<Tensor, 3>> lstm(Context& context, Tensor input, TensorList hx, TensorList params,
                                   bool has_biases, int64_t num_layers, double dropout, bool train,
                                   bool bidirectional, bool batch_first) {
  const int64_t each = has_biases ? 4 : 2;
  const int64_t directions = bidirectional ? 2 : 1;
  const auto cells = static_cast<int64_t>(params.size()) / each;
  if (num_layers < 1 || cells % directions != 0 || cells / directions != num_layers ||
      params.size() != static_cast<size_t>(cells * each)) {
    return context.invalid(
        "wrong number of parameters for the layers (projections are not supported)");
  }
  if (train && dropout != 0 && num_layers > 1) {
    return context.invalid("drops nothing at random: export the model in evaluation mode");
  }
  if (input.dim() != 3 || hx.size() != 2)
    return context.invalid("wrong number of dimensions or states");
  Tensor layer = input;
  if (batch_first) {
    SG_ASSIGN(layer, swap_batch(context, layer));
  }
  for (const Tensor& state : hx) {
    if (state.dim() != 3 || state.size(0) != cells || state.size(1) != layer.size(1) ||
        state.size(2) != hx[0].size(2)) {
      return context.invalid("the states must be layers by batch by features");
    }
  }
  if (layer.size(0) == 0) return context.invalid("the sequence is empty");
  const int64_t hidden = hx[0].size(2);
  const ScalarType dtype = input.scalar_type();
  Tensor last[2];
  for (Tensor& one : last) {
    SG_ASSIGN(one, context.empty(dtype, hx[0].sizes()));
  }
  for (int64_t i = 0; i < cells;) {
    const int64_t sizes[] = {layer.size(0), layer.size(1), directions * hidden};
    SG_ASSIGN(const Tensor outputs, context.empty(dtype, sizes));
    for (int64_t direction = 0; direction < directions; ++direction, ++i) {
      const Tensor* own = params.data() + i * each;
      const Cell cell{own[0], own[1], has_biases ? own[2] : Tensor(),
                      has_biases ? own[3] : Tensor()};
      Tensor state[2];
      for (int kind = 0; kind < 2; ++kind) {
        SG_ASSIGN(state[kind], select(context, hx[static_cast<size_t>(kind)], 0, i));
      }
      const int64_t half[] = {sizes[0], sizes[1], hidden};
      SG_ASSIGN(const Tensor target,
                context.view(outputs, half, outputs.strides(), direction * hidden));
      SG_TRY(run_direction(context, layer, cell, direction == 1, state, target));
      for (int kind = 0; kind < 2; ++kind) {
        SG_ASSIGN(const Tensor kept, select(context, last[kind], 0, i));
        SG_TRY(copy_elements(context, kept, state[kind]));
      }
    }
    layer = outputs;
  }
  if (batch_first) {
    SG_ASSIGN(layer, swap_batch(context, layer));
  }
  return std::array{layer, last[0], last[1]};
}

}  // namespace sg::kernels
