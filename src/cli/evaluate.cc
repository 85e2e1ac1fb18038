// `ingot eval`: how good a trained model is.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/job.h"
#include "cli/page.h"
#include "cli/progress.h"
#include "cli/terminal.h"
#include "ingot/error.h"

namespace ingot::cli {

int evaluate(const EvalOptions& o) {
  TrainedModel trained = load_model(o.model);
  std::vector<std::string> sets = o.sets;
  sets.emplace_back("train.ema=0");  // the file has the averaged weights already
  Job job(parse_description(trained.path, trained.description.toml(), sets), {}, &trained.task);
  job.model->load_state_dict(trained.model->state_dict());
  data::Loader& loader = job.test != nullptr ? *job.test : *job.train;
  const nn::Scores scores = job.trainer->evaluate(loader);
  if (o.json) {
    nlohmann::ordered_json out = {{"model", trained.path}, {"samples", loader.samples()}, {"loss", scores.loss}};
    for (size_t i = 0; i < job.metrics.size(); i++) out[job.metrics[i].name] = scores.metrics[i];
    fmt::print("{}\n", out.dump());
    return 0;
  }
  fmt::print("{}  {} samples{}\n  loss {:.5f}\n", bold(trained.path), grouped(loader.samples()),
             job.test != nullptr ? " that were held back" : "", scores.loss);
  for (size_t i = 0; i < job.metrics.size(); i++)
    fmt::print("  {}\n", metric_text(job.metrics[i].name, scores.metrics[i]));
  return 0;
}

}  // namespace ingot::cli
