// The attribute `used` binds the compiler, not the linker.

#include "sink.h"

extern "C" __attribute__((used)) void subject() { sink = MARKER; }
int main() { return 0; }
