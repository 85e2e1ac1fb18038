// Steps of optimisers, as PyTorch defines them: new values of parameters and state in one pass. In training the results
// are written over the inputs (`_into` with the same tensors). Learning rate, step count and the gradient's factor are
// tensors, so that a plan reads their values at every run.
#include "kernels/optimizer.h"

#include <cmath>
#include <limits>
#include <type_traits>

#include "ingot/ops/checks.h"
#include "ingot/ops/decoded.h"
#include "ingot/ops/plain.h"
#include "ingot/ops/staging.h"
#include "ops/define.h"

namespace ingot {
namespace {

constexpr const char* kNoGradient = "a step changes parameters and state; differentiate the loss instead";

double number(const Tensor& scalar) { return load_as_double(scalar.raw(), scalar.dtype()); }

// The arrays (param, grad and state) come first, then lr [, step] [, scale].
void require_arrays(const Call& call, int count) {
  require_type(call, call.in(0).dtype());
  for (int i = 1; i < count; i++) {
    require_same_type(call, 0, i);
    if (!(call.in(i).shape() == call.in(0).shape()))
      fail(call, "input " + std::to_string(i) + " is " + to_string(call.in(i).shape()),
           "gradient and state must have the parameter's shape " + to_string(call.in(0).shape()));
  }
}

void require_scalar(const Call& call, int i, const char* what) {
  if (!call.has(i)) return;
  if (call.in(i).numel() != 1)
    fail(call, std::string(what) + " is " + to_string(call.in(i).shape()), "it must be one number, of shape []");
  if (!is_float(call.in(i).dtype()))
    fail(call, std::string(what) + " is " + name(call.in(i).dtype()), "give it as f32 or f64");
}

void require_range(const Call& call, const char* attr, double low, double below) {
  const double value = call.real(attr);
  if (value >= low && value < below) return;
  fail_argument(call, std::string(attr) + " = " + std::to_string(value),
                below == 1 ? "it must be at least 0 and less than 1" : "it must be 0 or more, and finite");
}

void require_common(const Call& call, int arrays, int scale) {
  require_arrays(call, arrays);
  require_scalar(call, arrays, "lr");
  require_scalar(call, scale, "scale");
  constexpr double kLargest = std::numeric_limits<float>::max();  // beyond it, f32 has infinity
  require_range(call, "weight_decay", 0, kLargest);
  require_range(call, "clip_value", 0, kLargest);
}

void add_outputs(const Call& call, Specs& out, int count) {
  for (int i = 0; i < count; i++) out.add(call.in(0).dtype(), call.in(0).shape());
}

// The constants of a step; what changes from run to run (lr, count, scale) is read from tensors when it runs.
kernels::SgdStep decode_sgd(const Call& call) {
  return {.lr = 0, .weight_decay = call.real("weight_decay"), .scaling = {.clip_value = call.real("clip_value")}};
}
kernels::SgdStep decode_momentum(const Call& call) {
  kernels::SgdStep s = decode_sgd(call);
  s.momentum = call.real("momentum");
  s.nesterov = call.flag("nesterov");
  return s;
}
double scale_of(const Call& call, int scale) { return call.has(scale) ? number(call.in(scale)) : 1; }

template <auto decode>
kernels::SgdStep sgd_of(const Call& call, int lr) {
  kernels::SgdStep s = decoded<decode>(call);
  s.lr = number(call.in(lr));
  s.scaling.scale = scale_of(call, lr + 1);
  return s;
}

constexpr int kAdamLr = 4, kAdamStep = 5, kAdamScale = 6;

kernels::AdamStep decode_adam(const Call& call) {
  return {.lr = 0,
          .beta1 = call.real("beta1"),
          .beta2 = call.real("beta2"),
          .eps = call.real("eps"),
          .weight_decay = call.real("weight_decay"),
          .decoupled = call.flag("decoupled"),
          .count = 0,
          .scaling = {.clip_value = call.real("clip_value")}};
}
kernels::AdamStep adam_of(const Call& call) {
  kernels::AdamStep s = decoded<decode_adam>(call);
  s.lr = number(call.in(kAdamLr));
  s.count = index_at(call.in(kAdamStep), 0);
  s.scaling.scale = scale_of(call, kAdamScale);
  return s;
}

// Calls kernel(in, out) with pointers to the elements of the arrays and results, f32 or f64; strided ones are staged.
// A member without a share does not even read the scalars: whoever has the only element may be writing over one.
template <class Kernel>
void with_arrays(const Call& call, const Tensor* out, int arrays, void* scratch, const Team& team, Kernel kernel) {
  const int results = arrays - 1;  // all but the gradient
  const bool staged = scratch != nullptr;
  const void* in[4] = {};
  void* to[kMaxOutputs] = {};
  for (int i = 0; i < arrays; i++) in[i] = stage_in(call.in(i), scratch, team);
  for (int i = 0; i < results; i++) to[i] = stage_out(out[i], scratch);
  if (staged) team.barrier();
  const auto typed = [&](auto tag) {
    using T = decltype(tag);
    const T* inputs[4] = {};
    T* outputs[kMaxOutputs] = {};
    for (int i = 0; i < arrays; i++) inputs[i] = static_cast<const T*>(in[i]);
    for (int i = 0; i < results; i++) outputs[i] = static_cast<T*>(to[i]);
    kernel(inputs, outputs);
  };
  if (const auto [first, last] = team.share(out[0].numel(), 64); first < last)
    out[0].dtype() == kF32 ? typed(0.0f) : typed(0.0);
  for (int i = 0; i < results; i++) unstage(out[i], to[i], team);
}

// The plain loop: rule(x) changes the numbers x[0] … x[arrays - 1] of one element; results are the parameter and the
// state behind the gradient.
template <class Rule>
void for_each_parameter(const Call& call, const Tensor* out, int arrays, Rule rule) {
  const DType type = out[0].dtype();
  for_each_index(out[0].shape(), [&](const Dims& index) {
    double x[4] = {};
    for (int i = 0; i < arrays; i++) x[i] = load_as_double(element_at(call.in(i), index), type);
    rule(x);
    store_from_double(element_at(out[0], index), type, x[0]);
    for (int i = 2; i < arrays; i++) store_from_double(element_at(out[i - 1], index), type, x[i]);
  });
}

double plain_gradient(double g, double p, const kernels::GradientScaling& scaling, double weight_decay) {
  g *= scaling.scale;
  if (scaling.clip_value > 0 && std::fabs(g) > scaling.clip_value) g = std::copysign(scaling.clip_value, g);
  return weight_decay != 0 ? g + weight_decay * p : g;
}

void plain_sgd(const Call& call, const Tensor* out, int arrays) {
  const kernels::SgdStep s = arrays == 3 ? sgd_of<decode_momentum>(call, 3) : sgd_of<decode_sgd>(call, 2);
  for_each_parameter(call, out, arrays, [&](double* x) {
    double g = plain_gradient(x[1], x[0], s.scaling, s.weight_decay);
    if (arrays == 3) {
      x[2] = s.momentum * x[2] + g;
      g = s.nesterov ? g + s.momentum * x[2] : x[2];
    }
    x[0] -= s.lr * g;
  });
}

void plain_adam(const Call& call, const Tensor* out) {
  const kernels::AdamStep s = adam_of(call);
  const double count = static_cast<double>(s.count);
  const double correction1 = 1 - std::pow(s.beta1, count), correction2 = 1 - std::pow(s.beta2, count);
  for_each_parameter(call, out, 4, [&](double* x) {
    const double g = plain_gradient(x[1], x[0], s.scaling, s.decoupled ? 0 : s.weight_decay);
    if (s.decoupled && s.weight_decay != 0) x[0] *= 1 - s.lr * s.weight_decay;
    x[2] = s.beta1 * x[2] + (1 - s.beta1) * g;
    x[3] = s.beta2 * x[3] + (1 - s.beta2) * g * g;
    x[0] -= s.lr / correction1 * (x[2] / (std::sqrt(x[3]) / std::sqrt(correction2) + s.eps));
  });
}

Tensor scalar(DType type, double value) {
  Tensor t = Tensor::empty({}, type);
  store_from_double(t.raw(), type, value);
  return t;
}

}  // namespace

INGOT_OP(sgd_step) = {
    .name = "sgd_step",
    .signature = "sgd_step(param, grad, lr, scale?, weight_decay:real=0, clip_value:real=0) -> new_param",
    .doc =
        "One step of gradient descent: param - lr · g, where g is scale · grad limited to ±clip_value (0: no limit), "
        "plus "
        "weight_decay · param; lr and scale are scalars.",
    .family = "optimizer",
    .plumbing = true,
    .infer =
        [](const Call& call, Specs& out) {
          require_common(call, 2, 3);
          add_outputs(call, out, 1);
        },
    .prepare = prepared<decode_sgd>,
    .run =
        [](const Call& call, const Tensor* out, void* scratch, const Team& team) {
          with_arrays(call, out, 2, scratch, team, [&](auto** in, auto** to) {
            kernels::sgd_step(sgd_of<decode_sgd>(call, 2), out[0].numel(), in[0], in[1], to[0], team);
          });
        },
    .scratch = [](const Call& call, const Tensor* out, int) { return staged_bytes(call, out); },
    .in_place = true,
    .reference = [](const Call& call, const Tensor* out) { plain_sgd(call, out, 2); },
    .role = OpRole::kUpdate,
    .not_differentiable = kNoGradient,
    .samples =
        [](Samples& s) {
          const auto attrs = [](double weight_decay, double clip_value) {
            return Attrs().set("weight_decay", weight_decay).set("clip_value", clip_value);
          };
          const auto add = [&](const Dims& shape, const Tensor& scale, const Attrs& a) {
            s.add({s.real(shape), s.real(shape), scalar(s.dtype(), 0.1), scale}, a);
          };
          add({}, {}, attrs(0, 0));
          add({1}, scalar(s.dtype(), 0.5), attrs(0.1, 0));
          add({0, 3}, {}, attrs(0, 0));
          add({5, 7}, {}, attrs(0, 1));
          add({2, 3, 67}, scalar(s.dtype(), 0.75), attrs(0.01, 1.5));
          s.add({s.real({200}), s.real({200}), scalar(kF32, 0.5)}, attrs(0, 0));
        },
};

INGOT_OP(sgd_momentum_step) = {
    .name = "sgd_momentum_step",
    .signature =
        "sgd_momentum_step(param, grad, buffer, lr, scale?, momentum:real=0.9, weight_decay:real=0, "
        "nesterov:bool=false, clip_value:real=0) -> new_param, new_buffer",
    .doc =
        "One step of gradient descent with momentum: the buffer (zeros at first) becomes momentum · buffer + g with g "
        "as in "
        "sgd_step, and the parameter param - lr · buffer, or with nesterov param - lr · (g + momentum · buffer).",
    .family = "optimizer",
    .plumbing = true,
    .infer =
        [](const Call& call, Specs& out) {
          require_common(call, 3, 4);
          require_range(call, "momentum", 0, std::numeric_limits<float>::max());
          call.flag("nesterov");
          add_outputs(call, out, 2);
        },
    .prepare = prepared<decode_momentum>,
    .run =
        [](const Call& call, const Tensor* out, void* scratch, const Team& team) {
          with_arrays(call, out, 3, scratch, team, [&](auto** in, auto** to) {
            kernels::sgd_momentum_step(sgd_of<decode_momentum>(call, 3), out[0].numel(), in[0], in[1], in[2], to[0],
                                       to[1], team);
          });
        },
    .scratch = [](const Call& call, const Tensor* out, int) { return staged_bytes(call, out); },
    .in_place = true,
    .reference = [](const Call& call, const Tensor* out) { plain_sgd(call, out, 3); },
    .role = OpRole::kUpdate,
    .not_differentiable = kNoGradient,
    .samples =
        [](Samples& s) {
          const auto add = [&](const Dims& shape, const Tensor& scale, double weight_decay, bool nesterov,
                               double clip_value) {
            const Attrs attrs = Attrs()
                                    .set("momentum", 0.9)
                                    .set("weight_decay", weight_decay)
                                    .set("nesterov", nesterov)
                                    .set("clip_value", clip_value);
            s.add({s.real(shape), s.real(shape), s.real(shape), scalar(s.dtype(), 0.1), scale}, attrs);
          };
          add({}, {}, 0, false, 0);
          add({1}, scalar(s.dtype(), 0.5), 0, true, 0);
          add({0, 3}, {}, 0, false, 0);
          add({5, 7}, {}, 0.1, false, 1);
          add({200}, {}, 0, true, 0);
          add({2, 3, 67}, scalar(s.dtype(), 0.75), 0.01, true, 1.5);
        },
};

INGOT_OP(adam_step) = {
    .name = "adam_step",
    .signature =
        "adam_step(param, grad, m, v, lr, step, scale?, beta1:real=0.9, beta2:real=0.999, eps:real=1e-8, "
        "weight_decay:real=0, decoupled:bool=false, clip_value:real=0) -> new_param, new_m, new_v",
    .doc =
        "One step of Adam, or with decoupled weight decay of AdamW: m and v (zeros at first) are the moving means of "
        "the "
        "gradient and its square, step (i64, 1 at first) counts the steps; lr, scale and clip_value as in sgd_step.",
    .family = "optimizer",
    .plumbing = true,
    .infer =
        [](const Call& call, Specs& out) {
          require_common(call, 4, kAdamScale);
          const Tensor& step = call.in(kAdamStep);
          if (step.dtype() != kI64 || step.numel() != 1)
            fail_argument(call, std::string("step is ") + name(step.dtype()) + " " + to_string(step.shape()),
                          "it must be one i64 number");
          require_range(call, "beta1", 0, 1);
          require_range(call, "beta2", 0, 1);
          require_range(call, "eps", 0, std::numeric_limits<float>::max());
          call.flag("decoupled");
          add_outputs(call, out, 3);
        },
    .prepare = prepared<decode_adam>,
    .check =
        [](const Call& call) {
          const int64_t step = index_at(call.in(kAdamStep), 0);
          if (step < 1) fail_argument(call, "step = " + std::to_string(step), "the first step is 1");
        },
    .run =
        [](const Call& call, const Tensor* out, void* scratch, const Team& team) {
          with_arrays(call, out, 4, scratch, team, [&](auto** in, auto** to) {
            using T = std::remove_reference_t<decltype(**to)>;
            const kernels::AdamArrays<T> arrays = {in[0], in[1], in[2], in[3], to[0], to[1], to[2]};
            kernels::adam_step(adam_of(call), out[0].numel(), arrays, team);
          });
        },
    .scratch = [](const Call& call, const Tensor* out, int) { return staged_bytes(call, out); },
    .in_place = true,
    .reference = plain_adam,
    .role = OpRole::kUpdate,
    .not_differentiable = kNoGradient,
    .samples =
        [](Samples& s) {
          const auto add = [&](const Dims& shape, int64_t step, const Tensor& scale, double weight_decay,
                               bool decoupled, double clip_value) {
            const Attrs attrs = Attrs()
                                    .set("beta1", 0.9)
                                    .set("beta2", 0.99)
                                    .set("eps", 1e-3)
                                    .set("weight_decay", weight_decay)
                                    .set("decoupled", decoupled)
                                    .set("clip_value", clip_value);
            s.add({s.real(shape), s.real(shape), s.real(shape), s.real(shape, 0.1, 3), scalar(s.dtype(), 0.1),
                   Tensor::from(std::vector<int64_t>{step}, {}), scale},
                  attrs);
          };
          add({}, 1, {}, 0, false, 0);
          add({1}, 2, scalar(s.dtype(), 0.5), 0, false, 0);
          add({0, 3}, 1, {}, 0, false, 0);
          add({5, 7}, 3, {}, 0.1, false, 1);
          add({200}, 100, {}, 0.1, true, 0);
          add({2, 3, 67}, 1, scalar(s.dtype(), 0.75), 0.01, true, 1.5);
        },
};

}  // namespace ingot
