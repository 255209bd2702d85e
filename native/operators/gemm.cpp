// The blocked matrix product: panels of b, copied into a buffer, against four rows of a at a time.

#include "native/operators/gemm.h"

#include <type_traits>

#include "native/selective/dtype_switch.h"
#include "selected/gemm.h"

namespace sg {
namespace {

constexpr int64_t kRows = 4;  // of a register tile
// Rows of a panel: 8 KiB of floats, a quarter of the smallest L1 cache.
constexpr int64_t kDepth = 256;

/// The type of the computation. Integers are unsigned, so they wrap.
template <typename T>
using Element = std::conditional_t<std::is_integral_v<T>, uint64_t, T>;

/// A register tile is kRows × 2 vectors. With two vectors of b and the copies that SSE2's
/// two-operand instructions need, it takes 14 of the 16 registers. Integers take one lane, since no
/// baseline has a 64-bit vector product.
template <typename T>
constexpr int kVectorBytes = std::is_integral_v<T> ? 8 : 16;

template <typename T>
using Vector [[gnu::vector_size(kVectorBytes<T>), gnu::may_alias]] = Element<T>;

/// Columns of a register tile.
template <typename T>
constexpr int64_t kColumns = 2 * kVectorBytes<T> / static_cast<int64_t>(sizeof(T));

/// Copies the rows of b from `start` on, one after another: of each row, a tile's columns from
/// `column` on. Pads with zeros where b has no column.
template <typename T>
[[gnu::always_inline]] inline void pack_panel(const MatrixProduct& product, int64_t start,
                                              int64_t rows, int64_t column, Element<T>* panel) {
  const int64_t columns = product.n - column;
  const auto* b = reinterpret_cast<const Element<T>*>(product.b) + start * product.b_row +
                  column * product.b_column;
  // Compute each address from the row's index, not by stepping from row to row. A single row may
  // have any stride, and no pointer may leave the tensor.
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t j = 0; j < kColumns<T>; ++j) {
      *panel++ = j < columns ? b[row * product.b_row + j * product.b_column] : Element<T>(0);
    }
  }
}

/// Packs all panels of k rows each.
template <typename T>
SG_DTYPE_BODY void pack_panels(const MatrixProduct& product, char* packed) {
  auto* panel = reinterpret_cast<Element<T>*>(packed);
  for (int64_t column = 0; column < product.n;
       column += kColumns<T>, panel += product.k * kColumns<T>) {
    pack_panel<T>(product, 0, product.k, column, panel);
  }
}

// Longer than 40 lines: each dtype gets a single symbol.
template <typename T>
SG_DTYPE_BODY void multiply(const MatrixProduct& product) {
  using Element = Element<T>;
  using Vector = Vector<T>;
  alignas(16) Element buffer[kDepth * kColumns<T>];
  for (int64_t column = 0; column < product.n; column += kColumns<T>) {
    const int64_t columns = product.n - column < kColumns<T> ? product.n - column : kColumns<T>;
    int64_t start = 0;
    do {
      const int64_t depth = product.k - start < kDepth ? product.k - start : kDepth;
      const Element* panel = buffer;
      if (product.b_packed) {
        panel =
            reinterpret_cast<const Element*>(product.b) + column * product.k + start * kColumns<T>;
      } else {
        pack_panel<T>(product, start, depth, column, buffer);
      }
      const bool accumulate = product.accumulate || start > 0;
      for (int64_t row = 0; row < product.m; row += kRows) {
        // Past the last row, the tile repeats the last one; it computes but does not store the
        // repeats.
        const int64_t rows = product.m - row < kRows ? product.m - row : kRows;
        const Element* a0 = reinterpret_cast<const Element*>(product.a) + row * product.a_row +
                            start * product.a_column;
        const Element* a1 = a0 + (rows > 1 ? product.a_row : 0);
        const Element* a2 = a1 + (rows > 2 ? product.a_row : 0);
        const Element* a3 = a2 + (rows > 3 ? product.a_row : 0);
        // Separate variables, since gcc at -Os keeps arrays in memory.
        Vector c00{}, c01{}, c10{}, c11{}, c20{}, c21{}, c30{}, c31{};
        const Vector* b = reinterpret_cast<const Vector*>(panel);
        int64_t at = 0;
        for (int64_t p = 0; p < depth; ++p, b += 2, at += product.a_column) {
          const Vector b0 = b[0];
          const Vector b1 = b[1];
          c00 += a0[at] * b0;
          c01 += a0[at] * b1;
          c10 += a1[at] * b0;
          c11 += a1[at] * b1;
          c20 += a2[at] * b0;
          c21 += a2[at] * b1;
          c30 += a3[at] * b0;
          c31 += a3[at] * b1;
        }
        const Vector tile[kRows][2] = {{c00, c01}, {c10, c11}, {c20, c21}, {c30, c31}};
        for (int64_t i = 0; i < rows; ++i) {
          Element* c = reinterpret_cast<Element*>(product.c) + (row + i) * product.c_row + column;
          const Element* sums = reinterpret_cast<const Element*>(tile[i]);
          for (int64_t j = 0; j < columns; ++j) c[j] = accumulate ? c[j] + sums[j] : sums[j];
        }
      }
      start += kDepth;
    } while (start < product.k);
  }
}

}  // namespace

void gemm(Context& context, ScalarType dtype, const MatrixProduct& product) {
  if (product.m == 0) return;  // n may be any size then, and costs nothing
  SG_SWITCH_ACCUMULATE(dtype, gemm, [&]<typename T>() { multiply<T>(product); });
}

int64_t packed_size(ScalarType dtype, int64_t k, int64_t n) {
  const int64_t columns = dtype == ScalarType::Float ? kColumns<float> : kColumns<double>;
  int64_t elements = 0;
  const int64_t padded = (n + columns - 1) / columns * columns;
  return __builtin_mul_overflow(padded, k, &elements) ? -1 : elements;
}

void pack_right_side(Context& context, ScalarType dtype, const MatrixProduct& product,
                     char* packed) {
  if (product.k == 0) return;
  SG_SWITCH_ACCUMULATE(dtype, gemm, [&]<typename T>() { pack_panels<T>(product, packed); });
}

}  // namespace sg
