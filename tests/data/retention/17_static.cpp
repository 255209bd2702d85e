// A static function that nothing refers to.

#include "sink.h"

static __attribute__((noinline, unused)) void subject() { sink = MARKER; }
int main() { return 0; }
