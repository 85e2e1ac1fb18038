// From the text of a theory to a tree.
#include <cmath>
#include <limits>
#include <set>
#include <utility>

#include "ingot/base/error.h"
#include "ingot/base/numbers.h"
#include "ingot/base/text.h"
#include "logic/theory/files.h"
#include "logic/theory/syntax.h"
#include "logic/tokens.h"

namespace ingot::logic {
namespace {

constexpr int kDeepest = 200;  // formulas within formulas
constexpr size_t kMostStatements = 5000, kMostFacts = 1'000'000;
constexpr int64_t kMostWitnesses = 100;

using Kind = Node::Kind;

Node node(Kind kind, int at, std::vector<Node> parts = {}) {
  Node n{.kind = kind, .at = at};
  n.parts = std::move(parts);
  return n;
}

class TheoryParser {
 public:
  TheoryParser(TheoryUnit& unit, const std::string& name, std::string text) : unit_(unit) {
    begin_ = unit_.sources.add(name, std::move(text));
    tokens_ = tokens_of(unit_.sources, begin_, Dialect::kRules);
  }

  void statements() {
    while (now().kind != Token::Kind::kEnd) {
      statement();
      if (unit_.statements.size() > kMostStatements)
        fail("more than " + grouped(kMostStatements) + " rules, equations and assertions");
      if (unit_.facts.size() > kMostFacts)
        fail("more than " + grouped(kMostFacts) + " facts", "put them into a tensor and hand it over: Theory::set()");
    }
  }

  Statement question() {
    Statement s{.kind = Statement::Kind::kAsk, .at = now().at};
    s.body.push_back(formula());
    take("?");
    if (now().kind != Token::Kind::kEnd) fail("a question ends here", "ask one thing: ancestor(ann, y)");
    return s;
  }

 private:
  // Tokens -------------------------------------------------------------------------------------------------------------

  const Token& now() const { return tokens_[i_]; }
  const Token& ahead(size_t n = 1) const { return tokens_[std::min(i_ + n, tokens_.size() - 1)]; }
  bool take(std::string_view sign) {
    if (!now().is(sign)) return false;
    i_++;
    return true;
  }
  std::string found() const { return now().kind == Token::Kind::kEnd ? "the end of the text" : in_quotes(now().text); }
  void expect(std::string_view sign, const std::string& where) {
    if (!take(sign)) fail("\"" + std::string(sign) + "\" is missing " + where + ", here is " + found());
  }
  std::string name(const std::string& what) {
    if (now().kind != Token::Kind::kName || is_word(now()))
      fail("here should be " + what + ", but there is " + found());
    return std::string(tokens_[i_++].text);
  }
  double number(const std::string& what) {
    const bool negative = take("-");
    double value = 0;
    const bool numeric = now().kind == Token::Kind::kInteger || now().kind == Token::Kind::kReal;
    if (!numeric || !parse_number(now().text, value) || !std::isfinite(value))
      fail("here should be " + what + ", but there is " + found());
    i_++;
    return negative ? -value : value;
  }
  int64_t size(const std::string& what) {
    const int at = now().at;
    const double value = number(what);
    if (value != std::floor(value) || value < 1 || value > 1e8)
      fail_at(at, what + " is a whole number from 1 to 100,000,000");
    return static_cast<int64_t>(value);
  }
  [[noreturn]] void fail(const std::string& what, const std::string& hint = "") const { fail_at(now().at, what, hint); }
  [[noreturn]] void fail_at(int at, const std::string& what, const std::string& hint = "") const {
    unit_.sources.fail(at, what, hint);
  }
  static bool is_word(const Token& t) {
    for (const char* word : {"and", "or", "not", "where", "in", "forall", "exists"})
      if (t.is(word)) return true;
    return false;
  }
  std::string text_from(int at) const {
    return std::string(trimmed(unit_.sources.text(at).substr(0, static_cast<size_t>(now().at - at))));
  }

