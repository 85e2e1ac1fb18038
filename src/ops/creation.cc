// New tensors from numbers alone: constants, ranges, and random numbers that depend only on seed, stream and row-major
// index.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "ingot/base/random.h"
#include "ingot/ops/checks.h"
#include "ingot/ops/decoded.h"
#include "ingot/ops/plain.h"
#include "ingot/ops/staging.h"
#include "kernels/copy.h"
#include "ops/define.h"
#include "ops/layouts.h"

namespace ingot {
namespace {

constexpr const char* kNoInputs = "has no inputs";
constexpr int64_t kMostElements = int64_t{1} << 60;

// Writes value(i) to element i of a vector; this member's share. Types of fewer numbers than double hold what fits.
template <class Value>
void write_vector(const Tensor& out, const Team& team, Value value) {
  const std::pair<int64_t, int64_t> mine = team.share(out.numel(), 64);  // not taken apart: lambdas below capture it
  const int64_t first = mine.first, last = mine.second, step = out.strides()[0],
                bytes = static_cast<int64_t>(size_of(out.dtype()));
  const auto write = [&](auto* to) {
    using T = std::remove_pointer_t<decltype(to)>;
    for (int64_t i = first; i < last; i++) to[i * step] = static_cast<T>(value(i));
  };
  if (out.dtype() == kF32) return write(static_cast<float*>(out.raw()));
  if (out.dtype() == kF64) return write(static_cast<double*>(out.raw()));
  for (int64_t i = first; i < last; i++)
    store_from_double(static_cast<std::byte*>(out.raw()) + i * step * bytes, out.dtype(), value(i));
}

double decode_value(const Call& call) { return call.real("value"); }

void infer_shape(const Call& call, Specs& out) {
  require_sizes(call, call.ints("shape"), "shape");
  out.add(require_dtype(call), call.ints("shape"));
}

// Numbers in equal steps; element `last` is exactly `stop`.
struct Ramp {
  double start, step, stop = 0;
  int64_t last = -1;
  double operator()(int64_t i) const { return i > 0 && i == last ? stop : start + static_cast<double>(i) * step; }
};

// Fails unless integers of that type hold all numbers of a ramp: its ends, and all between if the step is whole.
void require_ramp(const Call& call, DType type, const Ramp& ramp, int64_t count) {
  if (count == 0 || !is_integer(type)) return;
  require_element(call, type, "the first number", ramp(0));
  require_element(call, type, "the last number", ramp(count - 1));
  if (count > 1 && ramp.step != std::trunc(ramp.step)) require_element(call, type, "the step", ramp.step);
}

void infer_arange(const Call& call, Specs& out) {
  const double start = call.real("start"), stop = call.real("stop"), step = call.real("step");
  const auto text = [](double x) { return std::to_string(x); };
  if (step == 0 || !std::isfinite(step))
    fail_argument(call, "step is " + text(step), "give a finite step other than 0");
  if (!std::isfinite(start) || !std::isfinite(stop))
    fail_argument(call, "from " + text(start) + " to " + text(stop), "give finite ends");
  const double count = std::max(0.0, std::ceil((stop - start) / step));
  if (!(count < static_cast<double>(kMostElements)))
    fail_argument(call, text(count) + " numbers from " + text(start) + " to " + text(stop),
                  "no memory holds so many; use a longer step");
  const DType type = require_dtype(call);
  require_ramp(call, type, {start, step}, static_cast<int64_t>(count));
  out.add(type, {static_cast<int64_t>(count)});
}

Ramp decode_arange(const Call& call) { return {call.real("start"), call.real("step")}; }

Ramp decode_linspace(const Call& call) {
  const int64_t last = call.integer("count") - 1;
  const double start = call.real("start"), stop = call.real("stop");
  return {start, (stop - start) / static_cast<double>(std::max<int64_t>(last, 1)), stop, last};
}

void infer_linspace(const Call& call, Specs& out) {
  const double start = call.real("start"), stop = call.real("stop");
  if (!std::isfinite(stop - start))
    fail_argument(call, "from " + std::to_string(start) + " to " + std::to_string(stop), "give finite ends");
  require_sizes(call, {call.integer("count")}, "count");
  const DType type = require_dtype(call);
  require_ramp(call, type, decode_linspace(call), call.integer("count"));
  out.add(type, {call.integer("count")});
}

void run_ramp(const Call& call, const Tensor* out, void*, const Team& team) {
  write_vector(*out, team, call.params<Ramp>());
}
template <auto decode>
void ramp_reference(const Call& call, const Tensor* out) {
  const Ramp value = decode(call);
  for_each_index(out->shape(),
                 [&](const Dims& i) { store_from_double(element_at(*out, i), out->dtype(), value(i[0])); });
}

void infer_eye(const Call& call, Specs& out) {
  const int64_t n = call.integer("n"), m = call.integer("m");
  require_sizes(call, {n, m == -1 ? n : m}, "size");
  out.add(require_dtype(call), {n, m == -1 ? n : m});
}

void run_eye(const Call&, const Tensor* out, void*, const Team& team) {
  const int64_t zero = 0, repeat = 0, bytes = static_cast<int64_t>(size_of(out->dtype()));
  int64_t one = 0;
  store_from_double(&one, out->dtype(), 1);
  fill_share(*out, &zero, team);
  team.barrier();
  const int64_t step = out->strides()[0] + out->strides()[1], n = std::min(out->shape()[0], out->shape()[1]);
  kernels::copy(out->raw(), &step, &one, &repeat, &n, 1, bytes, team);
}

// Random numbers
// -----------------------------------------------------------------------------------------------------------

// How many numbers of which sequence, and the two that describe the distribution.
struct Draw {
  RandomKey key;
  double a, b;
  int64_t count;
};
RandomKey key_of(const Call& call) {
  return {static_cast<uint64_t>(call.integer("seed")), static_cast<uint64_t>(call.integer("stream"))};
}
Draw draw_of(const Call& call, double a, double b) { return {key_of(call), a, b, element_count(call.ints("shape"))}; }

// How each distribution fills elements first … first + n - 1 of the sequence.
struct Uniform {
  static Draw decode(const Call& call) { return draw_of(call, call.real("low"), call.real("high")); }
  static void fill(const Draw& d, const Tensor& out, void* to, int64_t n, int64_t first) {
    if (out.dtype() == kF32)
      fill_uniform(static_cast<float*>(to), n, first, static_cast<float>(d.a), static_cast<float>(d.b), d.key);
    else
      fill_uniform(static_cast<double*>(to), n, first, d.a, d.b, d.key);
  }
};
struct Normal {
  static Draw decode(const Call& call) { return draw_of(call, call.real("mean"), call.real("stddev")); }
  static void fill(const Draw& d, const Tensor& out, void* to, int64_t n, int64_t first) {
    if (out.dtype() == kF32)
      fill_normal(static_cast<float*>(to), n, first, static_cast<float>(d.a), static_cast<float>(d.b), d.key);
    else
      fill_normal(static_cast<double*>(to), n, first, d.a, d.b, d.key);
  }
};
struct Bernoulli {
  static Draw decode(const Call& call) { return draw_of(call, call.real("p"), 0); }
  static void fill(const Draw& d, const Tensor&, void* to, int64_t n, int64_t first) {
    fill_bernoulli(static_cast<uint8_t*>(to), n, first, d.a, d.key);
  }
};

template <class Distribution>
void run_random(const Call& call, const Tensor* out, void* scratch, const Team& team) {
  std::byte* to = stage_out<std::byte>(*out, scratch);
  const auto [first, last] = team.share(out->numel(), 128);  // whole batches of the generator
  if (first < last)
    Distribution::fill(call.params<Draw>(), *out, to + first * static_cast<int64_t>(size_of(out->dtype())),
                       last - first, first);
  unstage(*out, to, team);
}

// One number at a time, straight to its place.
template <class Distribution>
void random_reference(const Call& call, const Tensor* out) {
  const Draw draw = Distribution::decode(call);
  int64_t i = 0;
  for_each_index(out->shape(), [&](const Dims& at) { Distribution::fill(draw, *out, element_at(*out, at), 1, i++); });
}

size_t staged_scratch(const Call&, const Tensor* out, int) { return staging_bytes(*out); }

double random_cost(const Call& call) { return static_cast<double>(call.params<Draw>().count) * 2; }

DType infer_random(const Call& call, Specs& out) {
  infer_shape(call, out);
  require_type(call, out.of[0].dtype);
  return out.of[0].dtype;
}

std::vector<Dims> sample_shapes() { return {{}, {1}, {0, 3}, {7}, {3, 5}, {2, 3, 129}}; }

}  // namespace

INGOT_OP(full) = {.name = "full",
                  .signature = "full(shape:ints, value:real, dtype:dtype=kF32)",
                  .doc = "A tensor of one value.",
                  .family = "creation",
                  .types = Types::kAll,
                  .infer = infer_shape,
                  .prepare = prepared<decode_value>,
                  .run =
                      [](const Call& call, const Tensor* out, void*, const Team& team) {
                        int64_t element = 0;
                        store_from_double(&element, out->dtype(), call.params<double>());
                        fill_share(*out, &element, team);
                      },
                  .reference =
                      [](const Call& call, const Tensor* out) {
                        for_each_index(out->shape(), [&](const Dims& at) {
                          store_from_double(element_at(*out, at), out->dtype(), call.real("value"));
                        });
                      },
                  .role = OpRole::kFill,
                  .not_differentiable = kNoInputs,
                  .samples =
                      [](Samples& s) {
                        for (const Dims& shape : sample_shapes())
                          s.add({}, Attrs().set("shape", shape).set("value", s.number(2.5)).set("dtype", s.dtype()));
                      }};

INGOT_OP(arange) = {.name = "arange",
                    .signature = "arange(start:real, stop:real, step:real=1, dtype:dtype=kF32)",
                    .doc = "The numbers start + i · step from start up to, but without, stop: a vector.",
                    .family = "creation",
                    .types = Types::kAll,
                    .real_constants = RealConstants::kOwn,
                    .infer = infer_arange,
                    .prepare = prepared<decode_arange>,
                    .run = run_ramp,
                    .reference = ramp_reference<decode_arange>,
                    .not_differentiable = kNoInputs,
                    .samples = [](Samples& s) {
                      const auto add = [&](double start, double stop, double step) {
                        s.add({},
                              Attrs().set("start", start).set("stop", stop).set("step", step).set("dtype", s.dtype()));
                      };
                      add(0, 7, 1);
                      add(9, 2.5, -2);
                      add(3, 3, 1);
                      add(0, 1, 2);
                      add(0, 256, 1);
                      if (is_integer(s.dtype())) return;
                      add(5, -2.5, -0.5);
                      add(0, 1, 0.1);
                      add(-100, 300, 1);
                    }};

INGOT_OP(linspace) = {.name = "linspace",
                      .signature = "linspace(start:real, stop:real, count:int, dtype:dtype=kF32)",
                      .doc = "`count` numbers in equal steps from start to stop, both included: a vector.",
                      .family = "creation",
                      .types = Types::kAll,
                      .real_constants = RealConstants::kOwn,
                      .infer = infer_linspace,
                      .prepare = prepared<decode_linspace>,
                      .run = run_ramp,
                      .reference = ramp_reference<decode_linspace>,
                      .not_differentiable = kNoInputs,
                      .samples = [](Samples& s) {
                        const bool whole = is_integer(s.dtype());
                        for (const int count : {0, 1, 2, 7, 100})
                          s.add({}, Attrs()
                                        .set("start", whole ? 1.0 : -1.0)
                                        .set("stop", whole ? std::max(2.0 * count - 1, 1.0) : 3.0)
                                        .set("count", count)
                                        .set("dtype", s.dtype()));
                      }};

INGOT_OP(eye) = {.name = "eye",
                 .signature = "eye(n:int, m:int=-1, dtype:dtype=kF32)",
                 .doc = "An [n, m] matrix of ones on the diagonal and zeros elsewhere; m is n if not given.",
                 .family = "creation",
                 .types = Types::kAll,
                 .infer = infer_eye,
                 .run = run_eye,
                 .reference =
                     [](const Call&, const Tensor* out) {
                       for_each_index(out->shape(), [&](const Dims& i) {
                         store_from_double(element_at(*out, i), out->dtype(), i[0] == i[1]);
                       });
                     },
                 .not_differentiable = kNoInputs,
                 .samples =
                     [](Samples& s) {
                       for (const auto& [n, m] : {std::pair{0, -1}, {1, -1}, {4, -1}, {3, 5}, {6, 2}, {3, 0}})
                         s.add({}, Attrs().set("n", n).set("m", m).set("dtype", s.dtype()));
                     }};

INGOT_OP(uniform) = {
    .name = "uniform",
    .signature = "uniform(shape:ints, seed:int, low:real=0, high:real=1, stream:int=0, dtype:dtype=kF32)",
    .doc = "Random numbers, equally likely in [low, high); each depends on seed, stream and its row-major index only.",
    .family = "creation",
    .infer =
        [](const Call& call, Specs& out) {
          const DType type = infer_random(call, out);
          const double low = call.real("low"), high = call.real("high");
          const bool fits = type == kF64 ? std::isfinite(high - low)
                                         : std::isfinite(static_cast<float>(high) - static_cast<float>(low));
          if (!(low <= high) || !fits)
            fail_argument(
                call, "the range " + std::to_string(low) + " to " + std::to_string(high) + " is empty or not finite",
                "give finite low ≤ high");
        },
    .prepare = prepared<Uniform::decode>,
    .run = run_random<Uniform>,
    .scratch = staged_scratch,
    .reference = random_reference<Uniform>,
    .cost = random_cost,
    .role = OpRole::kRandom,
    .not_differentiable = kNoInputs,
    .samples =
        [](Samples& s) {
          for (const Dims& shape : sample_shapes())
            s.add({}, Attrs()
                          .set("shape", shape)
                          .set("seed", 3)
                          .set("low", -1.0)
                          .set("high", 2.0)
                          .set("stream", 5)
                          .set("dtype", s.dtype()));
        }};

INGOT_OP(normal) = {
    .name = "normal",
    .signature = "normal(shape:ints, seed:int, mean:real=0, stddev:real=1, stream:int=0, dtype:dtype=kF32)",
    .doc = "Normally distributed random numbers; each depends on seed, stream and its row-major index only.",
    .family = "creation",
    .infer =
        [](const Call& call, Specs& out) {
          const DType type = infer_random(call, out);
          const double mean = call.real("mean"), deviation = call.real("stddev"), most = type == kF64 ? 1e307 : 1e37;
          if (!(std::fabs(mean) <= most) || !(deviation >= 0 && deviation <= most))
            fail_argument(call, "mean " + std::to_string(mean) + ", stddev " + std::to_string(deviation),
                          "both must be finite, and the standard deviation 0 or more");
        },
    .prepare = prepared<Normal::decode>,
    .run = run_random<Normal>,
    .scratch = staged_scratch,
    .reference = random_reference<Normal>,
    .cost = random_cost,
    .role = OpRole::kRandom,
    .not_differentiable = kNoInputs,
    .samples =
        [](Samples& s) {
          for (const Dims& shape : sample_shapes())
            s.add({}, Attrs()
                          .set("shape", shape)
                          .set("seed", 3)
                          .set("mean", 1.0)
                          .set("stddev", 2.0)
                          .set("stream", 5)
                          .set("dtype", s.dtype()));
        }};

INGOT_OP(bernoulli) = {
    .name = "bernoulli",
    .signature = "bernoulli(shape:ints, seed:int, p:real, stream:int=0)",
    .doc = "Random bools, true with probability p; each depends on seed, stream and its row-major index only.",
    .family = "creation",
    .infer =
        [](const Call& call, Specs& out) {
          require_sizes(call, call.ints("shape"), "shape");
          const double p = call.real("p");
          if (!(p >= 0 && p <= 1)) fail_argument(call, "p is " + std::to_string(p), "a probability is from 0 to 1");
          out.add(kBool, call.ints("shape"));
        },
    .prepare = prepared<Bernoulli::decode>,
    .run = run_random<Bernoulli>,
    .scratch = staged_scratch,
    .reference = random_reference<Bernoulli>,
    .cost = random_cost,
    .role = OpRole::kRandom,
    .not_differentiable = kNoInputs,
    .samples =
        [](Samples& s) {
          for (const Dims& shape : sample_shapes())
            s.add({}, Attrs().set("shape", shape).set("seed", -3).set("p", 0.3).set("stream", 5));
        }};

INGOT_OP(permutation) = {
    .name = "permutation",
    .signature = "permutation(n:int, seed:int, stream:int=0)",
    .doc = "The numbers 0 … n-1 in an order drawn from all n! with equal chances: an i64 vector.",
    .family = "creation",
    .infer =
        [](const Call& call, Specs& out) {
          require_sizes(call, {call.integer("n")}, "n");
          out.add(kI64, {call.integer("n")});
        },
    .prepare = prepared<key_of>,
    .run =
        [](const Call& call, const Tensor* out, void* scratch, const Team& team) {
          int64_t* to = stage_out<int64_t>(*out, scratch);
          if (team.rank() == 0) fill_permutation(to, out->numel(), call.params<RandomKey>());
          unstage(*out, to, team);
        },
    .scratch = staged_scratch,
    .reference =
        [](const Call& call, const Tensor* out) {  // shuffled in place, so the destination's own places are followed
          std::vector<int64_t> order(static_cast<size_t>(out->numel()));
          fill_permutation(order.data(), out->numel(), key_of(call));
          for_each_index(out->shape(), [&](const Dims& i) {
            std::memcpy(element_at(*out, i), &order[static_cast<size_t>(i[0])], 8);
          });
        },
    .cost = [](const Call&) { return 0.0; },  // every step builds on the last
    .role = OpRole::kRandom,
    .not_differentiable = kNoInputs,
    .samples =
        [](Samples& s) {
          for (const int n : {0, 1, 2, 50, 1000}) s.add({}, Attrs().set("n", n).set("seed", 9).set("stream", 1));
        }};

}  // namespace ingot
