// The tolerances within which the outputs of a program are the expected ones.

#pragma once

#include "native/runtime/scalar_type.h"
#include "native/selective/build_feature.h"

namespace sg {

/// Whether this build can compare outputs.
inline constexpr bool kComparesOutputs = SG_BUILD_FEATURE(expected_outputs);

/// As in PyTorch's tests: numbers are equal within absolute + relative × |expected|. Numbers of
/// other dtypes must be equal.
struct Tolerance {
  double relative = 0;
  double absolute = 0;
};

constexpr Tolerance tolerance_of(ScalarType dtype) {
  switch (dtype) {
    case ScalarType::Half:
      return {1e-3, 1e-5};
    case ScalarType::Float:
      return {1.3e-6, 1e-5};
    case ScalarType::Double:
      return {1e-7, 1e-7};
    case ScalarType::BFloat16:
      return {1.6e-2, 1e-5};
    default:
      return {};
  }
}

}  // namespace sg
