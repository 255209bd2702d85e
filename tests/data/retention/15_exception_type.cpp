// A thrown type brings its vtable, and with it what nothing calls.

#include "sink.h"

#include <exception>

struct Failure : std::exception {
  const char* what() const noexcept override { return "failure"; }
  virtual void subject() const;
};
NOINLINE void Failure::subject() const { sink = MARKER; }
NOINLINE void fail() { throw Failure(); }
int main(int argc, char**) {
  if (argc > 7) fail();
  return 0;
}
