#include <stdint.h>
#include <string.h>

// Find the distinct strings of a symbol table, and the string of each symbol.
//
// Bytes up to high are read; a string without a NUL ends there. name[count]: the offset of each
// symbol's name, 0 <= name <= high; order[count]: the symbols in order of name. Writes the strings
// to start[count] and end[count], and the index of each symbol's to which[count]. Returns the
// number of strings.
__attribute__((visibility("default"))) int64_t distinct_strings(const uint8_t* data, int64_t high,
                                                                const int64_t* name,
                                                                const int64_t* order, int64_t count,
                                                                int64_t* start, int64_t* end,
                                                                int32_t* which) {
  int64_t found = 0;
  for (int64_t i = 0; i < count; i++) {
    int64_t at = name[order[i]];
    if (found == 0 || at != start[found - 1]) {
      // A string that begins inside the previous one shares its end, so no byte is read twice.
      if (found > 0 && at <= end[found - 1]) {
        end[found] = end[found - 1];
      } else {
        const uint8_t* nul = at < high ? memchr(data + at, 0, (size_t)(high - at)) : NULL;
        end[found] = nul != NULL ? nul - data : high;
      }
      start[found] = at;
      found++;
    }
    which[order[i]] = (int32_t)(found - 1);
  }
  return found;
}
