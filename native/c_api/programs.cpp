// Programs of the C interface: loaded, bound to inputs, and run.

#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

#include "native/c_api/errors.h"
#include "native/c_api/handles.h"

using sg::c_api::copy_of;
using sg::c_api::fail;
using sg::c_api::fail_memory;
using sg::c_api::fail_null;
using sg::c_api::succeed;

namespace {

static_assert(SIZEGUARD_BUDGET == static_cast<int>(sg::Error::Budget));

sizeguard_code fail_number(sizeguard_error* error, const char* kind, size_t count, size_t index) {
  return fail(error, SIZEGUARD_INVALID, "the program has %zu %s, no number %zu", count, kind,
              index);
}

/// The error that the Context holds.
sizeguard_code fail_as(sizeguard_error* error, const sg::Context& context) {
  return fail(error, static_cast<sizeguard_code>(context.error()), "%s", context.message());
}

/// Frees the outputs of the last run.
void drop_outputs(sizeguard_program& program) {
  for (size_t i = 0; i < program.program.outputs(); ++i) {
    sizeguard_tensor_free(program.outputs[i]);
    program.outputs[i] = nullptr;
  }
  program.has_run = false;
}

/// Names what the program calls and this build does not have.
sizeguard_code fail_missing(const sg::Program& program, sg::Context& context,
                            sizeguard_error* error) {
  auto* called = context.allocate_zeroed<bool>(program.operators());
  if (called == nullptr) return fail_memory(error);
  program.mark_called(called);
  char names[400] = "";
  size_t used = 0;
  size_t more = 0;
  for (size_t i = 0; i < program.operators() + program.values(); ++i) {
    const char* name = nullptr;
    if (i >= program.operators()) {
      name = program.missing_class(i - program.operators());
    } else if (!program.has_operator(i) && called[i]) {
      name = program.operator_name(i);
    }
    if (name == nullptr) continue;
    const size_t length = std::strlen(name);
    if (more != 0 || length + 3 > sizeof names - used) {
      ++more;
      continue;
    }
    if (used != 0) {
      std::memcpy(names + used, ", ", 2);
      used += 2;
    }
    std::memcpy(names + used, name, length + 1);
    used += length;
  }
  char rest[40] = "";
  if (more != 0) std::snprintf(rest, sizeof rest, " and %zu more", more);
  return fail(error, SIZEGUARD_MISSING, "this build lacks %s%s", names, rest);
}

sizeguard_code load(sizeguard_program& program, const void* bytes, size_t size,
                    sizeguard_error* error) {
  if (!program.program.load(program.context, bytes, size).ok())
    return fail_as(error, program.context);
  if (!program.program.is_complete()) return fail_missing(program.program, program.context, error);
  const size_t inputs = program.program.inputs();
  const size_t outputs = program.program.outputs();
  // All tables are one allocation, which the inputs lead.
  auto* tables = static_cast<char*>(
      std::calloc(inputs + outputs + 1, sizeof(sg::Value) + sizeof(sizeguard_tensor*)));
  if (tables == nullptr) return fail_memory(error);
  program.values = reinterpret_cast<sg::Value*>(tables);
  program.inputs = reinterpret_cast<sizeguard_tensor**>(program.values + inputs + outputs);
  program.outputs = program.inputs + inputs;
  return succeed(error);
}

/// Creates a program over bytes, which it frees if they are `file`.
sizeguard_code create_program(const void* bytes, size_t size, void* file,
                              sizeguard_program** result, sizeguard_error* error) {
  void* memory = std::calloc(1, sizeof(sizeguard_program));
  if (memory == nullptr) {
    std::free(file);
    return fail_memory(error);
  }
  auto* program = new (memory) sizeguard_program{};
  program->file = file;
  const sizeguard_code code = load(*program, bytes, size, error);
  if (code != SIZEGUARD_OK) {
    sizeguard_program_free(program);
    return code;
  }
  *result = program;
  return code;
}

/// Makes the value of an input for a run, and retains it.
sizeguard_code bind_input(sizeguard_program& program, size_t index, sizeguard_error* error) {
  const sizeguard_tensor* tensor = program.inputs[index];
  if (tensor == nullptr) return fail(error, SIZEGUARD_INVALID, "input %zu is not set", index);
  if (tensor->dtype == sg::ScalarType::Bool &&
      !sg::are_bools(tensor->data, static_cast<size_t>(tensor->count))) {
    return fail(error, SIZEGUARD_INVALID, "input %zu: a bool is neither 0 nor 1", index);
  }
  sg::Value& value = program.values[index];
  const bool is_number = program.program.input(index).tag != sg::Tag::Tensor && tensor->dim == 0;
  if (is_number && tensor->dtype == sg::ScalarType::Long) {
    value = *reinterpret_cast<const int64_t*>(tensor->data);
  } else if (is_number && tensor->dtype == sg::ScalarType::Double) {
    value = *reinterpret_cast<const double*>(tensor->data);
  } else if (is_number && tensor->dtype == sg::ScalarType::Bool) {
    value = *reinterpret_cast<const bool*>(tensor->data);
  } else {
    const auto borrowed =
        program.context.borrow(tensor->dtype, tensor->shape(), {}, tensor->data, tensor->bytes());
    if (!borrowed.ok()) return fail_as(error, program.context);
    value = borrowed.value();
  }
  program.context.retain(value);
  return SIZEGUARD_OK;
}

/// Copies an output of a run.
sizeguard_code keep_output(sizeguard_program& program, size_t index, const sg::Value& value,
                           sizeguard_error* error) {
  if (value.tag == sg::Tag::None) return SIZEGUARD_OK;
  if (value.tag > sg::Tag::Double && value.tag != sg::Tag::Tensor) {
    return fail(error, SIZEGUARD_INVALID, "output %zu is a list, a string or an object", index);
  }
  const auto tensor = value.tag == sg::Tag::Tensor
                          ? sg::Result<sg::Tensor>(sg::Tensor(value.tensor))
                          : program.context.wrap_number(value.to_scalar());
  if (!tensor.ok()) return fail_as(error, program.context);
  program.context.retain(tensor.value());
  program.outputs[index] = copy_of(tensor.value());
  program.context.release(tensor.value());
  return program.outputs[index] == nullptr ? fail_memory(error) : SIZEGUARD_OK;
}

/// Runs a program on the values of its inputs.
sizeguard_code run(sizeguard_program& program, sizeguard_error* error) {
  const size_t inputs = program.program.inputs();
  sg::Value* outputs = program.values + inputs;
  if (!program.program.run(program.context, {program.values, inputs}, outputs).ok())
    return fail_as(error, program.context);
  sizeguard_code code = SIZEGUARD_OK;
  for (size_t i = 0; i < program.program.outputs(); ++i) {
    if (code == SIZEGUARD_OK) code = keep_output(program, i, outputs[i], error);
    program.context.release(outputs[i]);
  }
  if (code != SIZEGUARD_OK) drop_outputs(program);
  program.has_run = code == SIZEGUARD_OK;
  return code;
}

}  // namespace

