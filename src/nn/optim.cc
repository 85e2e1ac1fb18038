#include "ingot/optim.h"

#include <cstddef>
#include <mutex>
#include <set>

#include "ingot/error.h"
#include "ingot/functions.h"
#include "ingot/ops.h"
#include "nn/parts.h"

namespace ingot {
namespace {

std::string quoted(const std::string& name) { return "\"" + name + "\""; }

// The memory of all slabs that live.
class Claims {
 public:
  bool has(const Tensor& t) {
    const std::lock_guard lock(mutex_);
    return storages_.contains(t.storage());
  }
  std::shared_ptr<const void> add(const Tensor& values) {
    const std::lock_guard lock(mutex_);
    storages_.insert(values.storage());
    return {values.storage(), [this](const void* storage) {
              const std::lock_guard again(mutex_);
              storages_.erase(storage);
            }};
  }

 private:
  std::mutex mutex_;
  std::set<const void*> storages_;
};
Claims& claims() {
  static auto* all = new Claims;  // never destroyed: slabs may outlive any static object
  return *all;
}

// Everything that can be wrong with a list of parameters, before any of them moves.
void check_parameters(const std::vector<Parameter>& parameters) {
  if (parameters.empty()) throw Error("parameters: the list is empty — there is nothing to train");
  std::set<std::string> names;
  for (const Parameter& p : parameters) {
    if (!names.insert(p.name).second)
      throw Error("parameters: two are called " + quoted(p.name) + " — give each its own name");
    if (p.tensor == nullptr || !p.tensor->defined())
      throw Error("parameters: " + quoted(p.name) + " is undefined — give it a tensor first");
    if (claims().has(*p.tensor))
      throw Error("parameters: " + quoted(p.name) +
                  " is in the slab of another training step — make one step (an nn::Trainer, or Updates that steps for "
                  "several batch shapes share), or end the other one first");
    const DType type = p.tensor->dtype(), first = parameters[0].tensor->dtype();
    if (!is_float(type))
      throw Error("parameters: " + quoted(p.name) + " is " + name(type) + " — parameters are f32 or f64");
    if (type != first)
      throw Error("parameters: " + quoted(parameters[0].name) + " is " + name(first) + " and " + quoted(p.name) +
                  " is " + name(type) + " — all must have one type; convert with to()");
  }
  for (size_t i = 0; i < parameters.size(); i++)
    for (size_t k = 0; k < i; k++)
      if (overlaps(*parameters[i].tensor, *parameters[k].tensor) &&
          !nn::same_elements(*parameters[i].tensor, *parameters[k].tensor))
        throw Error("parameters: " + quoted(parameters[k].name) + " and " + quoted(parameters[i].name) +
                    " share some of their memory — share all of a parameter, or none");
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
  std::vector<size_t> slot;   // of every tensor; shared ones have one
  std::vector<size_t> owner;  // the first tensor of every slot
  std::vector<int64_t> first;
  int64_t total = 0;
  for (size_t i = 0; i < parameters.size(); i++) {
    size_t k = 0;
    while (k < owner.size() && !nn::same_elements(*parameters[owner[k]].tensor, *parameters[i].tensor)) k++;
    slot.push_back(k);
    if (k < owner.size()) continue;
    owner.push_back(i);
    first.push_back(total);
    const int64_t count = parameters[i].tensor->numel();
    count_ += count;
    total += (count + grain - 1) / grain * grain;
  }
  values_ = zeros({total}, type);
  gradients_ = zeros({total}, type);
  for (size_t k = 0; k < owner.size(); k++) {
    Parameter& p = parameters[owner[k]];
    const Dims shape = p.tensor->shape();
    const Tensor value = piece(values_, first[k], shape);
    copy_into(value, *p.tensor);
    parameters_.push_back({std::move(p.name), value});
    parameter_gradients_.push_back(piece(gradients_, first[k], shape));
  }
  for (size_t i = 0; i < parameters.size(); i++) *parameters[i].tensor = parameters_[slot[i]].tensor;
  claim_ = claims().add(values_);
}

int state_slots(const Optimizer& optimizer) {
  struct Slots {
    int operator()(const optim::Sgd& o) const { return o.momentum != 0 ? 1 : 0; }
    int operator()(const optim::RmsProp& o) const { return o.momentum != 0 ? 2 : 1; }
    int operator()(const optim::Adagrad&) const { return 1; }
    int operator()(const optim::Lion&) const { return 1; }
    int operator()(const optim::Adam&) const { return 2; }
    int operator()(const optim::AdamW&) const { return 2; }
  };
  return std::visit(Slots{}, optimizer);
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
    require_not_negative("clip_norm", most);
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

  // The others are written with ops, all results first and then where they go, so that a plan needs few passes.
  void operator()(const optim::RmsProp& o) const {
    require_share("alpha", o.alpha);
    require_positive("eps", o.eps);
    const Tensor g = gradient(o, o.weight_decay);
    const Tensor mean_square = slot(0) * o.alpha + square(g) * (1 - o.alpha);
    Tensor direction = g / (sqrt(mean_square) + o.eps);
    if (o.momentum != 0) direction = slot(1) * o.momentum + direction;
    const Tensor moved = p() - direction * rate();
    if (o.momentum != 0) copy_into(slot(1), direction);
    copy_into(slot(0), mean_square);
    copy_into(p(), moved);
  }
  void operator()(const optim::Adagrad& o) const {
    require_positive("eps", o.eps);
    const Tensor g = gradient(o, o.weight_decay), sum = slot(0) + square(g);
    const Tensor moved = p() - g / (sqrt(sum) + o.eps) * rate();
    copy_into(slot(0), sum);
    copy_into(p(), moved);
  }
  void operator()(const optim::Lion& o) const {
    require_share("beta1", o.beta1);
    require_share("beta2", o.beta2);
    const Tensor g = gradient(o, 0), m = slot(0);
    Tensor direction = sign(m * o.beta1 + g * (1 - o.beta1));
    if (o.weight_decay != 0) direction = direction + p() * o.weight_decay;
    const Tensor moved = p() - direction * rate(), mean = m * o.beta2 + g * (1 - o.beta2);
    copy_into(m, mean);
    copy_into(p(), moved);
  }

  Tensor rate() const { return lr.dtype() == p().dtype() ? lr : to(lr, p().dtype()); }
  // The gradient, clipped, with what weight decay adds to it.
  template <class Options>
  Tensor gradient(const Options& o, double weight_decay) const {
    require_not_negative("weight_decay", o.weight_decay);
    require_not_negative("clip_value", o.clip_value);
    Tensor g = this->g();
    if (const Tensor factor = scale(o.clip_norm); factor.defined()) g = g * factor;
    if (o.clip_value > 0) g = clamp(g, -o.clip_value, o.clip_value);
    return weight_decay != 0 ? g + p() * weight_decay : g;
  }
  static void require_positive(const char* what, double value) {
    // what lies between the parameters has no gradient: 0 / 0 there would not stay zero
    if (!(value > 0)) refuse(what, value, "positive");
  }
  static void require_not_negative(const char* what, double value) {
    if (!(value >= 0)) refuse(what, value, "0 or more");
  }
  static void require_share(const char* what, double value) {
    if (!(value >= 0 && value < 1)) refuse(what, value, "at least 0 and less than 1");
  }
  [[noreturn]] static void refuse(const char* what, double value, const char* rule) {
    throw Error(std::string("optim: ") + what + " = " + std::to_string(value) + " — it must be " + rule);
  }

  template <class Options>
  void adam(const Options& o, bool decoupled) const {
    require_positive("eps", o.eps);
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
