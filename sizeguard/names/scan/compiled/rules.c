// Find members of the namespaces that rules name, and rules that match a name by themselves.
#include "names.h"

typedef struct {
  int64_t start;  // NONE if there is no identifier
  int64_t length;
} Identifier;

// Read the identifier whose length begins at a place, perhaps after the L of internal linkage. A
// length that leads out of the name, as in a damaged one, is none.
static Identifier following(const Name* name, int64_t at) {
  const uint8_t* text = name->text;
  const Identifier nothing = {NONE, 0};
  int64_t length = 0;
  at += text[at] == 'L';
  if (text[at] == '0') return nothing;
  for (int i = 0; i < 3 && is_digit(text[at]); i++) length = length * 10 + text[at++] - '0';
  if (length == 0 || at + length > name->length) return nothing;
  if (!is_letter(text[at]) && text[at] != '_') return nothing;
  return (Identifier){at, length};
}

// Hash an identifier. All bytes count: torchgen's wrappers can differ in the middle of 80
// characters: ..NonFunctional__upsample_nearest_exact1d_backward, and ..exact2d_backward.
static uint64_t hash_of(const uint8_t* text, int64_t length) {
  uint64_t hash = (uint64_t)length * 0x9E3779B97F4A7C15u;
  for (int64_t done = 0; done < length; done += 8) {
    uint64_t word;
    memcpy(&word, text + done, 8);
    if (length - done < 8) word &= ((uint64_t)1 << (8 * (length - done))) - 1;
    const uint64_t mixed = (hash ^ word) * 0xFF51AFD7ED558CCDu;
    hash = mixed ^ (mixed >> 32);
  }
  return hash;
}

static void add_member(const Name* name, int64_t offset, int32_t scope, Identifier identifier,
                       Members* members) {
  const int64_t i = members->count++;
  if (i >= members->room) return;  // counted, so that the caller makes more room
  members->name[i] = (int32_t)name->number;
  members->scope[i] = scope;
  members->start[i] = offset + identifier.start;
  members->length[i] = (int32_t)identifier.length;
  members->hash[i] = hash_of(name->text + identifier.start, identifier.length);
}

static void add_hit(const Name* name, int64_t start, int32_t rule, int is_mention, Hits* hits) {
  const int64_t i = hits->count++;
  if (i >= hits->room) return;
  hits->name[i] = (int32_t)name->number;
  hits->rule[i] = rule;
  hits->start[i] = start;
  hits->is_mention[i] = (uint8_t)is_mention;
}

// Return where a name first spells the first word of a use's path, with its length; searched once.
static int32_t first_spelled(const Tables* tables, Name* name, int32_t use) {
  if (name->spelled_in[use] == (int32_t)name->number) return name->spelled_at[use];
  const uint8_t* outer = tables->outer_bytes + tables->outer_at[use];
  const int64_t length = tables->outer_at[use + 1] - tables->outer_at[use];
  int64_t at = 0;
  const int64_t end = name->length - length;
  while (at <= end && memcmp(name->text + at, outer, (size_t)length) != 0) at++;
  name->spelled_in[use] = (int32_t)name->number;
  name->spelled_at[use] = at <= end ? (int32_t)at : INT32_MAX / 2;
  return name->spelled_at[use];
}

// Return 1 if the path of a use precedes its word, 2 for a substitution (S3_) that can stand for
// the path, else 0. A substitution stands for scopes that the name spells before: S0_7kernels is a
// member of sg only if 2sg precedes it.
static int stands(const Tables* tables, Name* name, int32_t use, int32_t position) {
  const int64_t length = tables->before_at[use + 1] - tables->before_at[use];
  if (length == 0) return 1;
  const int32_t start = position - tables->use_tens[use];
  const uint8_t* before = tables->before_bytes + tables->before_at[use];
  if (memcmp(name->text + start - length, before, (size_t)length) == 0) return 1;
  if (name->text[start - 1] != '_') return 0;
  const int32_t outer = tables->outer_at[use + 1] - tables->outer_at[use];
  return first_spelled(tables, name, use) + outer <= start ? 2 : 0;
}

// Give each word the scope that it names, and add the rules for words and for mentioned
// namespaces. An uncertain scope, after a substitution, is noted as ~scope - 1 < NONE.
static void judge_words(const Tables* tables, Name* name, int64_t offset, Hits* hits) {
  for (int32_t i = 0; i < name->word_count; i++) {
    const int32_t word = name->word[i], position = name->position[i];
    name->scope[i] = NONE;
    for (int32_t use = tables->uses_at[word]; use < tables->uses_at[word + 1]; use++) {
      const int32_t kind = tables->use_kind[use], value = tables->use_value[use];
      if (kind == IS_SCOPE && name->scope[i] != NONE) continue;
      const int found = stands(tables, name, use, position);
      if (!found) continue;
      if (kind == IS_SCOPE)
        name->scope[i] = found == 1 ? value : ~value - 1;
      else
        add_hit(name, offset + position, value, kind == IS_MENTION, hits);
    }
  }
}

