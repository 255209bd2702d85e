// Copies and conversions.

#include "native/operators/copy.h"

#include <type_traits>

#include "native/selective/dtype_switch.h"
#include "selected/copy.h"

namespace sg {
namespace {

constexpr int64_t kChunk = 128;

/// The type that a dtype widens to: int64_t for integers, double for the others, both exact.
template <typename T>
using Wide = std::conditional_t<std::is_integral_v<T> && !std::is_same_v<T, bool>, int64_t, double>;

template <typename T>
SG_DTYPE_BODY void load_row(int64_t n, const char* source, int64_t stride, void* wide) {
  auto* to = static_cast<Wide<T>*>(wide);
  for (; n > 0; --n, source += stride)
    *to++ = static_cast<Wide<T>>(*reinterpret_cast<const T*>(source));
}

template <typename T>
SG_DTYPE_BODY void store_row(int64_t n, char* target, int64_t stride, const void* wide) {
  const auto* from = static_cast<const Wide<T>*>(wide);
  for (; n > 0; --n, target += stride) *reinterpret_cast<T*>(target) = static_cast<T>(*from++);
}

/// Copies elements by their width alone; the code is independent of the dtype.
template <typename Word>
void copy_words(int64_t n, const char* source, int64_t source_stride, char* target,
                int64_t target_stride) {
  for (; n > 0; --n, source += source_stride, target += target_stride) {
    *reinterpret_cast<Word*>(target) = *reinterpret_cast<const Word*>(source);
  }
}

void copy_row(int64_t size, int64_t n, const char* source, int64_t source_stride, char* target,
              int64_t target_stride) {
  if (source_stride == size && target_stride == size) {
    std::memcpy(target, source, static_cast<size_t>(n * size));
  } else if (size == 1) {
    copy_words<uint8_t>(n, source, source_stride, target, target_stride);
  } else if (size == 2) {
    copy_words<uint16_t>(n, source, source_stride, target, target_stride);
  } else if (size == 4) {
    copy_words<uint32_t>(n, source, source_stride, target, target_stride);
  } else {
    copy_words<uint64_t>(n, source, source_stride, target, target_stride);
  }
}

bool is_number(ScalarType dtype) {
  return is_floating(dtype) || dtype == ScalarType::Bool;
}

/// A number out of range becomes the smallest integer, as on the hardware of PyTorch's CPUs.
int64_t truncate(double value) {
  return value > -0x1p63 && value < 0x1p63 ? static_cast<int64_t>(value) : INT64_MIN;
}

}  // namespace

Converter::Converter(Context& context, ScalarType from, ScalarType to)
    : load_(nullptr),
      store_(nullptr),
      widens_to_number_(is_number(from)),
      narrows_number_(is_number(to)),
      rounds_to_float_(compute_type(to) == ScalarType::Float),
      copied_size_(from == to ? static_cast<int8_t>(element_size(from)) : 0) {
  if (copied_size_ != 0) return;
  if constexpr (!selected::copy.any()) dtype_not_selected(context, from);
  SG_SWITCH_STORED(from, copy, [&]<typename T>() { load_ = load_row<T>; });
  SG_SWITCH_STORED(to, copy, [&]<typename T>() { store_ = store_row<T>; });
}

void Converter::operator()(int64_t n, const char* source, int64_t source_stride, char* target,
                           int64_t target_stride) const {
  if (copied_size_ != 0 || !selected::copy.any())
    return copy_row(copied_size_, n, source, source_stride, target, target_stride);
  union {
    double numbers[kChunk];
    int64_t integers[kChunk];
  } wide;
  while (n > 0) {
    const int64_t chunk = n < kChunk ? n : kChunk;
    load_(chunk, source, source_stride, &wide);
    if (widens_to_number_ && !narrows_number_) {
      for (int64_t i = 0; i < chunk; ++i) wide.integers[i] = truncate(wide.numbers[i]);
    } else if (!widens_to_number_ && narrows_number_) {
      // Round once to the target's precision, as PyTorch does; a double has room for every float.
      for (int64_t i = 0; i < chunk; ++i) {
        const int64_t integer = wide.integers[i];
        wide.numbers[i] =
            rounds_to_float_ ? static_cast<float>(integer) : static_cast<double>(integer);
      }
    }
    store_(chunk, target, target_stride, &wide);
    n -= chunk;
    source += chunk * source_stride;
    target += chunk * target_stride;
  }
}

Status copy_elements(Context& context, Tensor target, Tensor source) {
  Shape shape;
  const Tensor both[] = {target, source};
  SG_TRY(broadcast(context, both, shape));
  if (!same_sizes(shape, target.sizes())) return context.invalid("shapes do not broadcast");
  const Converter convert(context, source.scalar_type(), target.scalar_type());
  Rows rows(shape);
  rows.add(target);
  rows.add(source);
  for (rows.start(); !rows.done(); rows.next()) {
    convert(rows.length(), rows.data[1], rows.strides[1], rows.data[0], rows.strides[0]);
  }
  return {};
}

Result<Tensor> copy_to_dtype(Context& context, Tensor self, ScalarType dtype) {
  SG_ASSIGN(const Tensor out, context.empty(dtype, self.sizes()));
  SG_TRY(copy_elements(context, out, self));
  return out;
}

Scalar wrapped_number(Tensor tensor) {
  switch (tensor.scalar_type()) {
    case ScalarType::Double:
      return *tensor.data<double>();
    case ScalarType::Bool:
      return *tensor.data<bool>();
    default:
      return *tensor.data<int64_t>();
  }
}

Result<Tensor> number_as(Context& context, Scalar number, ScalarType dtype) {
  SG_ASSIGN(const Tensor out, context.empty(dtype, {}));
  const int64_t integer = number.to_int();
  switch (dtype) {
    case ScalarType::Float:
      *out.data<float>() = number.to_float();
      break;
    case ScalarType::Double:
      *out.data<double>() = number.to_double();
      break;
    case ScalarType::Bool:
      *out.data<bool>() = number.to_double() != 0;
      break;
    default:
      // On a little-endian machine, the number's low bytes come first.
      std::memcpy(out.bytes(), &integer, static_cast<size_t>(out.element_size()));
  }
  return out;
}

Result<Tensor> to_dtype(Context& context, Tensor self, ScalarType dtype) {
  return self.scalar_type() == dtype ? self : copy_to_dtype(context, self, dtype);
}

Result<Tensor> to_contiguous(Context& context, Tensor self, ScalarType dtype) {
  return self.scalar_type() == dtype && self.is_contiguous() ? self
                                                             : copy_to_dtype(context, self, dtype);
}

Result<Tensor> empty_like(Context& context, Tensor self) {
  return context.empty(self.scalar_type(), self.sizes());
}

namespace {

/// The stride of an operand along a dimension, counted from the last; 0 if it is broadcast.
[[gnu::noinline]] int64_t step_along(Tensor operand, int64_t from_last, int64_t size) {
  const int64_t axis = operand.dim() - 1 - from_last;
  return axis < 0 || operand.size(axis) != size ? 0 : operand.stride(axis);
}

}  // namespace

// Longer than 40 lines: the comparison of the sort needs all operands.
Result<Tensor> empty_in_order(Context& context, ScalarType dtype, IntArrayRef sizes,
                              Span<const Tensor> operands) {
  SG_ASSIGN(const Tensor out, context.empty(dtype, sizes));
  bool contiguous = true;
  for (const Tensor& operand : operands) contiguous &= operand.is_contiguous();
  if (contiguous) return out;
  // An insertion sort of the dimensions, counted from the last, by the steps of the operands along
  // them. For two dimensions, the first operand that is broadcast along neither decides. If its
  // steps are equal, the step of the smaller dimension counts as smaller.
  const auto dims = static_cast<int64_t>(sizes.size());
  const int64_t* last = sizes.end() - 1;
  int64_t order[kMaxDims];
  for (int64_t i = 0; i < dims; ++i) {
    order[i] = i;
    int64_t at = i;
    for (int64_t before = i - 1; before >= 0; --before) {
      const int64_t a = order[before];
      const int64_t b = order[at];
      int64_t larger = 0;
      for (const Tensor& operand : operands) {
        const int64_t of_a = step_along(operand, a, last[-a]);
        const int64_t of_b = step_along(operand, b, last[-b]);
        if (of_a == 0 || of_b == 0) continue;
        larger = of_a == of_b ? last[-a] > last[-b] : of_a - of_b;
        if (larger != 0) break;
      }
      if (larger < 0) break;
      if (larger == 0) continue;
      order[before] = b;
      order[at] = a;
      at = before;
    }
  }
  Shape strides;
  strides.size = sizes.size();
  int64_t stride = 1;
  for (int64_t i = 0; i < dims; ++i) {
    strides.data[dims - 1 - order[i]] = stride;
    if (last[-order[i]] > 1) stride *= last[-order[i]];
  }
  return context.view(out, sizes, strides, 0);
}

Status fill_elements(Context& context, Tensor self, Scalar value) {
  SG_ASSIGN(const Tensor number, number_as(context, value, compute_type(self.scalar_type())));
  return copy_elements(context, self, number);
}

Status check_writable(Context& context, Tensor self) {
  if (self.impl()->storage->read_only) return context.invalid("would write to a constant");
  for (int64_t axis = 0; axis < self.dim(); ++axis) {
    if (self.stride(axis) == 0 && self.size(axis) > 1)
      return context.invalid("would write to an expanded tensor");
  }
  return {};
}

}  // namespace sg
