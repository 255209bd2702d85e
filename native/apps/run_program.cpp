// run_program: runs a program on arrays from files, or lists what this build lacks to run it.
//
//   run_program --program model.sgp --input a.npy --output-dir out   writes out/output0.npy …;
//   makes out run_program --program model.sgp --case 0 --output-dir out        takes a bundled
//   input run_program --program model.sgp --check                          lists what is missing,
//   and
//                                               runs only if there are expected outputs
//   run_program … --profile                     prints each operator's calls and nanoseconds
//   run_program … --expected e.npy              compares an output with an array; may be repeated
//
// Exit codes: 0 done, 1 something is missing in this build, 2 bad input, 3 an output is not the
// expected one.

#include <cstdio>
#include <cstring>

#include <type_traits>

#include "native/apps/expected.h"
#include "native/apps/npy.h"
#include "native/runtime/program.h"

#define SG_USAGE                                                                    \
  "run_program --program P (--check | [--input A.npy]… [--case N] --output-dir D) " \
  "[--max-instructions N] [--max-memory BYTES]"
#define SG_USAGE_EXPECTED " [--expected E.npy]…"
#define SG_USAGE_PROFILE " [--profile]"

namespace {

constexpr size_t kMaxInputs = 256;

constexpr const char* kUsage =
    SG_BUILD_FEATURE(profiling)
        ? (sg::kComparesOutputs ? SG_USAGE SG_USAGE_EXPECTED SG_USAGE_PROFILE
                                : SG_USAGE SG_USAGE_PROFILE)
        : (sg::kComparesOutputs ? SG_USAGE SG_USAGE_EXPECTED : SG_USAGE);

/// Files with the expected outputs.
struct ExpectedFiles {
  const char* names[kMaxInputs];
  size_t count = 0;
};

/// In builds without the feature expected_outputs: members without a definition.
struct NoFiles {
  [[maybe_unused]] static const char** names;
  [[maybe_unused]] static size_t count;
};

struct Options {
  const char* program = nullptr;
  const char* output_dir = nullptr;
  const char* inputs[kMaxInputs];
  size_t input_count = 0;
  int64_t bundled_case = -1;
  bool check = false;
  bool profile = false;  // never in builds without the feature profiling
  [[no_unique_address]] std::conditional_t<sg::kComparesOutputs, ExpectedFiles, NoFiles> expected;
};

/// Reads a number that is not negative. Returns false for any other text.
bool read_number(const char* text, int64_t& number) {
  return sg::read_decimal(text, number) && *text == 0;
}

// Longer than 40 lines: each option has a branch.
/// Returns the word that is unknown, lacks its value, has one that is no number or stands beside
/// another that excludes it, the option that is missing, or null if there is none.
const char* parse(int argc, char** argv, Options& options, sg::Context& context) {
  const auto is = [](const char* given, const char* name) { return std::strcmp(given, name) == 0; };
  for (int i = 1; i < argc; ++i) {
    const char* name = argv[i];
    if (is(name, "--check")) {
      options.check = true;
      continue;
    }
    if constexpr (SG_BUILD_FEATURE(profiling)) {
      if (is(name, "--profile")) {
        options.profile = true;
        continue;
      }
    }
    const char* value = argv[++i];  // argv ends with a null
    if (value == nullptr || *value == 0) return name;
    if constexpr (sg::kComparesOutputs) {
      if (is(name, "--expected") && options.expected.count < kMaxInputs) {
        options.expected.names[options.expected.count++] = value;
        continue;
      }
    }
    if (is(name, "--program")) {
      options.program = value;
    } else if (is(name, "--output-dir")) {
      options.output_dir = value;
    } else if (is(name, "--input") && options.input_count < kMaxInputs) {
      options.inputs[options.input_count++] = value;
    } else if (is(name, "--case")) {
      if (!read_number(value, options.bundled_case)) return name;
    } else if (is(name, "--max-instructions")) {
      if (!read_number(value, context.instruction_limit)) return name;
    } else if (is(name, "--max-memory")) {
      if (!read_number(value, context.memory_limit)) return name;
    } else {
      return name;
    }
  }
  if (options.program == nullptr) return "--program";
  if (options.bundled_case >= 0 && options.input_count > 0) return "--input";
  if constexpr (sg::kComparesOutputs) {
    if (options.expected.count > 0) return nullptr;
  }
  return options.check || options.output_dir != nullptr ? nullptr : "--output-dir";
}

int report(const sg::Context& context, const char* file) {
  std::fprintf(stderr, "error: %s: %s\n", file, context.message());
  return context.error() == sg::Error::Missing ? 1 : 2;
}

/// Prints each operator and class that this build lacks, one per line, and returns their number.
/// Operators that only others can call are among them.
size_t list_missing(const sg::Program& program, const char* file) {
  size_t missing = 0;
  for (size_t i = 0; i < program.operators() + program.values(); ++i) {
    const char* kind = "operator";
    const char* name = nullptr;
    if (i >= program.operators()) {
      kind = "class";
      name = program.missing_class(i - program.operators());
    } else if (!program.has_operator(i)) {
      name = program.operator_name(i);
    }
    if (name == nullptr) continue;
    std::fprintf(stderr, "error: %s: %s %s is not in this build\n", file, kind, name);
    ++missing;
  }
  return missing;
}

/// A line for each operator that the program called: name, calls, nanoseconds.
[[maybe_unused]] void print_profile(const sg::Program& program,
                                    const sg::OperatorProfile* profile) {
  for (size_t i = 0; i < program.operators(); ++i) {
    if (profile[i].calls == 0) continue;
    std::printf("%s\t%llu\t%llu\n", program.operator_name(i),
                static_cast<unsigned long long>(profile[i].calls),
                static_cast<unsigned long long>(profile[i].nanoseconds));
  }
}

int read_inputs(sg::Context& context, const Options& options, const sg::Program& program,
                sg::Value* inputs) {
  if (options.bundled_case >= 0) {
    if (static_cast<size_t>(options.bundled_case) >= program.cases()) {
      std::fprintf(stderr, "error: %s: has %zu bundled inputs, no number %lld\n", options.program,
                   program.cases(), static_cast<long long>(options.bundled_case));
      return 2;
    }
    const bool loaded =
        program.load_case(context, static_cast<size_t>(options.bundled_case), inputs).ok();
    return loaded ? 0 : report(context, options.program);
  }
  for (size_t i = 0; i < options.input_count; ++i) {
    size_t size;
    const void* bytes = sg::read_file(context, options.inputs[i], &size);
    if (bytes == nullptr) return 2;
    const auto tensor = sg::read_npy(context, bytes, size);
    if (!tensor.ok()) return report(context, options.inputs[i]);
    inputs[i] = tensor.value();
    // A number input comes as an array without dimensions.
    if (i < program.inputs() && program.input(i).tag != sg::Tag::Tensor &&
        tensor.value().dim() == 0) {
      const sg::Tensor array = tensor.value();
      if (array.scalar_type() == sg::ScalarType::Long) inputs[i] = *array.data<int64_t>();
      if (array.scalar_type() == sg::ScalarType::Double) inputs[i] = *array.data<double>();
      if (array.scalar_type() == sg::ScalarType::Bool) inputs[i] = *array.data<bool>();
    }
    context.retain(inputs[i]);
  }
  return 0;
}

/// Compares the outputs with the expected ones, and prints each difference. Returns an exit code.
template <typename Files>
int compare(sg::Context& context, const Files& expected, const char* program,
            sg::Span<const sg::Value> outputs) {
  if (expected.count > outputs.size()) {
    std::fprintf(stderr, "error: %s: has %zu outputs, but %zu are expected\n", program,
                 outputs.size(), expected.count);
    return 2;
  }
  int worst = 0;
  for (size_t i = 0; i < expected.count; ++i) {
    const int code = sg::compare_output(context, outputs[i], i, expected.names[i]);
    if (code == 2) return 2;
    if (code != 0) worst = code;
  }
  return worst;
}

}  // namespace

