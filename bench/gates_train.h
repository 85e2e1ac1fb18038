// Training epochs of the published automata against libtorch, which computes the same thing from the same wires, logits
// and boards: every case checks that before it measures.
#pragma once
#include <torch/torch.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "harness.h"
#include "ingot/gates/layers.h"
#include "ingot/nn.h"
#include "ingot/ops/ops.h"

namespace ingot::bench {

/// An automaton's gates layer by layer, as whoever writes this with libtorch would: rows are features and columns cells
/// (or the other way round), operands are gathered with index_select, a gate is its four coefficients, which are
/// computed once per epoch.
class TorchAutomaton {
 public:
  TorchAutomaton(gates::Automaton& rule, int64_t batch, int64_t height, int64_t width, bool features_first)
      : options_(rule.options()), batch_(batch), height_(height), width_(width), features_first_(features_first) {
    const Tensor logits = clone(rule.gates.logits);
    logits_ = torch::from_blob(logits.raw(), {logits.size(0), 16}, torch::kFloat).clone().set_requires_grad(true);
    optimizer_ = std::make_unique<torch::optim::AdamW>(
        std::vector<at::Tensor>{logits_}, torch::optim::AdamWOptions(0.05).betas({0.9, 0.99}).weight_decay(0.01));
    table_ = torch::zeros({16, 4});
    for (int f = 0; f < 16; f++) {
      const auto value = [&](int a, int b) { return static_cast<float>(f >> (3 - 2 * a - b) & 1); };
      table_[f][0] = value(0, 0);
      table_[f][1] = value(1, 0) - value(0, 0);
      table_[f][2] = value(0, 1) - value(0, 0);
      table_[f][3] = value(1, 1) - value(1, 0) - value(0, 1) + value(0, 0);
    }
    for (const NamedTensor& t : rule.state_dict())
      if (t.name == "wires") lay_out(t.tensor);
  }

  /// Boards [batch, channels, h, w] to the loss, with the graph of its gradient.
  at::Tensor loss(const at::Tensor& x, const at::Tensor& target) {
    const at::Tensor coefficients = torch::matmul(torch::softmax(logits_, 1), table_);
    std::vector<std::array<at::Tensor, 4>> layer_coefficients;
    for (const Layer& layer : layers_) {
      const at::Tensor own = coefficients.index_select(0, layer.rows);
      std::array<at::Tensor, 4> columns;
      for (int k = 0; k < 4; k++) columns[static_cast<size_t>(k)] = own.select(1, k).unsqueeze(features_first_ ? 1 : 0);
      layer_coefficients.push_back(columns);
    }
    const int64_t axis = features_first_ ? 0 : 1;
    at::Tensor state = x;
    for (int64_t step = 0; step < options_.steps; step++) {
      std::vector<at::Tensor> levels{neighbourhoods(state)};
      for (size_t l = 0; l < layers_.size(); l++) {
        const Layer& layer = layers_[l];
        std::vector<at::Tensor> from;
        for (const size_t level : layer.from) from.push_back(levels[level]);
        const at::Tensor all = from.size() == 1 ? from[0] : torch::cat(from, axis);
        const at::Tensor a = all.index_select(axis, layer.a), b = all.index_select(axis, layer.b);
        const auto& c = layer_coefficients[l];
        levels.push_back(torch::addcmul(c[0] + c[1] * a, b, torch::addcmul(c[2], c[3], a)));
      }
      const at::Tensor next = levels.back();
      state = features_first_ ? next.view({options_.channels, batch_, height_, width_}).transpose(0, 1)
                              : next.view({batch_, height_, width_, options_.channels}).permute({0, 3, 1, 2});
    }
    const at::Tensor error = state.narrow(1, 0, target.size(1)) - target;
    return (error * error).sum();
  }

  void epoch(const at::Tensor& x, const at::Tensor& target) {
    optimizer_->zero_grad();
    loss(x, target).backward();
    torch::nn::utils::clip_grad_value_({logits_}, 100);
    optimizer_->step();
  }

 private:
  struct Layer {
    std::vector<size_t> from;  // levels whose signals, one behind the other, it reads
    at::Tensor a, b, rows;
  };

  // A gate's level is one above that of what it reads; the inputs are level 0.
  void lay_out(const Tensor& wires) {
    const int64_t inputs = 9 * options_.channels, count = wires.size(0);
    const auto* w = wires.data<int32_t>();
    std::vector<size_t> level(static_cast<size_t>(inputs + count), 0);
    std::vector<std::vector<int64_t>> members(1);
    for (int64_t s = 0; s < inputs + count; s++) {
      if (s >= inputs) {
        const int32_t* wire = w + 3 * (s - inputs);
        level[static_cast<size_t>(s)] =
            1 + std::max(level[static_cast<size_t>(wire[0])], level[static_cast<size_t>(wire[1])]);
      }
      members.resize(std::max(members.size(), level[static_cast<size_t>(s)] + 1));
      members[level[static_cast<size_t>(s)]].push_back(s);
    }
    for (size_t l = 1; l < members.size(); l++) {
      std::map<size_t, int64_t> base;
      for (const int64_t s : members[l])
        for (int k = 0; k < 2; k++) base[level[static_cast<size_t>(w[3 * (s - inputs) + k])]] = 0;
      Layer layer;
      std::map<int64_t, int64_t> place;
      for (auto& [from, first] : base) {
        layer.from.push_back(from);
        for (const int64_t s : members[from]) place.emplace(s, static_cast<int64_t>(place.size()));
      }
      std::vector<int64_t> a, b, rows;
      for (const int64_t s : members[l]) {
        const int32_t* wire = w + 3 * (s - inputs);
        a.push_back(place.at(wire[0])), b.push_back(place.at(wire[1])), rows.push_back(wire[2]);
      }
      layer.a = torch::tensor(a), layer.b = torch::tensor(b), layer.rows = torch::tensor(rows);
      layers_.push_back(layer);
    }
  }

