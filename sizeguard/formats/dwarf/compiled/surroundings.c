#include "entries.h"

// Return the first of wanted[count] that is not below a place; they are ascending.
static int64_t first_from(const int64_t* wanted, int64_t count, int64_t place) {
  int64_t low = 0;
  for (int64_t high = count; low < high;) {
    int64_t middle = low + (high - low) / 2;
    if (wanted[middle] < place) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

static int is_scope(int64_t tag) {
  return is_type(tag) || tag == TAG_NAMESPACE || tag == TAG_SUBPROGRAM;
}

// Read the attributes of an entry; *sibling: its DW_AT_sibling, 0 if there is none.
static int read_sibling(Dwarf* dwarf, const Unit* unit, const Shape* shape, int64_t* at,
                        int64_t* sibling, int* is_noreturn) {
  static const int wanted[] = {AT_SIBLING, AT_NORETURN};
  Value found[2];
  int error = read_values(dwarf, unit, shape, at, wanted, 2, found);
  *sibling = (int64_t)found[0].value;
  *is_noreturn = found[1].form != 0;
  return error;
}

// Find the scopes around entries of a unit: namespaces, types and functions.
//
// wanted[count]: the entries' places, ascending. Writes to scopes the place and the tag of each
// scope around the first entry, the outermost first, then of those around the second …, as far as
// they are within the first `room` scopes; first[count + 1] gets where those of each entry begin.
// Returns the number of scopes, or an error with its sign changed.
EXPORT int64_t scopes_around(Dwarf* dwarf, int64_t which, const int64_t* wanted, int64_t count,
                             int64_t* scopes, int64_t room, int64_t* first) {
  Unit* unit = dwarf->units + which;
  int64_t scope[MOST_NESTED][2];
  int64_t outer[MOST_NESTED];
  int error = read_unit(dwarf, unit);
  int64_t scope_count = 0;
  int64_t depth = 0;
  int64_t found = 0;
  int64_t next = 0;
  for (int64_t at = unit->children; error == 0 && at < unit->end && next < count;) {
    int64_t place = at;
    int64_t sibling;
    int is_noreturn;
    const Shape* shape;
    error = read_shape(dwarf, unit, &at, &shape);
    if (error == 0 && shape == NULL) {
      if (depth == 0) {
        break;
      }
      scope_count = outer[--depth];
      continue;
    }
    error = error != 0 ? error : read_sibling(dwarf, unit, shape, &at, &sibling, &is_noreturn);
    if (error != 0) {
      break;
    }
    int64_t following = first_from(wanted, count, place);
    for (; next < following; next++) {
      first[next] = found;  // no entry begins there
    }
    if (following < count && wanted[following] == place) {
      first[next++] = found;
      for (int64_t i = 0; i < scope_count; i++, found++) {
        if (found < room) {
          memcpy(scopes + 2 * found, scope[i], sizeof scope[i]);
        }
      }
    }
    if (!shape->has_children) {
      continue;
    }
    if (sibling > at && sibling < unit->end && (next == count || wanted[next] >= sibling)) {
      at = sibling;
      continue;
    }
    if (depth == MOST_NESTED) {
      error = failed(dwarf, NESTED, place);
      break;
    }
    outer[depth++] = scope_count;
    if (is_scope(shape->tag)) {
      scope[scope_count][0] = place;
      scope[scope_count++][1] = shape->tag;
    }
  }
  for (; next <= count; next++) {
    first[next] = found;
  }
  return error != 0 ? -error : found;
}

// Find the functions of a unit that are outside of types and functions.
//
// Writes the first `room` of them: the place, and whether the entry says that it never returns.
// Returns their number, or an error with its sign changed.
EXPORT int64_t outermost_functions(Dwarf* dwarf, int64_t which, int64_t* functions, int64_t room) {
  Unit* unit = dwarf->units + which;
  int64_t depth = 0;
  int64_t hidden = 0;  // the depth of the outermost entry that is no namespace, or 0
  int64_t found = 0;
  int error = read_unit(dwarf, unit);
  for (int64_t at = unit->children; error == 0 && at < unit->end;) {
    int64_t place = at;
    int64_t sibling;
    int is_noreturn;
    const Shape* shape;
    error = read_shape(dwarf, unit, &at, &shape);
    if (error == 0 && shape == NULL) {
      if (depth == 0) {
        break;
      }
      hidden = hidden == depth ? 0 : hidden;
      depth--;
      continue;
    }
    error = error != 0 ? error : read_sibling(dwarf, unit, shape, &at, &sibling, &is_noreturn);
    if (error != 0) {
      break;
    }
    if (shape->tag == TAG_SUBPROGRAM && hidden == 0) {
      if (found < room) {
        functions[2 * found] = place;
        functions[2 * found + 1] = is_noreturn;
      }
      found++;
    }
    if (!shape->has_children) {
      continue;
    }
    if (shape->tag != TAG_NAMESPACE && sibling >= at && sibling < unit->end) {
      at = sibling;
      continue;
    }
    if (++depth > MOST_NESTED) {
      error = failed(dwarf, NESTED, place);
    }
    hidden = hidden == 0 && shape->tag != TAG_NAMESPACE ? depth : hidden;
  }
  return error != 0 ? -error : found;
}
