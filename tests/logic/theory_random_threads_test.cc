// Random programs as theories: what the exact engine computes, by plans with any passes left out, on any number of threads.
#include <gtest/gtest.h>

#include <map>

#include "ingot/base/threads.h"
#include "ingot/graph/plan.h"
#include "ingot/logic/theory.h"
#include "tests/logic/gradients.h"
#include "tests/logic/random_rules.h"
#include "tests/sanitized.h"

namespace ingot::logic {
namespace {

constexpr int64_t kValues = 6;

// Relations of the heads, with their columns.
std::map<std::string, size_t> heads_of(const std::string& program) {
  std::map<std::string, size_t> heads;
  for (size_t i = 0; i < program.size(); i = program.find('\n', i) + 1) {
    if (program[i] != 'p') continue;
    const std::string head = program.substr(i, program.find(')', i) - i);
    heads[head.substr(0, 3)] = 1 + static_cast<size_t>(std::count(head.begin(), head.end(), ','));
  }
  return heads;
}

TEST(TheoryRandom, BooleanTheoriesAreTheExactEngine) {
  const int threads_before = threads();
  std::vector<std::string> passes;
  for (const char* name : pass_names()) passes.emplace_back(name);
  uint64_t facts_in_all = 0;
  for (uint64_t seed = 1; seed <= (kSanitized ? 10 : 80); seed++) {
    cases::Draw r(seed);
    const std::string program = cases::random_rules(r);
    const std::string rules = program.substr(program.find('\n') + 1);
    std::string facts;
    for (int64_t i = 0; i < 4 + r(6); i++) {
      facts += "e(" + std::to_string(r(kValues)) + ", " + std::to_string(r(kValues)) + "). ";
      facts += "f(" + std::to_string(r(kValues)) + "). ";
      facts += "g2(" + std::to_string(r(kValues)) + ", " + std::to_string(r(kValues)) + ").\n";
    }
    std::string text = "semantics boolean. domain v: 6. rel e(v, v). rel f(v). rel g2(v, v).\n";
    const auto heads = heads_of(rules);
    for (const auto& [name, columns] : heads) {
      text += "rel " + name + "(v";
      for (size_t c = 1; c < columns; c++) text += ", v";
      text += "). ";
    }
    text += "\n" + rules + facts;
    Engine engine(Program::parse(program + facts));
    engine.run();
    const Theory theory = Theory::parse(text);
    std::vector<std::string> without;
    for (const std::string& pass : passes)
      if (r(2) == 0) without.push_back(pass);
    const int workers = static_cast<int>(seed % 3) + 1;
    set_threads(workers);
    Plan plan = compile(
        [&] {
          std::vector<NamedTensor> all;
          for (const auto& [name, columns] : heads) all.push_back({name, theory(name)});
          return all;
        },
        {}, {.without = without, .threads = workers});
    plan.run();
    for (const auto& [name, columns] : heads) {
      const std::vector<double> truths = numbers(plan.output(name));
      std::vector<double> expected(truths.size(), 0);
      for (const auto& fact : engine.facts(name)) {
        size_t at = 0;
        for (const std::string& word : fact) at = at * kValues + std::stoul(word);
        expected.at(at) = 1;
        facts_in_all++;
      }
      EXPECT_EQ(truths, expected) << name << ", seed " << seed << ", " << workers << " threads, in\n" << text;
    }
  }
  set_threads(threads_before);
  EXPECT_GT(facts_in_all, kSanitized ? 20u : 500u);
}

}  // namespace
}  // namespace ingot::logic
