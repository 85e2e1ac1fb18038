// Random programs: ops of the table on random views of two pools of numbers, each step compared with the plain
// reference (INGOT_SIMD=scalar) on the same operands. INGOT_FUZZ_SEED and INGOT_FUZZ_PROGRAMS choose others, or more.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>

#include "ingot/base/error.h"
#include "ingot/base/simd.h"
#include "tests/ops/harness.h"

namespace ingot::harness {
namespace {

constexpr int64_t kPool = 6000;  // elements

int64_t setting(const char* name, int64_t otherwise) {
  const char* text = std::getenv(name);
  return text != nullptr ? std::atoll(text) : otherwise;
}

// Runs on the scalar path, whatever happens.
template <class F>
auto plainly(F&& f) {
  struct Restore {
    Simd before = simd();
    ~Restore() { set_simd(before); }
  } restore;
  set_simd(Simd::kScalar);
  return f();
}

// One random program: numbers in a pool per type that later steps read and earlier results were written to.
class Program {
 public:
  explicit Program(uint64_t seed) : random_(seed) {
    for (DType type : {kF32, kF64, kI32, kI64, kU8, kBool}) pools_.push_back(random_.tensor({kPool}, type, -3, 3));
  }

  testing::AssertionResult step() {
    const std::span<const Op* const> ops = all_ops();
    const Op& op = *ops[static_cast<size_t>(random_.below(std::ssize(ops)))];
    const std::vector<DType> types = types_of(op);
    const std::vector<Case> cases = cases_of(op, types[static_cast<size_t>(random_.below(std::ssize(types)))]);
    Case c = cases[static_cast<size_t>(random_.below(std::ssize(cases)))];
    if (op.tile != nullptr && random_.chance(0.5)) broadcast_anew(c);
    if (random_.chance(0.2)) change(c, random_);
    std::vector<Placed> kept;
    for (Tensor& t : c.inputs) {
      if (!t.defined()) continue;
      if (is_float(t.dtype()) && t.numel() > 0 && t.numel() < kPool / 4) {
        t = view_of_pool(t.dtype(), t.shape());
      } else {
        kept.emplace_back(t, kDestinationLayouts[random_.below(std::ssize(kDestinationLayouts))]);
        t = kept.back().tensor();
      }
    }
    return compare(c) << "\n  in " << describe(c) << strides_of(c);
  }

 private:
  Tensor& pool(DType type) { return pools_[static_cast<size_t>(type)]; }

  // Shapes that broadcast to one random shape.
  void broadcast_anew(Case& c) {
    Dims shape;
    for (int64_t rank = random_.below(5); rank > 0; rank--)
      shape.push_back(random_.chance(0.05) ? 0 : 1 + random_.below(7));
    for (Tensor& t : c.inputs) {
      Dims own = shape;
      for (int64_t& size : own)
        if (random_.chance(0.25)) size = 1;
      while (!own.empty() && random_.chance(0.2)) own.erase(0);
      t = random_.tensor(own, t.dtype(), t.dtype() == kBool ? 0 : c.op->low, t.dtype() == kBool ? 2 : c.op->high);
    }
  }

  // Any strides that stay inside: repeated, negative, crossing, overlapping.
  Tensor view_of_pool(DType type, const Dims& shape) {
    Dims strides = Dims::filled(shape.size(), 0);
    int64_t low = 0, high = 0;  // reach of the view, in elements
    int64_t step = 1;
    for (int a = shape.size() - 1; a >= 0; a--) {
      int64_t stride = random_.chance(0.6) ? step : random_.below(9) - 4;
      const int64_t reach = stride * (shape[a] - 1);
      if (std::max(high, high + reach) - std::min(low, low + reach) >= kPool) stride = 0;
      strides[a] = stride;
      (stride < 0 ? low : high) += stride * (shape[a] - 1);
      step *= shape[a];
      if (random_.chance(0.1)) step += random_.below(4);
    }
    const int64_t first = -low + random_.below(kPool - (high - low));
    const Tensor& from = pool(type);
    return from.view(static_cast<char*>(from.raw()) + first * static_cast<int64_t>(size_of(type)), shape, strides);
  }

