// Loading: constants, operators and classes of a verified program.

#include "native/runtime/program.h"

#include <cstring>

#include "native/runtime/dispatcher.h"
#include "native/runtime/hooks.h"
#include "native/runtime/verify.h"
#include "native/selective/select.h"

namespace sg {
namespace {

IntArrayRef integers(const flatbuffers::Vector<int64_t>* vector) {
  return {or_empty(vector)->data(), or_empty(vector)->size()};
}

template <InstructionKind kind, fb::Kind stored>
constexpr bool kSame = static_cast<uint8_t>(kind) == static_cast<uint8_t>(stored);
static_assert(kSame<InstructionKind::Call, fb::Kind::Call> &&
              kSame<InstructionKind::List, fb::Kind::List> &&
              kSame<InstructionKind::Jump, fb::Kind::Jump> &&
              kSame<InstructionKind::JumpFalse, fb::Kind::JumpFalse> &&
              kSame<InstructionKind::Move, fb::Kind::Move> && fb::Kind::MAX == fb::Kind::Move);
static_assert(sizeof(Instruction) == sizeof(fb::Instruction) &&
              alignof(Instruction) == alignof(fb::Instruction));

}  // namespace

inline const ProgramView& Program::view() const {
  return *static_cast<const ProgramView*>(code_);
}

Program::~Program() {
  if (code_ == nullptr) return;
  for (size_t i = 0; i < values(); ++i) context_->release(constants_[i]);
  context_->deallocate(code_);
}

Status Program::load(Context& context, const void* data, size_t size) {
  ProgramView view;
  SG_TRY(verify_program(context, data, size, view));
  SG_TRY(check_libraries(context));
  // All tables are one allocation. Zeros are None, and operators that are not found.
  const size_t bytes = sizeof view + view.values->size() * sizeof(Value) +
                       view.operators->size() * sizeof(Operator*) +
                       view.slot_count * sizeof(uint32_t);
  auto* memory = static_cast<char*>(context.allocate_zeros(bytes));
  if (memory == nullptr) return Failed{};
  context_ = &context;
  auto* kept = reinterpret_cast<ProgramView*>(memory);
  *kept = view;
  code_ = kept;
  constants_ = reinterpret_cast<Value*>(kept + 1);
  operators_ = reinterpret_cast<const Operator**>(constants_ + values());
  last_uses_ = reinterpret_cast<uint32_t*>(operators_ + operators());
  SG_TRY(resolve(context));
  const Block* mark = context.newest();
  const Status created = create_constants(context);
  context.sweep(mark, {});  // blocks of a constant whose creation failed
  if (created.ok()) find_last_uses();
  return created;
}

Status Program::resolve(Context& context) {
  for (size_t i = 0; i < operators(); ++i) {
    operators_[i] = find_operator(operator_name(i), std::strlen(operator_name(i)));
  }
  for (const Instruction& instruction : code_->instructions) {
    if (instruction.kind != InstructionKind::Call) continue;
    const Operator* op = operators_[instruction.target];
    if (op == nullptr) {
      complete_ = false;
    } else if (!has_arity(op->schema, instruction.inputs, instruction.outputs)) {
      return context.fail(Error::Invalid, "a call does not fit the operator's schema");
    }
  }
  return {};
}

Status Program::create_constants(Context& context) {
  for (size_t i = 0; i < values(); ++i) {
    if (missing_class(i) != nullptr) {
      complete_ = false;
      continue;
    }
    SG_TRY(create_value(context, *view().values->Get(static_cast<uint32_t>(i)), constants_[i]));
    context.retain(constants_[i]);
  }
  return {};
}

Status Program::create_tensor(Context& context, int64_t index, Tensor& tensor) const {
  const fb::TensorView& stored = *view().tensors->Get(static_cast<uint32_t>(index));
  const auto dtype = static_cast<ScalarType>(stored.dtype());
  const auto* data = or_empty(view().storages->Get(stored.storage())->data());
  const int64_t start = stored.offset() * element_size(dtype);
  SG_ASSIGN(tensor, context.borrow(dtype, integers(stored.sizes()), integers(stored.strides()),
                                   data->data() + start, int64_t{data->size()} - start));
  return {};
}

// Longer than 40 lines: each kind of value has a case.
Status Program::create_value(Context& context, const fb::Value& stored, Value& value) const {
  const IntArrayRef numbers = integers(stored.integers());
  const size_t size = numbers.size();
  switch (stored.tag()) {
    case fb::Tag::None:
      break;
    case fb::Tag::Bool:
      value = stored.integer() != 0;
      break;
    case fb::Tag::Int:
      value = stored.integer();
      break;
    case fb::Tag::Double:
      value = stored.number();
      break;
    case fb::Tag::String:
      value = stored.text()->c_str();
      break;
    case fb::Tag::IntList:
      value = integers(stored.integers());
      break;
    case fb::Tag::DoubleList:
      value =
          DoubleArrayRef(or_empty(stored.numbers())->data(), or_empty(stored.numbers())->size());
      break;
    case fb::Tag::Tensor: {
      Tensor tensor;
      SG_TRY(create_tensor(context, stored.integer(), tensor));
      value = tensor;
      break;
    }
    case fb::Tag::BoolList: {
      auto* bools = static_cast<bool*>(context.allocate(static_cast<int64_t>(size)));
      if (bools == nullptr) return Failed{};
      for (size_t i = 0; i < size; ++i) bools[i] = numbers[i] != 0;
      value = BoolArrayRef(bools, size);
      value.owned = true;
      break;
    }
    case fb::Tag::TensorList: {
      auto* tensors =
          static_cast<Tensor*>(context.allocate(static_cast<int64_t>(size * sizeof(Tensor))));
      if (tensors == nullptr) return Failed{};
      for (size_t i = 0; i < size; ++i) {
        tensors[i] = Tensor();
        const int64_t index = numbers[i];
        if (index >= 0) SG_TRY(create_tensor(context, index, tensors[i]));
      }
      value = TensorList(tensors, size);
      value.owned = true;
      break;
    }
    case fb::Tag::Object: {
      record_class(stored.text()->c_str());
      Value state[kMaxArguments];
      for (size_t i = 0; i < size; ++i) state[i] = constants_[numbers[i]];
      Object* object = find_class(stored.text()->c_str())->create(context, {state, size});
      if (object == nullptr) return Failed{};
      value = object;
      break;
    }
  }
  return {};
}

void Program::find_last_uses() {
  constexpr uint32_t kNever = UINT32_MAX;
  bool loops = false;
  for (uint32_t i = 0; i < code_->instructions.size; ++i) {
    const Instruction& instruction = code_->instructions[i];
    loops |= (instruction.kind == InstructionKind::Jump ||
              instruction.kind == InstructionKind::JumpFalse) &&
             instruction.target <= i;
    const uint32_t end = instruction.first + instruction.inputs + instruction.outputs;
    for (uint32_t k = instruction.first; k < end; ++k) last_uses_[code_->slots[k]] = i;
  }
  // Constants belong to the program, outputs to the caller. In a loop, an earlier instruction may
  // read a slot again.
  for (uint32_t slot = 0; slot < (loops ? code_->slot_count : values()); ++slot)
    last_uses_[slot] = kNever;
  for (const uint32_t slot : code_->outputs) last_uses_[slot] = kNever;
}

void Program::mark_called(bool* called) const {
  for (const Instruction& instruction : code_->instructions) {
    if (instruction.kind == InstructionKind::Call) called[instruction.target] = true;
  }
}

size_t Program::operators() const {
  return view().operators->size();
}
const char* Program::operator_name(size_t index) const {
  return view().operators->Get(static_cast<uint32_t>(index))->c_str();
}
size_t Program::values() const {
  return view().values->size();
}
size_t Program::inputs() const {
  return view().inputs->size();
}
size_t Program::outputs() const {
  return code_->outputs.size;
}
size_t Program::cases() const {
  return view().cases->size();
}

const char* Program::missing_class(size_t index) const {
  const fb::Value& value = *view().values->Get(static_cast<uint32_t>(index));
  if (value.tag() != fb::Tag::Object) return nullptr;
  const char* name = value.text()->c_str();
  return find_class(name) == nullptr ? name : nullptr;
}

InputSpec Program::input(size_t index) const {
  const fb::Input& input = *view().inputs->Get(static_cast<uint32_t>(index));
  const auto* dims = or_empty(input.dims());
  return {static_cast<Tag>(input.tag()), static_cast<ScalarType>(input.dtype()), input.slot(),
          dims->size(), reinterpret_cast<const int64_t*>(dims->Data())};
}

Status Program::load_case(Context& context, size_t index, Value* inputs) const {
  if constexpr (SG_BUILD_FEATURE(bundled_inputs)) {
    record_feature("bundled_inputs");
    const fb::Case& stored = *view().cases->Get(static_cast<uint32_t>(index));
    for (uint32_t i = 0; i < this->inputs(); ++i) {
      SG_TRY(create_value(context, *or_empty(stored.values())->Get(i), inputs[i]));
      context.retain(inputs[i]);
    }
    return {};
  } else {
    static_cast<void>(index);
    static_cast<void>(inputs);
    return context.fail(
        Error::Missing,
        "this build leaves the feature bundled_inputs out: pass the inputs as files");
  }
}

}  // namespace sg
