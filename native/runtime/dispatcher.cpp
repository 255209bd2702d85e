// Checks arguments against an operator's letters and calls its kernel.

#include "native/runtime/dispatcher.h"

#include <cstdio>
#include <cstring>

#include "native/runtime/hooks.h"

namespace sg {
namespace {

/// The bit of a tag in a mask of tags.
constexpr uint16_t mask(Tag tag) {
  return static_cast<uint16_t>(1u << static_cast<unsigned>(tag));
}

constexpr uint16_t kNumbers = mask(Tag::Bool) | mask(Tag::Int) | mask(Tag::Double);

/// The tags that an argument with a letter (native/runtime/registry.h) accepts without conversion.
uint16_t accepted_by(char letter) {
  switch (letter) {
    case 't':
      return mask(Tag::Tensor);
    case 'i':
      return mask(Tag::Int);
    case 'd':
      return mask(Tag::Double);
    case 'b':
      return mask(Tag::Bool);
    case 's':
      return kNumbers;
    case 'z':
      return mask(Tag::String);
    case 'c':
      return mask(Tag::Object);
    case 'I':
      return mask(Tag::IntList);
    case 'D':
      return mask(Tag::DoubleList);
    case 'B':
      return mask(Tag::BoolList);
    case 'L':
    case 'O':
      return mask(Tag::TensorList);
    case 'l':
      return mask(Tag::IntList) | mask(Tag::DoubleList) | mask(Tag::BoolList) |
             mask(Tag::TensorList);
    default:
      return 0xFFFF;  // v
  }
}

// The letters that calls from kernels may use, and the tags of their words. A word after that of an
// `s` has its tag. Optional arguments with one of the first kNumberLetters begin with a word that
// says whether they are present.
constexpr char kLetters[] = "ibdstzIDBLO";
constexpr size_t kNumberLetters = 4;
constexpr Tag kTags[] = {Tag::Int,      Tag::Bool,       Tag::Double,    Tag::None,
                         Tag::Tensor,   Tag::String,     Tag::IntList,   Tag::DoubleList,
                         Tag::BoolList, Tag::TensorList, Tag::TensorList};

/// Converts a number to the type of a letter, by PyTorch's rules for Python numbers: int to float,
/// bool to int, any to a tensor.
Status convert_number(Context& context, char letter, Value& value) {
  if (letter == 't') {
    SG_ASSIGN(value, context.wrap_number(value.to_scalar()));
  } else if (letter == 'd' && value.tag != Tag::Double) {
    value = value.to_scalar().to_double();
  } else if (letter == 'i' && value.tag == Tag::Bool) {
    value.tag = Tag::Int;
  } else {
    return Failed{};
  }
  return {};
}

/// Whether no tensor of a list is absent. Only `Tensor?[]` allows absent tensors.
bool all_defined(const Value& list) {
  for (uint32_t i = 0; i < list.size; ++i) {
    if (!list.tensors[i].defined()) return false;
  }
  return true;
}

/// Checks arguments against their letters, up to ')', and converts numbers in place.
Status convert_arguments(Context& context, const char* letters, Value* arguments) {
  for (Value* value = arguments; *letters != ')'; ++value) {
    const char letter = *letters++;
    const bool optional = *letters == '?';
    letters += optional;
    const bool none = value->tag == Tag::None;
    if (none ? optional || letter == 'v'
             : (accepted_by(letter) & mask(value->tag)) != 0 &&
                   (letter != 'L' || all_defined(*value))) {
      continue;
    }
    if (none || (mask(value->tag) & kNumbers) == 0 ||
        !convert_number(context, letter, *value).ok()) {
      char text[48];
      std::snprintf(text, sizeof text, "argument %d is not of its type",
                    static_cast<int>(value - arguments));
      return context.invalid(text);
    }
  }
  return {};
}

}  // namespace

bool has_arity(const char* schema, size_t arguments, size_t results) {
  const char* letter = schema + name_length(schema) + 1;
  for (; *letter != ')'; ++letter) arguments -= *letter != '?';
  return arguments == 0 && std::strlen(letter + 1) == results;
}

bool call_operator(Context& context, const Operator& op, Value* arguments, Value* results) {
  record_operator(op.schema);
  const Frame frame{&op, context.frame};
  const Block* mark = context.newest();
  context.frame = &frame;
  const char* letters = op.schema + name_length(op.schema) + 1;
  const bool done =
      convert_arguments(context, letters, arguments).ok() && op.kernel(context, arguments, results);
  context.frame = frame.caller;
  while (*letters != ')') ++letters;
  context.sweep(mark, {results, done ? std::strlen(letters + 1) : 0});
  return done;
}

namespace {

/// Reads the Values from the words of ops::NAME::call; dispatcher.h describes their encoding.
void read_words(const char* letters, const int64_t* words, Value* value) {
  for (; *letters != ')'; ++value) {
    const char letter = *letters++;
    const bool optional = *letters == '?';
    letters += optional;
    size_t known = 0;
    while (kLetters[known] != letter) ++known;
    const bool none = optional && known < kNumberLetters && *words++ == 0;
    value->integer = *words++;
    value->tag = kTags[known];
    if (letter == 's') value->tag = static_cast<Tag>(*words++);
    if (value->tag >= Tag::IntList) value->size = static_cast<uint32_t>(*words++);
    if (none || (value->tag == Tag::Tensor && value->tensor == nullptr)) *value = Value();
  }
}

}  // namespace

bool call_words(Context& context, const char* schema, Value* results, const int64_t* words) {
  const int length = name_length(schema);
  const Operator* op = find_operator(schema, static_cast<size_t>(length));
  if (op == nullptr || std::strcmp(op->schema, schema) != 0) {
    char text[200];
    std::snprintf(
        text, sizeof text,
        "calls %.*s, which is not in this build: trace the model with inputs that get here", length,
        schema);
    context.fail(Error::Missing, text);
    return false;
  }
  Value arguments[kMaxArguments];
  read_words(schema + length + 1, words, arguments);
  return call_operator(context, *op, arguments, results);
}

Result<Tensor> call_words(Context& context, const char* schema, const int64_t* words) {
  Value result;
  if (!call_words(context, schema, &result, words)) return Failed{};
  return Tensor(result.tensor);
}

}  // namespace sg
