#include "ingot/nn/optim.h"

#include <cstddef>
#include <string>

#include "ingot/base/error.h"
#include "ingot/ops/functions.h"
#include "ingot/ops/ops.h"
#include "ingot/ops/plumbing.h"

namespace ingot {
namespace {

[[noreturn]] void refuse(const char* what, double value, const char* rule) {
  throw Error(std::string("optim: ") + what + " = " + std::to_string(value) + " — it must be " + rule);
}
// What lies between the parameters has no gradient: 0 / 0 there would not stay zero.
void require_positive(const char* what, double value) {
  if (!(value > 0)) refuse(what, value, "positive");
}
void require_not_negative(const char* what, double value) {
  if (!(value >= 0)) refuse(what, value, "0 or more");
}
void require_share(const char* what, double value) {
  if (!(value >= 0 && value < 1)) refuse(what, value, "at least 0 and less than 1");
}

// The clipped gradient with what weight decay adds to it.
template <class Options>
Tensor decayed_gradient(const Update& u, const Options& o) {
  require_not_negative("weight_decay", o.weight_decay);
  const Tensor g = u.gradient(o.clip_norm, o.clip_value);
  return o.weight_decay != 0 ? g + u.values() * o.weight_decay : g;
}

template <class Options>
void adam(const Update& u, const Options& o, bool decoupled) {
  require_positive("eps", o.eps);
  const Tensor &p = u.values(), m = u.slot(0), v = u.slot(1);
  adam_step_into(p, m, v, p, u.gradient(), m, v, u.lr(), u.step(), u.norm_factor(o.clip_norm), o.beta1, o.beta2, o.eps,
                 o.weight_decay, decoupled, o.clip_value);
}

}  // namespace

Tensor Update::norm_factor(double clip_norm) const {
  require_not_negative("clip_norm", clip_norm);
  return clip_norm == 0 ? Tensor() : clamp(clip_norm / (norm(gradient()) + 1e-6), 0, 1);
}

Tensor Update::gradient(double clip_norm, double clip_value) const {
  require_not_negative("clip_value", clip_value);
  Tensor g = gradient();
  if (const Tensor factor = norm_factor(clip_norm); factor.defined()) g = g * factor;
  return clip_value > 0 ? clamp(g, -clip_value, clip_value) : g;
}

Tensor Update::slot(int i) const {
  if (!state_.defined() || i < 0 || i >= state_.size(0))
    throw Error("optim: slot " + std::to_string(i) + " of " + std::to_string(state_.defined() ? state_.size(0) : 0) +
                " — slots() says how many there are");
  const int64_t first = i * values().numel() * static_cast<int64_t>(size_of(values().dtype()));
  return state_.view(static_cast<std::byte*>(state_.raw()) + first, values().shape(), values().strides());
}

Tensor Update::rate() const { return lr_.dtype() == values().dtype() ? lr_ : to(lr_, values().dtype()); }

void Update::set(const Tensor& values, std::initializer_list<Tensor> slots) const {
  int i = 0;
  for (const Tensor& t : slots) copy_into(slot(i++), t);
  copy_into(slab_.values(), values);
}

namespace optim {

void Sgd::update(const Update& u) const {
  const Tensor& p = u.values();
  if (momentum != 0) {
    const Tensor b = u.slot(0);
    return sgd_momentum_step_into(p, b, p, u.gradient(), b, u.lr(), u.norm_factor(clip_norm), momentum, weight_decay,
                                  nesterov, clip_value);
  }
  if (nesterov) throw Error("optim::Sgd: nesterov without momentum — set momentum, 0.9 for example");
  sgd_step_into(p, p, u.gradient(), u.lr(), u.norm_factor(clip_norm), weight_decay, clip_value);
}

void Adam::update(const Update& u) const { adam(u, *this, false); }
void AdamW::update(const Update& u) const { adam(u, *this, true); }

void RmsProp::update(const Update& u) const {
  require_share("alpha", alpha);
  require_positive("eps", eps);
  const Tensor g = decayed_gradient(u, *this);
  const Tensor mean_square = u.slot(0) * alpha + square(g) * (1 - alpha);
  const Tensor direction = g / (sqrt(mean_square) + eps);
  if (momentum == 0) return u.set(u.values() - direction * u.rate(), {mean_square});
  const Tensor moving = u.slot(1) * momentum + direction;
  u.set(u.values() - moving * u.rate(), {mean_square, moving});
}

void Adagrad::update(const Update& u) const {
  require_positive("eps", eps);
  const Tensor g = decayed_gradient(u, *this), sum = u.slot(0) + square(g);
  u.set(u.values() - g / (sqrt(sum) + eps) * u.rate(), {sum});
}

void Lion::update(const Update& u) const {
  require_share("beta1", beta1);
  require_share("beta2", beta2);
  require_not_negative("weight_decay", weight_decay);
  const Tensor g = u.gradient(clip_norm, clip_value), m = u.slot(0);
  Tensor direction = sign(m * beta1 + g * (1 - beta1));
  if (weight_decay != 0) direction = direction + u.values() * weight_decay;
  u.set(u.values() - direction * u.rate(), {m * beta2 + g * (1 - beta2)});
}

}  // namespace optim

Tensor make_state(const Optimizer& optimizer, const ParameterSlab& slab) {
  const int slots = optimizer.slots();
  if (slots < 0) throw Error("optim: " + optimizer.name() + " has " + std::to_string(slots) + " slots — 0 or more");
  return slots == 0 ? Tensor() : zeros({slots, slab.values().numel()}, slab.values().dtype());
}

void record_update(const Optimizer& optimizer, const ParameterSlab& slab, const Tensor& state, const Tensor& lr,
                   const Tensor& step) {
  if (const int slots = optimizer.slots(); slots > 0) {
    const Dims shape = {slots, slab.values().numel()};
    if (!state.defined() || state.dtype() != slab.values().dtype() || !(state.shape() == shape) ||
        !state.is_contiguous())
      throw Error(ErrorKind::kShape,
                  "optim: the state does not fit the slab — it must be what make_state() gives, " + to_string(shape));
  }
  optimizer.update(Update(slab, state, lr, step));
}

}  // namespace ingot
