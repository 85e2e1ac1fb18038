// LSTM and GRU over whole sequences, with PyTorch's names, layouts and initial values.
#pragma once
#include <string>
#include <vector>

#include "ingot/base/export.h"
#include "ingot/base/tensor.h"
#include "ingot/nn/module.h"

namespace ingot::nn {

struct RecurrentOptions {
  int64_t layers = 1;
  bool bidirectional = false;  // results of both directions side by side: [..., 2 · hidden]
  bool batch_first = false;    // x and y are [batch, steps, …], not [steps, batch, …]; states never are
  bool bias = true;
  double dropout = 0;  // between layers, while training
};

/// States, [layers · directions, batch, hidden] each; c is an LSTM's only.
struct RecurrentState {
  Tensor h, c = {};
};
struct RecurrentResult {
  Tensor y;
  RecurrentState state;  // after the last step
};

/// What LSTM and GRU have in common. As a layer: x [steps, batch, in] to [steps, batch, hidden].
///
/// Truncated backpropagation: after `stateful(batch)`, forward(x) in training mode begins where the last one ended
/// (without a gradient into the past), in eager code as in a plan, until `reset_state()`. In evaluation it begins at
/// zero and leaves the kept state alone.
class INGOT_API Recurrent : public Layer {
 public:
  void parts(Parts& p) override;
  Tensor forward(const Tensor& x) override;
  /// From a state of the caller's (undefined tensors are zeros); gives the state after the last step too. The kept
  /// state of a stateful layer stays as it is.
  RecurrentResult forward(const Tensor& x, const RecurrentState& initial);

  /// Keeps h (and c) for so many sequences between calls; they begin at zero, and 0 stops it. For plans made
  /// later.
  void stateful(int64_t batch);
  /// Sets the kept state to zero: a new set of sequences begins.
  void reset_state();
  const RecurrentState& state() const { return state_; }

  int64_t hidden() const { return hidden_; }

 protected:
  /// One direction of one layer.
  struct Weights {
    std::string suffix;  // "_l0", "_l1_reverse"
    Tensor w_ih, w_hh, b_ih, b_hh;
  };
  struct Walk {
    Tensor y, c;  // all steps; c is an LSTM's only
  };
  Recurrent(const char* kind, int64_t gates, int64_t in, int64_t hidden, const RecurrentOptions& options);
  virtual Walk walk(const Weights& w, const Tensor& x, const Tensor& h0, const Tensor& c0, bool reverse) = 0;
  virtual bool has_cell() const { return false; }

 private:
  RecurrentResult run(const Tensor& x, const RecurrentState& initial);
  void check(const Tensor& x, const RecurrentState& initial) const;
  const char* kind_;
  int64_t in_, hidden_;
  RecurrentOptions options_;
  std::vector<Weights> weights_;
  RecurrentState state_;  // undefined unless stateful
};

/// Long short-term memory: weight_ih_l0 [4 · hidden, in], weight_hh_l0 [4 · hidden, hidden], bias_ih_l0 and bias_hh_l0
/// [4 · hidden] with gates i, f, g, o; all begin uniform in ±1/√hidden.
class INGOT_API LSTM : public Recurrent {
 public:
  LSTM(int64_t in, int64_t hidden, const RecurrentOptions& options = {}) : Recurrent("LSTM", 4, in, hidden, options) {}

 protected:
  Walk walk(const Weights& w, const Tensor& x, const Tensor& h0, const Tensor& c0, bool reverse) override;
  bool has_cell() const override { return true; }
};

/// Gated recurrent unit: as LSTM with 3 · hidden rows, gates r, z, n; the reset gate multiplies the hidden product.
class INGOT_API GRU : public Recurrent {
 public:
  GRU(int64_t in, int64_t hidden, const RecurrentOptions& options = {}) : Recurrent("GRU", 3, in, hidden, options) {}

 protected:
  Walk walk(const Weights& w, const Tensor& x, const Tensor& h0, const Tensor& c0, bool reverse) override;
};

}  // namespace ingot::nn
