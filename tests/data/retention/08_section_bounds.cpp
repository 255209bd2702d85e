// Entries of a section that is walked from __start_ to __stop_.

#include "sink.h"

extern "C" void subject() { sink = MARKER; }
using Function = void (*)();
__attribute__((section("opregs"), used)) const Function entry = &subject;
extern const Function __start_opregs[];
extern const Function __stop_opregs[];
int main(int argc, char**) {
  for (const Function* f = __start_opregs; f != __stop_opregs; ++f) {
    if (argc > 7) (*f)();
  }
  return 0;
}
