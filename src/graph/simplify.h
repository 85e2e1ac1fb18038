// Passes from graph to graph, each switchable: what they do not change, they leave as it is.
#pragma once
#include <string>
#include <vector>

#include "graph/graph.h"

namespace ingot::graph {

/// What a pass did, for describe().
struct PassReport {
  std::string name, what;
};

/// Computes at compile time what depends on constants alone; returns how many nodes.
int fold_constants(Graph& graph);
/// Removes what changes nothing: + 0, · 1, copies of what nobody else writes, transposes of transposes.
int clean_algebra(Graph& graph);
/// Marks nodes dead whose results nobody needs; returns how many.
int drop_dead(Graph& graph);
/// Lets values be computed where they are stored to, instead of copied there.
int forward_stores(Graph& graph);
/// Joins softmax_cross_entropy and its gradient on the same logits into one node.
int pair_cross_entropy(Graph& graph);
/// Lets max pooling whose positions only gradients read keep taps, run before a relu and join the convolution before
/// it.
int pool_by_taps(Graph& graph);
/// Lets a norm or a convolution take over the relu that follows it.
int absorb_relu(Graph& graph);
/// Puts a copy after every view: what happens when views may not become strides.
void copy_views(Graph& graph);

}  // namespace ingot::graph
