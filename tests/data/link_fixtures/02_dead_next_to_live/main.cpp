// Shows:   a dead function beside a live one, in one file
// Subject: dead
// Marker:  0x5afe0c0de2020202
// Kept:    no

#include <cstdint>

extern "C" [[gnu::noinline]] uint64_t dead(uint64_t x) {
  return x * 0x5afe0c0de2020202ull;
}

extern "C" [[gnu::noinline]] uint64_t live(uint64_t x) {
  return x + 42;
}

int main(int count, char**) {
  return static_cast<int>(live(count));
}
