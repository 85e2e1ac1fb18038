// Rules that learn. A theory is a program whose relations are tensors of truths over declared domains: rules are contractions,
// recursions are fixpoints, equations are sums of products, and asserts say what ought to be true. Parts of it may be unknown:
// `param` tables, and networks. It is a module, so what trains modules trains it.
//
//   logic::Theory theory = logic::Theory::parse(R"(
//     domain person = {ann, bob, cid}.
//     rel friends(person, person).       param rel smokes(person).
//     friends(ann, bob). friends(bob, cid).
//     assert forall x, y where friends(x, y): smokes(x) -> smokes(y).
//     assert smokes(ann).
//   )");
//   auto step = nn::train_step(theory, [&] { return theory.results(); }, optim::Adam{.lr = 0.1f}, {});
//   for (int i = 0; i < 200; i++) step();
//   std::puts(to_string(theory.ask("smokes(x)")).c_str());
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ingot/base/export.h"
#include "ingot/base/tensor.h"
#include "ingot/data/batch.h"
#include "ingot/nn/module.h"
#include "ingot/ops/options.h"

namespace ingot::logic {

struct TheoryUnit;

/// A formula that ought to be true.
struct Assertion {
  std::string name;  // that it was given, or its text
  std::string text;
  double weight = 1;
  int line = 0;
};

struct TheoryOptions {
  DType dtype = kF32;          // of truths and numbers: f32 or f64
  std::string folder = ".";    // of the files of facts that the program names
  std::string semantics = {};  // in place of the program's: "godel", "ltn 4"
};

class INGOT_API Theory final : public nn::Module {
 public:
  /// Names, domains and recursion are checked; Errors name line and column and show them.
  static Theory parse(std::string text, const std::string& name, const TheoryOptions& options);
  static Theory parse(std::string text, const std::string& name = "theory", DType dtype = kF32) {
    return parse(std::move(text), name, TheoryOptions{.dtype = dtype});
  }
  static Theory load(const std::string& path, const TheoryOptions& options);
  static Theory load(const std::string& path, DType dtype = kF32) { return load(path, TheoryOptions{.dtype = dtype}); }

  /// What a `neural` statement calls by that name: a layer, whose parameters become the theory's, or any function of the
  /// tensors that the statement names.
  void network(const std::string& name, nn::LayerPtr layer);
  void network(const std::string& name, std::function<Tensor(Tensors)> function);
  /// The elements of a relation or tensor that is neither learned nor computed, in place of the facts of the program.
  void set(const std::string& name, const Tensor& elements);
  /// What `sig` divides by; at 0 it is a step.
  void set_temperature(double temperature);

  /// The truths, or numbers, of a relation or tensor, all axes in order. In a capture they are a part of the plan; what
  /// `batch` has are the tensors and relations that the program calls `input`.
  Tensor operator()(std::string_view name, const data::Batch& batch = {}) const;
  /// A question such as "ancestor(ann, y)": truths for all values of its variables, in the order in which they are named.
  Tensor ask(const std::string& question, const data::Batch& batch = {}) const;
  /// The variables of a question in that order, and the domain of each ("" for an axis that has a size of its own).
  std::vector<std::pair<std::string, std::string>> variables_of(const std::string& question) const;
  /// Why: of a fact ("ancestor(ann, cid)"), or of the best answer to a question with variables, the best proof as a tree of
  /// lines, with the truths that it rests on; of an assertion, by its name, the values for which it is least true.
  std::string explain(const std::string& what, const data::Batch& batch = {}) const;
  /// Writes what the program calls `output`, and returns the paths: all elements to .npy and .safetensors; elsewhere a line
  /// for each fact, its truth behind it.
  std::vector<std::string> write(const std::string& folder, const data::Batch& batch = {}) const;
  /// The paths that write() writes, and the files of facts that were read.
  std::vector<std::string> outputs(const std::string& folder) const;
  const std::vector<std::string>& files() const;
  /// An Error that shows what is learned and stands in no assertion, nor in what one rests on.
  void require_learnable() const;
  /// How true each assertion is, in their order.
  std::vector<NamedTensor> truths(const data::Batch& batch = {}) const;
  /// What a training step or a trainer wants: "loss", "satisfaction", and the truth of each assertion by its name. By
  /// p-means (ltn) the satisfaction is 1 - (mean of (1 - truth)²)^½ and the loss is what is left to 1; where "for all" is a
  /// product or a geometric mean, the geometric mean and its -log; else the mean and what is left. Weights count in all.
  std::vector<NamedTensor> results(const data::Batch& batch = {}) const;

  const std::vector<Assertion>& assertions() const;
  /// Its questions (`smokes(x)?`), without the sign.
  const std::vector<std::string>& questions() const;
  /// Names of what is learned as tables, of all relations and tensors, and of the networks that it calls.
  std::vector<std::string> learned() const;
  std::vector<std::string> names() const;
  std::vector<std::string> networks() const;
  /// A domain's members as text: "ann", or "0", "1", ….
  std::vector<std::string> members(const std::string& domain) const;
  /// The domains of a relation or tensor; "" for an axis that has a size of its own.
  std::vector<std::string> domains_of(const std::string& name) const;
  const std::string& text() const;

  void parts(nn::Parts& p) override;

  Theory(const Theory& other);  // for nn::clone(): an Error anywhere else
  Theory(Theory&&) noexcept = default;
  Theory& operator=(Theory&&) noexcept = default;

 private:
  explicit Theory(std::shared_ptr<TheoryUnit> unit);
  std::shared_ptr<TheoryUnit> unit_;
};

}  // namespace ingot::logic
