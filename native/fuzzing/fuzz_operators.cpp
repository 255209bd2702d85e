// libFuzzer's entry: constructs calls of every operator from the bytes, with odd shapes, dtypes,
// strides and values. Results become arguments of further calls.
//
// Besides the sanitizers, it aborts if a tensor has an element outside of its storage, or if the
// Context counts other memory than it holds. At the end it prints which operators it has called.

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <utility>

#include "native/fuzzing/call_bytes.h"
#include "native/fuzzing/call_shapes.h"
#include "native/operators/copy.h"
#include "native/runtime/dispatcher.h"

namespace {

using sg::Context;
using sg::ScalarType;
using sg::Tag;
using sg::Tensor;
using sg::Value;
using sg::fuzzing::Bytes;
using sg::fuzzing::Shapes;

constexpr size_t kCalls = 4;
constexpr size_t kKept = kCalls * sg::kMaxResults;
constexpr int64_t kMemory = 1 << 16;  // a product of two tensors takes milliseconds
constexpr size_t kMaxOperators = 512;

constexpr ScalarType kDtypes[] = {ScalarType::Float,  ScalarType::Float,    ScalarType::Long,
                                  ScalarType::Int,    ScalarType::Bool,     ScalarType::Half,
                                  ScalarType::Double, ScalarType::BFloat16, ScalarType::Byte,
                                  ScalarType::Char,   ScalarType::Short};

constexpr int64_t kIntegers[] = {
    0,   1,   1,         1,         2,         -1,        3,         -2,        4,     0,
    6,   7,   1,         5,         8,         260,       -3,        16,        127,   -128,
    255, 100, INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN, 1LL << 62, 1LL << 40, -1000, 65536};

constexpr int64_t kExtremes[] = {INT64_MIN, INT64_MAX, INT32_MIN, 1LL << 62};

constexpr double kNumbers[] = {0, 1,    0.5,   -1,       1e-5,      2,   0,    0.1,     -0.0,
                               3, -2.5, 1e300, HUGE_VAL, -HUGE_VAL, NAN, 1e19, -1e-320, 100};

const char* const kTexts[] = {"none", "tanh", "floor", "trunc", "", "text\n"};

/// What is known of all operators, for the report at the end.
struct Calls {
  const char* schema;
  size_t calls;
  size_t results;
};
Calls statistics[kMaxOperators];
size_t operator_count = 0;

void print_statistics() {
  size_t called = 0;
  size_t returned = 0;
  size_t calls = 0;
  for (size_t i = 0; i < operator_count; ++i) {
    called += statistics[i].calls > 0;
    returned += statistics[i].results > 0;
    calls += statistics[i].calls;
  }
  std::fprintf(stderr, "operators: %zu, called: %zu, returned: %zu, calls: %zu\n", operator_count,
               called, returned, calls);
  for (size_t i = 0; i < operator_count; ++i) {
    if (statistics[i].results == 0)
      std::fprintf(stderr, "never returned: %s, %zu calls\n", statistics[i].schema,
                   statistics[i].calls);
  }
}

const sg::Operator& choose_operator(Bytes& bytes, size_t& index) {
  static const sg::Operator* operators[kMaxOperators];
  if (operator_count == 0) {
    for (const sg::Library* library = sg::libraries(); library != nullptr;
         library = library->next) {
      for (size_t i = 0; i < library->count && operator_count < kMaxOperators; ++i) {
        statistics[operator_count].schema = library->operators[i].schema;
        operators[operator_count++] = &library->operators[i];
      }
    }
    std::atexit(print_statistics);
  }
  index = (bytes.next() + size_t{256} * bytes.below(2)) % operator_count;
  return *operators[index];
}

[[noreturn]] void report(const char* what, const sg::Operator& op) {
  std::fprintf(stderr, "ERROR: %s: %s\n", op.schema, what);
  std::abort();
}

/// Constructs the arguments of one call and keeps what calls return.
class Caller {
 public:
  Caller(Context& context, Bytes& bytes) : context_(context), bytes_(bytes) {}

