// The instructions of a program, as its file stores them.

#pragma once

#include <cstdint>

namespace sg {

/// Equal to Kind in program.fbs, which program.cpp checks. It is a separate type because the
/// FlatBuffers headers made up 1.8 s of the interpreter's compile time of 2.1 s.
enum class InstructionKind : uint8_t { Call, List, Jump, JumpFalse, Move };

/// Has the layout of Instruction in program.fbs, which explains the fields.
struct Instruction {
  uint32_t first;
  uint32_t target;
  uint16_t inputs;
  uint16_t outputs;
  InstructionKind kind;
};

/// The instructions of a program and the slots that they use, in place.
struct ProgramCode {
  /// A vector of the file.
  template <typename T>
  struct Array {
    const T* data;
    uint32_t size;
    const T& operator[](uint32_t index) const { return data[index]; }
    const T* begin() const { return data; }
    const T* end() const { return data + size; }
  };
  Array<Instruction> instructions;
  Array<uint32_t> slots;    // of the instructions' inputs and outputs
  Array<uint32_t> outputs;  // slots
  uint32_t slot_count;
};

}  // namespace sg
