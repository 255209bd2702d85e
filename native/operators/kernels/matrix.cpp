// mm, bmm, addmm, matmul, linear: matrix products.

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
  for (; n > 0; --n, ++data)
    *data = static_cast<T>(static_cast<Number>(*data) * static_cast<Number>(factor.get<T>(0)));
}

/// Fails unless both are matrices or batches of equal length, their inner sizes agree, and their
/// dtypes are equal.
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

/// The product of two matrices, or of each pair in a batch, as a tensor of dtype `result`. Adds it
/// to `sums`, of the accumulate type, if that is defined.
Result<Tensor> multiply(Context& context, Tensor a, Tensor b, Tensor sums, ScalarType result) {
  const ScalarType wide = accumulate_type(result);
  SG_ASSIGN(a, to_dtype(context, a, wide));
  SG_ASSIGN(b, to_dtype(context, b, wide));
  const int64_t batched = a.dim() - 2;
  const int64_t sizes[] = {a.size(0), a.size(batched), b.size(1 + batched)};
  Tensor out = sums;
  if (!out.defined()) {
    SG_ASSIGN(out, context.empty(wide, {sizes + 1 - batched, static_cast<size_t>(a.dim())}));
  }
  MatrixProduct product{sizes[1],    sizes[2],          a.size(1 + batched),
                        a.bytes(),   a.stride(batched), a.stride(1 + batched),
                        b.bytes(),   b.stride(batched), b.stride(1 + batched),
                        out.bytes(), sizes[2],          sums.defined(),
                        false};
  const int64_t element = element_size(wide);
  for (int64_t left = batched != 0 ? sizes[0] : 1; left > 0; --left) {
    gemm(context, wide, product);
    product.a += a.stride(0) * element;
    product.b += b.stride(0) * element;
    product.c += sizes[1] * sizes[2] * element;
  }
  return to_dtype(context, out, result);
}

void scale(Context& context, Tensor self, Scalar factor) {
  SG_SWITCH_ACCUMULATE(self.scalar_type(), addmm, [&]<typename T>() {
    scale_elements<T>(self.numel(), self.data<T>(), Parameters(factor));
  });
}

/// A matrix with the last dimension of `self` as columns and all others merged as rows.
Result<Tensor> flatten(Context& context, Tensor self) {
  const auto last = static_cast<size_t>(self.dim() - 1);
  const int64_t sizes[] = {count_elements({self.sizes().data(), last}), self.sizes()[last]};
  if (last == 1) return self;
  SG_ASSIGN(const Tensor whole, to_contiguous(context, self, self.scalar_type()));
  return context.view(whole, sizes, {}, 0);
}

/// Broadcasts to the sizes, and copies if necessary.
Result<Tensor> expand_contiguous(Context& context, Tensor self, IntArrayRef sizes) {
  if (same_sizes(self.sizes(), sizes)) return to_contiguous(context, self, self.scalar_type());
  SG_ASSIGN(const Tensor out, context.empty(self.scalar_type(), sizes));
  SG_TRY(copy_elements(context, out, self));
  return out;
}

bool is_one(Scalar number) {
  return number.to_double() == 1;
}

}  // namespace

Result<Tensor> mm(Context& context, Tensor self, Tensor mat2) {
  SG_TRY(check_product(context, self, mat2, 2));
  return multiply(context, self, mat2, Tensor(), self.scalar_type());
}

Result<Tensor> bmm(Context& context, Tensor self, Tensor mat2) {
  SG_TRY(check_product(context, self, mat2, 3));
  return multiply(context, self, mat2, Tensor(), self.scalar_type());
}

/// beta · self + alpha · mat1 · mat2; a factor of zero leaves its term out, NaNs included.
Result<Tensor> addmm(Context& context, Tensor self, Tensor mat1, Tensor mat2, Scalar beta,
                     Scalar alpha) {
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
    SG_ASSIGN(mat1, copy_to_dtype(context, mat1, wide));
    scale(context, mat1, alpha);
  }
  return multiply(context, mat1, mat2, sums, dtype);
}

