// Random functions of tensors, the same for the same seed: run them eagerly or compile them, the results must agree.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "ingot/base/tensor.h"
#include "ingot/graph/plan.h"
#include "tests/ops/harness.h"

namespace ingot::harness {

struct RandomGraphOptions {
  DType dtype = kF64;
  int ops = 14;
  bool stores = true;   // writes to tensors of the user's between the reads
  bool smooth = false;  // differentiable everywhere, and no stores: for finite differences
  int64_t most = 6000;  // elements of a value
};

class RandomGraph {
 public:
  explicit RandomGraph(uint64_t seed, const RandomGraphOptions& options = {});

  /// The function itself.
  std::vector<Tensor> operator()(std::span<const Tensor> in) const;
  /// A number that depends on every result, smoothly.
  Tensor loss(std::span<const Tensor> in) const;
  const std::vector<Tensor>& inputs() const { return inputs_; }
  std::vector<const Tensor*> input_pointers() const;
  std::vector<InputSpec> specs() const;
  /// Bound tensors that the function reads and never writes.
  const std::vector<Tensor>& parameters() const { return parameters_; }
  /// Bound tensors that it reads and writes, and how to put them back.
  const std::vector<Tensor>& states() const { return states_; }
  void reset_states() const;
  /// The calls, one a line.
  std::string text() const;

 private:
  using Values = std::vector<Tensor>;
  struct Info {
    bool exact = false;  // no rounding in it: comparisons with it are safe
    int state = -1;      // whose memory it looks at
    bool is_bool = false;
  };
  struct Line {
    std::function<Tensor(const Values&)> run;
    std::string text;
  };

  void add_line(std::string text, Info info, std::function<Tensor(const Values&)> run);
  size_t bind(const Dims& shape, double low, double high);
  bool add_op();
  bool add_unary(size_t x);
  bool add_scalar(size_t x);
  bool add_binary(size_t x);
  bool add_choice(size_t x);
  bool add_view(size_t x);
  bool add_reduction(size_t x);
  bool add_product(size_t x);
  bool add_rows(size_t x);
  bool add_several(size_t x);
  bool add_join(size_t x);
  bool add_store(size_t x);
  bool add_needless(size_t x);
  size_t partner_of(size_t x);
  Dims random_shape();
  size_t random_value(bool any_type = false);
  void tame();
  std::string at(size_t v) const { return "v" + std::to_string(v); }

  RandomGraphOptions options_;
  Random random_;
  Values values_, inputs_, parameters_, states_, initial_;  // values_ as they were when the function was made
  std::vector<Info> infos_;
  std::vector<Line> lines_;
  std::vector<size_t> outputs_;
};

}  // namespace ingot::harness
