#include "cli/progress.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "ingot/recipe/page.h"
#include "ingot/recipe/terminal.h"

namespace ingot::cli {
namespace {

using namespace recipe;

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

// A disk that is full for words need not be the end of the training: fmt::print would throw.
void print(const std::string& text) {
  std::fputs(text.c_str(), stdout);
  std::fflush(stdout);
}

}  // namespace

ProgressBar::ProgressBar(Show show) : show_(show), bar_(show == Show::kAuto && can_redraw()) {}

void ProgressBar::begin(const RunInfo& info) { info_ = info, first_ = -1; }

void ProgressBar::training(bool) { clear(); }

std::string ProgressBar::scores(const nn::Scores& s) const {
  std::string out = std::isnan(s.loss) ? "" : fmt::format("loss {:.4f}", s.loss);
  for (size_t i = 0; i < info_.metrics.size() && i < s.metrics.size(); i++)
    out += (out.empty() ? "" : "  ") + metric_text(info_.metrics[i], s.metrics[i]);
  return out;
}

void ProgressBar::clear() {
  if (drawn_) std::fputs((redrawn("") + "\r").c_str(), stdout);
  drawn_ = false;
}

void ProgressBar::say(const std::string& text) {
  if (show_ != Show::kAuto) return;
  clear();
  print(text + "\n");
}

void ProgressBar::event(const Value& what) {
  if (show_ != Show::kJson) return;
  print(to_json(what) + "\n");
}

void ProgressBar::batch(const nn::BatchResult& b) {
  if (!bar_) return;
  const auto now = Clock::now();
  const int64_t done = (b.epoch - 1) * b.batches + b.batch;
  if (first_ < 0) first_ = done - 1, start_ = now - kRedraw;
  if (now - last_ < kRedraw) return;
  last_ = now;

  const double elapsed = std::chrono::duration<double>(now - start_).count();
  const double left =
      elapsed / static_cast<double>(done - first_) * static_cast<double>(info_.epochs * b.batches - done);
  const std::string head =
      fmt::format("{} {:>{}}/{} ", info_.period, b.epoch, std::to_string(info_.epochs).size(), info_.epochs);
  const std::string counts = fmt::format(" {}/{}", b.batch, b.batches);
  // The most telling parts first; what the terminal has no room for is left out.
  const std::string parts[] = {
      "  " + scores(b.mean), fmt::format("  {} left", clock_text(left)),
      fmt::format("  {} {}/s", grouped(static_cast<int64_t>(b.samples_per_second)), info_.unit)};
  const int width = terminal_width() - 1;
  std::string tail = counts;
  for (const std::string& part : parts)
    if (static_cast<int>(head.size() + tail.size() + part.size()) + 6 <= width) tail += part;
  const int columns = std::clamp(width - static_cast<int>(head.size() + tail.size()), 0, 30);
  const std::string bar = bar_text(static_cast<double>(b.batch) / static_cast<double>(b.batches), columns);
  print(redrawn("") + fmt::format("\r{}{}{}", head, green(bar), tail));
  drawn_ = true;
}

void ProgressBar::epoch(const nn::EpochResult& e) {
  event(epoch_record(e, info_.metrics));
  if (show_ != Show::kAuto) return;
  std::string line = fmt::format("{} {:>{}}/{}  {}", info_.period, e.epoch, std::to_string(info_.epochs).size(),
                                 info_.epochs, scores(e.train));
  if (e.tested) line += fmt::format("  {}: {}", info_.test_name, scores(e.test));
  line += fmt::format("  {}  {} {}/s", clock_text(e.seconds), grouped(static_cast<int64_t>(e.samples_per_second)),
                      info_.unit);
  say(line + (e.best && e.tested ? green("  best") : ""));
}

}  // namespace ingot::cli
