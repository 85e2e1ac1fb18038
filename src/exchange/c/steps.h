// The records of a Program as calls, one after the other: of a plan, or of a loop's body.
#pragma once
#include <string>
#include <vector>

#include "exchange/c/file.h"

namespace ingot::exchange {

class Steps {
 public:
  Steps(File& file, Places& places) : file_(file), places_(places), errors_(&own_errors_) {}
  /// Those of a loop's body: what they refuse gets numbers with the others, and names go on.
  Steps(const Steps& outer, Places& places)
      : file_(outer.file_), places_(places), errors_(outer.errors_), indent_(outer.indent_ + "    ") {}

  /// Checks of what is there before the first record, then the records.
  void write(const graph::Program& program);
  void write(const Record& record);
  /// Checks return the number of what is wrong, from 1 on: the sentences.
  const std::vector<std::string>& errors() const { return *errors_; }
  const std::string& text() const { return text_; }

 private:
  void write_check(const Record& record);
  void write_loop(const Record& record);

  File& file_;
  Places& places_;
  std::vector<std::string> own_errors_, *errors_;
  std::string indent_ = "  ", text_;
};

}  // namespace ingot::exchange
