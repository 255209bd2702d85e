#include <stdint.h>

enum { NONE = -1, ALIGNMENT = 4 };

// Pieces of a section of exception tables, see _Exceptions.
typedef struct {
  int64_t* start;
  int64_t* function;
  uint8_t* is_zero;
  int64_t count;
} Tables;

// Check that bytes between tables are at most three zeros, up to a multiple of four.
static uint8_t is_filling(const uint8_t* content, int64_t start, int64_t end) {
  if (end - start >= ALIGNMENT || end % ALIGNMENT != 0) {
    return 0;
  }
  uint8_t all = 0;
  for (int64_t i = start; i < end; i++) {
    all |= content[i];
  }
  return all == 0;
}

// Add the piece [start, end) of the content, unless it is empty.
static void add_piece(Tables* to, const uint8_t* content, int64_t start, int64_t end,
                      int64_t function, int64_t at) {
  if (start < end) {
    to->start[to->count] = start + at;
    to->function[to->count] = function;
    to->is_zero[to->count] = function == NONE && is_filling(content, start, end);
    to->count++;
  }
}

// Cut a section into exception tables and the bytes between them.
//
// content[size]: of the section, which is at `at` on the line. start, end, function [count]: its
// tables, ascending and distinct, start[i] <= end[i] <= start[i + 1]. Writes pieces with room for
// 2 * count + 1, and returns their number.
__attribute__((visibility("default"))) int64_t
cut_tables(const uint8_t* content, int64_t size, int64_t at, const int64_t* start,
           const int64_t* end, const int64_t* function, int64_t count, int64_t* piece_start,
           int64_t* piece_function, uint8_t* is_zero) {
  Tables to = {piece_start, piece_function, is_zero, 0};
  int64_t reached = 0;
  for (int64_t i = 0; i < count; i++) {
    add_piece(&to, content, reached, start[i], NONE, at);
    add_piece(&to, content, start[i], end[i], function[i], at);
    reached = end[i];
  }
  add_piece(&to, content, reached, size, NONE, at);
  return to.count;
}

// Leave out tables that share a place with an earlier one.
//
// order[count]: functions in order of their LSDA; lsda: the address of each function's. address: of
// their section. Writes start (offsets in it) and function with room for all; returns their number.
__attribute__((visibility("default"))) int64_t distinct_tables(const int64_t* lsda,
                                                               const int64_t* order, int64_t count,
                                                               int64_t address, int64_t* start,
                                                               int64_t* function) {
  int64_t found = 0;
  for (int64_t i = 0; i < count; i++) {
    int64_t offset = (int64_t)((uint64_t)lsda[order[i]] - (uint64_t)address);
    if (found == 0 || start[found - 1] != offset) {
      start[found] = offset;
      function[found] = order[i];
      found++;
    }
  }
  return found;
}

// Find the code of a section that unwind records describe, as ranges on the line.
//
// row[count]: FDEs in order of function; function, extent: of each record. address, at, size: of
// the section. Writes start and end with room for all; returns their number.
__attribute__((visibility("default"))) int64_t described(const int64_t* row, int64_t count,
                                                         const int64_t* function,
                                                         const int64_t* extent, int64_t address,
                                                         int64_t at, int64_t size, int64_t* start,
                                                         int64_t* end) {
  int64_t low = 0;
  for (int64_t high = count; low < high;) {
    int64_t middle = low + (high - low) / 2;
    if (function[row[middle]] < address) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  int64_t found = 0;
  for (int64_t i = low; i < count; i++) {
    uint64_t offset = (uint64_t)function[row[i]] - (uint64_t)address;
    if (offset >= (uint64_t)size) {
      break;
    }
    int64_t length = extent[row[i]];
    if (length > 0) {
      int64_t room = size - (int64_t)offset;
      start[found] = at + (int64_t)offset;
      end[found] = start[found] + (length < room ? length : room);
      found++;
    }
  }
  return found;
}
