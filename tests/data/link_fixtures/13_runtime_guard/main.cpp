// Shows:   a call behind a flag that is false at run time
// Subject: dead
// Marker:  0x5afe0c0ded0d0d0d
// Kept:    direct call

#include <cstdint>

extern "C" [[gnu::noinline]] uint64_t dead(uint64_t x) {
  return x * 0x5afe0c0ded0d0d0dull;
}

bool enabled;

int main(int count, char**) {
  bool* volatile flag = &enabled;
  return *flag ? static_cast<int>(dead(count)) : count;
}
