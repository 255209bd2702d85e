#include <stdint.h>

typedef struct {
  int64_t value;
  int64_t after;
  int is_whole;
} Number;

// Read a ULEB128 number of at most five bytes. Places behind the content repeat its last byte.
static Number uleb(const uint8_t* content, int64_t size, int64_t at) {
  Number number = {0, at, 0};
  for (int shift = 0; shift < 35; shift += 7) {
    uint8_t byte = content[number.after < size ? number.after : size - 1];
    number.value += (int64_t)(byte & 127) << shift;
    number.after++;
    if (byte < 128) {
      number.is_whole = number.after <= size;
      break;
    }
  }
  return number;
}

// Find the end of each exception table. It ends after its types or, without types, after its call
// sites.
//
// content[size]: of the section, not empty; start[count]: offsets in it; limit[count]: where a
// table that cannot be read ends. Writes end[count].
__attribute__((visibility("default"))) int64_t table_ends(const uint8_t* content, int64_t size,
                                                          const int64_t* start,
                                                          const int64_t* limit, int64_t count,
                                                          int64_t* end) {
  for (int64_t i = 0; i < count; i++) {
    int64_t at = start[i];
    end[i] = limit[i];
    if (content[at] != 0xff) {
      continue;
    }
    int has_types = content[at + 1 < size ? at + 1 : size - 1] != 0xff;
    Number length = uleb(content, size, at + (has_types ? 2 : 3));
    if (length.is_whole && length.after + length.value <= limit[i]) {
      end[i] = length.after + length.value;
    }
  }
  return count;
}
