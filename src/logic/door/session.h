// A program that grows statement by statement, and what people see of its results.
#pragma once
#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "ingot/logic/program.h"
#include "ingot/recipe/line_editor.h"

namespace ingot::logic::door {

/// A file with queries put behind it, which are of Ingot's dialect for its own files only.
Program load_program(const std::string& path, const std::vector<std::string>& queries);
/// Before anything is computed: an Error if what will be written has been read; makes folders that are missing.
void prepare_outputs(const std::vector<std::string>& read, const std::vector<std::string>& written);
/// Answers as lines: `x = ann, y = bob`, or yes and no.
std::string answer_text(const Answer& answer);
/// Rules by the time they took.
std::string profile_text(const Engine& engine);

/// What a REPL does with a line, without a terminal.
class Session {
 public:
  explicit Session(RunOptions options) : options_(std::move(options)) {}
  /// Text to print for a line of input: answers, an error, or "" while a statement is not finished.
  std::string line(const std::string& text);
  /// Is the last statement unfinished?
  bool unfinished() const { return !pending_.empty(); }
  bool finished() const { return finished_; }
  /// The input ends: what is wrong with the unfinished statement.
  std::string end();
  /// Was there an error?
  bool failed() const { return failed_; }
  /// The unfinished statement is none.
  void forget() { pending_.clear(); }
  /// What the last word of a line could become: commands, relations, texts of the facts, words of the language, files.
  recipe::Completions completions(const std::string& before);
  void open(const std::string& path);
  static std::string help();

 private:
  std::string command(const std::string& text);
  std::string statement(const std::string& text);
  Engine& known();
  Engine& engine();

  RunOptions options_;
  std::string program_, pending_;
  std::unique_ptr<Engine> engine_;  // of the program but for what was added since
  std::string added_;
  Dialect dialect_ = Dialect::kRules;
  bool finished_ = false, failed_ = false;
};

}  // namespace ingot::logic::door
