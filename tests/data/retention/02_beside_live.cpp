// A dead function in the file of a live one.

#include "sink.h"

extern "C" void subject() { sink = MARKER; }
extern "C" NOINLINE int live(int n) {
  sink = OTHER;
  return n;
}
int main(int argc, char**) { return live(argc); }
