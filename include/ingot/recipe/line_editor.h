// Lines typed at a terminal: edited, remembered from one session to the next, words completed.
#pragma once
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ingot/base/export.h"

namespace ingot::recipe {

/// What the word that ends the text could become: all of it, from `from` on.
struct Completions {
  size_t from = 0;
  std::vector<std::string> words = {};
};

/// Lines of earlier sessions and of this one: the last 1,000. Without a file, or where it cannot be written, of this one only.
class INGOT_API History {
 public:
  static constexpr size_t kMost = 1000;
  explicit History(std::string file);
  const std::vector<std::string>& lines() const { return lines_; }
  /// Empty lines and repetitions of the last one are not kept.
  void add(const std::string& line);
  /// Where a program of Ingot's keeps the history of this name; "" if the user has no home.
  static std::string file_of(const std::string& name);

 private:
  std::string file_;
  std::vector<std::string> lines_;
};

/// A line as keys change it. Knows no terminal.
class INGOT_API EditedLine {
 public:
  using Complete = std::function<Completions(const std::string& before)>;
  enum class State { kTyping, kDone, kInterrupted, kEnd };

  EditedLine(const History& history, const Complete& complete) : history_(history), complete_(complete) {}
  /// Takes what was typed as far as it is whole keys; what is left stays in `typed`. Stops behind a key that ends the line.
  State take(std::string& typed);
  const std::string& text() const { return text_; }
  /// Of the cursor, in bytes.
  size_t place() const { return place_; }
  /// What to show below the line once: the words that Tab could mean.
  std::string take_offer() { return std::exchange(offer_, {}); }

 private:
  State control(char key);
  void sequence(std::string_view keys);
  void insert(std::string_view bytes);
  void erase(size_t from, size_t to);
  void recall(int step);
  void complete();
  size_t before(size_t place) const;
  size_t behind(size_t place) const;
  size_t word_before() const;
  size_t word_behind() const;

  const History& history_;
  const Complete& complete_;
  std::string text_, cut_, offer_, own_;  // own_: what was typed before a line of the history took its place
  size_t place_ = 0, back_ = 0;           // back_: how far back in the history
};

/// Reads lines from a terminal, which is as it was between them.
class INGOT_API LineEditor {
 public:
  using Complete = EditedLine::Complete;
  LineEditor(std::string history_file, Complete complete)
      : history_(std::move(history_file)), complete_(std::move(complete)) {}
  /// Are standard input and output a terminal on which lines can be drawn again?
  static bool possible();
  struct Line {
    EditedLine::State state;  // never kTyping
    std::string text;
  };
  Line read(const std::string& prompt);

 private:
  History history_;
  Complete complete_;
  std::string typed_;  // ahead
};

/// The part of a line that fits into so many columns with the cursor in it, and the cursor's column.
struct INGOT_API LineWindow {
  LineWindow(std::string_view text, size_t place, size_t columns);
  std::string shown;
  size_t column = 0;
};

}  // namespace ingot::recipe
