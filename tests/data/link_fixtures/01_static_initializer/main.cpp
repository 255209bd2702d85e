// Shows:   a static initializer that was left in the file registers the function
// Subject: dead
// Marker:  0x5afe0c0de1010101
// Kept:    static initializer

#include <cstdint>

using Function = uint64_t (*)(uint64_t);
Function registered;

extern "C" [[gnu::noinline]] uint64_t dead(uint64_t x) {
  return x * 0x5afe0c0de1010101ull;
}

struct Registrar {
  explicit Registrar(Function function) { registered = function; }
};
static Registrar registrar(dead);

int main(int count, char**) {
  return count;
}