// Longer than 40 lines: the steps of a run follow each other, and each can fail.
int main(int argc, char** argv) {
  sg::Context context;
  Options options;
  if (const char* wrong = parse(argc, argv, options, context)) {
    std::fprintf(stderr, "error: %s; usage: %s\n", wrong, kUsage);
    return 2;
  }
  size_t size;
  void* bytes = sg::read_file(context, options.program, &size);
  if (bytes == nullptr) return 2;
  sg::Program program;
  if (!program.load(context, bytes, size).ok()) return report(context, options.program);
  if ((options.check || !program.is_complete()) && list_missing(program, options.program) != 0)
    return 1;
  if constexpr (sg::kComparesOutputs) {
    if (options.expected.count > 0) options.check = false;  // --check also compares, if asked to
  }
  if (options.check) return 0;

  const size_t input_count = options.bundled_case >= 0 ? program.inputs() : options.input_count;
  auto* inputs = context.allocate_zeroed<sg::Value>(input_count + program.outputs());
  if (inputs == nullptr) return report(context, options.program);
  const int failed = read_inputs(context, options, program, inputs);
  if (failed != 0) return failed;
  sg::Value* outputs = inputs + input_count;
  sg::OperatorProfile* profile = nullptr;
  if constexpr (SG_BUILD_FEATURE(profiling)) {
    if (options.profile) {
      profile = context.allocate_zeroed<sg::OperatorProfile>(program.operators());
      if (profile == nullptr) return report(context, options.program);
      program.measure(profile);
    }
  }
  if (!program.run(context, {inputs, input_count}, outputs).ok())
    return report(context, options.program);
  if constexpr (SG_BUILD_FEATURE(profiling)) {
    if (profile != nullptr) print_profile(program, profile);
  }
  if constexpr (sg::kComparesOutputs) {
    if (options.expected.count > 0) {
      const int written =
          options.output_dir == nullptr
              ? 0
              : sg::write_outputs(context, options.output_dir, {outputs, program.outputs()});
      return written != 0 ? written
                          : compare(context, options.expected, options.program,
                                    {outputs, program.outputs()});
    }
  }
  return sg::write_outputs(context, options.output_dir, {outputs, program.outputs()});
}
