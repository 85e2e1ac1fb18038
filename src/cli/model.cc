#include "cli/model.h"

#include <fmt/format.h>

#include "cli/layers.h"
#include "ingot/error.h"
#include "ingot/functions.h"
#include "ingot/ops.h"

namespace ingot::cli {
namespace {

std::string shape_text(const Tensor& x) {
  std::string out;
  for (int axis = 1; axis < x.rank(); axis++) out += (out.empty() ? "" : " x ") + std::to_string(x.size(axis));
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

Tensor add_layers(nn::Sequential& model, const Value& list, Tensor x, const LayerContext& context) {
  for (const Value& entry : list.list) {
    const Settings settings(entry);
    try {
      const std::shared_ptr<nn::Layer> layer = make_layer(settings, x, context);
      layer->eval();
      x = (*layer)(x);
      layer->train();
      model.add(layer);
    } catch (const PlacedError&) {
      throw;
    } catch (const Error& e) {
      fail_at(entry.place, fmt::format("{} on samples of {}: {}", settings.type(), shape_text(x), e.what()));
    }
  }
  return x;
}

std::shared_ptr<nn::Sequential> make_model(const Value& section, const Task& task) {
  const Value& layers = Settings(section).value("layers");
  if (layers.list.empty()) fail_at(layers.place, "a model has at least one layer");
  auto model = std::make_shared<nn::Sequential>();
  Dims shape{2};  // two samples: no axis of size 1 that a layer could take for something else
  for (const int64_t size : task.input) shape.push_back(size);
  const Tensor zeros = full(shape, 0, task.input_type);
  const Tensor result = add_layers(*model, layers, zeros, {task});

  Dims expected{2};
  for (const int64_t size : task.target) expected.push_back(size);
  if (task.classes > 0) expected.push_back(task.classes);
  // An automaton's channels behind those that are seen are its own.
  const bool more_channels = task.visible > 0 && result.rank() == 4 && result.size(1) >= task.visible;
  if ((more_channels ? slice(result, 1, 0, task.visible).shape() : result.shape()) != expected)
    fail_at(layers.list.back().place,
            fmt::format("the model gives {} per sample, the target needs {} — {}", shape_text(result),
                        shape_text(Tensor::empty(expected)),
                        task.classes > 0 ? "end with a linear layer without \"out\"" : "change the last layers"));
  if (task.vocabulary.size() > 1 && looks_ahead(*model, zeros))
    fail_at(
        layers.place,
        "this model of text sees the characters that it is to predict — make attention causal, recurrent layers not "
        "bidirectional, and leave out what mixes positions");
  return model;
}

void reset_state(nn::Sequential& model) {
  for (const Parameter& carried : model.carried_tensors())
    copy_into(*carried.tensor, full(carried.tensor->shape(), 0, carried.tensor->dtype()));
}

int64_t Task::results() const {
  if (classes > 0) return classes;
  int64_t count = 1;
  for (const int64_t size : target) count *= size;
  return count;
}

}  // namespace ingot::cli
