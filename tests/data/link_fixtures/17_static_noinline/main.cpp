// Shows:   a dead static function that the compiler must not inline
// Subject: dead
// Marker:  0x5afe0c0df1111111
// Kept:    no

#include <cstdint>

[[gnu::noinline, gnu::unused]] static uint64_t dead(uint64_t x) {
  return x * 0x5afe0c0df1111111ull;
}

int main(int count, char**) {
  return static_cast<int>(count);
}
