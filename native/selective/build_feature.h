// Build features: parts of the runtime that a selection may leave out.

#pragma once

#include <cstddef>

#include "selected/features.h"

namespace sg::selective {

/// Whether `list` contains the first `length` characters of `name` as an item. A ';' ends each
/// item.
consteval bool contains(const char* list, const char* name, size_t length) {
  while (*list != 0) {
    size_t i = 0;
    while (i < length && list[i] != ';' && list[i] == name[i]) ++i;
    if (i == length && list[i] == ';') return true;
    while (*list++ != ';') {
    }
  }
  return false;
}

consteval size_t text_length(const char* text) {
  size_t length = 0;
  while (text[length] != 0) ++length;
  return length;
}

consteval bool is_feature_selected(const char* name) {
  return selected::all_features || contains(selected::features, name, text_length(name));
}

}  // namespace sg::selective

/// Whether a feature is built in, a constant: if constexpr (SG_BUILD_FEATURE(bundled_inputs)) …
#define SG_BUILD_FEATURE(feature) (::sg::selective::is_feature_selected(#feature))
