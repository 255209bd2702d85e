// scaled_dot_product_attention: softmax(query · keyᵀ · scale + mask) · value, of other operators.

#include "generated/ops.h"
#include "native/operators/kernel.h"

namespace sg::kernels {
namespace {

/// 0 where the mask is true, else −∞: what is added to the scores.
Result<Tensor> as_addend(Context& context, Tensor mask) {
  if (mask.scalar_type() != ScalarType::Bool) return mask;
  SG_ASSIGN(const Tensor zero, context.wrap_number(0.0));
  SG_ASSIGN(const Tensor lowest, context.wrap_number(-HUGE_VAL));
  return ops::where_self::call(context, mask, zero, lowest);
}

/// True where the key does not come after the query.
Result<Tensor> causal_mask(Context& context, int64_t queries, int64_t keys) {
  const int64_t sizes[] = {queries, keys};
  SG_ASSIGN(const Tensor mask, context.empty(ScalarType::Bool, sizes));
  bool* out = mask.data<bool>();
  for (int64_t i = 0; i < queries; ++i) {
    for (int64_t j = 0; j < keys; ++j) *out++ = j <= i;
  }
  return mask;
}

Result<Tensor> add_mask(Context& context, Tensor scores, Tensor mask) {
  SG_ASSIGN(const Tensor addend, as_addend(context, mask));
  SG_ASSIGN(const Tensor sum, ops::add_Tensor::call(context, scores, addend, 1));
  if (!same_sizes(sum.sizes(), scores.sizes())) return context.invalid("the mask is larger than the scores");
  return sum;
}

/// Along the last dimension; zeros where all scores are −∞.
Result<Tensor> safe_softmax(Context& context, Tensor scores) {
  SG_ASSIGN(const Tensor weights, ops::_softmax::call(context, scores, -1, false));
  SG_ASSIGN(const Tensor masked, ops::eq_Scalar::call(context, scores, -HUGE_VAL));
  SG_ASSIGN(const Tensor open, ops::logical_not::call(context, masked));
  SG_ASSIGN(const Tensor any_open, ops::any_dim::call(context, open, -1, true));
  SG_ASSIGN(const Tensor zero, context.wrap_number(0.0));
  return ops::where_self::call(context, any_open, weights, zero);
}

/// Gives each of `heads` queries its head: repeats every one of self's as often as needed.
Result<Tensor> repeat_heads(Context& context, Tensor self, int64_t heads) {
  const int64_t axis = self.dim() - 3;
  const int64_t own = axis < 0 ? 0 : self.size(axis);
  if (own == 0 || heads % own != 0) return context.invalid("the heads of key and value must divide the query's");
  if (own == heads) return self;
  SG_ASSIGN(const Tensor single, ops::unsqueeze::call(context, self, axis + 1));
  Shape sizes(single.sizes());
  sizes[static_cast<size_t>(axis) + 1] = heads / own;
  SG_ASSIGN(const Tensor repeated, ops::expand::call(context, single, sizes, false));
  Shape joined(self.sizes());
  joined[static_cast<size_t>(axis)] = heads;
  return ops::reshape::call(context, repeated, joined);
}

}  // namespace

Result<Tensor> scaled_dot_product_attention(Context& context, Tensor query, Tensor key, Tensor value, Tensor attn_mask,
                                            double dropout_p, bool is_causal, std::optional<double> scale,
                                            bool enable_gqa) {
  const ScalarType dtype = query.scalar_type();
  if (query.dim() < 2 || key.dim() < 2 || value.dim() < 2) return context.invalid("needs two dimensions or more");
  if (key.scalar_type() != dtype || value.scalar_type() != dtype)
    return context.invalid("the arguments differ in dtype");
  if (!is_floating(dtype)) dtype_not_supported(context, dtype);
  if (dropout_p != 0) return context.invalid("drops nothing at random: export the model in evaluation mode");
  if (attn_mask.defined() && attn_mask.scalar_type() != ScalarType::Bool && attn_mask.scalar_type() != dtype &&
      attn_mask.scalar_type() != ScalarType::Float) {
    return context.invalid("the mask must be bool, float or of the query's dtype");
  }
  if (enable_gqa) {
    if (query.dim() < 3) return context.invalid("the query has no heads");
    const int64_t heads = query.size(query.dim() - 3);
    SG_ASSIGN(key, repeat_heads(context, key, heads));
    SG_ASSIGN(value, repeat_heads(context, value, heads));
  }
  // As PyTorch does: what is stored in 16 bits is converted once, not rounded in between.
  const ScalarType wide = compute_type(dtype);
  SG_ASSIGN(query, to_dtype(context, query, wide));
  SG_ASSIGN(key, to_dtype(context, key, wide));
  SG_ASSIGN(value, to_dtype(context, value, wide));
  const double factor = scale.value_or(1 / std::sqrt(static_cast<double>(query.size(query.dim() - 1))));
  SG_ASSIGN(query, ops::mul_Scalar::call(context, query, factor));
  SG_ASSIGN(key, ops::transpose_int::call(context, key, -2, -1));
  SG_ASSIGN(Tensor scores, ops::matmul::call(context, query, key));
  if (is_causal) {
    const int64_t dims = scores.dim();
    SG_ASSIGN(const Tensor mask, causal_mask(context, scores.size(dims - 2), scores.size(dims - 1)));
    SG_ASSIGN(scores, add_mask(context, scores, mask));
  }
  if (attn_mask.defined()) {
    SG_ASSIGN(scores, add_mask(context, scores, attn_mask));
  }
  SG_ASSIGN(const Tensor weights, safe_softmax(context, scores));
  SG_ASSIGN(const Tensor out, ops::matmul::call(context, weights, value));
  return to_dtype(context, out, dtype);
}

}  // namespace sg::kernels
