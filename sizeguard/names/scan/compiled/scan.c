// Scan names, one after the other.
#include <stddef.h>

#include "names.h"

// Columns of names, as their addresses; the order is that of scan_names.py.
typedef struct {
  const uint8_t* buffer;
  const int64_t *start, *end;  // of each name in the buffer
  uint64_t* dtypes;            // by name
  int8_t* first_dtype;
  uint64_t has_dtypes;  // whether to search for dtypes
} Names;

static void take_name(const Names* names, int64_t number, Name* name) {
  const int64_t start = names->start[number];
  name->number = number;
  name->length = names->end[number] - start;
  if (name->length) memcpy(name->text, names->buffer + start, (size_t)name->length);
  memset(name->text + name->length, 0, PAD);
}

static void clear_marks(Name* name) {
  for (int32_t i = 0; i < name->word_count; i++)
    name->marks[name->end[i]] = name->marks[name->position[i]] = 0;
}

// Scan the names from `first` on until room for members or hits ends. `counts` has their numbers
// so far. Returns the number of the name to go on with, after more room is made.
EXPORTED int64_t scan_names(const Names* names, int64_t first, int64_t count, const Tables* tables,
                            const void* name_room, const void* member_columns, int64_t member_room,
                            const void* hit_columns, int64_t hit_room, int64_t* counts) {
  Name name;
  memcpy(&name, name_room, offsetof(Name, length));
  name.text += FRONT;
  Members members = {.count = counts[0], .room = member_room};
  memcpy(&members, member_columns, offsetof(Members, count));
  Hits hits = {.count = counts[1], .room = hit_room};
  memcpy(&hits, hit_columns, offsetof(Hits, count));
  for (int64_t number = first; number < count; number++) {
    take_name(names, number, &name);
    find_words(tables, &name);
    find_rules(tables, &name, names->start[number], &members, &hits);
    if (members.count <= members.room && hits.count <= hits.room && names->has_dtypes)
      names->dtypes[number] = find_dtypes(tables, &name, &names->first_dtype[number]);
    clear_marks(&name);
    if (members.count > members.room || hits.count > hits.room) return number;
    counts[0] = members.count, counts[1] = hits.count;
  }
  return count;
}