  // Every cell's 3×3 neighbourhood in every channel: [9 · channels, cells], or [cells, 9 · channels].
  at::Tensor neighbourhoods(const at::Tensor& state) {
    const bool wrap = options_.border == gates::Border::kWrap;
    const auto pad = torch::nn::functional::PadFuncOptions({1, 1, 1, 1});
    const at::Tensor padded =
        wrap ? torch::nn::functional::pad(state, torch::nn::functional::PadFuncOptions(pad).mode(torch::kCircular))
             : torch::constant_pad_nd(state, {1, 1, 1, 1});
    std::vector<at::Tensor> moved;
    for (int64_t y = 0; y < 3; y++)
      for (int64_t x = 0; x < 3; x++) moved.push_back(padded.narrow(2, y, height_).narrow(3, x, width_));
    const at::Tensor all = torch::stack(moved, 2);  // [batch, channels, 9, h, w]
    return features_first_ ? all.permute({1, 2, 0, 3, 4}).reshape({9 * options_.channels, -1})
                           : all.permute({0, 3, 4, 1, 2}).reshape({-1, 9 * options_.channels});
  }

  gates::AutomatonOptions options_;
  int64_t batch_, height_, width_;
  bool features_first_;
  at::Tensor logits_, table_;
  std::vector<Layer> layers_;
  std::unique_ptr<torch::optim::AdamW> optimizer_;
};

struct Experiment {
  const char* label;
  gates::AutomatonOptions options;
  int64_t batch, size, visible;
};

inline std::vector<Experiment> experiments() {
  using gates::Border;
  using gates::widths;
  return {
      {"g-checkerboard-epoch", {.update = widths(10, 256, {128, 64, 32, 16, 8, 8})}, 2, 16, 1},
      {"g-gol-epoch",
       {.channels = 1,
        .perception = {8, 4, 2, 1},
        .update = widths(17, 128, {64, 32, 16, 8, 4, 2, 1}),
        .steps = 1,
        .border = Border::kWrap},
       20,
       3,
       1},
      {"g-lizard-epoch",
       {.channels = 128,
        .kernels = 4,
        .perception = {8, 4, 2, 1},
        .update = widths(8, 512, {256, 128}),
        .steps = 12,
        .border = Border::kWrap},
       1,
       20,
       1},
      {"g-coloured-g-epoch",
       {.channels = 64, .kernels = 4, .update = widths(8, 512, {256, 128, 64}), .steps = 15},
       1,
       16,
       3},
  };
}

inline void train_automata(Suite& suite) {
  for (const Experiment& e : experiments()) {
    if (!suite.wants(e.label)) continue;
    nn::set_seed(1);
    gates::AutomatonOptions options = e.options;
    options.gates.pass = 5;
    gates::Automaton rule(options);
    rule.gates.logits = add(rule.gates.logits, normal(rule.gates.logits.shape(), 3, 0, 0.5));
    TorchAutomaton rows(rule, e.batch, e.size, e.size, true), columns(rule, e.batch, e.size, e.size, false);
    auto step = nn::train_step(rule, gates::squared_error_sum(),
                               optim::AdamW{.lr = 0.05F, .beta2 = 0.99, .weight_decay = 0.01, .clip_value = 100},
                               {{e.batch, options.channels, e.size, e.size}, {e.batch, e.visible, e.size, e.size}});
    const Tensor x = to(bernoulli({e.batch, options.channels, e.size, e.size}, 1, 0.5), kF32);
    const Tensor y = to(bernoulli({e.batch, e.visible, e.size, e.size}, 2, 0.5), kF32);
    const at::Tensor tx = torch::from_blob(x.raw(), {e.batch, options.channels, e.size, e.size}, torch::kFloat);
    const at::Tensor ty = torch::from_blob(y.raw(), {e.batch, e.visible, e.size, e.size}, torch::kFloat);
    for (int epoch = 0; epoch < 3; epoch++) {  // the same losses, also behind updates
      const double theirs = rows.loss(tx, ty).item<double>(), others = columns.loss(tx, ty).item<double>();
      const double ours = step(x, y);
      if (std::abs(ours - theirs) > 1e-3 * theirs || std::abs(ours - others) > 1e-3 * others) {
        std::fprintf(stderr, "bench: %s: the losses differ: %g, %g and %g\n", e.label, ours, theirs, others);
        std::exit(1);
      }
      rows.epoch(tx, ty);
      columns.epoch(tx, ty);
    }
    suite.compare(e.label, [&] { step(x, y); },
                  {{"libtorch", [&] { rows.epoch(tx, ty); }, "rows of features"},
                   {"libtorch", [&] { columns.epoch(tx, ty); }, "columns of features"}});
  }
}

}  // namespace ingot::bench
