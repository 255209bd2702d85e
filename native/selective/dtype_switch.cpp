// Handlers of dtype switches for dtypes without a branch.

#include "native/selective/dtype_switch.h"

#include <cstdio>

namespace sg {
namespace {

[[noreturn]] void leave(Context& context, Error error, const char* format, ScalarType dtype) {
  char text[120];
  std::snprintf(text, sizeof text, format, scalar_type_name(dtype));
  context.fail(error, text);
  if (context.escape == nullptr) __builtin_trap();  // a kernel called outside of a run
  std::longjmp(*context.escape, 1);
}

}  // namespace

void dtype_not_selected(Context& context, ScalarType dtype) {
  leave(context, Error::Missing,
        "%s is not selected in this build: trace the model with inputs of this dtype", dtype);
}

void dtype_not_supported(Context& context, ScalarType dtype) {
  leave(context, Error::Invalid, "not implemented for %s", dtype);
}

}  // namespace sg
