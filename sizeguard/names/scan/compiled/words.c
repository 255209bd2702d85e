// Find the identifiers of a name, and those that a dictionary has.
#include "names.h"

// Write for each place what may begin there. The compiler makes vector code of this loop.
static void mark_places(const uint8_t* text, int64_t length, uint8_t* kinds) {
  for (int64_t i = 0; i < length; i++) {
    const uint8_t c = text[i], next = text[i + 1], previous = text[i - 1];
    const uint8_t next_is_digit = (uint8_t)(next - '0') < 10;
    const uint8_t goes_on = (uint8_t)(((uint8_t)((next | 32) - 'a') < 26) | (next == '_'));
    const uint8_t is_length = (uint8_t)(((uint8_t)(c - '0') < 10) & goes_on);
    const uint8_t is_list = (uint8_t)((c == 'I') & (next >= 'a'));
    const uint8_t is_literal = (uint8_t)((c == 'I') & (next == 'L'));
    const uint8_t is_lambda = (uint8_t)((c == 'U') & (next == 'l'));
    const uint8_t hides =
        (uint8_t)(((uint8_t)(previous - '0') < 10) | ((uint8_t)(previous - 'A') < 26));
    const uint8_t is_substitution = (uint8_t)((c == '_') & ((next == 'L') | next_is_digit) & hides);
    kinds[i] = (uint8_t)(is_length * AT_LENGTH | is_list * AT_LIST | is_literal * AT_LITERAL |
                         is_lambda * AT_LAMBDA | is_substitution * AT_SUBSTITUTION);
  }
}

// Tell whether the digits that end at a place, before an underscore, are not a length: those of a
// substitution (S12_), of a parameter (T0_) and of a lambda (UlvE17_).
static int is_number(const uint8_t* text, int64_t last) {
  int64_t before = last;
  for (int i = 0; i < 3 && is_digit(text[before]); i++) before--;
  if (text[before] == 'S' || text[before] == 'T') return 1;
  return memcmp(text + before - 3, "UlvE", 4) == 0;
}

static void add_word(const Tables* tables, Name* name, int32_t word, int32_t last) {
  const int32_t i = name->word_count++;
  const int32_t length = tables->words.at[word + 1] - tables->words.at[word];
  const uint8_t kind = tables->word_kind[word];
  name->word[i] = word;
  name->position[i] = last;
  name->end[i] = last + 1 + length;
  uint8_t* at_end = &name->marks[name->end[i]];
  if (kind & CONTAINER) *at_end |= CONTAINER_END;
  if (kind & COMPLEX) *at_end |= COMPLEX_END;
  if (kind & TRANSPARENT) name->marks[last] |= NAMESPACE;
}

// Look up the identifier whose length ends at a place. Two words can be there: 6native, 16native_….
static void look_up(const Tables* tables, Name* name, int32_t last) {
  const Lists* words = &tables->words;
  const uint8_t* text = name->text;
  uint32_t key;
  memcpy(&key, text + last, 4);
  const uint32_t slot = ((key << 8) * 0x9E3779B1u) >> (32 - WORD_BITS);
  for (int32_t word = words->heads[slot]; word >= 0; word = words->next[word]) {
    const int32_t length = words->at[word + 1] - words->at[word];
    if (text[last] != '0' + length % 10) continue;
    const uint8_t before = text[last - 1];
    if (length > 9 && before != '0' + length / 10) continue;
    if (memcmp(text + last + 1, words->bytes + words->at[word], (size_t)length) != 0) continue;
    // The 6native in 16native_layer is not an identifier: more text follows.
    const uint8_t after = text[last + 1 + length];
    if (length <= 9 && is_digit(before) && (is_small(after) || after == '_')) continue;
    if (last + 1 + length <= name->length) add_word(tables, name, word, last);
  }
}

static void take_place(const Tables* tables, Name* name, int32_t place) {
  const uint8_t kind = name->kinds[place];
  if (kind & AT_LENGTH) {
    if (name->text[place + 1] == '_' && is_number(name->text, place)) return;
    name->lengths[name->length_count++] = place;
    look_up(tables, name, place);
  } else if (kind & AT_SUBSTITUTION) {
    name->substitutions[name->substitution_count++] = place + 1;
  } else {
    name->lists[name->list_count++] = place;
  }
}

// Find the last digits of all identifiers' lengths, words of the dictionary, and places where
// template arguments, lambda parameters, and identifiers after substitutions begin; all in order.
void find_words(const Tables* tables, Name* name) {
  name->length_count = name->list_count = name->substitution_count = name->word_count = 0;
  mark_places(name->text, name->length, name->kinds);
  memset(name->kinds + name->length, 0, 8);
  for (int64_t i = 0; i < name->length; i += 8) {
    uint64_t eight;
    memcpy(&eight, name->kinds + i, 8);
    while (eight) {
      const int byte = __builtin_ctzll(eight) >> 3;
      take_place(tables, name, (int32_t)(i + byte));
      eight &= ~((uint64_t)0xFF << (8 * byte));
    }
  }
}
