#include "ingot/recipe/progress.h"

#include <fmt/format.h>

#include <cmath>

namespace ingot::recipe {
namespace {

Value scores_record(const nn::Scores& s, const std::vector<std::string>& metrics) {
  Value out = record({});
  if (!std::isnan(s.loss)) out.set("loss", s.loss);  // a test by playing has none
  for (size_t i = 0; i < metrics.size() && i < s.metrics.size(); i++) out.set(metrics[i], s.metrics[i]);
  return out;
}

}  // namespace

bool is_share(const std::string& name) {
  return name == "accuracy" || name.starts_with("top") || name.ends_with("share");
}

std::string metric_text(const std::string& name, double value) {
  const std::string said = name.substr(name.rfind('/') + 1);  // TensorBoard's groups are for machines
  return is_share(name) ? fmt::format("{} {:.2f} %", said, 100 * value) : fmt::format("{} {:.4g}", said, value);
}

Value epoch_record(const nn::EpochResult& e, const std::vector<std::string>& metrics) {
  Value out = record({{"epoch", e.epoch}, {"train", scores_record(e.train, metrics)}});
  if (e.tested) out.set("test", scores_record(e.test, metrics));
  out.set("best", e.best);
  out.set("lr", static_cast<double>(e.lr));
  out.set("seconds", e.seconds);
  out.set("samples_per_second", e.samples_per_second);
  return out;
}

}  // namespace ingot::recipe
