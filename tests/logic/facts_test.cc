// Files of facts in and out, proofs and what is missing.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "ingot/base/file.h"
#include "ingot/logic/program.h"
#include "tests/error_of.h"

namespace ingot::logic {
namespace {

class Facts : public testing::Test {
 protected:
  Facts() : folder_(std::filesystem::temp_directory_path() / ("ingot-logic-" + std::to_string(getpid()))) {
    std::filesystem::create_directories(folder_ / "out");
  }
  ~Facts() override { std::filesystem::remove_all(folder_); }
  void file(const std::string& name, const std::string& text) const { write_file((folder_ / name).string(), text); }
  std::string read(const std::string& name) const { return read_file((folder_ / "out" / name).string()); }
  std::string run(const std::string& text, Dialect dialect = Dialect::kSouffle) const {
    Engine e(Program::parse(text, dialect), {.facts = folder_.string(), .output = (folder_ / "out").string()});
    e.run();
    return e.write();
  }
  std::filesystem::path folder_;
};

TEST_F(Facts, GoThroughFilesAsSouffleWritesThem) {
  file("edge.facts", "b\t2\na\t10\nb\t2\na\t-3\n");
  const std::string shown = run(
      ".decl edge(x: symbol, y: number)\n.input edge\n.decl out(x: symbol, y: number)\n.output out\n.printsize out\n"
      "out(x, y) :- edge(x, y).\n");
  EXPECT_EQ(shown, "out\t3\n");
  EXPECT_EQ(read("out.csv"), "b\t2\na\t-3\na\t10\n");  // texts in the order in which they came
}

TEST_F(Facts, OtherFormsAndNames) {
  file("in.csv", "x,y\r\n1,\"a, \"\"b\"\"\"\r\n2,c\r\n");
  run(".decl e(x: number, y: symbol)\n.input e(IO=file, filename=\"in.csv\", rfc4180=true, headers=true)\n"
      ".output e(filename=\"copy.txt\", delimiter=\"|\")\n");
  EXPECT_EQ(read("copy.txt"), "1|a, \"b\"\n2|c\n");
  file("plain.csv", "1,a\n");
  run("input rel e(number, symbol) \"plain.csv\". output e.", Dialect::kRules);
  EXPECT_EQ(read("e.csv"), "1,\"a\"\n");
}

TEST_F(Facts, FloatsAreWrittenInFull) {
  run(".decl f(x: float)\n.output f\nf(0.1). f(-2.5).");
  EXPECT_EQ(read("f.csv"), "-2.5\n0.10000000000000001\n");
}

TEST_F(Facts, ToTheTerminal) {
  Engine e(Program::parse(".decl f(x: number)\n.output f\nf(2). f(1).", Dialect::kSouffle), {.output = "-"});
  e.run();
  EXPECT_EQ(e.write(), "---------------\nf\n===============\n1\n2\n===============\n");
}

TEST_F(Facts, AreReadOnceMore) {
  const std::string text =
      "input rel e(symbol, symbol) \"e.tsv\". input rel p(symbol, symbol) \"p.tsv\".\n"
      "e(here, there). p(x, y) <- e(x, y). p(x, z) <- p(x, y), e(y, z). alone(x) <- e(x, _), not p(x, x).";
  const auto program = Program::parse(text, Dialect::kRules, "roads.rules");
  EXPECT_EQ(program.files(), std::vector<std::string>{"roads.rules"});
  file("e.tsv", "a\tb\nb\tc\n");
  file("p.tsv", "c\ta\n");
  Engine e(program, {.facts = folder_.string()});
  EXPECT_EQ(e.fact_files(), (std::vector<std::string>{(folder_ / "e.tsv").string(), (folder_ / "p.tsv").string()}));
  EXPECT_REFUSED(e.reload(), "after run()");
  e.run();
  EXPECT_EQ(e.outputs(), (std::vector<std::string>{"p", "alone"}));
  for (const auto& [edges, paths] : {std::pair("a\tb\nb\tc\nc\ta\n", ""), std::pair("c\tb\n", "b\tc\na\tb\n"),
                                     std::pair("", "here\ta\n"), std::pair("a\tnew\nnew\tnewer\n", "")}) {
    e.add("e", std::vector<std::string>{"of", "nobody"});  // forgotten
    file("e.tsv", edges);
    file("p.tsv", paths);
    EXPECT_TRUE(e.reload());
    e.run();
    Engine fresh(program, {.facts = folder_.string()});
    fresh.run();
    for (const char* name : {"e", "p", "alone"}) {
      auto found = e.facts(name), expected = fresh.facts(name);  // texts came in another order
      std::sort(found.begin(), found.end());
      std::sort(expected.begin(), expected.end());
      EXPECT_EQ(found, expected) << name;
    }
  }
  file("p.tsv", "a\n");
  EXPECT_REFUSED(e.reload(), "p.tsv:1: only 1 column");
  EXPECT_TRUE(e.contains("e", {"new", "newer"}));
  file("best.tsv", "a\tb\t3\n");
  Engine best(Program::parse("input rel d(symbol, symbol, number) \"best.tsv\". d(x, y, min(5)) <- d(y, x, _)."),
              {.facts = folder_.string()});
  best.run();
  EXPECT_FALSE(best.reload());
}

TEST_F(Facts, BrokenFilesAreRefusedWithTheirLine) {
  const std::string program = ".decl e(x: number, y: number)\n.input e\n";
  EXPECT_REFUSED(run(program), "e.facts");
  file("e.facts", "1\t2\n3\n");
  EXPECT_REFUSED(run(program), "e.facts:2: only 1 column, \"e\" has 2");
  file("e.facts", "1\t2\t3\n");
  EXPECT_REFUSED(run(program), "e.facts:1: more columns than the 2");
  file("e.facts", "1\tx\n");
  EXPECT_REFUSED(run(program), "\"x\" is no number (column 2)");
  file("e.facts", "1\t99999999999999999999\n");
  EXPECT_REFUSED(run(program), "is no number");
  EXPECT_REFUSED(run(".decl e(x: number)\n.input e(IO=sqlite)\n"), "IO=sqlite is not supported");
}

Engine family() {
  Engine e(
      Program::parse("parent(ann, bob). parent(bob, cid). parent(cid, dan). ancestor(ann, zoe).\n"
                     "ancestor(x, y) <- parent(x, y).\n"
                     "ancestor(x, z) <- ancestor(x, y), ancestor(y, z).\n"
                     "elder(x) <- ancestor(x, _), not parent(_, x).\n"));
  e.run();
  return e;
}

TEST(Explain, ProofsAreAsLowAsPossible) {
  const Engine e = family();
  EXPECT_EQ(e.explain("ancestor(ann, cid)"),
            "ancestor(\"ann\", \"cid\")   by line 3\n"
            "├─ ancestor(\"ann\", \"bob\")   by line 2\n"
            "│  └─ parent(\"ann\", \"bob\")   given\n"
            "└─ ancestor(\"bob\", \"cid\")   by line 2\n"
            "   └─ parent(\"bob\", \"cid\")   given\n");
  EXPECT_EQ(e.explain("parent(ann, bob)."), "parent(\"ann\", \"bob\")   given\n");
  EXPECT_EQ(e.explain("ancestor(ann, zoe)"), "ancestor(\"ann\", \"zoe\")   given\n");
  EXPECT_NE(e.explain("elder(ann)").find("└─ not parent(_, \"ann\")"), std::string::npos) << e.explain("elder(ann)");
}

TEST(Explain, SaysWhatIsMissing) {
  const Engine e = family();
  EXPECT_EQ(e.explain("ancestor(dan, ann)"),
            "There is no ancestor(\"dan\", \"ann\").\n"
            "  line 2: missing is parent(\"dan\", \"ann\")\n"
            "  line 3: missing is ancestor(\"dan\", y)\n");
  EXPECT_NE(e.explain("elder(bob)").find("missing is not parent(_, \"bob\")"), std::string::npos)
      << e.explain("elder(bob)");
  EXPECT_NE(e.explain("parent(ann, eve)").find("No rule makes facts of \"parent\""), std::string::npos);
  EXPECT_REFUSED(e.explain("anc(a, b)"), "there is no relation \"anc\"");
  EXPECT_REFUSED(e.explain("ancestor(a)"), "has 2 columns");
  EXPECT_REFUSED(e.explain("ancestor(a, b) <- x"), "is no fact");
}

TEST(Explain, CyclesProveNothingByThemselves) {
  Engine e(Program::parse(
      "edge(1, 2). edge(2, 1). edge(2, 3).\npath(x, y) <- edge(x, y).\npath(x, z) <- path(x, y), edge(y, z).\n"));
  e.run();
  EXPECT_EQ(e.explain("path(1, 1)"),
            "path(1, 1)   by line 3\n├─ path(1, 2)   by line 2\n│  └─ edge(1, 2)   given\n└─ edge(2, 1)   given\n");
}

}  // namespace
}  // namespace ingot::logic
