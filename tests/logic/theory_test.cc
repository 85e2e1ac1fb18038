// Theories: what rules, equations and assertions mean, against hand-written numbers, the exact engine and nested loops.
#include "ingot/logic/theory.h"

#include <gtest/gtest.h>

#include <cmath>

#include "ingot/base/file.h"
#include "ingot/logic/builder.h"
#include "ingot/logic/program.h"
#include "ingot/logic/truth.h"
#include "ingot/nn/attention.h"
#include "ingot/nn/layers.h"
#include "ingot/nn/optim.h"
#include "ingot/nn/train_step.h"
#include "ingot/ops/functions.h"
#include "ingot/ops/ops.h"
#include "tests/error_of.h"
#include "tests/logic/gradients.h"
#include "tests/ops/harness.h"
#include "tests/test_file.h"

namespace ingot::logic {
namespace {

const std::string kPeople =
    "domain person = {ann, bob, cid, dan, eve}.\nrel parent(person, person).\n"
    "parent(ann, bob). parent(bob, cid). parent(cid, dan). parent(ann, eve).\n";
const std::string kFamily =
    "ancestor(x, y) <- parent(x, y).\n"
    "ancestor(x, z) <- ancestor(x, y), parent(y, z).\n"
    "sibling(x, y) <- parent(p, x), parent(p, y), x != y.\n"
    "lonely(x) <- person(x), not mother(x).\n"
    "mother(x) <- parent(x, _).\n"
    "older(x, y) <- ancestor(x, y) ; x = ann, ancestor(_, y).\n";

double at(const Tensor& t, const Dims& index) {
  Tensor x = t;
  for (int i = 0; i < index.size(); i++) x = select(x, 0, index[i]);
  return x.item<double>();
}

TEST(Theory, BooleanRulesAreThoseOfTheExactEngine) {
  std::string text = kFamily;
  const std::string person = "person(x), ";
  Engine engine(
      Program::parse("domain person = {ann, bob, cid, dan, eve}.\n" + kPeople.substr(kPeople.find("rel")) + text));
  engine.run();
  text.replace(text.find(person), person.size(), "parent(x, x2) or not parent(x, x2), ");
  text += "childless(x) <- parent(_, x), not parent(x, _).\n";
  engine.extend("childless(x) <- parent(_, x), not parent(x, _).\n");
  const Theory theory = Theory::parse("semantics boolean.\n" + kPeople + text);
  const auto people = theory.members("person");
  for (const std::string name : {"parent", "ancestor", "sibling", "lonely", "mother", "older", "childless"}) {
    const Tensor truths = theory(name);
    uint64_t facts = 0;
    for (int64_t i = 0; i < truths.numel(); i++) {
      const double truth = reshape(truths, {truths.numel()}).at<float>({i});
      std::vector<std::string> fact = {people[static_cast<size_t>(truths.rank() == 1 ? i : i / 5)]};
      if (truths.rank() == 2) fact.push_back(people[static_cast<size_t>(i % 5)]);
      EXPECT_EQ(truth, engine.contains(name, fact) ? 1 : 0) << name << " " << i;
      facts += truth > 0 ? 1 : 0;
    }
    EXPECT_EQ(facts, engine.size(name)) << name;
  }
}

// The ⊕ over y of a(x, y) ⊗ b(y, z), and of a second rule.
TEST(Theory, RulesAreContractionsOverTheAlgebraOfTheSemantics) {
  struct Case {
    std::string pragma;
    double (*product)(double, double);
    double (*sum)(double, double);
  };
  const auto mul = [](double a, double b) { return a * b; };
  const auto larger = [](double a, double b) { return std::max(a, b); };
  const Case cases[] = {
      {"semantics godel.", [](double a, double b) { return std::min(a, b); }, larger},
      {"semantics product.", mul, larger},
      {"semantics lukasiewicz.", [](double a, double b) { return std::max(0.0, a + b - 1); }, larger},
      {"semantics probability.", mul, [](double a, double b) { return a + b; }},
      {"semantics product. algebra noisy-or.", mul, [](double a, double b) { return a + b - a * b; }}};
  for (const Case& c : cases) {
    Theory theory = Theory::parse(
        c.pragma + " domain d: 3. rel a(d, d). rel b(d, d). h(x, z) <- a(x, y), b(y, z). h(x, y) <- b(y, x).", "t",
        kF64);
    const Tensor a = uniform({3, 3}, 1, 0, 1, 0, kF64), b = uniform({3, 3}, 2, 0, 1, 0, kF64);
    theory.set("a", a);
    theory.set("b", b);
    const Tensor h = theory("h");
    for (int64_t x = 0; x < 3; x++)
      for (int64_t z = 0; z < 3; z++) {
        double all = b.at<double>({z, x});
        double first = c.product(a.at<double>({x, 0}), b.at<double>({0, z}));
        for (int64_t y = 1; y < 3; y++) first = c.sum(first, c.product(a.at<double>({x, y}), b.at<double>({y, z})));
        all = c.sum(all, first);
        EXPECT_NEAR(h.at<double>({x, z}), all, 1e-12) << c.pragma;
      }
  }
}

TEST(Theory, PlacesHoldConstantsArithmeticAndRepetitions) {
  const Theory t = Theory::parse(
      "semantics probability. domain digit: 3. domain total: 5. rel a(digit). rel b(digit). rel pair(digit, digit).\n"
      "rel sum(total). rel same(digit). rel first(digit, digit). rel next(digit).\n"
      "0.2 :: a(0). 0.3 :: a(1). 0.5 :: a(2). 0.6 :: b(0). 0.4 :: b(2). 0.25 :: pair(1, 1). 0.5 :: pair(2, 0).\n"
      "sum(x + y) <- a(x), b(y). same(x) <- pair(x, x). first(2, y) <- pair(2, y). first(x, x) <- a(x), x < 2.\n"
      "next(x) <- a(x + 1).",
      "t", kF64);
  const std::vector<double> sums = numbers(t("sum")), expected = {0.12, 0.18, 0.3 + 0.08, 0.12, 0.2};
  for (size_t i = 0; i < 5; i++) EXPECT_NEAR(sums[i], expected[i], 1e-15) << i;
  EXPECT_EQ(numbers(t("same")), (std::vector<double>{0, 0.25, 0}));
  EXPECT_EQ(numbers(t("first")), (std::vector<double>{0.2, 0, 0, 0, 0.3, 0, 0.5, 0, 0}));
  EXPECT_EQ(numbers(t("next")), (std::vector<double>{0.3, 0.5, 0}));
}

TEST(Theory, RecursionsAreFixpointsOverTheAlgebra) {
  // Shortest ways, over min and +; a relation that nothing is said about is as far as can be.
  const Theory far = Theory::parse(
      "semantics ltn. algebra min-plus. domain city = {a, b, c, d}. rel road(city, city).\n"
      "3 :: road(a, b). 4 :: road(b, c). 9 :: road(a, c). 1 :: road(c, a).\n"
      "far(x, y) <- road(x, y). far(x, z) <- far(x, y), road(y, z).");
  EXPECT_EQ(at(far("far"), {0, 2}), 7);
  EXPECT_EQ(at(far("far"), {2, 1}), 4);
  EXPECT_EQ(at(far("far"), {0, 0}), 8);
  EXPECT_TRUE(std::isinf(at(far("far"), {0, 3})));
  // Two relations that need each other.
  const Theory both = Theory::parse(
      "semantics boolean. domain n: 7. rel zero(n). zero(0). rel even(n). rel odd(n). even(x) <- zero(x).\n"
      "odd(y) <- even(x), y = x + 1. even(y) <- odd(x), y = x + 1.");
  EXPECT_EQ(numbers(both("even")), (std::vector<double>{1, 0, 1, 0, 1, 0, 1}));
  EXPECT_EQ(numbers(both("odd")), (std::vector<double>{0, 1, 0, 1, 0, 1, 0}));
  // x = f + A x is (1 - A)⁻¹ f.
  const Theory sum = Theory::parse(
      "semantics probability. domain n: 2. rel f(n). rel a(n, n). 0.5 :: f(0). 0.5 :: a(0, 1). 0.5 :: a(1, 0).\n"
      "x(i) <- f(i). x(i) <- a(i, j), x(j).",
      "t", kF64);
  EXPECT_NEAR(at(sum("x"), {0}), 2.0 / 3, 1e-5);
  EXPECT_NEAR(at(sum("x"), {1}), 1.0 / 3, 1e-5);
}

TEST(Theory, FormulasAreThoseOfTheirSemantics) {
  for (const char* name :
       {"godel", "product", "lukasiewicz", "nilpotent", "hamacher", "drastic", "ltn", "probability"}) {
    const Semantics s = semantics(name);
    Theory t = Theory::parse("semantics " + std::string(name) +
                                 ". domain d: 3. rel a(d). rel b(d, d). rel g(d, d). g(0, 1). g(1, 2). g(2, 2).\n"
                                 "assert implies: forall x, y: a(x) -> b(x, y).\n"
                                 "assert guarded: forall x, y where g(x, y): a(x) and not b(y, x).\n"
                                 "assert mixed: forall x: exists y: a(y) and x != y or b(x, x) <-> a(1).\n"
                                 "assert constants: b(0, 2) or not a(2).",
                             "t", kF64);
    const Tensor a = uniform({3}, 1, 0.05, 0.95, 0, kF64), b = uniform({3, 3}, 2, 0.05, 0.95, 0, kF64);
    t.set("a", a);
    t.set("b", b);
    const auto truths = t.truths();
    const Tensor ax = unsqueeze(a, 1), ay = unsqueeze(a, 0);
    const auto value = [](const Tensor& x) { return x.item<double>(); };
    EXPECT_EQ(value(truths[0].tensor), value(for_all(implication(ax, b, s), {}, s))) << name;
    const Tensor guard = greater(t("g"), 0.5);
    EXPECT_EQ(value(truths[1].tensor), value(for_all(conjunction(ax, negation(transpose(b), s), s), {}, s, guard)))
        << name;
    const Tensor apart = 1.0 - eye(3, 3, kF64);
    const Tensor inner =
        equivalence(disjunction(conjunction(ay, apart, s), unsqueeze(diagonal(b), 1), s), select(a, 0, 1), s);
    EXPECT_NEAR(value(truths[2].tensor), value(for_all(exists(inner, {1}, s), {0}, s)), 1e-15) << name;
    EXPECT_EQ(value(truths[3].tensor),
              value(disjunction(select(select(b, 0, 0), 0, 2), negation(select(a, 0, 2), s), s)))
        << name;
  }
}

TEST(Theory, ExistsCounts) {
  const Theory t = Theory::parse(
      "semantics godel. domain d = {a, b, c}. rel p(d). rel f(d, d). 0.9 :: p(a). 0.6 :: p(b). 0.2 :: p(c). f(a, b). "
      "f(a, c).\n"
      "assert two: exists 2 x: p(x). assert friends: forall x where p(x) > 0.8: exists 2 y: f(x, y).\n"
      "assert three: not exists 3 x where x != c: p(x).",
      "t", kF64);
  const auto truths = t.truths();
  EXPECT_EQ(truths[0].tensor.item<double>(), 0.6);
  EXPECT_EQ(truths[1].tensor.item<double>(), 1);
  EXPECT_EQ(truths[2].tensor.item<double>(), 1);
}

// Words of good programs in other places, cut off, doubled, exchanged: a theory or a sentence, and nothing else.
TEST(Theory, AnyTextIsATheoryOrGetsASentence) {
  std::string text = kPeople + kFamily;
  for (const char* file : {"embedding", "brackets", "game", "attention", "graph_network", "xor"})
    text += read_file(test_file(std::string("../examples/logic/") + file + ".theory"));
  text +=
      "assert 2 :: a: forall^2 x in person, y where x != y: exists 2 z: parent(x, z) -> not sig(Emb[y, k] ^ 2 / 3) <-> "
      "x = ann.";
  std::vector<std::string> lines, words;
  for (size_t i = 0, end = 0; i < text.size(); i = end + 1) {
    end = std::min(text.find('\n', i), text.size());
    lines.push_back(text.substr(i, end - i));
  }
  const auto is_word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; };
  for (size_t i = 0, end = 0; i < text.size(); i = end) {
    for (end = i + 1; end < text.size() && is_word(text[i]) && is_word(text[end]);) end++;
    words.push_back(text.substr(i, end - i));
  }
  harness::Random random(11);
  int theories = 0, sentences = 0;
  for (int i = 0; i < 1500; i++) {
    std::string program = random.chance(0.7) ? kPeople + "param tensor Emb[person, k: 3]. rel mother(person).\n" : "";
    const int64_t first = random.below(std::ssize(lines));
    for (int64_t l = first; l < std::min(first + 8, std::ssize(lines)); l++)
      if (random.chance(0.6)) program += lines[static_cast<size_t>(l)] + "\n";
    for (int64_t change = random.below(3); change > 0 && !program.empty(); change--) {
      const auto at = static_cast<size_t>(random.below(std::ssize(program)));
      const std::string& word = words[static_cast<size_t>(random.below(std::ssize(words)))];
      program.replace(at, static_cast<size_t>(random.below(6)), word);
    }
    try {
      const Theory t = Theory::parse(program);
      if (!t.assertions().empty()) t.truths();
      for (const std::string& name : t.names()) t(name);
      theories++;
    } catch (const Error& e) {
      EXPECT_GT(std::string(e.what()).size(), 10u);
      sentences++;
    }
  }
  EXPECT_GT(theories, 20);
  EXPECT_GT(sentences, 200);
}

TEST(Theory, SmallFilesTakeLittle) {
  const auto expect = [](const std::string& text, const std::string& mention) {
    EXPECT_REFUSED(Theory::parse(text), mention);
  };
  expect("domain d: 100000. rel p(d, d).", "a theory is dense");
  std::string many = "domain d: 10000000.";
  for (int i = 0; i < 6; i++) many += " rel p" + std::to_string(i) + "(d).";
  expect(many, "there would be 40,000,000 elements");
  expect("domain d: 3000. rel p(d). q(x) <- p(x), p(y), x < y.", "a comparison of too many values");
  std::string relations;
  for (int i = 0; i < 1001; i++) relations += "rel p" + std::to_string(i) + ". ";
  expect(relations, "more than 1,000 relations");
}

TEST(Theory, ABuilderMeansTheSame) {
  Builder b;
  b.domain("person", {"ann", "bob", "cid"});
  b.domain("age", 100);
  const auto friends = b.relation_of("friends", {"person", "person"});
  const auto smokes = b.parameter("smokes", {"person"});
  const auto reach = b.relation_of("reach", {"person", "person"});
  const Variable x("x"), y("y"), z("z");
  b.fact(friends("ann", "bob"));
  b.rule(reach(x, y), {friends(x, y)});
  b.rule(reach(x, z), {reach(x, y), friends(y, z)});
  b.assertion("spreads", for_all({x, y}, implies(smokes(x), smokes(y)), friends(x, y)));
  b.assertion("somebody", !for_all({x}, !smokes(x)) && there_is({x}, smokes(x) || x == "bob"), 0.5);
  const std::string text =
      "domain person = {\"ann\", \"bob\", \"cid\"}.\ndomain age: 100.\nrel friends(person, person).\n"
      "param rel smokes(person).\nrel reach(person, person).\nfriends(\"ann\", \"bob\").\nreach(x, y) <- friends(x, "
      "y).\n"
      "reach(x, z) <- reach(x, y), friends(y, z).\n"
      "assert spreads: (forall x, y where friends(x, y): (smokes(x) -> smokes(y))).\n"
      "assert 0.5 :: somebody: (not (forall x: not smokes(x)) and (exists x: (smokes(x) or x = \"bob\"))).\n";
  EXPECT_EQ(b.text(), text);
  const Theory t = Theory::parse(b.text());
  EXPECT_EQ(t.assertions().size(), 2u);
  EXPECT_EQ(t.assertions()[1].weight, 0.5);
  EXPECT_EQ(at(t("reach"), {0, 1}), 1);
}

TEST(Theory, SatisfactionWeighsAssertions) {
  const auto results = [](const std::string& semantics) {
    return Theory::parse(semantics + " rel p. rel q. 0.5 :: p. 0.8 :: q. assert 3 :: sure: p. assert q.", "t", kF64)
        .results();
  };
  const auto ltn = results("semantics ltn.");
  ASSERT_EQ(ltn.size(), 4u);
  EXPECT_EQ(ltn[0].name, "loss");
  EXPECT_EQ(ltn[2].name, "sure");
  EXPECT_EQ(ltn[3].name, "q");
  const double error = std::sqrt((3 * 0.25 + 0.04) / 4);
  EXPECT_NEAR(ltn[0].tensor.item<double>(), error, 1e-9);
  EXPECT_NEAR(ltn[1].tensor.item<double>(), 1 - error, 1e-9);
  const auto godel = results("semantics godel.");
  EXPECT_NEAR(godel[1].tensor.item<double>(), (1.5 + 0.8) / 4, 1e-12);
  const auto product = results("semantics probability.");
  EXPECT_NEAR(product[0].tensor.item<double>(), -(3 * std::log(0.5) + std::log(0.8)) / 4, 1e-12);
  EXPECT_NEAR(product[1].tensor.item<double>(), std::pow(0.125 * 0.8, 0.25), 1e-12);
}

TEST(Theory, AnswersQuestions) {
  const Theory t = Theory::parse(
      "semantics boolean.\n" + kPeople +
      "ancestor(x, y) <- parent(x, y). ancestor(x, z) <- ancestor(x, y), parent(y, z). ancestor(ann, y)?");
  EXPECT_EQ(t.questions(), (std::vector<std::string>{"ancestor(ann, y)"}));
  EXPECT_EQ(numbers(t.ask("ancestor(ann, y)")), (std::vector<double>{0, 1, 1, 1, 1}));
  EXPECT_EQ(numbers(t.ask("ancestor(ann, cid)?")), (std::vector<double>{1}));
  EXPECT_EQ(t.ask("ancestor(y, x)").shape(), (Dims{5, 5}));
  const std::vector<std::pair<std::string, std::string>> variables = {{"y", "person"}, {"x", "person"}};
  EXPECT_EQ(t.variables_of("ancestor(y, x)"), variables);
  EXPECT_EQ(numbers(t.ask("forall x: exists y: ancestor(x, y)")), (std::vector<double>{0}));
  EXPECT_NE(error_of([&] { t.ask("ancestr(ann, y)"); }).find("question:1:1: nothing says what \"ancestr\" is"),
            std::string::npos);
  EXPECT_NE(error_of([&] { t.ask("ancestor(ann, y"); }).find("question:1:"), std::string::npos);
}

// Tables, rules, a recursion, quantifiers: the gradients of the loss by everything that is learned.
TEST(Theory, LossDifferentiatesUnderEverySemantics) {
  const std::string body =
      " domain d: 3. param rel p(d, d). param rel q(d). param tensor e[d, k: 2]. rel g(d, d). g(0, 1). g(2, 1). g(1, "
      "1).\n"
      "0.3 :: p(0, 1).\n"
      "reach(x, y) <- p(x, y). reach(x, z) <- reach(x, y), p(y, z).\n"
      "both(x) <- q(x), p(x, y), not q(y).\n"
      "near(x, y) = sig(e[x, k] e[y, k] - 0.5).\n"
      "assert forall x, y where g(x, y): reach(x, y).\n"
      "assert 2 :: forall x: exists y: p(x, y) -> both(y).\n"
      "assert forall x, y: near(x, y) and q(x) -> q(y).\n"
      "assert forall x: exists y: near(x, y) and q(y) and x != y.\n"
      "assert not reach(2, 0) or q(1).";
  for (const char* name :
       {"semantics godel.", "semantics product. ", "semantics lukasiewicz.", "semantics ltn.", "semantics ltn 3.",
        "semantics ltn. algebra noisy-or.", "semantics hamacher. algebra max-product."}) {
    const nn::SeedScope seed(7);
    Theory theory = Theory::parse(name + body, "t", kF64);
    std::vector<Tensor> params;
    // By noisy-or and rounds that end when hardly anything changes, differences see the last round: keep p small.
    for (const auto& p : theory.parameters()) {
      if (p.name == "p") copy_into(p.tensor, uniform(p.tensor.shape(), 3, -2.5, -1, 0, kF64));
      if (p.name == "q") copy_into(p.tensor, uniform(p.tensor.shape(), 4, -1, 1, 0, kF64));
      params.push_back(p.tensor);
    }
    ASSERT_EQ(params.size(), 3u);
    SCOPED_TRACE(name);
    expect_gradients(
        [&](const std::vector<Tensor>& xs) {
          for (size_t i = 0; i < xs.size(); i++)
            if (xs[i].raw() != params[i].raw()) {
              const Tensor was = clone(params[i]);
              copy_into(params[i], xs[i]);
              const Tensor loss = clone(theory.results()[0].tensor);
              copy_into(params[i], was);
              return loss;
            }
          return theory.results()[0].tensor;
        },
        params);
  }
}

// Equations against the layers of nn: the examples' own.
TEST(Theory, EquationsAreTheLayersOfNn) {
  const auto example = [](const char* name) {
    return Theory::load(test_file(std::string("../examples/logic/") + name + ".theory"));
  };
  const nn::SeedScope seed(3);
  nn::Linear first(5, 7), second(7, 2);
  Theory mlp = example("mlp");
  for (const auto& p : mlp.parameters())
    copy_into(p.tensor, p.name == "W"   ? first.weight
                        : p.name == "B" ? first.bias
                        : p.name == "V" ? second.weight
                                        : second.bias);
  data::Batch batch;
  batch.set("X", normal({4, 5}, 1));
  const Tensor y = second(tanh(first(batch["X"])));
  EXPECT_LT(max(abs(y - mlp("Y", batch))).item<float>(), 1e-6f);
  // In one equation: each index is summed in the smallest product that has all of it.
  Theory nested = Theory::parse(mlp.text() + "Z[n, k] = V[k, j] tanh(W[j, i] X[n, i] + B[j]) + C[k].");
  nested.load_state_dict(mlp.state_dict());
  EXPECT_LT(max(abs(y - nested("Z", batch))).item<float>(), 1e-6f);

  Theory attention = example("attention");
  data::Batch qkv;
  for (const char* name : {"Q", "K", "V"}) qkv.set(name, normal({3, 2, 6, 4}, name[0]));
  const auto rows = [&](const char* name) { return reshape(contiguous(permute(qkv[name], {0, 2, 1, 3})), {3, 6, 8}); };
  const Tensor expected = ingot::attention(rows("Q"), rows("K"), rows("V"), 2).y;
  EXPECT_LT(max(abs(expected - reshape(contiguous(attention("A", qkv)), {3, 6, 8}))).item<float>(), 1e-6f);

  Theory graph = example("graph_network");
  graph.set("Z", normal({4, 3}, 9));
  const Tensor adjacency = graph("edge");
  const Tensor degree = 1.0 + sum(adjacency, {1}, true);
  const Tensor h = relu(matmul(matmul(adjacency, graph("Z")), transpose(graph.parameters()[0].tensor)) / degree);
  EXPECT_LT(max(abs(h - graph("H"))).item<float>(), 1e-6f);

  Theory exclusive = example("xor");
  nn::Linear hidden(2, 8), out(8, 1);
  for (const auto& p : exclusive.parameters())
    copy_into(p.tensor, p.name == "W"   ? hidden.weight
                        : p.name == "B" ? hidden.bias
                        : p.name == "V" ? reshape(out.weight, {8})
                                        : reshape(out.bias, {}));
  const Tensor says = reshape(sigmoid(out(tanh(hidden(exclusive("X"))))), {4});
  EXPECT_LT(max(abs(says - exclusive("says"))).item<float>(), 1e-6f);

  Theory convolution =
      Theory::parse("tensor X[n: 2, i: 9]. tensor W[k: 3]. tensor Y[n: 2, i: 7]. Y[n, i] = W[k] X[n, i + k].");
  convolution.set("X", normal({2, 9}, 1));
  convolution.set("W", normal({3}, 2));
  const Tensor y1 = conv1d(unsqueeze(convolution("X"), 1), reshape(convolution("W"), {1, 1, 3}));
  EXPECT_LT(max(abs(squeeze(y1, {1}) - convolution("Y"))).item<float>(), 1e-6f);
}

TEST(Theory, ErrorsShowWhereAndWhat) {
  const auto expect = [](const std::string& text, const std::string& place, const std::string& mention) {
    const std::string message = error_of([&] { Theory::parse(text, "file").results(); });
    EXPECT_EQ(message.substr(0, place.size() + 6), "file:" + place + ":") << message;
    EXPECT_NE(message.find(mention), std::string::npos) << message;
    EXPECT_NE(message.find("\n  "), std::string::npos) << message;
  };
  const std::string d = "domain d = {a, b}. rel p(d). rel q(d, d).\n";
  EXPECT_EQ(error_of([&] { Theory::parse(d + "assert forall x: p(x) -> r(x).", "file"); }),
            "file:2:26: nothing says what \"r\" is: no fact, no rule, no declaration — did you mean \"p\"?\n"
            "  assert forall x: p(x) -> r(x).\n"
            "                           ^");
  expect(d + "assert p(x).", "2:10", "\"x\" has no quantifier — forall x: …");
  expect(d + "assert forall x: p(x, x).", "2:18", "has 1 column, here are 2");
  expect(d + "domain e = {c}. rel r(e). assert forall x: p(x) -> r(x).", "2:54",
         "is of \"e\" here, and of \"d\" in line 2");
  expect(d + "p(c).", "2:3", "variable \"c\" in a fact");
  expect(d + "domain e = {c}. p(c).", "2:19", "\"c\" is no member of \"d\"");
  expect(d + "1.5 :: p(a).", "2:8", "from 0 to 1");
  expect(d + "semantics boolean. 0.5 :: p(a).", "2:27", "a boolean truth is 0 or 1");
  expect("semantics boolean. domain d: 2. param rel p(d).", "1:43", "no gradient");
  expect("semantics lth.", "1:11", "did you mean \"ltn\"");
  expect("semantics godel 2.", "1:17", "a p is of p-means");
  expect("semantics godel. rel p.\nsemantics ltn.", "2:1", "another semantics, after that of line 1");
  expect("algebra max-prodct.", "1:9", "did you mean \"max-product\"");
  expect("domain d: 0.", "1:11", "from 1 to");
  expect("rel p(person).", "1:7", "no domain \"person\" so far");
  expect("rel p. rel p.", "1:12", "declared twice");
  expect(d + "r(x, y) <- p(x).", "2:6", "nothing says which values \"y\" has");
  expect(d + "r(x, y) <- p(x). s(x, y) <- q(x, x), q(_, y), r(y, x).", "2:6", "nothing says which values");
  expect(d + "r(x) <- q(x, y), not s(x). s(x) <- r(x).", "2:22", "depends on itself through more than");
  expect(d + "T[x] = T[x] + 1.", "2:3", "nothing says which");
  expect(d + "tensor T[d]. T[x] = T[x] + 1.", "2:8", "depends on itself");
  expect(d + "param rel r(d). r(x) <- p(x).", "2:17", "is learned (line 2)");
  expect(d + "tensor T[d]. T[x] = 1. T[x] <- p(x).", "2:24", "has equations");
  expect(d + "T[x] = p(x) + x.", "2:15", "index \"x\" stands where a number should");
  expect(d + "T[x, x] = q(x, x).", "2:6", "different variables");
  expect(d + "neural n(d) = net(pictures). assert forall x: n(x).", "2:8", "no tensor \"pictures\"");
  expect(d + "tensor t[d]. neural n(d) = net(t). assert forall x: n(x).", "2:21",
         "nobody has said what network \"net\" is");
  expect(d + "assert forall x p(x).", "2:17", "\":\" is missing");
  expect(d + "assert forall 2 x: p(x).", "2:15", "of exists alone");
  expect(d + "assert -1 :: p(a).", "2:8", "greater than 0");
  expect(d + "assert forall x: x.", "2:18", "stands where a number should");
  expect(d + "semantics drastic. r(x) <- p(x).", "2:20", "rules have no meaning");
  expect(d + "assert forall^3 x: p(x). semantics godel.", "2:8", "a p is of p-means");
  expect("domain s: batch. rel p(s).", "1:22", "as large as a batch");
  expect("domain s: batch. param rel p(s).", "1:28", "as large as a batch");
  EXPECT_NE(error_of([] { Theory::parse("rel p. p.").results(); }).find("nothing is asserted"), std::string::npos);
  EXPECT_NE(error_of([] {
              Theory::parse("domain s: batch. input rel p(s). assert forall x: p(x).").results();
            }).find("no \"p\", which is an input"),
            std::string::npos);
  std::string deep(5000, '(');
  EXPECT_NE(error_of([&] { Theory::parse("assert " + deep + "p."); }).find("too many formulas within formulas"),
            std::string::npos);
}

}  // namespace
}  // namespace ingot::logic
