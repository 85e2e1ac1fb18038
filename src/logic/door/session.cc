#include "logic/door/session.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "ingot/base/error.h"
#include "ingot/base/file.h"
#include "ingot/base/text.h"
#include "ingot/recipe/terminal.h"

namespace ingot::logic::door {
namespace {

std::string query_text(const std::string& query) {
  std::string q(trimmed(query));
  if (q.ends_with('.')) q.pop_back();
  return q.ends_with('?') ? q : q + "?";
}

const std::vector<std::string> kCommands = {":explain", ":plan", ":profile", ":relations",
                                            ":load",    ":list", ":help",    ":quit"};
const std::vector<std::string> kWords = {"count", "domain", "explain", "input", "max",       "mean",
                                         "min",   "not",    "output",  "rel",   "semantics", "sum"};
constexpr size_t kMostWords = 1000;

Dialect dialect_of(const std::string& path) { return path.ends_with(".dl") ? Dialect::kSouffle : Dialect::kRules; }

}  // namespace

Program load_program(const std::string& path, const std::vector<std::string>& queries) {
  std::string text = read_file(path);
  for (const std::string& q : queries) text += "\n" + query_text(q) + "\n";
  return Program::parse(std::move(text), dialect_of(path), path);
}

void prepare_outputs(const std::vector<std::string>& read, const std::vector<std::string>& written) {
  std::error_code none, failed;
  for (const std::string& path : written) {
    for (const std::string& other : read)
      if (std::filesystem::equivalent(path, other, none))
        throw Error(ErrorKind::kArgument, "logic: " + in_quotes(path) +
                                              " is read by this run, which would write over it — give it another name, "
                                              "or output another folder with -D");
    const std::filesystem::path folder = std::filesystem::path(path).parent_path();
    if (!folder.empty()) std::filesystem::create_directories(folder, failed);
    if (failed)
      throw Error(ErrorKind::kFile,
                  "logic: the folder " + in_quotes(folder.string()) + " cannot be made: " + failed.message());
  }
}

std::string answer_text(const Answer& answer) {
  std::string text = recipe::printable(answer.query) + "?\n";
  const auto probability = [&](size_t row) {
    return row < answer.probabilities.size() ? fmt::format("   {:.6g}", answer.probabilities[row]) : "";
  };
  if (answer.names.empty()) return text + (answer.rows.empty() ? "  no\n" : "  yes" + probability(0) + "\n");
  if (answer.rows.empty()) return text + "  nothing\n";
  for (size_t r = 0; r < answer.rows.size(); r++) {
    std::vector<std::string> parts;
    for (size_t i = 0; i < answer.rows[r].size(); i++)
      parts.push_back(answer.names[i] + " = " + recipe::printable(answer.rows[r][i]));
    text += "  " + join(parts) + probability(r) + "\n";
  }
  return text;
}

std::string profile_text(const Engine& engine) {
  std::vector<RuleProfile> rules = engine.profile();
  std::stable_sort(rules.begin(), rules.end(), [](const auto& a, const auto& b) { return a.seconds > b.seconds; });
  std::string text = fmt::format("{:>10} {:>14} {:>8}  rule\n", "ms", "facts", "rounds");
  for (const RuleProfile& r : rules)
    text += fmt::format("{:>10.3f} {:>14} {:>8}  line {}: {}\n{:>34}  {}\n", r.seconds * 1e3,
                        grouped(static_cast<int64_t>(r.facts)), r.rounds, r.line,
                        recipe::printable(shortened(valid_utf8(r.rule), 90)), "", r.how);
  return text + "facts take " + format_bytes(engine.bytes()) + ", " + format_bytes(engine.peak_bytes()) + " at most\n";
}

std::string Session::help() {
  return "Write facts and rules, ended by a dot, and queries, ended by ?. A statement may take several lines.\n"
         "  :explain ancestor(ann, cid)   a proof, or what is missing\n"
         "  :plan                         how each rule is computed\n"
         "  :profile                      time and facts of each rule\n"
         "  :relations                    relations and their sizes\n"
         "  :load FILE                    begin anew with a program\n"
         "  :list                         the program so far\n"
         "  :help, :quit\n";
}

void Session::open(const std::string& path) {
  std::string text = read_file(path);
  const Dialect dialect = dialect_of(path);
  auto engine = std::make_unique<Engine>(Program::parse(text, dialect, path), options_);
  program_ = std::move(text);
  dialect_ = dialect;
  engine_ = std::move(engine);
  added_.clear();
}

// Perhaps nothing is computed yet.
Engine& Session::known() {
  if (engine_) return *engine_;
  engine_ = std::make_unique<Engine>(Program::parse(program_, dialect_, "input"), options_);
  added_.clear();
  return *engine_;
}

// Of the program as it is. What was added takes over what it does not change.
Engine& Session::engine() {
  known();
  try {
    engine_->run();
  } catch (...) {
    engine_.reset();  // half computed
    throw;
  }
  if (!added_.empty()) engine_->extend(added_);
  added_.clear();
  return *engine_;
}

std::string Session::command(const std::string& text) {
  const size_t space = text.find(' ');
  const std::string word = text.substr(0, space);
  const std::string rest(space == std::string::npos ? "" : trimmed(std::string_view(text).substr(space)));
  if (word == ":quit" || word == ":q") return finished_ = true, "";
  if (word == ":help") return help();
  if (word == ":list") return program_;
  if (word == ":plan") return engine().plan();
  if (word == ":profile") return profile_text(engine());
  if (word == ":explain") return engine().explain(rest);
  if (word == ":load") return open(rest), "";
  if (word == ":relations") {
    std::string all;
    for (const std::string& name : engine().relations())
      all += fmt::format("{:>14}  {}\n", grouped(static_cast<int64_t>(engine_->size(name))), name);
    return all;
  }
  throw Error("repl: there is no command " + in_quotes(word) + " — " + did_you_mean(word, kCommands));
}

namespace {

std::vector<std::string> files_beginning(const std::string& beginning) {
  const std::filesystem::path path(beginning);
  const std::filesystem::path folder = path.has_parent_path() ? path.parent_path() : ".";
  const std::string name = path.filename().string();
  std::vector<std::string> all;
  std::error_code none;
  for (auto at = std::filesystem::directory_iterator(folder, none), end = std::filesystem::directory_iterator();
       !none && at != end && all.size() < kMostWords; at.increment(none)) {
    const std::string found = at->path().filename().string();
    if (!found.starts_with(name) || (name.empty() && found.starts_with('.'))) continue;
    const std::string whole = (path.parent_path() / found).string();
    all.push_back(at->is_directory(none) ? whole + "/" : whole);
  }
  std::sort(all.begin(), all.end());
  return all;
}

bool is_letter(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

}  // namespace

recipe::Completions Session::completions(const std::string& before) {
  recipe::Completions c;
  const auto take = [&](const std::vector<std::string>& words, std::string_view beginning) {
    for (const std::string& w : words)
      if (w.starts_with(beginning)) c.words.push_back(w);
  };
  const bool command = pending_.empty() && before.starts_with(':');
  if (command && before.find(' ') == std::string::npos) {
    take(kCommands, before);
    return c;
  }
  if (command && before.starts_with(":load ")) {
    c.from = before.find_first_not_of(' ', 6);
    if (c.from == std::string::npos) c.from = before.size();
    c.words = files_beginning(before.substr(c.from));
    return c;
  }
  c.from = before.size();
  while (c.from > 0 && is_letter(before[c.from - 1])) c.from--;
  const std::string word = before.substr(c.from);
  try {
    take(added_.empty() ? known().relations() : Engine(Program::parse(program_, dialect_, "input")).relations(), word);
    for (const std::string& text : known().texts(word, kMostWords))
      if (std::all_of(text.begin(), text.end(), is_letter)) c.words.push_back(text);
  } catch (const Error&) {  // a program whose files are missing
  }
  if (!word.empty()) take(kWords, word);
  std::sort(c.words.begin(), c.words.end());
  c.words.erase(std::unique(c.words.begin(), c.words.end()), c.words.end());
  return c;
}

namespace {

// Calls f(place) for each character of a text that is not inside quotes.
template <class F>
void outside_quotes(const std::string& text, F f) {
  bool quoted = false;
  for (size_t i = 0; i < text.size(); i++) {
    if (quoted && text[i] == '\\')
      i++;
    else if (text[i] == '"')
      quoted = !quoted;
    else if (!quoted)
      f(i);
  }
}

// Where the last statement of a text begins: behind the last dot that ends one.
size_t last_statement(const std::string& text) {
  size_t begin = 0;
  outside_quotes(text, [&](size_t i) {
    if (text[i] == '.' && i + 1 < text.size() && std::isspace(static_cast<unsigned char>(text[i + 1])) != 0)
      begin = i + 1;
  });
  return begin;
}

// A line without the comment at its end: what is in front of that says whether a statement is finished.
std::string_view without_comment(const std::string& line, Dialect dialect) {
  size_t end = line.size();
  outside_quotes(line, [&](size_t i) {
    const bool comment = line.compare(i, 2, "//") == 0 || (dialect == Dialect::kRules && line[i] == '#');
    if (comment) end = std::min(end, i);
  });
  return trimmed(std::string_view(line).substr(0, end));
}

}  // namespace

// Facts and rules stay; a query is asked once.
std::string Session::statement(const std::string& text) {
  if (const size_t begin = text.ends_with('?') ? last_statement(text) : 0; begin > 0) {
    statement(text.substr(0, begin));
    return statement(std::string(trimmed(std::string_view(text).substr(begin))));
  }
  const std::string whole = program_ + text + "\n";
  const bool query = text.ends_with('?');
  if (!query) {
    Program::parse(whole, dialect_, "input");
    program_ = whole;
    if (engine_) added_ += text + "\n";
    return "";
  }
  Program::parse(whole, dialect_, "input");  // a mistake in it is one before anything is computed
  std::string shown;
  for (const Answer& a : engine().ask(text)) shown += a.explanation.empty() ? answer_text(a) : a.explanation;
  return shown;
}

std::string Session::line(const std::string& text) {
  const std::string_view words = text.starts_with(':') ? trimmed(text) : without_comment(text, dialect_);
  if (words.empty() && (pending_.empty() || !trimmed(text).empty())) return "";
  try {
    if (pending_.empty() && words.starts_with(':')) return command(std::string(words));
    if (!pending_.empty() && words.empty()) {  // an empty line gives up
      pending_.clear();
      return "forgotten\n";
    }
    pending_ += (pending_.empty() ? "" : "\n") + std::string(words);
    const bool directive = dialect_ == Dialect::kSouffle && pending_.starts_with('.');
    if (!pending_.ends_with('.') && !pending_.ends_with('?') && !directive) return "";
    return statement(std::exchange(pending_, {}));
  } catch (const Error& e) {
    failed_ = true;
    return std::string(e.what()) + "\n";
  }
}

std::string Session::end() {
  try {
    return pending_.empty() ? "" : statement(std::exchange(pending_, {}));
  } catch (const Error& e) {
    failed_ = true;
    return std::string(e.what()) + "\n";
  }
}

}  // namespace ingot::logic::door
