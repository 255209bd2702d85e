// Functions of one short name in many scopes, each inlined into main.
#define INLINED [[gnu::always_inline]] inline

volatile int sink;

INLINED static int work(int a) {
  return a * 3 + sink;
}

namespace outer {
namespace {
INLINED int work(int a) {
  return a * 5 + sink;
}
namespace inner {
INLINED int work(int a) {
  return a * 7 + sink;
}
}  // namespace inner
struct Kept {
  int value;
  INLINED int work() const { return value * 11 + sink; }
  struct Deep {
    INLINED static int work(int a) { return a * 13 + sink; }
  };
};
}  // namespace
inline namespace version {
INLINED static int work(int a, int b) {
  return a * b + sink;
}
template <typename T>
INLINED T twice(T a) {
  return a * 2 + sink;
}
}  // namespace version
int all(int a) {
  struct Local {
    INLINED static int work(int b) { return b * 17 + sink; }
  };
  const auto lambda = [a](int b) { return a * b * 19 + sink; };
  return work(a) + inner::work(a) + Kept{a}.work() + Kept::Deep::work(a) + work(a, a) + twice(a) +
         Local::work(a) + lambda(a);
}
}  // namespace outer

extern "C" INLINED int plain(int a) {
  return a * 23 + sink;
}

int main(int argc, char**) {
  return work(argc) + outer::all(argc) + plain(argc);
}
