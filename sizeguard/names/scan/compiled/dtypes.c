// Find the dtypes of a name: in template arguments, lambda parameters, classes, enum values.
#include "names.h"

enum { MOST = 4 };  // adjacent builtin types to read

// The dtypes found so far: a bit for each code, and the first one by place.
typedef struct {
  const Tables* tables;
  const Name* name;
  uint64_t mask;
  int64_t first_place;
  int8_t first;
} Found;

static void add(Found* found, int64_t place, int code) {
  if (code < 0 || found->tables->is_absent[code]) return;
  found->mask |= (uint64_t)1 << code;
  if (place >= found->first_place) return;
  found->first_place = place;
  found->first = (int8_t)code;
}

static int code_at(const Found* found, int64_t place) {
  return found->tables->code_of_letter[found->name->text[place]];
}

static int is_end_of(const Found* found, int64_t place, int kind) {
  return (found->name->marks[place] & kind) != 0;
}

// Read the number of one or two digits that ends at a place.
static int64_t length_at(const uint8_t* text, int64_t last) {
  const int64_t units = text[last] - '0', tens = (uint8_t)(text[last - 1] - '0');
  return tens > 0 && tens < 10 ? tens * 10 + units : units;
}

// Tell whether a place is outside of the identifier before it. The I of IsEmpty does not begin a
// list of arguments.
static int is_grammar(const Name* name, int64_t place) {
  const uint8_t* text = name->text;
  int32_t low = 0, high = name->length_count;
  while (low < high) {
    const int32_t middle = low + (high - low) / 2;
    if (name->lengths[middle] < place)
      low = middle + 1;
    else
      high = middle;
  }
  if (low == 0) return 1;
  int64_t last = name->lengths[low - 1], length = length_at(text, last);
  // 12general_c2r_: the 2 is a part of the identifier before it, and does not begin another.
  const int64_t before = low > 1 ? name->lengths[low - 2] : last;
  if (before < last && before + length_at(text, before) >= last) {
    last = before;
    length = length_at(text, before);
  }
  if (last + 1 + length <= place) return 1;
  // _GLOBAL__N_13add: of two digits after an underscore, only the second can be a length.
  return is_digit(text[last - 1]) && text[last - 2] == '_' && last + 1 + text[last] - '0' <= place;
}

// Tell for the I of an argument list whether an allocator (SaIlE) or a substitution (SB_IlE)
// precedes it, which hides the template; most often it is std::optional.
static int is_hidden(const Name* name, int64_t at) {
  const uint8_t* text = name->text;
  if (text[at - 1] == 'a' && text[at - 2] == 'S') return 1;
  if (text[at - 1] != '_') return 0;
  int64_t start = at - 2;
  for (int i = 0; i < 2; i++) {
    const uint8_t letter = text[start];
    start -= is_digit(letter) || (is_capital(letter) && letter != 'S');
  }
  return text[start] == 'S' && is_grammar(name, start);
}

static void add_builtin_types(Found* found, int64_t at) {
  for (int i = 0; i < MOST; i++, at++) {
    const int code = code_at(found, at);
    if (code == NONE || !found->tables->may_follow[found->name->text[at + 1]]) return;
    add(found, at, code);
  }
}

// Add the element types in lists such as <int, 6, double, false>. An Int or a Long in them is an
// index. Literals (Li6E) may be between the types.
static void add_element_types(Found* found, int64_t at) {
  const uint8_t* text = found->name->text;
  for (int i = 0; i < 2 * MOST && at < found->name->length; i++) {
    const int code = code_at(found, at);
    if (text[at] == 'L') {
      int64_t end = at + 2;
      for (int k = 0; k < 4; k++) end += text[end] != 'E';
      if (text[end] != 'E') return;
      at = end + 1;
    } else if (code != NONE) {
      if (!found->tables->is_index[code] && found->tables->may_follow[text[at + 1]])
        add(found, at, code);
      at++;
    } else {
      return;
    }
  }
}

// Return where the element types of a lambda begin, or NONE if it has only bounds. Longs in front
// are bounds, such as those of parallel_for, unless a driver of loops calls the lambda.
static int64_t elements_of(const Found* found, int64_t start, int is_driven) {
  const uint8_t* text = found->name->text;
  int64_t at = start;
  for (int i = 0; i < MOST; i++) at += text[at] == 'l';
  if (is_driven) return start;
  return text[at] == 'E' && at > start ? NONE : at;
}

