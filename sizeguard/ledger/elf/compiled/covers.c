#include <stdint.h>

enum { NONE = -1 };

// Cut [low, high) into ranges and the gaps between them.
//
// start, end [count]: the ranges, sorted, disjoint and inside [low, high); empty ones are left out.
// Writes the start of each piece and the index of its range, NONE for a gap, with room for
// 2 * count + 1. Returns the number of pieces.
__attribute__((visibility("default"))) int64_t cover(int64_t low, int64_t high,
                                                     const int64_t* start, const int64_t* end,
                                                     int64_t count, int64_t* piece_start,
                                                     int64_t* which) {
  int64_t found = 0;
  int64_t reached = low;
  for (int64_t i = 0; i <= count; i++) {
    int64_t next = i < count ? start[i] : high;
    if (i < count && start[i] == end[i]) {
      continue;
    }
    if (reached < next) {
      piece_start[found] = reached;
      which[found++] = NONE;
    }
    if (i < count) {
      piece_start[found] = start[i];
      which[found++] = i;
      reached = end[i];
    }
  }
  return found;
}

// Cut the string table [low, high) on the line into strings and the gaps between them.
//
// start, end, symbol [count]: strings without their NUL, sorted, and the symbol of each, NONE if it
// has none. A string that ends where an earlier one ends is left out, since it is a suffix of it.
// shift: from these places to the line. Writes pieces with room for 2 * count + 1, and returns
// their number.
__attribute__((visibility("default"))) int64_t cut_strings(const int64_t* start, const int64_t* end,
                                                           const int32_t* symbol, int64_t count,
                                                           int64_t shift, int64_t low, int64_t high,
                                                           int64_t* piece_start,
                                                           int32_t* piece_symbol) {
  int64_t found = 0;
  int64_t reached = low;
  int64_t last_end = -1;
  for (int64_t i = 0; i < count; i++) {
    int is_new = end[i] > last_end;
    last_end = is_new ? end[i] : last_end;
    int64_t from = start[i] + shift;
    int64_t to = end[i] + shift + 1 < high ? end[i] + shift + 1 : high;
    if (!is_new || symbol[i] < 0 || from >= to) {
      continue;
    }
    if (reached < from) {
      piece_start[found] = reached;
      piece_symbol[found++] = NONE;
    }
    piece_start[found] = from;
    piece_symbol[found++] = symbol[i];
    reached = to;
  }
  if (reached < high) {
    piece_start[found] = reached;
    piece_symbol[found++] = NONE;
  }
  return found;
}

// Columns of DisjointSymbols.
typedef struct {
  const int64_t* start;
  const int64_t* end;
  const int32_t* symbol;
  const int32_t* group;
} Symbols;

// Merge two sets of ranges, which are sorted and disjoint; each has one analyzer.
//
// Of ranges with the same start, those of the second set come first.
__attribute__((visibility("default"))) int64_t
merge_ranges(const int64_t* start, const int64_t* end, const int32_t* symbol, const int32_t* group,
             int64_t count, int64_t analyzer, const int64_t* more_start, const int64_t* more_end,
             const int32_t* more_symbol, const int32_t* more_group, int64_t more_count,
             int64_t more_analyzer, int64_t* to_start, int64_t* to_end, int32_t* to_symbol,
             int32_t* to_group, int8_t* to_analyzer) {
  Symbols one = {start, end, symbol, group};
  Symbols more = {more_start, more_end, more_symbol, more_group};
  int64_t i = 0;
  int64_t j = 0;
  for (int64_t at = 0; at < count + more_count; at++) {
    int is_more = j < more_count && (i >= count || more_start[j] <= start[i]);
    const Symbols* from = is_more ? &more : &one;
    int64_t row = is_more ? j++ : i++;
    to_start[at] = from->start[row];
    to_end[at] = from->end[row];
    to_symbol[at] = from->symbol[row];
    to_group[at] = from->group[row];
    to_analyzer[at] = (int8_t)(is_more ? more_analyzer : analyzer);
  }
  return count + more_count;
}
