extern "C" int puts(const char*);
extern "C" void* malloc(unsigned long);
extern "C" void abort_run() __attribute__((noreturn));
extern "C" int environ_count;
namespace shapes {
struct Shape {
  virtual int area(int n) const;
  virtual const char* name() const;
  int tag = 3;
};
struct Square : Shape {
  int area(int n) const override;
  const char* name() const override;
};
int Shape::area(int n) const { return n * tag; }
const char* Shape::name() const { return "a shape of any kind"; }
int Square::area(int n) const { return n * n + tag; }
const char* Square::name() const { return "a square"; }
template <typename T> __attribute__((noinline)) T total(const T* values, int count) {
  T sum = 0;
  for (int i = 0; i < count; ++i) sum += values[i] * 3;
  return sum;
}
Square square;
int counter[300];
static int hidden_counter[70];
int initial[] = {1, 2, 3, 4, 5};
const char* const names[] = {"one", "two", "three words here", "four"};
typedef int (*Function)(int);
__attribute__((noinline)) int twice(int n) { return n * 2 + environ_count; }
__attribute__((noinline)) int guarded(int n) {
  struct Cleaner { int* p; ~Cleaner() { *p += 1; puts("cleaned"); } } cleaner{&hidden_counter[n]};
  if (n > 60) throw n;
  return twice(n) + puts("guarded");
}
Function const functions[] = {twice, guarded};
__attribute__((noinline)) double scaled(double x) { return x * 2.7182818284590452 + 1.25e-7; }
thread_local int per_thread = 41;
struct Registrar { Registrar(int n) { counter[n] = n * square.area(n); puts("registered"); } };
Registrar registrar(7);
}  // namespace shapes
extern "C" int dead_function(int n) { return n * 77; }
int run(int n) {
  using namespace shapes;
  float f[4] = {1, 2, 3, (float)n};
  double d[3] = {1, 2, (double)n};
  int total_all = (int)total(f, 4) + (int)total(d, 3) + total(initial, 5);
  const Shape* shape = &square;
  try { total_all += functions[n & 1](n); } catch (int e) { total_all += e; }
  puts(shape->name());
  puts(names[n & 3]);
  per_thread += (int)scaled(n);
  return total_all + shape->area(n) + counter[n] + hidden_counter[n] + per_thread;
}