// Add the types of a list of template arguments; start: after its I
static void add_list(Found* found, int64_t start, int is_driven, int64_t indexed) {
  const Name* name = found->name;
  const uint8_t* text = name->text;
  const int is_complex = is_end_of(found, start - 1, COMPLEX_END);
  if (code_at(found, start) == NONE || !is_grammar(name, start - 1)) return;
  if (is_end_of(found, start - 1, CONTAINER_END) && !is_complex) return;
  if (is_hidden(name, start - 1)) return;
  if (is_complex) {
    add(found, start, found->tables->complex_of[code_at(found, start)]);
    return;
  }
  // The arguments of generic lambdas: clIllE is read as lambda parameters.
  if (text[start - 3] == 'c' && text[start - 2] == 'l' && is_grammar(name, start - 3))
    start = elements_of(found, start, is_driven);
  if (start == NONE) return;
  if (indexed < start)
    add_element_types(found, start);
  else
    add_builtin_types(found, start);
}

// Add classes that are a dtype, such as c10::Half, or a complex of one, as complexIN3c104HalfE, and
// the arguments or parameters after them.
static void add_class(Found* found, int code, int64_t place, int64_t end, int64_t complex) {
  const uint8_t* text = found->name->text;
  const int is_near = complex < place && place - complex <= (int64_t)strlen("IN3c10");
  if (is_near && text[complex] == 'I' && text[complex + 1] == 'N' &&
      found->tables->complex_of[code] != NONE)
    code = found->tables->complex_of[code];
  add(found, place, code);
  if (text[end] == 'E') add_builtin_types(found, end + 1);
}

// Add the value of a ScalarType: N3c1010ScalarTypeE6E is Float.
static void add_enum(Found* found, int64_t place, int64_t end) {
  const uint8_t* text = found->name->text;
  if (text[end] != 'E') return;
  int value = 0, digits = 0;
  for (; digits < 2 && is_digit(text[end + 1 + digits]); digits++)
    value = value * 10 + text[end + 1 + digits] - '0';
  if (digits && text[end + 1 + digits] == 'E' && found->tables->is_code[value])
    add(found, place, value);
}

// Return where the first _Z of a name is. IsNan and IsEventReady are functions of C.
static int64_t mangled_from(const Name* name) {
  const uint8_t* text = name->text;
  if (text[0] == '_' && text[1] == 'Z') return 0;
  for (int64_t i = 0; i + 1 < name->length; i++)
    if (text[i] == '_' && text[i + 1] == 'Z') return i;
  return INT64_MAX;
}

// Return the dtypes of a name, a bit for each code; first: the code of the first one, or NONE
uint64_t find_dtypes(const Tables* tables, Name* name, int8_t* first) {
  Found found = {tables, name, 0, INT64_MAX, NONE};
  int64_t indexed = INT64_MAX, complex = INT64_MAX;
  int is_driven = 0;
  for (int32_t i = 0; i < name->word_count; i++) {
    const int32_t word = name->word[i];
    const uint8_t kind = tables->word_kind[word];
    if (tables->word_dtype[word] != NONE)
      add_class(&found, tables->word_dtype[word], name->position[i], name->end[i], complex);
    if (kind & SCALAR_TYPE) add_enum(&found, name->position[i], name->end[i]);
    if (kind & COMPLEX) complex = name->end[i];
    if (kind & INDEXED && indexed == INT64_MAX) indexed = name->position[i];
    is_driven |= kind & DRIVER;
  }
  const int64_t mangled = name->list_count ? mangled_from(name) : INT64_MAX;
  for (int32_t i = 0; i < name->list_count; i++) {
    const int64_t place = name->lists[i];
    const uint8_t kind = name->kinds[place];
    const int64_t start = place + (kind & AT_LAMBDA ? 2 : 1);
    if (kind & AT_LITERAL) {
      if (indexed < start && is_grammar(name, place)) add_element_types(&found, start);
    } else if (start <= mangled) {
      continue;
    } else if (kind & AT_LIST) {
      add_list(&found, start, is_driven, indexed);
    } else if (code_at(&found, start) != NONE && is_grammar(name, place)) {
      const int64_t elements = elements_of(&found, start, is_driven);
      if (elements != NONE) add_builtin_types(&found, elements);
    }
  }
  *first = found.first;
  return found.mask;
}
