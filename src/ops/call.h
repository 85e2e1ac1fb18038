// How the generated functions call an op: they have the right number of inputs and results by construction, so they
// skip the counting that the public call() and call_into() do.
#pragma once
#include "ingot/op.h"

namespace ingot {

void call_counted(const Op& op, std::span<const Tensor* const> inputs, const Attrs& attrs, std::span<Tensor> results);
void call_into_counted(const Op& op, std::span<const Tensor* const> inputs, const Attrs& attrs,
                       std::span<const Tensor* const> destinations);

}  // namespace ingot
