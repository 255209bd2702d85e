// The C interface: handles over Context and Program, and errors as codes and messages.
//
// A tensor has its own memory, separate from every Context: inputs are borrowed for a run, outputs
// are copied after it. So handles can be freed in any order.

#include <climits>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

#include "native/c_api/sizeguard.h"
#include "native/runtime/program.h"

struct sizeguard_tensor {
  int64_t uses;  // by the caller and as inputs and outputs of programs
  char* data;
  int64_t count;
  sg::ScalarType dtype;
  int8_t dim;
  int64_t sizes[sg::kMaxDims];

  sg::IntArrayRef shape() const { return {sizes, static_cast<size_t>(dim)}; }
  int64_t bytes() const { return count * sg::element_size(dtype); }
};

struct sizeguard_program {
  sg::Context context;  // outlives the program
  sg::Program program;
  void* file;                  // the bytes of the program, or null if they are the caller's
  sizeguard_tensor** inputs;   // null: not set
  sizeguard_tensor** outputs;  // null: None, or no run
  sg::Value* values;           // of the inputs, then of the outputs, during a run
  bool has_run;                // whether the last run succeeded
};

namespace {

static_assert(SIZEGUARD_MAX_DIMS == sg::kMaxDims);
static_assert(SIZEGUARD_BFLOAT16 == static_cast<int>(sg::ScalarType::BFloat16));
static_assert(SIZEGUARD_BUDGET == static_cast<int>(sg::Error::Budget));
static_assert(sizeof(sizeguard_tensor) % 16 == 0, "elements are aligned as malloc aligns");

sizeguard_code succeed(sizeguard_error* error) {
  if (error != nullptr) {
    error->code = SIZEGUARD_OK;
    error->message[0] = 0;
  }
  return SIZEGUARD_OK;
}

[[gnu::format(printf, 3, 4)]] sizeguard_code fail(sizeguard_error* error, sizeguard_code code,
                                                  const char* format, ...) {
  if (error != nullptr) {
    error->code = code;
    va_list arguments;
    va_start(arguments, format);
    std::vsnprintf(error->message, sizeof error->message, format, arguments);
    va_end(arguments);
  }
  return code;
}

sizeguard_code fail_null(sizeguard_error* error, const char* name) {
  return fail(error, SIZEGUARD_INVALID, "%s is null", name);
}

sizeguard_code fail_memory(sizeguard_error* error) {
  return fail(error, SIZEGUARD_MEMORY, "out of memory");
}

sizeguard_code fail_number(sizeguard_error* error, const char* kind, size_t count, size_t index) {
  return fail(error, SIZEGUARD_INVALID, "the program has %zu %s, no number %zu", count, kind,
              index);
}

/// The error that the Context holds.
sizeguard_code fail_as(sizeguard_error* error, const sg::Context& context) {
  return fail(error, static_cast<sizeguard_code>(context.error()), "%s", context.message());
}

/// A tensor over `data`, or with `owned` bytes of its own; null if there is no memory.
sizeguard_tensor* new_tensor(sg::ScalarType dtype, sg::IntArrayRef sizes, int64_t count,
                             char* data) {
  const int64_t owned = data == nullptr ? count * sg::element_size(dtype) : 0;
  auto* tensor = static_cast<sizeguard_tensor*>(
      std::calloc(1, sizeof(sizeguard_tensor) + static_cast<size_t>(owned)));
  if (tensor == nullptr) return nullptr;
  tensor->uses = 1;
  tensor->data = data == nullptr ? reinterpret_cast<char*>(tensor + 1) : data;
  tensor->count = count;
  tensor->dtype = dtype;
  tensor->dim = static_cast<int8_t>(sizes.size());
  for (size_t i = 0; i < sizes.size(); ++i) tensor->sizes[i] = sizes[i];
  return tensor;
}

/// Checks what describes a tensor. `count` becomes the number of its elements.
sizeguard_code check_shape(sizeguard_dtype dtype, const int64_t* sizes, size_t dims, int64_t& count,
                           sizeguard_error* error) {
  if (!sg::is_scalar_type(static_cast<int64_t>(dtype)))
    return fail(error, SIZEGUARD_INVALID, "%d is no dtype", static_cast<int>(dtype));
  if (sizes == nullptr && dims != 0) return fail_null(error, "sizes");
  if (dims > sg::kMaxDims) {
    return fail(error, SIZEGUARD_INVALID, "%zu dimensions are more than %d", dims,
                SIZEGUARD_MAX_DIMS);
  }
  count = sg::count_elements({sizes, dims});
  int64_t bytes;
  // The header of a tensor comes on top.
  if (count < 0 ||
      __builtin_mul_overflow(count, sg::element_size(static_cast<sg::ScalarType>(dtype)), &bytes) ||
      bytes > INT64_MAX - static_cast<int64_t>(sizeof(sizeguard_tensor))) {
    return fail(error, SIZEGUARD_INVALID, "a size is negative, or the sizes are too large");
  }
  return SIZEGUARD_OK;
}

sizeguard_code create(sizeguard_dtype dtype, const int64_t* sizes, size_t dims, char* data,
                      int64_t count, sizeguard_tensor** tensor, sizeguard_error* error) {
  *tensor = new_tensor(static_cast<sg::ScalarType>(dtype), {sizes, dims}, count, data);
  return *tensor == nullptr ? fail_memory(error) : succeed(error);
}

/// A copy with elements one after another; null if there is no memory.
sizeguard_tensor* copy_of(sg::Tensor tensor) {
  sizeguard_tensor* copy =
      new_tensor(tensor.scalar_type(), tensor.sizes(), tensor.numel(), nullptr);
  if (copy == nullptr) return nullptr;
  if (tensor.is_contiguous()) {
    if (copy->count != 0)
      std::memcpy(copy->data, tensor.bytes(), static_cast<size_t>(copy->bytes()));
    return copy;
  }
  const int64_t size = tensor.element_size();
  for (int64_t i = 0; i < copy->count; ++i) {
    std::memcpy(copy->data + i * size, tensor.bytes() + sg::offset_of(tensor, i) * size,
                static_cast<size_t>(size));
  }
  return copy;
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
sizeguard_code fail_missing(const sg::Program& program, sizeguard_error* error) {
  char names[400] = "";
  size_t used = 0;
  size_t more = 0;
  for (size_t i = 0; i < program.operators() + program.values(); ++i) {
    const char* name = nullptr;
    if (i >= program.operators()) {
      name = program.missing_class(i - program.operators());
    } else if (!program.has_operator(i) && program.calls_operator(i)) {
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
  if (!program.program.is_complete()) return fail_missing(program.program, error);
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

sizeguard_code sizeguard_tensor_create(sizeguard_dtype dtype, const int64_t* sizes, size_t dims,
                                       sizeguard_tensor** tensor, sizeguard_error* error) {
  if (tensor == nullptr) return fail_null(error, "tensor");
  *tensor = nullptr;
  int64_t count;
  const sizeguard_code code = check_shape(dtype, sizes, dims, count, error);
  return code != SIZEGUARD_OK ? code : create(dtype, sizes, dims, nullptr, count, tensor, error);
}

sizeguard_code sizeguard_tensor_borrow(sizeguard_dtype dtype, const int64_t* sizes, size_t dims,
                                       const void* data, size_t bytes, sizeguard_tensor** tensor,
                                       sizeguard_error* error) {
  if (tensor == nullptr) return fail_null(error, "tensor");
  *tensor = nullptr;
  int64_t count;
  const sizeguard_code code = check_shape(dtype, sizes, dims, count, error);
  if (code != SIZEGUARD_OK) return code;
  if (data == nullptr) return fail_null(error, "data");
  const auto element = static_cast<size_t>(sg::element_size(static_cast<sg::ScalarType>(dtype)));
  if (static_cast<size_t>(count) > bytes / element) {
    return fail(error, SIZEGUARD_INVALID, "%zu bytes are too few for %lld elements of %zu", bytes,
                static_cast<long long>(count), element);
  }
  if (reinterpret_cast<uintptr_t>(data) % element != 0)
    return fail(error, SIZEGUARD_INVALID, "data is not aligned to %zu bytes", element);
  // No program writes to an input, so the cast is safe.
  return create(dtype, sizes, dims, static_cast<char*>(const_cast<void*>(data)), count, tensor,
                error);
}

void sizeguard_tensor_free(sizeguard_tensor* tensor) {
  if (tensor != nullptr && --tensor->uses == 0) std::free(tensor);
}

void* sizeguard_tensor_data(const sizeguard_tensor* tensor) {
  return tensor == nullptr ? nullptr : tensor->data;
}

sizeguard_dtype sizeguard_tensor_dtype(const sizeguard_tensor* tensor) {
  return tensor == nullptr ? SIZEGUARD_BYTE : static_cast<sizeguard_dtype>(tensor->dtype);
}

size_t sizeguard_tensor_dims(const sizeguard_tensor* tensor) {
  return tensor == nullptr ? 0 : static_cast<size_t>(tensor->dim);
}

int64_t sizeguard_tensor_size(const sizeguard_tensor* tensor, size_t dim) {
  return dim < sizeguard_tensor_dims(tensor) ? tensor->sizes[dim] : 0;
}

int64_t sizeguard_tensor_count(const sizeguard_tensor* tensor) {
  return tensor == nullptr ? 0 : tensor->count;
}

size_t sizeguard_tensor_bytes(const sizeguard_tensor* tensor) {
  return tensor == nullptr ? 0 : static_cast<size_t>(tensor->bytes());
}

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
