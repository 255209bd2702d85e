// vision: prints the class that an image model predicts for its bundled image.
//
//   vision mobilenet_v2.sgp quant_cnn.sgp

#include <cstdio>

#include "native/apps/app.h"

namespace {

void print_best_class(const char* path, sg::Tensor scores) {
  if (scores.scalar_type() != sg::ScalarType::Float || scores.numel() == 0) return;
  const float* score = scores.data<float>();
  int64_t best = 0;
  for (int64_t i = 1; i < scores.numel(); ++i) {
    if (score[i] > score[best]) best = i;
  }
  std::printf("%s: class %lld, score %.4f\n", path, static_cast<long long>(best),
              static_cast<double>(score[best]));
}

}  // namespace

int main(int argc, char** argv) {
  int failed = argc > 1 ? 0 : 2;
  for (int i = 1; i < argc && failed == 0; ++i)
    failed = sg::run_first_case(argv[i], print_best_class);
  return failed;
}
