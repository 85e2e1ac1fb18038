#include "ingot/nn/slab.h"

#include <cstddef>
#include <mutex>
#include <set>

#include "ingot/base/error.h"
#include "ingot/graph/plan.h"
#include "ingot/ops/functions.h"
#include "ingot/ops/ops.h"
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

}  // namespace

bool nn::is_in_slab(const Tensor& t) { return claims().has(t); }

namespace {

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
  for (size_t k = 0; k < owner.size(); k++) mark_moved(*parameters[owner[k]].tensor, parameters_[k].name);
  for (size_t i = 0; i < parameters.size(); i++) *parameters[i].tensor = parameters_[slot[i]].tensor;
  claim_ = claims().add(values_);
}

size_t ParameterSlab::checked(size_t i) const {
  if (i >= size())
    throw Error("parameter slab: parameter " + std::to_string(i) + " of " + std::to_string(size()) +
                " — they are numbered from 0");
  return i;
}

}  // namespace ingot
