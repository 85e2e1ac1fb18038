#include "tests/graph/random_graph.h"

#include <algorithm>

#include "ingot/ops/ops.h"

namespace ingot::harness {
namespace {

constexpr double kCalm = 20;  // larger values go through tanh, so that rounding does not grow without bound

}  // namespace

void RandomGraph::add_line(std::string text, Info info, std::function<Tensor(const Values&)> run) {
  values_.push_back(run(values_));
  infos_.push_back(info);
  const Tensor& made = values_.back();
  text = at(values_.size() - 1) + " = " + text;
  if (made.defined()) text += "  " + to_string(made.shape()) + (made.is_contiguous() ? "" : " strided");
  lines_.push_back({std::move(run), std::move(text)});
}

Dims RandomGraph::random_shape() {
  static constexpr int64_t kSizes[] = {1, 2, 3, 4, 5, 7, 8, 12, 16, 17, 33, 64, 70, 130, 300};
  while (true) {
    Dims shape;
    int64_t count = 1;
    for (int64_t rank = 1 + random_.below(3); rank > 0; rank--) {
      shape.push_back(kSizes[random_.below(random_.chance(0.3) ? 15 : 9)]);
      count *= shape.back();
    }
    if (count <= options_.most) return shape;
  }
}

size_t RandomGraph::bind(const Dims& shape, double low, double high) {
  Tensor t = random_.tensor(shape, options_.dtype, low, high);
  if (shape.size() == 2 && random_.chance(0.3)) t = transpose(copy(transpose(t)));  // the same values, strided
  parameters_.push_back(t);
  add_line("bound", {true}, [t](const Values&) { return t; });
  return values_.size() - 1;
}

size_t RandomGraph::random_value(bool any_type) {
  while (true) {  // later ones more often, so that graphs grow deep
    const auto n = static_cast<int64_t>(values_.size());
    const auto v =
        static_cast<size_t>(random_.chance(0.6) ? n - 1 - random_.below(std::min<int64_t>(n, 4)) : random_.below(n));
    if (values_[v].defined() && (any_type || !infos_[v].is_bool)) return v;
  }
}

bool RandomGraph::add_op() {
  const size_t x = random_value();
  if (values_[x].numel() > options_.most) return false;
  const int64_t kind = random_.below(21);
  if (kind < 4) return add_unary(x);
  if (kind < 5) return add_scalar(x);
  if (kind < 8) return add_binary(x);
  if (kind < 9) return add_choice(x);
  if (kind < 12) return add_view(x);
  if (kind < 14) return add_reduction(x);
  if (kind < 15) return add_product(x);
  if (kind < 16) return add_rows(x);
  if (kind < 17) return add_join(x);
  if (kind < 18) return add_needless(x);
  if (kind < 20) return add_store(x);
  return add_several(x);
}

void RandomGraph::tame() {
  if (!values_.back().defined() || infos_.back().is_bool || largest(values_.back()) < kCalm) return;
  const size_t x = values_.size() - 1;
  add_line("tanh(" + at(x) + ")", {}, [x](const Values& v) { return tanh(v[x]); });
}

RandomGraph::RandomGraph(uint64_t seed, const RandomGraphOptions& options) : options_(options), random_(seed) {
  for (int64_t i = 1 + random_.below(3); i > 0; i--)
    inputs_.push_back(random_.tensor(random_shape(), options_.dtype, -1.5, 1.5));
  for (size_t i = 0; i < inputs_.size(); i++) {
    values_.push_back(inputs_[i]);
    infos_.push_back({true});
  }
  if (options_.stores && !options_.smooth) {
    for (int i = 0; i < 2; i++) {
      Dims shape = random_shape();
      while (shape.size() != 2) shape = random_shape();
      const Tensor s = random_.tensor(shape, options_.dtype, -1, 1);
      states_.push_back(s);
      initial_.push_back(copy(s));
      Info info;
      info.state = i;
      add_line("state " + std::to_string(i), info, [s](const Values&) { return s; });
    }
  }
  for (int made = 0; made < options_.ops;)
    if (add_op()) made++, tame();
  // Results: the last value, and some of the others, whether or not somebody else reads them.
  for (size_t v = values_.size(); v-- > 0;)
    if (values_[v].defined() && (outputs_.empty() || random_.chance(0.2))) outputs_.push_back(v);
  if (random_.chance(0.2)) outputs_.push_back(outputs_[0]);
  reset_states();
}

std::vector<Tensor> RandomGraph::operator()(std::span<const Tensor> in) const {
  Values values(in.begin(), in.end());
  for (const Line& line : lines_) values.push_back(line.run(values));
  std::vector<Tensor> results;
  for (const size_t v : outputs_) results.push_back(values[v]);
  return results;
}

Tensor RandomGraph::loss(std::span<const Tensor> in) const {
  Tensor total = zeros({}, options_.dtype);
  for (const Tensor& y : (*this)(in))
    if (is_float(y.dtype())) total = total + mean(sin(y * 1.3));
  return total;
}

std::vector<const Tensor*> RandomGraph::input_pointers() const {
  std::vector<const Tensor*> list;
  for (const Tensor& t : inputs_) list.push_back(&t);
  return list;
}

std::vector<InputSpec> RandomGraph::specs() const {
  std::vector<InputSpec> specs;
  for (const Tensor& t : inputs_) specs.emplace_back(t.shape(), t.dtype());
  return specs;
}

void RandomGraph::reset_states() const {
  for (size_t i = 0; i < states_.size(); i++) copy_into(states_[i], initial_[i]);
}

std::string RandomGraph::text() const {
  std::string text;
  for (size_t i = 0; i < inputs_.size(); i++) text += at(i) + " = input " + to_string(inputs_[i].shape()) + "\n";
  for (const Line& line : lines_) text += line.text + "\n";
  text += "return";
  for (const size_t v : outputs_) text += " " + at(v);
  return text + "\n";
}

}  // namespace ingot::harness