  void call() {
    size_t index;
    const sg::Operator& op = choose_operator(bytes_, index);
    ++statistics[index].calls;
    Value arguments[sg::kMaxArguments];
    Value given[sg::kMaxArguments];
    Value results[sg::kMaxResults];
    Shapes shapes(bytes_, op.schema, bytes_.pick(kDtypes));
    const char* letters = op.schema + sg::name_length(op.schema) + 1;
    size_t count = 0;
    for (; *letters != ')'; ++count) {
      const char letter = *letters++;
      const bool optional = *letters == '?';
      letters += optional;
      if (!(optional && bytes_.one_in(3))) arguments[count] = draw(letter, shapes);
      context_.retain(arguments[count]);
      given[count] = arguments[count];
    }
    // The call converts its arguments: release what was given to it.
    if (call_safely(op, arguments, results)) {
      ++statistics[index].results;
      for (const char* letter = letters + 1; *letter != 0; ++letter)
        keep(op, results[letter - letters - 1]);
    }
    for (size_t i = 0; i < count; ++i) context_.release(given[i]);
    context_.clear_error();
    if (context_.memory_used() > context_.memory_limit) report("more memory than the limit", op);
  }

  void release_all() {
    for (size_t i = 0; i < kept_count_; ++i) context_.release(kept_[i]);
  }

 private:
  bool call_safely(const sg::Operator& op, Value* arguments, Value* results) {
    const sg::Block* mark = context_.newest();
    jmp_buf escape;
    context_.escape = &escape;
    const bool done = _setjmp(escape) == 0 && sg::call_operator(context_, op, arguments, results);
    context_.escape = nullptr;
    context_.frame = nullptr;
    if (!done) context_.sweep(mark, {});
    return done;
  }

  void keep(const sg::Operator& op, const Value& result) {
    context_.retain(result);
    if (result.tag == Tag::Tensor) check(op, Tensor(result.tensor));
    for (uint32_t i = 0; result.tag == Tag::TensorList && i < result.size; ++i)
      check(op, result.tensors[i]);
    kept_[kept_count_++] = result;
  }

  /// Aborts unless every element lies in the storage.
  static void check(const sg::Operator& op, Tensor tensor) {
    if (!tensor.defined()) report("a result is undefined", op);
    if (tensor.numel() == 0) return;
    const sg::Storage& storage = *tensor.impl()->storage;
    int64_t last = tensor.bytes() - storage.data;
    if (last < 0) report("a result begins before its storage", op);
    for (int64_t axis = 0; axis < tensor.dim(); ++axis)
      last += (tensor.size(axis) - 1) * tensor.stride(axis) * tensor.element_size();
    if (last + tensor.element_size() > storage.bytes) report("a result ends after its storage", op);
    if (tensor.scalar_type() != ScalarType::Bool || !tensor.is_contiguous()) return;
    if (!sg::are_bools(tensor.bytes(), static_cast<size_t>(tensor.numel())))
      report("a bool is neither 0 nor 1", op);
  }

  Value draw(char letter, Shapes& shapes) {
    switch (letter) {
      case 't':
        return kept(Tag::Tensor, [&] { return Value(draw_tensor(shapes)); });
      case 'i': {
        sg::Shape numbers;
        return shapes.next_numbers(numbers) ? numbers[0] : bytes_.pick(kIntegers);
      }
      case 'd':
        return bytes_.pick(kNumbers);
      case 'b': {
        sg::Shape numbers;
        return shapes.next_numbers(numbers) ? numbers[0] != 0 : bytes_.one_in(2);
      }
      case 's':
        return draw_number();
      case 'z':
        return bytes_.pick(kTexts);
      case 'I':
        return draw_integers(shapes);
      case 'D':
        return draw_list<double>([&] { return bytes_.pick(kNumbers); });
      case 'B':
        return draw_list<bool>([&] { return bytes_.one_in(2); });
      case 'L':
        return kept(Tag::TensorList, [&] { return draw_tensors(shapes, false); });
      case 'O':
        return draw_tensors(shapes, true);
      case 'c':
        return kept(Tag::Object, [&] { return draw_object(); });
      default:  // v, l
        return draw("tsIDBL"[bytes_.below(6)], shapes);
    }
  }

