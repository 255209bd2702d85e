#include "entries.h"

int read_own_shape(Dwarf* dwarf, const Unit* unit, int64_t* at, const Shape** shape) {
  *at = unit->entries;
  *shape = NULL;
  return *at < unit->end ? read_shape(dwarf, unit, at, shape) : 0;
}

int read_unit(Dwarf* dwarf, Unit* unit) {
  static const int wanted[] = {AT_LOW_PC, AT_STR_OFFSETS_BASE, AT_RNGLISTS_BASE, AT_ADDR_BASE,
                               AT_GNU_ADDR_BASE};
  if (unit->children != 0) {
    return 0;
  }
  int64_t at;
  const Shape* shape;
  Value found[5] = {{0, 0}};
  int error = read_own_shape(dwarf, unit, &at, &shape);
  if (error == 0 && shape != NULL) {
    error = read_values(dwarf, unit, shape, &at, wanted, 5, found);
  }
  unit->str_offsets_base = (int64_t)found[1].value;
  unit->ranges_base = (int64_t)found[2].value;
  unit->addr_base = (int64_t)found[found[3].form != 0 ? 3 : 4].value;
  if (error == 0 && found[0].form != 0 && found[0].form != FORM_ADDR) {
    error = indexed_address(dwarf, unit, found[0].value, &found[0].value);
  }
  if (error == 0) {
    unit->low_pc = (int64_t)found[0].value;
    unit->children = shape != NULL && shape->has_children ? at : unit->end;
  }
  return error;
}

// Return the index of the unit that contains the entry at a place, or NONE. guess: a unit to try
// first
static int64_t unit_at(const Dwarf* dwarf, uint64_t place, int64_t guess) {
  const Unit* units = dwarf->units;
  int64_t which = guess;
  if (which < 0 || place < (uint64_t)units[which].start || place >= (uint64_t)units[which].end) {
    int64_t low = 0;
    for (int64_t high = dwarf->unit_count; low < high;) {
      int64_t middle = low + (high - low) / 2;
      if ((uint64_t)units[middle].start <= place) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    which = low - 1;
  }
  int is_inside =
      which >= 0 && place >= (uint64_t)units[which].entries && place < (uint64_t)units[which].end;
  return is_inside ? which : NONE;
}

// Where the text of a name is: a section of texts, and [start, end) in it.
typedef struct {
  int64_t section;
  int64_t start;
  int64_t end;
} Text;

enum { NOWHERE, IN_STR, IN_LINE_STR, IN_INFO };

// Find the text that an attribute refers to; NOWHERE if it is in a file that dwz shares.
static int find_text(Dwarf* dwarf, const Unit* unit, Value from, Text* text) {
  Section section = dwarf->str;
  text->section = IN_STR;
  if (from.form == FORM_GNU_STRP_ALT || from.form == FORM_STRP_SUP) {
    *text = (Text){NOWHERE, 0, 0};
    return 0;
  }
  if (from.form == FORM_STRING) {
    section = dwarf->info;
    text->section = IN_INFO;
  } else if (from.form == FORM_LINE_STRP) {
    section = dwarf->line_str;
    text->section = IN_LINE_STR;
  } else if (from.form != FORM_STRP) {
    uint64_t base = from.form == FORM_GNU_STR_INDEX ? 0 : (uint64_t)unit->str_offsets_base;
    int error =
        number_of(dwarf, dwarf->str_offsets, base + from.value * (uint64_t)unit->offset_size,
                  unit->offset_size, &from.value);
    if (error != 0) {
      return error;
    }
  }
  const uint8_t* end = NULL;
  if (from.value < (uint64_t)section.size) {
    end = memchr(section.data + from.value, 0, (size_t)section.size - from.value);
  }
  if (end == NULL) {
    return failed(dwarf, NAME_OUTSIDE, (int64_t)from.value);
  }
  text->start = (int64_t)from.value;
  text->end = end - section.data;
  return spend_text(dwarf, text->end - text->start, text->start);
}

int find_entry(Dwarf* dwarf, int64_t place, int64_t* which, int64_t* at, const Shape** shape) {
  *which = unit_at(dwarf, (uint64_t)place, *which);
  if (*which == NONE) {
    return failed(dwarf, NO_ENTRY, place);
  }
  Unit* unit = dwarf->units + *which;
  *at = place;
  int error = read_unit(dwarf, unit);
  if (error != 0) {
    return error;
  }
  error = read_shape(dwarf, unit, at, shape);
  return error != 0 || *shape == NULL ? failed(dwarf, NO_ENTRY, place) : 0;
}

// An entry's own names, and the entry that it refers to, NONE if there is none.
typedef struct {
  Text linkage;
  Text source;
  int64_t origin;
} Name;

static int read_name(Dwarf* dwarf, int64_t place, int64_t* which, Name* name) {
  static const int wanted[] = {AT_MIPS_LINKAGE_NAME, AT_LINKAGE_NAME, AT_NAME, AT_SPECIFICATION,
                               AT_ABSTRACT_ORIGIN};
  int64_t at;
  const Shape* shape;
  int error = find_entry(dwarf, place, which, &at, &shape);
  if (error != 0) {
    return error;
  }
  const Unit* unit = dwarf->units + *which;
  Value found[5];
  error = read_values(dwarf, unit, shape, &at, wanted, 5, found);
  *name = (Name){.origin = NONE};
  for (int i = 0; i < 2 && error == 0; i++) {
    if (found[i].form != 0) {
      error = find_text(dwarf, unit, found[i], &name->linkage);
    }
    if (found[3 + i].form != 0 && !is_elsewhere(found[3 + i].form)) {
      name->origin = (int64_t)found[3 + i].value;
    }
  }
  if (error == 0 && found[2].form != 0) {
    error = find_text(dwarf, unit, found[2], &name->source);
  }
  return error;
}

// Read the own names of the entries at places[count]. Returns 0, or an error with its sign changed.
EXPORT int64_t entry_names(Dwarf* dwarf, const int64_t* places, int64_t count, Name* names) {
  int64_t which = NONE;
  for (int64_t i = 0; i < count; i++) {
    int error = read_name(dwarf, places[i], &which, names + i);
    if (error != 0) {
      return -error;
    }
  }
  return 0;
}

// Read the attributes of a unit's own entry.
//
// Writes the first `room` of them: attribute, form and value. Returns their number, or an error
// with its sign changed.
EXPORT int64_t own_attributes(Dwarf* dwarf, int64_t which, int64_t* rows, int64_t room) {
  Unit* unit = dwarf->units + which;
  const Shape* shape = NULL;
  int64_t at;
  int error = read_unit(dwarf, unit);
  error = error != 0 ? error : read_own_shape(dwarf, unit, &at, &shape);
  int64_t count = shape != NULL ? shape->count : 0;
  for (int64_t i = 0; i < count && error == 0; i++) {
    const Attribute* attribute = dwarf->attributes + shape->first + i;
    Value found = {0};
    error = read_value(dwarf, unit, attribute, &at, &found);
    if (i < room) {
      rows[3 * i] = attribute->attribute;
      rows[3 * i + 1] = found.form;
      rows[3 * i + 2] = (int64_t)found.value;
    }
  }
  return error != 0 ? -error : count;
}

// Find the text that an attribute of a unit refers to. Returns 0, or an error with its sign
// changed.
EXPORT int64_t text_of(Dwarf* dwarf, int64_t which, int64_t form, int64_t value, Text* text) {
  return -find_text(dwarf, dwarf->units + which, (Value){(uint64_t)value, form}, text);
}
