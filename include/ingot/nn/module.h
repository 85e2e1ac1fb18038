// Modules: parameters plus a forward written with ops. Nobody writes a backward, nobody plans memory.
#pragma once
#include <concepts>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <typeinfo>
#include <utility>
#include <vector>

#include "ingot/base/export.h"
#include "ingot/base/tensor.h"
#include "ingot/graph/plan.h"
#include "ingot/nn/slab.h"

namespace ingot::nn {

// Who owns which random numbers: initial values and eager dropout are a SeedScope's (below); random layers inside a
// training step are its Updates' or its Trainer's (UpdateOptions::seed, TrainerOptions::seed); order and transforms of
// the data are the loader's (LoaderOptions::seed).

/// While it lives, parameters that this thread makes draw their initial values from a sequence of its own: modules made
/// in scopes of the same seed, in the same order, are equal. Scopes nest.
class INGOT_API SeedScope {
 public:
  explicit SeedScope(int64_t seed);
  ~SeedScope();
  SeedScope(const SeedScope&) = delete;
  SeedScope& operator=(const SeedScope&) = delete;

 private:
  int64_t outer_seed_, outer_stream_;
};
/// The same without an end: the calling thread's sequence (seed 0 at first) begins anew. For main programs; libraries
/// open a SeedScope.
INGOT_API void set_seed(int64_t seed);

/// What a random layer (dropout) draws its next numbers from.
struct RandomSource {
  Tensor seed;  // i64, one number; inside a training step it is another one at every run
  int64_t stream;
};
/// The next source: inside a RandomScope (every TrainStep is one) its seed and the next stream; in eager code a stream
/// of the SeedScope's sequence. An Error in a capture without a RandomScope: its numbers would be the same at every
/// run.
INGOT_API RandomSource next_random();

/// While it lives, random layers of this thread draw from `seed`, an i64 scalar: a plan's input, or a tensor that it
/// reads at every run.
class INGOT_API RandomScope {
 public:
  explicit RandomScope(const Tensor& seed);
  ~RandomScope();
  RandomScope(const RandomScope&) = delete;
  RandomScope& operator=(const RandomScope&) = delete;

 private:
  RandomSource source_;
  RandomSource* outer_;
};

class Module;

/// How a module behaves. Plans are made for modes that modules have at that time.
struct Modes {
  bool training = true, frozen = false;
};

/// What a module is made of, told by Module::parts to whoever asks.
class INGOT_API Parts {
 public:
  virtual ~Parts() = default;
  /// A parameter to train. Undefined tensors (a layer without bias) are no parts.
  void operator()(std::string_view name, Tensor& parameter) { add(name, parameter, true); }
  /// A tensor that belongs to the state but is not trained: running averages.
  void buffer(std::string_view name, Tensor& tensor) { add(name, tensor, false); }
  /// A tensor that goes from one batch to the next but is no part of the model: a recurrent layer's kept state. It is
  /// saved with a training run, not with the weights.
  void carried(std::string_view name, Tensor& tensor);
  /// A module inside.
  void operator()(std::string_view name, Module& child);
  /// Begins with the whole model.
  void visit(Module& root);

 protected:
  virtual void tensor(const std::string& path, Tensor& t, bool trained) = 0;
  virtual void carried_tensor(const std::string& /*path*/, Tensor& /*t*/) {}
  virtual void module(const std::string& /*path*/, Module& /*m*/) {}
  /// Is the module frozen whose parts are being told?
  bool in_frozen() const { return frozen_; }

 private:
  void add(std::string_view name, Tensor& t, bool trained);
  std::string path_;
  bool frozen_ = false;
};

/// Names that a state and a model do not have in common.
struct StateDifference {
  std::vector<std::string> missing, unexpected;
};

/// A model or a part of one. A user's own module lists its parts and has whatever forward it likes:
///
///   struct Net : nn::Module {
///     nn::Linear hidden{8, 32}, out{32, 2};
///     void parts(nn::Parts& p) override { p("hidden", hidden); p("out", out); }
///     Tensor forward(const Tensor& a, const Tensor& b) { return out(relu(hidden(concat({a, b}, 1)))); }
///   };
///
/// A module is moved or cloned, never copied: clone(net) is one with memory of its own, and a plain copy is an Error.
/// Modules that are told to share do: after `decoder.weight = encoder.weight` both are trained as one.
class INGOT_API Module {
 public:
  virtual ~Module() = default;
  /// Tells what the module is made of; changes nothing.
  virtual void parts(Parts&) {}

  /// Parameters, and other tensors of the state, by path: "0.weight", "encoder.fc1.bias"; PyTorch's names. A parameter
  /// that is shared is listed once, by its first name. They look at the module's memory.
  std::vector<NamedTensor> parameters() const;
  std::vector<NamedTensor> buffers() const;
  std::vector<NamedTensor> carried_tensors() const;
  /// The parameters' own handles, for who moves them.
  std::vector<Parameter> named_parameters();
  /// What is to be trained: all handles, those of a shared parameter under each of its names (they look at the same
  /// memory, and whoever moves one must move all), without what is frozen in any module that has it.
  std::vector<Parameter> trainable_parameters();
  int64_t parameter_count() const;

