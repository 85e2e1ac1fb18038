// Least squares by gradient descent. Every result has a place of its own, so the loop allocates nothing.
#include <ingot/ingot.h>

#include <cstdio>

using namespace ingot;

int main() {
  const Tensor x = normal({256, 8}, /*seed=*/1), truth = normal({8, 1}, /*seed=*/2), y = matmul(x, truth);
  const Tensor w = zeros({8, 1}), error = Tensor::empty({256, 1}), slope = Tensor::empty({8, 1}),
               loss = Tensor::empty({});
  uint64_t warm = 0;
  for (int step = 0; step < 200; step++) {
    matmul_into(error, x, w);  // forward
    subtract_into(error, error, y);
    norm_into(loss, error);
    matmul_into(slope, transpose(x), error);  // backward: a transpose is a view, nothing is copied
    add_scaled_into(w, w, slope, -0.5 / 256);
    if (step == 0) warm = memory_stats().allocations;  // the first step made its workspace
  }
  std::printf("loss %.2g after 200 steps, %d allocations since the first\n", loss.item<double>(),
              static_cast<int>(memory_stats().allocations - warm));
  return loss.item() < 1e-3f && memory_stats().allocations == warm ? 0 : 1;
}
