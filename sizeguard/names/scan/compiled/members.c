// Number distinct members, and choose the first value of each name.
#include "names.h"

// Number the distinct pairs of hash and scope in the order in which they occur. table: `slots`
// entries of -1, a power of two of more than the pairs; number: by row; first: the first row of
// each pair. Returns how many there are.
EXPORTED int64_t number_members(const uint64_t* hash, const int32_t* scope, int64_t count,
                                int32_t* table, int64_t slots, int32_t* number, int64_t* first) {
  int64_t found = 0;
  for (int64_t i = 0; i < count; i++) {
    // The factor spreads the small numbers of scopes over all bits.
    const uint64_t key = hash[i] ^ ((uint64_t)scope[i] * 0x9E3779B97F4A7C15u);
    uint64_t slot = (key * 0xD6E8FEB86659FD93u) >> 32;
    for (;; slot++) {
      int32_t* entry = &table[slot & (uint64_t)(slots - 1)];
      if (*entry < 0) {
        *entry = (int32_t)found;
        first[found++] = i;
      }
      const int64_t row = first[*entry];
      if (hash[row] != hash[i] || scope[row] != scope[i]) continue;
      number[i] = *entry;
      break;
    }
  }
  return found;
}

// Set the value of each name to that of the row with the lowest place, unless an earlier call found
// a lower one; of equal places the first row counts. Rows with the value 0 do not count.
// place: by row; lowest: by name, changed; result: by name, changed
EXPORTED int64_t first_values(const int32_t* name, const int64_t* place, const int32_t* value,
                              int64_t count, int64_t* lowest, int32_t* result) {
  for (int64_t i = 0; i < count; i++) {
    if (value[i] <= 0 || place[i] >= lowest[name[i]]) continue;
    lowest[name[i]] = place[i];
    result[name[i]] = value[i];
  }
  return 0;
}
