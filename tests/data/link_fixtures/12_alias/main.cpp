// Shows:   a dead function with an alias
// Subject: dead
// Marker:  0x5afe0c0dec0c0c0c
// Kept:    no

#include <cstdint>

extern "C" [[gnu::noinline]] uint64_t dead(uint64_t x) {
  return x * 0x5afe0c0dec0c0c0cull;
}

extern "C" [[gnu::alias("dead")]] uint64_t dead_too(uint64_t x);

int main(int count, char**) {
  return static_cast<int>(count);
}
