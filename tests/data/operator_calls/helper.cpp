#include "demo.h"

namespace demo {

int call_k(int value) { return call("demo::k", value) + 3; }

int apply(int (*function)(int), int value) { return function(value) + 1; }

}  // namespace demo
