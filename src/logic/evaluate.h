// What follows from a program: stratum by stratum, each by a method that suits it, else by semi-naive rounds.
#pragma once
#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "logic/check.h"
#include "logic/join_plan.h"
#include "logic/machine.h"
#include "logic/relation.h"

namespace ingot::logic {

class Updater;

class Evaluation {
 public:
  Evaluation(const Unit& unit, RunOptions options, std::shared_ptr<Meter> meter = nullptr);
  ~Evaluation();

  Unit& unit() { return unit_; }
  const Unit& unit() const { return unit_; }
  /// The program before negations of uncertain facts were taken out: what is computed is what holds in some world, and more.
  const Unit& unit_as_written() const { return written_ ? *written_ : unit_; }
  bool is_uncertain(int relation) const { return unit_.relations[static_cast<size_t>(relation)].uncertain; }
  /// How many proofs of an uncertain fact are kept; 0: all.
  int proofs() const { return options_.proofs >= 0 ? options_.proofs : unit_.proofs; }
  const RunOptions& options() const { return options_; }
  Relation& relation(int number) { return *relations_[static_cast<size_t>(number)]; }
  const Relation& relation(int number) const { return *relations_[static_cast<size_t>(number)]; }
  enum Way : uint8_t { kRows, kSets, kClosure, kBestPaths, kSharing };  // in the order of methods()
  bool uses(Way way) const { return uses_[way]; }
  /// An empty one.
  std::unique_ptr<Relation> make_relation(int number);
  /// By its name; an Error that lists what there is.
  int number_of(const std::string& name) const;
  const std::vector<Relation*>& relations() const { return pointers_; }
  const Meter& meter() const { return *meter_; }
  Meter& meter() { return *meter_; }
  const std::shared_ptr<Meter>& shared_meter() const { return meter_; }

  // A program that goes on where another one ends (extend.cc).
  /// Takes what the statements behind `before`'s program do not change; run() computes the rest.
  void adopt(Evaluation& before);
  /// Gives that back.
  void give_back(Evaluation& before);

  // What becomes of given facts when rules are done (update.cc).
  bool has_rules(int relation) const { return has_rules_[static_cast<size_t>(relation)]; }
  bool has_given(int relation) const {
    return given_[static_cast<size_t>(relation)] && given_[static_cast<size_t>(relation)]->size() > 0;
  }
  /// Of a relation with rules: remembers that. True if it was not so.
  bool set_given(int relation, const Value* fact, bool there);
  /// The same, for a relation without rules too, whatever becomes of its form.
  void force_given(int relation, const Value* fact, bool there);
  /// The relation before, while a new one has the given facts.
  std::unique_ptr<Relation> begin_anew(int relation);
  void compute_all();
  void compute(const Stratum& stratum);
  /// Steps that computing the stratum took when all of it was computed last.
  uint64_t work_of(const Stratum& stratum) const { return stratum_work_[static_cast<size_t>(stratum.relations[0])]; }
  Updater& updater();

  /// Reads the files of .input, once.
  void load();
  /// Facts that are written in the program go to the relation that `into` gives, if it gives one.
  /// `from`: only those that stand there or behind.
  void stage_facts(const std::function<Relation*(int)>& into, int from = 0);
  /// Facts from outside; null if there are none.
  const Relation* given(int relation) const {
    return has_rules(relation) ? given_[static_cast<size_t>(relation)].get() : &this->relation(relation);
  }
  void run();
  bool done() const { return done_; }
  /// Did the fact come from outside, not from a rule?
  bool is_given(int relation, const Value* fact) const;
  std::vector<RuleProfile> profile() const;
  std::string plan() const;

  /// Plans a body for other purposes than its own rule's: for explanations.
  JoinPlan plan_for(const Rule& rule, std::vector<bool> bound, bool as_written) const;
  const std::atomic<bool>* cancel() const { return options_.cancel; }
  void check_cancel() const;

