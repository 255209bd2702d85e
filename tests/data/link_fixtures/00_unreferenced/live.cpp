#include <cstdint>

extern "C" [[gnu::noinline]] uint64_t live(uint64_t x) {
  return x + 42;
}
