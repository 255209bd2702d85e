#include <stdint.h>

enum { NONE = -1 };

// Ranges [start, end) on the line, sorted and disjoint, and what their pieces have.
typedef struct {
  const int64_t* start;
  const int64_t* end;
  const int32_t* symbol;
  const int32_t* group;
  const int8_t* analyzer;
  int64_t count;
} Ranges;

// Functions without a symbol: row of a table of parts, and its analyzer.
typedef struct {
  const int64_t* start;
  const int64_t* end;
  const int64_t* row;
  const int8_t* analyzer;
  int64_t count;
} Parts;

// Columns of pieces, see PieceRows, and the indices of those without a symbol and a part.
typedef struct {
  int64_t* start;
  int64_t* stop;
  int64_t* section;
  int8_t* kind;
  int8_t* analyzer;
  int32_t* symbol;
  int32_t* group;
  int32_t* part;
  int64_t* gaps;
  int64_t gap_count;
  int64_t count;
} Pieces;

// Return the first index whose number is not below the limit.
static int64_t first_from(const int64_t* numbers, int64_t count, int64_t limit) {
  int64_t low = 0;
  for (int64_t high = count; low < high;) {
    int64_t middle = low + (high - low) / 2;
    if (numbers[middle] < limit) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

// Set the place of the next piece, which has no owner yet; return its index.
static int64_t place(Pieces* to, int64_t start, int64_t stop, int64_t section, int8_t kind) {
  int64_t i = to->count++;
  to->start[i] = start;
  to->stop[i] = stop;
  to->section[i] = section;
  to->kind[i] = kind;
  to->symbol[i] = to->group[i] = to->part[i] = NONE;
  return i;
}

// Add the bytes [start, stop) of a section, which are between ranges, unless there are none.
static void add_gap(Pieces* to, int64_t start, int64_t stop, int64_t section, int8_t kind,
                    int8_t analyzer) {
  if (start < stop) {
    int64_t i = place(to, start, stop, section, kind);
    to->analyzer[i] = analyzer;
    to->gaps[to->gap_count++] = i;
  }
}

// Cut the section [low, high) into symbols, parts and gaps.
static void cut_section(const Ranges* symbols, const Parts* parts, int64_t low, int64_t high,
                        int64_t section, int8_t kind, int8_t nobody, Pieces* to) {
  int64_t symbol = first_from(symbols->start, symbols->count, low);
  int64_t part = first_from(parts->start, parts->count, low);
  int64_t reached = low;
  for (;;) {
    int64_t next_symbol = symbol < symbols->count ? symbols->start[symbol] : high;
    int64_t next_part = part < parts->count ? parts->start[part] : high;
    if (next_symbol >= high && next_part >= high) {
      break;
    }
    if (next_part <= next_symbol) {
      int64_t stop = parts->end[part] < high ? parts->end[part] : high;
      add_gap(to, reached, next_part, section, kind, nobody);
      int64_t i = place(to, next_part, stop, section, kind);
      to->part[i] = (int32_t)parts->row[part];
      to->analyzer[i] = parts->analyzer[parts->row[part]];
      reached = stop;
      part++;
    } else {
      int64_t stop = symbols->end[symbol] < high ? symbols->end[symbol] : high;
      add_gap(to, reached, next_symbol, section, kind, nobody);
      int64_t i = place(to, next_symbol, stop, section, kind);
      to->symbol[i] = symbols->symbol[symbol];
      to->group[i] = symbols->group[symbol];
      to->analyzer[i] = symbols->analyzer[symbol];
      reached = stop;
      symbol++;
    }
  }
  add_gap(to, reached, high, section, kind, nobody);
}

// Cut sections into symbols, functions without one, and gaps.
//
// start to analyzer [count]: symbols, sorted, disjoint and none empty; part_start to part_row
// [parts]: the same of functions outside symbols, part_analyzer by row. low, high, section, kind
// [sections]: the sections, in order; each range is inside one or none. nobody: the analyzer of
// gaps. Writes columns of pieces with room for 2 * (count + parts) + sections, and the indices of
// gaps; returns the number of pieces, and that of gaps in gap_count[1].
__attribute__((visibility("default"))) int64_t cut_sections(
    const int64_t* start, const int64_t* end, const int32_t* symbol, const int32_t* group,
    const int8_t* analyzer, int64_t count, const int64_t* part_start, const int64_t* part_end,
    const int64_t* part_row, const int8_t* part_analyzer, int64_t parts, const int64_t* low,
    const int64_t* high, const int64_t* section, const int8_t* kind, int64_t sections,
    int64_t nobody, int64_t* piece_start, int64_t* piece_stop, int64_t* piece_section,
    int8_t* piece_kind, int8_t* piece_analyzer, int32_t* piece_symbol, int32_t* piece_group,
    int32_t* piece_part, int64_t* gaps, int64_t* gap_count) {
  Ranges symbols = {start, end, symbol, group, analyzer, count};
  Parts functions = {part_start, part_end, part_row, part_analyzer, parts};
  Pieces to = {piece_start,
               piece_stop,
               piece_section,
               piece_kind,
               piece_analyzer,
               piece_symbol,
               piece_group,
               piece_part,
               gaps,
               0,
               0};
  for (int64_t i = 0; i < sections; i++) {
    cut_section(&symbols, &functions, low[i], high[i], section[i], kind[i], (int8_t)nobody, &to);
  }
  gap_count[0] = to.gap_count;
  return to.count;
}
