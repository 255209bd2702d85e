// Shows:   attributes used and retain: the section says that it stays
// Subject: dead
// Marker:  0x5afe0c0de7070707
// Kept:    retain attribute

#include <cstdint>

extern "C" [[gnu::used, gnu::retain, gnu::noinline]] uint64_t dead(uint64_t x) {
  return x * 0x5afe0c0de7070707ull;
}

int main(int count, char**) {
  return static_cast<int>(count);
}