  testing::AssertionResult compare(const Case& c) {
    std::string refused, refused_plainly;
    std::vector<Tensor> expected;
    std::vector<Placed> out;
    try {
      if (too_large(infer(c))) return testing::AssertionSuccess();
    } catch (const Error&) {  // as the calls will say
    }
    try {
      expected = plainly([&] { return run(c); });
    } catch (const Error& e) {
      refused_plainly = e.what();
    }
    try {
      out = destinations(c, kDestinationLayouts[random_.below(std::ssize(kDestinationLayouts))]);
      run_into(c, tensors_of(out));
    } catch (const Error& e) {
      refused = e.what();
    }
    if (refused.empty() != refused_plainly.empty())
      return testing::AssertionFailure() << "one path refused: \"" << refused << "\", \"" << refused_plainly << "\"";
    if (!refused.empty()) return testing::AssertionSuccess();
    const Attr* eps = c.attrs.find("eps");  // normalising nearly constant numbers magnifies rounding errors
    if (eps != nullptr && eps->real == 0) return testing::AssertionSuccess();  // without bound: 0 / 0 or noise / noise
    const double slack = eps != nullptr ? std::max(256 / std::sqrt(std::max(eps->real, 1e-12)), 4.0) : 4;
    if (testing::AssertionResult r = agrees(c, tensors_of(out), expected, slack); !r) return r;
    for (const Placed& p : out)
      if (testing::AssertionResult r = p.surroundings_untouched(); !r) return r;
    for (const Placed& p : out) keep(p.tensor());
    return testing::AssertionSuccess();
  }

  // Writes a result to a random place of its pool, tamed so that numbers stay where errors can be measured.
  void keep(const Tensor& result) {
    if (!is_float(result.dtype())) return;
    const std::vector<double> values = values_of(result);
    Tensor& to = pool(result.dtype());
    const size_t at = static_cast<size_t>(random_.below(kPool));
    for (size_t i = 0; i < values.size() && at + i < static_cast<size_t>(kPool); i++) {
      const double v = values[i];
      store_from_double(static_cast<char*>(to.raw()) + (at + i) * size_of(to.dtype()), to.dtype(),
                        !std::isfinite(v)  ? 0.5
                        : std::fabs(v) < 4 ? v
                                           : std::fmod(v, 4));
    }
  }

  static std::string strides_of(const Case& c) {
    std::string text = ", strides";
    for (const Tensor& t : c.inputs) text += t.defined() ? " " + to_string(t.strides()) : " none";
    return text;
  }

  Random random_;
  std::vector<Tensor> pools_;
};

TEST(FuzzSlow, RandomProgramsAgreeWithReference) {
  if (simd() == Simd::kScalar) GTEST_SKIP() << "this is the reference itself";
  const uint64_t seed = static_cast<uint64_t>(setting("INGOT_FUZZ_SEED", 1));
  const int64_t programs = setting("INGOT_FUZZ_PROGRAMS", 4000);
  std::printf("INGOT_FUZZ_SEED=%llu INGOT_FUZZ_PROGRAMS=%lld\n", static_cast<unsigned long long>(seed),
              static_cast<long long>(programs));
  int failures = 0;
  for (int64_t p = 0; p < programs && failures < 10; p++) {
    Program program(seed * 1000003 + static_cast<uint64_t>(p));
    for (int step = 0; step < 25; step++) {
      const testing::AssertionResult result = program.step();
      EXPECT_TRUE(result) << "program " << p << " of seed " << seed << ", step " << step;
      if (result) continue;
      failures++;
      break;
    }
  }
}

}  // namespace
}  // namespace ingot::harness
