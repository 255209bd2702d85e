// Shows:   a dead function chosen by a dead resolver
// Subject: dead
// Marker:  0x5afe0c0dee0e0e0e
// Kept:    no

#include <cstdint>

extern "C" [[gnu::noinline]] uint64_t dead(uint64_t x) {
  return x * 0x5afe0c0dee0e0e0eull;
}

extern "C" uint64_t (*resolve())(uint64_t) {
  return dead;
}
extern "C" [[gnu::ifunc("resolve")]] uint64_t chosen(uint64_t x);

int main(int count, char**) {
  return static_cast<int>(count);
}
