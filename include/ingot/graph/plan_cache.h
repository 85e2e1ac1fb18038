// Plans for input shapes that change: made on demand, the most recently used are kept.
//
//   PlanCache cache([&](const Tensor& x) { return net(x); }, /*inputs=*/1, {}, /*most=*/4);
//   Tensor y = cache(x);                         // or cache.run(x)[0], as with a plan
#pragma once
#include <algorithm>
#include <cstddef>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "ingot/base/export.h"
#include "ingot/graph/plan.h"

namespace ingot {

namespace detail {
INGOT_API void check_cache_size(size_t most);
}

/// What was made for inputs of given shapes and types (plans, training steps): at most `most` of them, and the least
/// recently used one gives way (LRU). Finding one allocates nothing, and those that stay keep their addresses. The user
/// owns it and can see it. Not for several threads at once.
template <class Made>
class ShapeCache {
 public:
  using Make = std::function<Made(std::span<const InputSpec>)>;
  explicit ShapeCache(Make make, size_t most = 8) : make_(std::move(make)), most_(most) {
    detail::check_cache_size(most);
    entries_.reserve(most);
  }

  /// The one for such inputs, or nullptr. `also` may ask more of the inputs that it was made for: their names.
  template <class Also>
  Made* find(std::span<const Tensor* const> inputs, Also also) {
    return find_by(
        inputs.size(),
        [&](size_t i, const InputSpec& spec) {
          return inputs[i]->dtype() == spec.dtype && inputs[i]->shape() == spec.shape;
        },
        also);
  }
  Made* find(std::span<const Tensor* const> inputs) {
    return find(inputs, [](const std::vector<InputSpec>&) { return true; });
  }
  /// The one for such inputs, of these names, made now if it is not there.
  Made& get(std::span<const InputSpec> inputs) {
    const auto same = [&](size_t i, const InputSpec& spec) {
      return inputs[i].dtype == spec.dtype && inputs[i].shape == spec.shape && inputs[i].name == spec.name;
    };
    Made* const found = find_by(inputs.size(), same, [](const std::vector<InputSpec>&) { return true; });
    return found != nullptr ? *found : add(inputs);
  }

  /// Lets those go that `stale` says so of: who needs one again makes it anew.
  template <class Stale>
  void drop(Stale stale) {
    std::erase_if(entries_, [&](const Entry& e) { return stale(e.made); });
  }

  size_t size() const { return entries_.size(); }
  int64_t made() const { return made_; }
  int64_t evictions() const { return evictions_; }
  /// Calls f for everything kept.
  template <class F>
  void each(F f) const {
    for (const Entry& e : entries_) f(e.made);
  }

 private:
  struct Entry {
    std::vector<InputSpec> inputs;
    Made made;
    int64_t used = 0;
  };
  template <class Same, class Also>
  Made* find_by(size_t count, Same same, Also also) {
    clock_++;
    for (Entry& e : entries_) {
      bool fits = e.inputs.size() == count;
      for (size_t i = 0; fits && i < count; i++) fits = same(i, e.inputs[i]);
      if (!fits || !also(e.inputs)) continue;
      e.used = clock_;
      return &e.made;
    }
    return nullptr;
  }
  Made& add(std::span<const InputSpec> inputs) {
    Entry entry{{inputs.begin(), inputs.end()}, make_(inputs), clock_};
    made_++;
    if (entries_.size() < most_) {
      entries_.push_back(std::move(entry));
      return entries_.back().made;
    }
    evictions_++;
    Entry& oldest = *std::min_element(entries_.begin(), entries_.end(),
                                      [](const Entry& a, const Entry& b) { return a.used < b.used; });
    oldest = std::move(entry);
    return oldest.made;
  }

  Make make_;
  size_t most_;
  int64_t clock_ = 0, made_ = 0, evictions_ = 0;
  std::vector<Entry> entries_;
};

/// The plans of one function.
class INGOT_API PlanCache : public Runner<PlanCache> {
 public:
  template <class F>
  PlanCache(F fn, size_t inputs, PlanOptions options = {}, size_t most = 8)
      : PlanCache(detail::as_plan_function<F>(std::move(fn), inputs), std::move(options), most) {}
  PlanCache(PlanFunction fn, PlanOptions options, size_t most);
  /// The plan for inputs of these shapes and types, compiled now if it is not there, or if a slab has taken parameters
  /// that it uses since it was.
  Plan& plan_for(std::span<const Tensor* const> inputs);
  std::span<const Tensor> run(std::span<const Tensor* const> inputs) { return plan_for(inputs).run(inputs); }
  using Runner::run;
  template <class... T>
  requires(std::same_as<T, Tensor>&&...) Tensor operator()(const T&... inputs) {
    const Tensor* list[sizeof...(T) + 1] = {&inputs..., nullptr};
    return plan_for(std::span<const Tensor* const>(list, sizeof...(T)))(inputs...);
  }
  size_t size() const { return plans_.size(); }
  int64_t compiles() const { return plans_.made(); }
  int64_t evictions() const { return plans_.evictions(); }
  /// Bytes of all plans kept.
  size_t bytes() const;

 private:
  ShapeCache<Plan> plans_;
  uint64_t moves_ = 0;  // move_count() when the plans were last looked at
};

}  // namespace ingot
