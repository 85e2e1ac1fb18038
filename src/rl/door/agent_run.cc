#include "rl/door/agent_run.h"

#include <fmt/format.h>

#include <cmath>

#include "ingot/base/error.h"
#include "ingot/recipe/description.h"
#include "ingot/recipe/page.h"
#include "ingot/recipe/terminal.h"
#include "ingot/rl/classic.h"
#include "ingot/rl/curriculum.h"
#include "rl/door/cube_exam.h"
#include "rl/door/cube_film.h"
#include "rl/door/cube_run.h"
#include "rl/door/curves.h"
#include "rl/door/options.h"
#include "rl/door/value_run.h"

namespace ingot::rl::door {
namespace {

using namespace recipe;

constexpr uint64_t kTestSeed = 0x74657374, kExamSeed = 0x6578616D;  // "test", "exam": episodes nobody learns from
constexpr int64_t kPieceSteps = 64;                                 // of every environment

CubeEncoding encoding_of(const Settings& s) {
  const std::string& text = s.text("encoding");
  if (text == "facelets") return CubeEncoding::kFacelets;
  if (text == "cubies") return CubeEncoding::kCubies;
  if (text == "canonical") return CubeEncoding::kCanonical;
  if (text == "turned" && s.type() == "cube2") return CubeEncoding::kTurned;
  s.fail("encoding", s.type() == "cube2" ? "\"encoding\" is \"facelets\", \"cubies\", \"turned\" or \"canonical\""
                                         : "\"encoding\" is \"facelets\", \"cubies\" or \"canonical\"");
}

PuzzleEnv<Cube2> at_depth(PuzzleEnv<Cube2> env, double depth) {
  env.depth = static_cast<float>(depth);
  return env;
}

template <Environment E>
std::unique_ptr<Agent> make_agent(const E& env, const Description& d) {
  if (d.settings("agent").type() == "pqn") return std::make_unique<Pqn<E>>(env, pqn_options(d));
  return std::make_unique<Dqn<E>>(env, dqn_options(d));
}

std::unique_ptr<Agent> make_agent(const Description& d) {
  const Settings env = d.settings("environment"), agent = d.settings("agent");
  if (env.type() != "cube2" && agent.type() == "dqn" && agent.integer("pretrain") > 0)
    agent.fail("pretrain", "only states of a puzzle have labels — \"pretrain\" is of cube2");
  if (env.type() == "cartpole") return make_agent(CartPole{}, d);
  if (env.type() == "acrobot") return make_agent(Acrobot{}, d);
  if (env.type() == "mountaincar") return make_agent(MountainCar{}, d);
  if (env.type() == "cube3") env.fail("type", "the 3 x 3 x 3 is learned by values — [agent] type = \"value\"");
  if (encoding_of(env) == CubeEncoding::kCanonical)
    env.fail("encoding",
             "\"canonical\" shows how far states are, not which move is best — use it with [agent] type = \"value\"");
  const PuzzleEnv<Cube2> cube{.puzzle = Cube2(CubeMetric::kQuarter, encoding_of(env)),
                              .mixed = static_cast<float>(env.number("mixed")),
                              .limit = static_cast<int32_t>(env.integer("limit"))};
  if (agent.type() == "pqn") return make_agent(at_depth(cube, env.number("depth_end")), d);
  return std::make_unique<PuzzleDqn<Cube2>>(
      cube, dqn_options(d),
      CurriculumOptions{.start = env.number("depth"),
                        .end = env.number("depth_end"),
                        .step = env.number("depth_step"),
                        .when = env.number("depth_when"),
                        .judged_limit = static_cast<int32_t>(env.integer("test_limit"))},
      pretrain_options(d));
}

class AgentRun final : public OwnRun, public CubeRun {
 public:
  explicit AgentRun(const Description& d)
      : environment_(d.settings("environment").type()),
        seed_(static_cast<uint64_t>(d.settings("train").integer("seed"))),
        environments_(d.settings("agent").integer("environments")),
        test_episodes_(d.settings("train").integer("test_episodes")),
        exam_episodes_(d.settings("train").integer("exam_episodes")),
        schedule_(d.settings("train").integer("steps"), d.settings("train").integer("periods"),
                  kPieceSteps * environments_),
        agent_(make_agent(d)) {
    if (environment_ == "cube2") cube_.emplace(CubeMetric::kQuarter, encoding_of(d.settings("environment")));
  }

  std::string about() const override {
    return fmt::format("{}, {} environments, {} steps", environment_, environments_, grouped(schedule_.total()));
  }
  int64_t parameter_count() override { return agent_->network().parameter_count(); }
  RunInfo info() const override {
    return {.epochs = schedule_.periods(),
            .metrics = metrics(),
            .test_name = "greedy",
            .period = "period",
            .unit = "steps",
            .axis = "steps",
            .axis_per_period = steps_per_period()};
  }

