// Recording hooks of the instrumented build. In every other build they do nothing.

#pragma once

#include "native/runtime/scalar_type.h"

namespace sg {

#if defined(SG_TRACING)
void record_operator(const char* schema);
void record_kernel_dtype(const char* tag, ScalarType dtype);
void record_class(const char* name);
void record_feature(const char* name);
#else
inline void record_operator(const char*) {}
inline void record_kernel_dtype(const char*, ScalarType) {}
inline void record_class(const char*) {}
inline void record_feature(const char*) {}
#endif

}  // namespace sg
