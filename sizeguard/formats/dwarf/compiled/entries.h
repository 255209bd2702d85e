// Read entries of .debug_info and the values of their attributes, below the end of their unit.
#pragma once

#include "debug_info.h"

// The value of an attribute. Of a string or a block it is its offset, of a reference an offset in
// .debug_info. form: 0 if the entry does not have the attribute.
typedef struct {
  uint64_t value;
  int64_t form;
} Value;

// Read a number of 1 to 8 bytes, which must be there.
static inline uint64_t number_at(const uint8_t* data, int width, int is_swapped) {
  uint64_t value = 0;
  switch (width) {
    case 1:
      return data[0];
    case 4: {
      uint32_t word;
      memcpy(&word, data, 4);
      return is_swapped ? __builtin_bswap32(word) : word;
    }
    case 8:
      memcpy(&value, data, 8);
      return is_swapped ? __builtin_bswap64(value) : value;
    default:
      for (int i = 0; i < width; i++) {
        value |= (uint64_t)data[i] << (8 * (is_swapped ? width - 1 - i : i));
      }
      return value;
  }
}

// Read a number of another section.
static inline int number_of(Dwarf* dwarf, Section section, uint64_t at, int64_t width,
                            uint64_t* value) {
  if (at > (uint64_t)section.size || (uint64_t)section.size - at < (uint64_t)width) {
    return failed(dwarf, PLACE_OUTSIDE, (int64_t)at);
  }
  *value = number_at(section.data + at, (int)width, (int)dwarf->is_swapped);
  return 0;
}

// Read an unsigned LEB128 number below `end`; bits: of its bytes. Returns 0, UNIT_CUT or
// NUMBER_WITHOUT_END.
static inline int read_leb(const uint8_t* data, int64_t end, int64_t* at, uint64_t* value,
                           int* bits) {
  uint64_t found = 0;
  for (int shift = 0;; shift += 7) {
    if (*at >= end) {
      return UNIT_CUT;
    }
    if (shift > 70) {
      return NUMBER_WITHOUT_END;
    }
    uint8_t byte = data[(*at)++];
    if (shift < 64) {
      found |= (uint64_t)(byte & 0x7f) << shift;
    }
    if (byte < 0x80) {
      *value = found;
      *bits = shift + 7;
      return 0;
    }
  }
}

static inline uint64_t signed_leb(uint64_t value, int bits) {
  return bits < 64 && value >> (bits - 1) & 1 ? value | ~(uint64_t)0 << bits : value;
}

// Return whether a form is a reference to another file, or the signature of a type.
static inline int is_elsewhere(int64_t form) {
  return form == FORM_GNU_REF_ALT || form == FORM_REF_SUP4 || form == FORM_REF_SUP8 ||
         form == FORM_REF_SIG8;
}

static inline int is_index(int64_t form) {
  return form == FORM_ADDRX || form == FORM_GNU_ADDR_INDEX ||
         (form >= FORM_ADDRX1 && form <= FORM_ADDRX4);
}

// Return the bytes of a form with a fixed size, NONE for other forms.
static inline int fixed_size(const Unit* unit, int64_t form) {
  switch (form) {
    case FORM_FLAG_PRESENT:
    case FORM_IMPLICIT:
      return 0;
    case FORM_DATA1:
    case FORM_FLAG:
    case FORM_REF1:
    case FORM_STRX1:
    case FORM_ADDRX1:
      return 1;
    case FORM_DATA2:
    case FORM_REF2:
    case FORM_STRX2:
    case FORM_ADDRX2:
      return 2;
    case FORM_STRX3:
    case FORM_ADDRX3:
      return 3;
    case FORM_DATA4:
    case FORM_REF4:
    case FORM_REF_SUP4:
    case FORM_STRX4:
    case FORM_ADDRX4:
      return 4;
    case FORM_DATA8:
    case FORM_REF8:
    case FORM_REF_SUP8:
    case FORM_REF_SIG8:
      return 8;
    case FORM_DATA16:
      return 16;
    case FORM_ADDR:
      return (int)unit->address_size;
    case FORM_REF_ADDR:
      return (int)(unit->version == 2 ? unit->address_size : unit->offset_size);
    case FORM_STRP:
    case FORM_LINE_STRP:
    case FORM_STRP_SUP:
    case FORM_SEC_OFFSET:
    case FORM_GNU_STRP_ALT:
    case FORM_GNU_REF_ALT:
      return (int)unit->offset_size;
    default:
      return NONE;
  }
}

static inline int is_unit_reference(int64_t form) {
  return (form >= FORM_REF1 && form <= FORM_REF_UDATA);
}

// Forms whose size is in the value.
enum { LEB, BLOCK, COUNTED_BLOCK, TEXT, INDIRECT, UNKNOWN };

