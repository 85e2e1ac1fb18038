// Searchers that keep every state they have seen and go on wherever it looks best: weighted A*, and a tree of Monte Carlo's kind.
#pragma once
#include "ingot/rl/search.h"

namespace ingot::rl {

struct AStarOptions {
  float weight = 0.6F;  // of the moves made so far: below 1, it hurries towards what looks near
  int64_t batch = 64;   // states that are expanded, and their neighbours evaluated, at a time
};

/// Weighted A*, as DeepCubeA has it: always on with the states of least weight · moves so far + value.
template <Puzzle P>
class AStarSearch : public Searcher<P> {
 public:
  using State = typename P::State;
  AStarSearch(const P& puzzle, ValuesOf<P> value, const AStarOptions& options = {})
      : Searcher<P>(puzzle, std::move(value)), options_(options) {
    if (options.batch < 1 || !(options.weight >= 0)) throw Error("AStarSearch: batch is at least 1, weight at least 0");
  }

  const Solution& solve(const State& start, const SearchLimits& limits = {}) {
    if (this->begin(start, limits)) return this->solution_;
    seen_.clear(), nodes_.clear(), open_.clear();
    seen_.insert(this->puzzle_.code(start), 0);
    nodes_.push_back({start, this->add_step(-1, -1), 0, 0});
    open_.push_back({0, 0, 0});
    while (!this->at_limit()) {
      if (open_.empty()) {
        this->give_up(SearchEnd::kStuck);
        break;
      }
      if (const int32_t solved = expand_best(); solved >= 0) {
        this->trace(nodes_[static_cast<size_t>(solved)].step);
        this->prove();
        break;
      }
      rate_children();
    }
    return this->solution_;
  }

 private:
  struct Node {
    State state;
    int32_t step;
    int32_t moves;  // made so far, at best
    float value;
  };
  struct Open {  // ordered by cost, then by age
    float cost;
    int32_t moves, node;
    bool operator<(const Open& other) const { return cost != other.cost ? cost > other.cost : node > other.node; }
  };

  void open(int32_t node) {
    const Node& n = nodes_[static_cast<size_t>(node)];
    open_.push_back({options_.weight * static_cast<float>(n.moves) + n.value, n.moves, node});
    std::push_heap(open_.begin(), open_.end());
  }

  // Takes the best of the open nodes; the solved one if it is among them, else -1.
  int32_t expand_best() {
    children_.clear(), new_.clear();
    for (int64_t taken = 0; taken < options_.batch && !open_.empty();) {
      std::pop_heap(open_.begin(), open_.end());
      const Open best = open_.back();
      open_.pop_back();
      const Node node = nodes_[static_cast<size_t>(best.node)];
      if (best.moves != node.moves) continue;  // a shorter way was found since
      if (this->puzzle_.is_solved(node.state)) return best.node;
      taken++;
      if (node.moves < this->limits_.moves) expand(node);
    }
    return -1;
  }

  void expand(const Node& node) {
    for (int move = 0; move < this->puzzle_.move_count(); move++) {
      const State child = this->puzzle_.apply(node.state, move);
      const auto [number, is_new] = seen_.insert(this->puzzle_.code(child), static_cast<int32_t>(nodes_.size()));
      if (is_new) {
        nodes_.push_back({child, this->add_step(node.step, move), node.moves + 1, 0});
        this->solution_.nodes++;
        if (this->puzzle_.is_solved(child)) {
          open(number);
        } else {
          children_.push_back(child), new_.push_back(number);
        }
      } else if (Node& known = nodes_[static_cast<size_t>(number)]; node.moves + 1 < known.moves) {
        known.moves = node.moves + 1, known.step = this->add_step(node.step, move);
        // One that is still to be rated is opened with its value; others are opened again.
        if (std::find(new_.begin(), new_.end(), number) == new_.end()) open(number);
      }
    }
  }

  void rate_children() {
    this->evaluate(children_, values_);
    for (size_t i = 0; i < new_.size(); i++) {
      nodes_[static_cast<size_t>(new_[i])].value = values_[i];
      open(new_[i]);
    }
  }

