// The text of a program, and messages that point into it as a good compiler's do.
#pragma once
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "ingot/base/error.h"

namespace ingot::logic {

/// All texts of a program one after the other; a place in them is one number.
class Sources {
 public:
  /// The place where the new text begins.
  int add(std::string name, std::string text);
  std::vector<std::string> names() const;
  /// The program's own text, without what it includes.
  const std::string& first() const { return files_.front().text; }
  std::string_view text(int at) const;  // from there to the end of its file
  int line(int at) const;

  /// Throws "file:line:column: what — hint", the line and a caret below it.
  [[noreturn]] void fail(int at, const std::string& what, const std::string& hint = "") const;

 private:
  struct File {
    std::string name, text;
    int begin;
  };
  const File& file(int at) const;
  std::deque<File> files_;  // texts stay where they are
};

}  // namespace ingot::logic