static inline int kind_of(int64_t form) {
  switch (form) {
    case FORM_SDATA:
    case FORM_UDATA:
    case FORM_REF_UDATA:
    case FORM_STRX:
    case FORM_ADDRX:
    case FORM_LOCLISTX:
    case FORM_RNGLISTX:
    case FORM_GNU_ADDR_INDEX:
    case FORM_GNU_STR_INDEX:
      return LEB;
    case FORM_STRING:
      return TEXT;
    case FORM_EXPRLOC:
    case FORM_BLOCK:
      return BLOCK;
    case FORM_BLOCK1:
    case FORM_BLOCK2:
    case FORM_BLOCK4:
      return COUNTED_BLOCK;
    case FORM_INDIRECT:
      return INDIRECT;
    default:
      return UNKNOWN;
  }
}

// Read a LEB128 number of an entry.
static inline int entry_leb(Dwarf* dwarf, const Unit* unit, int64_t* at, uint64_t* value,
                            int* bits) {
  int error = read_leb(dwarf->info.data, unit->end, at, value, bits);
  return error != 0 ? failed(dwarf, error, error == UNIT_CUT ? unit->start : *at) : 0;
}

// Read a value whose size is in it. Of a block or string it is its offset.
static inline int read_varying(Dwarf* dwarf, const Unit* unit, int64_t form, int64_t* at,
                               uint64_t* value) {
  const uint8_t* data = dwarf->info.data;
  uint64_t size = 0;
  int bits;
  int error = 0;
  switch (kind_of(form)) {
    case LEB:
      error = entry_leb(dwarf, unit, at, value, &bits);
      if (error == 0 && form == FORM_SDATA) {
        *value = signed_leb(*value, bits);
      } else if (error == 0 && form == FORM_REF_UDATA) {
        *value += (uint64_t)unit->start;
      }
      return error;
    case TEXT: {
      const uint8_t* end = memchr(data + *at, 0, (size_t)(unit->end - *at));
      if (end == NULL) {
        return failed(dwarf, TEXT_WITHOUT_END, *at);
      }
      size = (uint64_t)(end + 1 - data - *at);
      break;
    }
    case BLOCK:
      error = entry_leb(dwarf, unit, at, &size, &bits);
      break;
    case COUNTED_BLOCK: {
      int width = form == FORM_BLOCK1 ? 1 : form == FORM_BLOCK2 ? 2 : 4;
      if (unit->end - *at < width) {
        return failed(dwarf, UNIT_CUT, unit->start);
      }
      size = number_at(data + *at, width, (int)dwarf->is_swapped);
      *at += width;
      break;
    }
    default:
      return failed(dwarf, UNKNOWN_FORM, form);
  }
  if (error == 0 && size > (uint64_t)(unit->end - *at)) {
    error = failed(dwarf, UNIT_CUT, unit->start);
  }
  if (error == 0) {
    *value = (uint64_t)*at;
    *at += (int64_t)size;
  }
  return error;
}

// Read an attribute's value at *at, which is not behind the unit's end.
static inline int read_value(Dwarf* dwarf, const Unit* unit, const Attribute* attribute,
                             int64_t* at, Value* found) {
  int64_t form = attribute->form;
  if (form == FORM_INDIRECT) {
    uint64_t actual;
    int bits;
    int error = entry_leb(dwarf, unit, at, &actual, &bits);
    if (error != 0) {
      return error;
    }
    if (actual > INT32_MAX || actual == FORM_INDIRECT || actual == FORM_IMPLICIT) {
      return failed(dwarf, UNKNOWN_FORM, actual > INT32_MAX ? INT32_MAX : (int64_t)actual);
    }
    form = (int64_t)actual;
  }
  found->form = form;
  int size = fixed_size(unit, form);
  if (size < 0) {
    return read_varying(dwarf, unit, form, at, &found->value);
  }
  if (unit->end - *at < size) {
    return failed(dwarf, UNIT_CUT, unit->start);
  }
  const uint8_t* data = dwarf->info.data + *at;
  *at += size;
  if (form == FORM_IMPLICIT) {
    found->value = (uint64_t)attribute->constant;
  } else if (form == FORM_FLAG_PRESENT) {
    found->value = 1;
  } else {
    found->value = size <= 8 ? number_at(data, size, (int)dwarf->is_swapped) : 0;
    found->value += is_unit_reference(form) ? (uint64_t)unit->start : 0;
  }
  return 0;
}

