// Shows:   a function that nothing refers to, in a file of its own
// Subject: dead
// Marker:  0x5afe0c0de0000000
// Kept:    no

#include <cstdint>

extern "C" uint64_t live(uint64_t x);

int main(int count, char**) {
  return static_cast<int>(live(count));
}
