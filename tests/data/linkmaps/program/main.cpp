#include "shapes.h"

namespace {

struct Startup {
  int value;
  explicit Startup(int start) : value(shapes::first_twin(start)) {}
};

Startup startup(shapes::call_count);

__attribute__((noinline)) int local_helper(int value) { return value * 31 + startup.value; }

}  // namespace

int dead_in_main(int value) { return value * 17 + shapes::never_called(value); }

int main(int argc, char**) {
  const int ints[] = {argc, 2, 3, 4};
  const float floats[] = {1, 2, static_cast<float>(argc)};
  shapes::Circle circle;
  shapes::Square square;
  circle.radius = argc;
  square.side = argc + 1;
  puts("a string that several objects hold");
  puts("a string of main");
  int result = shapes::total_of_everything(ints, 4) + static_cast<int>(shapes::total_of_everything(floats, 3));
  result += shapes::describe(circle) + shapes::describe(square) + local_helper(argc);
  return (result + shapes::first_twin(argc) + shapes::second_twin(argc + 1)) & 1;
}
