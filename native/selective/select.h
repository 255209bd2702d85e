// The macros that let a selection remove an operator, an implementation or a custom class (a
// feature: build_feature.h).
//
// Each macro looks up a constant name in a constant list, so nothing references unselected code. A
// name without a namespace does not compile, because it could never match. A name that is no
// constant does not compile, because it could never be checked.

#pragma once

#include <cstddef>

#include "native/selective/build_feature.h"
#include "selected/classes.h"
#include "selected/operators.h"

namespace sg {

/// A name that knows at compile time whether it is selected.
template <bool is_selected>
struct SelectiveName {
  const char* text;
};

namespace selective {

/// Length of the operator's name. A name without a namespace does not compile.
consteval size_t operator_name_length(const char* schema) {
  size_t length = 0;
  bool has_namespace = false;
  for (; schema[length] != 0 && schema[length] != '('; ++length) {
    has_namespace |= schema[length] == ':' && schema[length + 1] == ':';
  }
  if (!has_namespace) __builtin_unreachable();
  return length;
}

consteval bool is_operator_selected(const char* schema) {
  return selected::all_operators ||
         contains(selected::operators, schema, operator_name_length(schema));
}

consteval bool is_class_selected(const char* name) {
  return selected::all_classes || contains(selected::classes, name, text_length(name));
}

}  // namespace selective
}  // namespace sg

/// An operator's schema, for a definition: SG_SELECTIVE_SCHEMA("aten::sym_size.int(Tensor self, int
/// dim) -> SymInt").
#define SG_SELECTIVE_SCHEMA(schema) \
  (::sg::SelectiveName<::sg::selective::is_operator_selected(schema)>{schema})

/// An operator's name, for an implementation: SG_SELECTIVE_NAME("prepacked::linear_clamp_run").
#define SG_SELECTIVE_NAME(name) \
  (::sg::SelectiveName<::sg::selective::is_operator_selected(name)>{name})

/// A custom class's name: SG_SELECTIVE_CLASS("LinearOpContext").
#define SG_SELECTIVE_CLASS(name) \
  (::sg::SelectiveName<::sg::selective::is_class_selected(name)>{name})
