// Networks of logic gates that learn: every gate is a mixture of the sixteen functions of two bits while it trains, and
// one of them when it is done.
//
//   gates::Automaton rule({.update = gates::widths(10, 256, {128, 64, 32, 16, 8, 8})});
//   nn::Trainer trainer(rule, gates::squared_error_sum(), optim::AdamW{.lr = 0.05f});
//   trainer.fit(boards);
//   gates::Circuit circuit = rule.circuit();
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "ingot/base/export.h"
#include "ingot/base/random.h"
#include "ingot/gates/circuit.h"
#include "ingot/nn/loss.h"
#include "ingot/nn/module.h"

namespace ingot::gates {

/// Which inputs each gate of a layer reads.
struct Wires {
  std::vector<int32_t> a, b;
  int64_t size() const { return static_cast<int64_t>(a.size()); }
};
/// The published rule: pairs (0,1), (2,3), …, then (1,2), (3,4), …, then distances 2, 3, … until there are `out`, in an
/// order drawn by `key`. Every input is read: an Error if 2·out < in, or if there are not so many pairs.
INGOT_API Wires unique_wires(int64_t in, int64_t out, RandomKey key);
/// Both inputs drawn uniformly, never the same one twice in a gate, every input read as evenly as possible.
INGOT_API Wires random_wires(int64_t in, int64_t out, RandomKey key);
/// The first layer of a perception kernel: a is one of the eight neighbours, in an order drawn by `key`, b the centre.
INGOT_API Wires neighbour_wires(RandomKey key);

/// What a gate's parameters are.
enum class Form : uint8_t {
  kSoftmax,  // sixteen logits, one per function
  kLight,    // four, one per line of the truth table, through a sigmoid
};

/// How mixtures become functions while they train. In every step each gate is, with some probability, what it will be
/// in the end, its likeliest function, and its parameters learn as if it were the mixture: so the others get used to
/// it, and what is learned stays right when all gates are. The probability rises while the mean loss is below a share
/// of the first one, holds above, and falls again at four times that share: then the gates have become too hard.
struct Hardening {
  double most = 0;   // 0: never
  double below = 1;  // of the first loss; 1: always
  int64_t over = 1;  // steps from none to `most`
};

struct GateOptions {
  Form form = Form::kSoftmax;
  double pass = 10;   // the initial logit of "a": new gates hand their first input on
  double noise = 0;   // deviation of random numbers that are added to initial logits
  double gumbel = 0;  // > 0: Gumbel noise on the logits at this temperature while training, straight-through; instead
                      // of hardening
  Hardening hardening = {};
};

/// Parameters of `count` gates, and what they mean: coefficients [count, 4] of 1, a, b and ab. Mixtures while training,
/// the likeliest functions in evaluation mode.
class INGOT_API Gates : public nn::Module {
 public:
  explicit Gates(int64_t count, const GateOptions& options = {});
  void parts(nn::Parts& p) override;
  Tensor coefficients();
  /// The likeliest function of every gate.
  std::vector<Function> functions() const;
  const GateOptions& options() const { return options_; }
  int64_t count() const { return logits.size(0); }
  /// In training, `hard` in place of `soft` for the rows [n, ·] that hardening chooses, with the gradient of `soft`.
  Tensor harden(const Tensor& soft, const Tensor& hard) const;
  /// What GateOptions::hardening goes by.
  void observe(double loss) override;
  /// The share of gates that are hard in a training step now.
  double hardness() const;

  Tensor logits;  // [count, 16], or [count, 4]

 private:
  GateOptions options_;
  Tensor hardness_;  // a scalar, read by plans at every run
  Tensor progress_;  // [3]: the first loss, the mean of late, how many steps up
};

/// Layers of gates, one behind the other: [batch, in] to [batch, widths.back()]. In evaluation mode inputs are taken as
/// they are: give zeros and ones.
class INGOT_API GateNetwork : public nn::Layer {
 public:
  enum class Wiring : uint8_t { kRandom, kUnique };
  GateNetwork(int64_t in, std::vector<int64_t> widths, Wiring wiring = Wiring::kRandom,
              const GateOptions& options = {});
  /// Wires of your own, one per layer.
  GateNetwork(int64_t in, const std::vector<Wires>& layers, const GateOptions& options = {});
  void parts(nn::Parts& p) override;
  Tensor forward(const Tensor& x) override;
  Circuit circuit() const;
  std::string kind() const override { return "GateNetwork"; }

