// libsizeguard: the runtime as a shared library.
//
//   int sizeguard_run(const char* program, long long number, const char* output_dir)
//
// Runs a program on its bundled input of that number and writes output0.npy … into the folder.
// Returns the exit code of run_program: 0 done, 1 something is missing in this build, 2 bad input.
// Prints errors to stderr.

#include <cstdio>

#include "native/apps/npy.h"
#include "native/runtime/program.h"

namespace {

int report(const sg::Context& context, const char* file) {
  std::fprintf(stderr, "error: %s: %s\n", file, context.message());
  return context.error() == sg::Error::Missing ? 1 : 2;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) int sizeguard_run(const char* path,
                                                                    long long number,
                                                                    const char* output_dir) {
  sg::Context context;
  size_t size;
  void* bytes = sg::read_file(context, path, &size);
  if (bytes == nullptr) return 2;
  sg::Program program;
  if (!program.load(context, bytes, size).ok()) return report(context, path);
  if (number < 0 || static_cast<size_t>(number) >= program.cases()) {
    std::fprintf(stderr, "error: %s: has %zu bundled inputs, no number %lld\n", path,
                 program.cases(), number);
    return 2;
  }
  const size_t count = program.inputs() + program.outputs();
  auto* inputs = context.allocate_zeroed<sg::Value>(count);
  if (inputs == nullptr) return report(context, path);
  sg::Value* outputs = inputs + program.inputs();
  if (!program.load_case(context, static_cast<size_t>(number), inputs).ok() ||
      !program.run(context, {inputs, program.inputs()}, outputs).ok()) {
    return report(context, path);
  }
  return sg::write_outputs(context, output_dir, {outputs, program.outputs()});
}
