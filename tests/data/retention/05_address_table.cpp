// A table of addresses keeps all that are in it.

#include "sink.h"

extern "C" NOINLINE void live() { sink = OTHER; }
extern "C" NOINLINE void subject() { sink = MARKER; }
extern "C" void (*const functions[])() = {&live, &subject};
int main(int argc, char**) {
  functions[argc > 7]();
  return 0;
}
