// A constructor function runs before main.

#include "sink.h"

extern "C" __attribute__((constructor)) void subject() { sink = MARKER; }
int main() { return 0; }
