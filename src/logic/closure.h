// Recursions that have a better method than rounds.
#pragma once
#include <functional>
#include <vector>

#include "logic/relation.h"

namespace ingot::logic {

/// The relation whose transitive closure these rules of `p` say, in any of the usual ways (linear to the left or to the right,
/// or not linear); -1 if they say something else.
int closed_relation(const std::vector<const Rule*>& rules, int p);
/// closure = all pairs with a way of one or more edges: strongly connected components first, then one row for each, made of
/// the rows of its successors. How much work it was: edges and members looked at, bits by eight words.
uint64_t transitive_closure(const Rows& edges, Rows& closure, Meter& meter, const std::function<void()>& tick);

/// best(K…, z, d + w) from best(K…, y, d) and an edge y → z: label correction in the order of the values.
struct BestPaths {
  struct Edges {
    int relation;
    int from, to, weight;  // columns; -1: none
    int64_t added;         // to the value, besides
  };
  int node;  // the key column that edges lead along
  std::vector<Edges> edges;
};
/// What the recursive rules of `p` are; false if they are something else.
bool best_paths_of(const std::vector<const Rule*>& rules, int p, const Declaration& declaration, BestPaths& paths);
/// Completes `best`, which has the facts to begin with. False, and nothing done, if values do not only get worse along edges
/// or nodes are no small numbers.
bool complete_best_paths(const BestPaths& paths, const std::vector<Relation*>& relations, Relation& best, Meter& meter,
                         const std::function<void()>& tick);

}  // namespace ingot::logic
