// A set of dtypes, known at compile time.

#pragma once

#include <initializer_list>

#include "native/runtime/scalar_type.h"

namespace sg {

class DtypeSet {
 public:
  static constexpr DtypeSet all() { return DtypeSet(0xFFFF); }
  static constexpr DtypeSet none() { return DtypeSet(0); }
  static constexpr DtypeSet of(std::initializer_list<ScalarType> dtypes) {
    unsigned bits = 0;
    for (const ScalarType dtype : dtypes) bits |= 1u << code_of(dtype);
    return DtypeSet(bits);
  }

  constexpr DtypeSet(const DtypeSet&) = default;
  constexpr bool any() const { return bits_ != 0; }
  constexpr bool contains(ScalarType dtype) const { return ((bits_ >> code_of(dtype)) & 1) != 0; }

 private:
  constexpr explicit DtypeSet(unsigned bits) : bits_(bits) {}

  unsigned bits_;
};

}  // namespace sg
