// The operator registry: one constant table of operators per library.

#pragma once

#include <cstddef>

#include "native/runtime/context.h"
#include "native/runtime/value.h"

namespace sg {

/// A kernel with the calling convention that all kernels share. The schema gives the numbers of
/// arguments and results. Returns false on failure.
using BoxedKernel = bool (*)(Context& context, const Value* arguments, Value* results);

/// An entry: "aten::add.Tensor(tts)t" and its kernel. The name is followed by one letter for each
/// argument, then one for each result:
///   t Tensor   i int, SymInt, ScalarType and the like   d float   b bool   s Scalar   z str
///   c an object of a custom class   v a value of any type
///   I int[]   D float[]   B bool[]   L Tensor[]   O Tensor?[]   l a list of any type
/// `?` follows the letter of an optional.
struct Operator {
  const char* schema;
  BoxedKernel kernel;
};

/// The operators of one library and dispatch key. Static; passed to register_library before main().
struct Library {
  const char* name;
  const char* dispatch_key;
  const Operator* operators;
  size_t count;
  Library* next;
};

void register_library(Library* library);

/// All libraries as a linked list, the last registered first.
const Library* libraries();

/// Finds the operator whose name has `length` characters; null if there is none.
const Operator* find_operator(const char* name, size_t length);

/// Fails with an error that names both libraries if two of them register the same operator.
Status check_libraries(Context& context);

/// Length of the name in a schema, without the letters.
int name_length(const char* schema);

/// A custom class. `create` makes an object from the values that a program stores.
struct ObjectClass {
  const char* name;
  Object* (*create)(Context& context, Span<const Value> state);  // null on failure
  ObjectClass* next;
};

void register_class(ObjectClass* object_class);
const ObjectClass* find_class(const char* name);

/// Registers a constant table of operators when the program starts.
#define SG_REGISTER_LIBRARY(name, dispatch_key, table)                                   \
  [[maybe_unused]] const bool SG_CONCATENATE(registered_, __LINE__) = [] {               \
    static constinit ::sg::Library library{name, dispatch_key, table,                    \
                                           sizeof(table) / sizeof((table)[0]), nullptr}; \
    ::sg::register_library(&library);                                                    \
    return true;                                                                         \
  }()

}  // namespace sg