  AStarOptions options_;
  CodeTable<CodeOf<P>> seen_;
  std::vector<Node> nodes_;
  std::vector<Open> open_;  // a heap
  std::vector<State> children_;
  std::vector<int32_t> new_;
  std::vector<float> values_;
};

struct TreeOptions {
  float curiosity = 2;  // moves that a way which was never tried may look longer and still be tried
  int64_t batch = 16;   // leaves that are expanded at a time
};

/// Monte Carlo tree search, as DeepCube has it, without chance: down from the start, at each state along the move whose best
/// known outcome, less a bonus for what was seldom tried, is least; the leaf is expanded, its neighbours' values go up. A
/// solution is shortened to the shortest way through the states that were expanded.
template <Puzzle P>
class TreeSearch : public Searcher<P> {
 public:
  using State = typename P::State;
  TreeSearch(const P& puzzle, ValuesOf<P> value, const TreeOptions& options = {})
      : Searcher<P>(puzzle, std::move(value)), options_(options) {
    if (options.batch < 1 || !(options.curiosity >= 0))
      throw Error("TreeSearch: batch is at least 1, curiosity at least 0");
  }

  const Solution& solve(const State& start, const SearchLimits& limits = {}) {
    if (this->begin(start, limits)) return this->solution_;
    seen_.clear(), nodes_.clear(), edges_.clear();
    solved_ = -1;
    node_of(start);
    if (limits.moves < 1) this->give_up(SearchEnd::kMoves);
    for (int idle = 0; limits.moves > 0 && !this->at_limit(); idle++) {  // rounds in which every way was blocked
      constexpr int kPatience = 100;
      leaves_.clear(), fresh_.clear(), children_.clear(), paths_.clear();
      for (int64_t i = 0; i < options_.batch && solved_ < 0; i++) descend();
      if (solved_ >= 0) {
        shorten();
        this->prove();
        break;
      }
      if (!leaves_.empty()) idle = 0;
      if (idle == kPatience) {
        this->give_up(SearchEnd::kStuck);
        break;
      }
      this->evaluate(children_, values_);
      for (size_t i = 0; i < fresh_.size(); i++) nodes_[static_cast<size_t>(fresh_[i])].value = values_[i];
      for (const Leaf& leaf : leaves_) back_up(leaf);
    }
    return this->solution_;
  }

 private:
  struct Node {
    State state;
    float value = 0;
    int32_t edges = -1;  // the first of its moves; -1: a leaf
    int32_t visits = 0;
    int32_t parent = -1;  // when it was last reached in a breadth-first walk
    int16_t move = -1;
    bool on_path = false, unrated = false;  // unrated: expanded in this batch
  };
  struct Edge {
    int32_t to = -1, visits = 0;
    float best = 0;  // the least estimate of moves to solved, this one included
  };
  struct Leaf {
    size_t first, last;  // its edges in paths_
    int32_t node;
  };

  Edge& edge_of(int32_t first, int move) { return edges_[static_cast<size_t>(first) + static_cast<size_t>(move)]; }

  int32_t node_of(const State& state) {
    const auto number = static_cast<int32_t>(nodes_.size());
    const auto [known, is_new] = seen_.insert(this->puzzle_.code(state), number);
    if (!is_new) return known;
    nodes_.push_back({.state = state});
    this->solution_.nodes++;
    if (this->puzzle_.is_solved(state))
      solved_ = number;
    else
      children_.push_back(state), fresh_.push_back(number);
    return number;
  }