  // Statements ---------------------------------------------------------------------------------------------------------

  void statement() {
    const bool word = ahead().kind == Token::Kind::kName;
    if (now().is("domain") && word) return domain();
    if (now().is("semantics") && word) return semantics();
    if (now().is("algebra") && word) return algebra();
    if (now().is("temperature") && (ahead().kind == Token::Kind::kInteger || ahead().kind == Token::Kind::kReal))
      return temperature();
    if (now().is("output") && word) return output();
    if ((now().is("rel") || now().is("tensor") || now().is("param") || now().is("input")) && word) return declaration();
    if (now().is("neural") && word) return neural();
    if (now().is("assert") && !ahead().is("(") && !ahead().is(".")) return assertion();
    clause();
  }

  void end(const std::string& what) { expect(".", "behind " + what); }

  // domain person = {ann, bob}.   domain person = "people.csv".   domain digit: 10.   domain sample: batch.
  void domain() {
    i_++;
    Domain d{.name = "", .at = now().at};
    d.name = name("the name of a domain");
    if (unit_.domain_named(d.name) >= 0) fail_at(d.at, "domain " + in_quotes(d.name) + " is declared twice");
    if (take(":")) {
      d.size = take("batch") ? kBatch : size("the size of a domain (or `batch`)");
    } else {
      expect("=", "and the members in braces, or a file of them, or : and a size");
      if (now().kind == Token::Kind::kText)
        members_of_file(d);
      else
        members(d);
    }
    end("the domain");
    unit_.domains.push_back(std::move(d));
  }

  void members(Domain& d) {
    expect("{", "before the members");
    std::set<std::string> seen;
    do {
      const int at = now().at;
      d.members.push_back(now().kind == Token::Kind::kText ? unquoted(tokens_[i_++].text)
                                                           : name("the name of a member"));
      if (!seen.insert(d.members.back()).second)
        fail_at(at, "member " + in_quotes(d.members.back()) + " is there twice");
    } while (take(","));
    expect("}", "behind the members");
  }

  // "parents.csv" 1, 2: what stands in these columns of the file, in the first if nothing is said.
  void members_of_file(Domain& d) {
    const std::string file = unquoted(tokens_[i_++].text);
    std::vector<int64_t> columns;
    if (now().kind == Token::Kind::kInteger) {
      do columns.push_back(size("the number of a column"));
      while (take(","));
    }
    unit_.files.push_back(path_in(unit_.folder, file));
    d.members = read_members(unit_, file, columns.empty() ? std::vector<int64_t>{1} : columns);
    if (d.members.empty()) fail_at(d.at, "file " + in_quotes(file) + " has no members for domain " + in_quotes(d.name));
  }

  // output smokes.   output smokes "smokes.npy".
  void output() {
    i_++;
    TheoryOutput o{.name = "", .file = "", .at = now().at};
    o.name = name("the name of a relation or tensor");
    o.file = now().kind == Token::Kind::kText ? unquoted(tokens_[i_++].text) : o.name + ".csv";
    end("the output");
    unit_.outputs.push_back(std::move(o));
  }

  // What a theory says once, or nobody knows which one counts.
  void once(const std::string& what) {
    const auto [said, first] = said_.emplace(what, now().at);
    if (!first)
      fail("another " + what + ", after that of line " + std::to_string(unit_.sources.line(said->second)),
           "a theory has one " + what);
    i_++;
  }

  // semantics godel.   semantics ltn 4.
  void semantics() {
    once("semantics");
    const int at = now().at;
    const std::string which = name("the name of a semantics");
    try {
      unit_.semantics = logic::semantics(which == "boolean" ? "godel" : which);
    } catch (const Error&) {
      fail_at(at, "there is no semantics " + in_quotes(which),
              did_you_mean(which, std::vector<std::string>{"boolean", "godel", "product", "lukasiewicz", "drastic",
                                                           "nilpotent", "hamacher", "ltn", "probability"}));
    }
    unit_.semantics_name = which;
    if (!now().is(".")) {
      const int place = now().at;
      const double p = number("a p, or the end of the statement");
      if (which != "ltn")
        fail_at(place, "a p is of p-means, which " + in_quotes(which) + " does not have", "semantics ltn 4.");
      if (p < 1) fail_at(place, "p is at least 1");
      unit_.semantics.p_forall = unit_.semantics.p_exists = p;
    }
    end("the semantics");
  }

