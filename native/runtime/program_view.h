// The tables of a program file, looked up once.

#pragma once

#include "native/runtime/instruction.h"
#include "program_generated.h"

namespace sg {

/// Pointers into a program file. No pointer is null: a table that the file omits is empty.
struct ProgramView : ProgramCode {
  template <typename T>
  using Tables = const flatbuffers::Vector<flatbuffers::Offset<T>>*;

  Tables<flatbuffers::String> operators;
  Tables<fb::Value> values;
  Tables<fb::TensorView> tensors;
  Tables<fb::Storage> storages;
  Tables<fb::Input> inputs;
  Tables<fb::Case> cases;
};

/// Returns the vector, or an empty one for null. Each lookup of a field costs about 25 bytes of
/// code, so look each field up once.
template <typename Vector>
const Vector* or_empty(const Vector* vector) {
  // A vector starts with its length, four bytes. Its elements, if there were any, would be
  // aligned to 16.
  alignas(16) static constexpr uint32_t kEmpty[5] = {};
  return vector == nullptr ? reinterpret_cast<const Vector*>(kEmpty + 3) : vector;
}

}  // namespace sg
