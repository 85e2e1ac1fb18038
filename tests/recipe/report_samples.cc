#include "tests/recipe/report_samples.h"

#include <algorithm>
#include <cmath>

#include "ingot/base/random.h"

namespace ingot::recipe {
namespace {

// Numbers between 0 and 1 that are the same on every machine.
struct Numbers {
  uint64_t state = 1;
  double operator()() {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    return static_cast<double>(state >> 11) / 9007199254740992.0;
  }
};

Tensor blob(Numbers& next, int64_t side) {
  Tensor t = Tensor::empty({side, side}, kU8);
  const double cx = (0.3 + 0.4 * next()) * static_cast<double>(side),
               cy = (0.3 + 0.4 * next()) * static_cast<double>(side);
  for (int64_t y = 0; y < side; y++)
    for (int64_t x = 0; x < side; x++) {
      const double r =
          std::hypot(static_cast<double>(x) - cx, static_cast<double>(y) - cy) - 0.25 * static_cast<double>(side);
      t.at<uint8_t>({y, x}) = static_cast<uint8_t>(255 * std::exp(-r * r / (0.02 * static_cast<double>(side * side))));
    }
  return t;
}

}  // namespace

Report sample_report(int epochs, const std::vector<std::string>& classes) {
  Numbers next;
  Report r{.title = "digits"};
  r.subtitle = "A small convolutional network learns 1,797 handwritten digits of 8 × 8 pixels; a fifth is held out.";
  r.command = "ingot train digits --seed 1";
  r.metrics = {{"accuracy", {}, true}};
  for (int e = 1; e <= epochs; e++) {
    nn::EpochResult result;
    result.epoch = e;
    result.train = {2.3 * std::exp(-e / 3.0) + 0.02 * (1 + next()), {1 - 0.85 * std::exp(-e / 2.5) - 0.01 * next()}};
    result.test = {2.2 * std::exp(-e / 3.0) + 0.05 * (1 + next()), {0.985 - 0.8 * std::exp(-e / 2.5) - 0.01 * next()}};
    result.tested = true;
    result.lr = static_cast<float>(0.003 * 0.5 * (1 + std::cos(3.14159 * e / epochs)));
    result.seconds = 0.2;
    result.samples_per_second = 7200;
    result.best = true;  // the last
    r.epochs.push_back(result);
  }
  const size_t n = classes.size();
  r.confusion = {classes, std::vector<int64_t>(n * n)};
  for (size_t i = 0; i < n; i++) {
    r.confusion.counts[i * n + i] = 36;
    if (n > 1 && i % 2 == 0) r.confusion.counts[i * n + (i * 7 + 3) % n] += 1 + static_cast<int64_t>(i % 3);
  }
  for (size_t i = 0; i < 30 && n > 0; i++) {
    const bool correct = i % 6 != 4;
    r.pictures.push_back(
        {blob(next, 8), classes[i % n], classes[correct ? i % n : (i + 1) % n], 0.5 + 0.5 * next(), correct});
  }
  r.model = {{"layer", "result", "parameters"},
             {{"conv1 Conv2d(1, 16, 3)", "[64, 16, 8, 8]", "160"}, {"fc Linear(1024, 10)", "[64, 10]", "10,250"}}};
  r.model_note = "10,410 parameters";
  Profile p;
  p.plan = "train";
  p.threads = 2;
  p.plain_us = 812;
  double total = 0;
  for (int i = 0; i < 22; i++) {
    StepProfile s;
    s.name = "conv" + std::to_string(i) + "/linear+relu";
    s.kind = i % 3 == 0 ? "gemm" : "fused";
    s.us = 200 / (1.0 + i);
    s.share = s.us;
    s.flops = s.us * 30000;
    s.bytes = s.us * 8000;
    s.roofline = 0.9 - 0.03 * i;
    s.critical = i < 6;
    total += s.us;
    p.steps.push_back(s);
  }
  for (StepProfile& s : p.steps) s.share /= total;
  r.profile = p;
  PlanBytes b;
  b.parameters = b.gradients = 41640;
  b.state = 2 * b.parameters;
  b.arena = 300000;
  b.scratch = 20000;
  b.inputs = 16384;
  r.memory = b;
  r.plan_svg =
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"200\" height=\"60\"><rect width=\"90\" height=\"30\"/></svg>";
  r.config = "# digits\n[model]\nlayers = [\"conv 16 3\", \"relu\"]\n\n[train]\nepochs = 20\nlr = 0.003\n";
  r.machine = {{"two cores, AVX2", "processor"}, {"0.1.0", "Ingot"}};
  return r;
}

void add_other_sections(Report& r) {
  Numbers next;
  for (int i = 0; i < 12; i++) {
    Tensor in = blob(next, 8);
    Tensor out = Tensor::empty({1, 8, 8});
    for (int64_t k = 0; k < 64; k++) out.data<float>()[k] = static_cast<float>(in.data<uint8_t>()[k]) / 300.0F;
    r.reconstructions.push_back({in, out});
  }
  r.texts = {{"epoch 1, loss 2.41", "the and\nthe  <b>& the"},
             {"epoch 2, loss 1.58", "ROMEO:\nWhat light?\n\nJULIET:\nAy me."}};
  ReportScatter s{"price", {}, {}};
  for (int i = 0; i < 200; i++) {
    s.truth.push_back(50 * next());
    s.prediction.push_back(s.truth.back() + 6 * (next() - 0.5));
  }
  r.scatters = {s};
}

}  // namespace ingot::recipe
