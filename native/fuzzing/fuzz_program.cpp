// libFuzzer's entry: loads the bytes as a program and runs it, on its bundled inputs or on zeros.

#include <cstdlib>
#include <cstring>

#include "native/runtime/program.h"

namespace {

constexpr size_t kMaxValues = 64;

/// Makes a tensor of zeros (or a number) of the smallest size that the spec allows. Returns false
/// if that is too large.
bool make_input(sg::Context& context, const sg::InputSpec& spec, sg::Value& value) {
  if (spec.tag == sg::Tag::Bool) value = false;
  if (spec.tag == sg::Tag::Int) value = int64_t{1};
  if (spec.tag == sg::Tag::Double) value = 0.5;
  if (spec.tag != sg::Tag::Tensor) return true;
  int64_t sizes[sg::kMaxDims];
  for (size_t axis = 0; axis < spec.dim; ++axis) sizes[axis] = spec.minimum(axis);
  const auto tensor = context.empty(spec.dtype, {sizes, spec.dim});
  if (!tensor.ok()) return false;
  std::memset(tensor.value().bytes(), 0,
              static_cast<size_t>(tensor.value().numel() * tensor.value().element_size()));
  value = tensor.value();
  return true;
}

void run(sg::Context& context, sg::Program& program) {
  if (program.inputs() > kMaxValues || program.outputs() > kMaxValues) return;
  sg::Value inputs[kMaxValues];
  sg::Value outputs[kMaxValues];
  if (program.cases() > 0) {
    if (!program.load_case(context, 0, inputs).ok()) return;
  } else {
    for (size_t i = 0; i < program.inputs(); ++i) {
      if (!make_input(context, program.input(i), inputs[i])) return;
      context.retain(inputs[i]);
    }
  }
  if (!program.run(context, {inputs, program.inputs()}, outputs).ok()) return;
  for (size_t i = 0; i < program.outputs(); ++i) context.release(outputs[i]);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  // A block from malloc, as in read_file, so that the sanitizer detects a read past the end.
  void* copy = std::malloc(size);
  if (copy == nullptr) return 0;
  if (size > 0) std::memcpy(copy, data, size);
  {
    // The limits are so small that the largest product of two tensors takes at most a second.
    sg::Context context;
    context.memory_limit = 1 << 15;
    context.instruction_limit = 200;
    sg::Program program;
    if (program.load(context, copy, size).ok()) run(context, program);
  }
  std::free(copy);
  return 0;
}
