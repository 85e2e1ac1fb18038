// Rewrite: what an op's `simplify` rule sees and may do when a plan is compiled. A rule is written with ops on tensors,
// as gradient rules are: it looks at its call and at the calls around it, and says what readers shall read instead.
#pragma once
#include <optional>
#include <string_view>
#include <vector>

#include "ingot/base/export.h"
#include "ingot/ops/op.h"

namespace ingot {

/// A call in the graph, by number. False: none.
struct Site {
  int node = -1;
  explicit operator bool() const { return node >= 0; }
  bool operator==(const Site&) const = default;
};

class INGOT_API Rewrite {
 public:
  /// The pass that asks. A rule belongs to one pass (or several) and returns false in all others.
  std::string_view pass() const { return pass_; }

  /// The call that the rule is asked about.
  Site site() const { return site_; }
  Tensor in(int i = 0) const { return in(site_, i); }
  /// Its result i, as it was when the rule was asked.
  virtual Tensor out(int i = 0) const = 0;
  double real(std::string_view name) const { return attrs(site_).find(name)->real; }

  // Any call.
  virtual const Op& op(Site site) const = 0;
  virtual const Attrs& attrs(Site site) const = 0;
  virtual int input_count(Site site) const = 0;
  /// Input i; undefined if it is absent.
  virtual Tensor in(Site site, int i) const = 0;
  virtual Tensor out(Site site, int i) const = 0;
  bool is(Site site, const Op& which) const { return site && &op(site) == &which; }
  /// Does the call only make values, so that it may become another? (It stores nothing and waits for no store.)
  virtual bool is_free(Site site) const = 0;
  virtual bool is_store(Site site) const = 0;
  /// Do both wait for the same stores?
  virtual bool wait_alike(Site a, Site b) const = 0;

  // Values.
  /// The call that made a value; none for inputs, bound tensors and constants.
  virtual Site maker(const Tensor& value) const = 0;
  /// The calls that read a value, once for every time; a site that is false stands for the plan's caller.
  virtual std::vector<Site> readers(const Tensor& value) = 0;
  virtual bool same(const Tensor& a, const Tensor& b) const = 0;
  /// The number that all elements of a constant are.
  virtual std::optional<double> uniform(const Tensor& value) const = 0;
  /// Is the value there when `site` runs?
  virtual bool is_ready(const Tensor& value, Site site) const = 0;

  // What a rule does.
  /// Lets all readers of `value` read `other`; false (and nothing done) if they could see a difference.
  virtual bool replace(const Tensor& value, const Tensor& other) = 0;
  bool replace(const Tensor& other) { return replace(out(), other); }
  /// What is called from now on takes this call's place: its old results must be replaced. (At first: site().)
  virtual void at(Site site) = 0;
  /// The results of another op in the place of a call.
  std::vector<Tensor> become(Site site, const Op& op, const std::vector<Tensor>& inputs, const Attrs& attrs) {
    at(site);
    std::vector<const Tensor*> pointers;
    pointers.reserve(inputs.size());
    for (const Tensor& t : inputs) pointers.push_back(&t);
    std::vector<Tensor> results(static_cast<size_t>(output_count(op)));
    call(op, pointers, attrs, results);
    return results;
  }
  /// Adds a constant to a call that stays what it is otherwise.
  virtual void set_attr(Site site, std::string_view name, int64_t value) = 0;

 protected:
  ~Rewrite() = default;
  std::string_view pass_;
  Site site_;
};

}  // namespace ingot
