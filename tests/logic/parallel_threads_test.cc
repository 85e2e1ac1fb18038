// More threads, the same facts in the same order.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "ingot/base/error.h"
#include "ingot/base/file.h"
#include "ingot/base/threads.h"
#include "logic/shards.h"
#include "tests/error_of.h"
#include "tests/logic/random_rules.h"
#include "tests/sanitized.h"

namespace ingot::logic {
namespace {

TEST(LogicThreads, BestPathsAreTheSameOnAnyNumber) {
  const int before = threads();
  cases::Draw r(3);
  cases::Facts edges;
  for (int i = 0; i < 900; i++) edges.insert(edges.end(), {r(150), r(150), 1 + r(50)});
  const auto program = Program::parse(cases::all_pairs().program, Dialect::kSouffle);
  std::vector<std::vector<std::string>> expected;
  for (const int n : {1, 2, 3}) {
    set_threads(n);
    Engine e(program);
    e.add("e", edges);
    e.run();
    if (n == 1) expected = e.facts("d");
    EXPECT_EQ(e.facts("d"), expected) << n << " threads";
  }
  EXPECT_GT(expected.size(), 10000u);
  set_threads(before);
}

class SharedRounds : public ::testing::Test {
 protected:
  void SetUp() override { shared_from = 1; }
  void TearDown() override {
    shared_from = shared_before_;
    set_threads(threads_before_);
  }

  using Inputs = std::vector<std::pair<std::string, cases::Facts>>;
  struct Result {
    std::vector<std::vector<std::vector<std::string>>> facts;
    std::vector<uint64_t> found;  // by rules: rounds are the same, too
  };
  static Result result(const Program& program, const Inputs& inputs, int threads, std::vector<std::string> without) {
    set_threads(threads);
    Engine e(program, {.without = std::move(without)});
    for (const auto& [relation, facts] : inputs) e.add(relation, facts);
    e.run();
    Result r;
    for (const std::string& name : e.relations()) r.facts.push_back(e.facts(name));
    for (const RuleProfile& p : e.profile()) r.found.insert(r.found.end(), {p.facts, static_cast<uint64_t>(p.rounds)});
    return r;
  }

  // Every method may be missing, and there may be any number of threads.
  static void expect_the_same(const std::string& text, const Inputs& inputs, Dialect dialect = Dialect::kRules) {
    const Program program = Program::parse(text, dialect);
    std::vector<std::string> all;
    for (const Method& m : methods()) all.emplace_back(m.name);
    const Result expected = result(program, inputs, 1, all);
    for (size_t some = 0; some < (1u << all.size()); some++) {
      std::vector<std::string> without;
      for (size_t m = 0; m < all.size(); m++)
        if ((some >> m & 1) != 0) without.push_back(all[m]);
      std::vector<uint64_t> found;
      for (const int n : {1, 2, 3}) {
        const Result r = result(program, inputs, n, without);
        ASSERT_EQ(r.facts, expected.facts) << n << " threads, methods left out: " << some << "\n" << text;
        if (n == 1) found = r.found;
        ASSERT_EQ(r.found, found) << n << " threads, methods left out: " << some << "\n" << text;
      }
    }
  }

 private:
  const uint64_t shared_before_ = shared_from;
  const int threads_before_ = threads();
};

TEST_F(SharedRounds, RandomPrograms) {
  for (uint64_t seed = 1; seed <= (kSanitized ? 10 : 60); seed++) {
    cases::Draw r(seed * 104729);
    const std::string text = cases::random_rules(r);
    Inputs inputs = {{"e", {}}, {"f", {}}, {"g2", {}}};
    const auto values = static_cast<uint64_t>(4 + r(8));
    for (int i = 0; i < 12; i++) {
      inputs[0].second.insert(inputs[0].second.end(), {r(values), r(values)});
      inputs[1].second.push_back(r(values));
      inputs[2].second.insert(inputs[2].second.end(), {r(values), r(values)});
    }
    expect_the_same(text, inputs);
    if (HasFatalFailure()) return;
  }
}

TEST_F(SharedRounds, RowsThatBecomeBits) {
  cases::Draw r(5);
  Inputs inputs = {{"addr", {}}, {"copy", {}}, {"load", {}}, {"store", {}}};
  const uint64_t n = kSanitized ? 120 : 400;
  const auto some = [&](size_t relation, uint64_t count) {
    for (uint64_t i = 0; i < count; i++) {
      const int64_t left = r(n);
      inputs[relation].second.insert(inputs[relation].second.end(),
                                     {left, (left + 1 + r(20)) % static_cast<int64_t>(n)});
    }
  };
  some(0, n / 3), some(1, n / 2), some(2, n / 10), some(3, n / 10);
  expect_the_same(cases::points_to().program, inputs, Dialect::kSouffle);
}

// A file that is large enough to be read by several, with lines that are not plain numbers here and there.
TEST_F(SharedRounds, FilesAreReadTheSame) {
  const auto folder = std::filesystem::temp_directory_path() / ("ingot-shared-" + std::to_string(getpid()));
  std::filesystem::create_directories(folder);
  const auto program = Program::parse("input rel e(number, number) \"e.tsv\".");
  cases::Draw r(3);
  for (const char* odd : {"", "-5\t7\n", "1\t12345678901\n", "3\t4\r\n", "\n"}) {
    std::string text;
    for (int i = 0; i < 120'000; i++) {
      text += std::to_string(r(100'000)) + "\t" + std::to_string(r(1000)) + "\n";
      if (i == 70'000) text += odd;
    }
    text += "8\t9";  // no newline behind it
    write_file((folder / "e.tsv").string(), text);
    std::vector<std::vector<std::string>> expected;
    for (const int n : {1, 2, 3}) {
      set_threads(n);
      Engine e(program, {.facts = folder.string()});
      e.load();
      if (n == 1) expected = e.facts("e");
      EXPECT_EQ(e.facts("e"), expected) << n << " threads";
      EXPECT_TRUE(e.contains("e", {"8", "9"}));
    }
    EXPECT_GT(expected.size(), 110'000u);
    write_file((folder / "e.tsv").string(), text + "\n1\t2\t3\n");
    Engine e(program, {.facts = folder.string()});
    const std::string line = odd[0] == '\0' ? "120002" : "120003";
    EXPECT_REFUSED(e.load(), "e.tsv:" + line + ": more columns");
  }
  std::filesystem::remove_all(folder);
}

TEST_F(SharedRounds, ALimitOrAStopInAWorkerIsAnError) {
  set_threads(3);
  const auto program = Program::parse(
      "rel e(number, number). s(x, y) <- e(p, x), e(p, y). s(x, y) <- s(a, b), e(a, x), e(b, y). t(x) <- s(x, x).");
  cases::Facts edges;
  for (int64_t i = 2; i < 4000; i++) edges.insert(edges.end(), {i / 2, i});
  Engine small(program, {.memory_limit = 400'000});
  small.add("e", edges);
  try {
    small.run();
    FAIL() << "took " << small.peak_bytes();
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::kMemory);
  }
  std::atomic<bool> cancel{true};
  Engine stopped(program, {.cancel = &cancel});
  stopped.add("e", edges);
  try {
    stopped.run();
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::kCancelled);
  }
}

}  // namespace
}  // namespace ingot::logic
