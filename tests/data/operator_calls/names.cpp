// Operators whose calls have names that are chosen, kept elsewhere, or not there before the program runs.
#include <cstdlib>

#include "demo.h"

namespace demo {
namespace {

int chosen(int x) { return call(x > 2 ? "demo::a" : "demo::h", x); }

const char* const listed_names[] = {"demo::f", "demo::g", "demo::h"};
int listed(int x) { return call(listed_names[x % 3], x); }

int from_outside(int x) { return call(std::getenv("OPERATOR"), x); }

int both(int x) {
  const int first = call("demo::k", x);
  const char* name = std::getenv("OPERATOR");
  return call(name, first);
}

[[gnu::noinline]] int by_pointer(int (*function)(const char*, int), int x) { return function(std::getenv("OPERATOR"), x); }
int pointer(int x) { return by_pointer(x > 100 ? nullptr : call, x); }

// Unlike in a branch of its own, where the name leads nowhere.
int mentions(int x) { return x + (std::getenv("demo::c") != nullptr); }

const Operator operators[] = {{"demo::chosen(i)i", chosen},   {"demo::listed(i)i", listed}, {"demo::from_outside(i)i", from_outside},
                              {"demo::both(i)i", both},       {"demo::pointer(i)i", pointer}, {"demo::mentions(i)i", mentions}};

[[maybe_unused]] const bool registered = [] {
  add_operators(operators, sizeof operators / sizeof operators[0]);
  return true;
}();

}  // namespace
}  // namespace demo
