// Rules on tensors: how far friends are apart, as a contraction over min and +; and who smokes, learned from one fact and
// the rule that friends of smokers smoke.
#include <ingot/ingot.h>
#include <ingot/logic/algebra.h>
#include <ingot/logic/truth.h>

#include <cstdio>
#include <limits>

using namespace ingot;

int main() {
  constexpr int64_t kPeople = 6;  // in a row, each a friend of the next
  Tensor far = full({kPeople, kPeople}, std::numeric_limits<double>::infinity()),
         friends = zeros({kPeople, kPeople}, kBool);
  for (int64_t i = 0; i < kPeople; i++) {
    far.at<float>({i, i}) = 0;
    for (const int64_t j : {i - 1, i + 1})
      if (j >= 0 && j < kPeople) far.at<float>({i, j}) = 1, friends.at<bool>({i, j}) = true;
  }
  for (int64_t hops = 1; hops < kPeople; hops *= 2) far = logic::contract({far, far}, "xy,yz->xz", "min-plus");
  std::printf("from the first to the last: %g friends\n", far.at<float>({0, kPeople - 1}));

  Tensor logits = zeros({kPeople});
  const auto unsatisfied = [&] {
    const Tensor smokes = sigmoid(logits), x = unsqueeze(smokes, 1), y = unsqueeze(smokes, 0);
    const Tensor rule = logic::for_all(logic::implication(x, y), {}, {}, friends);
    return 1.0 - logic::conjunction(rule, select(smokes, 0, 0));
  };
  for (int step = 0; step < 400; step++) {
    const ValueAndGrad now = value_and_grad(unsatisfied, {logits});
    logits = logits - 2.0 * now.gradients[0];
  }
  const Tensor smokes = sigmoid(logits);
  std::printf("truths of \"smokes\": %s\n", to_string(smokes).c_str());
  return far.at<float>({0, kPeople - 1}) == kPeople - 1 && min(smokes).item<float>() > 0.9F ? 0 : 1;
}
