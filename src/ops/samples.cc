#include "ingot/ops/samples.h"

#include <cmath>

#include "ops/elementwise.h"

namespace ingot {

uint64_t Samples::next() {  // splitmix64
  uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

Tensor Samples::real(const Dims& shape, double low, double high) {
  Tensor t = Tensor::empty(shape, dtype_);
  char* p = static_cast<char*>(t.raw());
  for (int64_t i = 0; i < t.numel(); i++, p += size_of(dtype_))
    store_from_double(p, dtype_, low + (high - low) * static_cast<double>(next() >> 11) * 0x1p-53);
  return t;
}

double Samples::number(double value) const {
  return !is_integer(dtype_) ? value : dtype_ == kU8 ? std::ceil(std::abs(value)) : std::ceil(value);
}

Tensor Samples::indices(const Dims& shape, int64_t low, int64_t high, DType dtype) {
  Tensor t = Tensor::empty(shape, dtype);
  char* p = static_cast<char*>(t.raw());
  for (int64_t i = 0; i < t.numel(); i++, p += size_of(dtype))
    store_from_double(p, dtype,
                      static_cast<double>(low + static_cast<int64_t>(next() % static_cast<uint64_t>(high - low))));
  return t;
}

Tensor Samples::mask(const Dims& shape) { return indices(shape, 0, 2, kBool); }

void sample_elementwise(Samples& s) {
  // One row per shape of the operands; unary ops use the first. The attributes are all reals, in signature order.
  static const Dims kShapes[][3] = {{{}, {}, {}},
                                    {{1}, {1}, {1}},
                                    {{0, 3}, {0, 3}, {0, 3}},
                                    {{7}, {7}, {7}},
                                    {{33}, {33}, {33}},
                                    {{3, 5}, {3, 5}, {3, 5}},
                                    {{4, 1}, {1, 6}, {6}},
                                    {{2, 3, 4}, {4}, {3, 1}},
                                    {{5}, {2, 1, 5}, {2, 1, 1}},
                                    {{1, 1}, {70}, {70, 1}},
                                    {{2, 1, 3, 1}, {4, 1, 5}, {}},
                                    {{300, 3}, {3}, {300, 1}}};
  const Op& op = s.op();
  const int inputs = op.signature.input_count();
  Attrs attrs;
  for (int i = 0; i < op.signature.attr_count(); i++) attrs.set(op.signature.attr(i).name, s.number(0.75 + 0.5 * i));
  for (const auto& shapes : kShapes) {
    std::vector<Tensor> operands;
    for (int i = 0; i < inputs; i++) operands.push_back(inputs == 3 && i == 0 ? s.mask(shapes[i]) : s.real(shapes[i]));
    s.add(std::move(operands), attrs);
  }
}

}  // namespace ingot
