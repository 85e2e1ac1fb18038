#include "gates/door/gate_layers.h"

#include <algorithm>

#include "ingot/base/error.h"
#include "ingot/gates/layers.h"

namespace ingot::gates::door {
namespace {

using namespace recipe;

const Key kRepeat{"repeat", Kind::kInteger, "1", "how often the first of these layers stands there", 1, 1000};

// What all gates have, behind keys of their layer's own.
std::vector<Key> with_gate_keys(std::vector<Key> keys) {
  const Key common[] = {
      {"form", Kind::kText, R"("softmax")", "of a gate's parameters: softmax (16 of them) or light (4)"},
      {"pass", Kind::kNumber, "10.0", "how strongly new gates hand on their first input: its initial logit"},
      {"noise", Kind::kNumber, "0.0", "deviation of random numbers that are added to initial logits", 0, 100},
      {"gumbel", Kind::kNumber, "0.0", "temperature of Gumbel noise in training, straight-through; 0: none", 0, 100},
      {"harden", Kind::kNumber, "0.0",
       "probability of a gate to be, in a training step, what it will be in the end: its likeliest function", 0, 1},
      {"harden_below", Kind::kNumber, "1.0", "hardening begins when the mean loss is below this share of the first", 0,
       1},
      {"harden_over", Kind::kInteger, "1", "updates over which it rises", 1, 1e9}};
  keys.insert(keys.end(), std::begin(common), std::end(common));
  return keys;
}

gates::GateOptions gate_options(const Settings& s) {
  const std::string& form = s.text("form");
  if (form != "softmax" && form != "light") s.fail("form", "\"form\" is softmax or light");
  return {
      .form = form == "light" ? gates::Form::kLight : gates::Form::kSoftmax,
      .pass = s.number("pass"),
      .noise = s.number("noise"),
      .gumbel = s.number("gumbel"),
      .hardening = {.most = s.number("harden"), .below = s.number("harden_below"), .over = s.integer("harden_over")}};
}

// Wide layers that read everything, then ever smaller ones: no layer may have less than half of what it reads.
std::vector<int64_t> usual_update(int64_t channels, int64_t kernels, int64_t outputs, int64_t repeat) {
  const int64_t inputs = channels * (1 + kernels * outputs), width = std::max<int64_t>(512, (inputs + 1) / 2);
  std::vector<int64_t> tail;
  for (int64_t next = width; next > 2 * channels; tail.push_back(next)) next = (next + 1) / 2;
  tail.push_back(channels);
  return gates::widths(repeat, width, tail);
}

std::vector<int64_t> layers_of(const Settings& s, const char* key) {
  const std::vector<int64_t> list = s.integers(key);
  if (list.empty()) s.fail(key, "there is at least one layer");
  return gates::widths(s.integer("repeat"), list[0], {list.begin() + 1, list.end()});
}

std::vector<Key> automaton_keys() {
  return with_gate_keys(
      {{"kernels", Kind::kInteger, "16", "perception kernels, each on every bit of a cell", 1, 256},
       {"perception", Kind::kIntegers, "[8, 4, 2]", "gates per layer of a kernel; the first has eight", 1, 4096},
       {"update", Kind::kIntegers, nullptr,
        "gates per layer of the update network, the last one per bit; else layers of 512 or more, and halves of them",
        1, 65536},
       kRepeat,
       {"steps", Kind::kInteger, "20", "how long it runs before it is compared with the target", 1, 4096},
       {"border", Kind::kText, R"("zero")", "what cells at the edge see beyond it: zero, or wrap (the other side)"},
       {"fire_rate", Kind::kNumber, "1.0", "probability of a cell to take its next state in a step", 1e-3, 1}});
}

std::vector<Key> gate_network_keys() {
  return with_gate_keys(
      {{"widths", Kind::kIntegers, "", "gates per layer", 1, 1e7},
       kRepeat,
       {"wiring", Kind::kText, R"("random")",
        "random, unique (the automata's rule), or learned: each end chooses among candidates"},
       {"candidates", Kind::kInteger, "8", "signals that an end of a learned wire chooses from", 2, 1024},
       {"reach", Kind::kInteger, "0",
        "learned wires of the first layer choose among pixels so near to a place; 0: among all", 0, 65536},
       {"picture", Kind::kIntegers, nullptr, "height and width of the pictures, for a reach", 1, 65536}});
}

// Its first channels are those that the target shows.
nn::LayerPtr make_automaton(const LayerRequest& r) {
  const Settings& s = r.s;
  const Tensor& x = r.x;
  if (x.rank() != 4)
    throw Error(ErrorKind::kShape,
                "needs boards [channels, height, width] — [data] of type life, checkerboard or grow");
  const std::string& border = s.text("border");
  if (border != "zero" && border != "wrap") s.fail("border", "\"border\" is zero or wrap");
  const std::vector<int64_t> perception = s.integers("perception");
  if (perception.empty()) s.fail("perception", "there is at least one layer");
  return std::make_shared<gates::Automaton>(gates::AutomatonOptions{
      .channels = x.size(1),
      .kernels = s.integer("kernels"),
      .perception = perception,
      .update = s.has("update") ? layers_of(s, "update")
                                : usual_update(x.size(1), s.integer("kernels"), perception.back(), s.integer("repeat")),
      .steps = s.integer("steps"),
      .border = border == "wrap" ? gates::Border::kWrap : gates::Border::kZero,
      .fire_rate = s.number("fire_rate"),
      .visible = r.task.target.size() == 3 ? r.task.target[0] : 1,
      .gates = gate_options(s)});
}

nn::LayerPtr make_gate_network(const LayerRequest& r) {
  const Settings& s = r.s;
  const Tensor& x = r.x;
  if (x.rank() != 2) throw Error(ErrorKind::kShape, "needs samples of one axis — put a flatten before it");
  const std::string& wiring = s.text("wiring");
  if (wiring == "learned") {
    gates::Candidates candidates{.count = s.integer("candidates"), .reach = s.integer("reach")};
    const std::vector<int64_t> picture = s.has("picture") ? s.integers("picture") : std::vector<int64_t>{0, 0};
    if (picture.size() != 2) s.fail("picture", "\"picture\" is a height and a width");
    candidates.height = picture[0], candidates.width = picture[1];
    return std::make_shared<gates::LearnedNetwork>(x.size(1), layers_of(s, "widths"), candidates, gate_options(s));
  }
  if (wiring != "random" && wiring != "unique") s.fail("wiring", "\"wiring\" is random, unique or learned");
  using Wiring = gates::GateNetwork::Wiring;
  return std::make_shared<gates::GateNetwork>(x.size(1), layers_of(s, "widths"),
                                              wiring == "unique" ? Wiring::kUnique : Wiring::kRandom, gate_options(s));
}

// An automaton's channels behind those that are seen are its own.
bool first_channels(const Dims& result, const Dims& target) {
  if (result.size() != 4 || target.size() != 4) return false;
  return result[0] == target[0] && result[1] >= target[1] && result[2] == target[2] && result[3] == target[3];
}

const LossType kLosses[] = {
    {{"squared_error_sum", "boards: the sum of squared errors over a batch, of the bits that are seen"},
     Targets::kNumbers,
     [](const Settings&) { return squared_error_sum(); },
     nullptr,
     first_channels,
     "boards"}};

}  // namespace

std::span<const recipe::LayerType> gate_layers() {
  static const std::vector<LayerType> all = {
      {{"automaton", "a cellular automaton whose rule is a network of logic gates", automaton_keys()}, make_automaton},
      {{"gate_network", "layers of logic gates of two inputs each", gate_network_keys()}, make_gate_network},
      {{"binarize",
        "zeros and ones: is a number above each of some levels? All axes become one",
        {{"levels", Kind::kNumbers, "[0.5]", "in front of a gate_network"}}},
       [](const LayerRequest& r) -> nn::LayerPtr { return std::make_shared<Binarize>(r.s.numbers("levels")); }},
      {{"group_sum",
        "sums of as many groups of numbers as there are classes, behind a gate_network",
        {{"out", Kind::kInteger, "0", "size of the result; 0: as the target needs it", 0, 1e7},
         {"tau", Kind::kNumber, "10.0", "what sums are divided by", 1e-6, 1e6}}},
       [](const LayerRequest& r) -> nn::LayerPtr { return std::make_shared<GroupSum>(r.out(), r.s.number("tau")); }},
  };
  return all;
}

std::span<const recipe::LossType> gate_losses() { return kLosses; }

}  // namespace ingot::gates::door