  // algebra max-product.
  void algebra() {
    once("algebra");
    const int at = now().at;
    unit_.algebra = name("the name of an algebra");
    while (take("-")) unit_.algebra += "-" + std::string(tokens_[i_++].text);
    std::vector<std::string> all;
    bool there = false;
    for (const Algebra& each : algebras()) {
      if (each.dtype != kF32) continue;
      all.emplace_back(each.name);
      there = there || unit_.algebra == each.name;
    }
    if (!there)
      fail_at(at, "there is no algebra " + in_quotes(unit_.algebra) + " for rules that learn",
              did_you_mean(unit_.algebra, all));
    end("the algebra");
  }

  void temperature() {
    once("temperature");
    const int at = now().at;
    unit_.temperature = number("a temperature");
    if (unit_.temperature < 0) fail_at(at, "a temperature is 0 or more");
    end("the temperature");
  }

  // rel parent(person, person).   rel parent(person, person) "parents.csv".   param tensor W[j: 16, i: 8].
  void declaration() {
    TheoryTensor t;
    if (take("param"))
      t.kind = TheoryTensor::Kind::kParam;
    else if (take("input"))
      t.kind = TheoryTensor::Kind::kInput;
    t.truths = !now().is("tensor");
    if (!take("rel") && !take("tensor")) fail("here should be `rel` or `tensor`, but there is " + found());
    t.at = now().at;
    t.name = name("a name");
    axes(t);
    t.file_at = now().at;
    if (now().kind == Token::Kind::kText) t.file = unquoted(tokens_[i_++].text);
    end("this declaration");
    add(std::move(t));
  }

  void axes(TheoryTensor& t) {
    if (!now().is("(") && !now().is("[")) return;
    const std::string close = now().is("(") ? ")" : "]";
    i_++;
    while (!take(close)) {
      Axis axis;
      std::string called;
      if (now().kind == Token::Kind::kInteger) {
        axis.size = size("the size of an axis");
      } else {
        int at = now().at;
        called = name("a domain, or a name and a size");
        std::string domain = called;
        if (take(":")) {
          at = now().at;
          if (now().kind == Token::Kind::kInteger)
            axis.size = size("the size of an axis"), domain.clear();
          else
            domain = name("a domain or a size");
        }
        if (!domain.empty()) {
          axis.domain = unit_.domain_named(domain);
          std::vector<std::string> known;
          for (const Domain& d : unit_.domains) known.push_back(d.name);
          if (axis.domain < 0)
            fail_at(at, "there is no domain " + in_quotes(domain) + " so far",
                    known.empty() ? "domain " + domain + " = {…}." : did_you_mean(domain, known));
        }
      }
      t.axes.push_back(axis);
      t.axis_names.push_back(called);
      if (!take(",") && !now().is(close)) expect(close, "behind the axes");
    }
    t.arity = static_cast<int>(t.axes.size());
    if (t.arity > kMaxRank) fail_at(t.at, in_quotes(t.name) + " has more than 8 axes");
  }

  void add(TheoryTensor t) {
    if (unit_.find(t.name) >= 0) fail_at(t.at, in_quotes(t.name) + " is declared twice");
    if (unit_.domain_named(t.name) >= 0) fail_at(t.at, in_quotes(t.name) + " is the name of a domain");
    if (find_function1(t.name) != nullptr)
      fail_at(t.at, in_quotes(t.name) + " is the name of a function", "choose another");
    if (unit_.tensors.size() >= kMostTensors)
      fail_at(t.at, "more than " + grouped(kMostTensors) + " relations and tensors");
    t.declared = true;
    unit_.numbers.emplace(t.name, static_cast<int>(unit_.tensors.size()));
    unit_.tensors.push_back(std::move(t));
  }