// Longer than 40 lines: it brings both operands into shape, and then the product.
/// A vector counts as a matrix of one row on the left, of one column on the right, and the result
/// lacks that dimension. All further dimensions are a batch, and they broadcast.
Result<Tensor> matmul(Context& context, Tensor self, Tensor other) {
  Tensor sides[] = {self, other};
  int64_t dims = 2;
  for (int i = 0; i < 2; ++i) {
    Tensor& side = sides[i];
    if (side.dim() == 0) return context.invalid("both arguments need a dimension");
    if (side.dim() == 1) {
      const int64_t sizes[] = {1, side.size(0), 1};
      const int64_t strides[] = {0, side.stride(0), 0};
      SG_ASSIGN(side, context.view(side, {sizes + i, 2}, {strides + i, 2}, 0));
    }
    if (side.dim() > dims) dims = side.dim();
  }
  int64_t sizes[kMaxDims];  // sizes of the batch, then those of each side
  const auto batch_dims = static_cast<size_t>(dims - 2);
  for (int64_t axis = dims; axis > 2; --axis) {
    int64_t size = 1;
    for (const Tensor& side : sides) {
      if (size == 1 && side.dim() >= axis) size = side.size(side.dim() - axis);
    }
    sizes[dims - axis] = size;
  }
  const int64_t count = count_elements({sizes, batch_dims});
  int64_t* const last = sizes + batch_dims;
  Tensor out;
  if (sides[1].dim() == 2) {  // one right side for all rows
    SG_ASSIGN(const Tensor flat, flatten(context, sides[0]));
    SG_ASSIGN(out, ops::mm::call(context, flat, sides[1]));
  } else {
    for (Tensor& side : sides) {
      const int64_t flat[] = {count, side.size(side.dim() - 2), side.size(side.dim() - 1)};
      if (same_sizes(side.sizes(), flat)) continue;
      last[0] = flat[1];
      last[1] = flat[2];
      SG_ASSIGN(side, expand_contiguous(context, side, {sizes, batch_dims + 2}));
      SG_ASSIGN(side, context.view(side, flat, {}, 0));
    }
    SG_ASSIGN(out, ops::bmm::call(context, sides[0], sides[1]));
  }
  size_t at = batch_dims;
  if (self.dim() > 1) sizes[at++] = self.size(self.dim() - 2);
  if (other.dim() > 1) sizes[at++] = other.size(other.dim() - 1);
  return context.view(out, {sizes, at}, {}, 0);
}

/// input · weightᵀ + bias. Merges the leading dimensions of the input into one, so that the product
/// adds the bias.
Result<Tensor> linear(Context& context, Tensor input, Tensor weight, Tensor bias) {
  if (input.dim() == 0 || weight.dim() == 0)
    return context.invalid("both arguments need a dimension");
  const bool folds = input.dim() != 2;
  if (weight.dim() > 1) {
    const int64_t swapped[] = {1, 0};
    SG_ASSIGN(weight, ops::permute::call(context, weight, swapped));
  }
  if (weight.dim() == 1 || (folds && bias.defined() && bias.dim() != 1)) {
    SG_ASSIGN(const Tensor out, ops::matmul::call(context, input, weight));
    if (!bias.defined()) return out;
    SG_ASSIGN(const Tensor sum, ops::add_Tensor::call(context, out, bias, 1));
    if (!same_sizes(sum.sizes(), out.sizes()))
      return context.invalid("the bias is larger than the result");
    return sum;
  }
  Shape sizes(input.sizes());
  sizes[sizes.size - 1] = weight.size(1);
  SG_ASSIGN(const Tensor flat, flatten(context, input));
  const auto product = bias.defined() ? ops::addmm::call(context, bias, flat, weight, 1, 1)
                                      : ops::mm::call(context, flat, weight);
  if (!folds || !product.ok()) return product;
  return context.view(product.value(), sizes, {}, 0);
}

}  // namespace sg::kernels
