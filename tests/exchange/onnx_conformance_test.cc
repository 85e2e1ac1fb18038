// Every case of ONNX's conformance data passes, or is refused for a reason that onnx_refused.txt gives.
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>

#include "ingot/base/file.h"
#include "tests/exchange/onnx_cases.h"
#include "tests/test_file.h"

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

// The tables of docs/onnx.md; INGOT_WRITE=1 writes them.
std::string tables() {
  std::map<std::string, std::string> refused;
  for (const auto& [name, reason] : refused_cases()) refused[name] = reason;
  std::string text = "| cases | passed | of |\n|---|---|---|\n", ops;
  std::map<std::string, Count> by_op;
  for (const char* kind : {"node", "pytorch-converted", "pytorch-operator", "simple"}) {
    Count all;
    for (const Case& each : cases_of(kind)) {
      const bool passed = !refused.contains(std::string(kind) + "/" + each.name);
      all.cases++, all.passed += passed;
      if (std::string(kind) != "node") continue;
      for (const std::string& op : ops_of(each)) by_op[op].cases++, by_op[op].passed += passed;
    }
    text += std::string("| ") + kind + " | " + std::to_string(all.passed) + " | " + std::to_string(all.cases) + " |\n";
  }
  std::map<std::string, int> reasons;
  for (const auto& [name, reason] : refused) reasons[reason]++;
  text += "\n| refused because | cases |\n|---|---|\n";
  for (const auto& [reason, count] : reasons) text += "| " + reason + " | " + std::to_string(count) + " |\n";
  text += "\nOps with their node cases, passed of all that use them:\n";
  for (const auto& [op, count] : by_op)
    ops += (ops.empty() ? "" : ", ") + op + " " + std::to_string(count.passed) +
           (count.passed == count.cases ? "" : "/" + std::to_string(count.cases));
  return text + ops + ".\n";
}

TEST(OnnxConformance, TheDocumentSaysSo) {
  const std::string path = test_file("../docs/onnx.md"), begin = "TheDocumentSaysSo -->\n", end = "<!-- end -->";
  std::string document = read_file(path);
  const size_t from = document.find(begin) + begin.size(), to = document.find(end);
  ASSERT_LE(from, to);
  const std::string now = tables();
  if (std::getenv("INGOT_WRITE") != nullptr) write_file(path, document.substr(0, from) + now + document.substr(to));
  EXPECT_EQ(read_file(path).substr(from, now.size()), now)
      << "docs/onnx.md is not what the cases say: INGOT_WRITE=1 writes it";
}

}  // namespace
}  // namespace ingot::onnx
