// model_tracer: runs every bundled input of every model and writes what they used as a selection.
//
//   model_tracer --model_input_path a.sgp,b.pt2 --build_yaml_path out.yaml [--executed-only]
//     [--build_features profiling,verbose_errors]
//
// A .pt2 is imported first, with case0_input0.npy … beside it, by the sizeguard command:
// $SIZEGUARD, else the one that this program was built with, else the one on the PATH. Roots are
// the operators that the programs name, on any path; --executed-only leaves out those that no input
// reached. --build_features adds features that models do not use, or only if something fails. Exit
// codes: 0 written, 1 something is missing in this build, 2 bad input.

#include <limits.h>
#include <strings.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "native/apps/npy.h"
#include "native/runtime/program.h"
#include "native/tracing/recorder.h"

namespace {

struct Trace {
  const char* models[sg::kMaxModels];
  size_t model_count = 0;
  sg::NameSet roots;
  bool executed_only = false;
};

int fail(const sg::Context& context, const char* path) {
  std::fprintf(stderr, "error: %s: %s\n", path, context.message());
  return context.error() == sg::Error::Missing ? 1 : 2;
}

bool has_suffix(const char* text, const char* suffix) {
  const size_t length = std::strlen(text);
  const size_t end = std::strlen(suffix);
  return length > end && strcasecmp(text + length - end, suffix) == 0;
}

/// Imports a .pt2 as a program; false after a message.
bool import_exported(const char* path, const char* program) {
  const char* given = std::getenv("SIZEGUARD");
  const char* command = given != nullptr && *given != 0 ? given
                        : access(SG_COMMAND, X_OK) == 0 ? SG_COMMAND
                                                        : "sizeguard";
  const pid_t child = fork();
  if (child == 0) {
    execlp(command, command, "import", "--cases-beside", "-o", program, "--", path, nullptr);
    std::fprintf(stderr,
                 "error: %s: cannot be started; name the sizeguard command: SIZEGUARD=path\n",
                 command);
    _exit(127);
  }
  int status = -1;
  return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

/// Reads the bytes of a program, or of one that a .pt2 is imported as; null after a message.
void* read_model(sg::Context& context, const char* path, size_t* size) {
  if (has_suffix(path, ".ptl") || has_suffix(path, ".pt") || has_suffix(path, ".pth")) {
    std::fprintf(stderr, "error: %s: TorchScript is not traced: export it as .pt2\n", path);
    return nullptr;
  }
  if (!has_suffix(path, ".pt2")) return sg::read_file(context, path, size);
  if (access(path, R_OK) != 0) {
    std::fprintf(stderr, "error: %s: cannot read\n", path);
    return nullptr;
  }
  const char* folder = std::getenv("TMPDIR");
  char program[4096];
  const int length = std::snprintf(program, sizeof program, "%s/model_tracer.XXXXXX",
                                   folder != nullptr && *folder != 0 ? folder : "/tmp");
  const int file = length < static_cast<int>(sizeof program) ? mkstemp(program) : -1;
  if (file < 0) {
    std::fprintf(stderr, "error: %s: cannot write\n", program);
    return nullptr;
  }
  close(file);
  void* bytes = import_exported(path, program) ? sg::read_file(context, program, size) : nullptr;
  unlink(program);
  return bytes;
}

/// Runs all bundled inputs of one model.
int trace_model(const char* path, Trace& trace) {
  size_t size;
  sg::Context context;
  void* bytes = read_model(context, path, &size);
  if (bytes == nullptr) return 2;
  sg::Program program;
  if (!program.load(context, bytes, size).ok()) return fail(context, path);
  if (program.cases() == 0) {
    std::fprintf(stderr, "error: %s: has no inputs to run: %s\n", path,
                 has_suffix(path, ".pt2") ? "put case0_input0.npy beside the model"
                                          : "import the model with --case");
    return 2;
  }
  auto* called = context.allocate_zeroed<bool>(program.operators());
  if (called == nullptr) return fail(context, path);
  program.mark_called(called);
  for (size_t i = 0; i < program.operators(); ++i) {
    if (!called[i]) continue;
    trace.roots.add(program.operator_name(i), std::strlen(program.operator_name(i)),
                    sg::recording().model);
  }
  const size_t values = program.inputs() + program.outputs();
  auto* inputs = static_cast<sg::Value*>(std::calloc(values + 1, sizeof(sg::Value)));
  sg::Value* outputs = inputs + program.inputs();
  int failed = 0;
  for (size_t i = 0; i < program.cases() && failed == 0; ++i) {
    if (!program.load_case(context, i, inputs).ok() ||
        !program.run(context, {inputs, program.inputs()}, outputs).ok()) {
      failed = fail(context, path);
    }
    for (size_t k = 0; k < values && failed == 0; ++k) context.release(inputs[k]);
  }
  std::free(inputs);
  return failed;
}

/// The context of a quoted path: alone, or inside of a YAML string in single quotes, which doubles
/// single quotes in it.
enum class Within { nothing, single_quotes };

/// A path as a JSON string, which is YAML, too.
void write_quoted(std::FILE* file, const char* text, Within within) {
  std::fputc('"', file);
  for (; *text != 0; ++text) {
    const auto byte = static_cast<unsigned char>(*text);
    if (byte == '"' || byte == '\\') {
      std::fprintf(file, "\\%c", byte);
    } else if (byte < 0x20 || byte == 0x7F) {
      std::fprintf(file, "\\u%04x", byte);
    } else {
      std::fputs(byte == '\'' && within == Within::single_quotes ? "'" : "", file);
      std::fputc(byte, file);
    }
  }
  std::fputc('"', file);
}

/// Writes `"key": ["a", "b"], ` with the names that a model used; nothing if it used none.
void write_list(std::FILE* file, const char* key, const sg::NameSet& names, size_t model) {
  bool first = true;
  for (size_t i = 0; i < names.size(); ++i) {
    if ((names[i].models >> model & 1) == 0) continue;
    if (first) std::fprintf(file, "\"%s\": [\"%s\"", key, names[i].name);
    if (!first) std::fprintf(file, ", \"%s\"", names[i].name);
    first = false;
  }
  if (!first) std::fputs("], ", file);
}

/// Writes `"kernel_metadata": {"add": ["Float", "Int"], "sum": ["Int"]}, `.
void write_dtypes(std::FILE* file, const sg::NameSet& kernel_dtypes, size_t model) {
  const char* tag = nullptr;
  size_t tag_length = 0;
  for (size_t i = 0; i < kernel_dtypes.size(); ++i) {
    if ((kernel_dtypes[i].models >> model & 1) == 0) continue;
    const char* name = kernel_dtypes[i].name;
    const size_t length = std::strcspn(name, "$");
    if (tag == nullptr || length != tag_length || std::strncmp(name, tag, length) != 0) {
      std::fprintf(file, "%s\"%.*s\": [", tag == nullptr ? "\"kernel_metadata\": {" : "], ",
                   static_cast<int>(length), name);
      tag = name;
      tag_length = length;
    } else {
      std::fputs(", ", file);
    }
    std::fprintf(file, "\"%s\"", name + length + 1);
  }
  if (tag != nullptr) std::fputs("]}, ", file);
}

/// Writes the rest that each model used, besides operators, as one line of JSON per model. torchgen
/// accepts any text under debug_info, but rejects keys of ours.
void write_records(std::FILE* file, const Trace& trace) {
  const sg::Recording& used = sg::recording();
  std::fputs("debug_info:\n", file);
  for (size_t i = 0; i < trace.model_count; ++i) {
    std::fputs("- '{", file);
    write_list(file, "build_features", used.features, i);
    write_list(file, "custom_classes", used.classes, i);
    write_dtypes(file, used.kernel_dtypes, i);
    std::fputs("\"model\": ", file);
    write_quoted(file, trace.models[i], Within::single_quotes);
    std::fputs("}'\n", file);
  }
}

void write_models(std::FILE* file, const char* indent, unsigned long long users,
                  const Trace& trace) {
  for (size_t i = 0; i < trace.model_count; ++i) {
    if ((users >> i & 1) == 0) continue;
    std::fprintf(file, "%s- ", indent);
    write_quoted(file, trace.models[i], Within::nothing);
    std::fputc('\n', file);
  }
}

void write_names(std::FILE* file, const char* key, const sg::NameSet& names) {
  std::fprintf(file, "%s:%s\n", key, names.size() == 0 ? " []" : "");
  for (size_t i = 0; i < names.size(); ++i) std::fprintf(file, "- %s\n", names[i].name);
}

void write_kernel_metadata(std::FILE* file, const sg::NameSet& kernel_dtypes) {
  std::fprintf(file, "kernel_metadata:%s\n", kernel_dtypes.size() == 0 ? " {}" : "");
  const char* tag = "";
  size_t tag_length = 0;
  for (size_t i = 0; i < kernel_dtypes.size(); ++i) {
    const char* name = kernel_dtypes[i].name;
    const size_t length = std::strcspn(name, "$");
    if (length != tag_length || std::strncmp(name, tag, length) != 0) {
      tag = name;
      tag_length = length;
      std::fprintf(file, "  %.*s:\n", static_cast<int>(length), name);
    }
    std::fprintf(file, "  - %s\n", name + length + 1);
  }
}

void write_operators(std::FILE* file, const Trace& trace) {
  const sg::NameSet& executed = sg::recording().operators;
  // Merges the two sets. Both are sorted, so the result is sorted.
  std::fprintf(file, "operators:%s\n", executed.size() + trace.roots.size() == 0 ? " {}" : "");
  size_t e = 0;
  size_t r = 0;
  while (e < executed.size() || r < trace.roots.size()) {
    const int order = e == executed.size() ? 1
                      : r == trace.roots.size()
                          ? -1
                          : std::strcmp(executed[e].name, trace.roots[r].name);
    const char* name = order <= 0 ? executed[e].name : trace.roots[r].name;
    const unsigned long long users =
        (order <= 0 ? executed[e].models : 0) | (order >= 0 ? trace.roots[r].models : 0);
    e += order <= 0;
    r += order >= 0;
    if (order > 0 && trace.executed_only) continue;
    std::fprintf(file, "  %s:\n    debug_info:\n", name);
    write_models(file, "    ", users, trace);
    std::fprintf(file,
                 "    include_all_overloads: false\n    is_root_operator: %s\n    "
                 "is_used_for_training: false\n",
                 order >= 0 ? "true" : "false");
  }
}

/// Writes the selection and closes the file. Returns false if either fails.
bool write_to(std::FILE* file, const Trace& trace) {
  if (file == nullptr) return false;
  const sg::Recording& used = sg::recording();
  write_names(file, "build_features", used.features);
  write_names(file, "custom_classes", used.classes);
  write_records(file, trace);
  std::fputs(
      "et_kernel_metadata: {}\ninclude_all_non_op_selectives: false\ninclude_all_operators: "
      "false\n",
      file);
  write_kernel_metadata(file, used.kernel_dtypes);
  write_operators(file, trace);
  const bool written = std::ferror(file) == 0;
  return std::fclose(file) == 0 && written;
}

/// Replaces a file, or the one that a link names, by a temporary one, so that nobody reads half a
/// selection. What is no regular file, such as a pipe, is written to.
bool write_selection(const char* path, const Trace& trace) {
  struct stat status;
  const bool exists = stat(path, &status) == 0;
  struct stat own;
  const bool dangling = !exists && lstat(path, &own) == 0;
  if (dangling || (exists && !S_ISREG(status.st_mode)))
    return write_to(std::fopen(path, "w"), trace);
  char target[PATH_MAX];
  if (exists && realpath(path, target) == nullptr) return false;
  char temporary[PATH_MAX + 8];
  const int length = std::snprintf(temporary, sizeof temporary, "%s.new", exists ? target : path);
  if (length >= static_cast<int>(sizeof temporary)) return false;
  bool written = write_to(std::fopen(temporary, "w"), trace);
  written = written && (!exists || chmod(temporary, status.st_mode & 07777) == 0);
  written = written && std::rename(temporary, exists ? target : path) == 0;
  if (!written) unlink(temporary);
  return written;
}

/// The value of an option, which follows it or stands after an equals sign; null for another word.
char* value_of(const char* option, char** argv, int argc, int& i) {
  const size_t length = std::strlen(option);
  const char* word = argv[i] + (std::strncmp(argv[i], "--", 2) == 0 ? 2 : 1);
  if (argv[i][0] != '-' || std::strncmp(word, option, length) != 0) return nullptr;
  if (word[length] == '=') return argv[i] + (word - argv[i]) + length + 1;
  return word[length] == 0 && i + 1 < argc ? argv[++i] : nullptr;
}

/// The next path of a list with commas, without the spaces around it; null at the end.
char* next_path(char* list) {
  while (char* path = std::strtok(list, ",")) {
    list = nullptr;
    path += std::strspn(path, " \t\n");
    size_t length = std::strlen(path);
    while (length > 0 && std::strchr(" \t\n", path[length - 1]) != nullptr) path[--length] = 0;
    if (length > 0) return path;
  }
  return nullptr;
}

int trace_models(char* models, Trace& trace) {
  for (char* path = next_path(models); path != nullptr; path = next_path(nullptr)) {
    if (trace.model_count == sg::kMaxModels) {
      std::fprintf(stderr, "error: more than %zu models in one trace\n", sg::kMaxModels);
      return 2;
    }
    sg::recording().model = trace.model_count;
    trace.models[trace.model_count++] = path;
    const int failed = trace_model(path, trace);
    if (failed != 0) return failed;
  }
  if (trace.model_count > 0) return 0;
  std::fputs("error: --model_input_path names no model\n", stderr);
  return 2;
}

/// Adds features that were asked for to what every model used; false after a message.
bool add_features(char* names, const Trace& trace) {
  for (char* name = next_path(names); name != nullptr; name = next_path(nullptr)) {
    const size_t length = std::strlen(name);
    const char* known = sg::selected::known_features;
    while (*known != 0 &&
           (std::strncmp(known, name, length) != 0 || std::strchr(",", known[length]) == nullptr)) {
      known += std::strcspn(known, ",");
      known += std::strspn(known, ", ");
    }
    if (*known == 0) {
      std::fprintf(stderr, "error: --build_features: no feature %s; there are %s\n", name,
                   sg::selected::known_features);
      return false;
    }
    for (size_t i = 0; i < trace.model_count; ++i) sg::recording().features.add(name, length, i);
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  Trace trace;
  char* models = nullptr;
  char* features = nullptr;
  const char* output = nullptr;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--executed-only") == 0) {
      trace.executed_only = true;
    } else if (char* list = value_of("model_input_path", argv, argc, i)) {
      models = list;
    } else if (const char* path = value_of("build_yaml_path", argv, argc, i)) {
      output = path;
    } else if (char* names = value_of("build_features", argv, argc, i)) {
      features = names;
    } else {
      models = nullptr;
      break;
    }
  }
  if (models == nullptr || output == nullptr) {
    std::fputs(
        "usage: model_tracer --model_input_path A.sgp,B.pt2 --build_yaml_path OUT.yaml "
        "[--executed-only] [--build_features F,G]\n",
        stderr);
    return 2;
  }
  const int failed = trace_models(models, trace);
  if (failed != 0) return failed;
  if (features != nullptr && !add_features(features, trace)) return 2;
  if (!write_selection(output, trace)) {
    std::fprintf(stderr, "error: %s: cannot write\n", output);
    return 2;
  }
  return 0;
}