  OwnPiece work() override {
    const AgentStatus was = agent_->status();
    const int64_t before = was.steps, end = schedule_.piece_end(before);
    clock_.go_on();
    for (int64_t i = 0; agent_->status().steps < end && i < kPieceSteps; i++) agent_->step();
    clock_.pause();
    AgentStatus s = agent_->status();
    steps_ += s.steps - before, updates_ += s.updates - was.updates;
    OwnPiece piece = schedule_.piece(before, s.steps);
    piece.per_second = static_cast<double>(steps_) / clock_.seconds();
    piece.scores = scores(s, piece.per_second, static_cast<double>(updates_) / clock_.seconds());
    if (s.steps >= schedule_.period_end(piece.period - 1)) piece.ended = end_period(piece);
    return piece;
  }
  bool done() const override { return agent_->status().steps >= schedule_.total(); }
  nn::TrainingState state() override { return agent_->state(); }
  void load_state(const nn::TrainingState& state) override { agent_->load_state(state); }
  std::vector<NamedTensor> weights() override { return agent_->network().state_dict(); }
  CubeKnowledge knowledge() override {
    return cube_ ? CubeKnowledge{2, cube_->encoding(), &agent_->network()} : CubeKnowledge{};
  }

  void examine() override {
    exam_ = agent_->evaluate(exam_episodes_, kExamSeed + seed_);
    if (cube_) tables_ = {follow_moves(*cube_, moves_of_actions(*cube_, agent_->network()))};
  }
  std::string exam_text() const override {
    std::string text = fmt::format("exam    {} greedy episodes: return {}, length {:.1f}", exam_.episodes,
                                   bold(fmt::format("{:.2f}", exam_.total)), exam_.length);
    return cube_ ? text + "\n" + table_text(tables_) : text;
  }
  Value exam_record() const override {
    Value out = record({{"episodes", exam_.episodes}, {"return", exam_.total}, {"length", exam_.length}});
    if (cube_) out.set("by_distance", table_record(tables_));
    return out;
  }
  double exam_score() const override { return exam_.total; }
  void report(Report& report, std::span<const nn::EpochResult> history) override {
    double seconds = 0;
    for (const nn::EpochResult& e : history) seconds += e.seconds;
    report.verdict = {{fmt::format("{:.1f}", exam_.total), fmt::format("return of {} greedy episodes", exam_.episodes)},
                      {duration(seconds), fmt::format("for {} steps", grouped(schedule_.total()))},
                      {grouped(agent_->status().updates), "updates"}};
    report.sections.push_back(curves_section(history, metrics(), "td_loss", steps_per_period(), "steps"));
    if (!cube_) return;
    report.sections.push_back(table_section(*cube_, tables_));
    constexpr int kTurns = 5, kNoChoice = 1;  // a beam of one: the network alone
    report.sections.push_back(
        film_section(*cube_, agent_->network(), scrambled(*cube_, kTurns, {kExamSeed + seed_}), kNoChoice, 10));
  }

 private:
  double steps_per_period() const {
    return static_cast<double>(schedule_.total()) / static_cast<double>(schedule_.periods());
  }
  std::vector<std::string> metrics() const {  // CleanRL's names, and UPS: updates per second, as SPS is steps
    std::vector<std::string> names = {"charts/episodic_return", "charts/episodic_length",
                                      "charts/epsilon",         "charts/SPS",
                                      "losses/q_values",        "charts/UPS"};
    if (environment_ == "cube2") names.emplace_back("charts/depth");
    return names;
  }
  nn::Scores scores(const AgentStatus& s, double steps_per_second, double updates_per_second) const {
    nn::Scores out{s.td_loss,
                   {s.recent.total, s.recent.length, s.epsilon, steps_per_second, s.q_value, updates_per_second}};
    if (environment_ == "cube2") out.metrics.push_back(s.depth);
    return out;
  }
  nn::EpochResult end_period(const OwnPiece& piece) {
    const EpisodeMeans test = agent_->evaluate(test_episodes_, kTestSeed + seed_);
    nn::EpochResult e{.epoch = piece.period,
                      .train = piece.scores,
                      .test = {NAN, {test.total, test.length}},
                      .tested = true,
                      .seconds = clock_.seconds(),
                      .samples_per_second = piece.per_second};
    clock_.clear(), steps_ = updates_ = 0;
    return e;
  }

  std::string environment_;
  uint64_t seed_;
  int64_t environments_, test_episodes_, exam_episodes_;
  Schedule schedule_;
  std::unique_ptr<Agent> agent_;
  std::optional<Cube2> cube_;
  Stopwatch clock_;
  int64_t steps_ = 0, updates_ = 0;  // since the clock began
  EpisodeMeans exam_;
  std::vector<DistanceTable> tables_;
};

}  // namespace

std::unique_ptr<OwnRun> begin_run(const Description& d) {
  const Settings env = d.settings("environment");
  try {
    if (d.settings("agent").type() != "value") return std::make_unique<AgentRun>(d);
    if (env.type() == "cube2") return value_run(Cube2(CubeMetric::kQuarter, encoding_of(env)), d);
    if (env.type() == "cube3") return value_run(Cube3(encoding_of(env)), d);
  } catch (const Error& e) {
    d.settings("agent").fail(e);
  }
  env.fail("type", fmt::format("{} is no puzzle — values are learned of cube2 and cube3", env.type()));
}

}  // namespace ingot::rl::door
