// A static initializer that was left in the file keeps what it names.

#include "sink.h"

extern "C" void subject() { sink = MARKER; }

namespace {
void (*volatile registered)();
struct Registrar {
  explicit Registrar(void (*function)()) { registered = function; }
};
const Registrar registrar(&subject);
}  // namespace

int main() { return 0; }
