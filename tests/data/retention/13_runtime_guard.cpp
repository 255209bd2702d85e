// A call behind a condition that is never true, which no compiler knows.

#include "sink.h"

extern "C" NOINLINE void subject() { sink = MARKER; }
volatile bool is_selected = false;
int main() {
  if (is_selected) subject();
  return 0;
}
