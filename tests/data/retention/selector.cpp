// Selective build in small: one function is kept, the other is dropped.

#include "sink.h"

template <typename Function, bool is_selected>
struct FunctionSelector;
template <typename Function>
struct FunctionSelector<Function, true> {
  static constexpr bool value = true;
  static void call(Function function) { function(); }
};
template <typename Function>
struct FunctionSelector<Function, false> {
  static constexpr bool value = false;
  static void call(Function) {}
};

NOINLINE void kept() { sink = OTHER; }
NOINLINE void subject() { sink = MARKER; }

int main() {
  FunctionSelector<void (*)(), true>::call(&kept);
  FunctionSelector<void (*)(), false>::call(&subject);
  return 0;
}
