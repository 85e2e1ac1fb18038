#!/usr/bin/env bash
# check_refusals.sh CXX INCLUDE_DIR: programs that cannot work are refused in a few lines, with the sentence that helps in them.
set -euo pipefail
cxx=$1 include=$2 failed=0

# refused SENTENCE STATEMENT: the statement does not compile, and says why.
refused() {
  local source="#include <ingot/ingot.h>
#include <ingot/nn.h>
using namespace ingot;
int main() {
  Tensor w = ones({2});
  ParameterSlab slab({{\"w\", &w}});
  nn::Sequential net;
  $2;
}"
  if said=$("$cxx" -std=c++20 -fsyntax-only -I "$include" -x c++ - <<<"$source" 2>&1); then
    printf 'compiles: %s\n' "$2"
    failed=1
  elif ! grep -qF "$1" <<<"$said" || (($(wc -l <<<"$said") > 15)); then
    printf 'not in 15 lines with "%s": %s\n%s\n' "$1" "$2" "$(head -40 <<<"$said")"
    failed=1
  fi
}

tensors='every parameter of the function must be a const Tensor& or a Tensor'
refused "$tensors" 'compile([&](Tensor& a) { return a + w; }, {{2}})'
refused "$tensors" 'compile([&](int) { return w; }, {{2}})'
refused "$tensors" 'compile([&](const Tensor& a, double b) { return a * b; }, {{2}})'
refused "$tensors" 'compile(5, {{2}})'
refused "$tensors" 'PlanCache cache([&](Tensor& a) { return a; }, 1)'
refused "$tensors" 'TrainStep step([&](Tensor& a) { return mean(a * w); }, slab, optim::Sgd{}, {{2}})'
refused "$tensors" 'nn::train_step(net, [&](Tensor& a) { return mean(net(a)); }, optim::Sgd{}, {{2, 2}})'
refused "$tensors" 'nn::summary(net, [&](Tensor& a) { return net(a); }, {{2, 2}})'
results='the function must return a Tensor, a list of Tensors'
refused "$results" 'compile([&](const Tensor&) { return 1; }, {{2}})'
refused "$results" 'TrainStep step([&](const Tensor&) { return 1.0f; }, slab, optim::Sgd{}, {{2}})'
refused "$results" 'nn::Trainer trainer(net, [](const data::Batch&) { return "loss"; }, optim::Sgd{})'
refused 'must take one const data::Batch&' 'nn::Trainer trainer(net, [&](const Tensor& x) { return mean(net(x)); }, optim::Sgd{})'
refused 'write std::move(layer)' 'nn::Linear layer(2, 2); nn::Sequential other{layer}'
exit $failed
