// `ingot logic watch`: a program whose results are shown again, as far as they change, whenever one of its files does.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <thread>

#include "ingot/base/clock.h"
#include "ingot/base/error.h"
#include "ingot/base/file.h"
#include "ingot/base/text.h"
#include "ingot/recipe/terminal.h"
#include "logic/door/commands.h"
#include "logic/door/interrupts.h"
#include "logic/door/session.h"

namespace ingot::logic::door {
namespace {

constexpr auto kPause = std::chrono::milliseconds(100);
constexpr uint64_t kMostCompared = 2'000'000;  // facts of one result that are compared line by line
constexpr size_t kMostShown = 20;

// When a file changed last, and its size. None: it is not there.
struct Stamp {
  std::filesystem::file_time_type time = {};
  std::uintmax_t size = 0;
  bool there = false;
  bool operator==(const Stamp&) const = default;
};

Stamp stamp_of(const std::string& path) {
  std::error_code none;
  Stamp s{std::filesystem::last_write_time(path, none), 0, false};
  if (none) return {};
  s.size = std::filesystem::file_size(path, none);
  s.there = !none;
  return s;
}

// Files whose changes count once they have been as they are for a pause: who writes them should be done.
class Files {
 public:
  void follow(const std::vector<std::string>& paths) {
    for (const std::string& path : paths)
      if (seen_.count(path) == 0) taken_[path] = seen_[path] = stamp_of(path);
  }
  std::vector<std::string> changed() {
    std::vector<std::string> all;
    for (auto& [path, last] : seen_) {
      const Stamp now = stamp_of(path);
      if (now == last && now != taken_[path]) {
        taken_[path] = now;
        all.push_back(path);
      }
      last = now;
    }
    return all;
  }
  size_t size() const { return seen_.size(); }

 private:
  std::map<std::string, Stamp> seen_, taken_;
};

// What a program comes to: for each result its size, and its lines, sorted, if they are not too many.
struct Result {
  uint64_t size = 0;
  std::optional<std::vector<std::string>> lines = {};
};
using Results = std::map<std::string, Result>;

Results results_of(const Engine& e) {
  Results all;
  for (const std::string& name : e.outputs()) {
    Result& r = all[name];
    r.size = e.size(name);
    if (r.size > kMostCompared) continue;
    r.lines.emplace();
    for (const auto& fact : e.facts(name)) r.lines->push_back(name + "(" + join(fact) + ")");
  }
  for (const Answer& a : e.answers()) {
    Result& r = all[a.query + "?"];
    r.size = a.rows.size();
    r.lines.emplace();
    for (size_t i = 0; i < a.rows.size(); i++) {
      std::vector<std::string> parts;
      for (size_t c = 0; c < a.names.size(); c++) parts.push_back(a.names[c] + " = " + a.rows[i][c]);
      r.lines->push_back(parts.empty() ? "yes" : join(parts));
      if (i < a.probabilities.size()) r.lines->back() += fmt::format("   {:.6g}", a.probabilities[i]);
    }
  }
  for (auto& [name, r] : all)
    if (r.lines) std::sort(r.lines->begin(), r.lines->end());
  return all;
}

void show(const std::vector<std::string>& lines, char sign, std::string (*colour)(std::string_view)) {
  for (size_t i = 0; i < std::min(lines.size(), kMostShown); i++)
    fmt::print("{}\n", colour(std::string("  ") + sign + " " + recipe::printable(lines[i])));
  if (lines.size() > kMostShown)
    fmt::print("  {} … {} more\n", sign, grouped(static_cast<int64_t>(lines.size() - kMostShown)));
}

std::string uncoloured(std::string_view text) { return std::string(text); }

// What went and what came. False if nothing did.
bool show_difference(const Results& before, const Results& now) {
  static const Result none{0, std::vector<std::string>()};
  bool any = false;
  std::map<std::string, std::pair<const Result*, const Result*>> both;
  for (const auto& [name, r] : before) both[name] = {&r, &none};
  for (const auto& [name, r] : now) both[name] = {both.count(name) > 0 ? both[name].first : &none, &r};
  for (const auto& [name, pair] : both) {
    const auto& [b, n] = pair;
    std::vector<std::string> went, came;
    const bool lines = b->lines && n->lines;
    if (lines) {
      std::set_difference(b->lines->begin(), b->lines->end(), n->lines->begin(), n->lines->end(),
                          std::back_inserter(went));
      std::set_difference(n->lines->begin(), n->lines->end(), b->lines->begin(), b->lines->end(),
                          std::back_inserter(came));
      if (went.empty() && came.empty()) continue;
    } else if (b->size == n->size) {
      continue;  // too many to compare
    }
    any = true;
    fmt::print("{}: {}, {} before\n", recipe::printable(name), grouped(static_cast<int64_t>(n->size)),
               grouped(static_cast<int64_t>(b->size)));
    show(went, '-', recipe::dim);
    show(came, '+', lines ? recipe::green : uncoloured);
  }
  return any;
}

class Watch {
 public:
  Watch(std::string file, std::string facts, std::vector<std::string> queries)
      : file_(std::move(file)),
        queries_(std::move(queries)),
        options_{.facts = std::move(facts), .output = "-", .cancel = &interrupted} {}

