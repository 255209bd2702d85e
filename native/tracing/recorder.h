// The recording of a run of the instrumented build: the operators, dtypes of each kernel tag,
// classes and features that it used.

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

  /// Records that a model used the name, which has `length` characters.
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

/// Maximum number of models in one trace. Entry::models has one bit for each.
inline constexpr size_t kMaxModels = 64;

struct Recording {
  NameSet operators;
  NameSet kernel_dtypes;  // "tag$Dtype", as PyTorch's tracer has them
  NameSet classes;
  NameSet features;
  size_t model = 0;  // the running model
};

/// The recording that the hooks write to.
Recording& recording();

}  // namespace sg
