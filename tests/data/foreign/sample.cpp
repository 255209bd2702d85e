// Needs no library: compiled for machines that there is no libc of here. One of each that a reader may stumble over.

using size = __SIZE_TYPE__;

extern "C" void* memset(void* to, int value, size count) {
  auto* bytes = static_cast<volatile unsigned char*>(to);
  for (size i = 0; i < count; ++i) bytes[i] = static_cast<unsigned char>(value);
  return to;
}

namespace sample {

struct Shape {
  virtual int area() const = 0;
};

struct Square : Shape {
  int side;
  explicit Square(int side) : side(side) {}
  int area() const override { return side * side; }
};

template <typename T>
[[gnu::noinline]] T total(const T* numbers, int count) {
  T sum = 0;
  for (int i = 0; i < count; ++i) sum += numbers[i];
  return sum;
}

[[gnu::noinline]] const char* name_of(int day) {
  switch (day) {
    case 0: return "monday";
    case 1: return "tuesday";
    case 2: return "wednesday";
    case 3: return "thursday";
    case 4: return "friday";
    default: return "weekend";
  }
}

int zeros[100];
int counter = 7;
const short table[] = {3, 1, 4, 1, 5, 9, 2, 6};
int unused_by_any() { return counter * 11; }
[[gnu::alias("alias_target")]] int aliased();

struct Registered {
  Registered() { counter = table[counter % 8]; }
} registered;

}  // namespace sample

extern "C" int alias_target() { return sample::counter; }

extern "C" int exported(int n) {
  sample::Square square(n);
  const sample::Shape* shape = &square;
  double halves[] = {0.5, 1.5, n / 2.0};
  sample::zeros[n % 100] = shape->area();
  return sample::total(sample::zeros, 100) + static_cast<int>(sample::total(halves, 3)) + sample::name_of(n)[0];
}

extern "C" void _start() {
  while (exported(sample::counter) != 0) alias_target();
}
