// Registers the prepacked operators and their class by hand. It is an example of a custom library
// in a selective build.

#include "native/operators/hand_registration.h"
#include "native/prepacked/linear.h"

namespace sg {
namespace {

constexpr auto kOperators = operator_table(
    impl<&kernels::linear_clamp_prepack>(SG_SELECTIVE_NAME("prepacked::linear_clamp_prepack"),
                                         "(tt?s?s?)c"),
    impl<&kernels::linear_clamp_run>(SG_SELECTIVE_NAME("prepacked::linear_clamp_run"), "(tc)t"));

SG_REGISTER_OPERATORS("prepacked", "CPU", kOperators);
SG_REGISTER_CLASS(SG_SELECTIVE_CLASS("LinearOpContext"), create_linear_context);

}  // namespace
}  // namespace sg
