// What the handles of the C interface hold.
//
// A tensor has its own memory, separate from every Context: inputs are borrowed for a run, outputs
// are copied after it. So handles can be freed in any order.

#pragma once

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

namespace sg::c_api {

/// Copies a tensor to contiguous memory. Returns null if the allocation fails.
sizeguard_tensor* copy_of(Tensor tensor);

}  // namespace sg::c_api
