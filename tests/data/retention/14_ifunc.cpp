// An indirect function that nothing refers to.

#include "sink.h"

namespace {
void actual() { sink = MARKER; }
}  // namespace
extern "C" void (*resolve())() { return &actual; }
extern "C" void subject() __attribute__((ifunc("resolve")));
int main() { return 0; }
