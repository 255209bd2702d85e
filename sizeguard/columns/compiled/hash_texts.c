// 64-bit hashes of strings, see text_hash.py.
#include <stdint.h>
#include <string.h>

enum { WORD = 8, LONGEST = 512 };  // words; longer strings are hashed in pieces of this length

static const uint64_t MULTIPLY = 0xD6E8FEB86659FD93;
static const uint64_t LENGTH = 0xA0761D6478BD642F;

// For each place in a string, a random number and a random odd number. They make the sum depend on
// the order of the words.
typedef struct {
  uint64_t place[LONGEST];
  uint64_t factor[LONGEST];
} Places;

// Computes the numbers of all places.
static void fill(Places* places) {
  for (uint64_t i = 0; i < LONGEST; i++) {
    uint64_t place = (i + 1) * 0x9E3779B97F4A7C15;
    places->place[i] = place;
    places->factor[i] = ((place ^ (place >> 29)) * 0xBF58476D1CE4E5B9) | 1;
  }
}

// Spreads a number's bits over all 64.
static uint64_t mixed(uint64_t value) {
  value = (value ^ (value >> 32)) * MULTIPLY;
  value = (value ^ (value >> 32)) * MULTIPLY;
  return value ^ (value >> 32);
}

// Reads one to eight bytes as a number, the first byte lowest.
static uint64_t word_at(const uint8_t* text, int64_t bytes) {
  uint64_t word = 0;
  memcpy(&word, text, bytes < WORD ? (size_t)bytes : WORD);
  return word;
}

// Mixes a word with its place in a string or a piece; seed: the number of the piece.
static uint64_t in_place(uint64_t word, const Places* places, int64_t at, uint64_t seed) {
  uint64_t value = (word ^ (places->place[at] + seed)) * MULTIPLY;
  return (value ^ (value >> 32)) * places->factor[at];
}

// Sums the words of a string of at most LONGEST words; the last word ends with the string.
static uint64_t sum_of_words(const uint8_t* text, int64_t length, const Places* places) {
  if (length < WORD) {
    return length > 0 ? in_place(word_at(text, length), places, 0, 0) : 0;
  }
  int64_t last = (length - 1) / WORD;
  uint64_t sum = in_place(word_at(text + length - WORD, WORD), places, last, 0);
  for (int64_t i = 0; i < last; i++) {
    sum += in_place(word_at(text + i * WORD, WORD), places, i, 0);
  }
  return sum;
}

// Combines the hashes of a longer string's pieces, each mixed with its number, which starts at 1.
static uint64_t sum_of_pieces(const uint8_t* text, int64_t length, const Places* places) {
  uint64_t total = 0, seed = 1;
  for (int64_t at = 0; at < length; seed++) {
    uint64_t sum = 0;
    for (int64_t i = 0; i < LONGEST && at < length; i++, at += WORD) {
      sum += in_place(word_at(text + at, length - at), places, i, seed);
    }
    total = total * MULTIPLY + mixed(sum);
  }
  return total;
}

// Hashes the strings buffer[start[i]:end[i]]. Returns `count`, or -1 - i if string i is not
// inside the buffer's `size` bytes.
__attribute__((visibility("default"))) int64_t hash_texts(const uint8_t* buffer, int64_t size,
                                                          const int64_t* start, const int64_t* end,
                                                          int64_t count, uint64_t* hashes) {
  Places places;
  fill(&places);
  for (int64_t i = 0; i < count; i++) {
    int64_t low = start[i], high = end[i];
    if (low < 0 || high < low || high > size) {
      return -1 - i;
    }
    int64_t length = high - low;
    uint64_t sum = length <= WORD * LONGEST ? sum_of_words(buffer + low, length, &places)
                                            : sum_of_pieces(buffer + low, length, &places);
    hashes[i] = mixed(sum + (uint64_t)length * LENGTH);
  }
  return count;
}
