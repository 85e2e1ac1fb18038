#include "ingot/optim.h"

#include <cstddef>
#include <set>

#include "ingot/error.h"
#include "ingot/ops.h"

namespace ingot {
namespace {

std::string quoted(const std::string& name) { return "\"" + name + "\""; }

// Everything that can be wrong with a list of parameters, before any of them moves.
void check_parameters(const std::vector<Parameter>& parameters) {
  if (parameters.empty()) throw Error("parameters: the list is empty — there is nothing to train");
  std::set<std::string> names;
  for (const Parameter& p : parameters) {
    if (!names.insert(p.name).second)
      throw Error("parameters: two are called " + quoted(p.name) + " — give each its own name");
    if (p.tensor == nullptr || !p.tensor->defined())
      throw Error("parameters: " + quoted(p.name) + " is undefined — give it a tensor first");
    const DType type = p.tensor->dtype(), first = parameters[0].tensor->dtype();
    if (!is_float(type))
      throw Error("parameters: " + quoted(p.name) + " is " + name(type) + " — parameters are f32 or f64");
    if (type != first)
      throw Error("parameters: " + quoted(parameters[0].name) + " is " + name(first) + " and " + quoted(p.name) +
                  " is " + name(type) + " — all must have one type; convert with to()");
  }
  for (size_t i = 0; i < parameters.size(); i++)
    for (size_t k = 0; k < i; k++)
      if (parameters[i].tensor == parameters[k].tensor || overlaps(*parameters[i].tensor, *parameters[k].tensor))
        throw Error("parameters: " + quoted(parameters[k].name) + " and " + quoted(parameters[i].name) +
                    " share memory — list a shared parameter once");
}

// `count` elements of a vector from `first` on, as a tensor of that shape.
Tensor piece(const Tensor& slab, int64_t first, const Dims& shape) {
  std::byte* data = static_cast<std::byte*>(slab.raw()) + first * static_cast<int64_t>(size_of(slab.dtype()));
  return slab.view(data, shape, contiguous_strides(shape));
}

}  // namespace

ParameterSlab::ParameterSlab(std::vector<Parameter> parameters) {
  if (capturing())
    throw Error(
        "parameter slab: made inside a function that is being compiled — make it before, and use its parameters");
  check_parameters(parameters);
  const DType type = parameters[0].tensor->dtype();
  const int64_t grain = 64 / static_cast<int64_t>(size_of(type));
  std::vector<int64_t> first;
  int64_t total = 0;
  for (const Parameter& p : parameters) {
    first.push_back(total);
    count_ += p.tensor->numel();
    total += (p.tensor->numel() + grain - 1) / grain * grain;
  }
  values_ = zeros({total}, type);
  gradients_ = zeros({total}, type);
  for (size_t i = 0; i < parameters.size(); i++) {
    const Dims shape = parameters[i].tensor->shape();
    const Tensor value = piece(values_, first[i], shape);
    copy_into(value, *parameters[i].tensor);
    parameters_.push_back({std::move(parameters[i].name), value});
    parameter_gradients_.push_back(piece(gradients_, first[i], shape));
  }
  for (size_t i = 0; i < parameters.size(); i++) *parameters[i].tensor = parameters_[i].tensor;
}

int state_slots(const Optimizer& optimizer) {
  const optim::Sgd* sgd = std::get_if<optim::Sgd>(&optimizer);
  return sgd == nullptr ? 2 : sgd->momentum != 0 ? 1 : 0;
}

Tensor make_state(const Optimizer& optimizer, const ParameterSlab& slab) {
  const int slots = state_slots(optimizer);
  return slots == 0 ? Tensor() : zeros({slots, slab.values().numel()}, slab.values().dtype());
}

namespace {

// What an update works on; state rows are views of one tensor.
struct Update {
  const ParameterSlab& slab;
  const Tensor &state, &lr, &step;

  const Tensor& p() const { return slab.values(); }
  const Tensor& g() const { return slab.gradients(); }
  Tensor slot(int i) const { return piece(state, i * p().numel(), p().shape()); }

  // What the gradient is multiplied by, so that its norm is at most `most`; undefined if nothing is clipped.
  Tensor scale(double most) const {
    if (!(most >= 0))
      throw Error("optim: clip_norm = " + std::to_string(most) + " — it must be positive, or 0 for none");
    return most == 0 ? Tensor() : clamp(most / (norm(g()) + 1e-6), 0, 1);
  }

  void operator()(const optim::Sgd& o) const {
    if (o.momentum != 0) {
      const Tensor b = slot(0);
      return sgd_momentum_step_into(p(), b, p(), g(), b, lr, scale(o.clip_norm), o.momentum, o.weight_decay, o.nesterov,
                                    o.clip_value);
    }
    if (o.nesterov) throw Error("optim::Sgd: nesterov without momentum — set momentum, 0.9 for example");
    sgd_step_into(p(), p(), g(), lr, scale(o.clip_norm), o.weight_decay, o.clip_value);
  }
  void operator()(const optim::Adam& o) const { adam(o, false); }
  void operator()(const optim::AdamW& o) const { adam(o, true); }

  template <class Options>
  void adam(const Options& o, bool decoupled) const {
    if (!(o.eps > 0))  // what lies between the parameters has no gradient: 0 / 0 there would not stay zero
      throw Error("optim: eps = " + std::to_string(o.eps) + " — it must be positive");
    const Tensor m = slot(0), v = slot(1);
    adam_step_into(p(), m, v, p(), g(), m, v, lr, step, scale(o.clip_norm), o.beta1, o.beta2, o.eps, o.weight_decay,
                   decoupled, o.clip_value);
  }
};

}  // namespace

void record_update(const Optimizer& optimizer, const ParameterSlab& slab, const Tensor& state, const Tensor& lr,
                   const Tensor& step) {
  const int slots = state_slots(optimizer);
  if (slots > 0) {
    const Dims shape = {slots, slab.values().numel()};
    if (!state.defined() || state.dtype() != slab.values().dtype() || !(state.shape() == shape) ||
        !state.is_contiguous())
      throw Error("optim: the state does not fit the slab — it must be what make_state() gives, " + to_string(shape));
  }
  std::visit(Update{slab, state, lr, step}, optimizer);
}

}  // namespace ingot
