#include <stdint.h>
#include <string.h>

enum { CIE, FDE, END };

// A section's bytes; is_swapped: whether its numbers have the other byte order.
typedef struct {
  const uint8_t* data;
  int64_t size;
  int is_swapped;
} Content;

static uint16_t half_word(Content content, int64_t at) {
  uint16_t value;
  memcpy(&value, content.data + at, 2);
  return content.is_swapped ? __builtin_bswap16(value) : value;
}

static uint32_t word(Content content, int64_t at) {
  uint32_t value;
  memcpy(&value, content.data + at, 4);
  return content.is_swapped ? __builtin_bswap32(value) : value;
}

static uint64_t long_word(Content content, int64_t at) {
  uint64_t value;
  memcpy(&value, content.data + at, 8);
  return content.is_swapped ? __builtin_bswap64(value) : value;
}

// Read a number of 1, 2, 4 or 8 bytes, as two's complement; 0 if it is not inside the content.
static uint64_t number(Content content, int64_t at, int width, int is_signed) {
  if (at > content.size - width) {
    return 0;
  }
  uint64_t value;
  switch (width) {
    case 1:
      return content.data[at];
    case 2:
      value = half_word(content, at);
      return is_signed ? (uint64_t)(int64_t)(int16_t)value : value;
    case 4:
      value = word(content, at);
      return is_signed ? (uint64_t)(int64_t)(int32_t)value : value;
    default:
      return long_word(content, at);
  }
}

// Return the bytes of the records that a table lists, or -1 if they cannot be records.
//
// listed[count]: their offsets, ascending and distinct, each at least 8 bytes before the end.
__attribute__((visibility("default"))) int64_t listed_bytes(const uint8_t* data, int64_t size,
                                                            int64_t is_swapped,
                                                            const int64_t* listed, int64_t count) {
  Content content = {data, size, is_swapped != 0};
  int64_t total = 0;
  for (int64_t i = 0; i < count; i++) {
    int64_t length = 4 + (int64_t)word(content, listed[i]);
    int64_t next = i + 1 < count ? listed[i + 1] : size;
    if (length < 8 || length > next - listed[i]) {
      return -1;
    }
    total += length;
  }
  return total;
}

// Find the records in order: listed ones, and those between them up to a damaged one.
//
// listed[count]: offsets that listed_bytes accepts. Writes the first `room` records to start[room]
// and size_of[room]. marks: a bit for each byte of the content, set where a record begins; only if
// has_marks. Returns the number of records.
__attribute__((visibility("default"))) int64_t walk_records(
    const uint8_t* data, int64_t size, int64_t is_swapped, const int64_t* listed, int64_t count,
    int64_t* start, int64_t* size_of, int64_t room, uint8_t* marks, int64_t has_marks) {
  Content content = {data, size, is_swapped != 0};
  int64_t found = 0;
  int64_t at = 0;
  for (int64_t i = 0; i <= count;) {
    int64_t high = i < count ? listed[i] : size;
    int64_t length = high - at >= 4 ? (int64_t)word(content, at) : -1;
    // No tool writes 64-bit records, which begin with ff ff ff ff.
    if (length < 0 || length > high - at - 4 || (length > 0 && length < 4)) {
      if (++i > count) {
        break;
      }
      at = high;
      length = (int64_t)word(content, at);
    }
    if (found < room) {
      start[found] = at;
      size_of[found] = 4 + length;
    }
    if (has_marks) {
      marks[at >> 3] |= (uint8_t)(1 << (at & 7));
    }
    found++;
    at += 4 + length;
  }
  return found;
}

// Return whether records begin at all listed offsets, by the marks of walk_records.
__attribute__((visibility("default"))) int64_t are_marked(const uint8_t* marks,
                                                          const int64_t* listed, int64_t count) {
  for (int64_t i = 0; i < count; i++) {
    if (!(marks[listed[i] >> 3] >> (listed[i] & 7) & 1)) {
      return 0;
    }
  }
  return 1;
}

