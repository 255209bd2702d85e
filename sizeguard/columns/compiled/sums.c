// Sums of columns, see sums.py.
#include <stdint.h>

// Adds each value to the sum of its id (int32_t, or int64_t if is_wide); values with the id -1 are
// left out if has_none. Returns 0, or -1 - i if id i is not one of `groups`.
__attribute__((visibility("default"))) int64_t sum_by(const int64_t* values, const void* ids,
                                                      int64_t is_wide, int64_t has_none,
                                                      int64_t count, int64_t* sums,
                                                      int64_t groups) {
  for (int64_t i = 0; i < count; i++) {
    int64_t id = is_wide ? ((const int64_t*)ids)[i] : ((const int32_t*)ids)[i];
    if (id == -1 && has_none) {
      continue;
    }
    if (id < 0 || id >= groups) {
      return -1 - i;
    }
    sums[id] = (int64_t)((uint64_t)sums[id] + (uint64_t)values[i]);
  }
  return 0;
}
