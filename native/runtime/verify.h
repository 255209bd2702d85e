// Verification of a program file: the properties that running relies on.

#pragma once

#include <cstddef>

#include "native/runtime/context.h"
#include "native/runtime/program_view.h"

namespace sg {

/// Checks the bytes, which must be aligned to 16, and points the view at their tables. Afterwards
/// every index, slot and jump target is in range, every tensor lies in its storage, and every
/// vector that is read in place is aligned. Builds without the feature program_verification trust
/// the file: it must come from where the app's code comes from.
Status verify_program(Context& context, const void* data, size_t size, ProgramView& view);

}  // namespace sg
