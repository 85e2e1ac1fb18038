// Runs of a plan: its own, those of contexts, and many at once.
#include <atomic>
#include <mutex>

#include "graph/plan_impl.h"
#include "graph/unrecorded.h"
#include "ingot/base/error.h"
#include "ingot/base/threads.h"
#include "ingot/ops/ops.h"

namespace ingot {
namespace {

void refuse_writers(const graph::Executable& e) {
  if (const graph::Program::Slab* slab = e.writes())
    throw Error(e.program.name + ": it writes memory of yours (\"" + slab->name +
                "\"), which runs at once would spoil for each other — use its own run()");
}

// The part of a batch that item `i` sees: without the first axis.
Tensor item(const Tensor& batch, int64_t i) {
  Dims shape = batch.shape(), strides = batch.strides();
  const int64_t offset = i * strides[0] * static_cast<int64_t>(size_of(batch.dtype()));
  shape.erase(0);
  strides.erase(0);
  return batch.view(static_cast<std::byte*>(batch.raw()) + offset, shape, strides);
}

// Checks a batch of inputs; the number of items.
int64_t count_items(const graph::Program& p, std::span<const Tensor* const> inputs) {
  if (inputs.size() != p.inputs.size() || inputs.empty())
    throw Error(p.name + ": run_batch of " + std::to_string(inputs.size()) + " inputs, the plan has " +
                std::to_string(p.inputs.size()) + (inputs.empty() ? " — a plan without inputs has no batch" : ""));
  int64_t count = -1;
  for (size_t i = 0; i < inputs.size(); i++) {
    const Tensor& t = *inputs[i];
    const graph::Program::Input& s = p.inputs[i];
    const bool fits = t.defined() && !t.is_symbolic() && t.dtype() == s.dtype && t.rank() == s.shape.size() + 1;
    Dims shape = fits ? t.shape() : Dims();
    if (fits) shape.erase(0);
    if (!fits || !(shape == s.shape) || (count >= 0 && t.shape()[0] != count))
      throw Error(ErrorKind::kShape,
                  p.name + ": run_batch: \"" + s.name + "\" is " +
                      (t.defined() ? std::string(name(t.dtype())) + " " + to_string(t.shape()) : "undefined") +
                      ", the plan takes " + name(s.dtype) + " " + to_string(s.shape) +
                      " — give every input one more axis in front, of the same size for all");
    count = t.shape()[0];
  }
  return count;
}

// Items are taken one by one by whoever is free; who computes an item does not change its bits.
struct Batch {
  std::span<const Tensor* const> inputs;
  std::span<const Tensor> results;
  std::span<const std::unique_ptr<graph::Context>> contexts;
  int64_t count;
  std::atomic<int64_t> next{0};
  std::mutex mutex{};
  int64_t failed = -1;  // the first item that did
  std::exception_ptr failure = nullptr;

  void work(graph::Context& context) {
    std::vector<Tensor> parts(inputs.size());
    std::vector<const Tensor*> pointers(inputs.size());
    for (int64_t i = next++; i < count; i = next++) try {
        for (size_t k = 0; k < inputs.size(); k++) pointers[k] = &(parts[k] = item(*inputs[k], i));
        const std::span<const Tensor> made = context.run(pointers);
        for (size_t k = 0; k < results.size(); k++) copy_into(item(results[k], i), made[k]);
      } catch (...) {
        const std::lock_guard lock(mutex);
        if (failed < 0 || i < failed) failed = i, failure = std::current_exception();
        next = count;
      }
  }
};

}  // namespace

const graph::Executable& graph::executable_of(const Plan& plan) { return *plan.impl().executable; }
const graph::Program& graph::program_of(const Plan& plan) { return executable_of(plan).program; }
const graph::Memory& graph::memory_of(const Plan& plan) { return executable_of(plan).memory; }

std::vector<Tensor> detail::copies(std::span<const Tensor> results) {
  std::vector<Tensor> own;
  for (const Tensor& t : results) own.push_back(clone(t));
  return own;
}

void detail::check_only_result(std::span<const Tensor> results) {
  if (results.size() != 1)
    throw Error("plan: it has " + std::to_string(results.size()) +
                " results — take them all with compute(), or look at them with run()");
}

std::span<const Tensor> Plan::run(std::span<const Tensor* const> inputs) { return impl().context->run(inputs); }

std::vector<Tensor> Plan::run_batch(std::span<const Tensor* const> inputs) {
  Impl& plan = impl();
  const graph::Program& p = plan.program();
  refuse_writers(*plan.executable);
  const int64_t count = count_items(p, inputs);
  const graph::Busy busy(*plan.context);  // the contexts of a batch are the plan's
  const graph::Unrecorded unrecorded;
  std::vector<Tensor> results;
  for (const graph::Program::Output& o : p.outputs) {
    Dims shape = o.operand.shape;
    shape.insert(0, count);
    results.push_back(Tensor::empty(shape, o.operand.dtype));
  }
  const auto workers = static_cast<size_t>(std::max<int64_t>(1, std::min<int64_t>(ingot::threads(), count)));
  while (plan.batch_contexts.size() < workers)
    plan.batch_contexts.push_back(std::make_unique<graph::Context>(plan.executable, 1));
  Batch batch{inputs, results, plan.batch_contexts, count};
  run_team(
      [](void* work, const Team& team) {
        Batch& b = *static_cast<Batch*>(work);
        b.work(*b.contexts[static_cast<size_t>(team.rank())]);
      },
      &batch, static_cast<int>(workers));
  if (batch.failure != nullptr) std::rethrow_exception(batch.failure);
  return results;
}

ExecutionContext::ExecutionContext(const Plan& plan) {
  refuse_writers(*plan.impl().executable);
  context_ = std::make_unique<graph::Context>(plan.impl().executable, 1);
}
ExecutionContext::ExecutionContext(ExecutionContext&&) noexcept = default;
ExecutionContext& ExecutionContext::operator=(ExecutionContext&&) noexcept = default;
ExecutionContext::~ExecutionContext() = default;

std::span<const Tensor> ExecutionContext::run(std::span<const Tensor* const> inputs) { return context_->run(inputs); }
std::span<const Tensor> ExecutionContext::outputs() const { return context_->outputs(); }
const Tensor& ExecutionContext::output(std::string_view name) const {
  return outputs()[graph::output_index(context_->executable().program, name)];
}

}  // namespace ingot
