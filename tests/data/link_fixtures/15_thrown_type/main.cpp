// Shows:   a virtual function of an exception that is thrown
// Subject: Error::dead
// Marker:  0x5afe0c0def0f0f0f
// Kept:    thrown exception type

#include <cstdint>

struct Error {
  virtual ~Error() = default;
  [[gnu::noinline]] virtual uint64_t dead(uint64_t x) { return x * 0x5afe0c0def0f0f0full; }
};

[[gnu::noinline]] void fail(int count) {
  if (count > 100) throw Error();
}

int main(int count, char**) {
  try {
    fail(count);
  } catch (const Error&) {
    return 1;
  }
  return 0;
}
