#include "entries.h"

enum {
  RLE_END,
  RLE_BASE_X,
  RLE_START_X_END_X,
  RLE_START_X_LENGTH,
  RLE_OFFSETS,
  RLE_BASE,
  RLE_START_END,
  RLE_START_LENGTH,
};

static uint64_t sum_or_last(uint64_t low, uint64_t size) {
  uint64_t high;
  return __builtin_add_overflow(low, size, &high) ? UINT64_MAX : high;
}

// Pass [base + low, base + high) on, unless it is empty or begins behind the last address.
static int pass_on(uint64_t base, uint64_t low, uint64_t high, RangeSink* sink, void* to) {
  uint64_t start;
  if (low >= high || __builtin_add_overflow(base, low, &start)) {
    return 0;
  }
  return sink(to, start, sum_or_last(base, high));
}

// Count an entry of a list.
static int spend(Dwarf* dwarf, int64_t at) {
  return --dwarf->range_budget < 0 ? failed(dwarf, RANGES_WITHOUT_END, at) : 0;
}

// Read a list of DWARF 2 to 4. DW_AT_GNU_ranges_base is for .dwo files.
static int read_old(Dwarf* dwarf, const Unit* unit, uint64_t at, RangeSink* sink, void* to) {
  uint64_t base = (uint64_t)unit->low_pc;
  int64_t size = unit->address_size;
  uint64_t last = UINT64_MAX >> (64 - 8 * size);
  for (;;) {
    uint64_t low;
    uint64_t high;
    int error = spend(dwarf, (int64_t)at);
    error = error != 0 ? error : number_of(dwarf, dwarf->ranges, at, size, &low);
    error = error != 0 ? error : number_of(dwarf, dwarf->ranges, at + (uint64_t)size, size, &high);
    if (error != 0) {
      return error;
    }
    at += 2 * (uint64_t)size;
    if (low == 0 && high == 0) {
      return 0;
    }
    if (low == last) {
      base = high;
      continue;
    }
    error = pass_on(base, low, high, sink, to);
    if (error != 0) {
      return error;
    }
  }
}

// Read an operand of a range list of DWARF 5: an index into .debug_addr, an address, or a LEB128
// number.
static int read_part(Dwarf* dwarf, const Unit* unit, int64_t* at, int is_indexed, int is_address,
                     uint64_t* value) {
  int bits;
  if (is_address) {
    int error = number_of(dwarf, dwarf->rnglists, (uint64_t)*at, unit->address_size, value);
    *at += unit->address_size;
    return error;
  }
  int error = read_leb(dwarf->rnglists.data, dwarf->rnglists.size, at, value, &bits);
  if (error != 0) {
    return failed(dwarf, error == UNIT_CUT ? RANGES_CUT : error, *at);
  }
  return is_indexed ? indexed_address(dwarf, unit, *value, value) : 0;
}

// Read a list of DWARF 5.
static int read_new(Dwarf* dwarf, const Unit* unit, int64_t at, RangeSink* sink, void* to) {
  const Section lists = dwarf->rnglists;
  uint64_t base = (uint64_t)unit->low_pc;
  for (;;) {
    int error = spend(dwarf, at);
    if (error != 0) {
      return error;
    }
    if (at < 0 || at >= lists.size) {
      return failed(dwarf, RANGES_CUT, at);
    }
    int kind = lists.data[at++];
    if (kind == RLE_END) {
      return 0;
    }
    if (kind > RLE_START_LENGTH) {
      return failed(dwarf, UNKNOWN_RANGE, kind);
    }
    int is_indexed = kind == RLE_BASE_X || kind == RLE_START_X_END_X || kind == RLE_START_X_LENGTH;
    int is_address = kind == RLE_BASE || kind == RLE_START_END || kind == RLE_START_LENGTH;
    uint64_t first;
    uint64_t second = 0;
    error = read_part(dwarf, unit, &at, is_indexed, is_address, &first);
    if (error != 0) {
      return error;
    }
    if (kind == RLE_BASE_X || kind == RLE_BASE) {
      base = first;
      continue;
    }
    error = read_part(dwarf, unit, &at, kind == RLE_START_X_END_X, kind == RLE_START_END, &second);
    if (error != 0) {
      return error;
    }
    if (kind == RLE_START_X_LENGTH || kind == RLE_START_LENGTH) {
      second = sum_or_last(first, second);
    }
    error = pass_on(kind == RLE_OFFSETS ? base : 0, first, second, sink, to);
    if (error != 0) {
      return error;
    }
  }
}

