#include "rl/door/value_run.h"

#include <fmt/format.h>

#include <cmath>

#include "ingot/recipe/description.h"
#include "ingot/recipe/page.h"
#include "ingot/recipe/terminal.h"
#include "ingot/rl/search.h"
#include "ingot/rl/value_learning.h"
#include "rl/door/cube_exam.h"
#include "rl/door/cube_film.h"
#include "rl/door/cube_run.h"
#include "rl/door/curves.h"
#include "rl/door/options.h"

namespace ingot::rl::door {
namespace {

using namespace recipe;

constexpr int64_t kPieceUpdates = 16, kTestStates = 200;
constexpr int kExamTurns = 100;  // random turns after which any state is about as likely as any other
constexpr uint64_t kTestSeed = 0x74657374, kExamSeed = 0x6578616D;

// What the exam says of one puzzle: of the 2 x 2 x 2 everything, of others random states.
struct Exam {
  std::vector<DistanceTable> tables = {};               // of the 2 x 2 x 2
  int64_t tried = 0, solved = 0, moves = 0, nodes = 0;  // of others
  double seconds = 0;                                   // of all solutions
  int64_t width = 0;
};

template <Puzzle P>
class ValueRun final : public OwnRun, public CubeRun {
 public:
  ValueRun(const P& puzzle, const Description& d)
      : name_(d.settings("environment").type()),
        seed_(static_cast<uint64_t>(d.settings("train").integer("seed"))),
        learner_(puzzle, value_options(d)),
        schedule_(learner_.total_updates(), d.settings("train").integer("periods"), kPieceUpdates),
        width_(d.settings("agent").integer("beam")),
        exam_states_(d.settings("agent").integer("exam_states")),
        exam_seconds_(d.settings("agent").number("exam_seconds")) {}

  std::string about() const override {
    return fmt::format("values of {}, {} updates", name_, grouped(schedule_.total()));
  }
  int64_t parameter_count() override { return learner_.network().parameter_count(); }
  RunInfo info() const override {
    return {.epochs = schedule_.periods(),
            .metrics = metrics(),
            .test_name = "greedy",
            .period = "period",
            .unit = "states",
            .axis = "updates",
            .axis_per_period = updates_per_period()};
  }

  OwnPiece work() override {
    const int64_t before = learner_.updates(), end = schedule_.piece_end(before), seen = learner_.states_seen();
    clock_.go_on();
    while (learner_.updates() < end) {
      learner_.step();
      loss_ += learner_.loss(), losses_++;
    }
    clock_.pause();
    states_ += learner_.states_seen() - seen;
    OwnPiece piece = schedule_.piece(before, learner_.updates());
    piece.per_second = static_cast<double>(states_) / clock_.seconds();
    piece.scores = {loss_ / static_cast<double>(losses_), {}};
    if (learner_.updates() >= schedule_.period_end(piece.period - 1)) piece.ended = end_period(piece);
    return piece;
  }
  bool done() const override { return learner_.updates() >= schedule_.total(); }
  nn::TrainingState state() override {
    nn::TrainingState state = learner_.state();
    save_number(state, "period.loss", loss_), save_number(state, "period.losses", losses_);
    return state;
  }
  void load_state(const nn::TrainingState& state) override {
    learner_.load_state(state);
    loss_ = saved_real(state, "period.loss"), losses_ = saved_integer(state, "period.losses");
  }
  std::vector<NamedTensor> weights() override { return learner_.network().state_dict(); }
  CubeKnowledge knowledge() override {
    return {std::same_as<P, Cube2> ? 2 : 3, learner_.puzzle().encoding(), &learner_.network()};
  }

  bool keeps_best() const override { return false; }  // a test of greedy play says less than the loss

