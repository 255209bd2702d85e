// .npy files: read into tensors and written from them.

#pragma once

#include "native/runtime/context.h"

namespace sg {

/// A file's bytes, aligned to 16, in memory of the Context; null if it cannot be read. Prints why.
void* read_file(Context& context, const char* path, size_t* size);

/// The array in a .npy file as a tensor that borrows the file's bytes.
/// bfloat16 arrays are '<V2'. Failed for Fortran order, big endian, other dtypes, and data that
/// does not fit the shape.
Result<Tensor> read_npy(Context& context, const void* bytes, size_t size);

/// Writes a tensor, or a number as an array of no dimensions. False if the file cannot be written.
bool write_npy(Context& context, const char* path, const Value& value);

}  // namespace sg
