// a and b call each other, c calls a, d calls a and e, e and f call each other, g calls f from a lambda, h calls nothing,
// i is called at load, j calls k by a helper in another file.
#include "demo.h"

namespace demo {
namespace {

int a(int x) { return call("demo::b", x) + 1; }
int b(int x) { return call("demo::a", x) + 2; }
int c(int x) { return call("demo::a", x) + 3; }
int d(int x) { return call("demo::a", x) + call("demo::e.out", x); }
int e(int x) { return call("demo::f", x) + 4; }
int f(int x) { return call("demo::e.out", x) + 5; }
int g(int x) {
  const auto inside = [](int y) { return call("demo::f", y) * 2; };
  return apply(inside, x);
}
int h(int x) { return x * 7; }
int i(int x) { return call("demo::h", x) - 1; }
int j(int x) { return call_k(x) * 5; }
int k(int x) { return x - 9; }

const Operator operators[] = {{"demo::a(i)i", a}, {"demo::b(i)i", b},     {"demo::c(i)i", c}, {"demo::d(i)i", d},
                              {"demo::e.out(i)i", e}, {"demo::f(i)i", f}, {"demo::g(i)i", g}, {"demo::h(i)i", h},
                              {"demo::i(i)i", i}, {"demo::j(i)i", j},     {"demo::k(i)i", k}};

[[maybe_unused]] const bool registered = [] {
  add_operators(operators, sizeof operators / sizeof operators[0]);
  return true;
}();

int at_load = call("demo::i", 1);

}  // namespace

int loaded() { return at_load; }

}  // namespace demo
