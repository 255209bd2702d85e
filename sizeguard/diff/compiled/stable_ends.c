// The parts of symbols' names that stay the same between builds, see stable_names.py.
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

// The words of suffixes; numbers can follow all but the last.
static const char* const SUFFIXES[] = {"cold",     "part", "isra",  "constprop",
                                       "lto_priv", "llvm", "clone", "localalias"};
enum { COUNT = sizeof SUFFIXES / sizeof *SUFFIXES };

static bool is_digit(uint8_t letter) {
  return letter >= '0' && letter <= '9';
}

// Returns the end of a name without the numbers at its end, each after a dot.
static const uint8_t* without_numbers(const uint8_t* begin, const uint8_t* end) {
  const uint8_t* at = end;
  while (at > begin && is_digit(at[-1])) {
    while (at > begin && is_digit(at[-1])) {
      at--;
    }
    if (at == begin || at[-1] != '.') {
      break;
    }
    end = --at;
  }
  return end;
}

// Returns the end of a name without the last suffix of clones; a name cannot begin with a suffix.
static const uint8_t* without_suffix(const uint8_t* begin, const uint8_t* end) {
  const uint8_t* word = without_numbers(begin, end);
  int words = word < end ? COUNT - 1 : COUNT;
  for (int i = 0; i < words; i++) {
    int64_t length = (int64_t)strlen(SUFFIXES[i]);
    if (word - begin > length + 1 && word[-1 - length] == '.' &&
        memcmp(word - length, SUFFIXES[i], (size_t)length) == 0) {
      return word - length - 1;
    }
  }
  return end;
}

// Returns whether a name ends with the hash of a Rust function: 17h, sixteen digits, E.
static bool has_hash(const uint8_t* begin, const uint8_t* end) {
  if (end - begin < 20 || end[-1] != 'E' || memcmp(end - 20, "17h", 3) != 0) {
    return false;
  }
  for (const uint8_t* at = end - 17; at < end - 1; at++) {
    if (!is_digit(*at) && !(*at >= 'a' && *at <= 'f')) {
      return false;
    }
  }
  return true;
}

// Returns whether a name's key is more than the name without its suffixes.
static bool is_odd(const uint8_t* begin, const uint8_t* end) {
  static const char nameless[] = "(function at ";
  int64_t length = sizeof nameless - 1;
  return has_hash(begin, end) || (end - begin >= 2 && memcmp(begin, "_R", 2) == 0) ||
         (end - begin >= length && memcmp(begin, nameless, (size_t)length) == 0);
}

// Finds the end of each name buffer[start[i]:end[i]] without the suffixes of clones, and the
// indices of the names whose keys are other texts (odd, of `count` entries). Returns their number;
// -1 - i if name i is not inside the buffer's `size` bytes.
__attribute__((visibility("default"))) int64_t stable_ends(const uint8_t* buffer, int64_t size,
                                                           const int64_t* start, const int64_t* end,
                                                           int64_t count, int64_t* ends,
                                                           int64_t* odd) {
  int64_t found = 0;
  for (int64_t i = 0; i < count; i++) {
    if (start[i] < 0 || end[i] < start[i] || end[i] > size) {
      return -1 - i;
    }
    const uint8_t* begin = buffer + start[i];
    const uint8_t* last = buffer + end[i];
    for (const uint8_t* shorter; (shorter = without_suffix(begin, last)) < last;) {
      last = shorter;
    }
    ends[i] = start[i] + (last - begin);
    odd[found] = i;
    found += is_odd(begin, last);
  }
  return found;
}

// Reads up to eight first bytes of each text buffer[start[i]:end[i]] as a number, the first byte
// highest. Returns `count`, or -1 - i if text i is not inside the buffer's `size` bytes.
__attribute__((visibility("default"))) int64_t first_letters(const uint8_t* buffer, int64_t size,
                                                             const int64_t* start,
                                                             const int64_t* end, int64_t count,
                                                             uint64_t* letters) {
  for (int64_t i = 0; i < count; i++) {
    if (start[i] < 0 || end[i] < start[i] || end[i] > size) {
      return -1 - i;
    }
    int64_t high = end[i] - start[i] < 8 ? end[i] : start[i] + 8;
    uint64_t value = 0;
    for (int64_t at = start[i]; at < high; at++) {
      value = value << 8 | buffer[at];
    }
    letters[i] = value;
  }
  return count;
}
