// Promotion, names and half precision.

#include "native/runtime/scalar_type.h"

namespace sg {

ScalarType promote_types(ScalarType a, ScalarType b) {
  if (a == b || b == ScalarType::Bool) return a;
  if (a == ScalarType::Bool) return b;
  const bool a_floats = is_floating(a);
  if (a_floats != is_floating(b)) return a_floats ? a : b;
  if (a > b) {
    const ScalarType swapped = a;
    a = b;
    b = swapped;
  }
  if (b == ScalarType::BFloat16)
    return a == ScalarType::Half ? ScalarType::Float : a;  // its code is the largest
  if (b == ScalarType::Char) return ScalarType::Short;     // with Byte: neither holds the other
  return b;
}

const char* scalar_type_name(ScalarType dtype) {
  // One string with nine bytes per code: an array of pointers would cost a relocation for each.
  static const char names[] =
      "Byte\0....Char\0....Short\0...Int\0.....Long\0....Half\0....Float\0...Double\0..?\0.......?"
      "\0.......?\0......."
      "Bool\0....?\0.......?\0.......?\0.......BFloat16";
  return names + 9 * code_of(dtype);
}

float float_from_half(uint16_t bits) {
  const uint32_t sign = static_cast<uint32_t>(bits & 0x8000) << 16;
  const uint32_t magnitude = bits & 0x7FFF;
  uint32_t word;
  if (magnitude >= 0x7C00) {
    word = 0x7F800000 | (magnitude << 13);  // infinity, NaN
  } else if (magnitude >= 0x0400) {
    word = (magnitude << 13) + ((127 - 15) << 23);
  } else {
    const float value = static_cast<float>(magnitude) * 0x1p-24f;  // subnormal
    std::memcpy(&word, &value, sizeof word);
  }
  word |= sign;
  float value;
  std::memcpy(&value, &word, sizeof value);
  return value;
}

uint16_t half_from_float(float value) {
  uint32_t word;
  std::memcpy(&word, &value, sizeof word);
  const uint16_t sign = static_cast<uint16_t>((word >> 16) & 0x8000);
  word &= 0x7FFFFFFF;
  if (word >= 0x47800000) {  // beyond the largest Half even before rounding, infinity, NaN
    return sign | (word > 0x7F800000 ? 0x7E00 : 0x7C00);
  }
  if (word < 0x38800000) {  // below the smallest normal Half: the float adder shifts and rounds
    float magnitude;
    std::memcpy(&magnitude, &word, sizeof magnitude);
    magnitude += 0.5f;
    std::memcpy(&word, &magnitude, sizeof word);
    return sign | static_cast<uint16_t>(word - 0x3F000000);
  }
  return sign |
         static_cast<uint16_t>((word - ((127 - 15) << 23) + 0xFFF + ((word >> 13) & 1)) >> 13);
}

}  // namespace sg
