// An explicit instantiation makes code, but no reference.

#include "sink.h"

template <typename T>
void subject(T value) {
  sink = MARKER + static_cast<unsigned long>(value);
}
template void subject<float>(float);
int main() { return 0; }
