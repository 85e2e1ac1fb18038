// What a random function is made of: one add_… per kind of call.
#include "tests/graph/random_graph.h"

#include <algorithm>
#include <cmath>

#include "ingot/ops/ops.h"

namespace ingot::harness {

bool RandomGraph::add_unary(size_t x) {
  using Fn = Tensor (*)(const Tensor&);
  static const struct {
    const char* name;
    Fn fn;
    bool smooth, exact;
  } kAll[] = {
      {"tanh", [](const Tensor& t) { return tanh(t); }, true, false},
      {"sigmoid", [](const Tensor& t) { return sigmoid(t); }, true, false},
      {"sin", [](const Tensor& t) { return sin(t); }, true, false},
      {"gelu", [](const Tensor& t) { return gelu(t); }, true, false},
      {"softplus", [](const Tensor& t) { return softplus(t); }, true, false},
      {"square", [](const Tensor& t) { return square(t); }, true, false},
      {"negative", [](const Tensor& t) { return negative(t); }, true, true},
      {"copy", [](const Tensor& t) { return copy(t); }, true, true},
      {"exp(-square)", [](const Tensor& t) { return exp(negative(square(t))); }, true, false},
      {"log(1 + square)", [](const Tensor& t) { return log(square(t) + 1.0); }, true, false},
      {"sqrt(1 + square)", [](const Tensor& t) { return sqrt(square(t) + 1.0); }, true, false},
      {"relu", [](const Tensor& t) { return relu(t); }, false, true},
      {"abs", [](const Tensor& t) { return abs(t); }, false, true},
      {"leaky_relu", [](const Tensor& t) { return leaky_relu(t, 0.1); }, false, false},
      {"clamp", [](const Tensor& t) { return clamp(t, -1, 1.5); }, false, true},
  };
  const auto& op = kAll[random_.below(options_.smooth ? 11 : 15)];
  const Fn fn = op.fn;
  add_line(std::string(op.name) + "(" + at(x) + ")", {infos_[x].exact && op.exact},
           [fn, x](const Values& v) { return fn(v[x]); });
  return true;
}

bool RandomGraph::add_scalar(size_t x) {
  const double c = random_.real(0.3, 2);
  switch (random_.below(5)) {
    case 0: add_line(at(x) + " + c", {}, [=](const Values& v) { return v[x] + c; }); break;
    case 1: add_line(at(x) + " * c", {}, [=](const Values& v) { return v[x] * c; }); break;
    case 2: add_line("c - " + at(x), {}, [=](const Values& v) { return c - v[x]; }); break;
    case 3: add_line(at(x) + " / c", {}, [=](const Values& v) { return v[x] / c; }); break;
    default: add_line("pow(" + at(x) + ", 2)", {}, [=](const Values& v) { return pow(v[x], 2.0); });
  }
  return true;
}

// Another value whose shape broadcasts with x's, to x's: an old one, or a new bound tensor.
size_t RandomGraph::partner_of(size_t x) {
  const Dims shape = values_[x].shape();
  std::vector<size_t> fitting;
  for (size_t v = 0; v < values_.size(); v++) {
    if (!values_[v].defined() || infos_[v].is_bool || values_[v].rank() > shape.size()) continue;
    bool fits = true;
    const int shift = shape.size() - values_[v].rank();
    for (int a = 0; a < values_[v].rank(); a++)
      fits = fits && (values_[v].shape()[a] == 1 || values_[v].shape()[a] == shape[a + shift]);
    if (fits) fitting.push_back(v);
  }
  if (random_.chance(0.7)) return fitting[static_cast<size_t>(random_.below(static_cast<int64_t>(fitting.size())))];
  Dims other;
  for (int a = static_cast<int>(random_.below(shape.size() + 1)); a < shape.size(); a++)
    other.push_back(random_.chance(0.3) ? 1 : shape[a]);
  return bind(other, -1.5, 1.5);
}

bool RandomGraph::add_binary(size_t x) {
  const size_t y = partner_of(x);
  const bool exact = infos_[x].exact && infos_[y].exact;
  const std::string pair = "(" + at(x) + ", " + at(y) + ")";
  const bool swapped = random_.chance(0.5);
  const size_t a = swapped ? y : x, b = swapped ? x : y;
  switch (random_.below(options_.smooth ? 5 : 7)) {
    case 0: add_line("add" + pair, {}, [=](const Values& v) { return v[a] + v[b]; }); break;
    case 1: add_line("subtract" + pair, {}, [=](const Values& v) { return v[a] - v[b]; }); break;
    case 2: add_line("multiply" + pair, {}, [=](const Values& v) { return v[a] * v[b]; }); break;
    case 3: add_line("add_scaled" + pair, {}, [=](const Values& v) { return add_scaled(v[a], v[b], 0.7); }); break;
    case 4: add_line("quotient" + pair, {}, [=](const Values& v) { return v[a] / (square(v[b]) + 1.0); }); break;
    case 5: add_line("maximum" + pair, {exact}, [=](const Values& v) { return maximum(v[a], v[b]); }); break;
    default: add_line("minimum" + pair, {exact}, [=](const Values& v) { return minimum(v[a], v[b]); });
  }
  return true;
}

// where(condition, …): the condition compares what rounding cannot change.
bool RandomGraph::add_choice(size_t x) {
  std::vector<size_t> exact;
  for (size_t v = 0; v < values_.size(); v++)
    if (infos_[v].exact && values_[v].defined() && values_[v].shape() == values_[x].shape()) exact.push_back(v);
  if (exact.empty()) exact.push_back(bind(values_[x].shape(), -1, 1));
  const size_t by = exact[static_cast<size_t>(random_.below(static_cast<int64_t>(exact.size())))];
  const double c = random_.real(-0.5, 0.5);
  const size_t y = partner_of(x);
  Info truth;
  truth.is_bool = true;
  if (random_.chance(0.5))
    add_line(at(by) + " > c", truth, [=](const Values& v) { return greater(v[by], c); });
  else
    add_line(at(by) + " <= c", truth, [=](const Values& v) { return less_equal(v[by], c); });
  const size_t mask = values_.size() - 1;
  add_line("where(" + at(mask) + ", " + at(x) + ", " + at(y) + ")", {infos_[x].exact && infos_[y].exact},
           [=](const Values& v) { return where(v[mask], v[x], v[y]); });
  return true;
}

bool RandomGraph::add_view(size_t x) {
  const Tensor t = values_[x];  // a copy: values_ grows
  const Info info = infos_[x];
  const int rank = t.rank();
  switch (random_.below(7)) {
    case 0: {
      if (rank < 2) return false;
      const int64_t a = random_.below(rank), b = random_.below(rank);
      add_line("transpose(" + at(x) + ")", info, [=](const Values& v) { return transpose(v[x], a, b); });
      return true;
    }
    case 1: {
      if (rank < 2) return false;
      Dims axes;
      for (int a = 0; a < rank; a++) axes.insert(static_cast<int>(random_.below(a + 1)), a);
      add_line("permute(" + at(x) + ", " + to_string(axes) + ")", info,
               [=](const Values& v) { return permute(v[x], axes); });
      return true;
    }
    case 2: {
      if (rank < 1) return false;
      const int64_t axis = random_.below(rank), size = t.shape()[static_cast<int>(axis)];
      const int64_t start = random_.below(size), stop = start + 1 + random_.below(size - start);
      const int64_t step = 1 + random_.below(2);
      add_line("slice(" + at(x) + ", axis " + std::to_string(axis) + ")", info,
               [=](const Values& v) { return slice(v[x], axis, start, stop, step); });
      return true;
    }
    case 3: {
      if (info.state >= 0 && !t.is_contiguous()) return false;
      const Dims shape = random_.chance(0.5) || t.numel() % 2 != 0 ? Dims{t.numel()} : Dims{2, t.numel() / 2};
      Info flat = info;
      if (!t.is_contiguous()) flat.state = -1;
      add_line("reshape(" + at(x) + ", " + to_string(shape) + ")", flat,
               [=](const Values& v) { return reshape(contiguous(v[x]), shape); });
      return true;
    }
    case 4: {
      if (rank > 2 || t.numel() * 3 > options_.most || info.state >= 0) return false;
      Dims shape = t.shape();
      shape.insert(0, 3);
      add_line("broadcast_to(" + at(x) + ", " + to_string(shape) + ")", info,
               [=](const Values& v) { return broadcast_to(v[x], shape); });
      return true;
    }
    case 5: {
      if (rank > 3) return false;
      const int64_t axis = random_.below(rank + 1);
      add_line("unsqueeze(" + at(x) + ")", info, [=](const Values& v) { return unsqueeze(v[x], axis); });
      return true;
    }
    default: {
      if (rank < 2) return false;
      const int64_t axis = random_.below(rank), index = random_.below(t.shape()[static_cast<int>(axis)]);
      add_line("select(" + at(x) + ")", info, [=](const Values& v) { return select(v[x], axis, index); });
      return true;
    }
  }
}

bool RandomGraph::add_reduction(size_t x) {
  const Tensor t = values_[x];
  Dims axes;
  int64_t folded = 1;
  for (int a = 0; a < t.rank(); a++)
    if (random_.chance(0.5)) axes.push_back(a), folded *= t.shape()[a];
  if (axes.empty()) folded = t.numel();  // all
  const bool keep = random_.chance(0.5);
  const std::string rest = "(" + at(x) + ", " + to_string(axes) + (keep ? ", keepdim)" : ")");
  switch (random_.below(options_.smooth ? 4 : 6)) {
    case 0: add_line("mean" + rest, {}, [=](const Values& v) { return mean(v[x], axes, keep); }); break;
    case 1:
      add_line("sum/√n" + rest, {},
               [=](const Values& v) { return sum(v[x], axes, keep) / std::sqrt(static_cast<double>(folded)); });
      break;
    case 2: add_line("logsumexp" + rest, {}, [=](const Values& v) { return logsumexp(v[x], axes, keep); }); break;
    case 3:
      if (folded < 2) return false;
      add_line("var" + rest, {}, [=](const Values& v) { return var(v[x], axes, keep); });
      break;
    case 4: add_line("max" + rest, {infos_[x].exact}, [=](const Values& v) { return max(v[x], axes, keep); }); break;
    default: add_line("min" + rest, {infos_[x].exact}, [=](const Values& v) { return min(v[x], axes, keep); });
  }
  return true;
}

bool RandomGraph::add_product(size_t x) {
  const Tensor t = values_[x];
  if (t.rank() < 2) return false;
  const int64_t k = t.size(-1), n = random_.chance(0.3) ? 64 + random_.below(20) : 1 + random_.below(20);
  if (t.numel() / k * n > options_.most * 2) return false;
  const double scale = 1.5 / std::sqrt(static_cast<double>(k));
  switch (random_.below(4)) {
    case 0: {
      const size_t w = bind({k, n}, -scale, scale);
      add_line("matmul(" + at(x) + ", " + at(w) + ")", {}, [=](const Values& v) { return matmul(v[x], v[w]); });
      return true;
    }
    case 1: {
      const size_t w = bind({n, k}, -scale, scale);
      const size_t b = bind({n}, -1, 1);
      add_line("linear(" + at(x) + ", " + at(w) + ", " + at(b) + ")", {},
               [=](const Values& v) { return linear(v[x], v[w], v[b]); });
      return true;
    }
    case 2: {
      const size_t w = bind({n, k}, -scale, scale);
      const size_t b = bind({n}, -1, 1);
      add_line("relu(linear(" + at(x) + ", " + at(w) + ") + " + at(b) + ")", {}, [=, this](const Values& v) {
        const Tensor y = linear(v[x], v[w]) + v[b];
        return options_.smooth ? tanh(y) : relu(y);
      });
      return true;
    }
    default: {
      if (t.rank() != 2 || t.size(0) > 80) return false;
      add_line("matmul(" + at(x) + ", transpose(" + at(x) + ")) / k", {},
               [=](const Values& v) { return matmul(v[x], transpose(v[x])) / static_cast<double>(k); });
      return true;
    }
  }
}

// What works along the last axis.
bool RandomGraph::add_rows(size_t x) {
  const Tensor t = values_[x];
  if (t.rank() < 1) return false;
  const int64_t axis = random_.below(t.rank()), n = t.size(-1);
  switch (random_.below(5)) {
    case 0: add_line("softmax(" + at(x) + ")", {}, [=](const Values& v) { return softmax(v[x], axis); }); return true;
    case 1:
      add_line("log_softmax(" + at(x) + ")", {}, [=](const Values& v) { return log_softmax(v[x], axis); });
      return true;
    case 2: {
      const size_t w = bind({n}, 0.5, 1.5), b = bind({n}, -1, 1);
      add_line("layer_norm(" + at(x) + ")", {}, [=](const Values& v) { return layer_norm(v[x], v[w], v[b], 1, 0.1); });
      return true;
    }
    case 3:
      add_line("rms_norm(" + at(x) + ")", {}, [=](const Values& v) { return rms_norm(v[x], {}, 1, 0.1); });
      return true;
    default:
      if (n > 40) return false;
      add_line("cumsum(" + at(x) + ")", {}, [=](const Values& v) { return cumsum(v[x], axis); });
      return true;
  }
}

// Ops with several results, of which some or all are used; conversions; indices.
bool RandomGraph::add_several(size_t x) {
  const Tensor t = values_[x];
  if (t.rank() < 1) return false;
  const int64_t axis = random_.below(t.rank()), size = t.shape()[static_cast<int>(axis)];
  const Info info{infos_[x].exact};
  switch (random_.below(6)) {
    case 0:
      if (options_.smooth) return false;
      add_line("sort(" + at(x) + ")", info, [=](const Values& v) { return sort(v[x], axis)[0]; });
      return true;
    case 1: {
      if (t.rank() < 2 || t.numel() / t.size(1) < 2) return false;
      add_line("batch_norm(" + at(x) + ")", {}, [=](const Values& v) {
        const auto r = batch_norm(v[x], {}, {}, 0.1);
        Dims columns = Dims::filled(v[x].rank(), 1);
        columns[1] = v[x].size(1);
        return r[0] + reshape(r[1], columns);
      });
      return true;
    }
    case 2: {
      const int64_t seed = random_.below(1000);
      add_line("dropout(" + at(x) + ")", {}, [=](const Values& v) { return dropout(v[x], 0.3, seed)[0]; });
      return true;
    }
    case 3: {
      std::vector<int64_t> picks;
      for (int64_t i = 1 + random_.below(size); i > 0; i--) picks.push_back(random_.below(size));
      const Tensor indices = Tensor::from(picks);
      add_line("index_select(" + at(x) + ")", info, [=](const Values& v) { return index_select(v[x], indices, axis); });
      return true;
    }
    case 4: {  // what the pass `pool` looks for, and what it must leave alone
      if (options_.smooth || t.rank() < 2 || t.size(-1) < 4 || t.size(-2) < 4 || t.numel() == 0) return false;
      const Dims planes{t.numel() / (t.size(-1) * t.size(-2)), 1, t.size(-2), t.size(-1)};
      if (planes[0] * 3 * planes[2] * planes[3] > options_.most) return false;
      const size_t w = bind({3, 1, 2, 2}, -1, 1), b = bind({3}, -1, 1);
      const bool first_relu = random_.chance(0.7), positions = random_.chance(0.2), twice = random_.chance(0.2);
      add_line("max_pool2d(conv2d(" + at(x) + "))", {}, [=](const Values& v) {
        Tensor y = conv2d(reshape(contiguous(v[x]), planes), v[w], v[b]);
        if (first_relu) y = relu(y);
        const auto pooled = max_pool2d(y, {.kernel = {2, 2}});
        Tensor result = pooled[0];
        if (positions) result = result + to(pooled[1], result.dtype());
        return twice ? result + mean(y) : result;
      });
      return true;
    }
    default: {  // exact numbers may lose digits and stay comparable
      if (!info.exact || options_.smooth) return false;
      const DType type = options_.dtype, other = type == kF64 ? kF32 : kF64;
      add_line("there and back(" + at(x) + ")", info, [=](const Values& v) { return to(relu(to(v[x], other)), type); });
      return true;
    }
  }
}

bool RandomGraph::add_join(size_t x) {
  const Tensor t = values_[x];
  if (t.rank() < 1 || t.numel() * 2 > options_.most) return false;
  std::vector<size_t> alike;
  for (size_t v = 0; v < values_.size(); v++)
    if (values_[v].defined() && !infos_[v].is_bool && values_[v].shape() == t.shape()) alike.push_back(v);
  const size_t y = alike[static_cast<size_t>(random_.below(static_cast<int64_t>(alike.size())))];
  const int64_t axis = random_.below(t.rank());
  const Info info{infos_[x].exact && infos_[y].exact};
  const std::string pair = "(" + at(x) + ", " + at(y) + ")";
  if (random_.chance(0.7))
    add_line("concat" + pair, info, [=](const Values& v) { return concat({v[x], v[y]}, axis); });
  else
    add_line("stack" + pair, info, [=](const Values& v) { return stack({v[x], v[y]}, axis); });
  return true;
}

// Calls that change nothing: what the algebra and folding passes remove.
bool RandomGraph::add_needless(size_t x) {
  const Tensor t = values_[x];
  const Dims shape = t.shape();
  const DType type = options_.dtype;
  const Info info{infos_[x].exact};
  switch (random_.below(9)) {
    case 0: add_line(at(x) + " * 1", info, [=](const Values& v) { return v[x] * 1.0; }); break;
    case 1: add_line(at(x) + " - 0", info, [=](const Values& v) { return v[x] - 0.0; }); break;
    case 2: add_line("-(-" + at(x) + ")", info, [=](const Values& v) { return negative(negative(v[x])); }); break;
    case 3: add_line(at(x) + " * ones", info, [=](const Values& v) { return v[x] * ones(shape, type); }); break;
    case 4: add_line(at(x) + " + full", {}, [=](const Values& v) { return v[x] + full(shape, 0.25, type); }); break;
    case 5: add_line("pow(" + at(x) + ", 1)", info, [=](const Values& v) { return pow(v[x], 1.0); }); break;
    case 6:
      if (t.rank() < 2) return false;
      add_line("transpose twice(" + at(x) + ")", infos_[x],
               [=](const Values& v) { return transpose(transpose(v[x])); });
      break;
    case 7: add_line("copy of copy(" + at(x) + ")", info, [=](const Values& v) { return copy(copy(v[x])); }); break;
    default:
      add_line(at(x) + " + folded", {},
               [=](const Values& v) { return v[x] + tanh(full({}, 0.5, type) * 2.0) * exp(zeros(shape, type)); });
  }
  return true;
}

// A write to a tensor of the user's: whole, a slice of it or its transpose.
bool RandomGraph::add_store(size_t x) {
  if (!options_.stores || options_.smooth) return false;
  const int s = static_cast<int>(random_.below(static_cast<int64_t>(states_.size())));
  Tensor to = states_[static_cast<size_t>(s)];
  if (random_.chance(0.3)) to = transpose(to);
  if (random_.chance(0.3) && to.size(0) > 1) to = slice(to, 0, random_.below(to.size(0) - 1), to.size(0));
  std::vector<size_t> fitting;
  for (size_t v = 0; v < values_.size(); v++)
    if (values_[v].defined() && !infos_[v].is_bool && infos_[v].state != s && values_[v].shape() == to.shape())
      fitting.push_back(v);
  x = fitting.empty() ? bind(to.shape(), -1, 1)
                      : fitting[static_cast<size_t>(random_.below(static_cast<int64_t>(fitting.size())))];
  const std::string name = "state " + std::to_string(s) + " " + to_string(to.shape());
  switch (random_.below(6)) {
    case 0: add_line(name + " <- " + at(x), {}, [=](const Values& v) { return copy_into(to, v[x]), Tensor(); }); break;
    case 1:
      add_line(name + " += " + at(x), {}, [=](const Values& v) { return add_into(to, to, v[x]), Tensor(); });
      break;
    case 2:  // a value made only to be stored: the stores pass computes it in place
      add_line(name + " <- tanh(2 " + at(x) + ")", {},
               [=](const Values& v) { return copy_into(to, tanh(v[x] * 2.0)), Tensor(); });
      break;
    case 3:  // read where it is written, as optimisers do
      add_line(name + " <- 0.9 self + " + at(x), {},
               [=](const Values& v) { return copy_into(to, to * 0.9 + v[x]), Tensor(); });
      break;
    case 4:  // and once more after the new value
      add_line(name + " <- self and its change, " + at(x), {}, [=](const Values& v) {
        const Tensor moved = to * 0.5 + v[x];
        copy_into(to, moved + (moved - to) * 0.5);
        return Tensor();
      });
      break;
    default:  // the old contents are read first
      add_line(name + " <- decayed + " + at(x), {}, [=](const Values& v) {
        const Tensor decayed = to * 0.9;
        add_scaled_into(to, v[x], decayed, 0.5);
        return Tensor();
      });
  }
  return true;
}

}  // namespace ingot::harness
