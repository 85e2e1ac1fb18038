// Programs whose answers are known from two independent programs, made of numbers that anyone can draw again.
#pragma once
#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "ingot/logic/program.h"

namespace ingot::logic::cases {

class Draw {
 public:
  explicit Draw(uint64_t seed) : x_(seed) {}
  int64_t operator()(uint64_t n) {
    x_ = 6364136223846793005u * x_ + 1442695040888963407u;
    return static_cast<int64_t>((x_ >> 31) % n);
  }

 private:
  uint64_t x_;
};

using Facts = std::vector<int64_t>;  // one after the other

struct Case {
  std::string name, program, result;
  std::vector<std::pair<std::string, Facts>> inputs;
  uint64_t size;
  int64_t sum = -1;  // of the last column; -1: of no interest

  Engine engine(RunOptions options = {}) const {
    Engine e(Program::parse(program, Dialect::kSouffle, name), std::move(options));
    for (const auto& [relation, facts] : inputs) e.add(relation, facts);
    e.load();
    return e;
  }
};

inline Facts random_edges(uint64_t n, size_t m, uint64_t seed, bool undirected = false) {
  Draw r(seed);
  std::set<std::pair<int64_t, int64_t>> seen;
  Facts edges;
  while (seen.size() < m) {
    int64_t u = r(n), v = r(n);
    if (u == v) continue;
    if (undirected && u > v) std::swap(u, v);
    if (!seen.emplace(u, v).second) continue;
    edges.push_back(u);
    edges.push_back(v);
  }
  return edges;
}

inline Facts range_facts(int64_t n) {
  Facts all;
  for (int64_t i = 0; i < n; i++) all.push_back(i);
  return all;
}

inline const char* const kClosure =
    ".decl edge(x: number, y: number)\n.decl path(x: number, y: number)\n"
    "path(x, y) :- edge(x, y).\npath(x, z) :- path(x, y), edge(y, z).\n";

inline Case closure(std::string name, Facts edges, uint64_t size) {
  return {std::move(name), kClosure, "path", {{"edge", std::move(edges)}}, size};
}

inline Case cycle(int64_t n) {
  Facts e;
  for (int64_t i = 0; i < n; i++) e.insert(e.end(), {i, (i + 1) % n});
  return closure("cycle" + std::to_string(n), e, static_cast<uint64_t>(n * n));
}
inline Case chain(int64_t n) {
  Facts e;
  for (int64_t i = 0; i + 1 < n; i++) e.insert(e.end(), {i, i + 1});
  return closure("chain" + std::to_string(n), e, static_cast<uint64_t>(n * (n - 1) / 2));
}
inline Case full(int64_t n) {
  Facts e;
  for (int64_t i = 0; i < n; i++)
    for (int64_t j = 0; j < n; j++)
      if (i != j) e.insert(e.end(), {i, j});
  return closure("full" + std::to_string(n), e, static_cast<uint64_t>(n * n));
}
inline Case grid100() {
  Facts e;
  for (int64_t y = 0; y < 100; y++)
    for (int64_t x = 0; x < 100; x++) {
      if (x < 99) e.insert(e.end(), {100 * y + x, 100 * y + x + 1});
      if (y < 99) e.insert(e.end(), {100 * y + x, 100 * y + x + 100});
    }
  return closure("grid100", e, 25492500);
}
inline Case rnd2k() { return closure("rnd2k", random_edges(2000, 4000, 1), 2628997); }
inline Case rnd10k() { return closure("rnd10k", random_edges(10000, 20000, 2), 63835821); }
inline Case rnd100k() { return closure("rnd100k", random_edges(100000, 90000, 3), 838807); }

inline Case same_generation() {
  Facts par;
  for (int64_t i = 2; i < 8192; i++) par.insert(par.end(), {i, i / 2});
  return {"sg12",
          ".decl par(x: number, y: number)\n.decl sg(x: number, y: number)\n"
          "sg(x, y) :- par(x, p), par(y, p), x != y.\nsg(x, y) :- sg(a, b), par(x, a), par(y, b).\n",
          "sg",
          {{"par", par}},
          22361430};
}

inline Case points_to() {
  constexpr uint64_t kVariables = 20000;
  Draw r(4);
  Case c{"pts20k",
         ".decl addr(v: number, o: number)\n.decl copy(v: number, w: number)\n"
         ".decl load(v: number, p: number)\n.decl store(p: number, w: number)\n.decl pt(v: number, o: number)\n"
         "pt(v, o) :- addr(v, o).\n"
         "pt(v, o) :- copy(v, w), pt(w, o).\n"
         "pt(v, o) :- load(v, p), pt(p, q), pt(q, o).\n"
         "pt(q, o) :- store(p, w), pt(p, q), pt(w, o).\n",
         "pt",
         {},
         1786898};
  for (const auto& [name, count] :
       {std::pair("addr", 6000), std::pair("copy", 11000), std::pair("load", 1500), std::pair("store", 1500)}) {
    std::set<std::pair<int64_t, int64_t>> seen;
    Facts facts;
    while (seen.size() < static_cast<size_t>(count)) {
      const int64_t l = r(kVariables), t = r(10);
      const int64_t right = t == 0 ? r(kVariables) : (l + 1 + r(200)) % static_cast<int64_t>(kVariables);
      if (l == right || !seen.emplace(l, right).second) continue;
      facts.insert(facts.end(), {l, right});
    }
    c.inputs.emplace_back(name, facts);
  }
  return c;
}

inline Case triangles() {
  return {"tri5k",
          ".decl e(x: number, y: number)\n.decl tri(x: number, y: number, z: number)\n"
          "tri(x, y, z) :- e(x, y), e(y, z), e(x, z).\n",
          "tri",
          {{"e", random_edges(5000, 100000, 5, true)}},
          10524};
}

inline Case unreachable() {
  return {"unreach2k",
          std::string(kClosure) +
              ".decl node(x: number)\n.decl un(x: number, y: number)\n"
              "un(x, y) :- node(x), node(y), !path(x, y).\n",
          "un",
          {{"edge", random_edges(2000, 4000, 1)}, {"node", range_facts(2000)}},
          1371003};
}

inline Facts weighted_edges() {
  Draw r(6);
  std::set<std::pair<int64_t, int64_t>> seen;
  Facts facts;
  while (seen.size() < 8000) {
    const int64_t u = r(2000), v = r(2000), w = 1 + r(100);
    if (u == v || !seen.emplace(u, v).second) continue;
    facts.insert(facts.end(), {u, v, w});
  }
  return facts;
}
inline Case paths_from_zero() {
  return {"sp2k-one",
          ".decl e(x: number, y: number, w: number)\n.decl d(y: number, c: number)\n"
          "d(y, w) :- e(0, y, w).\nd(z, c + w) :- d(y, c), e(y, z, w).\nd(y, a) <= d(y, b) :- b < a.\n",
          "d",
          {{"e", weighted_edges()}},
          1960,
          447458};
}
inline Case all_pairs() {
  return {"sp2k",
          ".decl e(x: number, y: number, w: number)\n.decl d(x: number, y: number, c: number)\n"
          "d(x, y, w) :- e(x, y, w).\nd(x, z, c + w) :- d(x, y, c), e(y, z, w).\nd(x, y, a) <= d(x, y, b) :- b < a.\n",
          "d",
          {{"e", weighted_edges()}},
          3833767,
          794799212};
}
inline Case components() {
  return {"cc200k",
          ".decl node(x: number)\n.decl e(x: number, y: number)\n.decl label(x: number, l: number)\n"
          "label(x, x) :- node(x).\nlabel(y, l) :- label(x, l), e(x, y).\nlabel(x, l) :- label(y, l), e(x, y).\n"
          "label(x, a) <= label(x, b) :- b < a.\n",
          "label",
          {{"node", range_facts(200000)}, {"e", random_edges(200000, 300000, 7, true)}},
          200000,
          1105109734};
}

}  // namespace ingot::logic::cases
