// Shows:   a virtual function that nothing calls, in the table of a class that is made
// Subject: Relu::dead
// Marker:  0x5afe0c0de4040404
// Kept:    vtable

#include <cstdint>

struct Kernel {
  virtual uint64_t run(uint64_t x) = 0;
  virtual uint64_t dead(uint64_t x) = 0;
};
struct Relu : Kernel {
  [[gnu::noinline]] uint64_t run(uint64_t x) override { return x + 1; }
  [[gnu::noinline]] uint64_t dead(uint64_t x) override { return x * 0x5afe0c0de4040404ull; }
};

[[gnu::noinline]] Kernel* make() {
  static Relu relu;
  return &relu;
}

// Through a volatile pointer, so that no compiler knows the class.
Kernel* volatile chosen;

int main(int count, char**) {
  chosen = make();
  return static_cast<int>(chosen->run(count));
}
