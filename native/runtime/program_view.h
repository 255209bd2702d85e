// The tables of a program file, looked up once.

#pragma once

#include "program_generated.h"

namespace sg {

/// Pointers into a program file. None is null: what the file leaves out is empty.
struct ProgramView {
  template <typename T>
  using Tables = const flatbuffers::Vector<flatbuffers::Offset<T>>*;

  Tables<flatbuffers::String> operators;
  Tables<fb::Value> values;
  Tables<fb::TensorView> tensors;
  Tables<fb::Storage> storages;
  Tables<fb::Input> inputs;
  Tables<fb::Case> cases;
  const flatbuffers::Vector<const fb::Instruction*>* instructions;
  const flatbuffers::Vector<uint32_t>* slots;
  const flatbuffers::Vector<uint32_t>* outputs;
  uint32_t slot_count;
};

/// A vector of a table, or an empty one. Every lookup of a field costs some 25 bytes of code, so do
/// it once.
template <typename Vector>
const Vector* or_empty(const Vector* vector) {
  // A vector starts with its length, four bytes; its elements, were there any, would be aligned
  // to 16.
  alignas(16) static constexpr uint32_t kEmpty[5] = {};
  return vector == nullptr ? reinterpret_cast<const Vector*>(kEmpty + 3) : vector;
}

}  // namespace sg
