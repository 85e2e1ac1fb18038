// Results and gradients that PyTorch and NumPy gave (tools/goldens.py), replayed in f64 and f32.
#include <fstream>
#include <map>
#include <sstream>

#include "tests/ops/harness.h"

namespace ingot::harness {
namespace {

struct Golden {
  std::string op;
  std::vector<std::string> attrs;  // "value real 1.5"
  std::vector<Tensor> in, out, dy, grad;
};

// "f 2 3 4 v…" after the kind; "none" gives an undefined tensor.
Tensor read_tensor(std::istringstream& line) {
  std::string type;
  line >> type;
  if (type == "none") return {};
  int rank = 0;
  line >> rank;
  Dims shape = Dims::filled(rank, 0);
  for (int64_t& size : shape) line >> size;
  Tensor t = Tensor::empty(shape, type == "f" ? kF64 : type == "b" ? kBool : kI64);
  for (int64_t i = 0; i < t.numel(); i++) {
    std::string value;
    line >> value;
    store_from_double(static_cast<char*>(t.raw()) + i * static_cast<int64_t>(size_of(t.dtype())), t.dtype(),
                      std::stod(value));
  }
  return t;
}

std::vector<Golden> read_goldens() {
  std::ifstream file(INGOT_TEST_DIR "/goldens/ops.txt");
  std::vector<Golden> goldens;
  for (std::string text; std::getline(file, text);) {
    std::istringstream line(text);
    std::string kind;
    line >> kind;
    if (kind == "op") {
      goldens.emplace_back();
      line >> goldens.back().op;
    } else if (kind == "attr") {
      goldens.back().attrs.push_back(text.substr(5));
    } else {
      Golden& g = goldens.back();
      (kind == "in" ? g.in : kind == "out" ? g.out : kind == "dy" ? g.dy : g.grad).push_back(read_tensor(line));
    }
  }
  return goldens;
}

// Names and texts of the attributes point into `texts`, which must stay.
Attrs read_attrs(const Golden& g, DType dtype, std::vector<std::string>& texts) {
  Attrs attrs;
  texts.reserve(2 * g.attrs.size());
  for (const std::string& text : g.attrs) {
    std::istringstream line(text);
    std::string kind;
    std::string& name = texts.emplace_back();
    line >> name >> kind;
    std::string& value = texts.emplace_back();
    line >> value;
    if (kind == "int") {
      attrs.set(name, static_cast<int64_t>(std::stoll(value)));
    } else if (kind == "real") {
      attrs.set(name, std::stod(value));
    } else if (kind == "text") {
      attrs.set(name, std::string_view(value));
    } else if (kind == "dtype") {
      attrs.set(name, value == "F" ? dtype : value == "i64" ? kI64 : kBool);
    } else {
      Dims list = Dims::filled(std::stoi(value), 0);
      for (int64_t& v : list) line >> v;
      attrs.set(name, list);
    }
  }
  return attrs;
}

std::vector<Tensor> in_type(const std::vector<Tensor>& tensors, DType dtype) {
  std::vector<Tensor> result;
  for (const Tensor& t : tensors)
    result.push_back(t.defined() && t.dtype() == kF64 ? mapped(
                                                            t, [](double v, size_t) { return v; }, dtype)
                                                      : t);
  return result;
}

class GoldenTest : public testing::TestWithParam<std::string> {};

TEST_P(GoldenTest, AgreesWithPyTorch) {
  static const std::vector<Golden> goldens = read_goldens();
  const Op* op = find_op(GetParam());
  ASSERT_NE(op, nullptr) << "the goldens know an op that the table does not: " << GetParam();
  for (const Golden& g : goldens) {
    if (g.op != GetParam()) continue;
    for (DType dtype : {kF64, kF32}) {
      std::vector<std::string> texts;
      const Case c{op, in_type(g.in, dtype), read_attrs(g, dtype, texts)};
      // The file has 13 digits.
      const Tolerance tolerance = dtype == kF64 ? Tolerance{2000, 2000} : Tolerance{32, 32};
      const std::vector<Tensor> results = run(c), expected = in_type(g.out, dtype);
      ASSERT_EQ(results.size(), expected.size()) << describe(c);
      for (size_t i = 0; i < results.size(); i++)
        ASSERT_TRUE(close(results[i], expected[i], tolerance)) << describe(c) << ", result " << i;
      if (g.grad.empty()) continue;
      const std::vector<Tensor> found = gradient(*op, c.pointers(), c.attrs, results, in_type(g.dy, dtype), {});
      const std::vector<Tensor> slopes = in_type(g.grad, dtype);
      for (size_t i = 0; i < slopes.size(); i++) {
        ASSERT_EQ(found[i].defined(), slopes[i].defined()) << describe(c) << ", gradient of input " << i;
        if (found[i].defined()) {
          ASSERT_TRUE(close(found[i], slopes[i], {4 * tolerance.ulps, 4 * tolerance.scaled}, 1))
              << describe(c) << ", gradient of input " << i;
        }
      }
    }
  }
}

std::vector<std::string> golden_ops() {
  std::map<std::string, int> names;
  for (const Golden& g : read_goldens()) names[g.op]++;
  std::vector<std::string> result;
  for (const auto& [name, count] : names) result.push_back(name);
  return result;
}

INSTANTIATE_TEST_SUITE_P(Op, GoldenTest, testing::ValuesIn(golden_ops()), [](const auto& test) { return test.param; });

// Every op has a golden, or there is a reason.
TEST(GoldenFile, CoversTheTable) {
  const std::map<std::string, const char*> without = {
      {"uniform", "random"},     {"normal", "random"},  {"bernoulli", "random"},
      {"permutation", "random"}, {"dropout", "random"}, {"map", "the user's own function"},
  };
  const std::vector<std::string> names = golden_ops();
  std::string missing;
  for (const Op* op : all_ops()) {
    const std::string name = op->name;
    const bool is_gradient = name.ends_with("_grad");  // what their op's gradient runs
    if (!is_gradient && without.count(name) == 0 && std::find(names.begin(), names.end(), name) == names.end())
      missing += " " + name;
  }
  EXPECT_TRUE(missing.empty()) << "no golden for:" << missing << " — add cases to tools/goldens.py";
}

}  // namespace
}  // namespace ingot::harness
