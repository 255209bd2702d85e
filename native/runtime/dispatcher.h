// The dispatcher: calls an operator by name, from a program or from another operator's kernel.

#pragma once

#include <array>
#include <bit>
#include <type_traits>

#include "native/runtime/boxing.h"
#include "native/runtime/registry.h"

namespace sg {

/// Maximum numbers of arguments and results of one call.
inline constexpr size_t kMaxArguments = 32;
inline constexpr size_t kMaxResults = 8;

/// Calls an operator: checks the arguments against its letters, converts numbers (which changes
/// `arguments`), runs the kernel and frees its temporaries. Returns false on failure; the Context
/// then holds the error.
bool call_operator(Context& context, const Operator& op, Value* arguments, Value* results);

/// An argument as a word, for call_words: its bits if it is a double or a pointer.
inline int64_t word(Tensor tensor) {
  return reinterpret_cast<int64_t>(tensor.impl());
}
template <typename T>
int64_t word(T value) {
  if constexpr (std::is_pointer_v<T>) {
    return reinterpret_cast<int64_t>(value);
  } else if constexpr (std::is_same_v<T, double>) {
    return std::bit_cast<int64_t>(value);
  } else {
    return static_cast<int64_t>(value);
  }
}

/// Calls an operator from a kernel by its schema, such as "aten::to.dtype(tibbi?)t". All
/// ops::NAME::call use this function. `words` encodes each argument. A number, pointer or tensor is
/// one word; a Scalar is its bits and its tag; a list is its data and its size. An optional i, d, b
/// or s starts with a word that says whether it is present. (A call takes about 60 bytes of code
/// this way; building the Values in each call took 150.) An operator that is not registered is an
/// error that names the caller.
bool call_words(Context& context, const char* schema, Value* results, const int64_t* words);

/// call_words for the many operators that return one tensor.
Result<Tensor> call_words(Context& context, const char* schema, const int64_t* words);

/// Whether a schema has the given numbers of arguments and results.
bool has_arity(const char* schema, size_t arguments, size_t results);

template <typename T>
Result<T> unbox_result(const Value* results) {
  return Unbox<T>::from(results[0]);
}

template <>
inline Result<std::array<Tensor, 2>> unbox_result(const Value* results) {
  return std::array{Tensor(results[0].tensor), Tensor(results[1].tensor)};
}

template <>
inline Result<std::array<Tensor, 3>> unbox_result(const Value* results) {
  return std::array{Tensor(results[0].tensor), Tensor(results[1].tensor),
                    Tensor(results[2].tensor)};
}

}  // namespace sg
