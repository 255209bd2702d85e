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

/// The same by name, from a kernel. An operator that is not registered is an error that names the caller.
bool call_operator(Context& context, const char* name, Value* arguments, Value* results);

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

/// A typed call; ops::NAME::call are made of it, one section each.
template <typename R, typename... Arguments>
Result<R> dispatch(Context& context, const char* name, Arguments... arguments) {
  Value boxed_arguments[] = {Value(arguments)...};
  Value results[kMaxResults];
  if (!call_operator(context, name, boxed_arguments, results)) return Failed{};
  return unbox_result<R>(results);
}

template <typename... Arguments>
Status dispatch_status(Context& context, const char* name, Arguments... arguments) {
  Value boxed_arguments[] = {Value(arguments)...};
  return Status(call_operator(context, name, boxed_arguments, nullptr));
}

}  // namespace sg