  // neural digit(sample, value) = softmax(net(picture)).
  void neural() {
    i_++;
    TheoryTensor t;
    t.at = now().at;
    t.kind = TheoryTensor::Kind::kNeural;
    t.name = name("the name of a neural predicate");
    axes(t);
    expect("=", "and the network that says it: digit(sample, value) = softmax(net(picture))");
    t.network = name("the name of a network");
    expect("(", "behind the network");
    if (t.network == "softmax" || t.network == "sigmoid") {
      t.head = t.network;
      t.network = name("the name of a network");
      expect("(", "behind the network");
    }
    do t.network_inputs.push_back(name("the name of a tensor"));
    while (take(","));
    expect(")", "behind the tensors");
    if (!t.head.empty()) expect(")", "behind the network");
    end("the neural predicate");
    add(std::move(t));
  }

  // assert 0.8 :: symmetric: forall x, y: friends(x, y) -> friends(y, x).
  void assertion() {
    const int at = now().at;
    i_++;
    Assertion a;
    a.line = unit_.sources.line(at);
    if (weight_ahead()) {
      const int place = now().at;
      a.weight = number("a weight");
      if (!(a.weight > 0)) fail_at(place, "the weight of an assertion is greater than 0");
      i_++;
    }
    if (now().kind == Token::Kind::kName && ahead().is(":")) {
      a.name = name("a name");
      i_++;
    }
    Statement s{.kind = Statement::Kind::kAssert, .at = now().at};
    s.body.push_back(formula());
    a.text = text_from(s.at);
    if (a.name.empty()) a.name = a.text;
    end("the assertion");
    for (const Assertion& other : unit_.assertions)
      if (other.name == a.name)
        fail_at(s.at, "there are two assertions " + in_quotes(a.name), "call one of them otherwise: assert again: …");
    if (a.name == "loss" || a.name == "satisfaction")
      fail_at(at, in_quotes(a.name) + " is what all assertions together make");
    unit_.asserted.push_back(static_cast<int>(unit_.statements.size()));
    unit_.assertions.push_back(std::move(a));
    unit_.statements.push_back(std::move(s));
  }

  // A fact, a rule, an equation, or a question.
  void clause() {
    const int at = now().at;
    double weight = 1;
    bool weighted = false;
    if (weight_ahead()) {
      weight = number("a weight"), weighted = true;
      i_++;
    }
    if (now().kind != Token::Kind::kName) fail("a statement cannot begin with " + found());
    if (question_ahead()) return ask(at);
    Node head = atom();
    if (head.kind == Kind::kName) head.kind = Kind::kTensor;
    if (head.kind != Kind::kTensor) fail_at(at, "a function stands where a relation or a tensor should");
    if (take("<-") || take(":-")) {
      do {
        Statement s{.kind = Statement::Kind::kRule, .at = at, .head = head};
        if (weighted) {
          s.body.push_back({.kind = Kind::kNumber, .at = at});
          s.body.back().number = weight;
        }
        do s.body.push_back(formula());
        while (take(","));
        unit_.statements.push_back(std::move(s));
      } while (take(";"));
      return end("the rule");
    }
    if (!weighted && take("=")) {
      Statement s{.kind = Statement::Kind::kEquation, .at = at, .head = head};
      s.body.push_back(formula());
      unit_.statements.push_back(std::move(s));
      return end("the equation");
    }
    end("this statement");
    unit_.facts.push_back({std::move(head), weight, weighted});
  }

  bool weight_ahead() const { return ahead().is("::") || (now().is("-") && ahead(2).is("::")); }
  bool question_ahead() const {
    for (size_t i = i_; tokens_[i].kind != Token::Kind::kEnd; i++) {
      if (tokens_[i].is("?")) return true;
      if (tokens_[i].is(".") || tokens_[i].is("<-") || tokens_[i].is(":-")) return false;
    }
    return false;
  }

