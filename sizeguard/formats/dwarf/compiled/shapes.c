#include "entries.h"

// What read_tables fills; without room, it only counts.
typedef struct {
  Dwarf* dwarf;
  int64_t shape_room;
  int64_t attribute_room;
  int64_t shape_count;
  int64_t attribute_count;
  int64_t budget;
} Tables;

static int read_number(Tables* tables, int64_t* at, uint64_t* value, int* bits) {
  const Section from = tables->dwarf->abbrev;
  int error = read_leb(from.data, from.size, at, value, bits);
  return error != 0 ? failed(tables->dwarf, error == UNIT_CUT ? SHAPES_CUT : error, *at) : 0;
}

static int64_t limited(uint64_t value) {
  return value > INT32_MAX ? INT32_MAX : (int64_t)value;
}

static int is_known(int64_t form) {
  const Unit any = {.address_size = 8, .offset_size = 4, .version = 4};
  return fixed_size(&any, form) >= 0 || kind_of(form) != UNKNOWN;
}

// Read the attributes of a shape, up to two zeros.
static int read_attributes(Tables* tables, int64_t* at) {
  for (;;) {
    uint64_t attribute;
    uint64_t form;
    uint64_t constant = 0;
    int bits;
    int error = read_number(tables, at, &attribute, &bits);
    error = error != 0 ? error : read_number(tables, at, &form, &bits);
    if (error == 0 && form == FORM_IMPLICIT) {
      error = read_number(tables, at, &constant, &bits);
      constant = error == 0 ? signed_leb(constant, bits) : 0;
    }
    if (error != 0 || (attribute == 0 && form == 0)) {
      return error;
    }
    if (!is_known(limited(form))) {
      return failed(tables->dwarf, UNKNOWN_FORM, limited(form));
    }
    if (tables->attribute_count < tables->attribute_room) {
      tables->dwarf->attributes[tables->attribute_count] =
          (Attribute){(int32_t)limited(attribute), (int32_t)limited(form), (int64_t)constant};
    }
    tables->attribute_count++;
    tables->budget -= 2;
  }
}

static int read_table(Tables* tables, int64_t at) {
  for (;;) {
    Shape shape = {.order = tables->shape_count, .first = tables->attribute_count};
    uint64_t tag;
    int bits;
    int error = read_number(tables, &at, &shape.code, &bits);
    if (error != 0 || shape.code == 0) {
      return error;
    }
    error = read_number(tables, &at, &tag, &bits);
    if (error == 0 && at >= tables->dwarf->abbrev.size) {
      error = failed(tables->dwarf, SHAPES_CUT, at);
    }
    if (error != 0) {
      return error;
    }
    shape.tag = limited(tag);
    shape.has_children = tables->dwarf->abbrev.data[at++] != 0;
    error = read_attributes(tables, &at);
    if (error != 0) {
      return error;
    }
    shape.count = tables->attribute_count - shape.first;
    if (tables->shape_count < tables->shape_room) {
      tables->dwarf->shapes[tables->shape_count] = shape;
    }
    tables->shape_count++;
    tables->budget -= 4;
    if (tables->budget < 0) {
      return failed(tables->dwarf, SHAPES_OVERLAP, at);
    }
  }
}

static int by_code(const void* one, const void* other) {
  const Shape* left = one;
  const Shape* right = other;
  if (left->code != right->code) {
    return left->code < right->code ? -1 : 1;
  }
  return (left->order > right->order) - (left->order < right->order);
}

// Sort the shapes of a table by code; of those with one code, keep the last. Returns their number.
static int64_t sort(Shape* shapes, int64_t count) {
  int64_t ordered = 1;
  while (ordered < count && shapes[ordered - 1].code < shapes[ordered].code) {
    ordered++;
  }
  if (ordered >= count) {
    return count;
  }
  qsort(shapes, (size_t)count, sizeof *shapes, by_code);
  int64_t kept = 0;
  for (int64_t i = 0; i < count; i++) {
    kept += i > 0 && shapes[kept - 1].code == shapes[i].code ? 0 : 1;
    shapes[kept - 1] = shapes[i];
  }
  return kept;
}

// Read tables of abbreviations into dwarf->shapes and dwarf->attributes, as far as there is room.
//
// offsets[count]: of the tables; dwarf->tables[count] gets the first shape and the number of each.
// Writes the numbers of shapes and attributes to counts. Returns 0, or an error with its sign
// changed.
EXPORT int64_t read_tables(Dwarf* dwarf, const int64_t* offsets, int64_t count, int64_t shape_room,
                           int64_t attribute_room, int64_t* counts) {
  // Tables follow each other. A file whose units read the same bytes again and again is designed to
  // exhaust time.
  Tables tables = {dwarf, shape_room, attribute_room, 0, 0, 4 * dwarf->abbrev.size + 4096};
  for (int64_t i = 0; i < count; i++) {
    int64_t first = tables.shape_count;
    int error = read_table(&tables, offsets[i]);
    if (error != 0) {
      return -error;
    }
    if (tables.shape_count <= shape_room && shape_room > 0) {
      dwarf->tables[i][0] = first;
      dwarf->tables[i][1] = sort(dwarf->shapes + first, tables.shape_count - first);
    }
  }
  counts[0] = tables.shape_count;
  counts[1] = tables.attribute_count;
  return 0;
}
