// What C code gets from Python: sections, units, and the shapes of their entries.
//
// A function that can meet damaged data returns 0 or an error, whose place it stores in
// Dwarf.error_at.
#pragma once

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "constants.h"

#define EXPORT __attribute__((visibility("default")))

enum {
  UNIT_CUT = 1,
  NESTED,
  TOO_DEEP,
  NUMBER_WITHOUT_END,
  UNKNOWN_FORM,
  TEXT_WITHOUT_END,
  NO_ENTRY,
  NAME_OUTSIDE,
  NAMES_OVERLAP,
  PLACE_OUTSIDE,
  RANGES_CUT,
  RANGES_WITHOUT_END,
  UNKNOWN_RANGE,
  SHAPES_CUT,
  SHAPES_OVERLAP,
  TOO_MUCH,
};

#define NONE (-1)
#define DEEPEST 512                 // nesting of functions; real files stay below 100
#define MOST_NESTED (16 * DEEPEST)  // nesting of entries

typedef struct {
  const uint8_t* data;
  int64_t size;
} Section;

// A unit: the bytes [start, end) of .debug_info, with its own entry at `entries`.
//
// children: offset of the entries in its own; 0 until read_unit sets it and what follows
typedef struct {
  int64_t start;
  int64_t entries;
  int64_t end;
  int64_t version;
  int64_t type;
  int64_t address_size;
  int64_t offset_size;
  int64_t table;
  int64_t children;
  int64_t low_pc;
  int64_t str_offsets_base;
  int64_t addr_base;
  int64_t ranges_base;
} Unit;

// An abbreviation; its attributes are [first, first + count). order: its place in .debug_abbrev
typedef struct {
  uint64_t code;
  int64_t order;
  int64_t tag;
  int64_t has_children;
  int64_t first;
  int64_t count;
} Shape;

typedef struct {
  int32_t attribute;
  int32_t form;
  int64_t constant;
} Attribute;

// All that is read of a file.
//
// tables: the first shape of each table, and their number
// range_budget, text_budget, entry_budget: ranges, bytes of names, and attributes and scopes, that
// may still be read. Few entries share a list or a name, and few attributes have no bytes: a file
// whose entries all share a long one is designed to exhaust time and memory.
typedef struct {
  Section info;
  Section abbrev;
  Section str;
  Section line_str;
  Section str_offsets;
  Section addr;
  Section ranges;
  Section rnglists;
  int64_t is_swapped;
  Unit* units;
  int64_t unit_count;
  int64_t (*tables)[2];
  Shape* shapes;
  Attribute* attributes;
  int64_t range_budget;
  int64_t text_budget;
  int64_t entry_budget;
  int64_t error_at;
} Dwarf;

static inline int failed(Dwarf* dwarf, int error, int64_t at) {
  dwarf->error_at = at;
  return error;
}
