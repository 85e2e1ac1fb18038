#include <algorithm>
#include <functional>

#include "ingot/base/text.h"
#include "logic/check.h"

namespace ingot::logic {
namespace {

struct Edge {
  int to;
  bool negative;  // by `not`, or inside an aggregate
  int at;
};

class Dependencies {
 public:
  explicit Dependencies(const Unit& unit) : unit_(unit), edges_(unit.relations.size()) {
    for (const Rule& r : unit.rules) body(r.head.relation, r.body, false);
  }

  std::vector<Stratum> strata() {
    const size_t n = edges_.size();
    number_.assign(n, -1);
    low_.assign(n, 0);
    component_.assign(n, -1);
    for (size_t r = 0; r < n; r++)
      if (number_[r] < 0) visit(static_cast<int>(r));
    for (size_t r = 0; r < n; r++)
      for (const Edge& e : edges_[r]) {
        if (component_[r] != component_[static_cast<size_t>(e.to)]) continue;
        strata_[static_cast<size_t>(component_[r])].recursive = true;
        if (e.negative) refuse(static_cast<int>(r), e);
      }
    return strata_;
  }

 private:
  void body(int head, const Body& literals, bool negative) {
    for (const Literal& l : literals) {
      if (l.kind != Literal::Kind::kCompare)
        edges_[static_cast<size_t>(head)].push_back(
            {l.atom.relation, negative || l.kind == Literal::Kind::kNegated, l.at});
      else if (l.right.aggregate)
        body(head, l.right.aggregate->body, true);
    }
  }

  // Tarjan's components, without recursion: programs may have chains of many relations.
  void visit(int start) {
    std::vector<std::pair<int, size_t>> path = {{start, 0}};
    while (!path.empty()) {
      const int r = path.back().first;
      const auto i = static_cast<size_t>(r);
      if (path.back().second == 0) {
        number_[i] = low_[i] = next_++;
        open_.push_back(r);
      }
      if (path.back().second < edges_[i].size()) {
        const int to = edges_[i][path.back().second++].to;
        const auto t = static_cast<size_t>(to);
        if (number_[t] < 0)
          path.emplace_back(to, 0);
        else if (component_[t] < 0)
          low_[i] = std::min(low_[i], number_[t]);
        continue;
      }
      if (low_[i] == number_[i]) close(r);
      path.pop_back();
      if (!path.empty()) {
        auto& above = low_[static_cast<size_t>(path.back().first)];
        above = std::min(above, low_[i]);
      }
    }
  }
  void close(int r) {
    Stratum s;
    for (int member = -1; member != r;) {
      member = open_.back();
      open_.pop_back();
      component_[static_cast<size_t>(member)] = static_cast<int>(strata_.size());
      s.relations.push_back(member);
    }
    std::sort(s.relations.begin(), s.relations.end());
    strata_.push_back(std::move(s));
  }

  // The shortest way back from the negated relation to the one that negates it.
  [[noreturn]] void refuse(int from, const Edge& edge) const {
    std::vector<int> before(edges_.size(), -1), queue = {edge.to};
    before[static_cast<size_t>(edge.to)] = edge.to;
    for (size_t i = 0; i < queue.size() && before[static_cast<size_t>(from)] < 0; i++)
      for (const Edge& e : edges_[static_cast<size_t>(queue[i])])
        if (before[static_cast<size_t>(e.to)] < 0) {
          before[static_cast<size_t>(e.to)] = queue[i];
          queue.push_back(e.to);
        }
    std::string back = unit_.relations[static_cast<size_t>(from)].name;
    for (int r = from; r != edge.to;) {
      r = before[static_cast<size_t>(r)];
      back = unit_.relations[static_cast<size_t>(r)].name + " → " + back;
    }
    const std::string& name = unit_.relations[static_cast<size_t>(from)].name;
    unit_.sources.fail(edge.at,
                       in_quotes(name) + " depends on its own negation or aggregate: " + name + " → not " + back,
                       "a relation must be finished before it is negated or folded");
  }

  const Unit& unit_;
  std::vector<std::vector<Edge>> edges_;
  std::vector<int> number_, low_, component_, open_;
  std::vector<Stratum> strata_;
  int next_ = 0;
};

}  // namespace

std::vector<Stratum> stratify(const Unit& unit) { return Dependencies(unit).strata(); }

}  // namespace ingot::logic
