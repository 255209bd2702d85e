// A program: loaded, verified, its operators and classes looked up.

#pragma once

#include <cstddef>
#include <type_traits>

#include "native/runtime/context.h"
#include "native/runtime/instruction.h"
#include "native/runtime/registry.h"

namespace sg {

namespace fb {
struct Value;
}  // namespace fb

struct ProgramView;

/// The calls of an operator by a program, and their time with all that they call.
struct OperatorProfile {
  uint64_t calls;
  uint64_t nanoseconds;
};

/// The type and the bounds of a program input.
struct InputSpec {
  Tag tag;           // Tensor, Bool, Int or Double
  ScalarType dtype;  // of a tensor
  uint32_t slot;
  size_t dim;
  /// Bounds of a dimension, inclusive.
  int64_t minimum(size_t axis) const { return bounds[2 * axis]; }
  int64_t maximum(size_t axis) const { return bounds[2 * axis + 1]; }

  const int64_t* bounds;  // pairs
};

/// A verified program. It refers to the bytes that it was loaded from and to the Context: both must
/// outlive it.
class Program {
 public:
  Program() = default;
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;
  ~Program();

  /// Verifies everything that running relies on: indices, jump targets, shapes and dtypes against
  /// data, alignment. `data` must be aligned to 16. A missing operator or class is no error here:
  /// see has_operator() and missing_class(). Call it once.
  Status load(Context& context, const void* data, size_t size);

  // The functions below require a loaded program.

  /// Operators that the program calls, and those that these can call.
  size_t operators() const;
  const char* operator_name(size_t index) const;
  /// Whether this build has the operator.
  bool has_operator(size_t index) const { return operators_[index] != nullptr; }
  /// Sets `called`, which has operators() entries, to true for each operator that an instruction
  /// calls; the others are called by operators alone.
  void mark_called(bool* called) const;
  /// Whether this build has every operator that the program calls, and every class.
  bool is_complete() const { return complete_; }
  /// Name of the value's custom class if this build does not have it, else null. index < values().
  const char* missing_class(size_t index) const;
  size_t values() const;

  size_t inputs() const;
  InputSpec input(size_t index) const;
  size_t outputs() const;
  size_t cases() const;

  /// Reads the inputs() values of a bundled input and retains each. Fails if the build leaves
  /// bundled inputs out.
  Status load_case(Context& context, size_t index, Value* inputs) const;

  /// Checks the inputs against their specs and runs the program. The inputs outlive the run,
  /// whether the caller has retained them or not. Retains the outputs: the caller must release()
  /// each.
  Status run(Context& context, Span<const Value> inputs, Value* outputs);

  /// Adds what further runs call to `profile`, which has operators() entries; null ends that.
  /// Builds without the feature profiling measure nothing.
  void measure(OperatorProfile* profile) {
    if constexpr (SG_BUILD_FEATURE(profiling)) profile_ = profile;
  }

 private:
  const ProgramView& view() const;
  Status resolve(Context& context);
  Status create_constants(Context& context);
  Status create_value(Context& context, const fb::Value& stored, Value& value) const;
  Status create_tensor(Context& context, int64_t index, Tensor& tensor) const;
  Status check_inputs(Context& context, Span<const Value> inputs) const;
  Status run_instructions(Context& context, Value* slots);
  void find_last_uses();

  Context* context_ = nullptr;
  ProgramCode* code_ = nullptr;  // of a ProgramView; the other tables lie behind it
  bool complete_ = true;         // see is_complete()
  const Operator** operators_ = nullptr;
  Value* constants_ = nullptr;
  uint32_t* last_uses_ = nullptr;  // per slot: the instruction after which nothing reads it

  struct None {
    constexpr None(OperatorProfile*) {}
    constexpr operator OperatorProfile*() const { return nullptr; }
  };
  using Profile = std::conditional_t<SG_BUILD_FEATURE(profiling), OperatorProfile*, None>;
  [[no_unique_address]] Profile profile_ = nullptr;  // see measure()
};

}  // namespace sg
