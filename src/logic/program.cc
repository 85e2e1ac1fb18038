#include "ingot/logic/program.h"

#include "ingot/base/error.h"
#include "ingot/base/file.h"
#include "ingot/base/text.h"
#include "ingot/logic/chance_function.h"
#include "logic/chances.h"
#include "logic/check.h"
#include "logic/evaluate.h"
#include "logic/extend.h"
#include "logic/parse.h"
#include "logic/update.h"

namespace ingot::logic {
namespace {

// Negation lets rows through that follow in no world.
void drop_impossible(Answer& a) {
  size_t n = 0;
  for (size_t i = 0; i < a.rows.size(); i++) {
    if (a.probabilities[i] <= 0) continue;
    if (n != i) a.rows[n] = std::move(a.rows[i]);
    a.probabilities[n++] = a.probabilities[i];
  }
  a.rows.resize(n);
  a.probabilities.resize(n);
}

}  // namespace

Program Program::parse(std::string text, Dialect dialect, const std::string& name) {
  if (name.ends_with(".theory"))
    throw Error("logic: " + in_quotes(name) +
                " is a theory, whose rules learn — `ingot logic run` and `learn` read it, and logic::Theory in C++");
  auto unit = std::make_shared<Unit>();
  unit->dialect = dialect;
  Parser(*unit).parse(name, std::move(text));
  check(*unit);
  return Program(std::move(unit));
}

Program Program::load(const std::string& path) {
  return parse(read_file(path), path.ends_with(".dl") ? Dialect::kSouffle : Dialect::kRules, path);
}

std::vector<std::string> Program::files() const { return unit_->sources.names(); }

Engine::Engine(const Program& program, RunOptions options)
    : evaluation_(std::make_unique<Evaluation>(*program.unit_, std::move(options))) {}
Engine::~Engine() = default;
Engine::Engine(Engine&&) noexcept = default;

namespace {

void change(Evaluation& e, const std::string& name, const std::vector<std::string>& fact, bool there) {
  const int number = e.number_of(name);
  Relation& r = e.relation(number);
  if (fact.size() != static_cast<size_t>(r.arity()))
    throw Error("logic: a fact of " + counted(std::ssize(fact), "column") + " for " + in_quotes(name) + ", which has " +
                std::to_string(r.arity()));
  std::vector<Value> values(fact.size() + 1);
  for (size_t c = 0; c < fact.size(); c++)
    if (!parse_value(r.types()[c], fact[c], values[c], e.unit().symbols))
      throw Error("logic: " + in_quotes(fact[c]) + " is no " + type_name(r.types()[c]) + " (column " +
                  std::to_string(c + 1) + " of " + in_quotes(name) + ")");
  if (e.done())
    e.updater().want(number, values.data(), there);
  else
    r.stage(values.data());
}

}  // namespace

void Engine::add(const std::string& name, const std::vector<std::string>& fact) {
  change(*evaluation_, name, fact, true);
}

void Engine::remove(const std::string& name, const std::vector<std::string>& fact) {
  if (!evaluation_->done()) throw Error("logic: facts are removed after run() — leave them out before");
  if (evaluation_->relation(evaluation_->number_of(name)).best() != Best::kAll)
    throw Error("logic: " + in_quotes(name) +
                " keeps best values and forgets the others, so no fact of it can be removed — remove facts that it is "
                "computed from");
  change(*evaluation_, name, fact, false);
}

void Engine::add(const std::string& name, const std::vector<int64_t>& facts) {
  const int number = evaluation_->number_of(name);
  Relation& r = evaluation_->relation(number);
  const auto arity = static_cast<size_t>(r.arity());
  if (arity == 0 || facts.size() % arity != 0)
    throw Error("logic: " + std::to_string(facts.size()) + " numbers are no facts of " + in_quotes(name) +
                ", which has " + counted(r.arity(), "column"));
  for (const Type type : r.types())
    if (type != Type::kNumber && type != Type::kUnsigned)
      throw Error("logic: " + in_quotes(name) + " is no relation of whole numbers");
  Value fact[32];
  for (size_t i = 0; i < facts.size(); i += arity) {
    for (size_t c = 0; c < arity; c++) fact[c] = of_number(facts[i + c]);
    if (evaluation_->done())
      evaluation_->updater().want(number, fact, true);
    else
      r.stage(fact);
  }
}

void Engine::load() { evaluation_->load(); }

std::vector<std::string> Engine::fact_files() const {
  std::vector<std::string> all;
  for (size_t i = 0; i < evaluation_->relations().size(); i++)
    for (const Request& r : evaluation_->unit().relations[i].requests)
      if (r.kind == Request::Kind::kInput) all.push_back(fact_file(*evaluation_, static_cast<int>(i), r));
  return all;
}

bool Engine::reload() {
  if (!evaluation_->done()) throw Error("logic: facts are read once more after run() — nobody has read them yet");
  evaluation_->run();  // what was added since
  return reread_facts(*evaluation_);
}

void Engine::run() { evaluation_->run(); }
std::string Engine::write() { return write_facts(*evaluation_); }

std::vector<std::string> Engine::output_files() const {
  std::vector<std::string> all;
  for (size_t i = 0; i < evaluation_->relations().size(); i++)
    for (const Request& r : evaluation_->unit().relations[i].requests) {
      if (r.kind == Request::Kind::kOutput) all.push_back(output_file(*evaluation_, static_cast<int>(i), r));
      if (!all.empty() && all.back().empty()) all.pop_back();
    }
  return all;
}

std::vector<std::string> Engine::relations() const {
  std::vector<std::string> names;
  for (const Declaration& d : evaluation_->unit().relations)
    if (!d.hidden) names.push_back(d.name);
  return names;
}

std::vector<std::string> Engine::outputs() const {
  std::vector<std::string> wanted, made;
  for (size_t i = 0; i < evaluation_->relations().size(); i++) {
    const Declaration& d = evaluation_->unit().relations[i];
    if (d.hidden) continue;
    if (evaluation_->has_rules(static_cast<int>(i))) made.push_back(d.name);
    for (const Request& r : d.requests)
      if (r.kind == Request::Kind::kOutput && (wanted.empty() || wanted.back() != d.name)) wanted.push_back(d.name);
  }
  return wanted.empty() ? made : wanted;
}

std::vector<std::string> Engine::texts(std::string_view beginning, size_t most) const {
  std::vector<std::string> all;
  for (const std::string& text : evaluation_->unit().symbols.texts()) {
    if (all.size() == most) break;
    if (text.starts_with(beginning)) all.push_back(text);
  }
  return all;
}

uint64_t Engine::size(const std::string& name) const {
  return evaluation_->relation(evaluation_->number_of(name)).size();
}
std::vector<Type> Engine::types(const std::string& name) const {
  return evaluation_->relation(evaluation_->number_of(name)).types();
}

bool Engine::contains(const std::string& name, const std::vector<std::string>& fact) const {
  const Relation& r = evaluation_->relation(evaluation_->number_of(name));
  if (fact.size() != static_cast<size_t>(r.arity())) return false;
  std::vector<Value> values(fact.size() + 1);
  for (size_t c = 0; c < fact.size(); c++) {
    if (r.types()[c] == Type::kSymbol ? !evaluation_->unit().symbols.find(fact[c], values[c])
                                      : !parse_value(r.types()[c], fact[c], values[c], evaluation_->unit().symbols))
      return false;
  }
  return r.contains(values.data());
}

namespace {

std::vector<std::vector<std::string>> texts_of(const Evaluation& e, int relation) {
  const Relation& r = e.relation(relation);
  std::vector<std::vector<std::string>> all;
  for (const auto& fact : sorted_facts(r)) {
    all.emplace_back();
    for (size_t c = 0; c < fact.size(); c++) all.back().push_back(value_text(r.types()[c], fact[c], e.unit().symbols));
  }
  return all;
}

Answer answer_to(Evaluation& e, const Query& q) {
  Answer a{q.text, q.names, texts_of(e, q.relation)};
  if (!e.is_uncertain(q.relation)) return a;
  a.probabilities = Chances(e, e.proofs()).probabilities(q.relation, sorted_facts(e.relation(q.relation)));
  drop_impossible(a);
  return a;
}

// Of the first fact that answers it.
std::string explanation_of(Evaluation& e, const Query& q) {
  const Rule* rule = nullptr;  // the query as a rule: its slots are the answer's columns
  for (const Rule& r : e.unit().rules)
    if (r.head.relation == q.relation) rule = &r;
  const auto answers = sorted_facts(e.relation(q.relation));
  const Atom& atom = rule->body.back().atom;
  std::vector<Value> slots(static_cast<size_t>(rule->slots) + 1, 0);
  if (answers.empty() && !q.names.empty()) return q.text + ": there is no such fact\n";
  for (size_t c = 0; c < q.names.size(); c++) slots[static_cast<size_t>(rule->head.arguments[c].slot)] = answers[0][c];
  std::vector<Value> fact;
  for (const Term& t : atom.arguments) fact.push_back(value_of(e.unit(), t, slots));
  return explain_fact(e, atom.relation, fact);
}

}  // namespace

std::vector<std::vector<std::string>> Engine::facts(const std::string& name) const {
  return texts_of(*evaluation_, evaluation_->number_of(name));
}

int64_t Engine::sum(const std::string& name, int column) const {
  const Relation& r = evaluation_->relation(evaluation_->number_of(name));
  if (column < 0 || column >= r.arity() || r.types()[static_cast<size_t>(column)] != Type::kNumber)
    throw Error("logic: " + in_quotes(name) + " has no column " + std::to_string(column) + " of numbers");
  uint64_t sum = 0;
  r.for_each([&](const Value* fact) { sum += fact[column]; });
  return static_cast<int64_t>(sum);
}

std::vector<Answer> Engine::answers() const {
  std::vector<Answer> all;
  for (const Query& q : evaluation_->unit().queries)
    if (!q.explain) all.push_back(answer_to(*evaluation_, q));
  return all;
}

std::vector<Answer> Engine::ask(const std::string& queries) {
  const size_t before = evaluation_->unit().queries.size();
  Extension extension(*evaluation_, queries);
  Evaluation& e = extension.evaluation();
  if (e.unit().queries.size() == before)
    throw Error("logic: there is no query in " + in_quotes(queries) + " — ask like this: path(1, x)?");
  e.run();
  std::vector<Answer> all;
  for (size_t i = before; i < e.unit().queries.size(); i++) {
    const Query& q = e.unit().queries[i];
    all.push_back(q.explain ? Answer{q.text, {}, {}} : answer_to(e, q));
    if (q.explain) all.back().explanation = explanation_of(e, q);
  }
  return all;
}

void Engine::extend(const std::string& statements) {
  Extension extension(*evaluation_, statements);
  extension.evaluation().run();
  evaluation_ = extension.keep();
}

double Engine::probability(const std::string& text) const {
  std::vector<Value> fact;
  const int relation = read_fact(*evaluation_, text, fact);
  if (!evaluation_->relation(relation).contains(fact.data())) return 0;
  if (!evaluation_->is_uncertain(relation)) return 1;
  return Chances(*evaluation_, evaluation_->proofs()).probabilities(relation, {fact})[0];
}

ChanceFunction Engine::chance_function(const std::vector<std::string>& facts) const {
  std::vector<std::pair<int, std::vector<Value>>> goals(facts.size());
  for (size_t i = 0; i < facts.size(); i++) goals[i].first = read_fact(*evaluation_, facts[i], goals[i].second);
  const Chances::Function f = Chances(*evaluation_, evaluation_->proofs()).function(goals);
  return {f.coins, f.weights, f.rows, facts};
}

std::vector<Slope> Engine::slopes(const std::string& text) const {
  std::vector<Value> fact;
  const int relation = read_fact(*evaluation_, text, fact);
  if (!evaluation_->relation(relation).contains(fact.data()) || !evaluation_->is_uncertain(relation)) return {};
  return Chances(*evaluation_, evaluation_->proofs()).slopes(relation, fact);
}

std::vector<std::string> Engine::explanations() const {
  std::vector<std::string> all;
  for (const Query& q : evaluation_->unit().queries)
    if (q.explain) all.push_back(explanation_of(*evaluation_, q));
  return all;
}

std::string Engine::explain(const std::string& fact) const { return explain_fact(*evaluation_, fact); }
std::string Engine::plan() const { return evaluation_->plan(); }
std::vector<RuleProfile> Engine::profile() const { return evaluation_->profile(); }
uint64_t Engine::bytes() const { return evaluation_->meter().used(); }
uint64_t Engine::peak_bytes() const { return evaluation_->meter().peak(); }

}  // namespace ingot::logic
