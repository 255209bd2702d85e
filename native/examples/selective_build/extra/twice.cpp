// twice: adds a tensor to itself by calling an operator of another library.

#include "generated/ops.h"

namespace sg::kernels {

/// extra::twice(Tensor self) -> Tensor
Result<Tensor> twice(Context& context, Tensor self) {
  return ops::add_Tensor::call(context, self, self, Scalar(int64_t{1}));
}

}  // namespace sg::kernels
