#include <stdint.h>

enum { NONE = -1 };

// Find the name that each relocation refers to, and the address that it writes.
//
// index, addend [count]: of relocations. name, address, section [symbols]: of the symbol table;
// at[sections]: bases that are added to addresses, by section. Writes symbol and target [count];
// the symbol is NONE, and only the addend counts, for symbol 0 and those outside the table.
__attribute__((visibility("default"))) int64_t
pointer_targets(const int64_t* index, const int64_t* addend, int64_t count, const int32_t* name,
                const int64_t* address, const int32_t* section, int64_t symbols, const int64_t* at,
                int64_t sections, int32_t* symbol, int64_t* target) {
  for (int64_t i = 0; i < count; i++) {
    int64_t row = index[i];
    symbol[i] = NONE;
    target[i] = addend[i];
    if (row > 0 && row < symbols) {
      int32_t home = section[row];
      uint64_t base = home > 0 && home < sections ? (uint64_t)at[home] : 0;
      symbol[i] = name[row];
      target[i] = (int64_t)((uint64_t)addend[i] + (uint64_t)address[row] + base);
    }
  }
  return count;
}
