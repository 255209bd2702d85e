// Registration by hand, filtered at compile time.
//
//   constexpr auto kOperators = operator_table(
//       define<&kernels::sym_size>(
//           SG_SELECTIVE_SCHEMA("aten::sym_size.int(Tensor self, int dim) -> SymInt")),
//       impl<&kernels::linear_clamp_run>(
//           SG_SELECTIVE_NAME("prepacked::linear_clamp_run"), "(tc)t"));
//   SG_REGISTER_OPERATORS("portable", "CPU", kOperators);
//
// An entry that is not selected references nothing: the image contains neither its kernel nor its
// text. For a selected entry, the image contains the name and its letters (registry.h), not
// PyTorch's schema. The compiler derives the letters from the schema. Letters that do not fit the
// kernel's C++ types do not compile, selected or not.

#pragma once

#include <array>
#include <optional>
#include <type_traits>
#include <utility>

#include "native/runtime/boxing.h"
#include "native/runtime/registry.h"
#include "native/selective/select.h"

namespace sg {
namespace hand {

// These calls are not constant expressions, so the compiler rejects them and its error message
// shows the name.
void this_schema_cannot_be_read();
void these_letters_do_not_fit_the_kernel();

/// A signature under construction, such as "aten::sym_size.int(ti)i".
struct Signature {
  static constexpr size_t kCapacity = 128;
  char text[kCapacity] = {};
  size_t length = 0;

