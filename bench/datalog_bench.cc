// Facts and rules: the cases whose counts are known, in CPU seconds of the query on one thread, facts loaded before; and loading
// itself. Peers are programs of their own: what they need for the same cases is in docs/logic.md.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>

#include "harness.h"
#include "tests/logic/cases.h"

namespace {

using namespace ingot;
using logic::cases::Case;

double cpu_seconds() {
  timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

// The median of some runs; the engine and its facts are new each time.
template <class Make, class Run>
double median_seconds(Make make, Run run) {
  std::vector<double> all;
  double total = 0;
  while (all.size() < 3 || (all.size() < 15 && total < 1)) {
    logic::Engine engine = make();
    const double begin = cpu_seconds();
    run(engine);
    all.push_back(cpu_seconds() - begin);
    total += all.back();
  }
  std::nth_element(all.begin(), all.begin() + static_cast<long>(all.size() / 2), all.end());
  return all[all.size() / 2];
}

void query(bench::Suite& suite, const std::string& name, Case (*make)()) {
  if (!suite.wants(name)) return;
  const Case c = make();
  const double seconds = median_seconds([&] { return c.engine(); },
                                        [&](logic::Engine& e) {
                                          e.run();
                                          if (e.size(c.result) != c.size) {
                                            std::fprintf(stderr, "%s: %llu facts instead of %llu\n", c.name.c_str(),
                                                         static_cast<unsigned long long>(e.size(c.result)),
                                                         static_cast<unsigned long long>(c.size));
                                            std::exit(1);
                                          }
                                        });
  suite.record(name, seconds * 1e6, {static_cast<double>(c.size), "facts"});
}

void load(bench::Suite& suite) {
  if (!suite.wants("load4m")) return;
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("ingot-bench-" + std::to_string(getpid()));
  std::filesystem::create_directories(folder);
  const Case c = logic::cases::full(2000);
  {
    std::ofstream file(folder / "edge.facts");
    const logic::cases::Facts& edges = c.inputs[0].second;
    for (size_t i = 0; i < edges.size(); i += 2) file << edges[i] << '\t' << edges[i + 1] << '\n';
  }
  const auto program =
      logic::Program::parse(".decl edge(x: number, y: number)\n.input edge\n", logic::Dialect::kSouffle);
  const double seconds = median_seconds([&] { return logic::Engine(program, {.facts = folder.string()}); },
                                        [](logic::Engine& e) { e.load(); });
  std::filesystem::remove_all(folder);
  suite.record("load4m", seconds * 1e6, {3998000, "facts"});
}

}  // namespace

int main(int argc, char** argv) {
  using namespace logic;
  bench::Suite suite("datalog", argc, argv);
  suite.set_threads(1);
  query(suite, "cycle4000", [] { return cases::cycle(4000); });
  query(suite, "full2000", [] { return cases::full(2000); });
  query(suite, "grid100", cases::grid100);
  query(suite, "rnd10k", cases::rnd10k);
  query(suite, "rnd100k", cases::rnd100k);
  query(suite, "sg12", cases::same_generation);
  query(suite, "pts20k", cases::points_to);
  query(suite, "tri5k", cases::triangles);
  query(suite, "unreach2k", cases::unreachable);
  query(suite, "sp2k", cases::all_pairs);
  query(suite, "cc200k", cases::components);
  load(suite);
}
