// A dispatcher as small as one can be.

#pragma once

namespace demo {

using Kernel = int (*)(int);

struct Operator {
  const char* schema;
  Kernel kernel;
};

void add_operators(const Operator* table, int count);
Kernel find(const char* name);

/// Calls an operator by name.
int call(const char* name, int value);

/// In a file of its own.
int call_k(int value);
int apply(int (*function)(int), int value);

}  // namespace demo