  void examine() override {
    exam_ = {.width = width_};
    if constexpr (std::same_as<P, Cube2>) {
      const std::vector<float> values = values_of_states(learner_.puzzle(), learner_.network());
      exam_.tables = {follow_moves(learner_.puzzle(), moves_of_values(learner_.puzzle(), values)),
                      beam_on_states(learner_.puzzle(), values, width_, exam_states_)};
    } else {
      LearnedValue<P> value(learner_.puzzle(), learner_.network());
      BeamSearch<P> search(learner_.puzzle(), [&](auto states, auto values) { value(states, values); },
                           {.width = width_});
      for (int64_t i = 0; i < exam_states_; i++) {
        const Solution& s =
            search.solve(scrambled(learner_.puzzle(), kExamTurns, {kExamSeed + seed_, static_cast<uint64_t>(i)}),
                         {.nodes = 1'000'000'000, .seconds = exam_seconds_});
        exam_.tried++, exam_.nodes += s.nodes, exam_.seconds += s.seconds;
        if (s.solved) exam_.solved++, exam_.moves += std::ssize(s.moves);
      }
    }
  }
  std::string exam_text() const override {
    if (!exam_.tables.empty()) return table_text(exam_.tables);
    return fmt::format("exam    beam {}: {} of {} random states solved, {:.2f} moves, {:.0f} nodes and {:.2f} s each",
                       exam_.width, exam_.solved, exam_.tried, mean(exam_.moves, exam_.solved),
                       mean(exam_.nodes, exam_.tried),
                       exam_.seconds / static_cast<double>(std::max<int64_t>(exam_.tried, 1)));
  }
  Value exam_record() const override {
    if (!exam_.tables.empty()) return record({{"by_distance", table_record(exam_.tables)}});
    return record({{"beam", exam_.width},
                   {"tried", exam_.tried},
                   {"solved", exam_.solved},
                   {"mean_moves", mean(exam_.moves, exam_.solved)},
                   {"mean_nodes", mean(exam_.nodes, exam_.tried)},
                   {"seconds", exam_.seconds}});
  }
  double exam_score() const override {
    if (exam_.tables.empty()) return mean(exam_.solved, exam_.tried);
    return mean(exam_.tables.back().all().solved, exam_.tables.back().all().tried);
  }
  void report(Report& report, std::span<const nn::EpochResult> history) override {
    double seconds = 0;
    for (const nn::EpochResult& e : history) seconds += e.seconds;
    const DistanceRow beam =
        exam_.tables.empty() ? DistanceRow{.tried = exam_.tried, .solved = exam_.solved} : exam_.tables.back().all();
    report.verdict = {{percentage(mean(beam.solved, beam.tried)),
                       fmt::format("of {} states solved with a beam of {}", grouped(beam.tried), exam_.width)},
                      {duration(seconds), "of training"},
                      {grouped(learner_.states_seen()), "states seen"}};
    report.sections.push_back(curves_section(history, metrics(), "value_loss", updates_per_period(), "updates"));
    if constexpr (std::same_as<P, Cube2>) report.sections.push_back(table_section(learner_.puzzle(), exam_.tables));
    report.sections.push_back(film_section(learner_.puzzle(), learner_.network(),
                                           scrambled(learner_.puzzle(), kExamTurns, {kExamSeed + seed_}), width_,
                                           exam_seconds_));
  }

 private:
  static double mean(int64_t sum, int64_t of) {
    return of == 0 ? 0 : static_cast<double>(sum) / static_cast<double>(of);
  }
  double updates_per_period() const {
    return static_cast<double>(schedule_.total()) / static_cast<double>(schedule_.periods());
  }
  std::vector<std::string> metrics() const { return {"charts/solved_share"}; }

  // Greedy from states of some random turns: of the 2 x 2 x 2 anywhere, of larger ones near.
  nn::EpochResult end_period(const OwnPiece& piece) {
    LearnedValue<P> value(learner_.puzzle(), learner_.network(), 16);
    GreedySearch<P> search(learner_.puzzle(), [&](auto states, auto values) { value(states, values); });
    int64_t solved = 0;
    for (int64_t i = 0; i < kTestStates; i++) {
      const int turns = std::same_as<P, Cube2> ? kExamTurns : 8;
      const auto start = scrambled(learner_.puzzle(), turns, {kTestSeed, static_cast<uint64_t>(i)});
      solved += search.solve(start, {.nodes = 1000, .seconds = 60, .moves = 50}).solved ? 1 : 0;
    }
    nn::EpochResult e{.epoch = piece.period,
                      .train = piece.scores,
                      .test = {NAN, {mean(solved, kTestStates)}},
                      .tested = true,
                      .seconds = clock_.seconds(),
                      .samples_per_second = piece.per_second};
    clock_.clear(), states_ = 0, loss_ = 0, losses_ = 0;
    return e;
  }

  std::string name_;
  uint64_t seed_;
  ValueLearner<P> learner_;
  Schedule schedule_;
  int64_t width_, exam_states_;
  double exam_seconds_;
  Stopwatch clock_;
  int64_t states_ = 0, losses_ = 0;
  double loss_ = 0;  // of the period so far
  Exam exam_;
};

}  // namespace

std::unique_ptr<OwnRun> value_run(const Cube2& cube, const Description& d) {
  return std::make_unique<ValueRun<Cube2>>(cube, d);
}
std::unique_ptr<OwnRun> value_run(const Cube3& cube, const Description& d) {
  return std::make_unique<ValueRun<Cube3>>(cube, d);
}

}  // namespace ingot::rl::door