  void ask(int at) {
    Statement s{.kind = Statement::Kind::kAsk, .at = at};
    s.body.push_back(formula());
    unit_.questions.push_back(text_from(at));
    expect("?", "behind the question");
    unit_.statements.push_back(std::move(s));
  }

  // Formulas and terms: one grammar, from the loosest sign to the closest ------------------------------------------------

  struct Deeper {
    explicit Deeper(TheoryParser& p) : parser(p) {
      if (++parser.depth_ > kDeepest) parser.fail("too many formulas within formulas");
    }
    ~Deeper() { parser.depth_--; }
    TheoryParser& parser;
  };

  Node formula() {
    const Deeper deeper(*this);
    Node left = either();
    const int at = now().at;
    if (take("->")) return node(Kind::kImplies, at, {std::move(left), formula()});
    if (take("<->")) return node(Kind::kSame, at, {std::move(left), formula()});
    return left;
  }
  template <class Next>
  Node chain(std::initializer_list<std::pair<const char*, Kind>> signs, Next next) {
    Node left = next();
    for (int longest = 0;;) {
      const int at = now().at;
      bool more = false;
      for (const auto& [sign, kind] : signs)
        if (!more && take(sign)) {
          more = true;
          left = node(kind, at, {std::move(left), next()});
        }
      if (!more) return left;
      if (++longest > kDeepest) fail_at(at, "a formula of more than " + std::to_string(kDeepest) + " parts in a row");
    }
  }
  Node either() {
    return chain({{"or", Kind::kOr}}, [&] { return both(); });
  }
  Node both() {
    return chain({{"and", Kind::kAnd}}, [&] { return denial(); });
  }
  Node denial() {
    const Deeper deeper(*this);
    const int at = now().at;
    if (take("not") || take("!")) return node(Kind::kNot, at, {denial()});
    if (now().is("forall") || now().is("exists")) return quantifier();
    return comparison();
  }

  // forall^6 x in person, y where x != y: …
  Node quantifier() {
    Node q = node(now().is("forall") ? Kind::kForAll : Kind::kExists, now().at);
    i_++;
    if (take("^")) {
      const int at = now().at;
      q.number = number("a p");
      if (q.number < 1) fail_at(at, "p is at least 1");
    }
    if (now().kind == Token::Kind::kInteger) {
      if (q.kind == Kind::kForAll || q.number > 0)
        fail("a number of witnesses is of exists alone", "exists 3 x: at least three of them");
      q.count = size("how many there are");
      if (q.count > kMostWitnesses) fail("more than " + std::to_string(kMostWitnesses) + " witnesses");
    }
    do {
      Node::Bound b{.name = "", .at = now().at};
      b.name = name("a variable");
      if (take("in")) b.domain = name("a domain");
      for (const Node::Bound& other : q.bound)
        if (other.name == b.name) fail_at(b.at, "variable " + in_quotes(b.name) + " is there twice");
      q.bound.push_back(std::move(b));
    } while (take(","));
    Node guard;
    const bool guarded = take("where");
    if (guarded) guard = formula();
    expect(":", "behind the variables");
    q.parts.push_back(formula());
    if (guarded) q.parts.push_back(std::move(guard));
    return q;
  }

