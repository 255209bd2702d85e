// Adapters from a typed kernel to the boxed calling convention, which passes Values.

#pragma once

#include <array>
#include <type_traits>
#include <utility>

#include "native/runtime/registry.h"

namespace sg {

/// Reads an argument. The dispatcher has checked the tag (dispatcher.cpp), so this moves only one
/// or two words.
template <typename T>
struct Unbox;
template <>
struct Unbox<Tensor> {
  static Tensor from(const Value& value) { return Tensor(value.tensor); }
};
template <>
struct Unbox<int64_t> {
  static int64_t from(const Value& value) { return value.integer; }
};
template <>
struct Unbox<double> {
  static double from(const Value& value) { return value.number; }
};
template <>
struct Unbox<bool> {
  static bool from(const Value& value) { return value.integer != 0; }
};
template <>
struct Unbox<Scalar> {
  static Scalar from(const Value& value) { return value.to_scalar(); }
};
template <>
struct Unbox<ScalarType> {
  static ScalarType from(const Value& value) { return scalar_type_of(value.integer); }
};
template <>
struct Unbox<const char*> {
  static const char* from(const Value& value) { return value.text; }
};
template <>
struct Unbox<Object*> {
  static Object* from(const Value& value) { return value.object; }
};
template <>
struct Unbox<const Value&> {
  static const Value& from(const Value& value) { return value; }
};
template <>
struct Unbox<Value> {
  static Value from(const Value& value) { return value; }
};
template <>
struct Unbox<IntArrayRef> {
  static IntArrayRef from(const Value& value) { return {value.integers, value.size}; }
};
template <>
struct Unbox<DoubleArrayRef> {
  static DoubleArrayRef from(const Value& value) { return {value.numbers, value.size}; }
};
template <>
struct Unbox<BoolArrayRef> {
  static BoolArrayRef from(const Value& value) { return {value.bools, value.size}; }
};
template <>
struct Unbox<TensorList> {
  static TensorList from(const Value& value) { return {value.tensors, value.size}; }
};
template <typename T>
struct Unbox<std::optional<T>> {
  static std::optional<T> from(const Value& value) {
    return value.tag == Tag::None ? std::nullopt : std::optional<T>(Unbox<T>::from(value));
  }
};

inline void store_results(Value*, const Status&) {}

/// A list that a kernel made lives in the Context's memory.
inline void store_results(Value* results, const Result<TensorList>& list) {
  results[0] = list.value();
  results[0].owned = true;
}

template <size_t n>
void store_results(Value* results, const Result<std::array<Tensor, n>>& tensors) {
  for (size_t i = 0; i < n; ++i) results[i] = tensors.value()[i];
}

template <typename T>
void store_results(Value* results, const Result<T>& result) {
  results[0] = result.value();
}

template <auto kernel, typename... Arguments, size_t... indices>
bool call_boxed(Context& context, [[maybe_unused]] const Value* arguments, Value* results,
                std::index_sequence<indices...>) {
  const auto result = kernel(context, Unbox<Arguments>::from(arguments[indices])...);
  if (!result.ok()) return false;
  store_results(results, result);
  return true;
}

template <auto kernel>
struct Boxed;

template <typename R, typename... Arguments, R (*kernel)(Context&, Arguments...)>
struct Boxed<kernel> {
  static bool call(Context& context, const Value* arguments, Value* results) {
    return call_boxed<kernel, Arguments...>(context, arguments, results,
                                            std::index_sequence_for<Arguments...>());
  }
};

/// The table entry of a kernel: {"aten::relu(t)t", boxed<&kernels::relu>}.
template <auto kernel>
inline constexpr BoxedKernel boxed = &Boxed<kernel>::call;

}  // namespace sg
