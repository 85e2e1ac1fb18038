#include "ingot/nn/slab.h"

#include <algorithm>
#include <cstddef>
#include <mutex>
#include <set>
#include <unordered_map>

#include "ingot/base/error.h"
#include "ingot/base/text.h"
#include "ingot/graph/plan.h"
#include "ingot/ops/functions.h"
#include "ingot/ops/ops.h"
#include "nn/parts.h"

namespace ingot {
namespace {

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
      throw Error("parameters: two are called " + in_quotes(p.name) + " — give each its own name");
    if (p.tensor == nullptr || !p.tensor->defined())
      throw Error("parameters: " + in_quotes(p.name) + " is undefined — give it a tensor first");
    if (claims().has(*p.tensor))
      throw Error("parameters: " + in_quotes(p.name) +
                  " is in the slab of another training step — make one step (an nn::Trainer, or Updates that steps for "
                  "several batch shapes share), or end the other one first");
    const DType type = p.tensor->dtype(), first = parameters[0].tensor->dtype();
    if (!is_float(type))
      throw Error(ErrorKind::kType,
                  "parameters: " + in_quotes(p.name) + " is " + name(type) + " — parameters are f32 or f64");
    if (type != first)
      throw Error(ErrorKind::kType, "parameters: " + in_quotes(parameters[0].name) + " is " + name(first) + " and " +
                                        in_quotes(p.name) + " is " + name(type) +
                                        " — all must have one type; convert with to()");
  }
}

// Which tensors are one parameter: a slot for every tensor, and the first tensor of every slot.
struct Slots {
  std::vector<size_t> of, owner;
};
Slots find_slots(const std::vector<Parameter>& parameters) {
  Slots slots;
  std::unordered_map<const void*, std::vector<size_t>> known;  // slots, by their first element
  for (size_t i = 0; i < parameters.size(); i++) {
    std::vector<size_t>& here = known[parameters[i].tensor->raw()];
    const auto same = [&](size_t k) {
      return nn::same_elements(*parameters[slots.owner[k]].tensor, *parameters[i].tensor);
    };
    const auto found = std::find_if(here.begin(), here.end(), same);
    slots.of.push_back(found != here.end() ? *found : slots.owner.size());
    if (found != here.end()) continue;
    here.push_back(slots.owner.size());
    slots.owner.push_back(i);
  }
  return slots;
}

// Parameters share all of their memory or none. In the order of their addresses, only those that reach beyond the next
// one's beginning need to be looked at.
void check_overlaps(const std::vector<Parameter>& parameters, std::vector<size_t> owner) {
  const auto begin = [&](size_t i) { return memory_span(*parameters[i].tensor).first; };
  std::sort(owner.begin(), owner.end(), [&](size_t a, size_t b) { return begin(a) < begin(b); });
  std::vector<size_t> open;
  for (const size_t i : owner) {
    std::erase_if(open, [&](size_t k) { return memory_span(*parameters[k].tensor).second <= begin(i); });
    for (const size_t k : open)
      if (overlaps(*parameters[i].tensor, *parameters[k].tensor))
        throw Error("parameters: " + in_quotes(parameters[std::min(i, k)].name) + " and " +
                    in_quotes(parameters[std::max(i, k)].name) +
                    " share some of their memory — share all of a parameter, or none");
    open.push_back(i);
  }
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
  const auto [slot, owner] = find_slots(parameters);
  check_overlaps(parameters, owner);
  std::vector<int64_t> first;
  int64_t total = 0;
  for (const size_t i : owner) {
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
