// language: prints the range of the numbers that a text model computes from its bundled text.
//
//   language encoder.sgp lstm_tagger.sgp

#include <cstdio>

#include "native/apps/app.h"

namespace {

void print_range(const char* path, sg::Tensor output) {
  if (output.scalar_type() != sg::ScalarType::Float || output.numel() == 0) return;
  const float* number = output.data<float>();
  float least = number[0];
  float most = number[0];
  for (int64_t i = 1; i < output.numel(); ++i) {
    if (number[i] < least) least = number[i];
    if (number[i] > most) most = number[i];
  }
  std::printf("%s: %lld numbers from %.4f to %.4f\n", path, static_cast<long long>(output.numel()),
              static_cast<double>(least), static_cast<double>(most));
}

}  // namespace

int main(int argc, char** argv) {
  int failed = argc > 1 ? 0 : 2;
  for (int i = 1; i < argc && failed == 0; ++i) failed = sg::run_first_case(argv[i], print_range);
  return failed;
}
