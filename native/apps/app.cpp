// Runs a model on its first bundled input.

#include "native/apps/app.h"

#include <cstdio>
#include <cstdlib>

#include "native/apps/npy.h"

namespace sg {
namespace {

int report(const Context& context, const char* path) {
  std::fprintf(stderr, "error: %s: %s\n", path, context.message());
  return context.error() == Error::Missing ? 1 : 2;
}

/// Loads the inputs and runs a program that is already loaded.
int run(Context& context, const char* path, Program& program,
        void (*use)(const char* path, Tensor output)) {
  const size_t count = program.inputs() + program.outputs();
  auto* inputs = static_cast<Value*>(std::calloc(count, sizeof(Value)));
  if (inputs == nullptr) return 2;
  Value* outputs = inputs + program.inputs();
  const bool ok = program.load_case(context, 0, inputs).ok() &&
                  program.run(context, {inputs, program.inputs()}, outputs).ok();
  if (ok && outputs[0].tag == Tag::Tensor) use(path, Tensor(outputs[0].tensor));
  std::free(inputs);
  return ok ? 0 : report(context, path);
}

}  // namespace

int run_first_case(const char* path, void (*use)(const char* path, Tensor output)) {
  size_t size;
  Context context;
  void* bytes = read_file(context, path, &size);
  if (bytes == nullptr) return 2;
  Program program;
  if (!program.load(context, bytes, size).ok()) return report(context, path);
  if (program.cases() == 0 || program.outputs() == 0) {
    std::fprintf(stderr, "error: %s: has no bundled input: import the model with --case\n", path);
    return 2;
  }
  return run(context, path, program, use);
}

}  // namespace sg
