// scaled_dot_product_attention: softmax(query · keyᵀ · scale + mask) · value, composed of other
// operators.

#include "generated/ops.h"
#include "native/operators/kernel.h"
#include "selected/scaled_dot_product_attention.h"

namespace sg::kernels {
namespace {

/// Changes to the scores between the two products, besides the softmax.
struct Masking {
  double scale;
  int64_t queries;
  int64_t keys;
  bool is_causal;  // hides the keys that come after the query
  bool is_truth;   // the mask is 1 or 0, and 0 hides a key; else it is added
};

/// Scales and masks rows of scores. Records the rows that are entirely hidden: softmax makes NaN of
/// these.
template <typename T>
SG_DTYPE_BODY void mask_scores(int64_t rows, const Masking& how, const T* mask, T* scores,
                               bool* hidden) {
  constexpr T kHidden = -HUGE_VALF;
  for (int64_t row = 0; row < rows; ++row) {
    hidden[row] = true;
    for (int64_t key = 0; key < how.keys; ++key, ++scores) {
      T score = *scores * static_cast<T>(how.scale);
      if (mask != nullptr) {
        const T addend = *mask++;
        score += !how.is_truth ? addend : addend != 0 ? 0 : kHidden;
      }
      if (how.is_causal && key > row % how.queries) score += kHidden;
      hidden[row] &= score == kHidden;
      *scores = score;
    }
  }
}

/// Repeats each head of key or value until there are as many heads as the query has.
Result<Tensor> repeat_heads(Context& context, Tensor self, int64_t heads) {
  const int64_t axis = self.dim() - 3;
  const int64_t own = axis < 0 ? 0 : self.size(axis);
  if (own == 0 || heads % own != 0)
    return context.invalid("the heads of key and value must divide the query's");
  Shape sizes(self.sizes());
  sizes[static_cast<size_t>(axis)] = heads;
  SG_ASSIGN(const Tensor repeated, context.empty(self.scalar_type(), sizes));
  Shape strides(repeated.strides());
  strides[static_cast<size_t>(axis)] *= heads / own;
  for (int64_t i = 0; i < heads / own; ++i) {
    SG_ASSIGN(const Tensor target,
              context.view(repeated, self.sizes(), strides, i * repeated.stride(axis)));
    SG_TRY(copy_elements(context, target, self));
  }
  return repeated;
}

}  // namespace

// Longer than 40 lines: it computes the formula step by step.
Result<Tensor> scaled_dot_product_attention(Context& context, Tensor query, Tensor key,
                                            Tensor value, Tensor attn_mask, double dropout_p,
                                            bool is_causal, std::optional<double> scale,
                                            bool enable_gqa) {
  const ScalarType dtype = query.scalar_type();
  if (query.dim() < 2 || key.dim() < 2 || value.dim() < 2)
    return context.invalid("needs two dimensions or more");
  if (key.scalar_type() != dtype || value.scalar_type() != dtype)
    return context.invalid("the arguments differ in dtype");
  if (!is_floating(dtype)) return context.invalid("computes with floating point alone");
  if (dropout_p != 0)
    return context.invalid("drops nothing at random: export the model in evaluation mode");
  if (attn_mask.defined() && attn_mask.scalar_type() != ScalarType::Bool &&
      attn_mask.scalar_type() != dtype && attn_mask.scalar_type() != ScalarType::Float) {
    return context.invalid("the mask must be bool, float or of the query's dtype");
  }
  if (enable_gqa) {
    if (query.dim() < 3) return context.invalid("the query has no heads");
    const int64_t heads = query.size(query.dim() - 3);
    SG_ASSIGN(key, repeat_heads(context, key, heads));
    SG_ASSIGN(value, repeat_heads(context, value, heads));
  }
  // As in PyTorch, convert 16-bit elements once, without rounding in between.
  const ScalarType wide = compute_type(dtype);
  Tensor* const converted[] = {&query, &key, &value};
  for (Tensor* one : converted) {
    SG_ASSIGN(*one, to_dtype(context, *one, wide));
  }
  SG_ASSIGN(key, ops::transpose_int::call(context, key, -2, -1));
  SG_ASSIGN(const Tensor scores, ops::matmul::call(context, query, key));
  Masking how;
  how.scale = scale.value_or(1 / std::sqrt(static_cast<double>(query.size(query.dim() - 1))));
  how.queries = scores.size(scores.dim() - 2);
  how.keys = scores.size(scores.dim() - 1);
  how.is_causal = is_causal;
  how.is_truth = attn_mask.defined() && attn_mask.scalar_type() == ScalarType::Bool;
  Tensor mask;
  if (attn_mask.defined()) {
    SG_ASSIGN(mask, context.empty(wide, scores.sizes()));
    SG_TRY(copy_elements(context, mask, attn_mask));
  }
  const int64_t rows = scores.numel() == 0 ? 0 : scores.numel() / how.keys;
  auto* hidden = static_cast<bool*>(context.allocate(rows));
  if (hidden == nullptr) return Failed{};
  SG_SWITCH_FLOATING(wide, scaled_dot_product_attention, [&]<typename T>() {
    mask_scores(rows, how, mask.defined() ? mask.data<T>() : nullptr, scores.data<T>(), hidden);
  });
  SG_ASSIGN(const Tensor weights, ops::_softmax::call(context, scores, -1, false));
  const int64_t row_bytes = how.keys * weights.element_size();
  for (int64_t row = 0; row < rows; ++row) {
    if (hidden[row])
      std::memset(weights.bytes() + row * row_bytes, 0, static_cast<size_t>(row_bytes));
  }
  SG_ASSIGN(const Tensor out, ops::matmul::call(context, weights, value));
  return to_dtype(context, out, dtype);
}

}  // namespace sg::kernels