// Return the shape of a code, NULL if the unit's table has none. Tables are sorted by code.
static inline const Shape* shape_of(const Dwarf* dwarf, const Unit* unit, uint64_t code) {
  const Shape* shapes = dwarf->shapes + dwarf->tables[unit->table][0];
  uint64_t count = (uint64_t)dwarf->tables[unit->table][1];
  if (code - 1 < count && shapes[code - 1].code == code) {
    return shapes + code - 1;
  }
  uint64_t low = 0;
  for (uint64_t high = count; low < high;) {
    uint64_t middle = low + (high - low) / 2;
    if (shapes[middle].code < code) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low < count && shapes[low].code == code ? shapes + low : NULL;
}

// Read the code of the entry at *at; shape: NULL where a list of children ends.
static inline int read_shape(Dwarf* dwarf, const Unit* unit, int64_t* at, const Shape** shape) {
  uint64_t code;
  int bits;
  int error = entry_leb(dwarf, unit, at, &code, &bits);
  if (error != 0) {
    return error;
  }
  *shape = code != 0 ? shape_of(dwarf, unit, code) : NULL;
  return code != 0 && *shape == NULL ? failed(dwarf, UNIT_CUT, unit->start) : 0;
}

// Count attributes or scopes of the entry at a place.
static inline int spend_entry(Dwarf* dwarf, int64_t count, int64_t at) {
  dwarf->entry_budget -= count;
  return dwarf->entry_budget < 0 ? failed(dwarf, TOO_MUCH, at) : 0;
}

// Read an entry's attributes at *at. found[count]: the values of those that are wanted.
static inline int read_values(Dwarf* dwarf, const Unit* unit, const Shape* shape, int64_t* at,
                              const int* wanted, int count, Value* found) {
  const Attribute* attribute = dwarf->attributes + shape->first;
  for (int i = 0; i < count; i++) {
    found[i] = (Value){0, 0};
  }
  int error = spend_entry(dwarf, shape->count, *at);
  for (int64_t i = 0; i < shape->count && error == 0; i++) {
    Value value = {0, 0};
    error = read_value(dwarf, unit, attribute + i, at, &value);
    for (int j = 0; j < count; j++) {
      if (attribute[i].attribute == wanted[j]) {
        found[j] = value;
      }
    }
  }
  return error;
}

static inline int is_structure(int64_t tag) {
  return tag == TAG_CLASS || tag == TAG_STRUCTURE || tag == TAG_UNION;
}

// Return whether entries of a tag are types. They contain no code: functions with code are outside
// their class.
static inline int is_type(int64_t tag) {
  return is_structure(tag) || tag == TAG_ARRAY || tag == TAG_ENUMERATION ||
         tag == TAG_SUBROUTINE_TYPE || tag == TAG_INTERFACE || tag == TAG_RVALUE_REFERENCE;
}

// Read an entry of .debug_addr.
static inline int indexed_address(Dwarf* dwarf, const Unit* unit, uint64_t index,
                                  uint64_t* address) {
  return number_of(dwarf, dwarf->addr,
                   (uint64_t)unit->addr_base + index * (uint64_t)unit->address_size,
                   unit->address_size, address);
}

// Count bytes of names that were read at a place, which other entries may read again.
static inline int spend_text(Dwarf* dwarf, int64_t size, int64_t at) {
  dwarf->text_budget -= size > 0 ? size : 0;
  return dwarf->text_budget < 0 ? failed(dwarf, NAMES_OVERLAP, at) : 0;
}

// Read the attributes of a unit's own entry that its other entries need, once.
int read_unit(Dwarf* dwarf, Unit* unit);

// Read the shape of a unit's own entry, NULL if it has none; *at: its attributes.
int read_own_shape(Dwarf* dwarf, const Unit* unit, int64_t* at, const Shape** shape);

// Read the shape of the entry at a place; *at: its attributes. *which: its unit; before, a guess.
int find_entry(Dwarf* dwarf, int64_t place, int64_t* which, int64_t* at, const Shape** shape);

// A position among the entries below a unit's own. place: the entry that was read last
typedef struct {
  Dwarf* dwarf;
  const Unit* unit;
  int64_t at;
  int64_t place;
  int64_t depth;
} Walk;

static inline int begin_walk(Dwarf* dwarf, Unit* unit, Walk* walk) {
  int error = read_unit(dwarf, unit);
  *walk = (Walk){dwarf, unit, unit->children, unit->children, 0};
  return error;
}

// Read the shape and the wanted attributes of the next entry. shape: NULL where a list of children
// ends; walk->depth is that of the entry with this list then.
static inline int next_entry(Walk* walk, const int* wanted, int count, const Shape** shape,
                             Value* found) {
  walk->place = walk->at;
  int error = read_shape(walk->dwarf, walk->unit, &walk->at, shape);
  if (error == 0 && *shape != NULL) {
    error = read_values(walk->dwarf, walk->unit, *shape, &walk->at, wanted, count, found);
  } else if (error == 0 && walk->depth > 0) {
    walk->depth--;
  } else if (error == 0) {
    walk->at = walk->unit->end;
  }
  return error;
}

// Go on with the children of the entry that was read.
static inline int descend(Walk* walk) {
  return ++walk->depth > MOST_NESTED ? failed(walk->dwarf, NESTED, walk->place) : 0;
}

// Called with each range of a list; a result other than 0 ends the reading.
typedef int RangeSink(void* to, uint64_t low, uint64_t high);

// Read the half-open, non-empty ranges of an entry; of: its DW_AT_low_pc, DW_AT_high_pc and
// DW_AT_ranges.
int read_ranges(Dwarf* dwarf, const Unit* unit, const Value of[3], RangeSink* sink, void* to);
