// Shows:   a section that is walked from __start_ to __stop_
// Subject: dead
// Marker:  0x5afe0c0de8080808
// Kept:    start/stop section

#include <cstdint>

extern "C" [[gnu::noinline]] uint64_t dead(uint64_t x) {
  return x * 0x5afe0c0de8080808ull;
}

using Function = uint64_t (*)(uint64_t);
[[gnu::section("operators"), gnu::used]] static Function entry = dead;

extern "C" Function __start_operators[];
extern "C" Function __stop_operators[];

int main(int count, char**) {
  uint64_t total = 0;
  for (Function* function = __start_operators; function != __stop_operators; ++function) total += (*function)(count);
  return static_cast<int>(total);
}
