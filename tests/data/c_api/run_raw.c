/* run_raw model.sgp folder: runs a program twice on folder/inputN, each a line "dtype dims sizes…" and the elements, and
 * writes folder/outputN likewise. Prints "none N" for an output that is None. */

#include <inttypes.h>
#include <sizeguard.h>
#include <stdio.h>
#include <string.h>

static int failed(const char* what, const sizeguard_error* error) {
  fprintf(stderr, "%s: %d: %s\n", what, (int)error->code, error->message);
  return 1;
}

static sizeguard_tensor* read_tensor(const char* path, sizeguard_error* error) {
  FILE* file = fopen(path, "rb");
  int dtype;
  size_t dims;
  int64_t sizes[SIZEGUARD_MAX_DIMS];
  sizeguard_tensor* tensor = NULL;
  if (file == NULL || fscanf(file, "%d %zu", &dtype, &dims) != 2) return NULL;
  for (size_t i = 0; i < dims; ++i) {
    if (fscanf(file, "%" SCNd64, &sizes[i]) != 1) return NULL;
  }
  if (fgetc(file) != '\n') return NULL;
  if (sizeguard_tensor_create((sizeguard_dtype)dtype, sizes, dims, &tensor, error) == SIZEGUARD_OK) {
    const size_t bytes = sizeguard_tensor_bytes(tensor);
    if (fread(sizeguard_tensor_data(tensor), 1, bytes, file) != bytes) return NULL;
  }
  fclose(file);
  return tensor;
}

static void write_tensor(const char* path, const sizeguard_tensor* tensor) {
  FILE* file = fopen(path, "wb");
  fprintf(file, "%d %zu", (int)sizeguard_tensor_dtype(tensor), sizeguard_tensor_dims(tensor));
  for (size_t i = 0; i < sizeguard_tensor_dims(tensor); ++i)
    fprintf(file, " %" PRId64, sizeguard_tensor_size(tensor, i));
  fputc('\n', file);
  fwrite(sizeguard_tensor_data(tensor), 1, sizeguard_tensor_bytes(tensor), file);
  fclose(file);
}

int main(int argc, char** argv) {
  char path[4096];
  sizeguard_error error;
  sizeguard_program* program;
  if (argc != 3) return 2;
  if (sizeguard_program_open(argv[1], &program, &error) != SIZEGUARD_OK) return failed("open", &error);
  for (size_t i = 0; i < sizeguard_program_inputs(program); ++i) {
    snprintf(path, sizeof path, "%s/input%zu", argv[2], i);
    sizeguard_tensor* input = read_tensor(path, &error);
    if (input == NULL) return failed(path, &error);
    sizeguard_program_set_input(program, i, input, &error);
    sizeguard_tensor_free(input);
  }
  for (int run = 0; run < 2; ++run) {
    if (sizeguard_program_run(program, &error) != SIZEGUARD_OK) return failed("run", &error);
  }
  for (size_t i = 0; i < sizeguard_program_outputs(program); ++i) {
    sizeguard_tensor* output;
    if (sizeguard_program_output(program, i, &output, &error) != SIZEGUARD_OK) return failed("output", &error);
    if (output == NULL) {
      printf("none %zu\n", i);
      continue;
    }
    snprintf(path, sizeof path, "%s/output%zu", argv[2], i);
    write_tensor(path, output);
    sizeguard_tensor_free(output);
  }
  sizeguard_program_free(program);
  return 0;
}
