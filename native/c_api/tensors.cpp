// Tensors of the C interface: created, borrowed, and copied from the outputs of a program.

#include <cstdlib>
#include <cstring>

#include "native/c_api/errors.h"
#include "native/c_api/handles.h"

using sg::c_api::fail;
using sg::c_api::fail_memory;
using sg::c_api::fail_null;
using sg::c_api::succeed;

namespace {

static_assert(SIZEGUARD_MAX_DIMS == sg::kMaxDims);
static_assert(SIZEGUARD_BFLOAT16 == static_cast<int>(sg::ScalarType::BFloat16));
static_assert(sizeof(sizeguard_tensor) % 16 == 0, "elements are aligned as malloc aligns");

/// Makes a tensor that borrows `data`, or has memory of its own if `data` is null. Returns null if
/// the allocation fails.
sizeguard_tensor* new_tensor(sg::ScalarType dtype, sg::IntArrayRef sizes, int64_t count,
                             char* data) {
  const int64_t owned = data == nullptr ? count * sg::element_size(dtype) : 0;
  auto* tensor = static_cast<sizeguard_tensor*>(
      std::calloc(1, sizeof(sizeguard_tensor) + static_cast<size_t>(owned)));
  if (tensor == nullptr) return nullptr;
  tensor->uses = 1;
  tensor->data = data == nullptr ? reinterpret_cast<char*>(tensor + 1) : data;
  tensor->count = count;
  tensor->dtype = dtype;
  tensor->dim = static_cast<int8_t>(sizes.size());
  for (size_t i = 0; i < sizes.size(); ++i) tensor->sizes[i] = sizes[i];
  return tensor;
}

/// Checks what describes a tensor. `count` becomes the number of its elements.
sizeguard_code check_shape(sizeguard_dtype dtype, const int64_t* sizes, size_t dims, int64_t& count,
                           sizeguard_error* error) {
  if (!sg::is_scalar_type(static_cast<int64_t>(dtype)))
    return fail(error, SIZEGUARD_INVALID, "%d is no dtype", static_cast<int>(dtype));
  if (sizes == nullptr && dims != 0) return fail_null(error, "sizes");
  if (dims > sg::kMaxDims) {
    return fail(error, SIZEGUARD_INVALID, "%zu dimensions are more than %d", dims,
                SIZEGUARD_MAX_DIMS);
  }
  count = sg::count_elements({sizes, dims});
  int64_t bytes;
  // The header of a tensor comes on top.
  if (count < 0 ||
      __builtin_mul_overflow(count, sg::element_size(static_cast<sg::ScalarType>(dtype)), &bytes) ||
      bytes > INT64_MAX - static_cast<int64_t>(sizeof(sizeguard_tensor))) {
    return fail(error, SIZEGUARD_INVALID, "a size is negative, or the sizes are too large");
  }
  return SIZEGUARD_OK;
}

sizeguard_code create(sizeguard_dtype dtype, const int64_t* sizes, size_t dims, char* data,
                      int64_t count, sizeguard_tensor** tensor, sizeguard_error* error) {
  *tensor = new_tensor(static_cast<sg::ScalarType>(dtype), {sizes, dims}, count, data);
  return *tensor == nullptr ? fail_memory(error) : succeed(error);
}

}  // namespace

namespace sg::c_api {

sizeguard_tensor* copy_of(Tensor tensor) {
  sizeguard_tensor* copy =
      new_tensor(tensor.scalar_type(), tensor.sizes(), tensor.numel(), nullptr);
  if (copy == nullptr) return nullptr;
  if (tensor.is_contiguous()) {
    if (copy->count != 0)
      std::memcpy(copy->data, tensor.bytes(), static_cast<size_t>(copy->bytes()));
    return copy;
  }
  const int64_t size = tensor.element_size();
  for (int64_t i = 0; i < copy->count; ++i) {
    std::memcpy(copy->data + i * size, tensor.bytes() + offset_of(tensor, i) * size,
                static_cast<size_t>(size));
  }
  return copy;
}

}  // namespace sg::c_api

extern "C" {

sizeguard_code sizeguard_tensor_create(sizeguard_dtype dtype, const int64_t* sizes, size_t dims,
                                       sizeguard_tensor** tensor, sizeguard_error* error) {
  if (tensor == nullptr) return fail_null(error, "tensor");
  *tensor = nullptr;
  int64_t count;
  const sizeguard_code code = check_shape(dtype, sizes, dims, count, error);
  return code != SIZEGUARD_OK ? code : create(dtype, sizes, dims, nullptr, count, tensor, error);
}

sizeguard_code sizeguard_tensor_borrow(sizeguard_dtype dtype, const int64_t* sizes, size_t dims,
                                       const void* data, size_t bytes, sizeguard_tensor** tensor,
                                       sizeguard_error* error) {
  if (tensor == nullptr) return fail_null(error, "tensor");
  *tensor = nullptr;
  int64_t count;
  const sizeguard_code code = check_shape(dtype, sizes, dims, count, error);
  if (code != SIZEGUARD_OK) return code;
  if (data == nullptr) return fail_null(error, "data");
  const auto element = static_cast<size_t>(sg::element_size(static_cast<sg::ScalarType>(dtype)));
  if (static_cast<size_t>(count) > bytes / element) {
    return fail(error, SIZEGUARD_INVALID, "%zu bytes are too few for %lld elements of %zu", bytes,
                static_cast<long long>(count), element);
  }
  if (reinterpret_cast<uintptr_t>(data) % element != 0)
    return fail(error, SIZEGUARD_INVALID, "data is not aligned to %zu bytes", element);
  // No program writes to an input, so the cast is safe.
  return create(dtype, sizes, dims, static_cast<char*>(const_cast<void*>(data)), count, tensor,
                error);
}

void sizeguard_tensor_free(sizeguard_tensor* tensor) {
  if (tensor != nullptr && --tensor->uses == 0) std::free(tensor);
}

void* sizeguard_tensor_data(const sizeguard_tensor* tensor) {
  return tensor == nullptr ? nullptr : tensor->data;
}

sizeguard_dtype sizeguard_tensor_dtype(const sizeguard_tensor* tensor) {
  return tensor == nullptr ? SIZEGUARD_BYTE : static_cast<sizeguard_dtype>(tensor->dtype);
}

size_t sizeguard_tensor_dims(const sizeguard_tensor* tensor) {
  return tensor == nullptr ? 0 : static_cast<size_t>(tensor->dim);
}

int64_t sizeguard_tensor_size(const sizeguard_tensor* tensor, size_t dim) {
  return dim < sizeguard_tensor_dims(tensor) ? tensor->sizes[dim] : 0;
}

int64_t sizeguard_tensor_count(const sizeguard_tensor* tensor) {
  return tensor == nullptr ? 0 : tensor->count;
}

size_t sizeguard_tensor_bytes(const sizeguard_tensor* tensor) {
  return tensor == nullptr ? 0 : static_cast<size_t>(tensor->bytes());
}

}  // extern "C"