  /// Parameters and buffers under all their names, in PyTorch's order; they look at the module's memory.
  std::vector<NamedTensor> state_dict() const;
  /// Copies a state into the tensors that are there (real types are converted). Shapes must fit, and if `strict` names,
  /// too: an Error lists all that is wrong, and then nothing has been copied. Returns the names not in common.
  StateDifference load_state_dict(std::span<const NamedTensor> state, bool strict = true);

  /// Training mode, the initial one, or evaluation; of this module and all inside. A plan keeps the modes it was
  /// compiled with; a training step whose modes have changed is an Error when it is run.
  void train(bool on = true);
  void eval() { train(false); }
  bool training() const;

  /// Keeps the parameters of this module and all inside from being trained, or lets them again. It counts when
  /// parameters are collected to be trained: a step that was made before is an Error when it is run.
  void freeze(bool on = true);
  bool frozen() const { return modes_->frozen; }
  /// The modes themselves, which stay when the module goes.
  std::shared_ptr<const Modes> modes() const { return modes_; }

  /// Converts the module's real parameters and buffers, and all inside, to f32 or f64, in new memory.
  void to(DType dtype);
  /// The op, which a forward would not find behind the other one.
  static Tensor to(const Tensor& x, DType dtype);

  /// Told the loss of every batch that the Trainer has trained on, for modules whose schedule goes by it. Allocates
  /// nothing. Whoever trains without a Trainer calls it.
  virtual void observe(double /*loss*/) {}
  /// This module and all inside, in the order of their parts.
  std::vector<Module*> modules();

  /// "Linear": the class, for errors and tables.
  virtual std::string kind() const;
  /// Its name in the module around it, as last told by parts(); empty for the outermost.
  const std::string& name() const { return name_; }

 protected:
  Module() = default;
  Module(const Module& other);  // for clone(): an Error anywhere else
  // Both have modes afterwards. NOLINTNEXTLINE(performance-move-constructor-init)
  Module(Module&& other) noexcept : modes_(other.modes_), name_(std::move(other.name_)) {}
  Module& operator=(const Module&) = delete;
  Module& operator=(Module&& other) noexcept {
    modes_ = other.modes_;
    name_ = std::move(other.name_);
    return *this;
  }

 private:
  friend class Parts;
  friend class LayerList;
  friend class Evaluating;
  std::shared_ptr<Modes> modes_ = std::make_shared<Modes>();
  std::string name_;
};

namespace detail {

/// While it lives, modules of this thread may be copied.
class INGOT_API Cloning {
 public:
  Cloning();
  ~Cloning();
  Cloning(const Cloning&) = delete;
  Cloning& operator=(const Cloning&) = delete;
};
INGOT_API bool cloning();
[[noreturn]] INGOT_API void refuse_slice(const Module& module, const std::type_info& as);
/// Gives a copy memory of its own; what was shared inside the original is shared inside the copy.
INGOT_API void make_independent(Module& copy, const Module& original);

}  // namespace detail

/// A module like this one, with the same parameters, buffers, modes and kept states in memory of its own: a target
/// network is `nn::Sequential target = nn::clone(net);`.
template <std::derived_from<Module> M>
M clone(const M& module) {
  static_assert(std::is_copy_constructible_v<M>,
                "clone: the module has a member that cannot be copied — hold parts by value or as nn::LayerPtr");
  if (typeid(module) != typeid(M)) detail::refuse_slice(module, typeid(M));
  const detail::Cloning permitted;
  M copy(module);
  detail::make_independent(copy, module);
  return copy;
}

/// Copies the parameters and buffers of a module to another of the same structure; with tau < 1 takes
/// (1 - tau) · dst + tau · src of the parameters and leaves the buffers alone. Allocates nothing; in a capture it is
/// recorded.
INGOT_API void copy_parameters(Module& dst, const Module& src, double tau = 1);

/// What is called while it lives belongs to a module: a scope of its name, a row of summary(). Layers have one around
/// their forward; a module with a forward of its own begins it with `const nn::Within here(*this);`.
class INGOT_API Within {
 public:
  explicit Within(Module& module);
  ~Within();
  Within(const Within&) = delete;
  Within& operator=(const Within&) = delete;
  /// The module's result, for summary().
  void result(const Tensor& y) const;

