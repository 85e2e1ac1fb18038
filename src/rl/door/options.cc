#include "rl/door/options.h"

#include <fmt/format.h>

#include <cmath>

namespace ingot::rl::door {
namespace {

using namespace recipe;

constexpr double kAny = 1e15;

const Choice kDqn{
    "dqn",
    "deep Q-learning: replay, a target network, and the switches below",
    {{"double", Kind::kBoolean, "true", "the online network chooses the next action, the target network values it"},
     {"huber", Kind::kBoolean, "true", "Huber's loss of the TD error, else its square"},
     {"all_actions", Kind::kBoolean, "false",
      "of cube2: every move of a drawn state is valued, not the one that was played alone; n_step is 1 with it"},
     {"n_step", Kind::kInteger, "3", "rewards that a target adds up before it trusts the network", 1, 1000},
     {"discount", Kind::kNumber, "0.99", "of a reward a step later", 0, 1},
     {"prioritised", Kind::kBoolean, "false", "replay by TD error, with importance weights in the loss"},
     {"alpha", Kind::kNumber, "0.6", "of prioritised replay: what power of the error", 0, 2},
     {"beta", Kind::kNumber, "0.4", "of prioritised replay: what power of the weights, growing to 1", 0, 1},
     {"tau", Kind::kNumber, "0.005", "share by which the target network follows at an update", 0, 1},
     {"copy_every", Kind::kInteger, "0", "updates after which the target is copied instead; 0: it follows", 0, kAny},
     {"lr", Kind::kNumber, "0.001", "Adam's rate,", 0, 1},
     {"lr_end", Kind::kNumber, "0.0", "to which it falls in a line", 0, 1},
     {"clip_norm", Kind::kNumber, "10.0", "limit of the gradient's norm; 0: none", 0, kAny},
     {"environments", Kind::kInteger, "4", "that play at once", 1, 1e6},
     {"batch", Kind::kInteger, "64", "transitions per update", 1, 1e6},
     {"capacity", Kind::kInteger, "50000", "transitions that replay keeps", 1, 1e9},
     {"learning_starts", Kind::kInteger, "1000", "steps before the first update", 0, kAny},
     {"updates_per_step", Kind::kNumber, "0.5", "updates per step of an environment", 1e-6, 1000},
     {"epsilon_start", Kind::kNumber, "1.0", "chance of a random action,", 0, 1},
     {"epsilon_end", Kind::kNumber, "0.04", "to which it falls in a line", 0, 1},
     {"exploration", Kind::kNumber, "0.2", "over this share of all steps", 1e-6, 1},
     {"hold", Kind::kInteger, "1", "steps that a random action is held for, at most", 1, 1e6},
     {"shaping", Kind::kNumber, "0.0",
      "of mountaincar and cube2: what their potential (energy, corners at home) is worth; changes no best policy", 0,
      1000},
     {"bonus", Kind::kNumber, "0.0",
      "of mountaincar and cube2: a step to a state that was visited n times earns this / √n", 0, 1000},
     {"pretrain", Kind::kInteger, "0", "of cube2: updates on labelled states before it plays", 0, kAny},
     {"labels", Kind::kText, "\"walks\"",
      "of pretrain: walks (a scramble is solved by taking it back) or exact (every state's distance)"}}};

const Choice kPqn{"pqn",
                  "parallel Q-learning: many environments, λ-returns, no replay and no target network",
                  {{"discount", Kind::kNumber, "0.99", "of a reward a step later", 0, 1},
                   {"lambda", Kind::kNumber, "0.65", "share of the return, against the value, of a next state", 0, 1},
                   {"environments", Kind::kInteger, "32", "that play at once", 1, 1e6},
                   {"rollout", Kind::kInteger, "32", "steps of each between two phases of learning,", 1, 1e6},
                   {"epochs", Kind::kInteger, "2", "which goes so often over all of them,", 1, 1e6},
                   {"minibatches", Kind::kInteger, "8", "in so many parts", 1, 1e6},
                   {"lr", Kind::kNumber, "0.0005", "Adam's rate,", 0, 1},
                   {"lr_end", Kind::kNumber, "0.0", "to which it falls in a line", 0, 1},
                   {"clip_norm", Kind::kNumber, "10.0", "limit of the gradient's norm; 0: none", 0, kAny},
                   {"epsilon_start", Kind::kNumber, "1.0", "chance of a random action,", 0, 1},
                   {"epsilon_end", Kind::kNumber, "0.05", "to which it falls in a line", 0, 1},
                   {"exploration", Kind::kNumber, "0.3", "over this share of all steps", 1e-6, 1}}};

const Choice kValue{
    "value",
    "values of a puzzle's states, from random walks and by value iteration; solved by search over them",
    {{"walk_length", Kind::kInteger, "22", "moves of a random walk", 1, 1000},
     {"walks", Kind::kInteger, "64", "in a batch", 1, 1e6},
     {"walk_updates", Kind::kInteger, "4000", "updates that learn from walks; then", 0, kAny},
     {"iteration_updates", Kind::kInteger, "0", "updates of value iteration", 0, kAny},
     {"iteration_states", Kind::kInteger, "512", "in a batch of value iteration", 1, 1e6},
     {"sweep", Kind::kBoolean, "false",
      "of value iteration: targets from a sweep over all states, batches as of walks (cube2)"},
     {"target_every", Kind::kInteger, "500", "updates of value iteration before its target is renewed", 1, kAny},
     {"lr", Kind::kNumber, "0.001", "Adam's rate,", 0, 1},
     {"lr_end", Kind::kNumber, "0.00001", "to which it falls in a line", 0, 1},
     {"beam", Kind::kInteger, "64", "width of the beam of the exam's searches", 1, 1e6},
     {"exam_states", Kind::kInteger, "1000", "that the exam solves; 0: all, where there is a table of them", 0, kAny},
     {"exam_seconds", Kind::kNumber, "60.0", "limit of one solution", 0, kAny}}};

const Choice kCartPole{"cartpole", "CartPole-v1: keep a pole upright"};
const Choice kAcrobot{"acrobot", "Acrobot-v1: swing two links up"};
const Choice kMountainCar{"mountaincar", "MountainCar-v0: swing to reach the flag"};
const Choice kCube2{
    "cube2",
    "the 2 x 2 x 2 cube, six quarter turns",
    {{"encoding", Kind::kText, "\"facelets\"",
      "what the network sees: facelets (24 of 144), cubies (7 of 147), turned: cubies, the same for a cube that is "
      "turned "
      "or mirrored as a whole, or canonical: for its inverse, too (values only)"},
     {"depth", Kind::kNumber, "4.0", "of dqn: random turns that an episode begins with, at first (3.4: 3 or 4)", 1,
      100},
     {"depth_end", Kind::kNumber, "4.0", "of dqn: and at last; it grows whenever enough are solved", 1, 100},
     {"depth_step", Kind::kNumber, "0.1", "of dqn: by so much", 0.001, 10},
     {"depth_when", Kind::kNumber, "0.9", "of dqn: share of the last 100 episodes that must be solved for it", 0, 1},
     {"mixed", Kind::kNumber, "0.3", "of dqn: share of the episodes that begin nearer", 0, 1},
     {"limit", Kind::kInteger, "50", "of dqn: turns after which an episode is cut off", 1, 10000},
     {"test_limit", Kind::kInteger, "0", "of dqn: the same of tests and the exam; 0: as while it learns", 0, 10000}}};
const Choice kCube3{"cube3",
                    "the 3 x 3 x 3 cube, twelve quarter turns; for values",
                    {{"encoding", Kind::kText, "\"cubies\"",
                      "what the network sees: facelets (54 of 324), cubies (20 of 480), or canonical: cubies, the same "
                      "for symmetric states"}}};

}  // namespace

std::span<const Section> sections() {
  static const Section all[] = {
      {"agent", "what learns, and how", {}, {&kDqn, &kPqn, &kValue}, nullptr, Change::kFixed},
      {"environment",
       "what it plays",
       {},
       {&kCartPole, &kAcrobot, &kMountainCar, &kCube2, &kCube3},
       nullptr,
       Change::kFixed},
      {"network",
       "what it values actions or states with",
       {{"net", Kind::kText, "\"layers\"",
         "layers, or attention: of cubes, stickers or pieces attend to each other before layers see their mean"},
        {"hidden", Kind::kIntegers, "[64, 64]", "widths of its layers; of attention, the first is a sticker's", 1, 1e6},
        {"layer_norm", Kind::kBoolean, "true", "before each ReLU"},
        {"dueling", Kind::kBoolean, "true", "of dqn: a value, and advantages of actions around 0"},
        {"residual", Kind::kInteger, "0", "blocks of two layers of the last width, added to their input", 0, 1000},
        {"heads", Kind::kInteger, "4", "of attention; they divide a sticker's width", 1, 1000},
        {"blocks", Kind::kInteger, "2", "of attention", 1, 1000}},
       {},
       nullptr,
       Change::kFixed},
      {"train",
       "how long",
       {{"steps", Kind::kInteger, "50000", "of dqn: steps of all environments together", 1, kAny, nullptr,
         Change::kFixed},
        {"periods", Kind::kInteger, "25", "lines of metrics, each with a test", 1, 100000, nullptr, Change::kFixed},
        {"test_episodes", Kind::kInteger, "20", "greedy episodes of a test", 1, 100000, nullptr, Change::kFixed},
        {"exam_episodes", Kind::kInteger, "100", "greedy episodes of the exam at the end", 1, 100000},
        {"seed", Kind::kInteger, "1", "of all that is random", 0, kAny, nullptr, Change::kFixed},
        {"threads", Kind::kInteger, "0", "worker threads; 0: INGOT_THREADS, or all cores", 0, 256}}}};
  return all;
}

namespace {

// Has the key the second of two words? Another one is refused.
bool is_second(const Settings& s, const char* key, const char* first, const char* second) {
  const std::string& text = s.text(key);
  if (text != first && text != second) s.fail(key, fmt::format("\"{}\" is \"{}\" or \"{}\"", key, first, second));
  return text == second;
}

NetOptions net_options(const Description& d) {
  const Settings s = d.settings("network");
  const bool attention = is_second(s, "net", "layers", "attention");
  return {.hidden = s.integers("hidden"),
          .layer_norm = s.flag("layer_norm"),
          .dueling = s.flag("dueling"),
          .residual = s.integer("residual"),
          .kind = attention ? NetKind::kAttention : NetKind::kLayers,
          .heads = s.integer("heads"),
          .blocks = s.integer("blocks")};
}

}  // namespace

DqnOptions dqn_options(const Description& d) {
  const Settings s = d.settings("agent"), train = d.settings("train");
  return {.net = net_options(d),
          .double_q = s.flag("double"),
          .huber = s.flag("huber"),
          .all_actions = s.flag("all_actions"),
          .n_step = s.integer("n_step"),
          .discount = s.number("discount"),
          .shaping = s.number("shaping"),
          .bonus = s.number("bonus"),
          .prioritised = s.flag("prioritised"),
          .alpha = s.number("alpha"),
          .beta = s.number("beta"),
          .tau = s.number("tau"),
          .copy_every = s.integer("copy_every"),
          .lr = static_cast<float>(s.number("lr")),
          .lr_end = static_cast<float>(s.number("lr_end")),
          .clip_norm = s.number("clip_norm"),
          .environments = s.integer("environments"),
          .batch = s.integer("batch"),
          .capacity = s.integer("capacity"),
          .learning_starts = s.integer("learning_starts"),
          .updates_per_step = s.number("updates_per_step"),
          .total_steps = train.integer("steps"),
          .epsilon_start = s.number("epsilon_start"),
          .epsilon_end = s.number("epsilon_end"),
          .exploration = s.number("exploration"),
          .hold = s.integer("hold"),
          .seed = static_cast<uint64_t>(train.integer("seed"))};
}

PretrainOptions pretrain_options(const Description& d) {
  const Settings s = d.settings("agent");
  const bool exact = is_second(s, "labels", "walks", "exact");
  return {.updates = s.integer("pretrain"),
          .labels = exact ? LabelSource::kExact : LabelSource::kWalks,
          .depth = static_cast<int64_t>(std::ceil(d.settings("environment").number("depth_end")))};
}

PqnOptions pqn_options(const Description& d) {
  const Settings s = d.settings("agent"), train = d.settings("train");
  return {.net = net_options(d),
          .discount = s.number("discount"),
          .lambda = s.number("lambda"),
          .environments = s.integer("environments"),
          .rollout = s.integer("rollout"),
          .epochs = s.integer("epochs"),
          .minibatches = s.integer("minibatches"),
          .lr = static_cast<float>(s.number("lr")),
          .lr_end = static_cast<float>(s.number("lr_end")),
          .clip_norm = s.number("clip_norm"),
          .total_steps = train.integer("steps"),
          .epsilon_start = s.number("epsilon_start"),
          .epsilon_end = s.number("epsilon_end"),
          .exploration = s.number("exploration"),
          .seed = static_cast<uint64_t>(train.integer("seed"))};
}

ValueOptions value_options(const Description& d) {
  const Settings s = d.settings("agent");
  return {.net = net_options(d),
          .walk_length = s.integer("walk_length"),
          .walks = s.integer("walks"),
          .walk_updates = s.integer("walk_updates"),
          .iteration_updates = s.integer("iteration_updates"),
          .iteration_states = s.integer("iteration_states"),
          .sweep = s.flag("sweep"),
          .target_every = s.integer("target_every"),
          .lr = static_cast<float>(s.number("lr")),
          .lr_end = static_cast<float>(s.number("lr_end")),
          .seed = static_cast<uint64_t>(d.settings("train").integer("seed"))};
}

}  // namespace ingot::rl::door
