// Shows:   a function with the attribute constructor calls it
// Subject: dead
// Marker:  0x5afe0c0de9090909
// Kept:    constructor attribute

#include <cstdint>

volatile uint64_t total;

extern "C" [[gnu::noinline]] uint64_t dead(uint64_t x) {
  return x * 0x5afe0c0de9090909ull;
}

[[gnu::constructor]] static void start() {
  total = dead(total);
}

int main(int count, char**) {
  return static_cast<int>(count);
}
