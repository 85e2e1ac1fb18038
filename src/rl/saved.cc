#include "ingot/rl/saved.h"

#include <cstring>

#include "ingot/base/error.h"
#include "ingot/base/numbers.h"

namespace ingot::rl {
namespace {

template <class T>
T saved_number(const nn::TrainingState& state, const std::string& name) {
  const auto found = state.values.find(name);
  if (found == state.values.end()) refuse_saved("there is no \"" + name + "\"");
  T value = 0;
  if (!parse_number(found->second, value))
    refuse_saved("\"" + name + "\" is no such number: \"" + found->second + "\"");
  return value;
}

}  // namespace

void refuse_saved(const std::string& what) {
  throw Error(ErrorKind::kFile, "checkpoint: " + what + " — it is of another run, or of other settings");
}

void save_memory(nn::TrainingState& state, const std::string& name, std::span<const std::byte> memory) {
  state.tensors.push_back(
      {name, Tensor::wrap(const_cast<std::byte*>(memory.data()), {static_cast<int64_t>(memory.size())}, kU8)});
}

void load_memory(const nn::TrainingState& state, const std::string& name, std::span<std::byte> memory) {
  const Tensor like = Tensor::wrap(memory.data(), {static_cast<int64_t>(memory.size())}, kU8);
  std::memcpy(memory.data(), saved_tensor(state, name, like).raw(), memory.size());
}

void save_number(nn::TrainingState& state, const std::string& name, int64_t value) {
  state.values[name] = std::to_string(value);
}
void save_number(nn::TrainingState& state, const std::string& name, double value) {
  state.values[name] = exact_text(value);
}
int64_t saved_integer(const nn::TrainingState& state, const std::string& name) {
  return saved_number<int64_t>(state, name);
}
int64_t saved_count(const nn::TrainingState& state, const std::string& name) {
  const int64_t count = saved_integer(state, name);
  if (count < 0 || count > int64_t{1} << 40)
    refuse_saved("\"" + name + "\" is " + std::to_string(count) + ", which no run has counted");
  return count;
}
double saved_real(const nn::TrainingState& state, const std::string& name) { return saved_number<double>(state, name); }

const Tensor& saved_tensor(const nn::TrainingState& state, const std::string& name, const Tensor& like) {
  for (const NamedTensor& t : state.tensors) {
    if (t.name != name) continue;
    if (t.tensor.dtype() != like.dtype() || !(t.tensor.shape() == like.shape()))
      refuse_saved("\"" + name + "\" is " + describe(t.tensor) + ", not " + describe(like));
    return t.tensor;
  }
  refuse_saved("there is no \"" + name + "\"");
}

}  // namespace ingot::rl
