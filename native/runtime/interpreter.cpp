// The interpreter: runs the instructions of a verified program.

#include <csetjmp>
#include <cstdio>
#include <ctime>

#include "native/runtime/dispatcher.h"
#include "native/runtime/program.h"

namespace sg {
namespace {

/// Assigns a value to a slot and frees the previous value if nothing else uses it.
void assign(Context& context, Value& slot, const Value& value) {
  context.retain(value);
  context.release(slot);
  slot = value;
}

/// Makes a list of the values in slots: integers, or tensors and Nones.
Status make_list(Context& context, Tag tag, const Value* slots, const uint32_t* inputs, size_t size,
                 Value& list) {
  void* memory = context.allocate(static_cast<int64_t>(size * sizeof(int64_t)));
  if (memory == nullptr) return Failed{};
  for (size_t i = 0; i < size; ++i) {
    const Value& value = slots[inputs[i]];
    const bool fits = tag == Tag::IntList ? value.tag == Tag::Int
                                          : value.tag == Tag::Tensor || value.tag == Tag::None;
    if (!fits) return context.invalid("a list has an element of another type");
    static_cast<int64_t*>(memory)[i] = value.integer;  // a tensor's handle is the same word
  }
  if (tag == Tag::IntList) {
    list = IntArrayRef(static_cast<const int64_t*>(memory), size);
  } else {
    list = TensorList(static_cast<const Tensor*>(memory), size);
  }
  list.owned = true;
  return {};
}

static_assert(sizeof(Tensor) == sizeof(int64_t));

/// Nanoseconds of a clock that never goes back; 0 in builds without the feature profiling.
uint64_t now() {
  if constexpr (SG_BUILD_FEATURE(profiling)) {
    timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return static_cast<uint64_t>(time.tv_sec) * 1'000'000'000u +
           static_cast<uint64_t>(time.tv_nsec);
  }
  return 0;
}

}  // namespace

Status Program::check_inputs(Context& context, Span<const Value> inputs) const {
  char text[160];
  if (inputs.size() != this->inputs()) {
    std::snprintf(text, sizeof text, "the program takes %zu inputs, not %zu", this->inputs(),
                  inputs.size());
    return context.fail(Error::Invalid, text);
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    const InputSpec spec = input(i);
    const Value& value = inputs[i];
    if (value.tag != spec.tag) {
      std::snprintf(text, sizeof text, "input %zu is not of the kind the program takes", i);
      return context.fail(Error::Invalid, text);
    }
    if (spec.tag != Tag::Tensor) continue;
    const Tensor tensor(value.tensor);
    if (tensor.scalar_type() != spec.dtype || tensor.dim() != static_cast<int64_t>(spec.dim)) {
      std::snprintf(text, sizeof text,
                    "input %zu is %s with %d dimensions, the program takes %s with %d", i,
                    scalar_type_name(tensor.scalar_type()), static_cast<int>(tensor.dim()),
                    scalar_type_name(spec.dtype), static_cast<int>(spec.dim));
      return context.fail(Error::Invalid, text);
    }
    for (size_t axis = 0; axis < spec.dim; ++axis) {
      const int64_t size = tensor.size(static_cast<int64_t>(axis));
      if (size < spec.minimum(axis) || size > spec.maximum(axis)) {
        std::snprintf(text, sizeof text,
                      "input %zu has size %lld in dimension %zu, the program takes %lld to %lld", i,
                      static_cast<long long>(size), axis,
                      static_cast<long long>(spec.minimum(axis)),
                      static_cast<long long>(spec.maximum(axis)));
        return context.fail(Error::Invalid, text);
      }
    }
  }
  return {};
}

Status Program::run(Context& context, Span<const Value> inputs, Value* outputs) {
  SG_TRY(check_inputs(context, inputs));
  if (!complete_)
    return context.fail(Error::Missing, "this build lacks operators or classes of the program");
  const size_t slot_count = code_->slot_count;
  auto* slots = context.allocate_zeroed<Value>(slot_count);  // zeros are None
  if (slots == nullptr) return Failed{};
  const Block* mark = context.newest();
  for (size_t i = 0; i < values(); ++i) assign(context, slots[i], constants_[i]);
  for (uint32_t i = 0; i < inputs.size(); ++i) {
    assign(context, slots[input(i).slot], inputs[i]);
    context.retain(inputs[i]);  // the run may use it up, but it is the caller's
  }

  jmp_buf escape;
  context.escape = &escape;
  const bool done = _setjmp(escape) == 0 && run_instructions(context, slots).ok();
  context.escape = nullptr;
  context.frame = nullptr;
  for (uint32_t i = 0; i < this->outputs(); ++i) {
    outputs[i] = Value();
    if (done) assign(context, outputs[i], slots[code_->outputs[i]]);
  }
  for (size_t i = 0; i < slot_count; ++i) context.release(slots[i]);
  for (const Value& input : inputs) context.return_to_owner(input);
  context.sweep(mark, {});  // frees the blocks of an operator that escaped
  context.deallocate(slots);
  return Status(done);
}

// Longer than 40 lines: each kind of instruction has a case.
Status Program::run_instructions(Context& context, Value* slots) {
  int64_t executed = 0;
  for (uint32_t pc = 0; pc < code_->instructions.size;) {
    if (++executed > context.instruction_limit)
      return context.fail(Error::Budget, "more instructions than the limit");
    const Instruction& instruction = code_->instructions[pc];
    const uint32_t* inputs = code_->slots.data + instruction.first;
    const uint32_t* outputs = inputs + instruction.inputs;
    uint32_t next = pc + 1;
    switch (instruction.kind) {
      case InstructionKind::Call: {
        Value arguments[kMaxArguments];
        Value results[kMaxResults];
        for (uint32_t i = 0; i < instruction.inputs; ++i) arguments[i] = slots[inputs[i]];
        [[maybe_unused]] const uint64_t start = now();
        if (!call_operator(context, *operators_[instruction.target], arguments, results))
          return Failed{};
        if constexpr (SG_BUILD_FEATURE(profiling)) {
          if (OperatorProfile* profile = profile_; profile != nullptr) {
            record_feature("profiling");
            profile[instruction.target].calls += 1;
            profile[instruction.target].nanoseconds += now() - start;
          }
        }
        // Retain all results first: one of them may be an argument that another one replaces.
        for (uint32_t i = 0; i < instruction.outputs; ++i) context.retain(results[i]);
        for (uint32_t i = 0; i < instruction.outputs; ++i) {
          context.release(slots[outputs[i]]);
          slots[outputs[i]] = results[i];
        }
        break;
      }
      case InstructionKind::List: {
        Value list;
        SG_TRY(make_list(context, static_cast<Tag>(instruction.target), slots, inputs,
                         instruction.inputs, list));
        assign(context, slots[outputs[0]], list);
        break;
      }
      case InstructionKind::Jump:
        next = instruction.target;
        break;
      case InstructionKind::JumpFalse:
        if (slots[inputs[0]].tag != Tag::Bool)
          return context.invalid("a branch depends on something that is no bool");
        if (slots[inputs[0]].integer == 0) next = instruction.target;
        break;
      case InstructionKind::Move:
        assign(context, slots[outputs[0]], slots[inputs[0]]);
        break;
    }
    for (uint32_t i = 0; i < static_cast<uint32_t>(instruction.inputs) + instruction.outputs; ++i) {
      if (last_uses_[inputs[i]] == pc) assign(context, slots[inputs[i]], Value());
    }
    pc = next;
  }
  return {};
}

}  // namespace sg