 private:
  struct Work {  // what becomes of one rule
    const Rule* rule;
    std::string how = {};
    double seconds = 0;
    uint64_t facts = 0;
    int64_t rounds = 0;
  };
  struct Round {  // a rule whose one literal reads what is new
    Work* work;
    int fresh;
    JoinPlan plan = {};
    uint64_t planned_for = 0;  // sizes, roughly
  };
  void compute_freely(const Stratum& stratum);
  uint64_t work_left() const {
    return options_.most_work == 0 ? UINT64_MAX : options_.most_work - std::min(options_.most_work, work_);
  }
  void suppose_possible();
  static std::vector<const Rule*> rules_of(const std::vector<Work*>& works);
  bool by_closure(const Stratum& stratum, const std::vector<Work*>& works);
  bool by_best_paths(const Stratum& stratum, const std::vector<Work*>& works);
  void base_rules(const Stratum& stratum, const std::vector<Work*>& works);
  void rounds(const Stratum& stratum, const std::vector<Work*>& works);
  bool one_round(std::vector<Round>& rounds, const Stratum& stratum);
  bool is_recursive(const Rule& rule, const Stratum& stratum) const;
  bool is_adopted(int relation) const {
    return static_cast<size_t>(relation) < adopted_.size() && adopted_[static_cast<size_t>(relation)] >= 0;
  }
  bool inherits(int relation) const {
    return static_cast<size_t>(relation) < inherits_.size() && inherits_[static_cast<size_t>(relation)];
  }
  std::vector<bool> changed_since(const Evaluation& before) const;
  JoinPlan planned(const Rule& rule, int fresh) const;
  uint64_t sizes_of(const Rule& rule) const;
  void run_rule(Work& work, const JoinPlan& plan, uint64_t fresh = 0);
  uint64_t run_shared(const Rule& rule, const JoinPlan& plan, const Shards& shards, bool wide);
  void set_row_limits(const Stratum& stratum);

  Unit unit_;
  std::unique_ptr<Unit> written_;
  RunOptions options_;
  std::shared_ptr<Meter> meter_;
  std::vector<std::unique_ptr<Relation>> relations_;
  std::vector<Relation*> pointers_;
  std::vector<Work> works_;
  std::vector<bool> has_rules_;
  std::vector<uint64_t> stratum_work_;  // of the first relation's
  uint64_t work_ = 0;
  std::vector<std::unique_ptr<Relation>> given_;
  std::unique_ptr<Updater> updater_;
  std::vector<int> adopted_;    // of each relation: its number in the evaluation that it comes from; -1: none
  std::vector<bool> inherits_;  // or its given facts do; statements from here on add to them
  int inherited_to_ = 0;
  bool uses_[kSharing + 1];
  bool loaded_ = false, done_ = false;
};

/// Files of facts (facts_file.cc).
std::string fact_file(const Evaluation& evaluation, int relation, const Request& request);
/// Where its facts are written; "" for standard output.
std::string output_file(const Evaluation& e, int number, const Request& request);
void read_facts(Evaluation& evaluation, int relation, const Request& request, Relation& into);
/// What reading all files once more changes becomes changes of the next run. False if that cannot be done.
bool reread_facts(Evaluation& evaluation);
/// Writes what is asked for; text for standard output is returned.
std::string write_facts(Evaluation& evaluation);
/// Facts as lists of words, sorted as they are written.
std::vector<std::vector<Value>> sorted_facts(const Relation& relation);

/// Proofs (explain.cc). read_fact gives the relation of a fact that is written as in a program.
int read_fact(Evaluation& evaluation, const std::string& text, std::vector<Value>& fact);
std::string explain_fact(Evaluation& evaluation, const std::string& fact);
std::string explain_fact(Evaluation& evaluation, int relation, const std::vector<Value>& fact);

}  // namespace ingot::logic
