// Theories and files: domains, facts and tables come from them, results go to them.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "ingot/io/io.h"
#include "ingot/logic/theory.h"
#include "ingot/ops/functions.h"
#include "ingot/ops/ops.h"
#include "tests/error_of.h"
#include "tests/logic/gradients.h"

namespace ingot::logic {
namespace {

class TheoryFiles : public ::testing::Test {
 protected:
  void SetUp() override { std::filesystem::create_directories(folder_); }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string path(const std::string& name) const { return folder_ + "/" + name; }
  void write(const std::string& name, const std::string& text) const { io::write_file(path(name), text); }
  Theory theory(const std::string& text) const {
    return Theory::parse(text, "file", TheoryOptions{.dtype = kF64, .folder = folder_});
  }

  std::string folder_ =
      (std::filesystem::temp_directory_path() / ("ingot-theory-" + std::to_string(getpid()))).string();
};

TEST_F(TheoryFiles, DomainsAndFactsComeFromTables) {
  write("parents.csv", "ann,bob\r\n\n\"o\"\"neil, jr\", 0.25\n");
  write("people.tsv", "ann\tx\nbob\tx\no\"neil, jr\tx\nann\ty\n");
  write("parents.tsv", "ann\tbob\nbob\to\"neil, jr\t0.25\n");
  write("levels.txt", "0\t0.5\n2\t1\n");
  const Theory t = theory(
      "semantics godel. domain person = \"people.tsv\". domain level: 3.\nrel parent(person, person) \"parents.tsv\".\n"
      "rel at(level) \"levels.txt\". param rel guess(level) \"guess.csv\". tensor w[level, k: 1] \"w.csv\".\n"
      "reach(x, y) <- parent(x, y). reach(x, z) <- reach(x, y), parent(y, z)." +
      (write("guess.csv", "1,0.75\n"), write("w.csv", "0,0,-2.5\n2,0,1e3\n"), std::string()));
  EXPECT_EQ(t.members("person"), (std::vector<std::string>{"ann", "bob", "o\"neil, jr"}));
  EXPECT_EQ(numbers(t("parent")), (std::vector<double>{0, 1, 0, 0, 0, 0.25, 0, 0, 0}));
  EXPECT_EQ(numbers(t("reach")), (std::vector<double>{0, 1, 0.25, 0, 0, 0.25, 0, 0, 0}));
  EXPECT_EQ(numbers(t("at")), (std::vector<double>{0.5, 0, 1}));
  EXPECT_NEAR(numbers(t("guess"))[1], 0.75, 1e-12);
  EXPECT_EQ(numbers(t("w")), (std::vector<double>{-2.5, 0, 1000}));
  // Commas, quotes, several columns of members.
  write("edges.csv", "\"a, b\",c\nc,\"d\"\"e\"\n");
  const Theory c = theory("domain node = \"edges.csv\" 1, 2. rel edge(node, node) \"edges.csv\".");
  EXPECT_EQ(c.members("node"), (std::vector<std::string>{"a, b", "c", "d\"e"}));
  EXPECT_EQ(numbers(sum(c("edge"))), std::vector<double>{2});
}

TEST_F(TheoryFiles, TensorsComeFromNpyAndSafetensors) {
  const Tensor x = uniform({4, 3}, 1), truths = uniform({4}, 2, 0.1, 0.9);
  io::save_npy(path("x.npy"), x);
  const std::vector<NamedTensor> named = {{"likes", truths}, {"other", zeros({9})}};
  io::save_safetensors(path("all.safetensors"), named);
  const Theory t = theory(
      "domain d: 4. tensor x[d, k: 3] \"x.npy\". rel likes(d) \"all.safetensors\". param rel first(d) \"t.npy\"." +
      (io::save_npy(path("t.npy"), truths), std::string()));
  EXPECT_EQ(numbers(t("x")), numbers(x));
  EXPECT_EQ(numbers(t("likes")), numbers(truths));
  for (size_t i = 0; i < 4; i++) EXPECT_NEAR(numbers(t("first"))[i], numbers(truths)[i], 1e-12);
}

TEST_F(TheoryFiles, WhatIsWrongIsNamedByFileAndLine) {
  write("people.csv", "ann\nbob\n");
  const std::string people = "domain p = \"people.csv\". ";
  const auto expect = [&](const std::string& file, const std::string& mention, const std::string& text) {
    write("f.csv", file);
    EXPECT_REFUSED(theory(people + text), mention);
  };
  const std::string facts = "rel r(p) \"f.csv\".";
  expect("ann\nbo,0.5\n", "f.csv:2: \"bo\" is no member of \"p\" (column 1)", facts);
  expect("person,truth\n", "a line of headings does not belong there", facts);
  expect("ann,bob,cid\n", "f.csv:1: 3 columns, but \"r\" has 1", facts);
  expect("ann,much\n", "f.csv:1: \"much\" is no number (column 2)", facts);
  expect("ann,1.5\n", "f.csv:1: a truth is a number from 0 to 1", facts);
  expect("ann,nan\n", "f.csv:1: a truth is a number from 0 to 1", facts);
  expect("ann,1\n", "f.csv:1: what is learned begins between 0 and 1", "param rel r(p) \"f.csv\".");
  expect("\"ann\n", "f.csv:1: a text in quotes that does not end", facts);
  expect("ann\n", "takes nothing from a file", "rel q(p). tensor t[p] \"f.csv\". t[x] = q[x].");
  expect("ann\n", "takes nothing from a file", "domain s: batch. input rel t(s) \"f.csv\".");
  expect("", "has no members", "domain e = \"f.csv\".");
  expect("a\n", "f.csv:1: there is no column 3, only 1 column", "domain e = \"f.csv\" 1, 3.");
  expect("", "no relation or tensor \"rr\"", "rel r(p). output rr.");
  EXPECT_REFUSED(theory(people + "rel r(p) \"missing.csv\"."), "missing.csv");
  io::save_npy(path("x.npy"), zeros({3}));
  EXPECT_REFUSED(theory(people + "rel r(p) \"x.npy\"."), "has [3], and \"r\" is [2]");
  EXPECT_REFUSED(theory("domain d = \"x.npy\"."), "members of a domain are words");
}

TEST_F(TheoryFiles, ResultsAreReadAgain) {
  const std::string head = "semantics product. domain d = {a, \"b, c\", e}. rel p(d, d)";
  const Theory t = theory(head +
                          ". 0.1 :: p(a, \"b, c\"). 0.25 :: p(e, e). tensor w[d]. w[a] = -1.5.\n"
                          "output p. output p \"p.tsv\". output p \"p.npy\". output w \"w.safetensors\".");
  const auto paths = t.write(folder_);
  EXPECT_EQ(paths, (std::vector<std::string>{path("p.csv"), path("p.tsv"), path("p.npy"), path("w.safetensors")}));
  EXPECT_EQ(io::read_file(path("p.csv")), "\"a\",\"b, c\",0.1\n\"e\",\"e\",0.25\n");
  for (const char* file : {"p.csv", "p.tsv", "p.npy"})
    EXPECT_EQ(numbers(theory(head + " \"" + file + "\".")("p")), numbers(t("p"))) << file;
  EXPECT_EQ(numbers(theory("domain d: 3. tensor w[d] \"w.safetensors\".")("w")), (std::vector<double>{-1.5, 0, 0}));
}

TEST_F(TheoryFiles, ASemanticsTakesThePlaceOfThePrograms) {
  const std::string text = "semantics godel. domain d: 2. rel p(d). 0.5 :: p(0). 0.6 :: p(1). assert p(0) and p(1).";
  const auto truth = [&](const std::string& semantics) {
    return Theory::parse(text, "t", TheoryOptions{.dtype = kF64, .semantics = semantics})
        .truths()[0]
        .tensor.item<double>();
  };
  EXPECT_EQ(truth(""), 0.5);
  EXPECT_NEAR(truth("product"), 0.3, 1e-15);
  EXPECT_NEAR(truth("lukasiewicz"), 0.1, 1e-15);
  EXPECT_REFUSED(truth("godle"), "did you mean \"godel\"");
  EXPECT_REFUSED(truth("boolean"), "a boolean truth is 0 or 1");
}

}  // namespace
}  // namespace ingot::logic
