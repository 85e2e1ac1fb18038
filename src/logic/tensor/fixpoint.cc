#include "ingot/logic/fixpoint.h"

#include "ingot/base/error.h"
#include "ingot/base/text.h"
#include "ingot/logic/algebra.h"

namespace ingot::logic {

std::vector<Tensor> fixpoint(const LoopBody& rules, Tensors facts, std::string_view name,
                             const FixpointOptions& options) {
  const Algebra& own = algebra(name);
  if (name == "p-mean")
    throw Error(ErrorKind::kArgument, options.name +
                                          ": a p-mean of what is known and what is new is not the p-mean of "
                                          "both — choose an algebra in which two truths add up");
  std::vector<Tensor> known;
  for (size_t i = 0; i < facts.size(); i++) known.push_back(facts[i]);
  const auto round = [&](std::span<const Tensor> x) {
    std::vector<Tensor> next = rules(x);
    if (next.size() != known.size())
      throw Error(ErrorKind::kArgument, options.name + ": the rules make " + counted(std::ssize(next), "relation") +
                                            " of " + std::to_string(known.size()) + " — return one for each");
    // What is known comes first: of two that are equal, the fact is the witness.
    for (size_t i = 0; i < next.size(); i++) next[i] = plus(known[i], next[i], name);
    return next;
  };
  return loop(round, Tensors(known),
              {.stop = own.idempotent ? LoopOptions::Stop::kEqual : LoopOptions::Stop::kClose,
               .gradient = options.gradient,
               .epsilon = options.epsilon,
               .most = options.most,
               .name = options.name})
      .values;
}

Tensor fixpoint(const std::function<Tensor(const Tensor&)>& rules, const Tensor& facts, std::string_view algebra,
                const FixpointOptions& options) {
  return fixpoint([&](std::span<const Tensor> x) { return std::vector<Tensor>{rules(x[0])}; }, {facts}, algebra,
                  options)[0];
}

}  // namespace ingot::logic
