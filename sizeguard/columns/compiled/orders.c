// Orders and ranks of columns, see sort.py and ranks.py, and places of hashes.
#include <stdint.h>

// Packs each key, without `low` and without its `drop` lowest bits, with its index in `bits` bits.
__attribute__((visibility("default"))) int64_t pack_keys(const uint64_t* keys, int64_t count,
                                                         uint64_t low, int64_t drop, int64_t bits,
                                                         uint64_t* packed) {
  for (int64_t i = 0; i < count; i++) {
    packed[i] = ((keys[i] - low) >> drop << bits) | (uint64_t)i;
  }
  return 0;
}

// Leaves the index of each packed key.
__attribute__((visibility("default"))) int64_t unpack_order(uint64_t* packed, int64_t count,
                                                            int64_t bits) {
  uint64_t mask = ((uint64_t)1 << bits) - 1;
  for (int64_t i = 0; i < count; i++) {
    packed[i] &= mask;
  }
  return 0;
}

// Takes hashes in an order. Returns how many of them are smaller than the one before.
__attribute__((visibility("default"))) int64_t take_hashes(const uint64_t* hashes,
                                                           const int64_t* order, int64_t count,
                                                           uint64_t* ordered) {
  int64_t descents = 0;
  uint64_t last = 0;
  for (int64_t i = 0; i < count; i++) {
    uint64_t hash = hashes[order[i]];
    descents += hash < last;
    ordered[i] = last = hash;
  }
  return descents;
}

// Ranks ordered hashes: rank[order[i]] is the number of different hashes before ordered[i]. Moves
// the different hashes to the beginning of `ordered`, and returns their number.
__attribute__((visibility("default"))) int64_t rank_hashes(const int64_t* order, uint64_t* ordered,
                                                           int64_t count, int32_t* rank) {
  int64_t found = 0;
  for (int64_t i = 0; i < count; i++) {
    if (found == 0 || ordered[found - 1] != ordered[i]) {
      ordered[found++] = ordered[i];
    }
    rank[order[i]] = (int32_t)(found - 1);
  }
  return found;
}

// Enters the index of each known hash into the slot that its low bits select. slots: mask + 1
// entries of -1. Writes to `lost` the indices of the hashes whose slot is taken already, and
// returns how many they are.
__attribute__((visibility("default"))) int64_t fill_slots(const uint64_t* known, int64_t count,
                                                          int32_t* slots, uint64_t mask,
                                                          int32_t* lost) {
  int64_t found = 0;
  for (int64_t i = 0; i < count; i++) {
    int32_t* slot = &slots[known[i] & mask];
    if (*slot < 0) {
      *slot = (int32_t)i;
    } else {
      lost[found++] = (int32_t)i;
    }
  }
  return found;
}

// Finds a hash among the lost ones, in ascending order of their hashes; -1 if it is absent.
static int32_t find_lost(const uint64_t* known, const int32_t* lost, int64_t count,
                         uint64_t wanted) {
  int64_t low = 0, high = count;
  while (low < high) {
    int64_t middle = low + (high - low) / 2;
    if (known[lost[middle]] < wanted) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low < count && known[lost[low]] == wanted ? lost[low] : -1;
}

// Finds the index of each wanted hash among the known ones; -1 if it is absent. slots, mask, lost:
// as fill_slots made them, but lost in ascending order of the hashes, lost_count of them.
__attribute__((visibility("default"))) int64_t find_hashes(const uint64_t* known,
                                                           const int32_t* slots, uint64_t mask,
                                                           const int32_t* lost, int64_t lost_count,
                                                           const uint64_t* wanted, int64_t count,
                                                           int32_t* found) {
  for (int64_t i = 0; i < count; i++) {
    int32_t at = slots[wanted[i] & mask];
    if (at >= 0 && known[at] != wanted[i]) {
      at = find_lost(known, lost, lost_count, wanted[i]);
    }
    found[i] = at;
  }
  return 0;
}
