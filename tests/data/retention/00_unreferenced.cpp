// A function that nothing refers to.

#include "sink.h"

extern "C" void subject() { sink = MARKER; }
int main() { return 0; }
