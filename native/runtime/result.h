// Results without exceptions: a value, or a sign that the Context holds an error.

#pragma once

#include "native/runtime/tensor.h"

namespace sg {

/// The return value of a function that has failed and has set the error of the Context.
struct Failed {};

/// A T, or Failed. value() is only legal when ok().
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(value), ok_(true) {}  // NOLINT: conversions are the point
  Result(Failed) : ok_(false) {}                 // NOLINT

  bool ok() const { return ok_; }
  const T& value() const { return value_; }

 private:
  T value_{};
  bool ok_;
};

/// A tensor in one register. An undefined tensor means Failed.
template <>
class [[nodiscard]] Result<Tensor> {
 public:
  Result(Tensor value) : value_(value) {}  // NOLINT
  Result(Failed) {}                        // NOLINT

  bool ok() const { return value_.defined(); }
  Tensor value() const { return value_; }

 private:
  Tensor value_;
};

/// Success, or Failed.
class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(Failed) : ok_(false) {}  // NOLINT
  explicit Status(bool ok) : ok_(ok) {}

  bool ok() const { return ok_; }

 private:
  bool ok_ = true;
};

#define SG_CONCATENATE_(a, b) a##b
#define SG_CONCATENATE(a, b) SG_CONCATENATE_(a, b)

/// Declares (or assigns) a variable with the value of a Result, or returns Failed. Expands to
/// several statements, so an if needs braces around it.
///   SG_ASSIGN(const Tensor out, empty_like(context, in));
#define SG_ASSIGN(declaration, ...)                                   \
  auto SG_CONCATENATE(result_, __LINE__) = (__VA_ARGS__);             \
  if (!SG_CONCATENATE(result_, __LINE__).ok()) return ::sg::Failed{}; \
  declaration = SG_CONCATENATE(result_, __LINE__).value()

/// Returns Failed if a Status or Result has failed.
#define SG_TRY(...)                                 \
  do {                                              \
    if (!(__VA_ARGS__).ok()) return ::sg::Failed{}; \
  } while (false)

}  // namespace sg
