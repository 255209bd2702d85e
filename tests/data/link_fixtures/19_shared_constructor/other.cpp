#include <cstdint>

using Function = uint64_t (*)(uint64_t);
extern Function registered[2];

extern "C" [[gnu::noinline]] uint64_t lost(uint64_t x) {
  return x * 7;
}

struct Registrar {
  Registrar() { registered[1] = lost; }
};
static Registrar registrar;

extern "C" void register_other() {}
