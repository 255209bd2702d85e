// A kernel whose dtype cases are lambdas inlined into one function, dead code, a function with a cold part.

extern "C" void abort();

enum class ScalarType : signed char { Byte, Char, Short, Int, Long, Half, Float, Double };

struct Tensor {
  ScalarType type;
  void* data;
  int size;
};

template <ScalarType S, typename F>
[[gnu::always_inline]] inline void run_case(const F& body) {
  body();
}

template <typename T>
inline void square(T* p, int n) {
  for (int i = 0; i < n; ++i) p[i] = p[i] * p[i] + T(3);
}

[[gnu::noinline]] void square_out(Tensor& t) {
  switch (t.type) {
    case ScalarType::Byte:
      return run_case<ScalarType::Byte>([&] { square(static_cast<unsigned char*>(t.data), t.size); });
    case ScalarType::Int:
      return run_case<ScalarType::Int>([&] { square(static_cast<int*>(t.data), t.size); });
    case ScalarType::Float:
      return run_case<ScalarType::Float>([&] { square(static_cast<float*>(t.data), t.size); });
    case ScalarType::Double:
      return run_case<ScalarType::Double>([&] { square(static_cast<double*>(t.data), t.size); });
    default:
      abort();
  }
}

[[gnu::noinline]] int dead_kernel(int n) {
  Tensor t{ScalarType::Int, &n, 1};
  run_case<ScalarType::Int>([&] { square(static_cast<int*>(t.data), t.size); });
  return n;
}

[[gnu::cold, gnu::noinline]] int complain(int n) { return n * 7; }

[[gnu::noinline]] int checked(int n) {
  if (__builtin_expect(n > 100, 0)) return complain(n) + complain(n + 1);
  return n + 1;
}

int main(int count, char**) {
  int values[4] = {count, 2, 3, 4};
  Tensor t{static_cast<ScalarType>(count), values, 4};
  square_out(t);
  return checked(values[0]);
}
