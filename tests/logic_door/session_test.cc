// What a REPL answers, line by line.
#include "logic/door/session.h"

#include <gtest/gtest.h>

namespace ingot::logic::door {
namespace {

TEST(Session, StatementsStayAndQueriesAreAnswered) {
  Session s({});
  EXPECT_EQ(s.line("edge(1, 2). edge(2, 3)."), "");
  EXPECT_EQ(s.line("path(x, y) <- edge(x, y)."), "");
  EXPECT_EQ(s.line("path(x, z) <- path(x, y),"), "");
  EXPECT_TRUE(s.unfinished());
  EXPECT_EQ(s.line("  edge(y, z)."), "");
  EXPECT_FALSE(s.unfinished());
  EXPECT_EQ(s.line("path(1, x)?"), "path(1, x)?\n  x = 2\n  x = 3\n");
  EXPECT_EQ(s.line("path(3, 1)?"), "path(3, 1)?\n  no\n");
  EXPECT_EQ(s.line("edge(3, 1)."), "");
  EXPECT_EQ(s.line("path(3, 1)?"), "path(3, 1)?\n  yes\n");
}

TEST(Session, FactsAndQueriesOnOneLine) {
  Session s({});
  EXPECT_EQ(s.line("edge(1, 2).  # a fact. And more?"), "");
  EXPECT_EQ(s.line("# nothing"), "");
  EXPECT_EQ(s.line("name(\"#1 // x\"). name(x)?"), "name(x)?\n  x = #1 // x\n");
  EXPECT_EQ(s.line("two(x) <-   // goes on"), "");
  EXPECT_EQ(s.line("# not yet"), "");
  EXPECT_TRUE(s.unfinished());
  EXPECT_EQ(s.line("edge(_, x)."), "");
  EXPECT_EQ(s.line("edge(1, 2). edge(2, 3). name(\"a. b\"). edge(x, 3)?"), "edge(x, 3)?\n  x = 2\n");
  EXPECT_EQ(s.line("edge(x, 2)? name(x)?"), "edge(x, 2)?\n  x = 1\nname(x)?\n  x = #1 // x\n  x = a. b\n");
  EXPECT_EQ(s.line("explain edge(1, 2)?"), "edge(1, 2)   given\n");
}

TEST(Session, MistakesChangeNothing) {
  Session s({});
  s.line("p(1).");
  EXPECT_NE(s.line("q(x) <- r(x).").find("nothing says what \"r\" is"), std::string::npos);
  EXPECT_NE(s.line("p(y)?").find("y = 1"), std::string::npos);
  s.line("q(x) <- p(x),");
  EXPECT_EQ(s.line(""), "forgotten\n");
  EXPECT_NE(s.line("p(y)?").find("y = 1"), std::string::npos);
}

TEST(Session, Commands) {
  Session s({});
  s.line("p(1). q(x) <- p(x).");
  EXPECT_NE(s.line(":plan").find("stratum"), std::string::npos);
  EXPECT_NE(s.line(":profile").find("q(x) <- p(x)"), std::string::npos);
  EXPECT_NE(s.line(":explain q(1)").find("given"), std::string::npos);
  EXPECT_NE(s.line("explain q(1)?").find("given"), std::string::npos);
  EXPECT_NE(s.line(":relations").find('q'), std::string::npos);
  EXPECT_NE(s.line(":pln").find("did you mean \":plan\"?"), std::string::npos);
  EXPECT_EQ(s.line(":quit"), "");
  EXPECT_TRUE(s.finished());
}

TEST(Session, Completions) {
  Session s({});
  s.line("domain person = {ann, anton}. path(x, y) <- parent(x, y). parent(ann, \"a b\").");
  const auto words = [&](const std::string& text) { return s.completions(text).words; };
  EXPECT_EQ(words(":ex"), (std::vector<std::string>{":explain"}));
  EXPECT_EQ(words("pa"), (std::vector<std::string>{"parent", "path"}));
  EXPECT_EQ(words("path(an"), (std::vector<std::string>{"ann", "anton"}));
  EXPECT_EQ(s.completions("path(an").from, 5u);
  EXPECT_EQ(words("x <- no"), (std::vector<std::string>{"not"}));
  s.line("q(x) <-");
  EXPECT_EQ(words(":ex"), std::vector<std::string>{"explain"});  // inside a statement it is no command
  s.forget();
  EXPECT_FALSE(s.unfinished());
}

TEST(Session, InterruptedQueriesLeaveTheSession) {
  std::atomic<bool> cancel{true};
  Session s({.cancel = &cancel});
  s.line("p(1). p(y) <- p(x), y = x + 1, x < 100000000.");
  EXPECT_NE(s.line("p(y)?").find("stopped"), std::string::npos);
  cancel = false;
  s.line("q(1).");
  EXPECT_FALSE(s.finished());
}

TEST(Session, AnUnfinishedStatementAtTheEndIsAMistake) {
  Session s({});
  EXPECT_EQ(s.line("p(1)."), "");
  EXPECT_EQ(s.end(), "");
  EXPECT_FALSE(s.failed());
  EXPECT_EQ(s.line("p(2"), "");
  EXPECT_NE(s.end().find("end of the text"), std::string::npos);
  EXPECT_TRUE(s.failed());
}

}  // namespace
}  // namespace ingot::logic::door
