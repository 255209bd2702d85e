// The other file: the linker keeps the first constructor, and this one registers nothing.

#include "sink.h"

extern "C" void two() { sink = MARKER; }

struct Registrar {
  Registrar();
};
extern void (*volatile registered_two)();
void (*volatile registered_two)();
NOINLINE inline Registrar::Registrar() { registered_two = &two; }
Registrar registrar_two;
