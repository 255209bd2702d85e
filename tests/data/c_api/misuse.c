/* misuse mlp.sgp encoder.sgp passthrough.sgp lacking.sgp: calls the C interface with wrong arguments and in the wrong order.
 * Prints the code and the message of each call. The programs: mlp takes Float 2x16 …, encoder takes Long and Bool, lacking
 * needs operators that the build does not have. */

#include <sizeguard.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static sizeguard_error error;

static void say(const char* label, sizeguard_code code) {
  printf("%s|%d|%s\n", label, (int)code, error.message);
  if (code != error.code) printf("%s: the code is %d in error\n", label, (int)error.code);
}

static void check(const char* label, int holds) {
  if (!holds) printf("%s does not hold\n", label);
}

static void tensors(void) {
  const int64_t two[2] = {2, 3};
  const int64_t negative[2] = {2, -3};
  const int64_t huge[3] = {INT64_MAX, 4, 0};
  const int64_t wide[2] = {INT64_MAX / 8, 8};
  const int64_t large[1] = {(int64_t)1 << 50};
  int64_t many[17];
  for (int i = 0; i < 17; ++i) many[i] = 1;
  sizeguard_tensor* tensor = (sizeguard_tensor*)&error;
  say("create: no tensor", sizeguard_tensor_create(SIZEGUARD_FLOAT, two, 2, NULL, &error));
  say("create: dtype 9", sizeguard_tensor_create((sizeguard_dtype)9, two, 2, &tensor, &error));
  check("tensor is null", tensor == NULL);
  say("create: dtype -1", sizeguard_tensor_create((sizeguard_dtype)-1, two, 2, &tensor, &error));
  say("create: no sizes", sizeguard_tensor_create(SIZEGUARD_FLOAT, NULL, 2, &tensor, &error));
  say("create: 17 dims", sizeguard_tensor_create(SIZEGUARD_FLOAT, many, 17, &tensor, &error));
  say("create: negative", sizeguard_tensor_create(SIZEGUARD_FLOAT, negative, 2, &tensor, &error));
  say("create: overflow", sizeguard_tensor_create(SIZEGUARD_FLOAT, huge, 3, &tensor, &error));
  say("create: too wide", sizeguard_tensor_create(SIZEGUARD_LONG, wide, 2, &tensor, &error));
  say("create: large", sizeguard_tensor_create(SIZEGUARD_BYTE, large, 1, &tensor, &error));
  say("create: number", sizeguard_tensor_create(SIZEGUARD_LONG, NULL, 0, &tensor, &error));
  check("a number has one element", sizeguard_tensor_count(tensor) == 1 && sizeguard_tensor_bytes(tensor) == 8);
  check("a number has no dimension", sizeguard_tensor_dims(tensor) == 0 && sizeguard_tensor_size(tensor, 0) == 0);
  sizeguard_tensor_free(tensor);

  double elements[6] = {0};
  say("borrow: no data", sizeguard_tensor_borrow(SIZEGUARD_DOUBLE, two, 2, NULL, 48, &tensor, &error));
  say("borrow: too few", sizeguard_tensor_borrow(SIZEGUARD_DOUBLE, two, 2, elements, 47, &tensor, &error));
  say("borrow: unaligned",
      sizeguard_tensor_borrow(SIZEGUARD_FLOAT, two, 2, (char*)elements + 2, 46, &tensor, &error));
  check("tensor is null", tensor == NULL);
  say("borrow", sizeguard_tensor_borrow(SIZEGUARD_DOUBLE, two, 2, elements, 48, &tensor, &error));
  check("borrowed data", sizeguard_tensor_data(tensor) == elements);
  sizeguard_tensor_free(tensor);

  check("null has no data", sizeguard_tensor_data(NULL) == NULL && sizeguard_tensor_bytes(NULL) == 0 &&
                                sizeguard_tensor_count(NULL) == 0 && sizeguard_tensor_dims(NULL) == 0 &&
                                sizeguard_tensor_size(NULL, 0) == 0);
  sizeguard_tensor_free(NULL);
}

static void* read_file(const char* path, size_t* size) {
  FILE* file = fopen(path, "rb");
  if (file == NULL) exit(2);
  fseek(file, 0, SEEK_END);
  *size = (size_t)ftell(file);
  rewind(file);
  void* bytes = malloc(*size + 1);
  if (bytes == NULL || fread(bytes, 1, *size, file) != *size) exit(2);
  fclose(file);
  return bytes;
}

