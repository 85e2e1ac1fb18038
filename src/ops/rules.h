// Rewrite rules that several ops share, or that are too long for their op's block.
#pragma once
#include <cmath>

#include "ingot/ops/rewrite.h"

namespace ingot {

/// Reads input `kept` in place of the result if input `other` is the identity element everywhere.
inline bool drop_identity(Rewrite& r, int kept, int other, double element) {
  const std::optional<double> c = r.uniform(r.in(other));
  return c && *c == element && std::signbit(*c) == std::signbit(element) && r.replace(r.in(kept));
}

/// The pass `algebra`, for views: one that shows its base, or its base's base, as it is.
inline bool drop_identity_view(Rewrite& r) {
  if (r.pass() != "algebra") return false;
  const Tensor out = r.out();
  const auto alike = [&](const Tensor& x) { return x.shape() == out.shape() && x.strides() == out.strides(); };
  if (alike(r.in())) return r.replace(r.in());
  const Site base = r.maker(r.in());
  return r.is(base, r.op(r.site())) && !r.is_store(base) && alike(r.in(base, 0)) && r.replace(r.in(base, 0));
}

/// The pass `pool`, for max_pool1d and max_pool2d (ops/pool_rules.cc).
bool pool_by_taps(Rewrite& r);

}  // namespace ingot
