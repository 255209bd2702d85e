// A registry of one.

#pragma once

extern void (*first)();

struct Registrar {
  explicit Registrar(void (*function)()) { first = function; }
};
