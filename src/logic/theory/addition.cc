#include "ingot/logic/addition.h"

#include "ingot/base/error.h"
#include "ingot/base/text.h"
#include "ingot/ops/ops.h"

namespace ingot::logic {

std::string addition_program(int64_t digits, int64_t height, int64_t width) {
  if (digits < 1 || digits > 18)
    throw Error(ErrorKind::kArgument, "addition: numbers of " + counted(digits, "digit") + " — from 1 to 18");
  const int n = static_cast<int>(digits);
  std::string text = formatted(
      "semantics probability.\n"
      "domain sample: batch.      domain place: %d.\n"
      "domain digit: 10.          domain position: %d.\n"
      "domain total: 19.          domain carry: 2.\n"
      "input tensor pictures[sample, place, %d, %d].\n"
      "input rel written(sample, position, digit).\n"
      "neural says(sample, place, digit) = softmax(net(pictures)).\n",
      2 * n, n + 1, static_cast<int>(height), static_cast<int>(width));
  for (int i = 0; i < n; i++) {
    text += formatted("rel total%d(sample, total).     rel carry%d(sample, carry).\n", i, i + 1);
    text += formatted("total%d(s, a + b) <- says(s, %d, a), says(s, %d, b).\n", i, i, n + i);
    text += formatted("carry%d(s, c) <- total%d(s, t), written(s, %d, d), ", i + 1, i, i);
    text += i == 0 ? "t = d + 10 * c.\n" : formatted("carry%d(s, b), t + b = d + 10 * c.\n", i);
  }
  text += formatted("right(s) <- carry%d(s, c), written(s, %d, d), d = c.\n", n, n);
  return text + "assert right: forall s: right(s).\n";
}

Tensor written_digits(const Tensor& sums, int64_t digits, DType dtype) {
  if (sums.dtype() != kI64 || sums.rank() != 1)
    throw Error(ErrorKind::kType, "addition: sums are i64 [n], not " + describe(sums));
  Tensor written = zeros({sums.size(0), digits + 1, 10}, dtype);
  for (int64_t i = 0; i < sums.size(0); i++) {
    int64_t rest = sums.at<int64_t>({i});
    if (rest < 0)
      throw Error(ErrorKind::kArgument, "addition: a sum is " + std::to_string(rest) + " — numbers are not negative");
    for (int64_t p = 0; p <= digits; p++, rest /= 10) {
      store_from_double(static_cast<std::byte*>(written.raw()) +
                            static_cast<size_t>(((i * (digits + 1) + p) * 10 + rest % 10)) * size_of(dtype),
                        dtype, 1);
    }
    if (rest > 0) throw Error(ErrorKind::kArgument, "addition: a sum has more than " + counted(digits + 1, "digit"));
  }
  return written;
}

data::Batch addition_batch(const Tensor& pictures, const Tensor& sums) {
  if (pictures.rank() != 4 || pictures.size(1) % 2 != 0)
    throw Error(ErrorKind::kShape,
                "addition: pictures are [n, 2 · digits, height, width], not " + to_string(pictures.shape()));
  data::Batch batch;
  batch.set("pictures", pictures);
  batch.set("written", written_digits(sums, pictures.size(1) / 2));
  return batch;
}

}  // namespace ingot::logic
