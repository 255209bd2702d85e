// Makes the compiler believe that the handlers of deselected dtypes may return: included before all else in a build
// without any dtype, in which it would otherwise drop what stands behind a switch, too.

#pragma once

// CMake's trial compilations have no include path.
#if __has_include("native/selective/dtype_switch.h")
#include "native/selective/dtype_switch.h"

// What a switch should have set is not set.
#pragma GCC diagnostic ignored "-Wuninitialized"
#ifndef __clang__
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif

namespace sg {

// The same functions to the linker.
[[gnu::cold]] void not_selected_returns(Context& context, ScalarType dtype) __asm__(
    "_ZN2sg18dtype_not_selectedERNS_7ContextENS_10ScalarTypeE");
[[gnu::cold]] void not_supported_returns(Context& context, ScalarType dtype) __asm__(
    "_ZN2sg19dtype_not_supportedERNS_7ContextENS_10ScalarTypeE");

template <typename Note>
[[gnu::always_inline]] inline void leave_switch_returns(Context& context, ScalarType dtype) {
  not_supported_returns(context, dtype);
}

}  // namespace sg

#define leave_switch leave_switch_returns
#define dtype_not_selected not_selected_returns
#define dtype_not_supported not_supported_returns
#endif
