// Columns by row from columns by symbol or by number: three million rows in libtorch_cpu.so.
#include <stdint.h>

#define EXPORTED __attribute__((visibility("default")))

// Write values[index] for each row, `otherwise` where the index is negative.
EXPORTED int64_t gather(const int32_t* values, const int32_t* index, int64_t rows,
                        int64_t otherwise, int32_t* result) {
  for (int64_t i = 0; i < rows; i++)
    result[i] = index[i] < 0 ? (int32_t)otherwise : values[index[i]];
  return 0;
}

// Write is_kind[kind] for each row.
EXPORTED int64_t match_kinds(const uint8_t* is_kind, const int8_t* kind, int64_t rows,
                             uint8_t* result) {
  for (int64_t i = 0; i < rows; i++) result[i] = is_kind[(uint8_t)kind[i]];
  return 0;
}

// Write 1 for each id that occurs.
EXPORTED int64_t mark_used(const int32_t* ids, int64_t rows, uint8_t* is_used) {
  for (int64_t i = 0; i < rows; i++) is_used[ids[i]] = 1;
  return 0;
}

// Combine the values of each row into one number, the last column changing fastest, and mark the
// numbers that occur. Column c of a row has the value numbers[c][ids[c][row]] < counts[c].
EXPORTED int64_t combine(const int32_t* const* ids, const int32_t* const* numbers,
                         const int64_t* counts, int64_t columns, int64_t rows, int32_t* combination,
                         uint8_t* occurs) {
  for (int64_t i = 0; i < rows; i++) {
    int64_t number = 0;
    for (int64_t c = 0; c < columns; c++) number = number * counts[c] + numbers[c][ids[c][i]];
    combination[i] = (int32_t)number;
    occurs[number] = 1;
  }
  return 0;
}
