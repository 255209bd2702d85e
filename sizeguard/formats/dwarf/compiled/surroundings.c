#include "entries.h"

static int is_scope(int64_t tag) {
  return is_type(tag) || tag == TAG_NAMESPACE || tag == TAG_SUBPROGRAM;
}

// The attributes that are read
static const int WANTED[] = {AT_SIBLING, AT_NORETURN};

// Find the scopes around entries of a unit: namespaces, types and functions.
//
// wanted[count]: the entries' places, ascending. Writes to scopes the place and the tag of each
// scope around the first entry, the outermost first, then of those around the second …, as far as
// they are within the first `room` scopes; first[count + 1] gets where those of each entry begin.
// Returns the number of scopes, or an error with its sign changed.
EXPORT int64_t scopes_around(Dwarf* dwarf, int64_t which, const int64_t* wanted, int64_t count,
                             int64_t* first, int64_t* scopes, int64_t room) {
  Walk walk;
  int64_t scope[MOST_NESTED + 1][2];
  int64_t outer[MOST_NESTED + 1];
  int64_t scope_count = outer[0] = 0;
  int64_t found = 0;
  int64_t next = 0;
  int error = begin_walk(dwarf, dwarf->units + which, &walk);
  while (error == 0 && walk.at < walk.unit->end && next < count) {
    const Shape* shape;
    Value of[2];
    error = next_entry(&walk, WANTED, 2, &shape, of);
    if (error != 0) {
      break;
    }
    if (shape == NULL) {
      scope_count = outer[walk.depth];
      continue;
    }
    for (; next < count && wanted[next] < walk.place; next++) {
      first[next] = found;  // no entry begins there
    }
    if (next < count && wanted[next] == walk.place) {
      first[next++] = found;
      error = spend_entry(dwarf, scope_count, walk.place);
      for (int64_t i = 0; i < scope_count; i++, found++) {
        if (found < room) {
          memcpy(scopes + 2 * found, scope[i], sizeof scope[i]);
        }
      }
    }
    if (error != 0 || !shape->has_children) {
      continue;
    }
    int64_t sibling = (int64_t)of[0].value;
    int is_inside = sibling > walk.at && sibling < walk.unit->end;
    if (is_inside && (next == count || wanted[next] >= sibling)) {
      walk.at = sibling;
      continue;
    }
    outer[walk.depth] = scope_count;
    if (is_scope(shape->tag)) {
      scope[scope_count][0] = walk.place;
      scope[scope_count++][1] = shape->tag;
    }
    error = descend(&walk);
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
  Walk walk;
  int64_t hidden = MOST_NESTED;  // the depth of the outermost entry that is no namespace
  int64_t found = 0;
  int error = begin_walk(dwarf, dwarf->units + which, &walk);
  while (error == 0 && walk.at < walk.unit->end) {
    const Shape* shape;
    Value of[2];
    error = next_entry(&walk, WANTED, 2, &shape, of);
    if (error != 0) {
      break;
    }
    if (shape == NULL) {
      hidden = walk.depth == hidden ? MOST_NESTED : hidden;
      continue;
    }
    int is_namespace = shape->tag == TAG_NAMESPACE;
    if (shape->tag == TAG_SUBPROGRAM && hidden == MOST_NESTED) {
      if (found < room) {
        functions[2 * found] = walk.place;
        functions[2 * found + 1] = of[1].form != 0;
      }
      found++;
    }
    int64_t sibling = (int64_t)of[0].value;
    if (!shape->has_children) {
      continue;
    }
    if (!is_namespace && sibling >= walk.at && sibling < walk.unit->end) {
      walk.at = sibling;
      continue;
    }
    hidden = !is_namespace && walk.depth < hidden ? walk.depth : hidden;
    error = descend(&walk);
  }
  return error != 0 ? -error : found;
}
