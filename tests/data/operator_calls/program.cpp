#include <cstdio>
#include <cstdlib>

#include "demo.h"

namespace demo {
int loaded();
}

// Prints what an operator returned at load, and the result of the operator named on the command line.
int main(int count, char** arguments) {
  std::printf("%d %d\n", demo::loaded(), count > 2 ? demo::call(arguments[1], std::atoi(arguments[2])) : 0);
}
