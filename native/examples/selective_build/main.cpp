// Lists the operators of this build, one per line.

#include <cstdio>

#include "native/runtime/registry.h"

int main() {
  for (const sg::Library* library = sg::libraries(); library != nullptr; library = library->next) {
    for (size_t i = 0; i < library->count; ++i) {
      const char* schema = library->operators[i].schema;
      std::printf("%.*s\n", sg::name_length(schema), schema);
    }
  }
}