// Find the kind of each record and, for an FDE, the offset of its CIE.
//
// Writes kind[count], cie[count] (0 for other kinds), and to runs[count] the CIEs without equal
// neighbours among FDEs. Returns the number of runs.
__attribute__((visibility("default"))) int64_t
record_kinds(const uint8_t* data, int64_t size, int64_t is_swapped, const int64_t* start,
             const int64_t* size_of, int64_t count, int8_t* kind, int64_t* cie, int64_t* runs) {
  Content content = {data, size, is_swapped != 0};
  int64_t found = 0;
  for (int64_t i = 0; i < count; i++) {
    uint32_t id = size_of[i] == 4 ? 0 : word(content, start[i] + 4);
    kind[i] = size_of[i] == 4 ? END : id == 0 ? CIE : FDE;
    cie[i] = kind[i] == FDE ? start[i] + 4 - (int64_t)id : 0;
    if (kind[i] == FDE && (found == 0 || runs[found - 1] != cie[i])) {
      runs[found++] = cie[i];
    }
  }
  return found;
}

// Columns of FDEs, see UnwindRecords; the last two only in relocatable objects.
typedef struct {
  int64_t* function;
  int64_t* lsda;
  int64_t* extent;
  int64_t* function_at;
  int64_t* lsda_at;
} Columns;

// Read a pointer, absolute or relative to its own place; `nowhere` for other forms.
static int64_t pointer(Content content, int64_t at, const uint8_t* form, int64_t address,
                       int64_t nowhere) {
  int base = form[0] & 0x70;
  if (base != 0x00 && base != 0x10) {
    return nowhere;
  }
  uint64_t value = number(content, at, form[1], form[0] & 8);
  return (int64_t)(base == 0x10 ? value + (uint64_t)at + (uint64_t)address : value);
}

// Read the pointers of FDE i, which occupies [start, end). form: the form and the width of its
// function, then those of its LSDA.
static void decode(Content content, int64_t start, int64_t end, const uint8_t* form,
                   int64_t address, int64_t nowhere, Columns to, int64_t i) {
  int64_t at = start + 8;
  if (form[1] == 0) {
    return;
  }
  if (to.function_at != NULL) {
    to.function_at[i] = at;
  }
  to.function[i] = pointer(content, at, form, address, nowhere);
  at += form[1];
  to.extent[i] = (int64_t)number(content, at, form[1], 0);
  at += form[1];
  // The length of the augmentation is one byte if it contains only the pointer.
  uint64_t length = number(content, at, 1, 0);
  at++;
  if (form[3] == 0 || length < form[3] || length >= 128 || at + form[3] > end) {
    return;
  }
  if (to.lsda_at != NULL) {
    to.lsda_at[i] = at;
  }
  if (number(content, at, form[3], 0) != 0) {
    to.lsda[i] = pointer(content, at, form + 2, address, nowhere);
  }
}

// Read the functions, their extents and the LSDAs that FDEs name.
//
// start, size_of, kind, cie [count]: of records, as above; cies[forms]: offsets of all CIEs that
// FDEs name, ascending; form[4 * forms]: see decode. address: of the section. The columns [count]
// have the values of records that name nothing; function_at and lsda_at only if is_relocatable.
__attribute__((visibility("default"))) int64_t
decode_records(const uint8_t* data, int64_t size, int64_t is_swapped, int64_t address,
               const int64_t* start, const int64_t* size_of, const int8_t* kind, const int64_t* cie,
               int64_t count, const int64_t* cies, const uint8_t* form, int64_t forms,
               int64_t nowhere, int64_t is_relocatable, int64_t* function, int64_t* lsda,
               int64_t* extent, int64_t* function_at, int64_t* lsda_at) {
  Content content = {data, size, is_swapped != 0};
  Columns to = {function, lsda, extent, is_relocatable ? function_at : NULL,
                is_relocatable ? lsda_at : NULL};
  int64_t last = 0;
  for (int64_t i = 0; i < count; i++) {
    if (kind[i] != FDE) {
      continue;
    }
    if (cies[last] != cie[i]) {
      int64_t low = 0;
      for (int64_t high = forms; high - low > 1;) {
        int64_t middle = low + (high - low) / 2;
        *(cies[middle] <= cie[i] ? &low : &high) = middle;
      }
      last = low;
    }
    decode(content, start[i], start[i] + size_of[i], form + 4 * last, address, nowhere, to, i);
  }
  return count;
}
