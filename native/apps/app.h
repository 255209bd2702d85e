// Code that the sample apps share: it runs a model on its first bundled input.

#pragma once

#include "native/runtime/program.h"

namespace sg {

/// Calls `use` with the first output, which must be a tensor. Returns an exit code: 0 done, 1
/// something is missing, 2 bad input.
int run_first_case(const char* path, void (*use)(const char* path, Tensor output));

}  // namespace sg
