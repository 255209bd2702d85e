// full, full_like, zeros, ones, scalar_tensor, fill_: tensors filled with one number.

#include <cfloat>

#include "generated/ops.h"
#include "native/operators/kernel.h"

namespace sg::kernels {
namespace {

/// Whether a dtype can hold a number, perhaps rounded. PyTorch rejects numbers that overflow,
/// except infinity, and lets negative integers wrap around in Byte.
bool holds(ScalarType dtype, Scalar value) {
  const double number = value.to_double();
  if (dtype == ScalarType::Bool || dtype == ScalarType::Double) return true;
  if (is_floating(dtype)) {
    const double largest = dtype == ScalarType::Half    ? 65504
                           : dtype == ScalarType::Float ? FLT_MAX
                                                        : 0x1.FEp127;
    return !(std::fabs(number) > largest) || std::isinf(number);
  }
  const bool is_signed = dtype != ScalarType::Byte;
  const double limit = static_cast<double>(uint64_t{1} << (8 * element_size(dtype) - is_signed));
  const double least = is_signed ? -limit : value.is_floating() ? 0 : 1 - limit;
  return number >= least && number <= limit - (dtype != ScalarType::Long);
}

Result<Tensor> fill(Context& context, Tensor self, Scalar value) {
  if (!holds(self.scalar_type(), value)) return context.invalid("the number overflows the dtype");
  SG_TRY(fill_elements(context, self, value));
  return self;
}

}  // namespace

Result<Tensor> full(Context& context, IntArrayRef size, Scalar fill_value,
                    std::optional<ScalarType> dtype, std::optional<int64_t>, std::optional<int64_t>,
                    std::optional<bool>) {
  SG_ASSIGN(const Tensor out, context.empty(dtype.value_or(fill_value.scalar_type()), size));
  return fill(context, out, fill_value);
}

Result<Tensor> full_like(Context& context, Tensor self, Scalar fill_value,
                         std::optional<ScalarType> dtype, std::optional<int64_t>,
                         std::optional<int64_t>, std::optional<bool>, std::optional<int64_t>) {
  SG_ASSIGN(const Tensor out, context.empty(dtype.value_or(self.scalar_type()), self.sizes()));
  return fill(context, out, fill_value);
}

Result<Tensor> zeros(Context& context, IntArrayRef size, std::optional<ScalarType> dtype,
                     std::optional<int64_t> layout, std::optional<int64_t> device,
                     std::optional<bool> pin_memory) {
  return ops::full::call(context, size, Scalar(0), dtype.value_or(ScalarType::Float), layout,
                         device, pin_memory);
}

Result<Tensor> ones(Context& context, IntArrayRef size, std::optional<ScalarType> dtype,
                    std::optional<int64_t> layout, std::optional<int64_t> device,
                    std::optional<bool> pin_memory) {
  return ops::full::call(context, size, Scalar(1), dtype.value_or(ScalarType::Float), layout,
                         device, pin_memory);
}

Result<Tensor> scalar_tensor(Context& context, Scalar s, std::optional<ScalarType> dtype,
                             std::optional<int64_t> layout, std::optional<int64_t> device,
                             std::optional<bool> pin_memory) {
  return ops::full::call(context, {}, s, dtype.value_or(ScalarType::Float), layout, device,
                         pin_memory);
}

/// Allows an expanded tensor, since all of its elements become the same.
Result<Tensor> fill_(Context& context, Tensor self, Scalar value) {
  if (self.impl()->storage->read_only) return context.invalid("would write to a constant");
  return fill(context, self, value);
}

}  // namespace sg::kernels