  // From the start to a leaf, which is expanded; its way is remembered.
  void descend() {
    const size_t first = paths_.size();
    int32_t at = 0;
    while (nodes_[static_cast<size_t>(at)].edges >= 0) {
      Node& node = nodes_[static_cast<size_t>(at)];
      node.on_path = true, node.visits++;
      const int32_t edge = node.unrated ? -1 : choose(node);
      const auto moves = static_cast<int>(paths_.size() - first) + 2;  // to the neighbours of where the edge leads
      if (edge < 0 || moves > this->limits_.moves) {
        at = -1;
        break;
      }
      edges_[static_cast<size_t>(edge)].visits++;  // others of this batch go elsewhere
      paths_.push_back(edge);
      at = edges_[static_cast<size_t>(edge)].to;
    }
    nodes_[0].on_path = false;
    for (size_t i = first; i < paths_.size(); i++)
      nodes_[static_cast<size_t>(edges_[static_cast<size_t>(paths_[i])].to)].on_path = false;
    if (at < 0) {
      paths_.resize(first);
      return;
    }
    expand(at);
    leaves_.push_back({first, paths_.size(), at});
  }

  int32_t choose(const Node& node) {
    const float bonus = options_.curiosity * std::sqrt(static_cast<float>(node.visits));
    int32_t best = -1;
    float least = std::numeric_limits<float>::infinity();
    for (int move = 0; move < this->puzzle_.move_count(); move++) {
      const Edge& edge = edge_of(node.edges, move);
      if (nodes_[static_cast<size_t>(edge.to)].on_path) continue;
      const float score = edge.best - bonus / static_cast<float>(1 + edge.visits);
      if (score < least) least = score, best = node.edges + move;
    }
    return best;
  }

  void expand(int32_t at) {
    const auto first = static_cast<int32_t>(edges_.size());
    nodes_[static_cast<size_t>(at)].edges = first, nodes_[static_cast<size_t>(at)].unrated = true;
    edges_.resize(edges_.size() + static_cast<size_t>(this->puzzle_.move_count()));
    for (int move = 0; move < this->puzzle_.move_count(); move++) {
      const int32_t to = node_of(this->puzzle_.apply(nodes_[static_cast<size_t>(at)].state, move));
      edge_of(first, move).to = to;
    }
  }

  void back_up(const Leaf& leaf) {
    Node& node = nodes_[static_cast<size_t>(leaf.node)];
    node.unrated = false;
    float least = std::numeric_limits<float>::infinity();
    for (int move = 0; move < this->puzzle_.move_count(); move++) {
      Edge& edge = edge_of(node.edges, move);
      edge.best = 1 + nodes_[static_cast<size_t>(edge.to)].value;
      least = std::min(least, edge.best);
    }
    for (size_t i = leaf.last; i > leaf.first; i--) {
      Edge& edge = edges_[static_cast<size_t>(paths_[i - 1])];
      least += 1;
      // The first visit knows better than the value did; later ones may only improve it.
      edge.best = edge.visits <= 1 ? least : std::min(edge.best, least);
      least = edge.best;
    }
  }

  // Breadth-first through what was expanded.
  void shorten() {
    order_.assign(1, 0);
    nodes_[0].on_path = true;  // from here on: reached
    for (size_t i = 0; i < order_.size() && !nodes_[static_cast<size_t>(solved_)].on_path; i++) {
      const int32_t first = nodes_[static_cast<size_t>(order_[i])].edges;
      if (first < 0) continue;
      for (int move = 0; move < this->puzzle_.move_count(); move++) {
        const int32_t to = edge_of(first, move).to;
        if (to < 0 || nodes_[static_cast<size_t>(to)].on_path) continue;
        Node& node = nodes_[static_cast<size_t>(to)];
        node.on_path = true, node.parent = order_[i], node.move = static_cast<int16_t>(move);
        order_.push_back(to);
      }
    }
    for (int32_t at = solved_; at > 0; at = nodes_[static_cast<size_t>(at)].parent)
      this->solution_.moves.push_back(nodes_[static_cast<size_t>(at)].move);
    std::reverse(this->solution_.moves.begin(), this->solution_.moves.end());
  }

  TreeOptions options_;
  CodeTable<CodeOf<P>> seen_;
  std::vector<Node> nodes_;
  std::vector<Edge> edges_;
  std::vector<Leaf> leaves_;
  std::vector<int32_t> paths_, fresh_, order_;
  std::vector<State> children_;
  std::vector<float> values_;
  int32_t solved_ = -1;
};

}  // namespace ingot::rl
