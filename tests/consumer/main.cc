// A stranger's program: one op, one error, one thread setting, all across the library's boundary.
#include <ingot/ingot.h>

#include <cstdio>
#include <cstring>
#include <vector>

int main() {
  ingot::set_threads(2);
  std::printf("%s, %d threads\n", ingot::name(ingot::simd()), ingot::threads());
  const ingot::Tensor x = ingot::arange(0, 6), y = ingot::matmul(ingot::reshape(x, {2, 3}), ingot::reshape(x, {3, 2}));
  if (y.to_vector<float>() != std::vector<float>{10, 13, 28, 40}) return 1;
  try {
    ingot::set_threads(0);
  } catch (const ingot::Error& error) {
    std::printf("refused: %s\n", error.what());
    return ingot::threads() == 2 && std::strlen(error.what()) > 10 ? 0 : 1;
  }
  return 1;
}
