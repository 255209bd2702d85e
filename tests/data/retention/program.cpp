// The program that runs what was registered.

#include "sink.h"

#include "registry.h"

void (*first)() = nullptr;
int main() {
  if (first != nullptr) first();
  return 0;
}
