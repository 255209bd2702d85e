// The parts of names that are the same for all names of a family, see names/scan/families.py.
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum { MOST_DIGITS = 6 };  // of a clone's number

static bool is_digit(uint8_t letter) {
  return letter >= '0' && letter <= '9';
}

// Returns whether the bytes before `end` are a literal, and something precedes them.
static bool follows(const uint8_t* begin, const uint8_t* end, const char* literal) {
  size_t length = strlen(literal);
  return (size_t)(end - begin) > length && memcmp(end - length, literal, length) == 0;
}

// Returns the end of a name without the last suffix that gcc gives to clones.
static const uint8_t* without_suffix(const uint8_t* begin, const uint8_t* end) {
  if (end - begin < 2) {
    return end;
  }
  if (!is_digit(end[-1])) {
    int length = follows(begin, end, ".cold") ? 5 : follows(begin, end, ".localalias") ? 11 : 0;
    return end - length;
  }
  const uint8_t* first = end - 1;
  for (int i = 1; i < MOST_DIGITS && first > begin && is_digit(first[-1]); i++) {
    first--;
  }
  if (follows(begin, first, ".isra.") || follows(begin, first, ".part.")) {
    return first - 6;
  }
  return follows(begin, first, ".constprop.") ? first - 11 : end;
}

// Returns the end of a name without the suffixes of clones, and without the number of a destructor.
static const uint8_t* end_of_part(const uint8_t* begin, const uint8_t* end) {
  for (const uint8_t* shorter; (shorter = without_suffix(begin, end)) < end;) {
    end = shorter;
  }
  bool is_destructor = end - begin >= 7 && memcmp(begin, "_ZN", 3) == 0 && end[-4] == 'D' &&
                       end[-3] >= '0' && end[-3] <= '2' && end[-2] == 'E' && end[-1] == 'v';
  return is_destructor ? end - 3 : end;
}

// Returns whether a name is a class's virtual table or type information: _ZTV, _ZTI or _ZTS, then
// the name of a class that is nested, in std, or local to a function. Other classes are left out:
// in _ZTS4_Foo, S4_ would look like a substitution.
static bool is_of_class(const uint8_t* begin, const uint8_t* end) {
  return end - begin >= 8 && memcmp(begin, "_ZT", 3) == 0 &&
         (begin[3] == 'V' || begin[3] == 'I' || begin[3] == 'S') &&
         (begin[4] == 'N' || begin[4] == 'S' || begin[4] == 'Z');
}

// Finds the part [low[i], high[i]) of each name buffer[start[i]:end[i]]; that of a class's tables
// starts behind the first four bytes. Returns `count`, or -1 - i if name i is not inside the
// buffer's `size` bytes.
__attribute__((visibility("default"))) int64_t family_parts(const uint8_t* buffer, int64_t size,
                                                            const int64_t* start,
                                                            const int64_t* end, int64_t count,
                                                            int64_t* low, int64_t* high) {
  for (int64_t i = 0; i < count; i++) {
    if (start[i] < 0 || end[i] < start[i] || end[i] > size) {
      return -1 - i;
    }
    const uint8_t* begin = buffer + start[i];
    const uint8_t* last = end_of_part(begin, buffer + end[i]);
    low[i] = start[i] + (is_of_class(begin, last) ? 4 : 0);
    high[i] = start[i] + (last - begin);
  }
  return count;
}