  Gates gates;

 private:
  Tensor wires_;  // i32 [gates, 3]: two signals and the row of the coefficients
  int64_t in_, out_;
};

/// What the ends of wires that learn choose from.
struct Candidates {
  int64_t count = 8;  // for each end: an even number
  // Of pictures [·, height, width] as inputs: both ends of a gate of the first layer choose among pixels that are at
  // most `reach` from a place of the gate's own, which is drawn denser towards the middle. 0: among all inputs.
  int64_t height = 0, width = 0, reach = 0;
};

/// A GateNetwork whose wires learn as well: while it trains, each end of a wire is a mixture of signals of the layer
/// before, drawn at random; in evaluation mode the likeliest of them.
class INGOT_API LearnedNetwork : public nn::Layer {
 public:
  LearnedNetwork(int64_t in, const std::vector<int64_t>& widths, const Candidates& candidates = {},
                 const GateOptions& options = {});
  void parts(nn::Parts& p) override;
  Tensor forward(const Tensor& x) override;
  Circuit circuit() const;
  std::string kind() const override { return "LearnedNetwork"; }

  Gates gates;
  Tensor choices;  // logits [2 · gates, candidates]: of the first ends of all gates in turn with the second ones

 private:
  Tensor mixtures();
  int64_t in_, out_;
  Tensor wires_;                // i32 [·, 3]: chains that add up the candidates of an end, and the gates
  std::vector<int32_t> chain_;  // where in them the chain of every end begins
  std::vector<int32_t> place_;  // and where every gate is
};

/// Bits of pictures or of other numbers: [batch, …] to [batch, levels · n], 1 where x is above a level, level by level.
class INGOT_API Binarize : public nn::Layer {
 public:
  explicit Binarize(std::vector<double> levels);
  Tensor forward(const Tensor& x) override;
  std::string kind() const override { return "Binarize"; }

 private:
  std::vector<double> levels_;
};

/// Sums of equal groups of features, divided by `tau`: [batch, classes · n] to [batch, classes] logits.
class INGOT_API GroupSum : public nn::Layer {
 public:
  GroupSum(int64_t classes, double tau);
  Tensor forward(const Tensor& x) override;
  std::string kind() const override { return "GroupSum"; }

 private:
  int64_t classes_;
  double tau_;
};

/// `count` times `width`, then the tail: how the papers' networks are written.
INGOT_API std::vector<int64_t> widths(int64_t count, int64_t width, std::vector<int64_t> tail);

struct AutomatonOptions {
  int64_t channels = 8;
  int64_t kernels = 16;                         // perception kernels, each on every channel
  std::vector<int64_t> perception = {8, 4, 2};  // gates per layer of a kernel; the first has eight
  std::vector<int64_t> update = {};             // gates per layer of the update network; the last is one per channel
  int64_t steps = 20;
  Border border = Border::kZero;
  double fire_rate = 1;  // < 1: a cell takes its next state with this probability, drawn anew every step
  int64_t visible = 1;   // the first channels, which people look at: what circuits remember of the target
  GateOptions gates = {};
};

/// A cellular automaton whose rule is a network of gates: perception kernels on the 3×3 neighbourhood of every channel,
/// and an update network on the cell's own channels and what the kernels say. [batch, channels, height, width] to the
/// state after `steps`, on any grid. Memory is that of the step states; everything else is computed again on the way
/// back.
class INGOT_API Automaton : public nn::Layer {
 public:
  explicit Automaton(const AutomatonOptions& options);
  void parts(nn::Parts& p) override;
  Tensor forward(const Tensor& state) override;
  /// All states: [steps + 1, batch, channels, height, width].
  Tensor rollout(const Tensor& state, int64_t steps);
  /// The rule of a cell with every gate at its likeliest function; gates of perception kernels are repeated per
  /// channel.
  Circuit circuit() const;
  const AutomatonOptions& options() const { return options_; }
  std::string kind() const override { return "Automaton"; }

  Gates gates;  // of the kernels, layer by layer and kernel by kernel, then of the update network

 private:
  AutomatonOptions options_;
  Tensor wires_;
};

/// The loss of the papers: the sum of squared errors of the first channels; the target has so many.
INGOT_API nn::Loss squared_error_sum();

}  // namespace ingot::gates
