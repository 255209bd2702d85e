#include <stdint.h>

enum { TYPE_FUNC = 2, TYPE_SECTION = 3, TYPE_FILE = 4, TYPE_TLS = 6 };
enum { BINDING_LOCAL = 0, BINDING_WEAK = 2 };

static int8_t strength_of(uint8_t binding) {
  return binding == BINDING_LOCAL ? 2 : binding == BINDING_WEAK;
}

// Place the symbols of a table on the line.
//
// address to which [count]: columns of SymbolTable; text_start, text_end: its distinct strings.
// home_address to home_size [sections + 1]: columns of _Homes. has_thumb: whether the lowest bit of
// a function's address means Thumb. Writes place to home [count], columns of Defined, which are 0
// for symbols outside sections. Writes to rows and keys the index of each symbol inside one, plus
// base, and its place. Returns how many these are.
__attribute__((visibility("default"))) int64_t place_symbols(
    const int64_t* address, const uint8_t* type, const uint8_t* binding, const int32_t* section,
    const int32_t* which, int64_t count, const int64_t* text_start, const int64_t* text_end,
    const int64_t* home_address, const int64_t* home_thread_local, const int64_t* home_section,
    const int64_t* home_at, const int64_t* home_size, int64_t sections, int64_t has_thumb,
    int64_t base, int64_t* place, int64_t* room, int8_t* strength, int64_t* home, int64_t* rows,
    int64_t* keys) {
  int64_t found = 0;
  for (int64_t i = 0; i < count; i++) {
    strength[i] = strength_of(binding[i]);
    place[i] = room[i] = home[i] = 0;
    int32_t at = section[i];
    if (at <= 0 || at >= sections || text_end[which[i]] <= text_start[which[i]] ||
        type[i] == TYPE_SECTION || type[i] == TYPE_FILE) {
      continue;
    }
    uint64_t sum = (uint64_t)address[i] - (uint64_t)home_address[at];
    sum += type[i] == TYPE_TLS ? (uint64_t)home_thread_local[at] : 0;
    sum -= has_thumb && type[i] == TYPE_FUNC ? sum & 1 : 0;
    int64_t offset = (int64_t)sum;
    if (offset < 0 || offset >= home_size[at] || home_section[at] < 0) {
      continue;
    }
    place[i] = home_at[at] + offset;
    room[i] = home_size[at] - offset;
    home[i] = home_section[at];
    rows[found] = base + i;
    keys[found] = place[i];
    found++;
  }
  return found;
}

// Split rows[order[count]] into those with a size and those without, keeping their order.
//
// size: of each row. Writes claims and labels, each with room for all; returns the number of
// claims.
__attribute__((visibility("default"))) int64_t split_by_size(const int64_t* rows,
                                                             const int64_t* order, int64_t count,
                                                             const int64_t* size, int64_t* claims,
                                                             int64_t* labels) {
  int64_t found = 0;
  for (int64_t i = 0; i < count; i++) {
    int64_t row = rows[order[i]];
    if (size[row] > 0) {
      claims[found++] = row;
    } else {
      labels[i - found] = row;
    }
  }
  return found;
}