static void loads(const char* path, const char* lacking) {
  size_t size;
  char* bytes = read_file(path, &size);
  sizeguard_program* program = (sizeguard_program*)&error;
  say("open: no path", sizeguard_program_open(NULL, &program, &error));
  check("program is null", program == NULL);
  say("open: no program", sizeguard_program_open(path, NULL, &error));
  say("open: no file", sizeguard_program_open("no_such_file", &program, &error));
  say("open: a folder", sizeguard_program_open(".", &program, &error));
  say("open: no model", sizeguard_program_open("empty", &program, &error));
  say("open: lacking", sizeguard_program_open(lacking, &program, &error));
  check("program is null", program == NULL);
  say("load: no bytes", sizeguard_program_load(NULL, 16, &program, &error));
  say("load: no program", sizeguard_program_load(bytes, size, NULL, &error));
  say("load: unaligned", sizeguard_program_load(bytes + 1, size - 1, &program, &error));
  say("load: nothing", sizeguard_program_load(bytes, 0, &program, &error));
  say("load: truncated", sizeguard_program_load(bytes, size / 2, &program, &error));
  for (size_t cut = 0; cut < size; cut += 97) {
    void* part = malloc(cut + 1);
    memcpy(part, bytes, cut);
    check("a part is no program", sizeguard_program_load(part, cut, &program, NULL) != SIZEGUARD_OK);
    free(part);
  }
  say("load", sizeguard_program_load(bytes, size, &program, &error));
  sizeguard_program_free(program);
  sizeguard_program_free(NULL);
  free(bytes);
  check("null has nothing", sizeguard_program_inputs(NULL) == 0 && sizeguard_program_outputs(NULL) == 0);
}

static sizeguard_tensor* tensor_of(sizeguard_dtype dtype, int64_t a, int64_t b, size_t dims) {
  const int64_t sizes[2] = {a, b};
  sizeguard_tensor* tensor;
  if (sizeguard_tensor_create(dtype, sizes, dims, &tensor, &error) != SIZEGUARD_OK) exit(2);
  return tensor;
}

/* Sets the input, gives up the tensor, and runs. */
static sizeguard_code run_with(sizeguard_program* program, sizeguard_tensor* tensor) {
  const sizeguard_code code = sizeguard_program_set_input(program, 0, tensor, &error);
  sizeguard_tensor_free(tensor);
  return code != SIZEGUARD_OK ? code : sizeguard_program_run(program, &error);
}

static void runs(const char* path) {
  sizeguard_program* program;
  sizeguard_tensor* output = (sizeguard_tensor*)&error;
  sizeguard_input input;
  say("mlp", sizeguard_program_open(path, &program, &error));
  say("output: before run", sizeguard_program_output(program, 0, &output, &error));
  check("output is null", output == NULL);
  say("run: not set", sizeguard_program_run(program, &error));
  say("run: no program", sizeguard_program_run(NULL, &error));
  say("input: no input", sizeguard_program_input(program, 0, NULL, &error));
  say("input: no program", sizeguard_program_input(NULL, 0, &input, &error));
  say("input: number 1", sizeguard_program_input(program, 1, &input, &error));
  say("input", sizeguard_program_input(program, 0, &input, &error));
  check("input 0 is Float of 2 dimensions", input.dtype == SIZEGUARD_FLOAT && input.dims == 2 && input.maximum[1] == 16);
  sizeguard_tensor* right = tensor_of(SIZEGUARD_FLOAT, input.minimum[0], 16, 2);
  say("set: no program", sizeguard_program_set_input(NULL, 0, right, &error));
  say("set: no tensor", sizeguard_program_set_input(program, 0, NULL, &error));
  say("set: too many", sizeguard_program_set_input(program, 1, right, &error));
  say("set: far too many", sizeguard_program_set_input(program, (size_t)-1, right, &error));
  say("run: dtype", run_with(program, tensor_of(SIZEGUARD_DOUBLE, input.minimum[0], 16, 2)));
  say("run: rank", run_with(program, tensor_of(SIZEGUARD_FLOAT, 16, 0, 1)));
  say("run: size", run_with(program, tensor_of(SIZEGUARD_FLOAT, input.minimum[0], 17, 2)));
  say("run: empty", run_with(program, tensor_of(SIZEGUARD_FLOAT, input.minimum[0], 0, 2)));
  say("output: after failure", sizeguard_program_output(program, 0, &output, &error));
  say("limit: negative", sizeguard_program_limit(program, -1, 0, &error));
  say("limit: no program", sizeguard_program_limit(NULL, 0, 0, &error));

  sizeguard_program_set_input(program, 0, right, &error);
  sizeguard_program_set_input(program, 0, right, &error); /* again: it has it already */
  sizeguard_program_limit(program, 0, 1, &error);
  say("run: budget", sizeguard_program_run(program, &error));
  sizeguard_program_limit(program, 0, 0, &error);
  say("run", sizeguard_program_run(program, &error));
  say("output: number 1", sizeguard_program_output(program, 1, &output, &error));
  say("output: no output", sizeguard_program_output(program, 0, NULL, &error));
  say("output: no program", sizeguard_program_output(NULL, 0, &output, &error));
  sizeguard_tensor* first;
  sizeguard_tensor* second;
  say("output", sizeguard_program_output(program, 0, &first, &error));
  sizeguard_program_output(program, 0, &second, &error);
  check("the same output", first == second);
  sizeguard_tensor_free(second);
  check("no error struct", sizeguard_program_run(program, NULL) == SIZEGUARD_OK);
  sizeguard_program_output(program, 0, &second, NULL);
  check("another output", first != second);
  const size_t bytes = sizeguard_tensor_bytes(first);
  check("equal outputs", memcmp(sizeguard_tensor_data(first), sizeguard_tensor_data(second), bytes) == 0);
  ((float*)sizeguard_tensor_data(right))[0] += 1; /* read anew by the next run */
  sizeguard_program_run(program, &error);
  sizeguard_tensor_free(second);
  sizeguard_program_output(program, 0, &second, &error);
  check("other outputs", memcmp(sizeguard_tensor_data(first), sizeguard_tensor_data(second), bytes) != 0);
  sizeguard_program_free(program); /* outputs and the input live on */
  ((float*)sizeguard_tensor_data(first))[0] = ((float*)sizeguard_tensor_data(right))[0];
  memcpy(sizeguard_tensor_data(second), sizeguard_tensor_data(first), bytes);
  sizeguard_tensor_free(right);
  sizeguard_tensor_free(first);
  sizeguard_tensor_free(second);
}

