// The dtypes, their codes (c10's), sizes, names and promotion.

#pragma once

#include <cstdint>
#include <cstring>

namespace sg {

/// The values of c10::ScalarType that this runtime supports.
enum class ScalarType : int8_t {
  Byte = 0,
  Char = 1,
  Short = 2,
  Int = 3,
  Long = 4,
  Half = 5,
  Float = 6,
  Double = 7,
  Bool = 11,
  BFloat16 = 15,
};

inline constexpr int kScalarTypeCodes = 16;  // codes are below this

constexpr unsigned code_of(ScalarType dtype) {
  return static_cast<unsigned>(dtype) & (kScalarTypeCodes - 1);
}

/// Whether a number read from a file is the code of a dtype.
constexpr bool is_scalar_type(int64_t code) {
  constexpr unsigned kCodes = 0x88FF;  // bits 0-7, 11, 15
  return code >= 0 && code < kScalarTypeCodes && ((kCodes >> code) & 1) != 0;
}

/// The dtype of a code that a program passes to an operator. Codes beyond the range become one that
/// no tensor has: a conversion alone would make 260 Long.
constexpr ScalarType scalar_type_of(int64_t code) {
  constexpr int8_t kNoDtype = 8;
  const bool in_range = static_cast<uint64_t>(code) < uint64_t{kScalarTypeCodes};
  return static_cast<ScalarType>(in_range ? static_cast<int8_t>(code) : kNoDtype);
}

/// Bytes of one element. The constant holds their base-2 logarithms, two bits per dtype.
constexpr int64_t element_size(ScalarType dtype) {
  constexpr uint32_t kLogarithms =
      (1u << 4) | (2u << 6) | (3u << 8) | (1u << 10) | (2u << 12) | (3u << 14) | (1u << 30);
  return int64_t{1} << ((kLogarithms >> (2 * code_of(dtype))) & 3);
}

constexpr bool is_floating(ScalarType dtype) {
  return dtype == ScalarType::Half || dtype == ScalarType::Float || dtype == ScalarType::Double ||
         dtype == ScalarType::BFloat16;
}

/// Whether the dtype is one of Byte to Long, or Bool if `with_bool`.
constexpr bool is_integral(ScalarType dtype, bool with_bool) {
  return dtype <= ScalarType::Long || (with_bool && dtype == ScalarType::Bool);
}

/// PyTorch's torch.promote_types.
ScalarType promote_types(ScalarType a, ScalarType b);

/// The dtype that arithmetic uses. Tensors store Half and BFloat16, but kernels compute in Float
/// (PyTorch's opmath type).
constexpr ScalarType compute_type(ScalarType dtype) {
  return dtype == ScalarType::Half || dtype == ScalarType::BFloat16 ? ScalarType::Float : dtype;
}

/// The name of a dtype, such as "Float".
const char* scalar_type_name(ScalarType dtype);

float float_from_half(uint16_t bits);
uint16_t half_from_float(float value);

/// IEEE binary16, rounded to nearest even.
struct Half {
  uint16_t bits;

  Half() = default;
  explicit Half(double value) : bits(half_from_float(static_cast<float>(value))) {}
  explicit operator double() const { return float_from_half(bits); }
};

/// The upper half of a float, rounded to nearest even.
struct BFloat16 {
  uint16_t bits;

  BFloat16() = default;
  explicit BFloat16(double value) {
    const float narrow = static_cast<float>(value);
    uint32_t word;
    std::memcpy(&word, &narrow, sizeof word);
    bits = narrow != narrow ? 0x7FC0
                            : static_cast<uint16_t>((word + 0x7FFF + ((word >> 16) & 1)) >> 16);
  }
  explicit operator double() const {
    const uint32_t word = static_cast<uint32_t>(bits) << 16;
    float value;
    std::memcpy(&value, &word, sizeof value);
    return value;
  }
};

}  // namespace sg
