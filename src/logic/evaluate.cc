#include "logic/evaluate.h"

#include <algorithm>
#include <numeric>

#include "ingot/base/clock.h"
#include "ingot/base/machine.h"
#include "ingot/base/text.h"
#include "logic/closure.h"
#include "logic/update.h"

namespace ingot::logic {

uint64_t shared_from = 1024;

namespace {

uint64_t half_of_memory() {
  const uint64_t all = machine_info().ram_bytes;
  return all > 0 ? all / 2 : uint64_t{4} << 30;
}

constexpr Method kMethods[] = {
    {"rows", "relations of small numbers are sets per first number, as ids or as bits"},
    {"sets", "whole sets are united, intersected and subtracted at once"},
    {"closure", "transitive closures by components"},
    {"best-paths", "best values along edges in Dijkstra's order"},
    {"sharing", "rounds shared among threads"},
};

}  // namespace

std::span<const Method> methods() { return kMethods; }

Evaluation::Evaluation(const Unit& unit, RunOptions options, std::shared_ptr<Meter> meter)
    : unit_(unit), options_(std::move(options)), meter_(std::move(meter)) {
  if (!meter_) meter_ = std::make_shared<Meter>(options_.memory_limit > 0 ? options_.memory_limit : half_of_memory());
  std::fill(std::begin(uses_), std::end(uses_), true);
  for (const std::string& name : options_.without) {
    const auto found =
        std::find_if(std::begin(kMethods), std::end(kMethods), [&](const Method& m) { return m.name == name; });
    std::vector<std::string> known;
    for (const Method& m : kMethods) known.emplace_back(m.name);
    if (found == std::end(kMethods))
      throw Error("logic: there is no method " + in_quotes(name) + " to do without — " + did_you_mean(name, known));
    uses_[found - std::begin(kMethods)] = false;
  }
  suppose_possible();
  for (size_t i = 0; i < unit_.relations.size(); i++) {
    relations_.push_back(make_relation(static_cast<int>(i)));
    pointers_.push_back(relations_.back().get());
  }
  unit_.symbols.set_meter(*meter_);
  has_rules_.assign(relations_.size(), false);
  stratum_work_.assign(relations_.size(), 0);
  given_.resize(relations_.size());
  for (const Rule& r : unit_.rules) {
    if (r.is_fact()) continue;
    works_.push_back({&r});
    has_rules_[static_cast<size_t>(r.head.relation)] = true;
  }
}

Evaluation::~Evaluation() = default;

std::unique_ptr<Relation> Evaluation::make_relation(int number) {
  return std::make_unique<Relation>(unit_.relations[static_cast<size_t>(number)], *meter_, uses(kRows));
}

// `not p(x)` of an uncertain p may hold, whatever facts of p are possible.
void Evaluation::suppose_possible() {
  for (size_t r = 0; r < unit_.rules.size(); r++)
    for (size_t l = 0; l < unit_.rules[r].body.size(); l++) {
      const Literal& literal = unit_.rules[r].body[l];
      if (literal.kind != Literal::Kind::kNegated || !is_uncertain(literal.atom.relation)) continue;
      if (!written_) written_ = std::make_unique<Unit>(unit_);
      const Term one{.kind = Term::Kind::kInteger, .at = literal.at, .name = "1", .value = 1};
      unit_.rules[r].body[l] = {.kind = Literal::Kind::kCompare, .at = literal.at, .left = one, .right = one};
    }
}

int Evaluation::number_of(const std::string& name) const {
  const int number = unit_.find(name);
  if (number >= 0) return number;
  std::vector<std::string> known;
  for (const Declaration& d : unit_.relations)
    if (!d.hidden) known.push_back(d.name);
  throw Error("logic: there is no relation " + in_quotes(name) + " — " + did_you_mean(name, known));
}

void Evaluation::check_cancel() const {
  if (options_.cancel != nullptr && options_.cancel->load(std::memory_order_relaxed))
    throw Error(ErrorKind::kCancelled, "logic: stopped");
}

void Evaluation::stage_facts(const std::function<Relation*(int)>& into, int from) {
  Value fact[32];
  for (const Rule& r : unit_.rules) {
    if (!r.is_fact() || r.at < from) continue;
    Relation* to = into(r.head.relation);
    if (to == nullptr) continue;
    size_t n = 0;
    for (const Term& t : r.head.arguments) fact[n++] = value_of(unit_, t, {});
    to->stage(fact);
  }
  for (const Domain& d : unit_.domains) {
    Relation* to = d.size > 0 ? into(unit_.find(d.name)) : nullptr;
    for (int64_t i = 0; to != nullptr && i < d.size; i++) {
      fact[0] = of_number(i);
      to->stage(fact);
    }
  }
}

void Evaluation::load() {
  if (loaded_) return;
  loaded_ = true;
  stage_facts([this](int r) { return is_adopted(r) || inherits(r) ? nullptr : &relation(r); });
  stage_facts([this](int r) { return inherits(r) ? &relation(r) : nullptr; }, inherited_to_);
  for (size_t i = 0; i < relations_.size(); i++)
    for (const Request& request : unit_.relations[i].requests)
      if (request.kind == Request::Kind::kInput && !is_adopted(static_cast<int>(i)) && !inherits(static_cast<int>(i)))
        read_facts(*this, static_cast<int>(i), request, *relations_[i]);
  for (size_t i = 0; i < relations_.size(); i++) {
    if (!is_adopted(static_cast<int>(i))) relations_[i]->settle();
    check_cancel();
  }
  for (const Work& w : works_) {  // of relations with facts and rules: which facts came from outside?
    const int number = w.rule->head.relation;
    auto& given = given_[static_cast<size_t>(number)];
    if (given || is_adopted(number) || relation(number).size() == 0) continue;
    given = make_relation(number);
    relation(number).for_each([&](const Value* fact) { given->stage(fact); });
    given->settle();
  }
}

bool Evaluation::is_given(int number, const Value* fact) const {
  if (!has_rules(number)) return relation(number).contains(fact);
  const auto& given = given_[static_cast<size_t>(number)];
  return given != nullptr && given->contains(fact);
}

namespace {

void change(Relation& r, const Value* fact, bool there) {
  if (!there) {
    r.erase(fact);
  } else if (r.fits(fact)) {
    r.put(fact);
  } else {
    r.insert(fact);  // and waits
    r.change_form();
  }
}

}  // namespace

bool Evaluation::set_given(int number, const Value* fact, bool there) {
  if (is_given(number, fact) == there) return false;
  if (!has_rules(number)) return true;
  auto& given = given_[static_cast<size_t>(number)];
  if (!given) given = make_relation(number);
  change(*given, fact, there);
  return true;
}

void Evaluation::force_given(int number, const Value* fact, bool there) {
  if (set_given(number, fact, there) && !has_rules(number)) change(relation(number), fact, there);
}

std::unique_ptr<Relation> Evaluation::begin_anew(int number) {
  const auto i = static_cast<size_t>(number);
  std::unique_ptr<Relation> before = std::move(relations_[i]);
  relations_[i] = make_relation(number);
  pointers_[i] = relations_[i].get();
  if (given_[i]) given_[i]->for_each([&](const Value* fact) { relations_[i]->stage(fact); });
  relations_[i]->settle();
  return before;
}

void Evaluation::compute_all() {
  for (size_t i = 0; i < relations_.size(); i++)
    if (has_rules_[i]) begin_anew(static_cast<int>(i));
  for (const Stratum& s : stratify(unit_)) compute(s);
}

Updater& Evaluation::updater() {
  if (!updater_) updater_ = std::make_unique<Updater>(*this);
  return *updater_;
}

void Evaluation::run() {
  if (done_) {
    if (updater_) updater_->run();
    return;
  }
  load();
  for (const Stratum& s : stratify(unit_))
    if (!is_adopted(s.relations[0])) compute(s);
  done_ = true;
}

bool Evaluation::is_recursive(const Rule& rule, const Stratum& stratum) const {
  return std::any_of(rule.body.begin(), rule.body.end(), [&](const Literal& l) {
    return l.kind == Literal::Kind::kAtom &&
           std::binary_search(stratum.relations.begin(), stratum.relations.end(), l.atom.relation);
  });
}

void Evaluation::compute(const Stratum& stratum) {
  try {
    compute_freely(stratum);
  } catch (const Machine::TooMuchWork&) {
    throw Error(ErrorKind::kCancelled, "logic: more than " + counted(static_cast<int64_t>(options_.most_work), "step") +
                                           " — allow more, or does a rule go through too much?");
  }
}

void Evaluation::compute_freely(const Stratum& stratum) {
  std::vector<Work*> works;
  for (Work& w : works_)
    if (std::binary_search(stratum.relations.begin(), stratum.relations.end(), w.rule->head.relation))
      works.push_back(&w);
  if (works.empty()) return;
  check_cancel();
  set_row_limits(stratum);
  const uint64_t before = work_;
  if (!stratum.recursive || !by_closure(stratum, works)) {
    base_rules(stratum, works);
    if (stratum.recursive && !by_best_paths(stratum, works)) rounds(stratum, works);
  }
  stratum_work_[static_cast<size_t>(stratum.relations[0])] = work_ - before;
}

// Numbers that some relation has already are worth a row, and so are as many as there are facts.
void Evaluation::set_row_limits(const Stratum& stratum) {
  uint64_t limit = 0;
  for (const Relation* r : pointers_) {
    limit = std::max(limit, 4 * r->size());
    if (r->rows() != nullptr && r->size() > 0)
      limit = std::max({limit, uint64_t{r->rows()->key_count()}, uint64_t{r->rows()->top()} + 1});
  }
  for (const int r : stratum.relations) relation(r).set_row_limit(std::min<uint64_t>(limit, uint64_t{1} << 31));
}

JoinPlan Evaluation::planned(const Rule& rule, int fresh) const {
  return plan_join({.unit = unit_,
                    .rule = rule,
                    .body = rule.body,
                    .relations = pointers_,
                    .fresh = fresh,
                    .bound = {},
                    .sets = uses(kSets)});
}

JoinPlan Evaluation::plan_for(const Rule& rule, std::vector<bool> bound, bool as_written) const {
  return plan_join({.unit = unit_,
                    .rule = rule,
                    .body = rule.body,
                    .relations = pointers_,
                    .bound = std::move(bound),
                    .as_written = as_written,
                    .end = Step::Kind::kSolved});
}

void Evaluation::run_rule(Work& work, const JoinPlan& plan, uint64_t fresh) {
  Relation& head = relation(work.rule->head.relation);
  const int64_t begin = now_ns();
  const uint64_t before = head.size();
  const std::optional<Shards> shards = fresh > 0 && uses(kSharing) ? shards_of(*work.rule, plan, head) : std::nullopt;
  if (shards) {
    const bool wide = fresh >= shared_from;
    work_ += run_shared(*work.rule, plan, *shards, wide);
  } else {
    Machine machine(unit_, *work.rule, plan, &head, options_.cancel);
    machine.set_most_work(work_left());
    machine.run();
    work_ += machine.work();
  }
  work.facts += head.size() - before;
  work.seconds += static_cast<double>(now_ns() - begin) * 1e-9;
  work.rounds++;
}

// Each worker runs the whole plan, and leaves out the rows of others.
uint64_t Evaluation::run_shared(const Rule& rule, const JoinPlan& plan, const Shards& shards, bool wide) {
  Relation& head = relation(rule.head.relation);
  head.rows()->prepare(shards.keys, shards.top);
  std::vector<Rows::Found> found(wide ? static_cast<size_t>(threads()) : 1);
  std::vector<uint64_t> work(found.size());
  in_shards(wide, [&](const Team& team) {
    const auto rank = static_cast<size_t>(team.rank());
    Machine machine(unit_, rule, plan, &head, options_.cancel);
    machine.share(shards, team, found[rank]);
    machine.set_most_work(work_left());
    machine.run();
    work[rank] = machine.work();
  });
  for (const Rows::Found& f : found) head.rows()->take(f);
  return std::accumulate(work.begin(), work.end(), uint64_t{0});
}

void Evaluation::base_rules(const Stratum& stratum, const std::vector<Work*>& works) {
  for (Work* w : works) {
    if (is_recursive(*w->rule, stratum)) continue;
    const JoinPlan plan = planned(*w->rule, -1);
    w->how = plan.text();
    run_rule(*w, plan);
    relation(w->rule->head.relation).change_form();
  }
}

std::vector<const Rule*> Evaluation::rules_of(const std::vector<Work*>& works) {
  std::vector<const Rule*> rules;
  rules.reserve(works.size());
  for (const Work* w : works) rules.push_back(w->rule);
  return rules;
}

bool Evaluation::by_closure(const Stratum& stratum, const std::vector<Work*>& works) {
  if (!uses(kClosure) || stratum.relations.size() != 1) return false;
  const int p = stratum.relations[0];
  const std::vector<const Rule*> rules = rules_of(works);
  const int base = closed_relation(rules, p);
  if (base < 0 || relation(p).size() > 0) return false;
  const Rows* edges = relation(base).rows();
  if (edges == nullptr || relation(p).rows() == nullptr) return false;
  if (edges->key_count() > 0 && !relation(p).fits(edges->key_count() - 1, 0)) return false;
  const int64_t begin = now_ns();
  work_ += transitive_closure(*edges, *relation(p).rows(), *meter_, [this] { check_cancel(); });
  for (Work* w : works) w->how = "transitive closure of " + relation(base).name() + " by components";
  works[0]->seconds = static_cast<double>(now_ns() - begin) * 1e-9;
  works[0]->facts = relation(p).size();
  works[0]->rounds = 1;
  return true;
}

bool Evaluation::by_best_paths(const Stratum& stratum, const std::vector<Work*>& works) {
  if (!uses(kBestPaths) || stratum.relations.size() != 1) return false;
  const int p = stratum.relations[0];
  const std::vector<const Rule*> rules = rules_of(works);
  BestPaths paths;
  if (!best_paths_of(rules, p, unit_.relations[static_cast<size_t>(p)], paths)) return false;
  const int64_t begin = now_ns();
  const uint64_t before = relation(p).size();
  if (!complete_best_paths(paths, pointers_, relation(p), *meter_, [this] { check_cancel(); })) return false;
  bool first = true;
  for (Work* w : works) {
    if (!is_recursive(*w->rule, stratum)) continue;
    w->how = "best values first (Dijkstra)";
    if (!first) continue;
    w->seconds = static_cast<double>(now_ns() - begin) * 1e-9;
    w->facts = relation(p).size() - before;
    w->rounds = 1;
    first = false;
  }
  return true;
}

// The sizes that a plan goes by, in powers of four.
uint64_t Evaluation::sizes_of(const Rule& rule) const {
  uint64_t sizes = 1;
  for (const Literal& l : rule.body)
    if (l.kind == Literal::Kind::kAtom)
      sizes = sizes * 31 +
              static_cast<uint64_t>(std::bit_width(pointers_[static_cast<size_t>(l.atom.relation)]->size()) / 2);
  return sizes;
}

void Evaluation::rounds(const Stratum& stratum, const std::vector<Work*>& works) {
  std::vector<Round> all;
  for (Work* w : works)
    for (size_t i = 0; i < w->rule->body.size(); i++) {
      const Literal& l = w->rule->body[i];
      if (l.kind == Literal::Kind::kAtom &&
          std::binary_search(stratum.relations.begin(), stratum.relations.end(), l.atom.relation))
        all.push_back({w, static_cast<int>(i)});
    }
  bool best = false;
  for (const int r : stratum.relations) {
    relation(r).begin_rounds();
    best = best || relation(r).best() != Best::kAll;
  }
  for (uint64_t round = 0;; round++) {
    check_cancel();
    if (!one_round(all, stratum)) continue;  // something took another form: once more
    bool more = false;
    uint64_t facts = 0;
    for (const int r : stratum.relations) {
      more = relation(r).advance() || more;
      facts += relation(r).size();
    }
    if (!more) break;
    if (best && round > facts + 1000)
      unit_.sources.fail(works[0]->rule->at,
                         "best values of " + in_quotes(relation(stratum.relations[0]).name()) + " get better for ever",
                         "is there a cycle of edges whose sum is below zero?");
  }
  for (const int r : stratum.relations) relation(r).end_rounds();
}

// False if a relation took another form, and so all of it is new again.
bool Evaluation::one_round(std::vector<Round>& rounds, const Stratum& stratum) {
  for (Round& r : rounds) {  // all plans first: what they prepare must not see facts of this round
    const uint64_t sizes = sizes_of(*r.work->rule);
    if (r.planned_for == sizes) continue;
    r.planned_for = sizes;
    r.plan = planned(*r.work->rule, r.fresh);
    r.work->how = r.plan.text();
  }
  for (Round& r : rounds) {
    const uint64_t fresh = relation(r.work->rule->body[static_cast<size_t>(r.fresh)].atom.relation).fresh_size();
    if (fresh == 0) continue;
    run_rule(*r.work, r.plan, fresh);
    if (!relation(r.work->rule->head.relation).change_form()) continue;
    for (const int s : stratum.relations) relation(s).begin_rounds();
    for (Round& other : rounds) other.planned_for = 0;
    return false;
  }
  return true;
}

std::vector<RuleProfile> Evaluation::profile() const {
  std::vector<RuleProfile> all;
  for (const Work& w : works_) {
    if (w.rule->chance) continue;
    std::string_view text = unit_.sources.text(w.rule->at);
    text = text.substr(0, std::min({text.find(".\n"), text.find("?\n"), text.size()}));
    std::string line;
    for (const char c : text.substr(0, 200))
      if (c != '\n' && c != '\r' && (c != ' ' || (!line.empty() && line.back() != ' '))) line += c;
    all.push_back({line, unit_.sources.line(w.rule->at), w.how, w.seconds, w.facts, w.rounds});
  }
  return all;
}

std::string Evaluation::plan() const {
  std::string text;
  int number = 0;
  for (const Stratum& s : stratify(unit_)) {
    std::vector<std::string> names;
    for (const int r : s.relations)
      names.push_back(relation(r).name() + " (" + counted(static_cast<int64_t>(relation(r).size()), "fact") + ", " +
                      (relation(r).rows() != nullptr ? "rows" : "tuples") + ")");
    text += "stratum " + std::to_string(++number) + (s.recursive ? ", recursive: " : ": ") + join(names) + "\n";
    for (const Work& w : works_)
      if (std::binary_search(s.relations.begin(), s.relations.end(), w.rule->head.relation))
        text += "  line " + std::to_string(unit_.sources.line(w.rule->at)) + ": " +
                (w.how.empty() ? "not run" : w.how) + "\n";
  }
  return text;
}

}  // namespace ingot::logic
