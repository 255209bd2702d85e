// Operators on sizes, numbers and lists, and assertions; registered by hand.

#include <cmath>

#include "native/operators/copy.h"
#include "native/operators/hand_registration.h"

namespace sg::kernels {
namespace {

// Tensors' sizes

/// wrap_dim for these operators, which do not treat a tensor without dimensions as one-dimensional.
Result<int64_t> existing_dim(Context& context, Tensor self, int64_t dim) {
  if (self.dim() == 0) return context.invalid("the tensor has no dimensions");
  return wrap_dim(context, dim, self.dim());
}

Result<int64_t> sym_size(Context& context, Tensor self, int64_t dim) {
  SG_ASSIGN(const int64_t axis, existing_dim(context, self, dim));
  return self.size(axis);
}

Result<int64_t> sym_stride(Context& context, Tensor self, int64_t dim) {
  SG_ASSIGN(const int64_t axis, existing_dim(context, self, dim));
  return self.stride(axis);
}

Result<int64_t> sym_numel(Context&, Tensor self) {
  return self.numel();
}

// Tensors' only elements

/// Kernels share this function. If one called another kernel, it would keep the code of an
/// operator that was not selected.
Result<Scalar> only_element(Context& context, Tensor self) {
  if (self.numel() != 1) return context.invalid("only a tensor of one element is a number");
  const ScalarType dtype = self.scalar_type();
  if (is_floating(dtype)) {
    SG_ASSIGN(const Tensor wide, to_dtype(context, self, ScalarType::Double));
    return Scalar(*wide.data<double>());
  }
  if (dtype == ScalarType::Bool) return Scalar(*self.data<bool>());
  SG_ASSIGN(const Tensor wide, to_dtype(context, self, ScalarType::Long));
  return Scalar(*wide.data<int64_t>());
}

Result<Scalar> item(Context& context, Tensor self) {
  return only_element(context, self);
}

Result<bool> to_bool(Context& context, Tensor a) {
  SG_ASSIGN(const Scalar number, only_element(context, a));
  return number.to_double() != 0;
}

Result<int64_t> to_int(Context& context, Tensor a) {
  SG_ASSIGN(const Scalar number, only_element(context, a));
  const double value = number.to_double();
  if (number.is_floating() && !(value >= -0x1p63 && value < 0x1p63))
    return context.invalid("no integer holds it");
  return number.to_int();
}

Result<double> to_float(Context& context, Tensor a) {
  SG_ASSIGN(const Scalar number, only_element(context, a));
  return number.to_double();
}

// Lists

Result<Value> list_item(Context& context, const Value& list, int64_t index) {
  const int64_t size = list.size;
  if (index < 0) index += size;
  if (index < 0 || index >= size) return context.invalid("list index out of range");
  switch (list.tag) {
    case Tag::IntList:
      return Value(list.integers[index]);
    case Tag::DoubleList:
      return Value(list.numbers[index]);
    case Tag::BoolList:
      return Value(list.bools[index]);
    default:
      return Value(list.tensors[index]);
  }
}

Result<int64_t> list_length(Context&, const Value& list) {
  return static_cast<int64_t>(list.size);
}

// Integers: they wrap around, and divide towards minus infinity

int64_t wrapped(uint64_t value) {
  return static_cast<int64_t>(value);
}

Result<int64_t> int_add(Context&, int64_t a, int64_t b) {
  return wrapped(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}

Result<int64_t> int_sub(Context&, int64_t a, int64_t b) {
  return wrapped(static_cast<uint64_t>(a) - static_cast<uint64_t>(b));
}

Result<int64_t> int_mul(Context&, int64_t a, int64_t b) {
  return wrapped(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
}

Result<int64_t> int_neg(Context&, int64_t a) {
  return wrapped(-static_cast<uint64_t>(a));
}

Result<int64_t> int_remainder(Context& context, int64_t a, int64_t b) {
  if (b == 0) return context.invalid("division by zero");
  if (b == -1) return 0;  // the smallest integer by -1 would trap
  const int64_t rest = a % b;
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

Result<int64_t> int_floordiv(Context& context, int64_t a, int64_t b) {
  if (b == 0) return context.invalid("division by zero");
  if (b == -1) return wrapped(-static_cast<uint64_t>(a));
  return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

/// Division by zero gives infinity, as in PyTorch; it is an error in Python.
Result<double> int_div(Context&, int64_t a, int64_t b) {
  return static_cast<double>(a) / static_cast<double>(b);
}

Result<int64_t> int_max(Context&, int64_t a, int64_t b) {
  return a > b ? a : b;
}

Result<int64_t> int_min(Context&, int64_t a, int64_t b) {
  return a < b ? a : b;
}

Result<bool> int_eq(Context&, int64_t a, int64_t b) {
  return a == b;
}

Result<bool> int_ne(Context&, int64_t a, int64_t b) {
  return a != b;
}

Result<bool> int_lt(Context&, int64_t a, int64_t b) {
  return a < b;
}

Result<bool> int_le(Context&, int64_t a, int64_t b) {
  return a <= b;
}

Result<bool> int_gt(Context&, int64_t a, int64_t b) {
  return a > b;
}

Result<bool> int_ge(Context&, int64_t a, int64_t b) {
  return a >= b;
}

// Floats and bools

Result<double> float_add(Context&, double a, double b) {
  return a + b;
}

Result<double> float_sub(Context&, double a, double b) {
  return a - b;
}

Result<double> float_mul(Context&, double a, double b) {
  return a * b;
}

Result<double> float_div(Context&, double a, double b) {
  return a / b;
}

Result<bool> float_lt(Context&, double a, double b) {
  return a < b;
}

Result<bool> float_gt(Context&, double a, double b) {
  return a > b;
}

Result<double> int_to_float(Context&, int64_t a) {
  return static_cast<double>(a);
}

Result<int64_t> float_to_int(Context&, double a) {
  return Scalar(a).to_int();
}

Result<bool> bool_not(Context&, bool self) {
  return !self;
}

Result<bool> bool_and(Context&, bool a, bool b) {
  return a && b;
}

Result<bool> bool_or(Context&, bool a, bool b) {
  return a || b;
}

// Assertions

Status assert_scalar(Context& context, Scalar self, const char* assert_msg) {
  if (self.to_double() == 0) return context.invalid(assert_msg);
  return {};
}

Status constrain_range(Context& context, Scalar size, std::optional<int64_t> min,
                       std::optional<int64_t> max) {
  // As in PyTorch: a maximum of 2 or less tells nothing about sizes other than 0 and 1.
  if (max.has_value() && *max <= 2) return context.invalid("the largest size must be above 2");
  const int64_t value = size.to_int();
  if (value < min.value_or(0) || value > max.value_or(INT64_MAX))
    return context.invalid("the size is out of range");
  return {};
}

/// Does not compare strides: results are contiguous here, but PyTorch's keep the order of their
/// operands.
Status assert_tensor_metadata(Context& context, Tensor a, IntArrayRef size, IntArrayRef,
                              std::optional<ScalarType> dtype, std::optional<int64_t>,
                              std::optional<int64_t>) {
  if (size.data() != nullptr && !same_sizes(size, a.sizes()))
    return context.invalid("the sizes are others");
  if (dtype.has_value() && *dtype != a.scalar_type())
    return context.invalid("the dtype is another");
  return {};
}

}  // namespace
}  // namespace sg::kernels

namespace sg {
namespace {

using namespace kernels;

// clang-format off
constexpr auto kOperators = operator_table(
    define<&sym_size>(SG_SELECTIVE_SCHEMA("aten::sym_size.int(Tensor self, int dim) -> SymInt")),
    define<&sym_numel>(SG_SELECTIVE_SCHEMA("aten::sym_numel(Tensor self) -> SymInt")),
    define<&sym_stride>(
        SG_SELECTIVE_SCHEMA("aten::sym_stride.int(Tensor self, int dim) -> SymInt")),
    define<&item>(SG_SELECTIVE_SCHEMA("aten::item(Tensor self) -> Scalar")),
    define<&item>(SG_SELECTIVE_SCHEMA("aten::_local_scalar_dense(Tensor self) -> Scalar")),
    define<&to_bool>(SG_SELECTIVE_SCHEMA("aten::Bool.Tensor(Tensor a) -> bool")),
    define<&to_int>(SG_SELECTIVE_SCHEMA("aten::Int.Tensor(Tensor a) -> int")),
    define<&to_float>(SG_SELECTIVE_SCHEMA("aten::Float.Tensor(Tensor a) -> float")),
    define<&list_item>(SG_SELECTIVE_SCHEMA("aten::__getitem__.t(t[](a) list, int idx) -> t(*)")),
    define<&list_length>(SG_SELECTIVE_SCHEMA("aten::len.t(t[] a) -> int")),
    define<&int_add>(SG_SELECTIVE_SCHEMA("aten::add.int(int a, int b) -> int")),
    define<&int_sub>(SG_SELECTIVE_SCHEMA("aten::sub.int(int a, int b) -> int")),
    define<&int_mul>(SG_SELECTIVE_SCHEMA("aten::mul.int(int a, int b) -> int")),
    define<&int_floordiv>(SG_SELECTIVE_SCHEMA("aten::floordiv.int(int a, int b) -> int")),
    define<&int_remainder>(SG_SELECTIVE_SCHEMA("aten::remainder.int(int a, int b) -> int")),
    define<&int_div>(SG_SELECTIVE_SCHEMA("aten::div.int(int a, int b) -> float")),
    define<&int_neg>(SG_SELECTIVE_SCHEMA("aten::neg.int(int a) -> int")),
    define<&int_max>(SG_SELECTIVE_SCHEMA("prim::max.int(int a, int b) -> int")),
    define<&int_min>(SG_SELECTIVE_SCHEMA("prim::min.int(int a, int b) -> int")),
    define<&int_eq>(SG_SELECTIVE_SCHEMA("aten::eq.int(int a, int b) -> bool")),
    define<&int_ne>(SG_SELECTIVE_SCHEMA("aten::ne.int(int a, int b) -> bool")),
    define<&int_lt>(SG_SELECTIVE_SCHEMA("aten::lt.int(int a, int b) -> bool")),
    define<&int_le>(SG_SELECTIVE_SCHEMA("aten::le.int(int a, int b) -> bool")),
    define<&int_gt>(SG_SELECTIVE_SCHEMA("aten::gt.int(int a, int b) -> bool")),
    define<&int_ge>(SG_SELECTIVE_SCHEMA("aten::ge.int(int a, int b) -> bool")),
    define<&float_add>(SG_SELECTIVE_SCHEMA("aten::add.float(float a, float b) -> float")),
    define<&float_sub>(SG_SELECTIVE_SCHEMA("aten::sub.float(float a, float b) -> float")),
    define<&float_mul>(SG_SELECTIVE_SCHEMA("aten::mul.float(float a, float b) -> float")),
    define<&float_div>(SG_SELECTIVE_SCHEMA("aten::div.float(float a, float b) -> float")),
    define<&float_lt>(SG_SELECTIVE_SCHEMA("aten::lt.float(float a, float b) -> bool")),
    define<&float_gt>(SG_SELECTIVE_SCHEMA("aten::gt.float(float a, float b) -> bool")),
    define<&int_to_float>(SG_SELECTIVE_SCHEMA("aten::Float.int(int a) -> float")),
    define<&float_to_int>(SG_SELECTIVE_SCHEMA("aten::Int.float(float a) -> int")),
    define<&bool_not>(SG_SELECTIVE_SCHEMA("aten::__not__(bool self) -> bool")),
    define<&bool_and>(SG_SELECTIVE_SCHEMA("aten::__and__.bool(bool a, bool b) -> bool")),
    define<&bool_or>(SG_SELECTIVE_SCHEMA("aten::__or__.bool(bool a, bool b) -> bool")),
    define<&assert_scalar>(
        SG_SELECTIVE_SCHEMA("aten::_assert_scalar(Scalar self, str assert_msg) -> ()")),
    define<&constrain_range>(SG_SELECTIVE_SCHEMA(
        "aten::sym_constrain_range_for_size(Scalar size, *, int? min=None, int? max=None) -> ()")),
    define<&assert_tensor_metadata>(SG_SELECTIVE_SCHEMA(
        "aten::_assert_tensor_metadata(Tensor a, SymInt[]? size=None, SymInt[]? stride=None, "
        "ScalarType? dtype=None, *, Device? device=None, Layout? layout=None) -> ()")));
// clang-format on

SG_REGISTER_OPERATORS("portable", "CPU", kOperators);

}  // namespace
}  // namespace sg
