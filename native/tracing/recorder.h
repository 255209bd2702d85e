// What a run of the instrumented build used: operators, dtypes of each kernel tag, classes,
// features.

#pragma once

#include <cstddef>

namespace sg {

/// A sorted set of names, each with the models that used it (bit i: model i). Names are copied.
class NameSet {
 public:
  struct Entry {
    char* name;
    unsigned long long models;
  };

  NameSet() = default;
  ~NameSet();
  NameSet(const NameSet&) = delete;
  NameSet& operator=(const NameSet&) = delete;

  /// Notes that a model used the name, `length` characters long.
  void add(const char* name, size_t length, size_t model);
  bool contains(const char* name) const;

  size_t size() const { return size_; }
  const Entry& operator[](size_t index) const { return entries_[index]; }

 private:
  size_t position(const char* name, size_t length, bool* found) const;

  Entry* entries_ = nullptr;
  size_t size_ = 0;
  size_t capacity_ = 0;
};

/// Models of one trace at most: a bit of Entry::models each.
inline constexpr size_t kMaxModels = 64;

struct Recording {
  NameSet operators;
  NameSet kernel_dtypes;  // "tag$Dtype", as PyTorch's tracer has them
  NameSet classes;
  NameSet features;
  size_t model = 0;  // the one that runs now
};

/// Where the hooks record to.
Recording& recording();

}  // namespace sg
