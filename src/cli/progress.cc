#include "cli/progress.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "cli/page.h"
#include "cli/terminal.h"

namespace ingot::cli {
namespace {

constexpr auto kRedraw = std::chrono::milliseconds(100);

// Blocks of an eighth of a column: a bar that moves smoothly.
std::string bar_text(double share, int columns) {
  static const char* const kEighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  const int eighths = static_cast<int>(std::clamp(share, 0.0, 1.0) * columns * 8);
  std::string out;
  for (int i = 0; i < eighths / 8; i++) out += "█";
  out += kEighths[eighths % 8];
  const int used = eighths / 8 + (eighths % 8 != 0 ? 1 : 0);
  return out + std::string(static_cast<size_t>(columns - used), ' ');
}

nlohmann::ordered_json scores_json(const nn::Scores& s, const std::vector<std::string>& metrics) {
  nlohmann::ordered_json out = {{"loss", s.loss}};
  for (size_t i = 0; i < metrics.size() && i < s.metrics.size(); i++) out[metrics[i]] = s.metrics[i];
  return out;
}

}  // namespace

std::string metric_text(const std::string& name, double value) {
  const bool share = name == "accuracy" || name.starts_with("top");
  return share ? fmt::format("{} {:.2f} %", name, 100 * value) : fmt::format("{} {:.4g}", name, value);
}

std::string epoch_json(const nn::EpochResult& e, const std::vector<std::string>& metrics) {
  nlohmann::ordered_json out = {{"epoch", e.epoch}, {"train", scores_json(e.train, metrics)}};
  if (e.tested) out["test"] = scores_json(e.test, metrics);
  out["best"] = e.best;
  out["lr"] = e.lr;
  out["seconds"] = e.seconds;
  out["samples_per_second"] = e.samples_per_second;
  return out.dump();
}

Progress::Progress(Show show, int64_t epochs, std::vector<std::string> metrics, std::string test)
    : show_(show),
      bar_(show == Show::kAuto && is_terminal()),
      epochs_(epochs),
      metrics_(std::move(metrics)),
      test_(std::move(test)) {}

std::string Progress::scores(const nn::Scores& s) const {
  std::string out = fmt::format("loss {:.4f}", s.loss);
  for (size_t i = 0; i < metrics_.size() && i < s.metrics.size(); i++)
    out += "  " + metric_text(metrics_[i], s.metrics[i]);
  return out;
}

void Progress::clear() {
  if (drawn_) std::fputs("\r\033[K", stdout);
  drawn_ = false;
}

void Progress::say(const std::string& text) {
  if (!people()) return;
  clear();
  fmt::print("{}\n", text);
  std::fflush(stdout);
}

void Progress::event(const std::string& json) {
  if (show_ != Show::kJson) return;
  fmt::print("{}\n", json);
  std::fflush(stdout);
}

void Progress::batch(const nn::BatchResult& b) {
  if (!bar_) return;
  const auto now = Clock::now();
  const int64_t done = (b.epoch - 1) * b.batches + b.batch;
  if (first_ < 0) first_ = done - 1, start_ = now - kRedraw;
  if (now - last_ < kRedraw) return;
  last_ = now;

  const double elapsed = std::chrono::duration<double>(now - start_).count();
  const double left = elapsed / static_cast<double>(done - first_) * static_cast<double>(epochs_ * b.batches - done);
  const std::string head = fmt::format("epoch {:>{}}/{} ", b.epoch, std::to_string(epochs_).size(), epochs_);
  const std::string counts = fmt::format(" {}/{}", b.batch, b.batches);
  // The most telling parts first; what the terminal has no room for is left out.
  const std::string parts[] = {"  " + scores(b.mean), fmt::format("  {} left", clock_text(left)),
                               fmt::format("  {} samples/s", grouped(static_cast<int64_t>(b.samples_per_second)))};
  const int width = terminal_width() - 1;
  std::string tail = counts;
  for (const std::string& part : parts)
    if (static_cast<int>(head.size() + tail.size() + part.size()) + 6 <= width) tail += part;
  const int columns = std::clamp(width - static_cast<int>(head.size() + tail.size()), 0, 30);
  const std::string bar = bar_text(static_cast<double>(b.batch) / static_cast<double>(b.batches), columns);
  fmt::print("\r{}{}{}\033[K", head, green(bar), tail);
  std::fflush(stdout);
  drawn_ = true;
}

void Progress::epoch(const nn::EpochResult& e) {
  event(epoch_json(e, metrics_));
  if (!people()) return;
  std::string line =
      fmt::format("epoch {:>{}}/{}  {}", e.epoch, std::to_string(epochs_).size(), epochs_, scores(e.train));
  if (e.tested) line += fmt::format("  {}: {}", test_, scores(e.test));
  line += fmt::format("  {}  {} samples/s", clock_text(e.seconds), grouped(static_cast<int64_t>(e.samples_per_second)));
  say(line + (e.best ? green("  best") : ""));
}

}  // namespace ingot::cli