static void bools(const char* path) {
  sizeguard_program* program;
  say("encoder", sizeguard_program_open(path, &program, &error));
  sizeguard_tensor* tokens = tensor_of(SIZEGUARD_LONG, 2, 10, 2);
  sizeguard_tensor* mask = tensor_of(SIZEGUARD_BOOL, 2, 10, 2);
  sizeguard_program_set_input(program, 1, mask, &error);
  say("run: first not set", run_with(program, tensor_of(SIZEGUARD_LONG, 2, 10, 2)));
  memset(sizeguard_tensor_data(mask), 2, 1);
  sizeguard_program_set_input(program, 0, tokens, &error);
  say("run: no bool", sizeguard_program_run(program, &error));
  memset(sizeguard_tensor_data(mask), 1, 1);
  ((int64_t*)sizeguard_tensor_data(tokens))[3] = -5;
  say("run: an operator fails", sizeguard_program_run(program, &error));
  ((int64_t*)sizeguard_tensor_data(tokens))[3] = 5;
  say("run: again", sizeguard_program_run(program, &error));
  int ran_out = 0;
  for (int64_t limit = 1024; limit < (1 << 20); limit += limit / 16) {
    sizeguard_program_limit(program, limit, 0, &error);
    ran_out += sizeguard_program_run(program, &error) == SIZEGUARD_MEMORY;
  }
  check("memory runs out at some limits", ran_out > 2);
  sizeguard_program_limit(program, 0, 0, &error);
  say("run: without limits", sizeguard_program_run(program, &error));
  sizeguard_program_set_input(program, 0, mask, &error); /* one tensor for both */
  say("run: one for both", sizeguard_program_run(program, &error));
  sizeguard_tensor_free(tokens);
  sizeguard_tensor_free(mask);
  sizeguard_program_free(program);
}

/* The outputs of this one are views of the input, constants and None. */
static void views(const char* path) {
  sizeguard_program* program;
  say("passthrough", sizeguard_program_open(path, &program, &error));
  static float elements[4] = {1, 2, 3, 4};
  const int64_t sizes[1] = {4};
  sizeguard_tensor* input;
  sizeguard_tensor* output;
  sizeguard_tensor_borrow(SIZEGUARD_FLOAT, sizes, 1, elements, sizeof elements, &input, &error);
  for (int i = 0; i < 3; ++i) {
    say("run: chained", run_with(program, input));
    sizeguard_program_output(program, 0, &output, &error);
    check("output is no view", sizeguard_tensor_data(output) != sizeguard_tensor_data(input));
    input = output; /* its own output as its next input */
  }
  sizeguard_tensor_free(output);
  for (size_t i = 0; i < sizeguard_program_outputs(program); ++i) {
    check("each output", sizeguard_program_output(program, i, &output, &error) == SIZEGUARD_OK);
    sizeguard_tensor_free(output);
  }
  sizeguard_program_free(program);
}

int main(int argc, char** argv) {
  if (argc != 5) return 2;
  tensors();
  loads(argv[1], argv[4]);
  runs(argv[1]);
  bools(argv[2]);
  views(argv[3]);
  return 0;
}
