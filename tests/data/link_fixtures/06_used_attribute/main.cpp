// Shows:   attribute used alone: the compiler keeps it, the linker does not
// Subject: dead
// Marker:  0x5afe0c0de6060606
// Kept:    no

#include <cstdint>

extern "C" [[gnu::used, gnu::noinline]] uint64_t dead(uint64_t x) {
  return x * 0x5afe0c0de6060606ull;
}

int main(int count, char**) {
  return static_cast<int>(count);
}
