// Shows:   a table of all kernels, indexed at run time
// Subject: dead
// Marker:  0x5afe0c0de5050505
// Kept:    address table

#include <cstdint>

extern "C" [[gnu::noinline]] uint64_t dead(uint64_t x) {
  return x * 0x5afe0c0de5050505ull;
}

extern "C" [[gnu::noinline]] uint64_t live(uint64_t x) {
  return x + 42;
}

using Function = uint64_t (*)(uint64_t);
extern const Function kernels[] = {live, dead};

int main(int count, char**) {
  return static_cast<int>(kernels[count % 2](count));
}
