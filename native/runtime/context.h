// The Context: the memory that a run uses, the error that ended it, and the operator that is
// running.
//
// Kernels own nothing. What an operator allocates belongs to the Context; when the operator
// returns, all of it is freed but its results, and those when no slot uses them any more. So
// kernels have no clean-up code, an error is a plain return, and a handler that never returns may
// leave by longjmp.

#pragma once

#include <csetjmp>

#include "native/runtime/hooks.h"
#include "native/runtime/result.h"
#include "native/runtime/value.h"
#include "native/selective/build_feature.h"

namespace sg {

struct Operator;

enum class Error : uint8_t {
  None,
  Invalid,  // an argument, an input or the program is wrong
  Missing,  // an operator, class or dtype that this build does not have
  Memory,   // no memory, or more than the limit
  Budget,   // more instructions than the limit
};

/// An operator call in progress; the callers' frames follow.
struct Frame {
  const Operator* op;
  const Frame* caller;
};

/// A custom class's object: tensors and numbers that an operator prepared. Derived types add them.
struct Object : Block {
  const char* class_name;
  Span<Tensor> tensors;  // what it keeps alive
};

class Context {
 public:
  Context() = default;
  ~Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  // Memory. Failed when there is none left, with the error set.

  /// Uninitialised memory that lives as long as the operator's results do; null if there is none
  /// left.
  void* allocate(int64_t bytes);
  /// A new contiguous tensor, uninitialised. Checks the dtype, the number of dimensions and the
  /// size.
  Result<Tensor> empty(ScalarType dtype, IntArrayRef sizes);
  /// A new view of the storage of `base`, whose first element lies `offset` elements after base's.
  /// Not checked against the storage.
  Result<Tensor> view(Tensor base, IntArrayRef sizes, IntArrayRef strides, int64_t offset);
  /// A contiguous tensor over memory that outlives the Context and is not written to.
  Result<Tensor> borrow(ScalarType dtype, IntArrayRef sizes, IntArrayRef strides, const void* data);
  /// A tensor of no dimensions that takes part in promotion as the number does.
  Result<Tensor> wrap_number(Scalar number);
  /// A T derived from Object; class_name and tensors are still to be set, then adopt() called. Null
  /// if there is no memory.
  template <typename T>
  T* create_object() {
    return static_cast<T*>(create_block(sizeof(T), Block::Kind::Object));
  }

  /// Counts a use of what a value refers to.
  void retain(const Value& value) { count_uses(value, 1, false); }
  /// Takes back a use, and frees what has none left.
  void release(const Value& value) { count_uses(value, -1, true); }
  /// Makes an object keep its tensors alive. They must be older than it.
  void adopt(Object* object);
  /// Frees all blocks that are newer than `mark`, unused, and not among the results.
  void sweep(const Block* mark, Span<const Value> results);
  const Block* newest() const { return blocks_; }

  // Errors. The first one counts.

  /// Sets the error: the operator that is running, its caller, and the message (null: none).
  Failed fail(Error error, const char* message);
  /// fail(Error::Invalid, message); builds without the feature verbose_errors hold no such
  /// messages.
  Failed invalid(const char* message) {
    if constexpr (SG_BUILD_FEATURE(verbose_errors)) {
      record_feature("verbose_errors");
      return fail(Error::Invalid, message);
    }
    return fail(Error::Invalid, nullptr);
  }
  Error error() const { return error_; }
  const char* message() const { return message_; }
  void clear_error() {
    error_ = Error::None;
    message_[0] = 0;
  }

  int64_t memory_limit = INT64_MAX;       // bytes of storages at one time
  int64_t instruction_limit = INT64_MAX;  // instructions of one run
  const Frame* frame = nullptr;           // the operator that is running
  jmp_buf* escape = nullptr;              // where handlers that never return go

 private:
  Block* create_block(size_t size, Block::Kind kind);
  Result<Tensor> create_tensor(ScalarType dtype, IntArrayRef sizes, IntArrayRef strides);
  Storage* create_storage(int64_t bytes);
  void free_block(Block* block);
  void free_storage(Storage* storage);
  void count_uses(const Value& value, int change, bool free_unused);
  void count_use(Block* block, int change, bool free_unused);

  Block* blocks_ = nullptr;
  int64_t memory_used_ = 0;
  Error error_ = Error::None;
  char message_[400] = {};
};

}  // namespace sg
