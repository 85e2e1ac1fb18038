// Random programs that make sense.
#pragma once
#include <iterator>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/logic/cases.h"

namespace ingot::logic::cases {

// Layers of random rules over e, f and what is below, with negation.
inline std::string random_rules(Draw& r) {
  std::string text = "rel e(number, number). rel f(number). rel g2(number, number).\n";
  std::vector<std::pair<std::string, int>> below = {{"e", 2}, {"f", 1}, {"g2", 2}};
  const char* const names[] = {"x", "y", "z"};
  for (int64_t layer = 0; layer < 3; layer++) {
    std::vector<std::pair<std::string, int>> here;
    for (int64_t k = 0; k <= r(2); k++)
      here.emplace_back("p" + std::to_string(layer) + std::to_string(k), static_cast<int>(1 + r(3)));
    for (const auto& [head, arity] : here)
      for (int64_t rule = 0; rule < 1 + r(3); rule++) {
        std::string body;
        std::set<std::string> bound;
        const auto atom = [&](const std::pair<std::string, int>& p, bool binds) {
          std::string s = p.first + "(";
          for (int c = 0; c < p.second; c++) {
            std::string t = r(8) == 0 ? "_" : r(8) == 0 ? std::to_string(r(4)) : names[r(3)];
            if (!binds && t[0] >= 'x' && bound.count(t) == 0) t = "_";
            if (binds && t[0] >= 'x') bound.insert(t);
            s += (c > 0 ? ", " : "") + t;
          }
          return s + ")";
        };
        for (int64_t i = 0; i < 1 + r(3); i++) {
          const bool together = r(3) == 0;
          body += (i > 0 ? ", " : "") + atom(together ? here[static_cast<size_t>(r(here.size()))]
                                                      : below[static_cast<size_t>(r(below.size()))],
                                             true);
        }
        if (r(2) == 0) body += ", not " + atom(below[static_cast<size_t>(r(below.size()))], false);
        text += head + "(";
        for (int c = 0; c < arity; c++) {
          const auto any = bound.empty() ? bound.end() : std::next(bound.begin(), r(bound.size()));
          text += (c > 0 ? ", " : "") + (any == bound.end() ? std::to_string(r(3)) : *any);
        }
        text += ") <- " + body + ".\n";
      }
    below.insert(below.end(), here.begin(), here.end());
  }
  return text;
}

}  // namespace ingot::logic::cases
