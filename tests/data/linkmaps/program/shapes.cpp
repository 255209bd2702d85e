#include "shapes.h"

namespace shapes {

int call_count = 3;
static int areas_asked[64];

Shape::~Shape() {}

double Circle::area(double scale) const {
  ++areas_asked[1];
  return 3.14159 * radius * radius * scale;
}

double Square::area(double scale) const {
  ++areas_asked[2];
  return side * side * scale;
}

int describe(const Shape& shape) {
  const float floats[] = {1, static_cast<float>(++call_count)};
  puts("a string that several objects hold");
  puts(shape.area(2) > 10 ? "large" : "small");
  return static_cast<int>(total_of_everything(floats, 2)) + areas_asked[1];
}

int dead_in_shapes(int value) { return value / 3 + call_count; }

}  // namespace shapes
