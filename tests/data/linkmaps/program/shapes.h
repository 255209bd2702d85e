// What the sources of the map fixtures share. No standard header, so that it also compiles for Mach-O on Linux.
#pragma once

extern "C" int puts(const char* text);

namespace shapes {

struct Shape {
  virtual ~Shape();
  virtual double area(double scale) const = 0;
};

struct Circle final : Shape {
  double radius = 1;
  double area(double scale) const override;
};

struct Square final : Shape {
  double side = 1;
  double area(double scale) const override;
};

// In several objects, kept once.
template <typename T>
__attribute__((noinline)) T total_of_everything(const T* values, int count) {
  T sum = 0;
  for (int i = 0; i < count; ++i) sum += values[i] * static_cast<T>(i + 1);
  return sum;
}

int first_twin(int value);
int second_twin(int value);
int describe(const Shape& shape);
int never_called(int value);
extern int call_count;

}  // namespace shapes
