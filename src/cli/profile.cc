// `ingot profile`: where the time of a compiled step goes, and what the step looks like.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>

#include "cli/commands.h"
#include "cli/examples.h"
#include "ingot/base/error.h"
#include "ingot/base/threads.h"
#include "ingot/graph/plan.h"
#include "ingot/io/io.h"
#include "ingot/ops/functions.h"
#include "ingot/recipe/job.h"

namespace ingot::cli {
namespace {

using namespace recipe;

struct ProfileOptions {
  std::string example;            // or a recipe, or a file
  std::vector<std::string> sets;  // changes of a recipe's or file's keys
  int runs = 200, threads = 0;    // 0: threads()
  int64_t batch = 0;              // 0: the example's own
  std::string trace, dot, svg;    // files to write, if named
  bool captured = false;          // pictures show the graph before the passes
  bool json = false, dump = false, describe = false, by_time = false, by_op = false;
  std::vector<std::string> without;  // passes
};

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

std::unique_ptr<Example> find_example(const ProfileOptions& o, const Systems& systems) {
  const auto catalogue = std::make_shared<Catalogue>(systems);
  const PlanOptions options{.name = o.example, .without = o.without, .threads = o.threads};
  std::vector<std::string> names;
  for (const ExampleInfo& e : examples()) {
    if (o.example == e.name) return make_example(o.example, o.batch, options);
    names.emplace_back(e.name);
  }
  for (const std::string& name : catalogue->recipe_names()) names.push_back(name);
  if (std::find(names.begin(), names.end(), o.example) == names.end() && !std::filesystem::exists(o.example))
    throw Error(fmt::format("profile: there is no example, recipe or file \"{}\" — {}", o.example,
                            did_you_mean(o.example, names)));
  std::vector<std::string> sets = o.sets;
  if (o.batch > 0) sets.push_back(fmt::format("train.batch={}", o.batch));
  return std::make_unique<JobExample>(load_description(o.example, sets, catalogue), options);
}

Value as_record(const Profile& p, const Plan& plan) {
  const PlanBytes b = plan.bytes();
  Value steps = empty_list();
  for (const StepProfile& s : p.steps)
    steps.add(record({{"name", s.name},
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
                      {"critical", s.critical}}));
  return record({{"plan", p.plan},
                 {"threads", p.threads},
                 {"runs", p.runs},
                 {"us", p.us},
                 {"plain_us", p.plain_us},
                 {"rest_share", p.rest_share},
                 {"wait_share", p.wait_share},
                 {"bytes", record({{"arena", b.arena},
                                   {"scratch", b.scratch},
                                   {"outputs", b.outputs},
                                   {"constants", b.constants},
                                   {"parameters", b.parameters},
                                   {"gradients", b.gradients},
                                   {"state", b.state}})},
                 {"steps", steps}});
}

std::string profile_help(const Systems& systems) {
  std::string text = "Examples to profile:\n";
  for (const ExampleInfo& e : examples()) text += fmt::format("  {:<8}{} (batch {})\n", e.name, e.what, e.batch);
  return text + recipes_help(systems) +
         "\nFor instance:\n"
         "  ingot profile mlp                          where the time goes\n"
         "  ingot profile dqn --threads 1 --by-time    the slowest steps first\n"
         "  ingot profile cnn --trace cnn.json         to open at ui.perfetto.dev\n"
         "  ingot profile mnist --batch 256            the step of a recipe, or of a file\n"
         "  ingot profile mlp --svg mlp.svg            a picture of the plan; --captured: before the passes";
}

int profile(const ProfileOptions& o, const Systems& systems) {
  if (o.threads != 0) set_threads(o.threads);
  const std::unique_ptr<Example> example = find_example(o, systems);
  Plan& plan = example->plan();
  if (!o.dot.empty()) io::write_file(o.dot, plan.dot(!o.captured));
  if (!o.svg.empty()) io::write_file(o.svg, plan.svg(!o.captured));
  if (o.describe) fmt::print("{}\n", plan.describe(true));
  if (o.dump) fmt::print("{}", plan.dump());
  if ((o.dump || o.describe) && o.trace.empty() && !o.json) return 0;
  const Profile p = example->profile(o.runs);
  if (!o.trace.empty()) io::write_file(o.trace, p.chrome_trace());
  fmt::print("{}", o.json ? to_json(as_record(p, plan), 2) + "\n" : o.by_op ? p.by_op() : p.table(o.by_time));
  return 0;
}

}  // namespace

Command profile_command(const Systems& systems) {
  auto o = std::make_shared<ProfileOptions>();
  Command c{.name = "profile", .about = "Where the time of a compiled training step goes, step by step"};
  c.options = {{.name = "EXAMPLE",
                .target = &o->example,
                .about = "what to profile: an example, a recipe or a file.toml; see below",
                .required = true},
               set_option(o->sets, "change a key of a recipe or a file"),
               {.name = "--runs",
                .target = &o->runs,
                .about = "runs to measure, of which medians are shown",
                .shows_default = true},
               {"--threads", &o->threads, "threads (default: INGOT_THREADS, or all cores)"},
               {.name = "--batch",
                .target = &o->batch,
                .about = "size of the batch (default: the example's)",
                .least = 1,
                .most = 1000000},
               {"--trace", &o->trace, "write the last run as a trace for Perfetto to this file"},
               {"--dot", &o->dot, "write a picture for Graphviz to this file"},
               {"--svg", &o->svg, "write a picture as SVG to this file"},
               {"--captured", &o->captured, "pictures show the graph before the passes"},
               {.name = "--without", .target = &o->without, .about = "leave out these passes", .comma_separated = true},
               {"--by-time", &o->by_time, "the slowest steps first"},
               {"--by-op", &o->by_op, "one row for all steps that do the same"},
               {"--json", &o->json, "print JSON"},
               {"--describe", &o->describe, "print what the passes did, the steps and the bytes; measure nothing"},
               {"--dump", &o->dump, "print the steps as stable text; measure nothing"}};
  c.run = [o, systems] { return profile(*o, systems); };
  c.footer = [systems] { return profile_help(systems); };
  for (const std::string& name : Catalogue(systems).recipe_names()) c.words += (c.words.empty() ? "" : " ") + name;
  return c;
}

}  // namespace ingot::cli
