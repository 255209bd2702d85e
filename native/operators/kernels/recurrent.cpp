// lstm.input: layers of long short-term memory, of other operators.

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

struct State {
  Tensor hidden;  // batch × hidden
  Tensor cell;
};

/// One step: `gates` is what the input contributes to them. In PyTorch's order, so that 16-bit numbers round alike.
Result<State> advance(Context& context, Tensor gates, const Cell& cell, const State& state) {
  SG_ASSIGN(const Tensor recurrent, ops::linear::call(context, state.hidden, cell.hidden_weight, cell.hidden_bias));
  SG_ASSIGN(const Tensor all, ops::add_Tensor::call(context, recurrent, gates, 1));
  const int64_t size = state.hidden.size(1);
  const int64_t sizes[] = {size, size, size, size};
  SG_ASSIGN(const TensorList parts, ops::split_with_sizes::call(context, all, sizes, 1));
  SG_ASSIGN(const Tensor in, ops::sigmoid::call(context, parts[0]));
  SG_ASSIGN(const Tensor forget, ops::sigmoid::call(context, parts[1]));
  SG_ASSIGN(const Tensor candidate, ops::tanh::call(context, parts[2]));
  SG_ASSIGN(const Tensor out, ops::sigmoid::call(context, parts[3]));
  SG_ASSIGN(const Tensor kept, ops::mul_Tensor::call(context, forget, state.cell));
  SG_ASSIGN(const Tensor added, ops::mul_Tensor::call(context, in, candidate));
  State next;
  SG_ASSIGN(next.cell, ops::add_Tensor::call(context, kept, added, 1));
  SG_ASSIGN(const Tensor shown, ops::tanh::call(context, next.cell));
  SG_ASSIGN(next.hidden, ops::mul_Tensor::call(context, out, shown));
  return next;
}

/// Runs over all steps, the last one first if reversed: gives the hidden states, and the last state in `state`.
Result<Tensor> run_direction(Context& context, Tensor input, const Cell& cell, bool reversed, State& state) {
  // What the input contributes at all steps: one product instead of one for each step.
  SG_ASSIGN(const Tensor gates, ops::linear::call(context, input, cell.input_weight, cell.input_bias));
  const int64_t steps = input.size(0);
  auto* outputs = static_cast<Tensor*>(context.allocate(steps * static_cast<int64_t>(sizeof(Tensor))));
  if (outputs == nullptr) return Failed{};
  for (int64_t i = 0; i < steps; ++i) {
    const int64_t step = reversed ? steps - 1 - i : i;
    SG_ASSIGN(const Tensor one, ops::select_int::call(context, gates, 0, step));
    SG_ASSIGN(state, advance(context, one, cell, state));
    outputs[step] = state.hidden;
  }
  return ops::stack::call(context, TensorList(outputs, static_cast<size_t>(steps)), 0);
}

}  // namespace

Result<std::array<Tensor, 3>> lstm(Context& context, Tensor input, TensorList hx, TensorList params, bool has_biases,
                                   int64_t num_layers, double dropout, bool train, bool bidirectional,
                                   bool batch_first) {
  const size_t each = has_biases ? 4 : 2;
  const size_t directions = bidirectional ? 2 : 1;
  if (num_layers < 1 || params.size() % (each * directions) != 0 ||
      params.size() / (each * directions) != static_cast<size_t>(num_layers)) {
    return context.invalid("wrong number of parameters for the layers (projections are not supported)");
  }
  if (train && dropout != 0 && num_layers > 1) {
    return context.invalid("drops nothing at random: export the model in evaluation mode");
  }
  const size_t cells = static_cast<size_t>(num_layers) * directions;
  if (input.dim() != 3 || hx.size() != 2) return context.invalid("wrong number of dimensions or states");
  for (const Tensor& state : hx) {
    if (state.dim() != 3 || state.size(0) != static_cast<int64_t>(cells) || state.size(1) != input.size(!batch_first)) {
      return context.invalid("the states must be layers by batch by features");
    }
  }
  Tensor layer = input;
  if (batch_first) {
    SG_ASSIGN(layer, ops::transpose_int::call(context, layer, 0, 1));
  }
  if (layer.size(0) == 0) return context.invalid("the sequence is empty");
  auto* last = static_cast<Tensor*>(context.allocate(static_cast<int64_t>(2 * cells * sizeof(Tensor))));
  if (last == nullptr) return Failed{};
  for (size_t i = 0; i < cells; i += directions) {
    Tensor outputs[2];
    for (size_t direction = 0; direction < directions; ++direction) {
      const size_t at = i + direction;
      const Tensor* own = params.data() + at * each;
      const Cell cell{own[0], own[1], has_biases ? own[2] : Tensor(), has_biases ? own[3] : Tensor()};
      State state;
      SG_ASSIGN(state.hidden, ops::select_int::call(context, hx[0], 0, static_cast<int64_t>(at)));
      SG_ASSIGN(state.cell, ops::select_int::call(context, hx[1], 0, static_cast<int64_t>(at)));
      SG_ASSIGN(outputs[direction], run_direction(context, layer, cell, direction == 1, state));
      last[at] = state.hidden;
      last[cells + at] = state.cell;
    }
    layer = outputs[0];
    if (bidirectional) {
      SG_ASSIGN(layer, ops::cat::call(context, TensorList(outputs), -1));
    }
  }
  if (batch_first) {
    SG_ASSIGN(layer, ops::transpose_int::call(context, layer, 0, 1));
  }
  SG_ASSIGN(const Tensor hidden, ops::stack::call(context, TensorList(last, cells), 0));
  SG_ASSIGN(const Tensor cell, ops::stack::call(context, TensorList(last + cells, cells), 0));
  return std::array{layer, hidden, cell};
}

}  // namespace sg::kernels
