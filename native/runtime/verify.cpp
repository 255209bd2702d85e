// Verification. FlatBuffers checks that offsets stay in the file; this checks what the numbers
// mean.

#include "native/runtime/verify.h"

#include "native/runtime/dispatcher.h"

namespace sg {
namespace {

/// Integers read in place must be aligned: FlatBuffers' verifier lets a misaligned vector pass.
bool is_aligned(const void* elements, uintptr_t alignment) {
  return reinterpret_cast<uintptr_t>(elements) % alignment == 0;
}

/// Whether the elements of a vector are aligned.
template <typename T>
bool is_aligned(const flatbuffers::Vector<T>* vector, uintptr_t alignment) {
  return is_aligned(static_cast<const void*>(vector->Data()), alignment);
}

ProgramCode::Array<uint32_t> array(const flatbuffers::Vector<uint32_t>* vector) {
  return {or_empty(vector)->data(), or_empty(vector)->size()};
}

bool all_in(const flatbuffers::Vector<int64_t>* indices, int64_t minimum, int64_t limit) {
  for (const int64_t index : *indices) {
    if (index < minimum || index >= limit) return false;
  }
  return true;
}

/// The maximum stride, in elements. A dimension of one element may have any stride, and loops step
/// past their last element. The limit keeps those addresses from wrapping.
constexpr int64_t kMaxStride = int64_t{1} << 40;

/// Whether the sizes and strides fit each other and the last element lies in the storage.
/// `are_bools_known` has the storages whose bytes were found to be bools: tensors may share one.
bool is_tensor_valid(const ProgramView& view, const fb::TensorView& tensor, bool* are_bools_known) {
  const auto* sizes = or_empty(tensor.sizes());
  const auto* strides = or_empty(tensor.strides());
  const int8_t dtype = tensor.dtype();
  const uint32_t storage = tensor.storage();
  int64_t last = tensor.offset();
  if (!is_scalar_type(dtype) || sizes->size() > kMaxDims || strides->size() != sizes->size() ||
      last < 0 || storage >= view.storages->size() || !is_aligned(sizes, 8) ||
      !is_aligned(strides, 8)) {
    return false;
  }
  const auto* data = or_empty(view.storages->Get(storage)->data());
  bool is_empty = false;
  int64_t numel = 1;
  for (uint32_t axis = 0; axis < sizes->size(); ++axis) {
    const int64_t size = sizes->Get(axis);
    const int64_t stride = strides->Get(axis);
    if (size < 0 || stride < 0 || stride > kMaxStride) return false;
    is_empty |= size == 0;
    const int64_t counted = size == 0 ? 1 : size;
    int64_t reach;
    if (__builtin_mul_overflow(counted - 1, stride, &reach) ||
        __builtin_add_overflow(last, reach, &last) ||
        __builtin_mul_overflow(numel, counted, &numel)) {
      return false;
    }
  }
  if (dtype == static_cast<int8_t>(ScalarType::Bool) && !are_bools_known[storage]) {
    if (!are_bools(data->data(), data->size())) return false;
    are_bools_known[storage] = true;
  }
  const int64_t elements =
      static_cast<int64_t>(data->size()) / element_size(static_cast<ScalarType>(dtype));
  // An empty tensor accesses no element, so its strides may have any value.
  return is_aligned(data, 16) && (is_empty ? tensor.offset() <= elements : last < elements);
}

bool are_tensors_valid(Context& context, const ProgramView& view) {
  auto* are_bools_known = context.allocate_zeroed<bool>(view.storages->size());
  bool valid = are_bools_known != nullptr;
  for (uint32_t i = 0; valid && i < view.tensors->size(); ++i)
    valid = is_tensor_valid(view, *view.tensors->Get(i), are_bools_known);
  context.deallocate(are_bools_known);
  return valid;
}

/// Names must be printable, because errors print them to terminals.
bool is_printable(const flatbuffers::String& name) {
  for (const char c : name) {
    if (c < ' ' || c > '~') return false;
  }
  return true;
}

/// `earlier` is the number of values that an Object may refer to.
bool is_value_valid(const ProgramView& view, const fb::Value& value, uint32_t earlier) {
  const auto* integers = or_empty(value.integers());
  if (!is_aligned(integers, 8) || !is_aligned(or_empty(value.numbers()), 8)) return false;
  const bool has_text = value.text() != nullptr;
  const int64_t tensors = view.tensors->size();
  switch (value.tag()) {
    case fb::Tag::String:
      return has_text;
    case fb::Tag::Tensor:
      return value.integer() >= 0 && value.integer() < tensors;
    case fb::Tag::TensorList:
      return all_in(integers, -1, tensors);
    case fb::Tag::Object:
      return has_text && is_printable(*value.text()) && integers->size() <= kMaxArguments &&
             all_in(integers, 0, earlier);
    default:
      return value.tag() < fb::Tag::Object;
  }
}

bool are_values_valid(const ProgramView& view, ProgramView::Tables<fb::Value> values,
                      bool objects) {
  for (uint32_t i = 0; i < values->size(); ++i) {
    const fb::Value& value = *values->Get(i);
    if (!is_value_valid(view, value, i) || (value.tag() == fb::Tag::Object && !objects))
      return false;
  }
  return true;
}

bool is_instruction_valid(const ProgramView& view, const Instruction& instruction) {
  const uint32_t inputs = instruction.inputs;
  const uint32_t outputs = instruction.outputs;
  const uint32_t target = instruction.target;
  if (instruction.first > view.slots.size || inputs + outputs > view.slots.size - instruction.first)
    return false;
  for (uint32_t i = 0; i < inputs + outputs; ++i) {
    const uint32_t slot = view.slots[instruction.first + i];
    // Constants are shared between runs: no instruction may write to their slots.
    if (slot >= view.slot_count || (i >= inputs && slot < view.values->size())) return false;
  }
  switch (instruction.kind) {
    case InstructionKind::Call:
      return target < view.operators->size() && inputs <= kMaxArguments && outputs <= kMaxResults;
    case InstructionKind::List:
      return outputs == 1 && (target == static_cast<uint32_t>(fb::Tag::IntList) ||
                              target == static_cast<uint32_t>(fb::Tag::TensorList));
    case InstructionKind::Jump:
      return target <= view.instructions.size;
    case InstructionKind::JumpFalse:
      return inputs == 1 && target <= view.instructions.size;
    case InstructionKind::Move:
      return inputs == 1 && outputs == 1;
  }
  return false;
}

bool is_input_valid(const ProgramView& view, const fb::Input& input) {
  const uint32_t slot = input.slot();
  if (slot >= view.slot_count || slot < view.values->size()) return false;
  const auto* dims = or_empty(input.dims());
  if (!is_scalar_type(input.dtype()) || dims->size() > kMaxDims || !is_aligned(dims, 8))
    return false;
  for (const fb::Dim* dim : *dims) {
    if (dim->minimum() < 0 || dim->minimum() > dim->maximum()) return false;
  }
  const fb::Tag tag = input.tag();
  return tag == fb::Tag::Tensor || (tag >= fb::Tag::Bool && tag <= fb::Tag::Double);
}

/// Builds without the feature verbose_errors use one text for all defects.
constexpr const char* detail(const char* text) {
  return SG_BUILD_FEATURE(verbose_errors) ? text : "damaged program";
}

[[maybe_unused]] const char* find_defect(Context& context, const ProgramView& view) {
  // Something names each slot, so the memory of a run is bounded by the size of the file.
  const uint32_t named =
      view.values->size() + view.inputs->size() + view.slots.size + view.outputs.size;
  if (view.slot_count > named || view.values->size() > view.slot_count)
    return detail("too many slots or values");
  if (!is_aligned(view.instructions.data, 4) || !is_aligned(view.slots.data, 4))
    return detail("misaligned");
  for (const flatbuffers::String* name : *view.operators) {
    if (!is_printable(*name)) return detail("the name of an operator is no name");
  }
  if (!are_tensors_valid(context, view)) return detail("a tensor does not fit its data");
  if (!are_values_valid(view, view.values, true)) return detail("a value is invalid");
  for (const Instruction& instruction : view.instructions) {
    if (!is_instruction_valid(view, instruction)) return detail("an instruction is invalid");
  }
  for (const fb::Input* input : *view.inputs) {
    if (!is_input_valid(view, *input)) return detail("an input is invalid");
  }
  for (const uint32_t slot : view.outputs) {
    if (slot >= view.slot_count) return detail("an output is invalid");
  }
  for (const fb::Case* one : *view.cases) {
    const auto* values = or_empty(one->values());
    if (values->size() != view.inputs->size() || !are_values_valid(view, values, false))
      return detail("a bundled input is invalid");
  }
  return nullptr;
}

/// Whether all offsets stay in the file. Builds without the feature program_verification ask for
/// the file's mark alone.
bool is_program(const void* data, size_t size) {
  if constexpr (SG_BUILD_FEATURE(program_verification)) {
    record_feature("program_verification");
    flatbuffers::Verifier verifier(static_cast<const uint8_t*>(data), size);
    return fb::VerifyProgramBuffer(verifier);
  } else {
    return fb::ProgramBufferHasIdentifier(data);
  }
}

}  // namespace

Status verify_program(Context& context, const void* data, size_t size, ProgramView& view) {
  const char* defect = "not a program (import a .pt2 first), or damaged";
  if (is_aligned(data, 16) && size > 8 && is_program(data, size)) {
    const fb::Program& program = *fb::GetProgram(data);
    view.operators = or_empty(program.operators());
    view.values = or_empty(program.values());
    view.tensors = or_empty(program.tensors());
    view.storages = or_empty(program.storages());
    view.inputs = or_empty(program.inputs());
    view.cases = or_empty(program.cases());
    const auto* instructions = or_empty(program.instructions());
    view.instructions = {reinterpret_cast<const Instruction*>(instructions->Data()),
                         instructions->size()};
    view.slots = array(program.slots());
    view.outputs = array(program.outputs());
    view.slot_count = program.slot_count();
    defect = nullptr;
    if constexpr (SG_BUILD_FEATURE(program_verification)) defect = find_defect(context, view);
  }
  if (defect != nullptr) return context.fail(Error::Invalid, defect);
  return {};
}

}  // namespace sg
