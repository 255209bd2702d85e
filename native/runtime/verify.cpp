// Verification. FlatBuffers checks that offsets stay in the file; this checks what the numbers mean.

#include "native/runtime/verify.h"

#include "native/runtime/context.h"
#include "native/runtime/dispatcher.h"
#include "program_generated.h"

namespace sg {
namespace {

constexpr uint32_t kMaxSlots = 1u << 24;

template <typename Vector>
size_t count(const Vector* vector) {
  return vector == nullptr ? 0 : vector->size();
}

/// Integers read in place must be aligned: FlatBuffers' verifier lets a misaligned vector pass.
bool is_aligned(const void* data, uintptr_t alignment) {
  return reinterpret_cast<uintptr_t>(data) % alignment == 0;
}

template <typename Vector>
bool is_aligned(const Vector* vector, uintptr_t alignment) {
  return vector == nullptr || is_aligned(static_cast<const void*>(vector->Data()), alignment);
}

bool all_below(const flatbuffers::Vector<int64_t>* indices, int64_t minimum, size_t limit) {
  for (size_t i = 0; i < count(indices); ++i) {
    const int64_t index = indices->Get(static_cast<uint32_t>(i));
    if (index < minimum || index >= static_cast<int64_t>(limit)) return false;
  }
  return true;
}

/// Sizes and strides fit each other, and the last element lies in the storage.
bool is_tensor_valid(const fb::Program& program, const fb::TensorView& tensor) {
  const size_t dim = count(tensor.sizes());
  if (!is_scalar_type(tensor.dtype()) || dim > kMaxDims || count(tensor.strides()) != dim || tensor.offset() < 0 ||
      tensor.storage() >= count(program.storages()) || !is_aligned(tensor.sizes(), 8) ||
      !is_aligned(tensor.strides(), 8)) {
    return false;
  }
  const auto* data = program.storages()->Get(tensor.storage())->data();
  if (!is_aligned(data, 16)) return false;
  int64_t last = tensor.offset();
  bool is_empty = false;
  int64_t numel = 1;
  for (uint32_t axis = 0; axis < dim; ++axis) {
    const int64_t size = tensor.sizes()->Get(axis);
    const int64_t stride = tensor.strides()->Get(axis);
    if (size < 0 || stride < 0) return false;
    is_empty |= size == 0;
    int64_t reach;
    if (__builtin_mul_overflow(size == 0 ? 0 : size - 1, stride, &reach) ||
        __builtin_add_overflow(last, reach, &last) || __builtin_mul_overflow(numel, size == 0 ? 1 : size, &numel)) {
      return false;
    }
  }
  const int64_t elements = static_cast<int64_t>(count(data)) / element_size(static_cast<ScalarType>(tensor.dtype()));
  return is_empty ? tensor.offset() <= elements : last < elements;
}

/// `earlier`: how many values an Object may refer to.
bool is_value_valid(const fb::Program& program, const fb::Value& value, size_t earlier) {
  const size_t tensors = count(program.tensors());
  switch (value.tag()) {
    case fb::Tag::None:
    case fb::Tag::Bool:
    case fb::Tag::Int:
    case fb::Tag::Double:
      return true;
    case fb::Tag::String:
      return value.text() != nullptr;
    case fb::Tag::Tensor:
      return value.integer() >= 0 && value.integer() < static_cast<int64_t>(tensors);
    case fb::Tag::IntList:
    case fb::Tag::BoolList:
      return is_aligned(value.integers(), 8);
    case fb::Tag::DoubleList:
      return is_aligned(value.numbers(), 8);
    case fb::Tag::TensorList:
      return is_aligned(value.integers(), 8) && all_below(value.integers(), -1, tensors);
    case fb::Tag::Object:
      return value.text() != nullptr && is_aligned(value.integers(), 8) && count(value.integers()) <= kMaxArguments &&
             all_below(value.integers(), 0, earlier);
  }
  return false;
}

bool is_instruction_valid(const fb::Program& program, const fb::Instruction& instruction) {
  const size_t inputs = instruction.inputs();
  const size_t outputs = instruction.outputs();
  const size_t slots = count(program.slots());
  const size_t first = instruction.first();
  if (first > slots || inputs + outputs > slots - first) return false;
  for (size_t i = 0; i < inputs + outputs; ++i) {
    const uint32_t slot = program.slots()->Get(static_cast<uint32_t>(first + i));
    // Constants are shared between runs: no instruction may write to their slots.
    if (slot >= program.slot_count() || (i >= inputs && slot < count(program.values()))) return false;
  }
  switch (instruction.kind()) {
    case fb::Kind::Call:
      return instruction.target() < count(program.operators()) && inputs <= kMaxArguments && outputs <= kMaxResults;
    case fb::Kind::List: {
      const auto tag = static_cast<fb::Tag>(instruction.target());
      return outputs == 1 && (tag == fb::Tag::IntList || tag == fb::Tag::TensorList);
    }
    case fb::Kind::Jump:
      return instruction.target() <= count(program.instructions());
    case fb::Kind::JumpFalse:
      return inputs == 1 && instruction.target() <= count(program.instructions());
    case fb::Kind::Move:
      return inputs == 1 && outputs == 1;
  }
  return false;
}

bool is_input_valid(const fb::Program& program, const fb::Input& input) {
  if (input.slot() >= program.slot_count() || input.slot() < count(program.values())) return false;
  if (input.tag() != fb::Tag::Tensor) return input.tag() >= fb::Tag::Bool && input.tag() <= fb::Tag::Double;
  if (!is_scalar_type(input.dtype()) || count(input.dims()) > kMaxDims || !is_aligned(input.dims(), 8)) return false;
  for (uint32_t axis = 0; axis < count(input.dims()); ++axis) {
    const fb::Dim* dim = input.dims()->Get(axis);
    if (dim->minimum() < 0 || dim->minimum() > dim->maximum()) return false;
  }
  return true;
}

/// Checks each element of a vector of tables or structs.
template <typename Vector, typename Check>
bool all_valid(const Vector* vector, Check check) {
  for (size_t i = 0; i < count(vector); ++i) {
    if (!check(*vector->Get(static_cast<uint32_t>(i)), i)) return false;
  }
  return true;
}

const char* find_defect(const fb::Program& program) {
  if (program.slot_count() > kMaxSlots || count(program.values()) > program.slot_count())
    return "too many slots or values";
  if (!is_aligned(program.instructions(), 4) || !is_aligned(program.slots(), 4)) return "misaligned";
  if (!all_valid(program.tensors(), [&](const auto& tensor, size_t) { return is_tensor_valid(program, tensor); })) {
    return "a tensor does not fit its data";
  }
  if (!all_valid(program.values(), [&](const auto& value, size_t i) { return is_value_valid(program, value, i); })) {
    return "a value is invalid";
  }
  if (!all_valid(program.instructions(),
                 [&](const auto& instruction, size_t) { return is_instruction_valid(program, instruction); })) {
    return "an instruction is invalid";
  }
  if (!all_valid(program.inputs(), [&](const auto& input, size_t) { return is_input_valid(program, input); })) {
    return "an input is invalid";
  }
  for (uint32_t i = 0; i < count(program.outputs()); ++i) {
    if (program.outputs()->Get(i) >= program.slot_count()) return "an output is invalid";
  }
  const bool cases = all_valid(program.cases(), [&](const fb::Case& one, size_t) {
    return count(one.values()) == count(program.inputs()) && all_valid(one.values(), [&](const auto& value, size_t) {
             return value.tag() != fb::Tag::Object && is_value_valid(program, value, 0);
           });
  });
  return cases ? nullptr : "a bundled input is invalid";
}

}  // namespace

const fb::Program* verify_program(Context& context, const void* data, size_t size) {
  flatbuffers::Verifier verifier(static_cast<const uint8_t*>(data), size);
  const char* defect = "not a program, or damaged";
  if (is_aligned(data, 16) && size > 8 && fb::VerifyProgramBuffer(verifier)) {
    const fb::Program* program = fb::GetProgram(data);
    defect = find_defect(*program);
    if (defect == nullptr) return program;
  }
  context.fail(Error::Invalid, defect);
  return nullptr;
}

}  // namespace sg