// Give transparent words the scope of the word before: first that of certain ones, in place of an
// uncertain one of their own, then that of any. at::(anonymous namespace) as S5_12_GLOBAL__N_1:
// the identifier after it is a member, too.
static void inherit(const Tables* tables, Name* name) {
  int32_t* scope = name->scope;
  int32_t last = NONE;
  for (int32_t i = 0; i < name->word_count; i++) {
    const int passes = tables->word_kind[name->word[i]] & TRANSPARENT;
    const int is_sure = scope[i] >= 0;
    if (scope[i] < NONE) scope[i] = ~(scope[i] + 1);
    if (scope[i] != NONE && (is_sure || !passes))
      last = scope[i];
    else if (passes && last != NONE)
      scope[i] = last;
  }
  last = NONE;
  for (int32_t i = 0; i < name->word_count; i++) {
    if (scope[i] != NONE)
      last = scope[i];
    else if (last != NONE && tables->word_kind[name->word[i]] & TRANSPARENT)
      scope[i] = last;
  }
}

static int has_mark(const Tables* tables, const uint8_t* text, Identifier identifier) {
  for (const int32_t* at = tables->mark_at; at[1] > at[0]; at++) {
    const int64_t length = at[1] - at[0];
    const uint8_t* end = text + identifier.start + identifier.length;
    if (identifier.length > length &&
        memcmp(end - length, tables->mark_bytes + at[0], (size_t)length) == 0)
      return 1;
  }
  return 0;
}

// Add members of a namespace that a substitution hides (NS3_10add_kernelE): only identifiers with
// the suffix of a member count, in the scope of the last word before.
static void add_substituted(const Tables* tables, const Name* name, int64_t offset,
                            Members* members) {
  int32_t word = 0, last = NONE;
  for (int32_t i = 0; i < name->substitution_count; i++) {
    const int32_t at = name->substitutions[i];
    for (; word < name->word_count && name->position[word] < at; word++)
      if (name->scope[word] != NONE) last = word;
    if (last == NONE) continue;
    const Identifier found = following(name, at);
    // The 1 of 12_GLOBAL__N_125add is not of a length; 125 bytes may leave the name.
    if (found.start != NONE && has_mark(tables, name->text, found))
      add_member(name, offset, name->scope[last], found, members);
  }
}

static void add_members(const Tables* tables, const Name* name, int64_t offset, Members* members) {
  for (int32_t i = 0; i < name->word_count; i++) {
    if (name->scope[i] == NONE) continue;
    const Identifier found = following(name, name->end[i]);
    // A transparent namespace is not a member.
    if (found.start != NONE && !(name->marks[found.start - 1] & NAMESPACE))
      add_member(name, offset, name->scope[i], found, members);
  }
  add_substituted(tables, name, offset, members);
}

// Add the rule for the deepest namespace that a mangled name begins with. A mangled path is one
// text (2at6native), which such a name contains from its first length on.
static void add_lead(const Tables* tables, const Name* name, int64_t offset, Hits* hits) {
  const uint8_t* text = name->text;
  // _ZThn16_N2at: the first digits are a thunk's offset.
  const int is_thunk = text[2] == 'T' && (text[3] == 'h' || text[3] == 'v' || text[3] == 'c');
  if (is_thunk >= name->length_count) return;
  int32_t at = name->lengths[is_thunk];
  for (int i = 0; i < 2; i++) at -= is_digit(text[at - 1]);
  if (text[at - 2] == 'S' && text[at - 1] == 't') {
    if (*tables->std_rule != NONE) add_hit(name, offset, *tables->std_rule, 0, hits);
    return;
  }
  const Lists* leads = &tables->leads;
  const uint32_t slot = (text[at] * 31u + text[at + 1]) & ((1 << LEAD_BITS) - 1);
  for (int32_t lead = leads->heads[slot]; lead >= 0; lead = leads->next[lead]) {
    const int64_t length = leads->at[lead + 1] - leads->at[lead];
    if (length > name->length - at) continue;
    if (memcmp(text + at, leads->bytes + leads->at[lead], (size_t)length) != 0) continue;
    add_hit(name, offset, tables->lead_rule[lead], 0, hits);
    return;
  }
}

// Add the rules for prefixes of names that are not mangled.
static void add_prefixes(const Tables* tables, const Name* name, int64_t offset, Hits* hits) {
  const Lists* prefixes = &tables->prefixes;
  for (int32_t i = prefixes->heads[name->text[0]]; i >= 0; i = prefixes->next[i]) {
    const int64_t length = prefixes->at[i + 1] - prefixes->at[i];
    if (length <= name->length &&
        memcmp(name->text, prefixes->bytes + prefixes->at[i], (size_t)length) == 0)
      add_hit(name, offset, tables->prefix_rule[i], 0, hits);
  }
}

// Add the members and rules of a name. offset: of the name in the buffer of all names
void find_rules(const Tables* tables, Name* name, int64_t offset, Members* members, Hits* hits) {
  judge_words(tables, name, offset, hits);
  inherit(tables, name);
  add_members(tables, name, offset, members);
  if (name->text[0] == '_' && name->text[1] == 'Z')
    add_lead(tables, name, offset, hits);
  else
    add_prefixes(tables, name, offset, hits);
}