extern "C" {

sizeguard_code sizeguard_program_open(const char* path, sizeguard_program** program,
                                      sizeguard_error* error) {
  if (program == nullptr) return fail_null(error, "program");
  *program = nullptr;
  if (path == nullptr) return fail_null(error, "path");
  std::FILE* file = std::fopen(path, "rb");
  long size = -1;
  if (file != nullptr && std::fseek(file, 0, SEEK_END) == 0) size = std::ftell(file);
  // A folder has the largest size, or one that cannot be read.
  void* bytes = size < 0 || size == LONG_MAX || std::fseek(file, 0, SEEK_SET) != 0
                    ? nullptr
                    : std::malloc(static_cast<size_t>(size) + 1);
  const bool is_read = bytes != nullptr && std::fread(bytes, 1, static_cast<size_t>(size), file) ==
                                               static_cast<size_t>(size);
  if (file != nullptr) std::fclose(file);
  if (!is_read) {
    std::free(bytes);
    return fail(error, SIZEGUARD_INVALID, "%s: cannot read the file", path);
  }
  return create_program(bytes, static_cast<size_t>(size), bytes, program, error);
}

sizeguard_code sizeguard_program_load(const void* bytes, size_t size, sizeguard_program** program,
                                      sizeguard_error* error) {
  if (program == nullptr) return fail_null(error, "program");
  *program = nullptr;
  if (bytes == nullptr) return fail_null(error, "bytes");
  if (reinterpret_cast<uintptr_t>(bytes) % 16 != 0)
    return fail(error, SIZEGUARD_INVALID, "the bytes of the program are not aligned to 16");
  return create_program(bytes, size, nullptr, program, error);
}

void sizeguard_program_free(sizeguard_program* program) {
  if (program == nullptr) return;
  if (program->values != nullptr) {
    drop_outputs(*program);
    for (size_t i = 0; i < program->program.inputs(); ++i)
      sizeguard_tensor_free(program->inputs[i]);
    std::free(program->values);
  }
  void* file = program->file;  // the program refers to it
  program->~sizeguard_program();
  std::free(program);
  std::free(file);
}

sizeguard_code sizeguard_program_limit(sizeguard_program* program, int64_t memory,
                                       int64_t instructions, sizeguard_error* error) {
  if (program == nullptr) return fail_null(error, "program");
  if (memory < 0 || instructions < 0) return fail(error, SIZEGUARD_INVALID, "a limit is negative");
  program->context.memory_limit = memory == 0 ? INT64_MAX : memory;
  program->context.instruction_limit = instructions == 0 ? INT64_MAX : instructions;
  return succeed(error);
}

size_t sizeguard_program_inputs(const sizeguard_program* program) {
  return program == nullptr ? 0 : program->program.inputs();
}

size_t sizeguard_program_outputs(const sizeguard_program* program) {
  return program == nullptr ? 0 : program->program.outputs();
}

sizeguard_code sizeguard_program_input(const sizeguard_program* program, size_t index,
                                       sizeguard_input* input, sizeguard_error* error) {
  if (input == nullptr) return fail_null(error, "input");
  std::memset(input, 0, sizeof *input);
  if (program == nullptr) return fail_null(error, "program");
  const size_t count = program->program.inputs();
  if (index >= count) return fail_number(error, "inputs", count, index);
  const sg::InputSpec spec = program->program.input(index);
  sg::ScalarType dtype = spec.dtype;
  if (spec.tag == sg::Tag::Bool) dtype = sg::ScalarType::Bool;
  if (spec.tag == sg::Tag::Int) dtype = sg::ScalarType::Long;
  if (spec.tag == sg::Tag::Double) dtype = sg::ScalarType::Double;
  input->dtype = static_cast<sizeguard_dtype>(dtype);
  if (spec.tag != sg::Tag::Tensor) return succeed(error);
  input->dims = spec.dim;
  for (size_t axis = 0; axis < spec.dim; ++axis) {
    input->minimum[axis] = spec.minimum(axis);
    input->maximum[axis] = spec.maximum(axis);
  }
  return succeed(error);
}

sizeguard_code sizeguard_program_set_input(sizeguard_program* program, size_t index,
                                           sizeguard_tensor* tensor, sizeguard_error* error) {
  if (program == nullptr) return fail_null(error, "program");
  if (tensor == nullptr) return fail_null(error, "tensor");
  const size_t count = program->program.inputs();
  if (index >= count) return fail_number(error, "inputs", count, index);
  ++tensor->uses;  // first: it may be the one that is set
  sizeguard_tensor_free(program->inputs[index]);
  program->inputs[index] = tensor;
  return succeed(error);
}

sizeguard_code sizeguard_program_run(sizeguard_program* program, sizeguard_error* error) {
  if (program == nullptr) return fail_null(error, "program");
  drop_outputs(*program);
  program->context.clear_error();
  const size_t inputs = program->program.inputs();
  size_t bound = 0;
  sizeguard_code code = SIZEGUARD_OK;
  while (bound < inputs && code == SIZEGUARD_OK) {
    code = bind_input(*program, bound, error);
    if (code == SIZEGUARD_OK) ++bound;
  }
  if (code == SIZEGUARD_OK) code = run(*program, error);
  for (size_t i = 0; i < bound; ++i) program->context.release(program->values[i]);
  return code == SIZEGUARD_OK ? succeed(error) : code;
}

sizeguard_code sizeguard_program_output(const sizeguard_program* program, size_t index,
                                        sizeguard_tensor** tensor, sizeguard_error* error) {
  if (tensor == nullptr) return fail_null(error, "tensor");
  *tensor = nullptr;
  if (program == nullptr) return fail_null(error, "program");
  const size_t count = program->program.outputs();
  if (index >= count) return fail_number(error, "outputs", count, index);
  if (!program->has_run)
    return fail(error, SIZEGUARD_INVALID,
                "there are no outputs: the program has not run, or failed");
  *tensor = program->outputs[index];
  if (*tensor != nullptr) ++(*tensor)->uses;
  return succeed(error);
}

}  // extern "C"
