// `ingot profile`: where the time of a compiled step goes, and what the step looks like.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/examples.h"
#include "cli/job.h"
#include "ingot/error.h"
#include "ingot/functions.h"
#include "ingot/io.h"
#include "ingot/plan.h"

namespace ingot::cli {
namespace {

// The training step of a recipe or a description, with the first batch of its data.
class JobExample final : public Example {
 public:
  JobExample(Description d, const PlanOptions& options) : job_(std::move(d), options) {
    const data::Batch* batch = job_.train->next();
    set_inputs({clone(batch->x), clone(batch->y)});
  }
  Plan& plan() override { return step().plan(); }
  Profile profile(int runs) override { return step().profile(runs, inputs()); }

 private:
  TrainStep& step() { return job_.trainer->step_for(*job_.train); }
  Job job_;
};

std::unique_ptr<Example> find_example(const ProfileOptions& o) {
  const PlanOptions options{.name = o.example, .without = o.without, .threads = o.threads};
  std::vector<std::string> names;
  for (const ExampleInfo& e : examples()) {
    if (o.example == e.name) return make_example(o.example, o.batch, options);
    names.emplace_back(e.name);
  }
  for (const std::string& name : recipe_names()) names.push_back(name);
  if (std::find(names.begin(), names.end(), o.example) == names.end() && !std::filesystem::exists(o.example))
    throw Error(fmt::format("profile: there is no example, recipe or file \"{}\" — {}", o.example,
                            suggestion(o.example, names)));
  std::vector<std::string> sets = o.sets;
  if (o.batch > 0) sets.push_back(fmt::format("train.batch={}", o.batch));
  return std::make_unique<JobExample>(load_description(o.example, sets), options);
}

nlohmann::json as_json(const Profile& p, const Plan& plan) {
  const PlanBytes b = plan.bytes();
  nlohmann::json report = {{"plan", p.plan},
                           {"threads", p.threads},
                           {"runs", p.runs},
                           {"us", p.us},
                           {"plain_us", p.plain_us},
                           {"rest_share", p.rest_share},
                           {"wait_share", p.wait_share},
                           {"bytes",
                            {{"arena", b.arena},
                             {"scratch", b.scratch},
                             {"outputs", b.outputs},
                             {"constants", b.constants},
                             {"parameters", b.parameters},
                             {"gradients", b.gradients},
                             {"state", b.state}}}};
  report["steps"] = nlohmann::json::array();
  for (const StepProfile& s : p.steps)
    report["steps"].push_back({{"name", s.name},
                               {"kind", s.kind},
                               {"detail", s.detail},
                               {"workers", s.workers},
                               {"barrier", s.barrier},
                               {"us", s.us},
                               {"wait_us", s.wait_us},
                               {"share", s.share},
                               {"flops", s.flops},
                               {"bytes", s.bytes},
                               {"roofline", s.roofline},
                               {"critical", s.critical}});
  return report;
}

}  // namespace

std::string profile_help() {
  std::string text = "Examples to profile:\n";
  for (const ExampleInfo& e : examples()) text += fmt::format("  {:<8}{} (batch {})\n", e.name, e.what, e.batch);
  return text + recipes_help() +
         "\nFor instance:\n"
         "  ingot profile mlp                          where the time goes\n"
         "  ingot profile dqn --threads 1 --by-time    the slowest steps first\n"
         "  ingot profile cnn --trace cnn.json         to open at ui.perfetto.dev\n"
         "  ingot profile mnist --batch 256            the step of a recipe, or of a file\n"
         "  ingot profile mlp --svg mlp.svg            a picture of the plan; --captured: before the passes";
}

int profile(const ProfileOptions& o) {
  const std::unique_ptr<Example> example = find_example(o);
  Plan& plan = example->plan();
  if (!o.dot.empty()) io::write_file(o.dot, plan.dot(!o.captured));
  if (!o.svg.empty()) io::write_file(o.svg, plan.svg(!o.captured));
  if (o.describe) fmt::print("{}\n", plan.describe(true));
  if (o.dump) fmt::print("{}", plan.dump());
  if ((o.dump || o.describe) && o.trace.empty() && !o.json) return 0;
  const Profile p = example->profile(o.runs);
  if (!o.trace.empty()) io::write_file(o.trace, p.chrome_trace());
  fmt::print("{}", o.json ? as_json(p, plan).dump(2) + "\n" : o.by_op ? p.by_op() : p.table(o.by_time));
  return 0;
}

}  // namespace ingot::cli
