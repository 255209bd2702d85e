// What the parts of the scan of mangled names share: tables of the rules, and the name in work.
#pragma once

#include <stdint.h>
#include <string.h>

#define EXPORTED __attribute__((visibility("default")))

// Zeros around the name in work: what is compared may begin before it, and end behind it.
enum { FRONT = 16, PAD = 80 };
enum { NONE = -1 };
// Bits of hashed keys, as in scan_tables.py.
enum { WORD_BITS = 12, LEAD_BITS = 8 };

// Kinds of places that a first pass finds.
enum { AT_LENGTH = 1, AT_LIST = 2, AT_LAMBDA = 4, AT_LITERAL = 8, AT_SUBSTITUTION = 16 };
// Meanings of a word.
enum { TRANSPARENT = 1, CONTAINER = 2, COMPLEX = 4, DRIVER = 8, INDEXED = 16, SCALAR_TYPE = 32 };
// Marks of places in a name: where words of a kind end, and lengths of transparent namespaces.
enum { CONTAINER_END = 1, COMPLEX_END = 2, NAMESPACE = 4 };
// What a word that stands after its path is for.
enum { IS_SCOPE = 0, IS_MENTION = 1, IS_WORD = 2 };

// Texts that begin with the same hash are in a list, from heads[hash] on.
typedef struct {
  const int32_t *heads, *next;
  const int32_t* at;  // text i is bytes[at[i]:at[i + 1]]
  const uint8_t* bytes;
} Lists;

// Columns of scan_tables.py, as their addresses; the order is that of its fields.
typedef struct {
  Lists words, leads, prefixes;
  const int32_t *lead_rule, *prefix_rule, *std_rule;
  const uint8_t* word_kind;
  const int8_t* word_dtype;
  const int32_t* uses_at;  // uses of word i are uses_at[i]..uses_at[i + 1]
  const int32_t *use_kind, *use_value, *use_tens;
  const int32_t *before_at, *outer_at;  // of a use: the path before the word, and its first word
  const uint8_t *before_bytes, *outer_bytes;
  const int32_t* mark_at;
  const uint8_t* mark_bytes;  // the last mark is empty
  const int8_t *code_of_letter, *complex_of;
  const uint8_t *may_follow, *is_code, *is_absent, *is_index;
} Tables;

// The name in work, and room for what is found in it, enough for the longest name; the pointers
// come first, in the order of scan_names.py.
typedef struct {
  uint8_t* text;                             // between zeros
  uint8_t *kinds, *marks;                    // by place
  int32_t *lengths, *lists, *substitutions;  // places
  int32_t *word, *position, *end, *scope;    // by word found
  int32_t *spelled_in, *spelled_at;          // by use: a name, and where it spells the first word
  int64_t length, number;
  int32_t length_count, list_count, substitution_count, word_count;
} Name;

// Columns of what is found, `room` rows; their order is that of scan_names.py. `count` goes on when
// there is no more room.
typedef struct {
  int32_t *name, *scope, *length;
  int64_t* start;
  uint64_t* hash;
  int64_t count, room;
} Members;

typedef struct {
  int32_t *name, *rule;
  int64_t* start;
  uint8_t* is_mention;
  int64_t count, room;
} Hits;

static inline int is_digit(uint8_t c) {
  return (uint8_t)(c - '0') < 10;
}
static inline int is_capital(uint8_t c) {
  return (uint8_t)(c - 'A') < 26;
}
static inline int is_small(uint8_t c) {
  return (uint8_t)(c - 'a') < 26;
}
static inline int is_letter(uint8_t c) {
  return (uint8_t)((c | 32) - 'a') < 26;
}

void find_words(const Tables* tables, Name* name);
void find_rules(const Tables* tables, Name* name, int64_t offset, Members* members, Hits* hits);
uint64_t find_dtypes(const Tables* tables, Name* name, int8_t* first);
