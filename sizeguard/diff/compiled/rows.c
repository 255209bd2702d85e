// Sums of an image's rows by group, see side.py, and by symbol and group, see holdings.py.
#include <stdbool.h>
#include <stdint.h>

enum { IS_PIECE = 1, IS_PADDING = 2 };  // flags of a kind

// Adds without overflow errors.
static void add(int64_t* sum, int64_t value) {
  *sum = (int64_t)((uint64_t)*sum + (uint64_t)value);
}

static bool is_below(int64_t index, int64_t bound) {
  return 0 <= index && index < bound;
}

// Sums rows with bytes by group. By row: group, size in bytes, kind, count of instances (int8_t, or
// int64_t if is_wide). By kind: flags. Adds to sums, which has `groups` entries for bytes, then for
// instances, then for bytes of padding. Returns 0, or -1 - i if row i has no such group or kind.
__attribute__((visibility("default"))) int64_t sum_rows(int64_t rows, const int32_t* group,
                                                        int64_t groups, const int64_t* size,
                                                        const int32_t* kind, const uint8_t* flags,
                                                        int64_t kinds, const void* count,
                                                        int64_t is_wide, int64_t* sums) {
  for (int64_t i = 0; i < rows; i++) {
    if (size[i] == 0) {
      continue;
    }
    int64_t at = group[i];
    if (!is_below(at, groups) || !is_below(kind[i], kinds)) {
      return -1 - i;
    }
    add(&sums[at], size[i]);
    if (flags[kind[i]] & IS_PIECE) {
      add(&sums[groups + at], is_wide ? ((const int64_t*)count)[i] : ((const int8_t*)count)[i]);
    }
    if (flags[kind[i]] & IS_PADDING) {
      add(&sums[2 * groups + at], size[i]);
    }
  }
  return 0;
}

// Sums rows with bytes by symbol. By row: symbol, group, size in bytes. By symbol: the group of its
// first row (`first`, -1 at the beginning) and its bytes there (`held`, which are added to). The
// rows in other groups are copied to other_*, of `rows` entries. Returns their number, or -1 - i if
// row i has no such symbol, or a negative group.
__attribute__((visibility("default"))) int64_t hold_rows(int64_t rows, const int32_t* symbol,
                                                         int64_t symbols, const int32_t* group,
                                                         const int64_t* size, int32_t* first,
                                                         int64_t* held, int32_t* other_symbol,
                                                         int32_t* other_group,
                                                         int64_t* other_size) {
  int64_t others = 0;
  for (int64_t i = 0; i < rows; i++) {
    if (size[i] == 0) {
      continue;
    }
    int64_t at = symbol[i];
    if (!is_below(at, symbols) || group[i] < 0) {
      return -1 - i;
    }
    if (first[at] < 0) {
      first[at] = group[i];
    }
    if (first[at] == group[i]) {
      add(&held[at], size[i]);
      continue;
    }
    other_symbol[others] = symbol[i];
    other_group[others] = group[i];
    other_size[others++] = size[i];
  }
  return others;
}
