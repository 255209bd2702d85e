// A pointer and a count.

#pragma once

#include <cstddef>
#include <cstdint>

namespace sg {

/// A view of `size` elements that somebody else owns.
template <typename T>
class Span {
 public:
  constexpr Span() = default;
  constexpr Span(T* data, size_t size) : data_(data), size_(size) {}
  template <size_t N>
  constexpr Span(T (&array)[N]) : data_(array), size_(N) {}

  constexpr T* data() const { return data_; }
  constexpr size_t size() const { return size_; }
  constexpr bool empty() const { return size_ == 0; }
  constexpr T& operator[](size_t index) const { return data_[index]; }
  constexpr T* begin() const { return data_; }
  constexpr T* end() const { return data_ + size_; }

 private:
  T* data_ = nullptr;
  size_t size_ = 0;
};

using IntArrayRef = Span<const int64_t>;
using DoubleArrayRef = Span<const double>;
using BoolArrayRef = Span<const bool>;

}  // namespace sg
