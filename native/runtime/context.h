// The Context: the memory that a run uses, the error that ended it, and the operator that is
// running.
//
// Kernels own nothing. The Context owns all memory that an operator allocates. When the operator
// returns, the Context frees all of it except the results. It frees a result when no slot uses it
// any more. So kernels have no clean-up code, an error is a plain return, and a handler that never
// returns may leave by longjmp.

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

/// An object of a custom class. Derived types add the tensors and numbers that an operator
/// prepared.
struct Object : Block {
  const char* class_name;
  Span<Tensor> tensors;  // tensors that the object keeps alive
};

class Context {
 public:
  Context() = default;
  ~Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  // Memory. If none is left, these functions set the error and fail.

  /// Allocates uninitialised memory that lives as long as the results of the operator. Returns null
  /// if no memory is left.
  void* allocate(int64_t bytes);
  /// allocate() of zeros for `count` elements.
  template <typename T>
  T* allocate_zeroed(size_t count) {
    return static_cast<T*>(allocate_zeros(count * sizeof(T)));
  }
  void* allocate_zeros(size_t bytes);
  /// Frees memory from allocate() early. Null is allowed.
  void deallocate(void* memory);
  /// A new contiguous tensor, uninitialised. Checks the dtype, the number of dimensions and the
  /// size.
  Result<Tensor> empty(ScalarType dtype, IntArrayRef sizes);
  /// A new view of the storage of `base`. Its first element lies `offset` elements after the first
  /// element of base. Without strides, the view is contiguous. Fails if an element would lie
  /// outside of the storage.
  Result<Tensor> view(Tensor base, IntArrayRef sizes, IntArrayRef strides, int64_t offset);
  /// A tensor over `bytes` of memory that outlives the Context and is not written to. Without
  /// strides, it is contiguous. The caller has checked that all elements lie in the memory.
  Result<Tensor> borrow(ScalarType dtype, IntArrayRef sizes, IntArrayRef strides, const void* data,
                        int64_t bytes);
  /// A tensor without dimensions that takes part in type promotion as the number does.
  Result<Tensor> wrap_number(Scalar number);
  /// Creates a T, which derives from Object. The caller sets class_name and tensors, then calls
  /// adopt(). Returns null if no memory is left.
  template <typename T>
  T* create_object() {
    return static_cast<T*>(create_block(sizeof(T), 0, Block::Kind::Object));
  }

  /// Increments the use counts of the blocks that a value refers to.
  void retain(const Value& value) { count_uses(value, 1, false); }
  /// Decrements these use counts and frees each block whose count becomes zero.
  void release(const Value& value) { count_uses(value, -1, true); }
  /// Decrements these use counts without freeing anything: the caller owns the value, used or not.
  void return_to_owner(const Value& value) { count_uses(value, -1, false); }
  /// Makes an object keep its tensors alive. They must be older than it.
  void adopt(Object* object);
  /// Frees all blocks that are newer than `mark`, unused, and not among the results.
  void sweep(const Block* mark, Span<const Value> results);
  const Block* newest() const { return blocks_; }

  // Errors. The Context keeps the first one.

  /// Sets the error. Its text names the running operator, its caller and the message (null: none).
  Failed fail(Error error, const char* message);
  /// Calls fail(Error::Invalid, message). Builds without the feature verbose_errors do not contain
  /// these messages.
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

  /// Bytes that the Context has allocated and not freed.
  int64_t memory_used() const { return memory_used_; }

  int64_t memory_limit = INT64_MAX;       // of memory_used()
  int64_t instruction_limit = INT64_MAX;  // instructions of one run
  const Frame* frame = nullptr;           // the operator that is running
  jmp_buf* escape = nullptr;              // longjmp target of handlers that never return

 private:
  void* take(int64_t header, int64_t bytes);
  void give(void* memory, int64_t size);
  Block* create_block(int64_t header, int64_t bytes, Block::Kind kind);
  Result<Tensor> create_tensor(ScalarType dtype, IntArrayRef sizes, IntArrayRef strides);
  Storage* create_storage(int64_t bytes, char* borrowed);
  Result<Tensor> attach(Tensor tensor, Storage* storage);
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
