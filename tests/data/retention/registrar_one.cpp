// One of two files that give different classes one name: their constructors are one COMDAT group.

#include "sink.h"

extern "C" void one() { sink = OTHER; }

struct Registrar {
  Registrar();
};
void (*volatile registered_one)();
NOINLINE inline Registrar::Registrar() { registered_one = &one; }
Registrar registrar_one;
int main() { return 0; }