static int read_list(Dwarf* dwarf, const Unit* unit, Value list, RangeSink* sink, void* to) {
  if (unit->version < 5) {
    return read_old(dwarf, unit, list.value, sink, to);
  }
  uint64_t at = list.value;
  if (list.form == FORM_RNGLISTX) {
    uint64_t base = (uint64_t)unit->ranges_base;
    uint64_t size = (uint64_t)unit->offset_size;
    int error = number_of(dwarf, dwarf->rnglists, base + at * size, unit->offset_size, &at);
    if (error != 0) {
      return error;
    }
    at += base;
  }
  return read_new(dwarf, unit, at > INT64_MAX ? INT64_MAX : (int64_t)at, sink, to);
}

int read_ranges(Dwarf* dwarf, const Unit* unit, const Value of[3], RangeSink* sink, void* to) {
  Value low = of[0];
  Value high = of[1];
  if (of[2].form != 0) {
    return read_list(dwarf, unit, of[2], sink, to);
  }
  if (low.form == 0 || high.form == 0) {
    return 0;
  }
  int error = is_index(low.form) ? indexed_address(dwarf, unit, low.value, &low.value) : 0;
  if (error == 0 && is_index(high.form)) {
    error = indexed_address(dwarf, unit, high.value, &high.value);
  } else if (high.form != FORM_ADDR) {
    int is_negative =
        (high.form == FORM_SDATA || high.form == FORM_IMPLICIT) && (int64_t)high.value < 0;
    high.value = is_negative ? 0 : sum_or_last(low.value, high.value);
  }
  return error != 0 ? error : pass_on(0, low.value, high.value, sink, to);
}

typedef struct {
  int64_t* rows;
  int64_t room;
  int64_t count;
  int64_t entry;
} Rows;

static int add_row(void* to, uint64_t low, uint64_t high) {
  Rows* rows = to;
  if (high > INT64_MAX) {
    return 0;
  }
  if (rows->count < rows->room) {
    int64_t* row = rows->rows + 3 * rows->count;
    row[0] = rows->entry;
    row[1] = (int64_t)low;
    row[2] = (int64_t)high;
  }
  rows->count++;
  return 0;
}

// Read the ranges of units by their own entries, up to the first damaged unit.
//
// units[count]: indices. Writes the first `room` rows of three to rows: the index among `units`,
// the first address and the end. Returns the number of rows.
EXPORT int64_t unit_ranges(Dwarf* dwarf, const int64_t* units, int64_t count, int64_t* rows,
                           int64_t room) {
  Rows found = {rows, room, 0, 0};
  static const int wanted[] = {AT_LOW_PC, AT_HIGH_PC, AT_RANGES};
  for (; found.entry < count; found.entry++) {
    Unit* unit = dwarf->units + units[found.entry];
    int64_t at;
    int64_t before = found.count;
    const Shape* shape = NULL;
    Value of[3] = {{0, 0}};
    int error = read_unit(dwarf, unit);
    error = error != 0 ? error : read_own_shape(dwarf, unit, &at, &shape);
    if (error == 0 && shape != NULL) {
      error = read_values(dwarf, unit, shape, &at, wanted, 3, of);
    }
    if (error != 0 || read_ranges(dwarf, unit, of, add_row, &found) != 0) {
      return before;
    }
  }
  return found.count;
}
