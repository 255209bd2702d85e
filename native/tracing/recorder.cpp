// The hooks of the instrumented build.

#include "native/tracing/recorder.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "native/runtime/hooks.h"
#include "native/runtime/registry.h"

namespace sg {

NameSet::~NameSet() {
  for (size_t i = 0; i < size_; ++i) std::free(entries_[i].name);
  std::free(entries_);
}

size_t NameSet::position(const char* name, size_t length, bool* found) const {
  size_t low = 0;
  size_t high = size_;
  while (low < high) {
    const size_t middle = (low + high) / 2;
    int order = std::strncmp(entries_[middle].name, name, length);
    if (order == 0 && entries_[middle].name[length] != 0) order = 1;
    if (order == 0) {
      *found = true;
      return middle;
    }
    (order < 0 ? low : high) = order < 0 ? middle + 1 : middle;
  }
  *found = false;
  return low;
}

void NameSet::add(const char* name, size_t length, size_t model) {
  bool found;
  const size_t at = position(name, length, &found);
  if (!found) {
    if (size_ == capacity_) {
      capacity_ = capacity_ == 0 ? 64 : 2 * capacity_;
      entries_ = static_cast<Entry*>(std::realloc(entries_, capacity_ * sizeof(Entry)));
    }
    char* copy = entries_ == nullptr ? nullptr : static_cast<char*>(std::malloc(length + 1));
    if (copy == nullptr) {
      std::fputs("error: out of memory while recording\n", stderr);
      std::abort();
    }
    std::memcpy(copy, name, length);
    copy[length] = 0;
    std::memmove(entries_ + at + 1, entries_ + at, (size_ - at) * sizeof(Entry));
    entries_[at] = {copy, 0};
    ++size_;
  }
  entries_[at].models |= 1ull << model;
}

bool NameSet::contains(const char* name) const {
  bool found;
  position(name, std::strlen(name), &found);
  return found;
}

Recording& recording() {
  static Recording instance;
  return instance;
}

void record_operator(const char* schema) {
  recording().operators.add(schema, static_cast<size_t>(name_length(schema)), recording().model);
}

void record_kernel_dtype(const char* tag, ScalarType dtype) {
  char text[100];
  const int length = std::snprintf(text, sizeof text, "%s$%s", tag, scalar_type_name(dtype));
  recording().kernel_dtypes.add(text, static_cast<size_t>(length), recording().model);
}

void record_class(const char* name) {
  recording().classes.add(name, std::strlen(name), recording().model);
}

void record_feature(const char* name) {
  recording().features.add(name, std::strlen(name), recording().model);
}

}  // namespace sg
