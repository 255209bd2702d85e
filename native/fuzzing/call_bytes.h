// Choices of the fuzzer: numbers drawn from its input.

#pragma once

#include <cstddef>
#include <cstdint>

namespace sg::fuzzing {

/// Reads the input byte by byte; zeros after its end.
class Bytes {
 public:
  Bytes(const uint8_t* data, size_t size) : at_(data), end_(data + size) {}

  uint8_t next() { return at_ == end_ ? 0 : *at_++; }
  size_t below(size_t count) { return next() % count; }
  /// True once in `count` times, and never after the end.
  bool one_in(size_t count) { return next() % count == 1; }
  template <typename T, size_t n>
  const T& pick(const T (&list)[n]) {
    return list[below(n)];
  }

 private:
  const uint8_t* at_;
  const uint8_t* end_;
};

}  // namespace sg::fuzzing
