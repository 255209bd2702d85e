// Visibility alone keeps nothing in an executable.

#include "sink.h"

extern "C" __attribute__((visibility("default"))) void subject() { sink = MARKER; }
extern "C" __attribute__((visibility("default"))) int live() { return 0; }
int main() { return live(); }
