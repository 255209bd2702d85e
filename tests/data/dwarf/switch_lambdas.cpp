// Kernels whose dtype branches are lambdas without a name of their own, as ExecuTorch's switches make them.

// No headers, so that it compiles for macOS, too.
using int8_t = signed char;
using uint8_t = unsigned char;
using int16_t = short;
using uint16_t = unsigned short;
using int32_t = int;
using int64_t = long;
extern "C" [[noreturn]] void abort();

// The codes have a hole, as ExecuTorch's: without one, gcc moves what all cases begin with in front of the switch.
#define CASES(_)                                                                                        \
  _(Byte, 0, uint8_t) _(Char, 1, int8_t) _(Short, 2, int16_t) _(Int, 3, int32_t) _(Long, 4, int64_t) \
  _(Half, 5, ::c10::Half) _(Float, 6, float) _(Double, 7, double) _(Bool, 11, bool)

namespace c10 {
struct Half {
  Half() = default;
  Half(float from) : bits(static_cast<uint16_t>(from * 256)) {}
  operator float() const { return static_cast<float>(bits) / 256; }
  uint16_t bits;
};
}  // namespace c10

namespace executorch::runtime {
#define ENUMERATOR(name, code, type) name = code,
enum class ScalarType : int8_t { CASES(ENUMERATOR) };
template <ScalarType>
struct ScalarTypeToCppType;
#define TYPE_OF(name, code, c_type)              \
  template <>                                    \
  struct ScalarTypeToCppType<ScalarType::name> { \
    using type = c_type;                         \
  };
CASES(TYPE_OF)

struct Tensor {
  template <typename T>
  T* data() const {
    return static_cast<T*>(memory);
  }
  ScalarType dtype;
  void* memory;
  long count;
};
struct Context {
  [[noreturn, gnu::noinline, gnu::cold]] void fail() const { abort(); }
};
}  // namespace executorch::runtime

// -DWITHOUT_Float=1 leaves the case out.
#ifndef ATTRIBUTES
#define ATTRIBUTES
#endif
#define SECOND(a, b, ...) b
#define PICK(...) SECOND(__VA_ARGS__)
#define IS_LEFT_OUT(macro) IS_LEFT_OUT_(macro)
#define IS_LEFT_OUT_(value) PICK(COMMA_##value 1, 0, 0)
#define COMMA_1 0,