  Node comparison() {
    Node left = sum();
    static constexpr std::pair<std::string_view, Comparison> kSigns[] = {
        {"=", Comparison::kEqual},         {"!=", Comparison::kNotEqual}, {"<=", Comparison::kLessEqual},
        {">=", Comparison::kGreaterEqual}, {"<", Comparison::kLess},      {">", Comparison::kGreater}};
    for (const auto& [sign, comparison] : kSigns) {
      const int at = now().at;
      if (!take(sign)) continue;
      Node n = node(Kind::kCompare, at, {std::move(left), sum()});
      n.comparison = comparison;
      return n;
    }
    return left;
  }
  Node sum() {
    return chain({{"+", Kind::kAdd}, {"-", Kind::kSubtract}}, [&] { return product(); });
  }
  Node product() {
    Node left = unary();
    for (int longest = 0;; longest++) {
      if (longest > kDeepest) fail("a product of more than " + std::to_string(kDeepest) + " factors");
      const int at = now().at;
      if (take("*"))
        left = node(Kind::kMultiply, at, {std::move(left), unary()});
      else if (take("/"))
        left = node(Kind::kDivide, at, {std::move(left), unary()});
      else if (take("%"))
        left = node(Kind::kModulo, at, {std::move(left), unary()});
      else if (now().kind == Token::Kind::kName && !is_word(now()))  // W[j, i] X[n, i]
        left = node(Kind::kMultiply, at, {std::move(left), unary()});
      else
        return left;
    }
  }
  Node unary() {
    const Deeper deeper(*this);
    const int at = now().at;
    if (take("-")) return node(Kind::kNegative, at, {unary()});
    Node base = atom();
    const int sign = now().at;
    return take("^") ? node(Kind::kPower, sign, {std::move(base), unary()}) : base;
  }

  Node atom() {
    const Token& t = now();
    if (t.kind == Token::Kind::kInteger || t.kind == Token::Kind::kReal) {
      Node n = node(Kind::kNumber, t.at);
      n.number = number("a number");
      return n;
    }
    if (t.kind == Token::Kind::kText) {
      Node n = node(Kind::kName, t.at);
      n.name = unquoted(t.text);
      i_++;
      return n;
    }
    if (take("(")) {
      Node inner = formula();
      expect(")", "behind this formula");
      return inner;
    }
    Node n = node(Kind::kName, t.at);
    n.name = name("a formula or a number");
    if (ahead(0).is("(") && find_function1(n.name) != nullptr) {
      i_++;
      n.kind = Kind::kFunction;
      n.function = find_function1(n.name);
      n.parts.push_back(formula());
      expect(")", "behind the argument of " + in_quotes(n.name));
      return n;
    }
    if (reduces(n.name) && now().is("[")) return reduction(std::move(n));
    if (!now().is("(") && !now().is("[")) return n;
    n.kind = Kind::kTensor;
    n.square = now().is("[");
    const std::string close = n.square ? "]" : ")";
    i_++;
    while (!take(close)) {
      n.parts.push_back(sum());
      if (!take(",") && !now().is(close)) expect(close, "behind the places of " + in_quotes(n.name));
    }
    return n;
  }

  static bool reduces(const std::string& name) {
    return name == "softmax" || name == "sum" || name == "mean" || name == "max" || name == "min";
  }
  // softmax[q](…)
  Node reduction(Node n) {
    n.kind = Kind::kReduce;
    i_++;
    do {
      n.bound.push_back({.name = "", .at = now().at});
      n.bound.back().name = name("a variable");
    } while (take(","));
    if (n.name == "softmax" && n.bound.size() > 1) fail_at(n.at, "softmax goes over one variable");
    expect("]", "behind the variables");
    expect("(", "and what it goes over");
    n.parts.push_back(formula());
    expect(")", "behind it");
    return n;
  }

  TheoryUnit& unit_;
  int begin_;
  std::vector<Token> tokens_;
  size_t i_ = 0;
  int depth_ = 0;
  std::map<std::string, int> said_;  // and where
};

}  // namespace

void parse_theory(TheoryUnit& unit, const std::string& name, std::string text) {
  unit.text = text;
  TheoryParser(unit, name, std::move(text)).statements();
}

void choose_semantics(TheoryUnit& unit, const std::string& semantics) {
  TheoryParser(unit, "semantics", "semantics " + semantics + ".").statements();
}

Statement parse_question(TheoryUnit& unit, const std::string& text) {
  unit.sources = {};
  return TheoryParser(unit, "question", text).question();
}

}  // namespace ingot::logic
