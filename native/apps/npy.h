// Reads .npy files into tensors and writes outputs to them.

#pragma once

#include "native/runtime/context.h"

namespace sg {

/// Reads a file into memory of the Context, aligned to 16. Prints the error and returns null if it
/// fails.
void* read_file(Context& context, const char* path, size_t* size);

/// Reads the decimal number at text, and moves text behind it. Returns false if there is no digit
/// or the number exceeds 64 bits.
bool read_decimal(const char*& text, int64_t& number);

/// The array in a .npy file as a tensor that borrows the file's bytes. bfloat16 arrays are '<V2'.
/// Fails for Fortran order, big endian, other dtypes, and data that does not fit the shape.
Result<Tensor> read_npy(Context& context, const void* bytes, size_t size);

/// Writes the outputs of a program to output0.npy … in a folder, which it makes if it is missing. A
/// number is an array without dimensions. None has no file: an old one is removed. Nothing is
/// written if a list, a string or an object is among the outputs. Prints the error. Returns an exit
/// code: 0 written, 2 not.
int write_outputs(Context& context, const char* folder, Span<const Value> outputs);

}  // namespace sg
