#include "ingot/rl/environment.h"

#include "ingot/base/random.h"
#include "ingot/rl/vector_env.h"

namespace ingot::rl {

uint64_t episode_seed(uint64_t seed, int64_t index, int64_t episode) {
  const auto i = static_cast<uint64_t>(index), e = static_cast<uint64_t>(episode);
  const auto bits = philox({static_cast<uint32_t>(i), static_cast<uint32_t>(i >> 32), static_cast<uint32_t>(e),
                            static_cast<uint32_t>(e >> 32)},
                           {static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)});
  return uint64_t{bits[1]} << 32 | bits[0];
}

std::array<double, 4> uniform_four(uint64_t seed, uint64_t stream) {
  const auto bits = philox({static_cast<uint32_t>(stream), static_cast<uint32_t>(stream >> 32), 0, 0x756e6966},
                           {static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)});
  std::array<double, 4> out;
  for (size_t i = 0; i < 4; i++) out[i] = bits[i] * 0x1p-32;
  return out;
}

void check_result_tensor(const char* where, const char* what, const Tensor& tensor, DType dtype, const Dims& shape) {
  if (tensor.defined() && !tensor.is_symbolic() && tensor.dtype() == dtype && tensor.shape() == shape &&
      tensor.is_contiguous())
    return;
  throw Error(tensor.defined() && tensor.shape() != shape ? ErrorKind::kShape : ErrorKind::kType,
              std::string(where) + ": " + what + " is " + describe(tensor) + " — give a contiguous " + name(dtype) +
                  " " + to_string(shape));
}

void refuse_action(int64_t action, int64_t count) {
  throw Error("step: action " + std::to_string(action) + " — actions are 0 to " + std::to_string(count - 1));
}

void check_actions(std::span<const int64_t> actions, int64_t count) {
  int64_t signs = 0;  // negative as soon as an action is, or what it lacks to the last one
  for (const int64_t a : actions)
    signs |= a | static_cast<int64_t>(static_cast<uint64_t>(count - 1) - static_cast<uint64_t>(a));
  if (signs >= 0) return;
  for (size_t i = 0; i < actions.size(); i++)
    if (actions[i] < 0 || actions[i] >= count)
      throw Error("step: action " + std::to_string(actions[i]) + " of environment " + std::to_string(i) +
                  " — actions are 0 to " + std::to_string(count - 1));
}

}  // namespace ingot::rl
