// What is refused, where the message points, and what it says.
#include <gtest/gtest.h>

#include "ingot/logic/program.h"
#include "tests/error_of.h"

namespace ingot::logic {
namespace {

std::string refused(const std::string& text, Dialect dialect = Dialect::kRules) {
  return error_of([&] {
    Engine e(Program::parse(text, dialect, "file"));
    e.run();
  });
}
void expect(const std::string& text, const std::string& place, const std::string& mention,
            Dialect dialect = Dialect::kRules) {
  const std::string message = refused(text, dialect);
  EXPECT_EQ(message.substr(0, place.size() + 6), "file:" + place + ":") << message;
  EXPECT_NE(message.find(mention), std::string::npos) << message;
}
void souffle(const std::string& text, const std::string& place, const std::string& mention) {
  expect(text, place, mention, Dialect::kSouffle);
}

TEST(Errors, ShowTheLineAndTheCaret) {
  EXPECT_EQ(refused("edge(1, 2).\npath(x, y) <- egde(x, y).\n"),
            "file:2:15: nothing says what \"egde\" is: no fact, no rule, no declaration — did you mean \"edge\"?\n"
            "  path(x, y) <- egde(x, y).\n"
            "                ^~~~");
}

TEST(Errors, OfNamesAndTypes) {
  expect("p(1). q(x) <- p(x, x).", "1:15", "has 1 column, here are 2");
  expect("0.9 :: e(1, 2). 0.8 :: e(2).", "1:24", "\"e\" has 2 columns, here are 1");
  expect("0.9 :: e(1). 0.8 :: e(\"x\").", "1:23", "but column 1 of \"e\" is a number");
  const std::string unknown = refused("0.9 :: abc(1). xyz(1). c(x) <- dddddd(x).");
  EXPECT_NE(unknown.find("abc"), std::string::npos) << unknown;
  EXPECT_EQ(unknown.find("coin of"), std::string::npos) << unknown;
  expect("p(1). p(\"a\").", "1:9", "a symbol here, but column 1 of \"p\" is a number");
  expect("p(1). q(x) <- p(x), x = \"a\".", "1:25", "a symbol here");
  expect("domain d = {a, b}. rel p(d). p(c).", "1:32", "is not in domain \"d\"");
  expect("domain n: 4. rel p(n). p(4).", "1:26", "0 … 3");
  expect("rel p(persn).", "1:7", "there is no type \"persn\"");
  expect("p(ann). q(x) <- p(x), x = ann.", "1:27", "constant in the fact of line 1");
  souffle(".decl p(x: number)\nq(x) :- p(x).", "2:1", "\"q\" is not declared");
  souffle(".decl p(x: number)\n.decl p(y: number)", "2:7", "declared twice");
  souffle(".decl p(x: number)\np(\"a\").", "2:3", "a symbol here");
  souffle(".decl p(x: unsigned)\np(-1).", "2:3", "does not fit into a unsigned");
}

TEST(Errors, OfSafety) {
  expect("p(1). q(x, y) <- p(x).", "1:12", "\"y\"");
  expect("p(1). q(x) <- not p(x).", "1:21", "name it in an atom that is not negated");
  expect("p(1). q(x) <- p(x), y < x.", "1:21", "\"y\"");
  expect("p(1). q(_) <- p(_).", "1:9", "give it a name");
  souffle(".decl p(x: number, y: number)\n.decl q(x: number, n: number)\nq(x, n) :- n = count : { p(x, _) }.", "3:28",
          "\"x\"");
}

TEST(Errors, OfNegationShowTheCycle) {
  expect("e(1). p(x) <- e(x), not q(x). q(x) <- r(x). r(x) <- e(x), p(x).", "1:21", "p → not q → r → p");
  expect("e(1, 1). p(x, n) <- e(x, _), n = count{ y : p(x, y) }.", "1:45", "p → not p");
}

TEST(Errors, OfBestValues) {
  expect("e(1, 2). d(x, min(y)) <- e(x, y). d(x, min(c)) <- d(y, c), e(y, x), c > 3.", "1:69", "may still change");
  expect("e(1, 2). d(x, min(y)) <- e(x, y). q(x) <- d(x, _). d(x, min(c)) <- d(y, c), q(y), e(y, x).", "1:35",
         "compute it afterwards");
  expect("d(1, min(5)). d(x, min(c)) <- d(x, y), c = y - 1.", "1:15", "for ever");
  expect("d(\"a\", min(\"b\")).", "1:1", "must be a number");
  souffle(".decl d(x: number, y: number)\nd(x, y) <= d(y, x) :- x < y.", "2:3", "supported is");
}

TEST(Errors, NameWhatIsNotSupported) {
  souffle(".comp A { }", "1:2", "components");
  souffle(".functor f(x: number): number", "1:2", "C++");
  souffle(".type L = [x: number, l: L]", "1:7", "record");
  souffle(".type T = A { x: number } | B {}", "1:7", "algebraic");
  souffle(".decl p(x: number)\np(x) :- x = @f(1).", "2:13", "C++");
  souffle(".decl p(x: number)\np(x) :- [x, y] = nil.", "2:9", "records");
  souffle("#define X 1", "1:1", "preprocessor");
  souffle(".lattice L", "1:2", "lattices");
  souffle(".decl p(x: number) choice-domain x", "1:20", "choice domains");
  expect("assert 0.8 :: forall x in person: exists y in person: parent(y, x).", "1:1", "call the file .theory");
  expect("param tensor W[j: 16, i: 8].", "1:1", "call the file .theory");
}

TEST(Errors, OfText) {
  expect("p(1)", "1:5", "\".\" is missing");
  expect("p(1 2).", "1:5", "\")\" is missing");
  expect("p(\"a).", "1:3", "does not end");
  expect("/* p(1).", "1:1", "comment does not end");
  expect("p(1). q(x) <- p(x), x.", "1:21", "nothing says what \"x\" is");
  expect("p(1). q(x) <- p(x), x + 1.", "1:26", "comparison");
  expect("p(§).", "1:3", "means nothing");
  expect("p(12ab).", "1:3", "goes on as a name");
  expect("p(99999999999999999999).", "1:3", "does not fit");
  souffle(".dcl p(x: number)", "1:2", "did you mean \"decl\"?");
  expect(std::string("p(") + std::string(5000, '(') + "1", "1:203", "brackets");
}

TEST(Errors, OfValuesWhileRunning) {
  expect("p(0). q(y) <- p(x), y = 1 / x.", "1:27", "division by zero");
  expect("p(\"a\"). q(y) <- p(x), y = to_number(x).", "1:27", "\"a\" as a number");
  EXPECT_EQ(refused("p(0). q(y) <- p(x), x != 0, y = 1 / x."), "no error");  // tests come first
}

TEST(Errors, OfLimits) {
  Engine e(Program::parse("p(0). p(y) <- p(x), y = x + 1."), {.memory_limit = 64 << 10});
  EXPECT_REFUSED(e.run(), "more than the limit of 64.0 KiB");
  Engine texts(Program::parse("p(\"a\"). p(y) <- p(x), y = cat(x, \"b\")."), {.memory_limit = 64 << 10});
  EXPECT_REFUSED(texts.run(), "more than the limit of 64.0 KiB");
  std::atomic<bool> cancel{true};
  Engine stopped(Program::parse("p(0). p(y) <- p(x), y = x + 1."), {.cancel = &cancel});
  EXPECT_REFUSED(stopped.run(), "stopped");
}

}  // namespace
}  // namespace ingot::logic
