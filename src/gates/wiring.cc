// Which signals gates read.
#include <algorithm>

#include "ingot/base/error.h"
#include "ingot/gates/layers.h"

namespace ingot::gates {
namespace {

std::vector<int64_t> permutation(int64_t n, RandomKey key) {
  std::vector<int64_t> order(static_cast<size_t>(n));
  fill_permutation(order.data(), n, key);
  return order;
}

[[noreturn]] void refuse(const char* rule, int64_t in, int64_t out, const char* hint) {
  throw Error(std::string(rule) + ": " + std::to_string(in) + " signals to " + std::to_string(out) + " gates — " +
              hint);
}

}  // namespace

Wires unique_wires(int64_t in, int64_t out, RandomKey key) {
  if (in < 2 || out < 1 || out > in * (in - 1) / 2 || 2 * out < in)
    refuse("unique_wires", in, out,
           "every signal is read and no pair twice: give n/2 to n·(n - 1)/2 gates for n signals");
  std::vector<std::pair<int32_t, int32_t>> pairs;
  const auto add = [&](int64_t first, int64_t step, int64_t distance) {
    for (int64_t i = first; i + distance < in; i += step)
      pairs.emplace_back(static_cast<int32_t>(i), static_cast<int32_t>(i + distance));
  };
  add(0, 2, 1);
  add(1, 2, 1);
  for (int64_t distance = 2; static_cast<int64_t>(pairs.size()) < out; distance++) add(0, 1, distance);
  // An odd number of signals leaves the last one to the second round, which must then not be cut off.
  if (in % 2 == 1 && out == in / 2) refuse("unique_wires", in, out, "one signal would be read by nobody: add a gate");
  Wires wires;
  for (const int64_t i : permutation(out, key)) {
    wires.a.push_back(pairs[static_cast<size_t>(i)].first);
    wires.b.push_back(pairs[static_cast<size_t>(i)].second);
  }
  return wires;
}

Wires random_wires(int64_t in, int64_t out, RandomKey key) {
  if (in < 2 || out < 1) refuse("random_wires", in, out, "give at least two signals and one gate");
  // Ends of wires in turns of all signals, each turn in an order of its own.
  std::vector<int32_t> ends;
  for (uint64_t turn = 0; static_cast<int64_t>(ends.size()) < 2 * out; turn++)
    for (const int64_t signal : permutation(in, {key.seed, key.stream + (turn << 32)}))
      ends.push_back(static_cast<int32_t>(signal));
  Wires wires;
  for (int64_t g = 0; g < out; g++) {
    const auto at = static_cast<size_t>(2 * g);
    // Where two turns meet, a signal may come twice; the one behind it is another one.
    if (ends[at] == ends[at + 1]) std::swap(ends[at + 1], at + 2 < ends.size() ? ends[at + 2] : ends[0]);
    if (ends[at] == ends[at + 1]) ends[at + 1] = static_cast<int32_t>((ends[at] + 1) % in);
    wires.a.push_back(ends[at]);
    wires.b.push_back(ends[at + 1]);
  }
  return wires;
}

Wires neighbour_wires(RandomKey key) {
  constexpr int32_t kCentre = 4;
  Wires wires;
  for (const int64_t i : permutation(8, key)) {
    wires.a.push_back(static_cast<int32_t>(i < kCentre ? i : i + 1));
    wires.b.push_back(kCentre);
  }
  return wires;
}

std::vector<int64_t> widths(int64_t count, int64_t width, std::vector<int64_t> tail) {
  tail.insert(tail.begin(), static_cast<size_t>(std::max<int64_t>(count, 0)), width);
  return tail;
}

}  // namespace ingot::gates
