/* sizeguard: the C interface of the runtime. Loads a program, sets its inputs, runs it, gets its
 * outputs.
 *
 *   sizeguard_error error;
 *   sizeguard_program* program;
 *   if (sizeguard_program_open("model.sgp", &program, &error) != SIZEGUARD_OK) …error.message…
 *   sizeguard_tensor* image;
 *   sizeguard_tensor_create(SIZEGUARD_FLOAT, sizes, 4, &image, &error);
 *   …fill sizeguard_tensor_data(image)…
 *   sizeguard_program_set_input(program, 0, image, &error);
 *   sizeguard_program_run(program, &error);
 *   sizeguard_tensor* scores;
 *   sizeguard_program_output(program, 0, &scores, &error);
 *
 * Errors: a function that can fail returns a code, and describes the error in *error; `error` may
 * be NULL. Where a function fails, its result is NULL. Null pointers and numbers out of range are
 * errors.
 *
 * Lifetimes: free what you create or get, in any order. A program keeps the inputs that were set,
 * and outputs live on without their program.
 *
 * Threads: a program, with its tensors, belongs to one thread at a time. Programs of several
 * threads share nothing, unless a tensor was set as the input of two of them.
 */

#ifndef SIZEGUARD_H
#define SIZEGUARD_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum sizeguard_code {
  SIZEGUARD_OK = 0,
  SIZEGUARD_INVALID = 1, /* an argument, an input or the program is wrong */
  SIZEGUARD_MISSING = 2, /* an operator, class or dtype that this build does not have */
  SIZEGUARD_MEMORY = 3,  /* no memory, or more than the limit */
  SIZEGUARD_BUDGET = 4,  /* more instructions than the limit */
} sizeguard_code;

typedef struct sizeguard_error {
  sizeguard_code code;
  char message[512]; /* one line; empty if the code is SIZEGUARD_OK */
} sizeguard_error;

/* The type of a tensor's elements, with PyTorch's codes. */
typedef enum sizeguard_dtype {
  SIZEGUARD_BYTE = 0, /* uint8_t */
  SIZEGUARD_CHAR = 1, /* int8_t */
  SIZEGUARD_SHORT = 2,
  SIZEGUARD_INT = 3,
  SIZEGUARD_LONG = 4, /* int64_t */
  SIZEGUARD_HALF = 5,
  SIZEGUARD_FLOAT = 6,
  SIZEGUARD_DOUBLE = 7,
  SIZEGUARD_BOOL = 11, /* a byte: 0 or 1 */
  SIZEGUARD_BFLOAT16 = 15,
} sizeguard_dtype;

/* The largest number of dimensions. */
#define SIZEGUARD_MAX_DIMS 16

/* Tensors: elements one after another, in order of the indices. A number is a tensor without
 * dimensions. */

typedef struct sizeguard_tensor sizeguard_tensor;

/* Creates a tensor of zeros. `sizes` may be NULL if `dims` is 0. */
sizeguard_code sizeguard_tensor_create(sizeguard_dtype dtype, const int64_t* sizes, size_t dims,
                                       sizeguard_tensor** tensor, sizeguard_error* error);

/* Creates a tensor over memory of the caller, which must outlive it: `bytes` bytes at `data`,
 * aligned to the size of an element. Nothing writes to them. */
sizeguard_code sizeguard_tensor_borrow(sizeguard_dtype dtype, const int64_t* sizes, size_t dims,
                                       const void* data, size_t bytes, sizeguard_tensor** tensor,
                                       sizeguard_error* error);

/* Frees a tensor, or does nothing for NULL. A program that has it as an input keeps its own hold.
 */
void sizeguard_tensor_free(sizeguard_tensor* tensor);

/* The elements. Those of a created tensor may be written at any time but during a run. NULL for
 * NULL, as 0 is the answer to the questions below. */
void* sizeguard_tensor_data(const sizeguard_tensor* tensor);
sizeguard_dtype sizeguard_tensor_dtype(const sizeguard_tensor* tensor);
size_t sizeguard_tensor_dims(const sizeguard_tensor* tensor);
/* The size of a dimension; 0 for a dimension that the tensor does not have. */
int64_t sizeguard_tensor_size(const sizeguard_tensor* tensor, size_t dim);
/* The number of elements, and their size in bytes. */
int64_t sizeguard_tensor_count(const sizeguard_tensor* tensor);
size_t sizeguard_tensor_bytes(const sizeguard_tensor* tensor);

/* Programs: models that `sizeguard import` made. */

typedef struct sizeguard_program sizeguard_program;

/* What an input must be. */
typedef struct sizeguard_input {
  sizeguard_dtype dtype;
  size_t dims;
  int64_t minimum[SIZEGUARD_MAX_DIMS]; /* of each dimension's size, inclusive */
  int64_t maximum[SIZEGUARD_MAX_DIMS];
} sizeguard_input;

/* Loads a program from a file. Fails if the file is no program, or names operators or classes that
 * this build does not have; the message lists them. */
sizeguard_code sizeguard_program_open(const char* path, sizeguard_program** program,
                                      sizeguard_error* error);

/* Loads a program from memory, which must outlive it and be aligned to 16. */
sizeguard_code sizeguard_program_load(const void* bytes, size_t size, sizeguard_program** program,
                                      sizeguard_error* error);

/* Frees a program, or does nothing for NULL. */
void sizeguard_program_free(sizeguard_program* program);

/* Limits the memory in bytes, constants' headers included, and the instructions of a run. 0: no
 * limit. */
sizeguard_code sizeguard_program_limit(sizeguard_program* program, int64_t memory,
                                       int64_t instructions, sizeguard_error* error);

/* The numbers of inputs and outputs; 0 for NULL. */
size_t sizeguard_program_inputs(const sizeguard_program* program);
size_t sizeguard_program_outputs(const sizeguard_program* program);
sizeguard_code sizeguard_program_input(const sizeguard_program* program, size_t index,
                                       sizeguard_input* input, sizeguard_error* error);

/* Sets an input. It stays set for all further runs, which read its elements anew. */
sizeguard_code sizeguard_program_set_input(sizeguard_program* program, size_t index,
                                           sizeguard_tensor* tensor, sizeguard_error* error);

/* Checks the inputs and runs the program. */
sizeguard_code sizeguard_program_run(sizeguard_program* program, sizeguard_error* error);

/* Gets an output of the last run, NULL where the model returns None. Fails if that run failed. Free
 * it. */
sizeguard_code sizeguard_program_output(const sizeguard_program* program, size_t index,
                                        sizeguard_tensor** tensor, sizeguard_error* error);

#ifdef __cplusplus
}
#endif

#endif
