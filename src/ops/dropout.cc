// Dropout. The mask depends on seed, stream and the element's row-major index only, so it is the same at any thread
// count.
#include "ingot/base/random.h"
#include "ingot/ops/checks.h"
#include "ingot/ops/staging.h"
#include "ops/define.h"

namespace ingot {
namespace {

double keep_scale(const Call& call) {
  const double p = call.real("p");
  return p == 1 ? 0 : 1 / (1 - p);
}

RandomKey key_of(const Call& call) {
  return {static_cast<uint64_t>(call.integer("seed")), static_cast<uint64_t>(call.integer("stream"))};
}

struct Dropout {
  double keep, scale;
  RandomKey key;
};
Dropout decode_dropout(const Call& call) { return {1 - call.real("p"), keep_scale(call), key_of(call)}; }

template <class T>
void drop(const T* x, const uint8_t* mask, T* y, int64_t first, int64_t last, T scale) {
  for (int64_t i = first; i < last; i++) y[i] = mask[i] ? x[i] * scale : T{0};
}

}  // namespace

INGOT_OP(dropout) = {
    .name = "dropout",
    .signature = "dropout(x, p:real, seed:int, stream:int=0) -> y, mask",
    .doc =
        "Sets each element to 0 with probability p and scales the others by 1 / (1 - p); also gives the bool mask of "
        "what was kept.",
    .family = "dropout",
    .infer =
        [](const Call& call, Specs& out) {
          require_type(call, call.in(0).dtype());
          const double p = call.real("p");
          if (!(p >= 0 && p <= 1)) fail_argument(call, "p = " + std::to_string(p), "a probability lies in 0 … 1");
          out.add(call.in(0).dtype(), call.in(0).shape());
          out.add(kBool, call.in(0).shape());
        },
    .prepare = prepared<decode_dropout>,
    .run =
        [](const Call& call, const Tensor* out, void* scratch, const Team& team) {
          const Dropout& d = call.params<Dropout>();
          const void* x = stage_in(call.in(0), scratch, team);
          void* y = stage_out(out[0], scratch);
          uint8_t* mask = static_cast<uint8_t*>(stage_out(out[1], scratch));
          team.barrier();
          const auto [first, last] = team.share(out[0].numel(), 64);
          fill_bernoulli(mask + first, last - first, first, d.keep, d.key);
          if (out[0].dtype() == kF32)
            drop(static_cast<const float*>(x), mask, static_cast<float*>(y), first, last, static_cast<float>(d.scale));
          else
            drop(static_cast<const double*>(x), mask, static_cast<double*>(y), first, last, d.scale);
          unstage(out[0], y, team);
          unstage(out[1], mask, team);
        },
    .scratch = [](const Call& call, const Tensor* out,
                  int) { return staging_bytes(call.in(0)) + staging_bytes(out[0]) + staging_bytes(out[1]); },
    .in_place = true,
    .reference =
        [](const Call& call, const Tensor* out) {
          const Tensor mask = Tensor::empty(out[1].shape(), kBool);
          fill_bernoulli(static_cast<uint8_t*>(mask.raw()), mask.numel(), 0, 1 - call.real("p"), key_of(call));
          copy_share(out[1], mask, Team());
          const double scale = out[0].dtype() == kF32 ? static_cast<float>(keep_scale(call)) : keep_scale(call);
          const Tensor* in[] = {&mask, &call.in(0)};
          const Attrs none{};
          for_each_element(Call{call.op, in, none}, out[0], [&](void* to, const void* const* from) {
            const double kept =
                *static_cast<const uint8_t*>(from[0]) ? load_as_double(from[1], out[0].dtype()) * scale : 0;
            store_from_double(to, out[0].dtype(), kept);
          });
        },
    .role = OpRole::kRandom,
    .gradient =
        [](Gradient& g) {
          g.set(0, where(g.out(1), multiply(g.dy(), keep_scale(g.call())), zeros({}, g.dy().dtype())));
        },
    .samples =
        [](Samples& s) {
          const auto attrs = [](double p, int64_t seed) {
            return Attrs().set("p", p).set("seed", seed).set("stream", 0);
          };
          s.add({s.real({})}, attrs(0.5, 1));
          s.add({s.real({1})}, attrs(0.5, 2));
          s.add({s.real({5, 7})}, attrs(0.3, 3));
          s.add({s.real({2, 3, 100})}, attrs(0.9, 4));
          s.add({s.real({4, 4})}, attrs(0, 5));
          s.add({s.real({4, 4})}, attrs(1, 6));
          s.add({s.real({0, 4})}, attrs(0.5, 7));
        },
};

}  // namespace ingot
