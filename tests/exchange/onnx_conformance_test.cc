// Every case of ONNX's conformance data passes, or is refused for a reason that onnx_refused.txt gives.
#include <gtest/gtest.h>

#include <map>

#include "tests/exchange/onnx_cases.h"

namespace ingot::onnx {
namespace {

struct Count {
  int cases = 0, passed = 0;
};

Count run_all(const std::string& kind) {
  std::map<std::string, std::string> refused;
  for (const auto& [name, reason] : refused_cases()) refused[name] = reason;
  Count count;
  for (const Case& each : cases_of(kind)) {
    const std::string problem = problem_of(each), name = kind + "/" + each.name;
    count.cases++;
    count.passed += problem.empty();
    if (refused.contains(name))
      EXPECT_NE(problem, "") << name << " passes: take it off the list of those that are refused";
    else
      EXPECT_EQ(problem, "") << name;
  }
  return count;
}

constexpr const char* kMissing = "the cases are not there — install Debian's package libonnx-testdata";

TEST(OnnxConformance, Node) {
  const Count count = run_all("node");
  ASSERT_EQ(count.cases, 932) << kMissing;
  EXPECT_GE(count.passed, 720);
}

TEST(OnnxConformance, PyTorch) {
  const Count converted = run_all("pytorch-converted"), operators = run_all("pytorch-operator");
  ASSERT_EQ(converted.cases + operators.cases, 117) << kMissing;
  EXPECT_GE(converted.passed + operators.passed, 115);
}

TEST(OnnxConformance, Simple) {
  const Count count = run_all("simple");
  ASSERT_EQ(count.cases, 23) << kMissing;
  EXPECT_GE(count.passed, 9);
}

}  // namespace
}  // namespace ingot::onnx
