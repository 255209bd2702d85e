// Shapes that operators accept, as a start: the fuzzer changes single dimensions.

#pragma once

#include <cstring>

#include "native/fuzzing/call_bytes.h"
#include "native/operators/shape.h"

namespace sg::fuzzing {

/// What an operator accepts. Words follow the order of the arguments.
///   shapes   a word per tensor or list of tensors, a comma between tensors of a list
///   numbers  a word per bool, integer or list of integers; `-` leaves one to chance
/// Each letter is a size, the same one throughout a call. An upper-case letter is four times the
/// lower-case one, a digit is itself. In shapes, `!` makes a tensor Bool, `@` Long and `%` Float.
/// In numbers,
/// `#` is the dtype of the call.
struct Pattern {
  const char* name;  // a prefix of the operator's
  const char* shapes;
  const char* numbers;
};

inline constexpr Pattern kPatterns[] = {
    {"aten::lstm", "sbi 1bh,1bh Hi,Hh,H,H", "1 1 - 0 0"},
    {"aten::scaled_dot_product", "bhqd bhkd bhkd qk", ""},
    {"aten::addmm", "mn mk kn", ""},
    {"aten::mm", "mk kn", ""},
    {"aten::bmm", "bmk bkn", ""},
    {"aten::matmul", "bmk kn", ""},
    {"aten::linear", "mk nk n", ""},
    {"aten::convolution", "bcHW ockx o", "11 00 11 - 00 1"},
    {"aten::conv2d", "bcHW ockx o", "11 00 11 1"},
    {"aten::avg_pool2d", "bcHW", "22 11 00 -"},
    {"aten::max_pool2d", "bcHW", "22 11 00 11"},
    {"aten::adaptive_avg_pool2d", "bcHW", "xy"},
    {"aten::_adaptive_avg_pool2d", "bcHW", "xy"},
    {"aten::batch_norm", "bchw c c c c", ""},
    {"aten::_native_batch_norm", "bchw c c c c", ""},
    {"aten::layer_norm", "abc c c", "c"},
    {"aten::native_layer_norm", "abc bc bc", "bc"},
    {"aten::embedding", "vd bi@", ""},
    {"aten::index_select", "abc i@", "1"},
    {"aten::gather", "abc abc@", "1"},
    {"aten::where", "abc! abc abc", ""},
    {"aten::cat", "abc,abc,abc", "1"},
    {"aten::stack", "abc,abc,abc", "1"},
    {"aten::item", "11", ""},
    {"aten::_local_scalar", "1", ""},
    {"aten::Bool", "1", ""},
    {"aten::Int", "1", ""},
    {"aten::Float", "1", ""},
    {"aten::t(", "ab", ""},
    {"aten::view", "abc", "cab"},
    {"aten::reshape", "abc", "cab"},
    {"aten::expand", "ab", "cab"},
    {"aten::permute", "abc", "201"},
    {"aten::split_with_sizes", "abc", "a 0"},
    {"aten::repeat", "ab", "cab"},
    {"aten::constant_pad_nd", "ab", "0121"},
    {"quantized_decomposed::quantize_per_tensor", "abc", "1 0 9 3"},
    {"quantized_decomposed::dequantize_per_tensor", "abc", "1 0 9 # -"},
    {"quantized_decomposed::dequantize_per_channel", "ca c% c", "0 0 9 # -"},
    {"prepacked::linear_clamp_prepack", "oi o", ""},
    {"prepacked::linear_clamp_run", "b2", ""},
};

/// Draws the shapes and the integers of one call.
class Shapes {
 public:
  Shapes(Bytes& bytes, const char* schema, ScalarType dtype) : bytes_(bytes), dtype_(dtype) {
    for (const Pattern& pattern : kPatterns) {
      if (std::strncmp(schema, pattern.name, std::strlen(pattern.name)) != 0) continue;
      shapes_ = pattern.shapes;
      numbers_ = pattern.numbers;
    }
    if (bytes_.one_in(16)) shapes_ = numbers_ = "";
  }

  /// Draws the shape and the dtype of the next tensor. Returns whether another one of the same
  /// argument follows.
  bool next(Shape& shape, ScalarType& dtype) {
    const char* word = *shapes_ == 0 ? "abc" : shapes_;
    dtype = dtype_;
    for (; *word != 0 && *word != ' ' && *word != ','; ++word) {
      if (*word == '!') dtype = ScalarType::Bool;
      if (*word == '@') dtype = ScalarType::Long;
      if (*word == '%') dtype = ScalarType::Float;
      if (std::strchr("!@%", *word) != nullptr || bytes_.one_in(128)) continue;
      shape.push_back(bytes_.one_in(64) ? draw_size() : size_of(*word));
      if (bytes_.one_in(128)) shape.push_back(draw_size());
    }
    const bool more = *word == ',';
    if (*shapes_ != 0) shapes_ = word + (*word != 0);
    return more;
  }

  /// Reads the integers of the next argument. Returns false if they are left to chance.
  bool next_numbers(Shape& numbers) {
    const char* word = numbers_;
    for (; *word != 0 && *word != ' '; ++word) {
      if (*word != '-')
        numbers.push_back(*word == '#' ? static_cast<int64_t>(dtype_) : size_of(*word));
    }
    numbers_ = word + (*word != 0);
    return numbers.size > 0 && !bytes_.one_in(6);
  }

 private:
  int64_t draw_size() {
    static constexpr int64_t kSizes[] = {2, 3, 1, 2, 3, 4, 1, 0, 5, 7, 8, 17};
    return bytes_.pick(kSizes);
  }

  int64_t size_of(char letter) {
    if (letter >= '0' && letter <= '9') return letter - '0';
    const int index = letter - 'A';
    if (!is_drawn_[index]) {
      // All uses of an upper-case letter change together: some calls differ in the factor alone.
      const bool is_derived = letter < 'a' && !bytes_.one_in(8);
      sizes_[index] = is_derived ? 4 * size_of(static_cast<char>(letter | 32)) : draw_size();
      is_drawn_[index] = true;
    }
    return sizes_[index];
  }

  Bytes& bytes_;
  ScalarType dtype_;
  const char* shapes_ = "";
  const char* numbers_ = "";
  static constexpr int kLetters = 'z' - 'A' + 1;
  bool is_drawn_[kLetters] = {};
  int64_t sizes_[kLetters];
};

}  // namespace sg::fuzzing
