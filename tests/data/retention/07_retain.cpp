// The attribute `retain` binds the linker.

#include "sink.h"

extern "C" __attribute__((used, retain)) void subject() { sink = MARKER; }
int main() { return 0; }
