// Any bytes as a model: it is read or refused, and what is read runs on small inputs or says why not.
#include "fuzz.h"
#include "ingot/base/memory_budget.h"
#include "ingot/exchange/onnx.h"
#include "ingot/ops/functions.h"

static void use(std::span<const std::byte> bytes) {
  using namespace ingot;
  const MemoryBudget budget(8 << 20);
  onnx::Model model = onnx::parse(bytes);
  std::vector<Tensor> inputs;
  for (const onnx::Port& port : model.inputs())
    inputs.push_back(zeros(Dims::filled(static_cast<int>(port.dims.size()), 1), port.dtype));
  try {
    model.forward(std::span<const Tensor>(inputs));
  } catch (const Error&) {
  }
  std::vector<const Tensor*> list;
  for (const Tensor& t : inputs) list.push_back(&t);
  onnx::Session(model, {.plans = 1, .threads = 1}).run(list);
}

INGOT_FUZZ(use(b))