  constexpr void append(char letter) {
    if (length == kCapacity - 1) this_schema_cannot_be_read();
    text[length++] = letter;
  }
};

struct TypeLetters {
  const char* name;
  char single;
  char list;  // 0: there is no such list
};

inline constexpr TypeLetters kTypes[] = {
    {"Tensor", 't', 'L'},  {"int", 'i', 'I'},  {"SymInt", 'i', 'I'},     {"ScalarType", 'i', 0},
    {"Layout", 'i', 0},    {"Device", 'i', 0}, {"MemoryFormat", 'i', 0}, {"float", 'd', 'D'},
    {"bool", 'b', 'B'},    {"Scalar", 's', 0}, {"str", 'z', 0},          {"t", 'v', 'l'},
    {"__torch__", 'c', 0},
};

constexpr bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '.';
}

constexpr bool take(const char*& at, char c) {
  const bool found = *at == c;
  at += found;
  return found;
}

constexpr void skip_through(const char*& at, char last) {
  while (*at != 0 && *at != last) ++at;
  if (!take(at, last)) this_schema_cannot_be_read();
}

/// Reads a type name: `Tensor` from "Tensor(a!)", `__torch__` from
/// "__torch__.torch.classes.xnnpack.LinearOpContext".
constexpr TypeLetters read_type_name(const char*& at) {
  for (const TypeLetters& type : kTypes) {
    size_t i = 0;
    while (type.name[i] != 0 && type.name[i] == at[i]) ++i;
    if (type.name[i] != 0 || (is_word(at[i]) && at[i] != '.')) continue;
    while (is_word(*at)) ++at;
    return type;
  }
  this_schema_cannot_be_read();
  return {};
}

/// Appends the letters of a type: "int[2]? " → "I?"
constexpr void read_type(const char*& at, Signature& signature) {
  const TypeLetters type = read_type_name(at);
  if (*at == '(') skip_through(at, ')');  // the alias annotation
  bool optional = take(at, '?');
  char letter = type.single;
  if (*at == '[') {
    letter = optional && type.single == 't' ? 'O' : optional ? char{0} : type.list;
    skip_through(at, ']');
    if (*at == '(') skip_through(at, ')');
    optional = take(at, '?');
  }
  if (letter == 0) this_schema_cannot_be_read();
  signature.append(letter);
  if (optional) signature.append('?');
}

/// Skips to the ',' or ')' after an argument: "=[1, 2])" → ")".
constexpr void skip_name_and_default(const char*& at) {
  for (int depth = 0; depth > 0 || (*at != ',' && *at != ')'); ++at) {
    if (*at == 0) this_schema_cannot_be_read();
    if (*at == '\'') skip_through(++at, '\'');
    depth += (*at == '[' || *at == '(') - (*at == ']' || *at == ')');
  }
}

/// Reads "Tensor self, *, int dim=0)", including the parenthesis.
constexpr void read_list(const char*& at, Signature& signature) {
  while (!take(at, ')')) {
    while (*at == ' ' || *at == ',') ++at;
    if (!take(at, '*')) read_type(at, signature);
    skip_name_and_default(at);
  }
}

/// Converts PyTorch's schema to a name and letters, the form that the registry holds.
consteval Signature signature_of(const char* schema) {
  Signature signature;
  const char* at = schema;
  while (*at != '(') signature.append(*at++);
  signature.append(*at++);
  read_list(at, signature);
  signature.append(')');
  for (const char* arrow = " -> "; *arrow != 0; ++arrow) {
    if (!take(at, *arrow)) this_schema_cannot_be_read();
  }
  if (take(at, '(')) {
    read_list(at, signature);
  } else {
    read_type(at, signature);
  }
  return signature;
}

/// Appends hand-written letters to a name.
consteval Signature signature_of(const char* name, const char* letters) {
  Signature signature;
  for (; *name != 0; ++name) signature.append(*name);
  for (; *letters != 0; ++letters) signature.append(*letters);
  return signature;
}

template <bool has_none, char... letter>
struct TakesLetters {
  static constexpr char letters[] = {letter..., 0};
  static constexpr bool none = has_none;
};

/// The letters that a C++ type accepts, and whether the type can represent None.
template <typename T>
struct Takes;
// clang-format off
template <> struct Takes<Tensor> : TakesLetters<true, 't'> {};
template <> struct Takes<int64_t> : TakesLetters<false, 'i'> {};
template <> struct Takes<ScalarType> : TakesLetters<false, 'i'> {};
template <> struct Takes<double> : TakesLetters<false, 'd'> {};
template <> struct Takes<bool> : TakesLetters<false, 'b'> {};
template <> struct Takes<Scalar> : TakesLetters<false, 's'> {};
template <> struct Takes<const char*> : TakesLetters<true, 'z'> {};
template <> struct Takes<Object*> : TakesLetters<true, 'c'> {};
template <> struct Takes<const Value&> : TakesLetters<true, 'v', 'l'> {};
template <> struct Takes<Value> : TakesLetters<true, 'v'> {};
template <> struct Takes<IntArrayRef> : TakesLetters<true, 'I'> {};
template <> struct Takes<DoubleArrayRef> : TakesLetters<true, 'D'> {};
template <> struct Takes<BoolArrayRef> : TakesLetters<true, 'B'> {};
template <> struct Takes<TensorList> : TakesLetters<true, 'L', 'O'> {};
// clang-format on

template <typename T>
constexpr void check_letter(const char*& at) {
  const char letter = *at++;
  bool fits = false;
  for (const char one : Takes<T>::letters) fits |= one != 0 && one == letter;
  if (take(at, '?') && !Takes<T>::none) fits = false;
  if (!fits) these_letters_do_not_fit_the_kernel();
}

template <typename T>
struct Argument {
  static constexpr void check(const char*& at) { check_letter<T>(at); }
};

template <typename T>
struct Argument<std::optional<T>> {
  static constexpr void check(const char*& at) {
    const char letter[] = {*at++, 0};
    const char* one = letter;
    check_letter<T>(one);
    if (!take(at, '?')) these_letters_do_not_fit_the_kernel();
  }
};

template <typename R>
struct Returned;
template <>
struct Returned<Status> {
  static constexpr void check(const char*&) {}
};
template <typename T>
struct Returned<Result<T>> {
  static constexpr void check(const char*& at) { check_letter<T>(at); }
};
template <size_t n>
struct Returned<Result<std::array<Tensor, n>>> {
  static constexpr void check(const char*& at) {
    for (size_t i = 0; i < n; ++i) check_letter<Tensor>(at);
  }
};

/// Checks that the types of a function fit the letters. A mismatch is not a constant expression.
template <typename R, typename... Arguments>
consteval void check_signature(const Signature& signature, R (*)(Context&, Arguments...)) {
  const char* at = signature.text;
  skip_through(at, '(');
  (Argument<Arguments>::check(at), ...);
  if (!take(at, ')')) these_letters_do_not_fit_the_kernel();
  Returned<R>::check(at);
  if (*at != 0) these_letters_do_not_fit_the_kernel();
}

/// A selected operator. Exists only at compile time; OperatorTable makes a table of these.
struct Entry {
  Signature signature;
  BoxedKernel kernel;
};

/// An operator that is not selected.
struct NoEntry {};

template <auto kernel, bool is_selected>
consteval auto make_entry(const Signature& signature) {
  check_signature(signature, kernel);
  if constexpr (is_selected) {
    return Entry{signature, boxed<kernel>};
  } else {
    return NoEntry{};
  }
}

template <size_t n>
struct Entries {
  static constexpr size_t count = n;
  Entry list[n == 0 ? 1 : n] = {};
  size_t size = 0;

