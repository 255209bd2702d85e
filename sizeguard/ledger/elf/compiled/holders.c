#include <stdint.h>

enum { NONE = -1 };

// Places of rows on the line, ascending in each section, as int32 or int64.
typedef struct {
  const int32_t* narrow;
  const int64_t* wide;
} Starts;

static int64_t start_of(Starts starts, int64_t row) {
  return starts.wide != 0 ? starts.wide[row] : starts.narrow[row];
}

// Return the last of the rows [low, high) that begins at or before a place; the first one does.
// Places often ascend, so the search begins at the row that was found last.
static int64_t row_at(Starts starts, int64_t low, int64_t high, int64_t place, int64_t last) {
  if (last > low && last < high && start_of(starts, last) <= place) {
    low = last;
  }
  for (int64_t step = 1; low + step < high; step *= 2) {
    if (start_of(starts, low + step) > place) {
      high = low + step;
      break;
    }
    low += step;
  }
  while (high - low > 1) {
    int64_t middle = low + (high - low) / 2;
    if (start_of(starts, middle) <= place) {
      low = middle;
    } else {
      high = middle;
    }
  }
  return low;
}

// Return the last section whose address is at or before another one; NONE if there is none.
static int64_t section_at(const int64_t* address, int64_t sections, int64_t wanted) {
  int64_t low = NONE;
  for (int64_t high = sections; high - low > 1;) {
    int64_t middle = low + (high - low) / 2;
    if (address[middle] <= wanted) {
      low = middle;
    } else {
      high = middle;
    }
  }
  return low;
}

// Find the row that contains each address.
//
// wanted[count]: the addresses. address, size, at [sections]: sections in order of address, and
// their places on the line; first[sections + 1]: the first row of each, which begins with it.
// start: places of rows, int64 if is_wide, else int32. Writes found[count], NONE for an address
// outside the sections.
__attribute__((visibility("default"))) int64_t rows_at(const int64_t* wanted, int64_t count,
                                                       const int64_t* address, const int64_t* size,
                                                       const int64_t* at, const int64_t* first,
                                                       int64_t sections, const void* start,
                                                       int64_t is_wide, int64_t* found) {
  Starts starts = {is_wide ? 0 : start, is_wide ? start : 0};
  int64_t section = NONE;
  int64_t last = 0;
  for (int64_t i = 0; i < count; i++) {
    found[i] = NONE;
    if (section < 0 || wanted[i] < address[section] ||
        (section + 1 < sections && wanted[i] >= address[section + 1])) {
      section = section_at(address, sections, wanted[i]);
    }
    if (section < 0) {
      continue;
    }
    uint64_t offset = (uint64_t)wanted[i] - (uint64_t)address[section];
    if (offset < (uint64_t)size[section] && first[section] < first[section + 1]) {
      int64_t place = at[section] + (int64_t)offset;
      last = row_at(starts, first[section], first[section + 1], place, last);
      found[i] = last;
    }
  }
  return count;
}

// Write column[found[i]] to held[count], NONE where found[i] is NONE.
__attribute__((visibility("default"))) int64_t take_known(const int32_t* column,
                                                          const int64_t* found, int64_t count,
                                                          int32_t* held) {
  for (int64_t i = 0; i < count; i++) {
    held[i] = found[i] < 0 ? NONE : column[found[i]];
  }
  return count;
}

// Set the kind of virtual tables and type information, by the prefix of their names.
//
// kind, symbol [count]: of rows, symbol NONE if there is none; start, end: of names in text.
__attribute__((visibility("default"))) int64_t name_kinds(int8_t* kind, const int32_t* symbol,
                                                          int64_t count, const uint8_t* text,
                                                          const int64_t* start, const int64_t* end,
                                                          int64_t code, int64_t vtable,
                                                          int64_t typeinfo) {
  for (int64_t i = 0; i < count; i++) {
    if (kind[i] == code || symbol[i] < 0 || end[symbol[i]] - start[symbol[i]] < 4) {
      continue;
    }
    const uint8_t* name = text + start[symbol[i]];
    if (name[0] != '_' || name[1] != 'Z' || name[2] != 'T') {
      continue;
    }
    if (name[3] == 'V' || name[3] == 'T') {
      kind[i] = (int8_t)vtable;
    } else if (name[3] == 'I' || name[3] == 'S') {
      kind[i] = (int8_t)typeinfo;
    }
  }
  return count;
}