#define CASE(name, Alias, ...)                                                                                   \
  case ScalarType::name: {                                                                                       \
    if constexpr (IS_LEFT_OUT(WITHOUT_##name)) context.fail();                                                   \
    using Alias [[maybe_unused]] = ::executorch::runtime::ScalarTypeToCppType<ScalarType::name>::type;           \
    return __VA_ARGS__();                                                                                        \
  }
#define SWITCH(value, cases, ...)      \
  [&] {                                \
    const auto& switched = value;      \
    switch (switched) {                \
      cases(__VA_ARGS__)               \
      default: context.fail();         \
    }                                  \
  }()
#define INDEX_CASES(Alias, ...) CASE(Int, Alias, __VA_ARGS__) CASE(Long, Alias, __VA_ARGS__)
#define REAL_CASES(Alias, ...)                                                                             \
  CASE(Byte, Alias, __VA_ARGS__) CASE(Char, Alias, __VA_ARGS__) CASE(Short, Alias, __VA_ARGS__)            \
  INDEX_CASES(Alias, __VA_ARGS__) CASE(Half, Alias, __VA_ARGS__) CASE(Float, Alias, __VA_ARGS__)           \
  CASE(Double, Alias, __VA_ARGS__) CASE(Bool, Alias, __VA_ARGS__)

namespace torch::executor::native {

using executorch::runtime::Context;
using executorch::runtime::ScalarType;
using executorch::runtime::Tensor;

template <typename In, typename Out, typename Function>
void apply_elementwise_fn(const Function& function, const In* in, Out* out, long count) {
  for (long i = 0; i < count; ++i) out[i] = function(in[i], out[i]);
}

// The case's own variables have its type.
Tensor& cumsum_out(Context& context, const Tensor& in, double scale, Tensor& out) {
  SWITCH(in.dtype, REAL_CASES, CTYPE, [&]() ATTRIBUTES {
    const CTYPE* a = in.data<CTYPE>();
    CTYPE* b = out.data<CTYPE>();
    for (long i = 0; i < in.count; ++i) {
      b[i] = static_cast<CTYPE>(static_cast<double>(a[i]) * static_cast<double>(a[in.count - 1 - i]) + scale);
    }
    for (long i = 1; i < in.count; ++i) b[i] = static_cast<CTYPE>(b[i] + b[i - 1] / static_cast<CTYPE>(scale + i));
  });
  return out;
}

// Only a lambda in the case has parameters of its type.
Tensor& fmod_out(Context& context, const Tensor& in, double scale, Tensor& out) {
  SWITCH(in.dtype, REAL_CASES, CTYPE, [&]() ATTRIBUTES {
    apply_elementwise_fn(
        [scale](const CTYPE a, const CTYPE b) {
          return static_cast<CTYPE>(static_cast<double>(a) / (static_cast<double>(b) + scale) + static_cast<double>(a));
        },
        in.data<CTYPE>(), out.data<CTYPE>(), in.count);
  });
  return out;
}

// A switch in each branch of another.
Tensor& index_select_out(Context& context, const Tensor& in, const Tensor& index, Tensor& out) {
  SWITCH(index.dtype, INDEX_CASES, CTYPE_INDEX, [&]() ATTRIBUTES {
    const CTYPE_INDEX* places = index.data<CTYPE_INDEX>();
    for (long i = 0; i < index.count; ++i) {
      if (places[i] < 0 || places[i] >= in.count) context.fail();
    }
    SWITCH(in.dtype, REAL_CASES, CTYPE, [&]() ATTRIBUTES {
      const CTYPE* a = in.data<CTYPE>();
      CTYPE* b = out.data<CTYPE>();
      for (long i = 0; i < index.count; ++i) b[i] = static_cast<CTYPE>(a[places[i]] + a[0]);
      for (long i = 1; i < index.count; ++i) b[i] = static_cast<CTYPE>(b[i] + b[i - 1] / a[0]);
    });
  });
  return out;
}

// The case does nothing but call a template, so that no debug information has the name of its type.
namespace {
template <typename T>
void pow_template(const Tensor& in, double scale, Tensor& out) {
  const T* a = in.data<T>();
  T* b = out.data<T>();
  for (long i = 0; i < in.count; ++i) b[i] = static_cast<T>(static_cast<double>(a[i]) * scale - static_cast<double>(b[i]));
}
}  // namespace
Tensor& pow_out(Context& context, const Tensor& in, double scale, Tensor& out) {
  SWITCH(in.dtype, REAL_CASES, CTYPE, [&]() ATTRIBUTES { pow_template<CTYPE>(in, scale, out); });
  return out;
}

// No branches: a type of the same template that is the function's.
Tensor& relu_out(Context&, const Tensor& in, double scale, Tensor& out) {
  using Number = ::executorch::runtime::ScalarTypeToCppType<ScalarType::Double>::type;
  const Number* a = in.data<Number>();
  Number* b = out.data<Number>();
  for (long i = 0; i < in.count; ++i) b[i] = a[i] > 0 ? a[i] * scale : 0;
  return out;
}

}  // namespace torch::executor::native

#ifndef NO_MAIN
int main(int count, char** arguments) {
  using namespace torch::executor::native;
  Context context;
  const Tensor in{static_cast<ScalarType>(count), arguments, count};
  Tensor out{static_cast<ScalarType>(count), arguments + 1, count};
  cumsum_out(context, in, count, out);
  fmod_out(context, in, count, out);
  pow_out(context, in, count, out);
  index_select_out(context, in, out, out);
  relu_out(context, in, count, out);
}
#endif
