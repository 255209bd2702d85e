// Shows:   the program that selective build is explained with: one function is selected, the other is not
// Subject: dead
// Marker:  0x5afe0c0df2121212
// Kept:    no

#include <cstdint>

template <typename Function, bool selected>
struct FunctionSelector {
  Function* function;
};
template <typename Function>
struct FunctionSelector<Function, false> {
  explicit constexpr FunctionSelector(Function*) {}
};

extern "C" [[gnu::noinline]] uint64_t dead(uint64_t x) {
  return x * 0x5afe0c0df2121212ull;
}

extern "C" [[gnu::noinline]] uint64_t live(uint64_t x) {
  return x + 42;
}

using Function = uint64_t(uint64_t);
Function* registered;

template <bool selected>
struct Registrar {
  explicit Registrar(FunctionSelector<Function, selected> selector) {
    if constexpr (selected) registered = selector.function;
  }
};
static Registrar<true> kept{FunctionSelector<Function, true>{live}};
static Registrar<false> dropped{FunctionSelector<Function, false>{dead}};

int main(int count, char**) {
  return static_cast<int>(registered(count));
}
