// States of modules: out, in, and from one to another.
#include <set>
#include <unordered_map>

#include "ingot/base/error.h"
#include "ingot/base/text.h"
#include "ingot/nn/module.h"
#include "ingot/ops/ops.h"
#include "nn/parts.h"

namespace ingot::nn {
namespace {

class Listing final : public Parts {
 public:
  std::vector<NamedTensor> found;

 protected:
  void tensor(const std::string& path, Tensor& t, bool) override { found.push_back({path, t}); }
};

// Tensors without their names: made once per thread, it walks a model without taking memory.
class Handles final : public Parts {
 public:
  struct Handle {
    const Tensor* tensor;
    bool trained;
  };
  const std::vector<Handle>& of(const Module& m) {
    found_.clear();
    visit(const_cast<Module&>(m));  // parts() changes nothing
    return found_;
  }

 protected:
  void tensor(const std::string&, Tensor& t, bool trained) override { found_.push_back({&t, trained}); }

 private:
  std::vector<Handle> found_;
};

bool is_real(DType t) { return is_float(t) || t == kF16 || t == kBF16; }

// "missing a, b": the first few of a list.
void put_list(std::string& text, const char* what, const std::vector<std::string>& names) {
  if (names.empty()) return;
  constexpr size_t kMost = 12;
  text += (text.empty() ? "" : "; ") + std::string(what) + " ";
  text += join(std::span(names).first(std::min(names.size(), kMost)));
  if (names.size() > kMost) text += ", and " + std::to_string(names.size() - kMost) + " more";
}

[[noreturn]] void fail_copy(const Module& dst, const Module& src) {
  const std::vector<NamedTensor> to = dst.state_dict(), from = src.state_dict();
  for (size_t i = 0; i < std::min(to.size(), from.size()); i++)
    if (to[i].name != from[i].name || !(to[i].tensor.shape() == from[i].tensor.shape()) ||
        to[i].tensor.dtype() != from[i].tensor.dtype())
      throw Error(ErrorKind::kShape, "copy_parameters: " + to[i].name + " is " + describe(to[i].tensor) + ", but " +
                                         from[i].name + " is " + describe(from[i].tensor) +
                                         " — both modules must have the same structure");
  throw Error("copy_parameters: " + std::to_string(to.size()) + " and " + std::to_string(from.size()) +
              " tensors — both modules must have the same structure");
}

}  // namespace

std::vector<NamedTensor> Module::state_dict() const {
  Listing list;
  list.visit(const_cast<Module&>(*this));  // parts() changes nothing
  return std::move(list.found);
}

StateDifference Module::load_state_dict(std::span<const NamedTensor> state, bool strict) {
  std::unordered_map<std::string, const Tensor*> given;
  std::vector<std::string> wrong;
  for (const NamedTensor& t : state)
    if (!given.emplace(t.name, &t.tensor).second) wrong.push_back(t.name + " (twice)");
  StateDifference difference;
  const std::vector<NamedTensor> own = state_dict();
  for (const NamedTensor& t : own) {
    const auto found = given.find(t.name);
    if (found == given.end()) {
      difference.missing.push_back(t.name);
      continue;
    }
    const Tensor& from = *found->second;
    if (!from.defined())
      wrong.push_back(t.name + " (undefined)");
    else if (!(from.shape() == t.tensor.shape()) || is_real(from.dtype()) != is_real(t.tensor.dtype()))
      wrong.push_back(t.name + " (" + describe(from) + " for " + describe(t.tensor) + ")");
  }
  std::set<std::string> names;
  for (const NamedTensor& t : own) names.insert(t.name);
  for (const NamedTensor& t : state)
    if (!names.contains(t.name)) difference.unexpected.push_back(t.name);

  std::string text;
  if (strict) {
    put_list(text, "missing", difference.missing);
    put_list(text, "unexpected", difference.unexpected);
  }
  put_list(text, "of the wrong shape or type:", wrong);
  if (!text.empty())
    throw Error("load_state_dict: the state is not this module's: " + text +
                (strict && wrong.empty() ? " — pass strict = false to load what fits" : " — is it another model's?"));
  for (const NamedTensor& t : own)
    if (const auto found = given.find(t.name); found != given.end()) {
      if (found->second->dtype() == t.tensor.dtype())
        copy_into(t.tensor, *found->second);
      else
        to_into(t.tensor, *found->second, t.tensor.dtype());
    }
  return difference;
}

void copy_parameters(Module& dst, const Module& src, double tau) {
  if (!(tau >= 0 && tau <= 1)) throw Error("copy_parameters: tau = " + std::to_string(tau) + " — it lies in 0 … 1");
  thread_local Handles of_dst, of_src;
  const auto &to = of_dst.of(dst), &from = of_src.of(src);
  bool fits = to.size() == from.size();
  for (size_t i = 0; fits && i < to.size(); i++)
    fits = to[i].trained == from[i].trained && to[i].tensor->dtype() == from[i].tensor->dtype() &&
           to[i].tensor->shape() == from[i].tensor->shape();
  if (!fits) fail_copy(dst, src);
  const auto shared = [&](size_t i) { return same_elements(*to[i].tensor, *from[i].tensor); };
  bool apart = to.empty();
  for (size_t i = 0; i < to.size() && !apart; i++) apart = !shared(i);
  if (!apart)
    throw Error("copy_parameters: both modules look at the same memory — make the second one with nn::clone()");
  for (size_t i = 0; i < to.size(); i++) {
    const Tensor &d = *to[i].tensor, &s = *from[i].tensor;
    bool again = shared(i);
    for (size_t k = 0; k < i && !again; k++) again = same_elements(*to[k].tensor, d);  // shared: once is enough
    if (again || (tau < 1 && !to[i].trained)) continue;
    if (tau == 1) {
      copy_into(d, s);
    } else {
      multiply_into(d, d, 1 - tau);
      add_scaled_into(d, d, s, tau);
    }
  }
}

}  // namespace ingot::nn
