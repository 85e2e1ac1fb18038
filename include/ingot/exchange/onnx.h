// ONNX: models of others as modules, to run, inspect and train on; and modules of ours as files for others.
//
//   onnx::Model net = onnx::load("resnet.onnx");
//   onnx::Session session(net);                  // inference: a frozen plan per input shape
//   Tensor y = session(x);
//   net.train();
//   auto step = nn::train_step(net, nn::cross_entropy, optim::Adam{.lr = 1e-4f}, {{32, 3, 32, 32}, {32}});
//   onnx::save("tuned.onnx", net, {32, 3, 32, 32});
#pragma once
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ingot/base/export.h"
#include "ingot/base/named_tensor.h"
#include "ingot/base/tensor.h"
#include "ingot/graph/plan.h"
#include "ingot/nn/module.h"

namespace ingot::onnx {

/// The last opset whose ops Ingot knows all about. Files of later ones are read; an attribute of theirs that Ingot does not
/// know is an Error.
inline constexpr int64_t kKnownOpset = 17;

/// What a model says of an input or an output. Elements that Ingot has no type for come in a wider one: signed and
/// 16-bit integers as i32, unsigned ones of 32 and 64 bits as i64.
struct INGOT_API Port {
  std::string name;
  std::string type;               // in the file: "f32", "i8", …
  DType dtype = kF32;             // of the tensor that is given or received
  bool has_type = false;          // does the file say it? (of a result it may not)
  bool has_shape = false;         // does the file say how many axes there are?
  std::vector<std::string> dims;  // "3", "batch", "?"
  std::string text() const;       // "x: f32 [batch, 3, 224, 224]"
  /// What of `shape` is not as the file says; empty if nothing. `sizes` has what names of sizes stand for, and learns the
  /// names that it has not.
  std::string contradiction(const Dims& shape, std::map<std::string, int64_t>& sizes) const;
};

struct ImportOptions {
  /// Weights, by name, that are not to be trained.
  std::vector<std::string> constants = {};
  /// Batch norm and dropout do what the file's attributes say, whatever mode the model is in. For comparing with others.
  bool as_written = false;
};

/// A model from a file, as a module: its weights are parameters under the names of the file, and running averages of
/// batch norms are buffers. It begins in evaluation mode. In training mode batch norms and dropouts train, whatever the
/// file says of them. What follows from sizes is computed when it is bound to inputs of given shapes.
class INGOT_API Model : public nn::Layer {
 public:
  Model(const Model& other);
  Model(Model&& other) noexcept;
  Model& operator=(Model&& other) noexcept;
  ~Model() override;

  void parts(nn::Parts& p) override;
  /// Of a model with one input: its first result.
  Tensor forward(const Tensor& x) override;
  /// All results, by name. In a capture they are recorded; in eager code they are computed op by op.
  std::vector<NamedTensor> forward(std::span<const Tensor> inputs);

  const std::vector<Port>& inputs() const;
  const std::vector<Port>& outputs() const;
  /// "Conv", "com.microsoft:Gelu", … with how often they occur, graphs inside included; the most frequent first.
  std::vector<std::pair<std::string, int64_t>> ops() const;
  int64_t opset() const;
  int64_t ir_version() const;
  const std::string& producer() const;
  /// For people: producer, versions, inputs, results, ops, weights.
  std::string describe() const;

 private:
  struct INGOT_PRIVATE Impl;
  friend class Session;
  friend Model load(const std::string& path, const ImportOptions& options);
  friend Model parse(std::span<const std::byte> bytes, const ImportOptions& options);
  explicit Model(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

/// Reads a model from its file, and what that keeps beside it. Ops that Ingot cannot do are an Error that lists them all.
INGOT_API Model load(const std::string& path, const ImportOptions& options = {});
/// The same from the bytes of a file.
INGOT_API Model parse(std::span<const std::byte> bytes, const ImportOptions& options = {});
/// A tensor as a file of its own (TensorProto), as test data come. The type as Port has it.
INGOT_API Tensor parse_tensor(std::span<const std::byte> bytes);

struct ExportOptions {
  std::string name = "ingot";  // of the graph
  /// The axis of every input that may have any size; -1: none, all sizes are fixed.
  int64_t batch_axis = 0;
};

/// A layer, as it is in evaluation, as the bytes of an ONNX file: opset 17, IR 8, weights under the names of
/// state_dict(). Ops that ONNX has not are functions in it, with bodies of ops that it has, so that everybody can run
/// them, and load() gives the very same ops again.
INGOT_API std::string to_onnx(nn::Layer& model, const InputSpec& input, const ExportOptions& options = {});
/// The same for any function of tensors; `weights` says what tensors that it finds elsewhere are called.
INGOT_API std::string to_onnx(const PlanFunction& fn, std::span<const InputSpec> inputs,
                              std::span<const NamedTensor> weights, const ExportOptions& options = {});
/// Writes it to a file: a killed process leaves the old one or the new one.
INGOT_API void save(const std::string& path, nn::Layer& model, const InputSpec& input,
                    const ExportOptions& options = {});

struct SessionOptions {
  size_t plans = 8;  // for as many input shapes; the least recently used one gives way
  int threads = 0;   // 0: threads()
};

/// A model at inference, in the mode it is in: a plan per input shape, with the weights as they are when it is made.
/// After training on, make another one. An input whose elements decide shapes or branches counts like a shape. A model
/// whose shapes follow from computed elements runs op by op. Not for several threads at once.
class INGOT_API Session {
 public:
  explicit Session(Model& model, const SessionOptions& options = {});
  Session(Session&&) noexcept;
  Session& operator=(Session&&) noexcept;
  ~Session();

  /// The results, in the order of the model's outputs; the next run overwrites them. With a plan that is there already
  /// it allocates nothing.
  std::span<const Tensor> run(std::span<const Tensor* const> inputs);
  template <class... T>
  requires(std::same_as<T, Tensor>&&...) std::span<const Tensor> run(const T&... inputs) {
    const Tensor* list[sizeof...(T) + 1] = {&inputs..., nullptr};
    return run(std::span<const Tensor* const>(list, sizeof...(T)));
  }
  /// The first result as a tensor of its own.
  template <class... T>
  requires(std::same_as<T, Tensor>&&...) Tensor operator()(const T&... inputs) {
    return ingot::detail::copies(run(inputs...).first(1))[0];
  }
  /// The plan for these inputs, made now if it is not there; null if the model runs op by op.
  Plan* plan_for(std::span<const Tensor* const> inputs);
  /// Why the model runs op by op; empty if it does not.
  const std::string& why_not_planned() const;

 private:
  struct INGOT_PRIVATE Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace ingot::onnx
