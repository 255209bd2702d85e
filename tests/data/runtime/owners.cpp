// Who owns what: views, inputs and results of runs, and all memory of a Context.
//
//   owners swap.sgp        prints the check that fails, and exits with 1

#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "native/runtime/boxing.h"
#include "native/runtime/program.h"
#include "native/runtime/registry.h"

namespace {

using sg::Context;
using sg::Result;
using sg::ScalarType;
using sg::Tensor;
using sg::Value;

/// Returns its arguments in reverse order: each result is an argument.
Result<std::array<Tensor, 2>> swap(Context&, Tensor a, Tensor b) {
  return std::array{b, a};
}

constexpr sg::Operator kOperators[] = {{"test::swap(tt)tt", sg::boxed<&swap>}};
SG_REGISTER_LIBRARY("test", "CPU", kOperators);

void check(bool holds, const char* what) {
  if (holds) return;
  std::printf("fails: %s\n", what);
  std::exit(1);
}

Tensor floats(Context& context, float value) {
  const int64_t sizes[] = {64};
  const Tensor tensor = context.empty(ScalarType::Float, sizes).value();
  for (int i = 0; i < 64; ++i) tensor.data<float>()[i] = value;
  return tensor;
}

bool holds(const Value& value, float expected) {
  for (int i = 0; i < 64; ++i) {
    if (Tensor(value.tensor).data<float>()[i] != expected) return false;
  }
  return true;
}

struct Case {
  int64_t sizes[2];
  int64_t strides[2];
  int64_t offset;
  bool fits;
};

void check_views() {
  constexpr int64_t kLarge = int64_t{1} << 62;
  const Case cases[] = {
      {{2, 3}, {3, 1}, 0, true},          {{3, 2}, {1, 3}, 0, true},
      {{1, 1}, {kLarge, -7}, 5, true},    {{2, 6}, {0, 1}, 0, true},
      {{0, 9}, {1, kLarge}, 99, true},    {{2, 3}, {3, 1}, 1, false},
      {{2, 4}, {3, 1}, 0, false},         {{1, 1}, {1, 1}, 6, false},
      {{1, 1}, {1, 1}, -1, false},        {{2, 1}, {-1, 1}, 0, false},
      {{2, 1}, {-1, 1}, 5, false},        {{3, 3}, {kLarge, kLarge}, 0, false},
      {{2, 2}, {1, 1}, INT64_MAX, false}, {{2, 2}, {1, 1}, INT64_MIN, false},
  };
  Context context;
  const int64_t sizes[] = {2, 3};
  const Tensor base = context.empty(ScalarType::Float, sizes).value();
  const int64_t used = context.memory_used();
  for (const Case& one : cases) {
    const auto view = context.view(base, one.sizes, one.strides, one.offset);
    check(view.ok() == one.fits, "a view fits if its elements lie in the storage");
    check(view.ok() || context.memory_used() == used, "a refused view leaves nothing");
    if (view.ok()) context.sweep(base.impl(), {});
    context.clear_error();
  }
  // A view of a view may reach back to what the storage holds.
  const int64_t two[] = {2};
  const int64_t one[] = {1};
  const Tensor end = context.view(base, two, one, 4).value();
  check(context.view(end, two, one, -4).ok(), "a view may lie before its base");
  check(!context.view(end, two, one, -5).ok(), "but not before the storage");
  context.clear_error();
  check(!context.view(base, two, sizes, 0).ok(), "sizes and strides are of one length");
}

void check_run(const std::vector<char>& file) {
  Context context;
  const int64_t empty = context.memory_used();
  check(empty == 0, "a new Context holds nothing");
  void* data = context.allocate(static_cast<int64_t>(file.size()));
  std::memcpy(data, file.data(), file.size());
  const int64_t before = context.memory_used();
  for (int round = 0; round < 3; ++round) {
    sg::Program program;
    check(program.load(context, data, file.size()).ok(), context.message());
    Value inputs[] = {floats(context, 1), floats(context, 2), floats(context, 5)};
    Value outputs[4];
    check(program.run(context, inputs, outputs).ok(), context.message());
    check(holds(inputs[0], 1) && holds(inputs[1], 2), "an input outlives the run");
    check(holds(inputs[2], 5), "so does an input that the run has used up");
    check(holds(outputs[0], 2) && holds(outputs[1], 1), "results may be inputs");
    check(holds(outputs[2], 4) && holds(outputs[3], 3), "results may be arguments");
    for (const Value& input : inputs) context.retain(input);
    for (const Value& output : outputs) context.release(output);
    check(holds(inputs[0], 1) && holds(inputs[1], 2), "a retained input outlives results");
    for (const Value& input : inputs) context.release(input);
  }
  check(context.memory_used() == before, "a Program that is gone leaves nothing");
  context.memory_limit = before + 64;
  {
    sg::Program program;
    check(!program.load(context, data, file.size()).ok(), "tables count towards the limit");
    check(context.error() == sg::Error::Memory, "and this is what the error says");
  }
  check(context.memory_used() == before, "a load that fails leaves nothing");
}

}  // namespace

int main(int, char** argv) {
  std::vector<char> bytes;
  std::FILE* file = std::fopen(argv[1], "rb");
  for (int c = std::fgetc(file); c != EOF; c = std::fgetc(file))
    bytes.push_back(static_cast<char>(c));
  std::fclose(file);
  check_views();
  check_run(bytes);
  return 0;
}
