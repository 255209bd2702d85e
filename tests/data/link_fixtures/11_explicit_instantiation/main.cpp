// Shows:   a template that is instantiated explicitly and not used
// Subject: dead<unsigned long>
// Marker:  0x5afe0c0deb0b0b0b
// Kept:    no

#include <cstdint>

template <typename T>
[[gnu::noinline]] T dead(T x) {
  return static_cast<T>(x * 0x5afe0c0deb0b0b0bull);
}
template uint64_t dead<uint64_t>(uint64_t);

int main(int count, char**) {
  return static_cast<int>(count);
}