 private:
  Module& module_;
  std::optional<Scope> scope_;
};

/// A module of one tensor to one tensor.
class INGOT_API Layer : public Module {
 public:
  virtual Tensor forward(const Tensor& x) = 0;
  /// forward(x), with the layer's name around what it records and in its errors. An empty batch is an Error.
  Tensor operator()(const Tensor& x);
};

/// A layer by pointer, for modules whose layers are chosen at run time: copies share it, and clone() clones it. Made of
/// a std::shared_ptr to the layer's own class, which is how it knows.
class INGOT_API LayerPtr {
 public:
  template <std::derived_from<Layer> L>
  LayerPtr(std::shared_ptr<L> layer)  // NOLINT: std::make_shared<nn::Linear>(…) is one
      : layer_(std::move(layer)), copy_(copier<L>()) {
    check();
  }
  LayerPtr(std::nullptr_t) { check(); }  // NOLINT: an Error
  LayerPtr(const LayerPtr& other);
  LayerPtr(LayerPtr&&) noexcept = default;
  LayerPtr& operator=(const LayerPtr& other) { return *this = LayerPtr(other); }
  LayerPtr& operator=(LayerPtr&&) noexcept = default;
  Layer& operator*() const { return *get(); }
  Layer* operator->() const { return get(); }
  Layer* get() const {
    if (layer_ == nullptr) check();  // it was moved from
    return layer_.get();
  }

 private:
  using Copy = std::shared_ptr<Layer> (*)(const Layer&);
  template <class L>
  static Copy copier() {
    if constexpr (std::is_copy_constructible_v<L>)
      return [](const Layer& layer) { return copy_of(typeid(layer) == typeid(L), static_cast<const L&>(layer)); };
    else
      return nullptr;
  }
  template <class L>
  static std::shared_ptr<Layer> copy_of(bool whole, const L& layer) {
    return whole ? std::make_shared<L>(layer) : nullptr;  // else it is of a class derived from L
  }
  void check() const;
  std::shared_ptr<Layer> layer_;
  Copy copy_ = nullptr;
};

/// A layer made of layers, named "0", "1", ….
class INGOT_API LayerList : public Layer {
 public:
  void parts(Parts& p) override;
  size_t size() const { return layers_.size(); }
  Layer& operator[](size_t i);

 protected:
  void append(LayerPtr layer);
  template <class L>
  void append_moved(L&& layer) {
    static_assert(!std::is_lvalue_reference_v<L>,
                  "a layer is moved into another one: write std::move(layer); nn::clone(layer) for a second one of the "
                  "same values; or give a std::shared_ptr to share it");
    append(std::make_shared<std::decay_t<L>>(std::forward<L>(layer)));
  }

 private:
  std::vector<LayerPtr> layers_;
};

/// Layers one after the other.
class INGOT_API Sequential : public LayerList {
 public:
  template <class... L>
  requires((std::derived_from<std::decay_t<L>, Layer> && ...) &&
           !(sizeof...(L) == 1 && (std::same_as<std::decay_t<L>, Sequential> && ...)))  // that is a move
      explicit Sequential(L&&... layers) {
    (append_moved(std::forward<L>(layers)), ...);
  }
  template <class L>
  requires std::derived_from<std::decay_t<L>, Layer> Sequential& add(L&& layer) {
    append_moved(std::forward<L>(layer));
    return *this;
  }
  Sequential& add(LayerPtr layer) {
    append(std::move(layer));
    return *this;
  }
  /// The ops, which the forward of a class derived from this one would not find behind the others.
  static Tensor add(const Tensor& a, const Tensor& b);
  static Tensor add(const Tensor& x, double value);
  Tensor forward(const Tensor& x) override;
};

/// A module in a summary: what is its own, not what is in modules inside.
struct SummaryRow {
  std::string path, kind;
  Dims output;             // of its last call
  int64_t calls = 0;       // 0: not seen; a module that is no Layer and has no Within
  int64_t parameters = 0;  // elements; a shared parameter counts where it is met first
  bool frozen = false;
  size_t bytes = 0;  // of parameters and buffers
  double flops = 0;  // of one forward
};

struct INGOT_API Summary {
  std::vector<SummaryRow> rows;  // the model itself first, then what it is made of, in the order of its parts
  int64_t parameters = 0, trainable = 0;
  size_t bytes = 0;
  double flops = 0;
  /// Modules with parameters that were called although no parts() lists them: nobody trains or saves them.
  std::vector<std::string> unlisted;
  /// An aligned table with totals.
  std::string text() const;
};

/// What a model is made of, with shapes and work for one input; the model is not changed and nothing is computed.
INGOT_API Summary summary(Layer& model, const InputSpec& input);
/// The same for any module: `forward` calls it on one tensor per input.
INGOT_API Summary summary(Module& model, const PlanFunction& forward, std::span<const InputSpec> inputs);
template <class F>
requires(!std::same_as<std::decay_t<F>, PlanFunction>) Summary
    summary(Module& model, F&& forward, const std::vector<InputSpec>& inputs) {
  return summary(model, ingot::detail::as_plan_function<std::decay_t<F>>(std::forward<F>(forward), inputs.size()),
                 std::span<const InputSpec>(inputs));
}

}  // namespace ingot::nn
