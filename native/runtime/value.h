// Values: the contents of slots, and the arguments and results of operators.

#pragma once

#include <cstddef>
#include <optional>

#include "native/runtime/tensor.h"

namespace sg {

struct Object;

/// The type of a value. The program format uses the same codes.
enum class Tag : uint8_t {
  None,
  Bool,
  Int,
  Double,
  String,
  Tensor,
  IntList,
  DoubleList,
  BoolList,
  TensorList,
  Object
};

/// A Python number, as in PyTorch's Scalar.
class Scalar {
 public:
  Scalar() : Scalar(int64_t{0}) {}
  Scalar(int64_t value) : tag_(Tag::Int) { bits_.integer = value; }   // NOLINT
  Scalar(double value) : tag_(Tag::Double) { bits_.number = value; }  // NOLINT
  Scalar(bool value) : tag_(Tag::Bool) { bits_.integer = value; }     // NOLINT
  Scalar(int value) : Scalar(static_cast<int64_t>(value)) {}          // NOLINT

  Tag tag() const { return tag_; }
  int64_t bits() const { return bits_.integer; }
  bool is_floating() const { return tag_ == Tag::Double; }
  bool is_bool() const { return tag_ == Tag::Bool; }
  double to_double() const {
    return is_floating() ? bits_.number : static_cast<double>(bits_.integer);
  }
  /// Rounds once, as PyTorch does: a detour through double could round an integer twice.
  float to_float() const;
  /// Truncates. A number outside the range of int64_t becomes its minimum.
  int64_t to_int() const;

  /// The dtype that torch.tensor(number) has.
  ScalarType scalar_type() const {
    return tag_ == Tag::Double ? ScalarType::Float
           : tag_ == Tag::Bool ? ScalarType::Bool
                               : ScalarType::Long;
  }

 private:
  friend struct Value;
  union {
    int64_t integer;
    double number;
  } bits_;
  Tag tag_;
};

/// A tagged value of 16 bytes. Trivially copyable: code that keeps one counts its uses
/// (Context::retain).
struct Value {
  union {
    int64_t integer;  // Bool, Int
    double number;
    const char* text;
    TensorImpl* tensor;
    const int64_t* integers;
    const double* numbers;
    const bool* bools;
    const Tensor* tensors;
    Object* object;
  };
  uint32_t size;  // of a list
  Tag tag;
  bool owned;  // a list in memory of the Context, not of the program

  Value() : integer(0), size(0), tag(Tag::None), owned(false) {}
  // NOLINTBEGIN(google-explicit-constructor): conversions are the point
  Value(int64_t value) : Value(Tag::Int) { integer = value; }
  Value(double value) : Value(Tag::Double) { number = value; }
  Value(bool value) : Value(Tag::Bool) { integer = value; }
  Value(ScalarType value) : Value(static_cast<int64_t>(value)) {}
  Value(const char* value) : Value(Tag::String) { text = value; }
  Value(Tensor value) : Value(value.defined() ? Tag::Tensor : Tag::None) { tensor = value.impl(); }
  Value(Scalar value) : Value(value.tag_) { integer = value.bits_.integer; }
  Value(Object* value) : Value(Tag::Object) { object = value; }
  Value(IntArrayRef list) : Value(Tag::IntList, list.size()) { integers = list.data(); }
  Value(DoubleArrayRef list) : Value(Tag::DoubleList, list.size()) { numbers = list.data(); }
  Value(BoolArrayRef list) : Value(Tag::BoolList, list.size()) { bools = list.data(); }
  Value(TensorList list) : Value(Tag::TensorList, list.size()) { tensors = list.data(); }
  template <typename T>
  Value(std::optional<T> value) : Value() {
    if (value.has_value()) *this = Value(*value);
  }
  // NOLINTEND(google-explicit-constructor)

  Scalar to_scalar() const {
    Scalar scalar;
    scalar.tag_ = tag;
    scalar.bits_.integer = integer;
    return scalar;
  }

 private:
  explicit Value(Tag of, size_t count = 0)
      : integer(0), size(static_cast<uint32_t>(count)), tag(of), owned(false) {}
};

static_assert(sizeof(Value) == 16);

}  // namespace sg
