// An alias of a function that nothing refers to.

#include "sink.h"

extern "C" void actual() { sink = MARKER; }
extern "C" void subject() __attribute__((alias("actual")));
int main() { return 0; }
