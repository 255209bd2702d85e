// Switches over dtypes, from which a selection removes branches.
//
//   #include "selected/cumsum.h"
//   SG_SWITCH_REAL(in.scalar_type(), cumsum, [&]<typename T>() {
//     running_totals(in.data<T>(), …);
//   });
//
// The tag is an identifier, and its header says which dtypes are selected. A selected case calls
// the lambda, which calls a body that is never inlined (SG_DTYPE_BODY). The name of the body's
// symbol contains the dtype, and deselecting one can only shrink the code. All deselected cases
// call one shared handler; a dtype that the switch does not have calls another. Both leave by the
// Context's escape, so the switch needs the kernel's `context`. Kernels compute Half and BFloat16
// as Float (compute_type), so only switches over stored bytes have them.
//
// Debug information names each switch with its tag and dtypes, and each case with its tag and
// dtype. `sizeguard verify` reads them there, so it does not matter where a switch stands.

#pragma once

#include "native/runtime/context.h"
#include "native/runtime/hooks.h"
#include "native/selective/dtype_set.h"

namespace sg {

/// The branch exists, but this build leaves it out.
[[noreturn, gnu::cold]] void dtype_not_selected(Context& context, ScalarType dtype);

/// No build has a branch for this dtype.
[[noreturn, gnu::cold]] void dtype_not_supported(Context& context, ScalarType dtype);

/// A switch: its tag and its dtypes, selected or not.
template <const DtypeSet& tag, ScalarType... dtypes>
struct SwitchNote {};

/// Names the switch in the debug information's inline frames.
template <typename Note>
[[noreturn, gnu::always_inline]] inline void leave_switch(Context& context, ScalarType dtype) {
  dtype_not_supported(context, dtype);
}

/// Names the dtype and the tag there.
template <ScalarType dtype, typename T, const DtypeSet& tag, typename Body>
[[gnu::always_inline]] inline void run_case(const Body& body) {
  body.template operator()<T>();
}

}  // namespace sg

/// The code of a dtype branch, one symbol per branch. It takes pointers and strides, not tensors.
#define SG_DTYPE_BODY [[gnu::noinline]]

#define SG_CASE_(name, type, tag)                                                     \
  case ::sg::ScalarType::name:                                                        \
    if constexpr (::sg::selected::tag.contains(::sg::ScalarType::name)) {             \
      ::sg::run_case<::sg::ScalarType::name, type, ::sg::selected::tag>(switch_body); \
    } else {                                                                          \
      ::sg::dtype_not_selected(context, switch_dtype);                                \
    }                                                                                 \
    break;

/// A case's dtype among the arguments of SwitchNote.
#define SG_NAME_(name, type, tag) , ::sg::ScalarType::name

#define SG_CASES_INDEX_(each, tag) each(Int, int32_t, tag) each(Long, int64_t, tag)
#define SG_CASES_INTEGRAL_(each, tag)                                        \
  each(Byte, uint8_t, tag) each(Char, int8_t, tag) each(Short, int16_t, tag) \
      SG_CASES_INDEX_(each, tag)
#define SG_CASES_FLOATING_(each, tag) each(Float, float, tag) each(Double, double, tag)
#define SG_CASES_BITS_(each, tag) SG_CASES_INTEGRAL_(each, tag) each(Bool, bool, tag)
#define SG_CASES_REAL_(each, tag) SG_CASES_INTEGRAL_(each, tag) SG_CASES_FLOATING_(each, tag)
#define SG_CASES_ALL_(each, tag) SG_CASES_REAL_(each, tag) each(Bool, bool, tag)
#define SG_CASES_ACCUMULATE_(each, tag) SG_CASES_FLOATING_(each, tag) each(Long, int64_t, tag)
#define SG_CASES_STORED_(each, tag) \
  SG_CASES_ALL_(each, tag) each(Half, ::sg::Half, tag) each(BFloat16, ::sg::BFloat16, tag)

#define SG_SWITCH_(dtype, tag, cases, ...)                                                  \
  do {                                                                                      \
    const ::sg::ScalarType switch_dtype = (dtype);                                          \
    ::sg::record_kernel_dtype(#tag, switch_dtype);                                          \
    [[maybe_unused]] const auto switch_body = __VA_ARGS__;                                  \
    switch (switch_dtype) {                                                                 \
      cases(SG_CASE_, tag) default                                                          \
          : ::sg::leave_switch<::sg::SwitchNote<::sg::selected::tag cases(SG_NAME_, tag)>>( \
                context, switch_dtype);                                                     \
    }                                                                                       \
  } while (false)

/// Int, Long
#define SG_SWITCH_INDEX(dtype, tag, ...) SG_SWITCH_(dtype, tag, SG_CASES_INDEX_, __VA_ARGS__)
/// Byte, Char, Short, Int, Long
#define SG_SWITCH_INTEGRAL(dtype, tag, ...) SG_SWITCH_(dtype, tag, SG_CASES_INTEGRAL_, __VA_ARGS__)
/// Byte, Char, Short, Int, Long, Bool
#define SG_SWITCH_BITS(dtype, tag, ...) SG_SWITCH_(dtype, tag, SG_CASES_BITS_, __VA_ARGS__)
/// Float, Double
#define SG_SWITCH_FLOATING(dtype, tag, ...) SG_SWITCH_(dtype, tag, SG_CASES_FLOATING_, __VA_ARGS__)
/// Float, Double, Long: the dtypes in which sums and products accumulate
#define SG_SWITCH_ACCUMULATE(dtype, tag, ...) \
  SG_SWITCH_(dtype, tag, SG_CASES_ACCUMULATE_, __VA_ARGS__)
/// Byte, Char, Short, Int, Long, Float, Double
#define SG_SWITCH_REAL(dtype, tag, ...) SG_SWITCH_(dtype, tag, SG_CASES_REAL_, __VA_ARGS__)
/// Byte, Char, Short, Int, Long, Float, Double, Bool
#define SG_SWITCH_ALL(dtype, tag, ...) SG_SWITCH_(dtype, tag, SG_CASES_ALL_, __VA_ARGS__)
/// All ten, Half and BFloat16 as their stored bits
#define SG_SWITCH_STORED(dtype, tag, ...) SG_SWITCH_(dtype, tag, SG_CASES_STORED_, __VA_ARGS__)
