// The instructions of a program, as its file stores them.

#pragma once

#include <cstdint>

namespace sg {

/// See Kind in program.fbs. program.cpp checks that both are equal: the interpreter does without
/// the headers of FlatBuffers, which take 1.5 s of its 2 s to compile.
enum class InstructionKind : uint8_t { Call, List, Jump, JumpFalse, Move };

/// See Instruction in program.fbs.
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
