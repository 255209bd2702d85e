// Shows:   two files have a registrar of one name; at -O0 one constructor stays, and a function is lost
// Subject: dead
// Marker:  0x5afe0c0df3131313
// Kept:    direct call

#include <cstdint>

using Function = uint64_t (*)(uint64_t);
Function registered[2];
extern "C" void register_other();

extern "C" [[gnu::noinline]] uint64_t dead(uint64_t x) {
  return x * 0x5afe0c0df3131313ull;
}

struct Registrar {
  Registrar() { registered[0] = dead; }
};
static Registrar registrar;

int main(int count, char**) {
  register_other();
  return registered[0] ? static_cast<int>(registered[0](count)) : 0;
}
