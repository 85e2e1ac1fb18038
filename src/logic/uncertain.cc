// Which relations are uncertain, and what cannot be said of them.
#include <map>

#include "ingot/base/text.h"
#include "logic/check.h"

namespace ingot::logic {
namespace {

bool reads_uncertain(const Unit& unit, const Body& body, bool inside, int& at) {
  bool any = false;
  for (const Literal& l : body) {
    if (l.kind == Literal::Kind::kCompare) {
      if (l.right.aggregate && reads_uncertain(unit, l.right.aggregate->body, true, at)) any = true;
      continue;
    }
    if (!unit.relations[static_cast<size_t>(l.atom.relation)].uncertain) continue;
    any = true;
    if (inside) at = l.at;
  }
  return any;
}

void check_coins(const Unit& unit) {
  std::map<std::pair<int, std::vector<Value>>, std::pair<int, bool>> seen;  // where, and whether it is a coin
  for (const Rule& r : unit.rules) {
    const Declaration& d = unit.relations[static_cast<size_t>(r.head.relation)];
    const Term* weight = d.coin ? &r.head.arguments.back() : nullptr;
    if (weight != nullptr && weight->is_constant() && !(as_float(weight->value) >= 0 && as_float(weight->value) <= 1))
      unit.sources.fail(weight->at, weight->name + " is no probability", "it is a number from 0 to 1");
    if (!r.is_fact() || (!d.coin && !d.uncertain)) continue;
    std::vector<Value> fact;
    for (size_t c = 0; c + (d.coin ? 1 : 0) < r.head.arguments.size(); c++) fact.push_back(r.head.arguments[c].value);
    const int relation = d.coin ? unit.find(d.coin_of) : r.head.relation;
    const auto [found, made] = seen.emplace(std::pair(relation, fact), std::pair(r.at, d.coin));
    if (!made && (d.coin || found->second.second))
      unit.sources.fail(r.at,
                        "this fact is there already, in line " + std::to_string(unit.sources.line(found->second.first)),
                        "a fact has one probability; join several causes by rules");
  }
}

}  // namespace

void find_uncertain(Unit& unit) {
  bool any = false;
  for (Declaration& d : unit.relations) any = (d.uncertain = d.coin) || any;
  if (!any) return;
  int folded = -1;
  for (bool more = true; more;) {
    more = false;
    for (const Rule& r : unit.rules) {
      Declaration& head = unit.relations[static_cast<size_t>(r.head.relation)];
      if (head.uncertain || !reads_uncertain(unit, r.body, false, folded)) continue;
      more = head.uncertain = true;
    }
  }
  for (const Rule& r : unit.rules) {
    folded = -1;
    const Declaration& head = unit.relations[static_cast<size_t>(r.head.relation)];
    if (!reads_uncertain(unit, r.body, false, folded)) continue;
    if (folded >= 0)
      unit.sources.fail(folded, "an aggregate of uncertain facts has another value in every world",
                        "fold certain facts, or ask for each of these facts how probable it is");
    if (head.best != Best::kAll)
      unit.sources.fail(r.at, "a best value of uncertain facts is another one in every world",
                        "best values are of certain facts");
  }
  check_coins(unit);
}

}  // namespace ingot::logic
