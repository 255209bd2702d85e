// Shows:   a dead function in an inline namespace
// Subject: kernels::v2::dead
// Marker:  0x5afe0c0dea0a0a0a
// Kept:    no

#include <cstdint>

namespace kernels {
inline namespace v2 {
[[gnu::noinline]] uint64_t dead(uint64_t x) {
  return x * 0x5afe0c0dea0a0a0aull;
}
}  // namespace v2
}  // namespace kernels

int main(int count, char**) {
  return static_cast<int>(count);
}
