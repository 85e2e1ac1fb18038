// Rules and facts: a program is text of Ingot's own dialect (.rules) or of Soufflé's (.dl), checked as a whole; an Engine
// computes what follows from it.
//
//   auto engine = logic::Engine(logic::Program::parse("edge(1, 2). path(x, y) <- edge(x, y)."));
//   engine.run();
//   engine.size("path");
#pragma once
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ingot/base/export.h"

namespace ingot::logic {

enum class Type : uint8_t { kNumber, kUnsigned, kFloat, kSymbol };
enum class Dialect : uint8_t { kRules, kSouffle };

struct Unit;
class Evaluation;
class ChanceFunction;  // chance_function.h

/// A program that makes sense: names, types, arities and negation were checked. Errors name line and column and show them.
class INGOT_API Program {
 public:
  static Program parse(std::string text, Dialect dialect = Dialect::kRules, const std::string& name = "program");
  /// A file; .dl is Soufflé's dialect, everything else Ingot's. Not .theory: those learn (theory.h).
  static Program load(const std::string& path);
  /// The file and those that it includes; the name alone of a program that is text.
  std::vector<std::string> files() const;

 private:
  friend class Engine;
  explicit Program(std::shared_ptr<Unit> unit) : unit_(std::move(unit)) {}
  std::shared_ptr<Unit> unit_;
};

struct RunOptions {
  std::string facts = ".";                    // where .input looks for files
  std::string output = ".";                   // where .output writes them; "-" for standard output
  uint64_t memory_limit = 0;                  // bytes that facts may take; 0: half of the machine's
  const std::atomic<bool>* cancel = nullptr;  // becomes true: run() ends with an Error of kind kCancelled
  int proofs = -1;  // that are kept of an uncertain fact; 0: all, exactly; -1: as the program says (all, if nothing)
  std::vector<std::string> without = {};  // methods of methods() to do without
  uint64_t most_work = 0;  // steps of joins; more end run() with an Error of kind kCancelled. 0: no limit
};

/// A way to compute something faster. Results are the same without it.
struct Method {
  std::string_view name, about;
};
INGOT_API std::span<const Method> methods();

/// How much a fact's probability grows with that of another statement.
struct Slope {
  std::string statement;  // the fact, or the rule and the values of its variables
  double probability = 0, slope = 0;
};

/// What one rule did.
struct RuleProfile {
  std::string rule;  // as it was written
  int line = 0;
  std::string how;  // the order of its joins, or the method that took its place
  double seconds = 0;
  uint64_t facts = 0;  // that it found first
  int64_t rounds = 0;
};

/// The answers to a query: names of its variables, and their values.
struct Answer {
  std::string query;
  std::vector<std::string> names;
  std::vector<std::vector<std::string>> rows;  // no names: one empty row is yes, none is no
  std::vector<double> probabilities = {};      // of the rows, if coins decide about them; else empty
  std::string explanation = {};                // of `explain …?`
};

/// Computes a program, and knows the result.
class INGOT_API Engine {
 public:
  explicit Engine(const Program& program, RunOptions options = {});
  ~Engine();
  Engine(Engine&&) noexcept;

  /// Adds a fact. Texts and numbers are written as in files.
  void add(const std::string& relation, const std::vector<std::string>& fact);
  /// Takes back a given fact, after run(); what rules make of others stays. Nothing happens if it was not given.
  void remove(const std::string& relation, const std::vector<std::string>& fact);
  /// Adds facts of whole numbers, one after the other in a flat list.
  void add(const std::string& relation, const std::vector<int64_t>& facts);
  /// Reads the files that the program names. run() does it if nobody did.
  void load();
  /// The files that load() reads.
  std::vector<std::string> fact_files() const;
  /// After run(): reads them once more. The given facts of their relations become those of the files and of the program,
  /// whatever was added since; the next run() computes what changes. False, and nothing done, where only a new engine can
  /// forget a fact: in relations that keep best values. If a file is wrong, everything is as it was.
  bool reload();
  /// Computes what follows. When facts were added or removed since, what changes with them, and only that where it can.
  void run();
  /// Writes the files that the program names; returns what goes to standard output.
  std::string write();
  /// The files that write() writes.
  std::vector<std::string> output_files() const;

  std::vector<std::string> relations() const;
  /// Those whose facts the program wants written, or else those that rules make.
  std::vector<std::string> outputs() const;
  /// Texts of the program and its facts that begin so, for completion.
  std::vector<std::string> texts(std::string_view beginning, size_t most) const;
  uint64_t size(const std::string& relation) const;
  std::vector<Type> types(const std::string& relation) const;
  bool contains(const std::string& relation, const std::vector<std::string>& fact) const;
  /// All facts as in files, sorted as Soufflé sorts: column by column, numbers by size, texts in the order in which they
  /// were met.
  std::vector<std::vector<std::string>> facts(const std::string& relation) const;
  /// The last column of all facts, summed up; of numbers only.
  int64_t sum(const std::string& relation, int column) const;
  std::vector<Answer> answers() const;
  /// Answers to more queries, `path(1, x)?` or `explain path(1, 2)?`, of what is computed already.
  std::vector<Answer> ask(const std::string& queries);
  /// The program goes on with these statements, and run() is done at once: what they do not change is not computed again. If
  /// they make no sense, or computing is stopped, everything is as it was. Given facts stay: those of files as they were read,
  /// and what add() and remove() made of them.
  void extend(const std::string& statements);
  /// Facts that the program asks to be explained, as text.
  std::vector<std::string> explanations() const;

  /// A smallest proof of a fact as a tree of lines, or why there is none: the first premise that is missing.
  std::string explain(const std::string& fact) const;
  /// How probable a fact is: of facts and rules with probabilities, the worlds in which it follows. Exact, or (with
  /// `proofs`) what its best proofs alone say. 1 for a certain fact, 0 for none.
  double probability(const std::string& fact) const;
  /// The derivatives of that by the probability of every statement that has one and leads to the fact.
  std::vector<Slope> slopes(const std::string& fact) const;
  /// The probabilities of these facts as a function of those of the statements that have one: a part of plans, which learns.
  ChanceFunction chance_function(const std::vector<std::string>& facts) const;
  /// What was decided: strata, methods, orders of joins.
  std::string plan() const;
  std::vector<RuleProfile> profile() const;
  /// Bytes that facts take, and took at most.
  uint64_t bytes() const;
  uint64_t peak_bytes() const;

 private:
  std::unique_ptr<Evaluation> evaluation_;
};

}  // namespace ingot::logic
