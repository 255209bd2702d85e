#include <stdint.h>
#include <string.h>

enum { STRING = 0, PADDING = 1 };
enum { SHORTEST_STRING = 4, WIDEST_PADDING = 64, WIDEST_FILL = 4096, FUNCTION_ALIGNMENT = 16 };

// Properties of each section, see _Sections; data[size]: the file.
typedef struct {
  const uint8_t* data;
  int64_t size;
  const uint8_t* is_fixed;
  const uint8_t* is_code;
  const uint8_t* is_nobits;
  const uint8_t* is_text;
  const int64_t* to_file;
  const int64_t* to_address;
} Sections;

// What was found: whole[wholes], and columns of FilledGaps, of which `room` are stored.
typedef struct {
  int64_t* whole;
  int64_t wholes;
  int64_t* start;
  int64_t* end;
  int8_t* what;
  int64_t count;
  int64_t room;
} Found;

static int is_nop(uint8_t byte) {
  // Of x86, where the longest is 66 66 2e 0f 1f 84 00 00 00 00 00, and of aarch64, 1f 20 03 d5.
  switch (byte) {
    case 0x00:
    case 0x03:
    case 0x0f:
    case 0x1f:
    case 0x20:
    case 0x2e:
    case 0x40:
    case 0x44:
    case 0x66:
    case 0x80:
    case 0x84:
    case 0x90:
    case 0xcc:
    case 0xd5:
      return 1;
    default:
      return 0;
  }
}

// Bytes of text: printable ASCII, tabs, ends of lines and escapes.
static const uint8_t IS_TEXT[256] = {
    [0x09] = 1, [0x0a] = 1, [0x0d] = 1, [0x1b] = 1, [0x20 ... 0x7e] = 1};

// Check that a range of the file has only zeros or, in code, only nops or one repeated filler byte.
static int is_blank(const uint8_t* data, int64_t size, int in_code) {
  uint8_t first = data[0];
  int is_filled = first == 0x00 || (in_code && (first == 0xcc || first == 0x90));
  int is_nops = in_code && size < WIDEST_PADDING;
  for (int64_t i = 0; i < size && (is_filled || is_nops); i++) {
    is_filled = is_filled && data[i] == first;
    is_nops = is_nops && is_nop(data[i]);
  }
  return is_filled || is_nops;
}

// Check that a range [start, end) of a section is padding: zeros or nops up to a multiple of the
// smallest power of two above their length.
static int is_padding(const Sections* about, int64_t start, int64_t end, int64_t section) {
  int64_t size = end - start;
  uint64_t boundary = (uint64_t)end + (uint64_t)about->to_address[section];
  int in_code = about->is_code[section];
  // Not read: the 400,000 gaps of libtorch_cpu.so are spread over all its pages.
  if (in_code && size < FUNCTION_ALIGNMENT && boundary % FUNCTION_ALIGNMENT == 0) {
    return 1;
  }
  uint64_t reach = 2;
  while (reach < WIDEST_FILL && reach <= (uint64_t)size) {
    reach *= 2;
  }
  if (boundary % reach != 0) {
    return 0;
  }
  if (about->is_nobits[section]) {
    return size < WIDEST_PADDING;
  }
  int64_t at = start + about->to_file[section];
  if (size < 1 || size >= (in_code ? WIDEST_FILL : WIDEST_PADDING) || at < 0 ||
      at > about->size - size) {
    return 0;
  }
  return is_blank(about->data + at, size, in_code);
}

static void add(Found* found, int64_t start, int64_t end, int8_t what) {
  if (found->count < found->room) {
    found->start[found->count] = start;
    found->end[found->count] = end;
    found->what[found->count] = what;
  }
  found->count++;
}

// Add the bytes [start, end) of a section, before or between strings, if they are padding.
static void add_rest(Found* found, const Sections* about, int64_t start, int64_t end,
                     int64_t section) {
  if (start < end && is_padding(about, start, end, section)) {
    add(found, start, end, PADDING);
  }
}

// Find the next run of strings in data[size] from `at` on, where a string may begin. Each is text
// of four bytes or more and a NUL. Returns its start, or -1; sets its end.
static int64_t next_strings(const uint8_t* data, int64_t size, int64_t at, int64_t* end) {
  int64_t start = -1;
  while (at < size) {
    int64_t after = at;
    while (after < size && IS_TEXT[data[after]]) {
      after++;
    }
    int is_string = after < size && data[after] == 0 && after - at >= SHORTEST_STRING;
    if (is_string && start < 0) {
      start = at;
    }
    if (!is_string && start >= 0) {
      break;
    }
    if (after < size && data[after] != 0) {
      const uint8_t* nul = memchr(data + after, 0, (size_t)(size - after));
      after = nul != NULL ? nul - data : size;
    }
    at = after + 1;
    *end = at;
  }
  return start;
}

// Add the strings of a gap, and the padding around them. Returns whether there are strings.
static int add_strings(Found* found, const Sections* about, int64_t start, int64_t end,
                       int64_t section) {
  if (about->is_text[section]) {
    add(found, start, end, STRING);
    return 1;
  }
  int64_t size = end - start;
  int64_t at = start + about->to_file[section];
  if (!about->is_fixed[section] || size <= SHORTEST_STRING || at < 0 || at > about->size - size) {
    return 0;
  }
  int64_t reached = 0;
  int64_t next = 0;
  int64_t first;
  while ((first = next_strings(about->data + at, size, next, &next)) >= 0) {
    add_rest(found, about, start + reached, start + first, section);
    add(found, start + first, start + next, STRING);
    reached = next;
  }
  if (reached == 0) {
    return 0;
  }
  add_rest(found, about, start + reached, end, section);
  return 1;
}

// Find gaps that are entirely padding, and strings and padding in the others.
//
// data[size]: the file; is_fixed to to_address: of each section, see _Sections. start, end, section
// [count]: the gaps. Writes the indices of the former to whole[count], and the first `room` ranges
// of the others to found_start, found_end and what. Writes their numbers to counts[2].
__attribute__((visibility("default"))) int64_t
look_into(const uint8_t* data, int64_t size, const uint8_t* is_fixed, const uint8_t* is_code,
          const uint8_t* is_nobits, const uint8_t* is_text, const int64_t* to_file,
          const int64_t* to_address, const int64_t* start, const int64_t* end,
          const int64_t* section, int64_t count, int64_t* whole, int64_t* found_start,
          int64_t* found_end, int8_t* what, int64_t room, int64_t* counts) {
  Sections about = {data, size, is_fixed, is_code, is_nobits, is_text, to_file, to_address};
  Found found = {whole, 0, found_start, found_end, what, 0, room};
  for (int64_t i = 0; i < count; i++) {
    if (!add_strings(&found, &about, start[i], end[i], section[i]) &&
        is_padding(&about, start[i], end[i], section[i])) {
      whole[found.wholes++] = i;
    }
  }
  counts[0] = found.wholes;
  counts[1] = found.count;
  return 0;
}
