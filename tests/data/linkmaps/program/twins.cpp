#include "shapes.h"

namespace shapes {

__attribute__((noinline)) int first_twin(int value) {
  int sum = value;
  for (int i = 1; i < 9; ++i) sum = sum * i + (sum >> 3);
  return sum;
}

__attribute__((noinline)) int second_twin(int value) {
  int sum = value;
  for (int i = 1; i < 9; ++i) sum = sum * i + (sum >> 3);
  return sum;
}

int never_called(int value) {
  const int ints[] = {value, 5};
  return total_of_everything(ints, 2);
}

}  // namespace shapes
