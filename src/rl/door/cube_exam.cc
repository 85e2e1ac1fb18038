#include "rl/door/cube_exam.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "ingot/base/threads.h"
#include "ingot/graph/plan.h"
#include "ingot/ops/ops.h"
#include "ingot/recipe/chart.h"
#include "ingot/recipe/page.h"
#include "ingot/rl/search.h"
#include "ingot/rl/share_out.h"
#include "ingot/rl/value_learning.h"

namespace ingot::rl::door {
namespace {

using namespace recipe;

constexpr int kMostDistance = 15;
constexpr int64_t kRows = 2048;

double share(int64_t part, int64_t of) { return of == 0 ? NAN : static_cast<double>(part) / static_cast<double>(of); }

DistanceTable empty_table(std::string solver) { return {std::move(solver), std::vector<DistanceRow>(kMostDistance)}; }

// Calls use(first code, rows, the network's results) for all states.
template <class Use>
void for_all_states(const Cube2& cube, QNet& net, bool actions, const Use& use) {
  Tensor input = zeros(net.input().shape(kRows), net.input().dtype());
  Plan plan = compile([&](const Tensor& x) { return actions ? argmax(net(x), {1}) : net(x); },
                      {InputSpec(input.shape(), input.dtype())}, {.name = "exam", .frozen = true});
  std::vector<Cube2::State> states(kRows);
  for (int64_t first = 0; first < Cube2::kStates; first += kRows) {
    const int64_t n = std::min(kRows, Cube2::kStates - first);
    for (int64_t i = 0; i < n; i++) states[static_cast<size_t>(i)] = cube.state(static_cast<uint32_t>(first + i));
    observe_states(cube, std::span<const Cube2::State>(states).first(static_cast<size_t>(n)), input);
    use(static_cast<size_t>(first), static_cast<size_t>(n), plan.run(input)[0]);
  }
}

}  // namespace

DistanceRow DistanceTable::all() const {
  DistanceRow sum;
  for (const DistanceRow& r : rows) {
    sum.tried += r.tried, sum.solved += r.solved, sum.optimal += r.optimal;
    sum.moves += r.moves, sum.nodes += r.nodes;
  }
  return sum;
}

const std::vector<uint8_t>& cube2_distances() {
  static const std::vector<uint8_t> all = all_distances(Cube2());
  return all;
}

DistanceTable follow_moves(const Cube2& cube, std::span<const uint8_t> move_of) {
  constexpr uint16_t kUnknown = 0xFFFF, kNever = 0xFFFE;  // else: moves to the end
  std::vector<uint16_t> length(move_of.size(), kUnknown);
  std::vector<uint32_t> path;
  length[cube.code(cube.solved())] = 0;
  DistanceTable table = empty_table("greedy");
  for (uint32_t code = 0; code < move_of.size(); code++) {
    uint32_t at = code;
    path.clear();
    while (length[at] == kUnknown) {
      length[at] = kNever;  // until it is known: who comes back here goes round
      path.push_back(at);
      at = cube.code(cube.apply(cube.state(at), move_of[at]));
    }
    uint16_t end = length[at];
    for (auto p = path.rbegin(); p != path.rend(); ++p)
      length[*p] = end = end >= kNever ? kNever : static_cast<uint16_t>(end + 1);
    const uint8_t d = cube2_distances()[code];
    if (d == 0) continue;
    DistanceRow& row = table.rows[d];
    row.tried++;
    if (length[code] >= kNever) continue;
    row.solved++, row.optimal += length[code] == d ? 1 : 0;
    row.moves += length[code];
  }
  return table;
}

std::vector<uint8_t> moves_of_actions(const Cube2& cube, QNet& net) {
  const PuzzleEnv<Cube2> env{.puzzle = cube};
  std::vector<uint8_t> moves(Cube2::kStates);
  for_all_states(cube, net, true, [&](size_t first, size_t n, const Tensor& best) {
    const int64_t* action = best.data<int64_t>();
    for (size_t i = 0; i < n; i++)
      moves[first + i] =
          static_cast<uint8_t>(env.action_of_view(cube.state(static_cast<uint32_t>(first + i)), action[i]));
  });
  return moves;
}

std::vector<float> values_of_states(const Cube2& cube, QNet& net) {
  std::vector<float> values(Cube2::kStates);
  for_all_states(cube, net, false, [&](size_t first, size_t n, const Tensor& v) {
    std::copy_n(v.data<float>(), n, values.begin() + static_cast<ptrdiff_t>(first));
  });
  return values;
}

std::vector<uint8_t> moves_of_values(const Cube2& cube, std::span<const float> values) {
  std::vector<uint8_t> moves(values.size());
  const uint32_t solved = cube.code(cube.solved());
  share_out(true, std::ssize(values), 1, [&](size_t first, size_t last) {
    for (size_t code = first; code < last; code++) {
      const Cube2::State s = cube.state(static_cast<uint32_t>(code));
      float least = std::numeric_limits<float>::infinity();
      for (int m = 0; m < cube.move_count(); m++) {
        const uint32_t to = cube.code(cube.apply(s, m));
        const float v = to == solved ? -std::numeric_limits<float>::infinity() : values[to];
        if (v < least || m == 0) least = v, moves[code] = static_cast<uint8_t>(m);
      }
    }
  });
  return moves;
}

DistanceTable beam_on_states(const Cube2& cube, std::span<const float> values, int64_t width, int64_t states) {
  const int64_t n = states == 0 ? Cube2::kStates - 1 : std::min(states, Cube2::kStates - 1);
  const auto look_up = [&](std::span<const Cube2::State> s, std::span<float> v) {
    for (size_t i = 0; i < s.size(); i++) v[i] = values[cube.code(s[i])];
  };
  std::vector<DistanceTable> parts(static_cast<size_t>(threads()), empty_table(fmt::format("beam {}", width)));
  const std::vector<uint8_t>& distances = cube2_distances();
  const auto solve_part = [&](size_t which) {
    BeamSearch<Cube2> search(cube, look_up, {.width = width});
    DistanceTable& part = parts[which];
    for (auto i = static_cast<int64_t>(which); i < n; i += std::ssize(parts)) {
      const auto code = static_cast<uint32_t>(1 + i * (Cube2::kStates - 1) / n);
      const Solution& s = search.solve(cube.state(code), {.nodes = 1'000'000, .seconds = 1e9, .moves = 60});
      DistanceRow& row = part.rows[distances[code]];
      row.tried++, row.nodes += s.nodes;
      if (!s.solved) continue;
      row.solved++, row.moves += std::ssize(s.moves);
      row.optimal += std::ssize(s.moves) == distances[code] ? 1 : 0;
    }
  };
  share_out(true, std::ssize(parts), 1, [&](size_t first, size_t last) {
    for (size_t which = first; which < last; which++) solve_part(which);
  });
  DistanceTable table = empty_table(parts[0].solver);
  for (const DistanceTable& part : parts)
    for (size_t d = 0; d < table.rows.size(); d++) {
      DistanceRow &to = table.rows[d], from = part.rows[d];
      to.tried += from.tried, to.solved += from.solved, to.optimal += from.optimal;
      to.moves += from.moves, to.nodes += from.nodes;
    }
  return table;
}

std::vector<double> random_policy(const Cube2& cube, int limit) {
  constexpr int64_t kTries = 400;
  std::vector<int64_t> tried(kMostDistance), solved(kMostDistance);
  for (int64_t i = 0; i < kTries * kMostDistance * 8; i++) {
    Cube2::State s = scrambled(cube, 1 + static_cast<int>(i % 40), {7, static_cast<uint64_t>(i)});
    const uint8_t d = cube2_distances()[cube.code(s)];
    if (d == 0 || tried[d] >= kTries) continue;
    tried[d]++;
    MoveSource source({8, static_cast<uint64_t>(i)}, cube.move_count());
    for (int k = 0; k < limit; k++) {
      s = cube.apply(s, source.next());
      if (!cube.is_solved(s)) continue;
      solved[d]++;
      break;
    }
  }
  std::vector<double> shares(kMostDistance);
  for (size_t d = 0; d < shares.size(); d++) shares[d] = share(solved[d], tried[d]);
  return shares;
}

std::string table_text(std::span<const DistanceTable> tables) {
  std::string out = "distance      states";
  for (const DistanceTable& t : tables) out += fmt::format("  {:>12}  optimal", t.solver);
  const auto line = [&](const std::string& name, auto row_of) {
    out += fmt::format("\n{:>8}  {:>10}", name, grouped(row_of(tables[0]).tried));
    for (const DistanceTable& t : tables) {
      const DistanceRow r = row_of(t);
      out += r.tried == 0 ? fmt::format("  {:>12}  {:>7}", "–", "–")
                          : fmt::format("  {:>10.2f} %  {:>5.1f} %", 100 * share(r.solved, r.tried),
                                        100 * share(r.optimal, r.tried));
    }
  };
  for (size_t d = 1; d < kMostDistance; d++) line(std::to_string(d), [d](const DistanceTable& t) { return t.rows[d]; });
  line("all", [](const DistanceTable& t) { return t.all(); });
  for (const DistanceTable& t : tables) {
    const DistanceRow all = t.all();
    out += fmt::format("\n{}: {} of {} solved, {:.2f} moves each", t.solver, grouped(all.solved), grouped(all.tried),
                       share(all.moves, all.solved));
    if (all.nodes > 0) out += fmt::format(", {:.0f} nodes", share(all.nodes, all.tried));
  }
  return out;
}

Value table_record(std::span<const DistanceTable> tables) {
  Value out = record({});
  for (const DistanceTable& t : tables) {
    const DistanceRow all = t.all();
    std::vector<double> shares;
    for (size_t d = 1; d < kMostDistance; d++)
      shares.push_back(t.rows[d].tried == 0 ? 0 : share(t.rows[d].solved, t.rows[d].tried));
    Value one = record({{"tried", all.tried}, {"solved", all.solved}, {"optimal", all.optimal}});
    one.set("share_by_distance", shares);
    one.set("mean_moves", all.solved == 0 ? 0.0 : share(all.moves, all.solved));
    if (all.nodes > 0) one.set("mean_nodes", share(all.nodes, all.tried));
    out.set(t.solver, one);
  }
  return out;
}

std::string table_section(const Cube2& cube, std::span<const DistanceTable> tables) {
  LineChart chart{.title = "Solved share by true distance", .x_name = "distance", .percent = true, .may_be_log = false};
  for (int d = 1; d < kMostDistance; d++) chart.x.push_back(d);
  const std::vector<double> random = random_policy(cube, 50);
  const auto series = [&](const std::string& name, const char* style, auto value) {
    Series s{name, style, {}};
    for (size_t d = 1; d < kMostDistance; d++) s.y.push_back(value(d));
    chart.series.push_back(std::move(s));
  };
  const char* styles[] = {"test", "train", "plain"};
  for (size_t i = 0; i < tables.size(); i++)
    series(tables[i].solver, styles[std::min<size_t>(i, 2)],
           [&](size_t d) { return share(tables[i].rows[d].solved, tables[i].rows[d].tried); });
  series("random turns, 50 at most", "plain", [&](size_t d) { return random[d]; });
  series("solves only ≤ 2", "plain", [](size_t d) { return d <= 2 ? 1.0 : 0.0; });
  series("optimal (search from both ends)", "plain", [](size_t) { return 1.0; });
  ReportTable rows{{"distance"}, {}};
  for (const DistanceTable& t : tables)
    for (const char* column : {"tried", "solved", "optimal", "moves", "nodes"})
      rows.header.push_back(fmt::format("{}: {}", t.solver, column));
  for (size_t d = 1; d < kMostDistance; d++) {
    std::vector<std::string> row = {std::to_string(d)};
    for (const DistanceTable& t : tables) {
      const DistanceRow& r = t.rows[d];
      for (const std::string& cell :
           {grouped(r.tried), percentage(share(r.solved, r.tried)), percentage(share(r.optimal, r.tried)),
            figure(share(r.moves, r.solved)), r.nodes > 0 ? figure(share(r.nodes, r.tried)) : "–"})
        row.push_back(cell);
    }
    rows.rows.push_back(std::move(row));
  }
  return section("distance", "By true distance", "Distances are exact: breadth-first search over all 3,674,160 states.",
                 fmt::format("<div class=\"charts\">\n{}</div>\n{}", line_chart(chart), html_table(rows)));
}

}  // namespace ingot::rl::door