  void run() {
    const InputFile there("watch", file_);  // a wrong name is a mistake; a file that goes away later is not
    const Interrupts interrupts;
    files_.follow({file_});
    begin();
    fmt::print("{} — watching {}; Ctrl-C ends\n", summary(), counted(static_cast<int64_t>(files_.size()), "file"));
    std::fflush(stdout);
    while (!interrupted) {
      std::this_thread::sleep_for(kPause);
      const std::vector<std::string> changed = files_.changed();
      if (!changed.empty() && !interrupted) look(changed);
      std::fflush(stdout);
    }
    fmt::print("\nended\n");
  }

 private:
  // All of it. A mistake is a sentence, and waits for the next change.
  bool begin() {
    try {
      engine_.reset();
      const Program program = load_program(file_, queries_);
      program_files_ = program.files();
      files_.follow(program_files_);
      auto engine = std::make_unique<Engine>(program, options_);
      files_.follow(engine->fact_files());
      engine->run();
      engine_ = std::move(engine);
      return true;
    } catch (const Error& e) {
      return said(e);
    }
  }

  bool said(const Error& e) {
    if (e.kind() != ErrorKind::kCancelled) fmt::print("{}\n", recipe::printable_lines(e.what()));
    return false;
  }

  bool change(const std::vector<std::string>& changed) {
    const bool facts = std::none_of(changed.begin(), changed.end(), [&](const std::string& path) {
      return path == file_ || std::find(program_files_.begin(), program_files_.end(), path) != program_files_.end();
    });
    try {
      if (!facts || !engine_ || !engine_->reload()) return begin();
      engine_->run();
      return true;
    } catch (const Error& e) {
      return said(e);
    }
  }

  void look(const std::vector<std::string>& changed) {
    fmt::print("{}\n", recipe::bold(recipe::printable(join(changed)) + " changed"));
    const int64_t start = now_ns();
    if (!change(changed)) return;
    const double seconds = static_cast<double>(now_ns() - start) * 1e-9;
    Results now = results_of(*engine_);
    if (!show_difference(results_, now)) fmt::print("  no result changed\n");
    results_ = std::move(now);
    fmt::print("{} ms\n", formatted("%.3g", seconds * 1e3));
  }

  std::string summary() {
    if (!engine_) return "nothing is computed yet";
    results_ = results_of(*engine_);
    std::vector<std::string> parts;
    for (const auto& [name, r] : results_)
      parts.push_back(recipe::printable(name) + ": " + grouped(static_cast<int64_t>(r.size)));
    return join(parts);
  }

  std::string file_;
  std::vector<std::string> queries_, program_files_;
  RunOptions options_;
  Files files_;
  std::unique_ptr<Engine> engine_;
  Results results_;
};

}  // namespace

recipe::Command watch_command() {
  struct Options {
    std::string file, facts = ".";
    std::vector<std::string> queries;
  };
  auto o = std::make_shared<Options>();
  recipe::Command c{.name = "watch", .about = "Compute a program again whenever one of its files changes"};
  c.options = {{.name = "FILE", .target = &o->file, .about = "a program: .rules, or Soufflé's .dl", .required = true},
               {.name = "-F,--facts",
                .target = &o->facts,
                .about = "where .input finds its files",
                .type = "DIR",
                .shows_default = true},
               {.name = "--query", .target = &o->queries, .about = "ask this, too: 'path(1, x)?'", .type = "QUERY"}};
  c.run = [o] {
    Watch(o->file, o->facts, o->queries).run();
    return 0;
  };
  c.footer = recipe::fixed_text(
      "Shows which facts come and go in what the program writes, or else in all that its rules make, and in the "
      "answers\n"
      "to its queries. Where only facts changed, only what follows from them is computed. Ctrl-C ends.\n"
      "For instance:\n  ingot logic watch examples/logic/points_to.dl");
  return c;
}

}  // namespace ingot::logic::door
