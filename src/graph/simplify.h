// Passes from graph to graph, each switchable: what they do not change, they leave as it is.
#pragma once
#include "graph/graph.h"

namespace ingot::graph {

/// Computes at compile time what depends on constants alone; returns how many nodes.
int fold_constants(Graph& graph);
/// Marks nodes dead whose results nobody needs; returns how many.
int drop_dead(Graph& graph);
/// Lets values be computed where they are stored to, instead of copied there.
int forward_stores(Graph& graph);
/// Puts a copy after every view: what happens when views may not become strides.
int copy_views(Graph& graph);
/// The number of views.
int count_views(Graph& graph);
/// Lets results that are inputs or constants be copies: a plan returns memory of its own, or of the user's.
void own_outputs(Graph& graph);

}  // namespace ingot::graph
