// A function of an inline namespace that nothing refers to.

#include "sink.h"

namespace kernels {
inline namespace v1 {
void subject() { sink = MARKER; }
}  // namespace v1
}  // namespace kernels
int main() { return 0; }
