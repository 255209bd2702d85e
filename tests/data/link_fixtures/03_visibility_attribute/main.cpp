// Shows:   a function with visibility("default"): an executable exports nothing
// Subject: visible_dead
// Marker:  0x5afe0c0de3030303
// Kept:    no

#include <cstdint>

[[gnu::visibility("default")]] uint64_t visible_dead(uint64_t x);

[[gnu::noinline]] uint64_t visible_dead(uint64_t x) {
  return x * 0x5afe0c0de3030303ull;
}

int main(int count, char**) {
  return static_cast<int>(count);
}
