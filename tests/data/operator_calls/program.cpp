#include <cstdio>
#include <cstdlib>

#include "demo.h"

namespace demo {
int loaded();
}

int main(int count, char** arguments) {
  std::printf("%d %d\n", demo::loaded(), count > 2 ? demo::call(arguments[1], std::atoi(arguments[2])) : 0);
}