  constexpr void append(const Entry& entry) { list[size++] = entry; }
  constexpr void append(NoEntry) {}
};

/// The operators of `entries` in the form that the registry holds. Each text is a variable of its
/// own, with exactly the length that it needs.
///
/// File is a type of the file that registers. gcc 14 makes the members of a template over a
/// variable with internal linkage visible to other files, so tables of one name would be merged.
template <const auto& entries, typename File>
class OperatorTable {
 public:
  static constexpr size_t size = entries.count;

 private:
  template <size_t i>
  static consteval auto make_text() {
    std::array<char, entries.list[i].signature.length + 1> text{};
    for (size_t c = 0; c < text.size(); ++c) text[c] = entries.list[i].signature.text[c];
    return text;
  }
  template <size_t... i>
  static consteval std::array<Operator, size> make_operators(std::index_sequence<i...>) {
    return {{{text<i>.data(), entries.list[i].kernel}...}};
  }

  // Compilers align long arrays to 32 bytes unless told not to.
  template <size_t i>
  alignas(1) static constexpr auto text = make_text<i>();

 public:
  static constexpr std::array<Operator, size> operators =
      make_operators(std::make_index_sequence<size>());
};

}  // namespace hand

/// An operator with PyTorch's schema: define<&kernel>(SG_SELECTIVE_SCHEMA("…")).
template <auto kernel, bool is_selected>
consteval auto define(SelectiveName<is_selected> schema) {
  return hand::make_entry<kernel, is_selected>(hand::signature_of(schema.text));
}

/// An operator with hand-written letters:
/// impl<&kernel>(SG_SELECTIVE_NAME("prepacked::linear_clamp_run"), "(tc)t").
template <auto kernel, bool is_selected>
consteval auto impl(SelectiveName<is_selected> name, const char* letters) {
  return hand::make_entry<kernel, is_selected>(hand::signature_of(name.text, letters));
}

/// The entries that are selected.
template <typename... Entries>
consteval auto operator_table(Entries... entries) {
  hand::Entries<(size_t{std::is_same_v<Entries, hand::Entry>} + ... + 0)> table;
  (table.append(entries), ...);
  return table;
}

/// Registers a constexpr operator_table when the program starts. Does nothing if no entry is
/// selected.
#define SG_REGISTER_OPERATORS(name, dispatch_key, table)                                  \
  [[maybe_unused]] const bool SG_CONCATENATE(registered_, __LINE__) = [] {                \
    if constexpr (table.count > 0) {                                                      \
      struct File {};                                                                     \
      using Table = ::sg::hand::OperatorTable<table, File>;                               \
      static constinit ::sg::Library library{name, dispatch_key, Table::operators.data(), \
                                             Table::size, nullptr};                       \
      ::sg::register_library(&library);                                                   \
    }                                                                                     \
    return true;                                                                          \
  }()

/// Registers a custom class when the program starts, if it is selected:
///   SG_REGISTER_CLASS(SG_SELECTIVE_CLASS("LinearOpContext"), create_linear_context);
#define SG_REGISTER_CLASS(selective_name, create)                                              \
  [[maybe_unused]] const bool SG_CONCATENATE(registered_, __LINE__) = [] {                     \
    if constexpr (::sg::is_selected(selective_name)) {                                         \
      static constinit ::sg::ObjectClass object_class{(selective_name).text, create, nullptr}; \
      ::sg::register_class(&object_class);                                                     \
    }                                                                                          \
    return true;                                                                               \
  }()

template <bool selected>
consteval bool is_selected(SelectiveName<selected>) {
  return selected;
}

}  // namespace sg