  /// An earlier result of this tag, sometimes; else a new value.
  template <typename Make>
  Value kept(Tag tag, const Make& make) {
    if (kept_count_ > 0 && bytes_.one_in(3)) {
      const Value& earlier = kept_[bytes_.below(kept_count_)];
      if (earlier.tag == tag) return earlier;
    }
    return make();
  }

  Value draw_number() {
    if (bytes_.one_in(4)) return bytes_.one_in(2);
    if (bytes_.one_in(2)) return bytes_.pick(kNumbers);
    return bytes_.pick(kIntegers);
  }

  template <typename T, typename Draw>
  Value draw_list(const Draw& draw_one) {
    // Small positive numbers fit most operators: strides, kernels, sizes, dimensions.
    const size_t size = bytes_.below(6);
    auto* list = static_cast<T*>(context_.allocate(static_cast<int64_t>(size * sizeof(T))));
    if (list == nullptr) return Value();
    const bool is_plain = !bytes_.one_in(4);
    for (size_t i = 0; i < size; ++i)
      list[i] = is_plain ? static_cast<T>(bytes_.below(4)) : draw_one();
    Value value(sg::Span<const T>(list, size));
    value.owned = true;
    return value;
  }

  Value draw_integers(Shapes& shapes) {
    sg::Shape numbers;
    if (!shapes.next_numbers(numbers))
      return draw_list<int64_t>([&] { return bytes_.pick(kIntegers); });
    auto* list = context_.allocate_zeroed<int64_t>(numbers.size);
    if (list == nullptr) return Value();
    for (size_t i = 0; i < numbers.size; ++i)
      list[i] = bytes_.one_in(32) ? bytes_.pick(kIntegers) : numbers[i];
    // Two extreme numbers that nearly cancel out pass checks of their sum: pads of INT64_MIN and
    // INT64_MAX leave one element less.
    if (numbers.size > 1 && bytes_.one_in(16)) {
      const size_t first = bytes_.below(numbers.size - 1);
      list[first] = bytes_.pick(kExtremes);
      list[first + 1] = ~list[first];
    }
    Value value(sg::IntArrayRef(list, numbers.size));
    value.owned = true;
    return value;
  }

  Value draw_tensors(Shapes& shapes, bool optional) {
    constexpr size_t kMost = 8;
    auto* list = context_.allocate_zeroed<Tensor>(kMost);
    if (list == nullptr) return Value();
    size_t size = 0;
    bool more = !bytes_.one_in(32);
    while (more && size < kMost) {
      sg::Shape shape;
      ScalarType dtype;
      more = shapes.next(shape, dtype);
      if (!(optional && bytes_.one_in(4))) list[size] = make_tensor(shape, dtype);
      size += list[size].defined() || optional;
      if (bytes_.one_in(32)) more = !more;
    }
    Value value(sg::TensorList(list, size));
    value.owned = true;
    return value;
  }

  Tensor draw_tensor(Shapes& shapes) {
    sg::Shape shape;
    ScalarType dtype;
    while (shapes.next(shape, dtype)) shape = sg::Shape();
    return make_tensor(shape, dtype);
  }

  /// A LinearOpContext from drawn weights; None if that fails.
  Value draw_object() {
    constexpr char kPrepack[] = "prepacked::linear_clamp_prepack";
    const sg::Operator* op = sg::find_operator(kPrepack, sizeof kPrepack - 1);
    if (op == nullptr) return Value();
    sg::Shape sizes;
    sizes.push_back(3);
    sizes.push_back(2);
    Value arguments[] = {make_tensor(sizes, ScalarType::Float), Value(), Value(), Value()};
    Value results[sg::kMaxResults];
    context_.retain(arguments[0]);
    const bool done = call_safely(*op, arguments, results);
    if (done) context_.retain(results[0]);
    context_.release(arguments[0]);
    if (done) context_.return_to_owner(results[0]);
    return done ? results[0] : Value();
  }

