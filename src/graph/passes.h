// The passes of compile(), in the order in which they run: rows of one table. Its names are what
// PlanOptions::without takes; its texts are what describe() and docs/plan.md say.
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "graph/graph.h"

namespace ingot::graph {

struct Pass {
  const char* name;
  const char* does;    // a sentence for documents
  const char* counts;  // what its number counts: "call" gives "3 calls", followed by …
  const char* done;    // … what was done with them
  /// From graph to graph; returns how much it did. Null: capture, grouping or lowering does it, and says how much.
  int (*run)(Graph&);
  /// What happens to the graph when the pass is left out; null: nothing.
  int (*otherwise)(Graph&) = nullptr;
};

std::span<const Pass> passes();

/// What a pass did, for describe().
struct PassReport {
  std::string name, what;
};

/// The passes of one compilation: which of them are on, and what each did.
class PassRun {
 public:
  /// An Error for a name that no pass has.
  explicit PassRun(std::span<const std::string> without);
  bool on(std::string_view name) const { return row(name).on; }
  /// Notes what a pass did that is not from graph to graph.
  void count(std::string_view name, int64_t how_much) { row(name).count = how_much; }
  /// Runs all that are from graph to graph, in the order of the table.
  void run(Graph& graph);
  std::vector<PassReport> reports() const;

 private:
  struct Row {
    const Pass* pass;
    bool on = true;
    int64_t count = 0;
  };
  const Row& row(std::string_view name) const;
  Row& row(std::string_view name) { return const_cast<Row&>(std::as_const(*this).row(name)); }
  std::vector<Row> rows_;
};

}  // namespace ingot::graph
