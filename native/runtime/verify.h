// Verification of a program file: everything that running relies on.

#pragma once

#include <cstddef>

#include "native/runtime/result.h"

namespace sg {

class Context;
namespace fb {
struct Program;
}

/// The program in the bytes, or null with the error set. After it every index, slot and jump target is in range, every
/// tensor lies in its storage, and every vector that is read in place is aligned.
const fb::Program* verify_program(Context& context, const void* data, size_t size);

}  // namespace sg
