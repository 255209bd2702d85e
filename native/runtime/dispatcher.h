// The dispatcher: calls an operator by name, from a program or from another operator's kernel.

#pragma once

#include <array>

#include "native/runtime/boxing.h"
#include "native/runtime/registry.h"

namespace sg {

/// Arguments and results of one call at most.
inline constexpr size_t kMaxArguments = 32;
inline constexpr size_t kMaxResults = 8;

/// Calls an operator: checks the arguments against its letters and converts numbers (which changes `arguments`), runs
/// the kernel, frees what it leaves behind. False: failed, and the Context knows why.
bool call_operator(Context& context, const Operator& op, Value* arguments, Value* results);

/// The same from a kernel, by "aten::to.dtype(tibbi?)t"; ops::NAME::call are made of it. The arguments follow as words
/// of eight bytes, by letter: t a TensorImpl*, i and b an int64_t, d a double, z a const char*, s what Scalar::bits()
/// and tag() say, a list its data and size; an optional i, d, b or s starts with an int64_t that says whether it is
/// there. (So a call takes 30 to 60 bytes; building the Values in each took 150.) An operator that is not registered is
/// an error that names the caller.
bool call_words(Context& context, const char* schema, Value* results, ...);

/// The same, for the many operators that return one tensor.
Result<Tensor> call_words_tensor(Context& context, const char* schema, ...);

/// Whether a schema's letters take that many arguments and return that many results.
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
  return std::array{Tensor(results[0].tensor), Tensor(results[1].tensor), Tensor(results[2].tensor)};
}

}  // namespace sg
