// Half of a library: it registers itself, and nothing refers to it.

#include "sink.h"

#include "registry.h"

extern "C" void selected() { sink = OTHER; }

namespace {
const Registrar registrar(&selected);
}  // namespace
