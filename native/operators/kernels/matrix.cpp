// mm, bmm, addmm, matmul, linear: products of matrices.

#include <type_traits>

#include "generated/ops.h"
#include "native/operators/gemm.h"
#include "native/operators/kernel.h"
#include "selected/addmm.h"

namespace sg::kernels {
namespace {

/// Integers wrap.
template <typename T>
SG_DTYPE_BODY void scale_elements(int64_t n, T* data, const Parameters& factor) {
  using Number = std::conditional_t<std::is_integral_v<T>, uint64_t, T>;
  for (; n > 0; --n, ++data) *data = static_cast<T>(static_cast<Number>(*data) * static_cast<Number>(factor.get<T>(0)));
}

/// Failed unless both are matrices, or batches of as many, whose inner sizes agree.
Status check_product(Context& context, Tensor a, Tensor b, int64_t dims) {
  if (a.dim() != dims || b.dim() != dims) return context.invalid("wrong number of dimensions");
  if (a.size(dims - 1) != b.size(dims - 2) || (dims == 3 && a.size(0) != b.size(0))) {
    return context.invalid("the shapes do not fit a matrix product");
  }
  if (a.scalar_type() != b.scalar_type()) return context.invalid("the matrices differ in dtype");
  if (a.scalar_type() == ScalarType::Bool && a.numel() != 0 && b.numel() != 0) {
    dtype_not_supported(context, ScalarType::Bool);
  }
  return {};
}

/// The product of two matrices, or of each two of a batch: added to `sums` if that is defined. Its dtype is the
/// accumulate type; the result has that of the operands.
Result<Tensor> multiply(Context& context, Tensor a, Tensor b, Tensor sums) {
  const ScalarType dtype = a.scalar_type();
  const ScalarType wide = accumulate_type(dtype);
  const bool batched = a.dim() == 3;
  const int64_t sizes[] = {a.size(0), a.size(batched), b.size(1 + batched)};
  Tensor out = sums;
  if (!out.defined()) {
    SG_ASSIGN(out, context.empty(wide, {sizes + !batched, size_t{2} + batched}));
  }
  const int64_t depth = a.size(1 + batched);
  SG_ASSIGN(a, to_dtype(context, a, wide));
  SG_ASSIGN(b, to_dtype(context, b, wide));
  MatrixProduct product{sizes[1],    sizes[2],          depth,
                        a.bytes(),   a.stride(batched), a.stride(1 + batched),
                        b.bytes(),   b.stride(batched), b.stride(1 + batched),
                        out.bytes(), sizes[2],          sums.defined(),
                        false};
  const int64_t size = element_size(wide);
  for (int64_t left = batched ? sizes[0] : 1; left > 0; --left) {
    gemm(context, wide, product);
    if (!batched) break;
    product.a += a.stride(0) * size;
    product.b += b.stride(0) * size;
    product.c += sizes[1] * sizes[2] * size;
  }
  return to_dtype(context, out, dtype);
}

void scale(Context& context, Tensor self, Scalar factor) {
  SG_SWITCH_ACCUMULATE(self.scalar_type(), addmm,
                       [&]<typename T>() { scale_elements<T>(self.numel(), self.data<T>(), Parameters(factor)); });
}

bool is_one(Scalar number) {
  return number.to_double() == 1;
}

}  // namespace

Result<Tensor> mm(Context& context, Tensor self, Tensor mat2) {
  SG_TRY(check_product(context, self, mat2, 2));
  return multiply(context, self, mat2, Tensor());
}

Result<Tensor> bmm(Context& context, Tensor self, Tensor mat2) {
  SG_TRY(check_product(context, self, mat2, 3));
  return multiply(context, self, mat2, Tensor());
}

/// beta · self + alpha · mat1 · mat2; a factor of zero leaves its term out, NaNs included.
Result<Tensor> addmm(Context& context, Tensor self, Tensor mat1, Tensor mat2, Scalar beta, Scalar alpha) {
  SG_TRY(check_product(context, mat1, mat2, 2));
  const ScalarType dtype = mat1.scalar_type();
  if (self.scalar_type() != dtype) return context.invalid("the matrices differ in dtype");
  const ScalarType wide = accumulate_type(dtype);
  const int64_t sizes[] = {mat1.size(0), mat2.size(1)};
  SG_ASSIGN(const Tensor sums, context.empty(wide, sizes));
  SG_TRY(copy_elements(context, sums, self));
  if (beta.to_double() == 0) {
    std::memset(sums.bytes(), 0, static_cast<size_t>(sums.numel() * sums.element_size()));
  } else if (!is_one(beta)) {
    scale(context, sums, beta);
  }
  if (alpha.to_double() == 0 && wide == dtype) return sums;
  if (!is_one(alpha)) {
    SG_ASSIGN(const Tensor scaled, copy_to_dtype(context, mat1, wide));
    scale(context, scaled, alpha);
    SG_ASSIGN(mat2, to_dtype(context, mat2, wide));
    SG_ASSIGN(const Tensor out, multiply(context, scaled, mat2, sums));
    return to_dtype(context, out, dtype);
  }
  return multiply(context, mat1, mat2, sums);
}

/// A vector counts as a matrix of one row on the left, of one column on the right, and the result lacks that dimension.
/// What more dimensions there are is a batch, broadcast.
Result<Tensor> matmul(Context& context, Tensor self, Tensor other) {
  if (self.dim() == 0 || other.dim() == 0) return context.invalid("both arguments need a dimension");
  Tensor a = self;
  Tensor b = other;
  if (a.dim() == 1) {
    SG_ASSIGN(a, ops::unsqueeze::call(context, a, 0));
  }
  if (b.dim() == 1) {
    SG_ASSIGN(b, ops::unsqueeze::call(context, b, 1));
  }
  const int64_t rows = a.size(a.dim() - 2);
  const int64_t depth = a.size(a.dim() - 1);
  const int64_t columns = b.size(b.dim() - 1);
  const int64_t dims = a.dim() > b.dim() ? a.dim() : b.dim();
  Shape batch;
  for (int64_t axis = dims; axis > 2; --axis) {
    const int64_t size = a.dim() < axis ? 1 : a.size(a.dim() - axis);
    batch.push_back(size == 1 && b.dim() >= axis ? b.size(b.dim() - axis) : size);
  }
  Shape outer = batch;
  outer.push_back(rows);
  Tensor out;
  if (b.dim() == 2) {  // one right side for all rows
    const int64_t folded[] = {count_elements(outer), depth};
    if (a.dim() > 2) {
      SG_ASSIGN(a, ops::reshape::call(context, a, folded));
    }
    SG_ASSIGN(out, ops::mm::call(context, a, b));
  } else {
    Tensor* const sides[] = {&a, &b};
    for (Tensor* side : sides) {
      Shape sizes = batch;
      sizes.push_back(side->size(side->dim() - 2));
      sizes.push_back(side->size(side->dim() - 1));
      if (!same_sizes(side->sizes(), sizes)) {
        SG_ASSIGN(*side, ops::expand::call(context, *side, sizes, false));
      }
      const int64_t flat[] = {count_elements(batch), sizes[sizes.size - 2], sizes[sizes.size - 1]};
      if (dims != 3) {
        SG_ASSIGN(*side, ops::reshape::call(context, *side, flat));
      }
    }
    SG_ASSIGN(out, ops::bmm::call(context, a, b));
  }
  Shape sizes = self.dim() > 1 ? outer : batch;
  if (other.dim() > 1) sizes.push_back(columns);
  return same_sizes(out.sizes(), sizes) ? out : ops::view::call(context, out, sizes);
}

/// input · weightᵀ + bias. Leading dimensions of the input are folded to one, so that the bias is added by the product.
Result<Tensor> linear(Context& context, Tensor input, Tensor weight, Tensor bias) {
  if (input.dim() == 0 || weight.dim() == 0 || weight.dim() > 2) return context.invalid("wrong number of dimensions");
  const int64_t last = input.dim() - 1;
  Shape sizes(input.sizes());
  sizes.size = static_cast<size_t>(last);
  const int64_t folded[] = {count_elements(sizes), input.size(last)};
  Tensor matrix = weight;
  if (weight.dim() == 2) {
    sizes.push_back(weight.size(0));
  } else {  // a single row, which the result lacks
    if (bias.defined() && last == 1) return context.invalid("the weight must be a matrix");
    SG_ASSIGN(matrix, ops::unsqueeze::call(context, weight, 0));
  }
  if (last != 1) {
    SG_ASSIGN(input, ops::reshape::call(context, input, folded));
  }
  const int64_t swapped[] = {1, 0};
  SG_ASSIGN(matrix, ops::permute::call(context, matrix, swapped));
  Tensor out;
  if (bias.defined()) {
    const int64_t flat[] = {folded[0], matrix.size(1)};
    if (last > 1 && (bias.dim() > 1 || weight.dim() == 1)) {  // meets the result's own dimensions, not the folded ones
      SG_ASSIGN(bias, ops::expand::call(context, bias, sizes, false));
      SG_ASSIGN(bias, ops::reshape::call(context, bias, flat));
    }
    SG_ASSIGN(out, ops::addmm::call(context, bias, input, matrix, 1, 1));
  } else {
    SG_ASSIGN(out, ops::mm::call(context, input, matrix));
  }
  return same_sizes(out.sizes(), sizes) ? out : ops::view::call(context, out, sizes);
}

}  // namespace sg::kernels
