#include "entries.h"

// Rows of UnitScopes, with room for some of each kind.
typedef struct {
  int64_t* rows[3];
  int64_t room[3];
  int64_t count[3];
} Scopes;

// Their kinds, and the numbers in a row
enum { FUNCTIONS, TYPEDEFS, USES };
static const int WIDTH[] = {2, 3, 2};

typedef struct {
  int64_t function;
  int64_t structure;
} Scope;

static void add(Scopes* to, int kind, const int64_t* row) {
  if (to->count[kind] < to->room[kind]) {
    memcpy(to->rows[kind] + WIDTH[kind] * to->count[kind], row, (size_t)WIDTH[kind] * sizeof *row);
  }
  to->count[kind]++;
}

static int is_user(int64_t tag) {
  return tag == TAG_PARAMETER || tag == TAG_MEMBER || tag == TAG_VARIABLE;
}

// The attributes that are read, and the type in their values; NONE if the entry has none here.
static const int WANTED[] = {AT_TYPE, AT_DECLARATION};

enum {
  USUAL_ENTRY = 64,  // bytes of a type's entry; a longer one has a long name in it
  LONGEST = 64,      // nesting of types such as const CTYPE *const *
};

static int64_t type_in(const Value found[2]) {
  return found[0].form != 0 && !is_elsewhere(found[0].form) ? (int64_t)found[0].value : NONE;
}

// Read what contains what in a unit.
//
// Writes the first room[i] rows of each kind: functions, place and the function around it;
// typedefs, place and the class and the function around it; uses, a function and a type that a
// parameter, member or variable in it has. NONE is nothing. counts[3]: of the rows. Returns 0, or
// an error with its sign changed.
EXPORT int64_t read_scopes(Dwarf* dwarf, int64_t which, const int64_t* room, int64_t* functions,
                           int64_t* typedefs, int64_t* uses, int64_t* counts) {
  Scopes to = {{functions, typedefs, uses}, {room[0], room[1], room[2]}, {0}};
  Walk walk;
  Scope outer[MOST_NESTED + 1];
  Scope scope = outer[0] = (Scope){NONE, NONE};
  int error = begin_walk(dwarf, dwarf->units + which, &walk);
  while (error == 0 && walk.at < walk.unit->end) {
    const Shape* shape;
    Value found[2];
    error = next_entry(&walk, WANTED, 2, &shape, found);
    if (error != 0) {
      break;
    }
    if (shape == NULL) {
      scope = outer[walk.depth];
      continue;
    }
    int64_t type = type_in(found);
    int is_function = shape->tag == TAG_SUBPROGRAM && found[1].form == 0;
    if (is_user(shape->tag) && scope.function != NONE && type != NONE) {
      add(&to, USES, (int64_t[]){scope.function, type});
    } else if (shape->tag == TAG_TYPEDEF && (scope.structure != NONE || scope.function != NONE)) {
      add(&to, TYPEDEFS, (int64_t[]){walk.place, scope.structure, scope.function});
    } else if (is_function) {
      add(&to, FUNCTIONS, (int64_t[]){walk.place, scope.function});
    }
    if (shape->has_children) {
      outer[walk.depth] = scope;
      scope.structure = is_structure(shape->tag) ? walk.place : NONE;
      scope.function = is_function ? walk.place : scope.function;
      error = descend(&walk);
    }
  }
  memcpy(counts, to.count, sizeof to.count);
  return -error;
}

// Read the type of the entry at a place; NONE if it has none here.
static int type_at(Dwarf* dwarf, int64_t place, int64_t* which, int64_t* type) {
  const Shape* shape;
  int64_t at;
  Value found[2];
  int error = find_entry(dwarf, place, which, &at, &shape);
  if (error != 0) {
    return error;
  }
  error = read_values(dwarf, dwarf->units + *which, shape, &at, WANTED, 2, found);
  *type = type_in(found);
  return error != 0 ? error : spend_text(dwarf, at - place - USUAL_ENTRY, place);
}

// Write the types of the entries at places[count]. Returns 0, or an error with its sign changed.
EXPORT int64_t types_of(Dwarf* dwarf, const int64_t* places, int64_t count, int64_t* types) {
  int64_t which = NONE;
  for (int64_t i = 0; i < count; i++) {
    int error = type_at(dwarf, places[i], &which, types + i);
    if (error != 0) {
      return -error;
    }
  }
  return 0;
}

// Find the alias that a type refers to through other types, such as const CTYPE *.
//
// alias_of: of each place in the unit, as far as it is known: 0 unknown, 1 none, 2 + i for alias i
static int find_alias(Dwarf* dwarf, const Unit* unit, int64_t type, int32_t* alias_of,
                      int32_t* found) {
  int64_t which = unit - dwarf->units;
  int64_t passed[LONGEST];
  int count = 0;
  *found = 1;
  int64_t here = type;
  for (int i = 0; i < LONGEST && here != NONE; i++) {
    int is_inside = here >= unit->start && here < unit->end;
    if (is_inside && alias_of[here - unit->start] != 0) {
      *found = alias_of[here - unit->start];
      break;
    }
    if (is_inside) {
      passed[count++] = here;
    }
    int error = type_at(dwarf, here, &which, &here);
    if (error != 0) {
      return error;
    }
  }
  for (int i = 0; i < count; i++) {
    alias_of[passed[i] - unit->start] = *found;
  }
  return 0;
}

// Keep the uses whose type refers to an alias, at the beginning of uses[count].
//
// aliases[alias_count]: places of typedefs; each use that is kept gets the alias in place of its
// type. alias_of: a zero for each byte of the unit. Returns the number of uses, or an error with
// its sign changed.
EXPORT int64_t uses_of_aliases(Dwarf* dwarf, int64_t which, const int64_t* aliases,
                               int64_t alias_count, int32_t* alias_of, int64_t* uses,
                               int64_t count) {
  const Unit* unit = dwarf->units + which;
  int64_t kept = 0;
  for (int64_t i = 0; i < alias_count; i++) {
    alias_of[aliases[i] - unit->start] = (int32_t)i + 2;
  }
  for (int64_t i = 0; i < count; i++) {
    int32_t found;
    int error = find_alias(dwarf, unit, uses[2 * i + 1], alias_of, &found);
    if (error != 0) {
      return -error;
    }
    if (found > 1) {
      uses[2 * kept] = uses[2 * i];
      uses[2 * kept + 1] = aliases[found - 2];
      kept++;
    }
  }
  return kept;
}
