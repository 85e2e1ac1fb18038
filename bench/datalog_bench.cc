// Facts and rules: the cases whose counts are known, in CPU seconds of the query on one thread, facts loaded before; and loading
// itself. Peers are programs of their own, asked in turn with Ingot (datalog_peers.py says which, and what they are asked).
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <map>
#include <vector>

#include "harness.h"
#include "tests/logic/cases.h"
#include "tests/test_file.h"

namespace {

using namespace ingot;
using logic::cases::Case;

double cpu_seconds() {
  timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

double median(std::vector<double> all) {
  std::nth_element(all.begin(), all.begin() + static_cast<long>(all.size() / 2), all.end());
  return all[all.size() / 2];
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
  return median(all);
}

// A folder with the facts of a case, for other programs.
class Folder {
 public:
  explicit Folder(const Case& c)
      : path_(std::filesystem::temp_directory_path() / ("ingot-bench-" + std::to_string(getpid()))) {
    std::filesystem::create_directories(path_);
    const logic::Engine types(logic::Program::parse(c.program, logic::Dialect::kSouffle));
    for (const auto& [relation, facts] : c.inputs) {
      std::ofstream file(path_ / (relation + ".tsv"));
      const size_t width = types.types(relation).size();
      for (size_t i = 0; i < facts.size(); i++) file << facts[i] << ((i + 1) % width == 0 ? '\n' : '\t');
    }
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

// What the peer needs; 0 if it cannot do it. One that finds another number of facts is wrong, and so is this program.
double peer_seconds(const std::string& peer, const Case& c, const Folder& folder) {
  const std::string command = "/usr/bin/python3 " + test_file("../bench/datalog_peers.py") + " " + peer + " " + c.name +
                              " " + folder.path().string();
  FILE* answer = popen(command.c_str(), "r");
  double seconds = 0;
  long long size = -1;
  const int read = answer != nullptr ? std::fscanf(answer, "%lf %lld", &seconds, &size) : 0;
  if (answer == nullptr || pclose(answer) != 0 || read != 2) return 0;
  if (size >= 0 && static_cast<uint64_t>(size) != c.size) {
    std::fprintf(stderr, "%s: %s finds %lld facts instead of %llu\n", c.name.c_str(), peer.c_str(), size,
                 static_cast<unsigned long long>(c.size));
    std::exit(1);
  }
  return seconds;
}

constexpr double kLongPeer = 3;  // seconds; so long a run is not repeated
constexpr int kRounds = 3;

void query(bench::Suite& suite, const std::string& name, Case (*make)()) {
  if (!suite.wants(name)) return;
  const Case c = make();
  const auto ours = [&] {
    return median_seconds([&] { return c.engine(); },
                          [&](logic::Engine& e) {
                            e.run();
                            if (e.size(c.result) != c.size) {
                              std::fprintf(stderr, "%s: %llu facts instead of %llu\n", c.name.c_str(),
                                           static_cast<unsigned long long>(e.size(c.result)),
                                           static_cast<unsigned long long>(c.size));
                              std::exit(1);
                            }
                          });
  };
  std::vector<double> seconds;
  std::map<std::string, std::vector<double>> peers;
  const Folder folder(c);
  for (int round = 0; round < kRounds; round++) {
    seconds.push_back(ours());
    for (const char* peer : {"duckdb", "gringo", "sqlite", "swi"}) {
      const std::vector<double>& before = peers[peer];
      const bool more = round == 0 || (before.size() == static_cast<size_t>(round) && before.back() < kLongPeer);
      if (const double s = more ? peer_seconds(peer, c, folder) : 0; s > 0) peers[peer].push_back(s);
    }
  }
  std::map<std::string, double> micros;
  for (const auto& [peer, all] : peers)
    if (!all.empty()) micros[peer] = median(all) * 1e6;
  suite.record(name, median(seconds) * 1e6, {static_cast<double>(c.size), "facts"}, micros);
}

void load(bench::Suite& suite) {
  if (!suite.wants("load4m")) return;
  Case c = logic::cases::full(2000);
  c.program = ".decl edge(x: number, y: number)\n.input edge(filename=\"edge.tsv\")\n";
  const Folder folder(c);
  const auto program = logic::Program::parse(c.program, logic::Dialect::kSouffle);
  const double seconds = median_seconds([&] { return logic::Engine(program, {.facts = folder.path().string()}); },
                                        [](logic::Engine& e) { e.load(); });
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