  /// A tensor of a shape with drawn contents: contiguous, permuted, with steps, or expanded; or of
  /// memory that nobody may write to.
  Tensor make_tensor(sg::Shape shape, ScalarType dtype) {
    if (bytes_.one_in(24)) dtype = bytes_.pick(kDtypes);
    sg::Shape stored = shape;
    sg::Shape steps;  // of each dimension
    for (size_t axis = 0; axis < shape.size; ++axis) {
      const bool expands = bytes_.one_in(24);
      const bool skips = !expands && bytes_.one_in(16);
      if (expands) stored[axis] = 1;
      if (skips) stored[axis] = 2 * shape[axis];
      steps.push_back(expands ? 0 : skips ? 2 : 1);
      if (expands && bytes_.one_in(4)) shape[axis] = 1000;
    }
    const auto base = bytes_.one_in(16) ? borrow(dtype, stored) : context_.empty(dtype, stored);
    if (!base.ok()) return Tensor();
    fill(base.value());
    sg::Shape strides(base.value().strides());
    for (size_t axis = 0; axis < shape.size; ++axis) strides[axis] *= steps[axis];
    if (shape.size > 1 && bytes_.one_in(6)) {
      const size_t axis = bytes_.below(shape.size - 1);
      std::swap(shape.data[axis], shape.data[axis + 1]);
      std::swap(strides.data[axis], strides.data[axis + 1]);
    }
    const auto view = context_.view(base.value(), shape, strides, 0);
    return view.ok() ? view.value() : Tensor();
  }

  /// A tensor that operators must not write to.
  sg::Result<Tensor> borrow(ScalarType dtype, const sg::Shape& sizes) {
    const int64_t size = sg::count_elements(sizes) * sg::element_size(dtype);
    void* memory = context_.allocate(size);
    if (memory == nullptr) return sg::Failed{};
    return context_.borrow(dtype, sizes, {}, memory, size);
  }

  void fill(Tensor tensor) {
    const auto size = static_cast<size_t>(tensor.numel() * tensor.element_size());
    auto* bytes = reinterpret_cast<uint8_t*>(tensor.bytes());
    const uint8_t drawn = bytes_.next();  // one byte for all elements: the input is short
    uint32_t state = drawn;
    const auto any = [&state] { return static_cast<uint8_t>((state = state * 69069 + 1) >> 24); };
    const int kind = drawn % 4;
    if (kind == 3 && tensor.scalar_type() != ScalarType::Bool) {
      for (size_t i = 0; i < size; ++i) bytes[i] = any();
      return;
    }
    // Small numbers: they are indices, too.
    const sg::Converter convert(context_, ScalarType::Long, tensor.scalar_type());
    for (int64_t i = 0; i < tensor.numel(); ++i) {
      const int64_t number = tensor.scalar_type() == ScalarType::Bool ? any() % 2
                             : kind == 0                              ? any() % 2
                             : kind == 1 ? kIntegers[any() % std::size(kIntegers)]
                                         : any() % 7 - 3;
      convert(1, reinterpret_cast<const char*>(&number), 8,
              tensor.bytes() + i * tensor.element_size(), tensor.element_size());
    }
  }

  Context& context_;
  Bytes& bytes_;
  Value kept_[kKept];
  size_t kept_count_ = 0;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Bytes bytes(data, size);
  Context context;
  context.memory_limit = kMemory;
  Caller caller(context, bytes);
  const size_t calls = 1 + bytes.below(kCalls);
  for (size_t i = 0; i < calls; ++i) caller.call();
  caller.release_all();
  context.sweep(nullptr, {});
  if (context.memory_used() != 0) {
    std::fprintf(stderr, "ERROR: %lld bytes remain\n",
                 static_cast<long long>(context.memory_used()));
    std::abort();
  }
  return 0;
}
