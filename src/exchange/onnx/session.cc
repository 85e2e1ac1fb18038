#include <algorithm>
#include <cstring>

#include "exchange/onnx/model_impl.h"
#include "exchange/onnx/use.h"
#include "ingot/base/error.h"
#include "ingot/base/text.h"

namespace ingot::onnx {
namespace {

constexpr int64_t kSmall = 4096;  // elements of an input that may count like a shape

// A plan for inputs of given shapes, and for the elements of those that are constants in it.
struct Planned {
  std::vector<InputSpec> shapes;
  std::vector<Tensor> constants;  // undefined for inputs of the plan
  Plan plan;
  int64_t used = 0;

  bool fits(std::span<const Tensor* const> inputs) const {
    for (size_t i = 0; i < inputs.size(); i++) {
      const Tensor& x = *inputs[i];
      if (x.dtype() != shapes[i].dtype || !(x.shape() == shapes[i].shape)) return false;
      if (!constants[i].defined()) continue;
      if (!x.is_contiguous()) return false;
      if (x.numel() > 0 &&
          std::memcmp(x.raw(), constants[i].raw(), static_cast<size_t>(x.numel()) * size_of(x.dtype())) != 0)
        return false;
    }
    return true;
  }
};

}  // namespace

struct Session::Impl {
  Model& model;
  SessionOptions options;
  std::vector<Planned> plans = {};
  int64_t clock = 0;
  uint64_t known = 0;  // inputs whose elements decide shapes or branches
  std::string why = {};
  std::vector<Tensor> results = {};
  std::vector<const Tensor*> fed = {};

  Planned* find(std::span<const Tensor* const> inputs) {
    for (Planned& p : plans)
      if (p.fits(inputs)) {
        p.used = ++clock;
        return &p;
      }
    return nullptr;
  }

  bool is_known(size_t i) const { return (known >> i % 64 & 1) != 0; }

  // Inputs that a builder asks for become constants, if they are small; false if that does not help.
  bool learn(const NeedsValue& needs, std::span<const Tensor* const> inputs) {
    const uint64_t more = needs.inputs & ~known;
    bool small = more != 0;
    for (size_t i = 0; i < inputs.size(); i++)
      if ((more >> i % 64 & 1) != 0) small &= inputs[i]->numel() <= kSmall;
    if (small)
      known |= more;
    else
      why = needs.why + ", which are only known when it runs";
    return small;
  }

  Planned compiled(std::span<const Tensor* const> inputs) {
    Planned made;
    std::vector<InputSpec> specs;
    for (size_t i = 0; i < inputs.size(); i++) {
      const Tensor& x = *inputs[i];
      made.shapes.push_back({x.shape(), x.dtype(), model.inputs()[i].name});
      made.constants.push_back(is_known(i) ? clone(x) : Tensor());
      if (!is_known(i)) specs.push_back(made.shapes.back());
    }
    const PlanFunction fn = [&](std::span<const Tensor> symbols) {
      std::vector<Tensor> all = made.constants;
      for (size_t i = 0, next = 0; i < all.size(); i++)
        if (!all[i].defined()) all[i] = symbols[next++];
      return model.impl_->bind(all, known, model.training(), !model.training());
    };
    made.plan = compile_function(fn, specs, {.name = "onnx", .threads = options.threads, .frozen = !model.training()});
    return made;
  }

  Planned* planned(std::span<const Tensor* const> inputs) {
    if (inputs.size() != model.inputs().size())
      throw Error("onnx: the model takes " + counted(static_cast<int64_t>(model.inputs().size()), "input") + ", " +
                  std::to_string(inputs.size()) + " given");
    if (Planned* found = find(inputs)) return found;
    std::map<std::string, int64_t> sizes;
    for (size_t i = 0; i < inputs.size(); i++) model.impl_->check(i, *inputs[i], sizes);
    while (why.empty()) {
      try {
        Planned made = compiled(inputs);
        made.used = ++clock;
        if (plans.size() < options.plans) return &plans.emplace_back(std::move(made));
        Planned& oldest = *std::min_element(plans.begin(), plans.end(),
                                            [](const Planned& a, const Planned& b) { return a.used < b.used; });
        return &(oldest = std::move(made));
      } catch (const NeedsValue& needs) {
        if (!learn(needs, inputs)) break;
      }
    }
    return nullptr;
  }

  std::span<const Tensor> run(std::span<const Tensor* const> inputs) {
    if (Planned* p = planned(inputs)) {
      fed.clear();
      for (size_t i = 0; i < inputs.size(); i++)
        if (!p->constants[i].defined()) fed.push_back(inputs[i]);
      return p->plan.run(fed);
    }
    std::vector<Tensor> all;
    for (const Tensor* x : inputs) all.push_back(*x);
    results.clear();
    for (NamedTensor& out : model.impl_->bind(all, ~uint64_t{0}, model.training()))
      results.push_back(contiguous(out.tensor));
    return results;
  }
};

Session::Session(Model& model, const SessionOptions& options) {
  if (options.plans == 0) throw Error("onnx: a session for 0 plans — it keeps at least one");
  impl_.reset(new Impl{model, options});
  impl_->plans.reserve(options.plans);
  impl_->fed.reserve(model.inputs().size());
}
Session::Session(Session&&) noexcept = default;
Session& Session::operator=(Session&&) noexcept = default;
Session::~Session() = default;

std::span<const Tensor> Session::run(std::span<const Tensor* const> inputs) { return impl_->run(inputs); }
Plan* Session::plan_for(std::span<const Tensor* const> inputs) {
  Planned* const p = impl_->planned(inputs);
  return p == nullptr ? nullptr : &p->plan;
}
const std::string& Session::why_not_planned() const { return impl_->why; }

}  // namespace ingot::onnx
