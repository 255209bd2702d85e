// Views: new sizes, strides and offsets over the same storage.

#include <utility>

#include "generated/ops.h"
#include "native/operators/kernel.h"

namespace sg::kernels {
namespace {

constexpr int64_t kContiguous = 0;  // c10's code of the memory format

/// The sizes, strides and offset of a new view.
struct Layout {
  Shape sizes;
  Shape strides;
  int64_t offset = 0;  // from the first element of the base

  Layout() = default;
  explicit Layout(Tensor self) : sizes(self.sizes()), strides(self.strides()) {}
  void push_back(int64_t size, int64_t stride) {
    sizes.push_back(size);
    strides.push_back(stride);
  }
};

Result<Tensor> make_view(Context& context, Tensor self, const Layout& layout) {
  return context.view(self, layout.sizes, layout.strides, layout.offset);
}

/// wrap_dim for operators that reject tensors without dimensions.
Result<int64_t> existing_dim(Context& context, Tensor self, int64_t dim) {
  if (self.dim() == 0) return context.invalid("the tensor has no dimensions");
  return wrap_dim(context, dim, self.dim());
}

/// Computes the requested sizes. One of them may be −1 and is inferred from the number of elements.
Status infer_sizes(Context& context, IntArrayRef wanted, int64_t numel, Shape& sizes) {
  if (wanted.size() > kMaxDims) return context.invalid("too many dimensions");
  size_t inferred = wanted.size();
  for (size_t axis = 0; axis < wanted.size(); ++axis) {
    const bool is_hole = wanted[axis] == -1;
    if (is_hole && inferred < wanted.size())
      return context.invalid("only one dimension can be inferred");
    if (is_hole) inferred = axis;
    sizes.push_back(is_hole ? 1 : wanted[axis]);
  }
  int64_t count = count_elements(sizes);
  if (inferred < wanted.size() && count > 0 && numel % count == 0) {
    sizes[inferred] = numel / count;
  } else if (inferred < wanted.size() || count != numel) {
    return context.invalid("the sizes do not fit the number of elements");
  }
  return {};
}

/// Computes the strides of a view with other sizes. Returns false if this requires a copy.
bool view_strides(Tensor self, const Shape& sizes, Shape& strides) {
  // Walks runs of dimensions that are contiguous in memory, from the last. Dimensions of the view
  // must fill each run.
  strides.size = sizes.size;
  size_t left = sizes.size;
  int64_t run = 1;
  int64_t stride = 1;  // from one element of the run to the next
  for (int64_t axis = self.dim() - 1; axis >= 0; --axis) {
    if (run == 1) stride = self.stride(axis);
    run *= self.size(axis);
    if (axis > 0 && (self.size(axis - 1) == 1 || self.stride(axis - 1) == run * stride)) continue;
    int64_t filled = 1;
    while (left > 0 && (filled < run || sizes[left - 1] == 1)) {
      --left;
      strides[left] = filled * stride;
      filled *= sizes[left];
    }
    if (filled != run) return false;
    run = 1;
  }
  while (left > 0) strides[--left] = 1;
  return true;
}

Result<Tensor> select_index(Context& context, Tensor self, int64_t axis, int64_t index) {
  Layout layout;
  for (int64_t other = 0; other < self.dim(); ++other) {
    if (other != axis) layout.push_back(self.size(other), self.stride(other));
  }
  layout.offset = index * self.stride(axis);
  return make_view(context, self, layout);
}

/// The stride of a dimension before `axis`. The product overflows for no tensor but an empty one.
int64_t outer_stride(Tensor self, int64_t axis) {
  int64_t stride = 0;
  return __builtin_mul_overflow(self.size(axis), self.stride(axis), &stride) ? 0 : stride;
}

/// An uninitialised list in the Context's memory; null if no memory is left.
Tensor* make_list(Context& context, int64_t size) {
  if (size > INT32_MAX) {
    context.invalid("too many tensors");
    return nullptr;
  }
  return static_cast<Tensor*>(context.allocate(size * static_cast<int64_t>(sizeof(Tensor))));
}

/// Splits a tensor into `count` parts of size `part` along an axis. The last one may be smaller.
Result<TensorList> split_equally(Context& context, Tensor self, int64_t part, int64_t count,
                                 int64_t axis) {
  if (count > INT32_MAX) return context.invalid("too many tensors");
  auto* sizes =
      static_cast<int64_t*>(context.allocate(count * static_cast<int64_t>(sizeof(int64_t))));
  if (sizes == nullptr) return Failed{};
  for (int64_t i = 0; i < count; ++i) sizes[i] = part;
  sizes[count - 1] = self.size(axis) - part * (count - 1);
  return ops::split_with_sizes::call(context, self, {sizes, static_cast<size_t>(count)}, axis);
}

}  // namespace

Result<Tensor> view(Context& context, Tensor self, IntArrayRef size) {
  Layout layout;
  SG_TRY(infer_sizes(context, size, self.numel(), layout.sizes));
  if (self.numel() == 0) return context.view(self, layout.sizes, {}, 0);
  if (!view_strides(self, layout.sizes, layout.strides)) {
    return context.invalid("no view has this shape: the tensor is not contiguous; use reshape");
  }
  return make_view(context, self, layout);
}

Result<Tensor> expand(Context& context, Tensor self, IntArrayRef size, bool) {
  const int64_t missing = static_cast<int64_t>(size.size()) - self.dim();
  if (missing < 0 || size.size() > kMaxDims) return context.invalid("wrong number of dimensions");
  Layout layout;
  for (int64_t axis = 0; axis < missing + self.dim(); ++axis) {
    const int64_t wanted = size[static_cast<size_t>(axis)];
    const int64_t own = axis - missing;
    if (own < 0) {
      layout.push_back(wanted, 0);
    } else if (wanted == -1 || wanted == self.size(own)) {
      layout.push_back(self.size(own), self.stride(own));
    } else if (self.size(own) == 1) {
      layout.push_back(wanted, 0);
    } else {
      return context.invalid("only dimensions of size 1 expand");
    }
  }
  return make_view(context, self, layout);
}

Result<Tensor> permute(Context& context, Tensor self, IntArrayRef dims) {
  if (static_cast<int64_t>(dims.size()) != self.dim())
    return context.invalid("wrong number of dimensions");
  SG_TRY(wrap_dims(context, dims, self));
  Layout layout;
  for (const int64_t dim : dims) {
    const int64_t axis = dim < 0 ? dim + self.dim() : dim;
    layout.push_back(self.size(axis), self.stride(axis));
  }
  return make_view(context, self, layout);
}

Result<Tensor> transpose(Context& context, Tensor self, int64_t dim0, int64_t dim1) {
  SG_ASSIGN(const int64_t a, wrap_dim(context, dim0, self.dim()));
  SG_ASSIGN(const int64_t b, wrap_dim(context, dim1, self.dim()));
  if (a == b) return self;
  Layout layout(self);
  std::swap(layout.sizes.data[a], layout.sizes.data[b]);
  std::swap(layout.strides.data[a], layout.strides.data[b]);
  return make_view(context, self, layout);
}

Result<Tensor> t(Context& context, Tensor self) {
  if (self.dim() > 2) return context.invalid("a matrix has two dimensions at most");
  return ops::transpose_int::call(context, self, 0, self.dim() < 2 ? 0 : 1);
}

Result<Tensor> select(Context& context, Tensor self, int64_t dim, int64_t index) {
  SG_ASSIGN(const int64_t axis, existing_dim(context, self, dim));
  const int64_t size = self.size(axis);
  if (index < -size || index >= size) return context.invalid("index out of range");
  return select_index(context, self, axis, index < 0 ? index + size : index);
}

Result<Tensor> slice(Context& context, Tensor self, int64_t dim, std::optional<int64_t> start,
                     std::optional<int64_t> end, int64_t step) {
  SG_ASSIGN(const int64_t axis, existing_dim(context, self, dim));
  if (step <= 0) return context.invalid("the step must be positive");
  const int64_t size = self.size(axis);
  const auto position = [size](int64_t given, int64_t least) {
    if (given < 0) given += size;
    return given < least ? least : given > size ? size : given;
  };
  const int64_t first = position(start.value_or(0), 0);
  const int64_t length = position(end.value_or(size), first) - first;
  Layout layout(self);
  layout.sizes.data[axis] = length / step + (length % step != 0);
  // One element allows any step, and the product could overflow.
  if (length > step) layout.strides.data[axis] *= step;
  layout.offset = first * self.stride(axis);
  return make_view(context, self, layout);
}

Result<Tensor> squeeze(Context& context, Tensor self, IntArrayRef dim) {
  if (dim.empty()) return self;
  SG_ASSIGN(const DimMask dims, wrap_dims(context, dim, self));
  Layout layout;
  for (int64_t axis = 0; axis < self.dim(); ++axis) {
    if (self.size(axis) != 1 || ((dims >> axis) & 1) == 0)
      layout.push_back(self.size(axis), self.stride(axis));
  }
  return make_view(context, self, layout);
}

Result<Tensor> squeeze_dim(Context& context, Tensor self, int64_t dim) {
  return ops::squeeze_dims::call(context, self, {&dim, 1});
}

Result<Tensor> squeeze_all(Context& context, Tensor self) {
  Shape dims;
  for (int64_t axis = 0; axis < self.dim(); ++axis) dims.push_back(axis);
  return ops::squeeze_dims::call(context, self, dims);
}

Result<Tensor> unsqueeze(Context& context, Tensor self, int64_t dim) {
  if (self.dim() == kMaxDims) return context.invalid("too many dimensions");
  SG_ASSIGN(const int64_t place, wrap_dim(context, dim, self.dim() + 1));
  Layout layout;
  for (int64_t axis = 0; axis <= self.dim(); ++axis) {
    if (axis == place) layout.push_back(1, axis == self.dim() ? 1 : outer_stride(self, axis));
    if (axis < self.dim()) layout.push_back(self.size(axis), self.stride(axis));
  }
  return make_view(context, self, layout);
}

Result<TensorList> unbind(Context& context, Tensor self, int64_t dim) {
  SG_ASSIGN(const int64_t axis, existing_dim(context, self, dim));
  Tensor* parts = make_list(context, self.size(axis));
  if (parts == nullptr) return Failed{};
  for (int64_t i = 0; i < self.size(axis); ++i) {
    SG_ASSIGN(parts[i], select_index(context, self, axis, i));
  }
  return TensorList(parts, static_cast<size_t>(self.size(axis)));
}

Result<TensorList> split_with_sizes(Context& context, Tensor self, IntArrayRef split_sizes,
                                    int64_t dim) {
  SG_ASSIGN(const int64_t axis, existing_dim(context, self, dim));
  Tensor* parts = make_list(context, static_cast<int64_t>(split_sizes.size()));
  if (parts == nullptr) return Failed{};
  Layout layout(self);
  int64_t left = self.size(axis);
  for (size_t i = 0; i < split_sizes.size(); ++i) {
    if (split_sizes[i] < 0 || split_sizes[i] > left)
      return context.invalid("the parts do not add up to the whole");
    layout.offset = (self.size(axis) - left) * self.stride(axis);
    layout.sizes.data[axis] = split_sizes[i];
    left -= split_sizes[i];
    SG_ASSIGN(parts[i], make_view(context, self, layout));
  }
  if (left != 0) return context.invalid("the parts do not add up to the whole");
  return TensorList(parts, split_sizes.size());
}

/// The last part takes the rest.
Result<TensorList> split(Context& context, Tensor self, int64_t split_size, int64_t dim) {
  SG_ASSIGN(const int64_t axis, existing_dim(context, self, dim));
  const int64_t size = self.size(axis);
  if (split_size < 0 || (split_size == 0 && size != 0))
    return context.invalid("parts must have a positive size");
  const int64_t count = size == 0 ? 1 : size / split_size + (size % split_size != 0);
  return split_equally(context, self, split_size, count, axis);
}

/// Chooses the size of the parts that gives `chunks` of them. The result may have fewer.
Result<TensorList> chunk(Context& context, Tensor self, int64_t chunks, int64_t dim) {
  SG_ASSIGN(const int64_t axis, existing_dim(context, self, dim));
  if (chunks <= 0) return context.invalid("the number of chunks must be positive");
  const int64_t size = self.size(axis);
  const int64_t part = size / chunks + (size % chunks != 0);
  return split_equally(context, self, part, part == 0 ? chunks : size / part + (size % part != 0),
                       axis);
}

Result<Tensor> reshape(Context& context, Tensor self, IntArrayRef shape) {
  Layout layout;
  SG_TRY(infer_sizes(context, shape, self.numel(), layout.sizes));
  if (self.numel() != 0 && !view_strides(self, layout.sizes, layout.strides)) {
    SG_ASSIGN(self, ops::clone::call(context, self, kContiguous));
  }
  return ops::view::call(context, self, layout.sizes);
}

Result<Tensor> flatten(Context& context, Tensor self, int64_t start_dim, int64_t end_dim) {
  SG_ASSIGN(const int64_t first, wrap_dim(context, start_dim, self.dim()));
  SG_ASSIGN(const int64_t last, wrap_dim(context, end_dim, self.dim()));
  if (first > last) return context.invalid("start_dim comes after end_dim");
  if (first == last && self.dim() > 0) return self;
  Shape shape;
  for (int64_t axis = 0; axis < self.dim(); ++axis) {
    if (axis > first && axis <= last) {
      shape[shape.size - 1] *= self.size(axis);
    } else {
      shape.push_back(self.size(axis));
    }
  }
  if (self.dim() == 0) shape.push_back(1);
  return ops::reshape::call(context, self, shape);
}

Result<Tensor> alias(Context&, Tensor self) {
  return self;
}

}  // namespace sg::kernels
