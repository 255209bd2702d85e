// A virtual function that nothing calls, of a class that is used.

#include "sink.h"

struct Shape {
  virtual ~Shape() = default;
  virtual int area();
  virtual int subject();
};
NOINLINE int Shape::area() { return 1; }
NOINLINE int Shape::subject() {
  sink = MARKER;
  return 2;
}
NOINLINE Shape* make() { return new Shape; }
Shape* (*volatile maker)() = &make;
int main() { return maker()->area(); }
