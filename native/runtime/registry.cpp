// Look-up of operators and classes by name.

#include "native/runtime/registry.h"

#include <cstdio>
#include <cstring>

namespace sg {
namespace {

constinit Library* first_library = nullptr;
constinit ObjectClass* first_class = nullptr;

bool has_name(const Operator& op, const char* name, size_t length) {
  const char* schema = op.schema;  // read by a loop, since an import of strncmp takes 70 bytes
  for (; length > 0; --length) {
    if (*schema++ != *name++) return false;
  }
  return *schema == '(';
}

const Operator* find_in(const Library& library, const char* name, size_t length) {
  // A linear search, because hand-written tables need not be sorted. 100 names take less than a
  // microsecond.
  for (size_t i = 0; i < library.count; ++i) {
    if (has_name(library.operators[i], name, length)) return &library.operators[i];
  }
  return nullptr;
}

}  // namespace

void register_library(Library* library) {
  library->next = first_library;
  first_library = library;
}

const Library* libraries() {
  return first_library;
}

int name_length(const char* schema) {
  int length = 0;  // counted by a loop, since an import of strcspn takes 70 bytes
  while (schema[length] != 0 && schema[length] != '(') ++length;
  return length;
}

const Operator* find_operator(const char* name, size_t length) {
  for (const Library* library = first_library; library != nullptr; library = library->next) {
    if (const Operator* found = find_in(*library, name, length)) return found;
  }
  return nullptr;
}

Status check_libraries(Context& context) {
  for (const Library* one = first_library; one != nullptr; one = one->next) {
    for (size_t i = 0; i < one->count; ++i) {
      const char* schema = one->operators[i].schema;
      const int length = name_length(schema);
      for (const Library* other = one->next; other != nullptr; other = other->next) {
        if (find_in(*other, schema, static_cast<size_t>(length)) == nullptr) continue;
        char text[200];
        std::snprintf(text, sizeof text, "%.*s is registered by library %s and again by library %s",
                      length, schema, other->name, one->name);
        return context.fail(Error::Invalid, text);
      }
    }
  }
  return {};
}

void register_class(ObjectClass* object_class) {
  object_class->next = first_class;
  first_class = object_class;
}

const ObjectClass* find_class(const char* name) {
  const ObjectClass* found = first_class;
  while (found != nullptr && std::strcmp(found->name, name) != 0) found = found->next;
  return found;
}

}  // namespace sg
