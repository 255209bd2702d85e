// Reads .npy files into tensors and writes tensors to them.

#pragma once

#include "native/runtime/context.h"

namespace sg {

/// Reads a file into memory of the Context, aligned to 16. Prints the error and returns null if it
/// fails.
void* read_file(Context& context, const char* path, size_t* size);

/// The array in a .npy file as a tensor that borrows the file's bytes. bfloat16 arrays are '<V2'.
/// Fails for Fortran order, big endian, other dtypes, and data that does not fit the shape.
Result<Tensor> read_npy(Context& context, const void* bytes, size_t size);

/// Writes a tensor, or a number as an array without dimensions. Returns false if writing fails.
bool write_npy(Context& context, const char* path, const Value& value);

}  // namespace sg
