#include "recipe/make_layers.h"

#include <fmt/format.h>

#include "ingot/base/error.h"
#include "ingot/ops/functions.h"
#include "ingot/ops/ops.h"
#include "ingot/recipe/job.h"

namespace ingot::recipe {
namespace {

// Of a sample, without the batch.
std::string shape_text(const Dims& shape) {
  std::string out;
  for (int axis = 1; axis < shape.size(); axis++) out += (out.empty() ? "" : " x ") + std::to_string(shape[axis]);
  return out.empty() ? "one number" : out;
}

// Does what a model says of a character depend on those behind it, which it is to predict?
bool looks_ahead(nn::Sequential& model, const Tensor& zeros) {
  const int64_t length = zeros.size(1);
  if (length < 2) return false;
  const Tensor other = clone(zeros);
  for (int64_t row = 0; row < zeros.size(0); row++) other.data<int64_t>()[row * length + length - 1] = 1;
  model.eval();
  const auto before_last = [&](const Tensor& x) { return slice(model(x), 1, 0, length - 1); };
  const bool same = max(abs(subtract(before_last(other), before_last(zeros)))).item() <= 1e-5F;
  model.train();
  return !same;
}

}  // namespace

nn::LayerPtr make_layer(const Value& table, const Tensor& x, const Task& task, const Catalogue& catalogue) {
  return catalogue.layer(table).make({Settings(table), x, task, catalogue});
}

Tensor add_layers(nn::Sequential& model, const Value& list, Tensor x, const Task& task, const Catalogue& catalogue) {
  for (const Value& entry : list.list) {
    const Settings settings(entry);
    try {
      const nn::LayerPtr layer = make_layer(entry, x, task, catalogue);
      layer->eval();
      x = (*layer)(x);
      layer->train();
      model.add(layer);
    } catch (const PlacedError&) {
      throw;
    } catch (const Error& e) {
      fail_at(entry.place, fmt::format("{} on samples of {}: {}", settings.type(), shape_text(x.shape()), e.what()),
              e.kind());
    }
  }
  return x;
}

std::shared_ptr<nn::Sequential> make_model(const Description& description, const Task& task) {
  const Value& layers = description.settings("model").value("layers");
  if (layers.list.empty()) fail_at(layers.place, "a model has at least one layer");
  auto model = std::make_shared<nn::Sequential>();
  Dims shape{2};  // two samples: no axis of size 1 that a layer could take for something else
  for (const int64_t size : task.input) shape.push_back(size);
  const Tensor zeros = full(shape, 0, task.input_type);
  const Tensor result = add_layers(*model, layers, zeros, task, *description.catalogue);

  Dims expected{2};
  for (const int64_t size : task.target) expected.push_back(size);
  if (task.classes > 0) expected.push_back(task.classes);
  const LossType& loss = description.catalogue->loss(description.section("loss"));
  const bool fits = result.shape() == expected || (loss.compares != nullptr && loss.compares(result.shape(), expected));
  if (!fits)
    fail_at(layers.list.back().place,
            fmt::format("the model gives {} per sample, the target needs {} — {}", shape_text(result.shape()),
                        shape_text(expected),
                        task.classes > 0 ? "end with a linear layer without \"out\"" : "change the last layers"),
            ErrorKind::kShape);
  if (task.vocabulary.size() > 1 && looks_ahead(*model, zeros))
    fail_at(
        layers.place,
        "this model of text sees the characters that it is to predict — make attention causal, recurrent layers not "
        "bidirectional, and leave out what mixes positions");
  return model;
}

void reset_state(nn::Sequential& model) {
  for (const NamedTensor& carried : model.carried_tensors()) fill(carried.tensor, 0);
}

}  // namespace ingot::recipe
