// Ingot and its peers in one run, interleaved. Each contender runs in bursts of a few milliseconds, in turn, for many
// rounds; the first part of a burst is thrown away, so that another library's spinning workers have gone to sleep. A
// burst's result is its best sample, a contender's the median over its bursts: what it does undisturbed, most of the
// time.
#pragma once
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace ingot::bench {

/// Contenders of one name are settings of one peer: its fastest setting is what counts.
struct Contender {
  std::string name;
  std::function<void()> run;
  std::string setting = {};
  bool yardstick = false;  // something to compare with that is no peer: stays out of the summary
};

/// What a run gets done: so much of a unit (1e9 "gates"). Kept per second, and printed so or as time for each of them, for
/// cases without peers.
struct Amount {
  double count = 0;
  std::string unit = {};
};

/// Options of every suite: --threads N (default: 1 and then all cores), --json FILE, --filter TEXT, --seconds S per
/// contender.
struct Options {
  std::vector<int> threads;
  std::string json, filter;
  double seconds = 0.2;
};

/// Collects rows `{"suite","case","threads","ingot_us","peer","peer_us","ratio"}`, prints them as a table. A peer with
/// settings adds `"setting"`; a case without peers has only `"ingot_us"`, and with an amount `"per_second"` and
/// `"unit"`.
class Suite {
 public:
  Suite(const char* name, int argc, char** argv);
  ~Suite();  // prints the summary, writes the JSON file
  const std::vector<int>& threads() const { return options_.threads; }
  /// Sets the threads of Ingot, libtorch and oneDNN, and those of the peers added with on_threads.
  void set_threads(int n);
  void on_threads(std::function<void(int)> setter) { setters_.push_back(std::move(setter)); }
  /// Does the filter let this case through?
  bool wants(const std::string& label) const { return label.find(options_.filter) != std::string::npos; }
  /// Measures Ingot against its peers; skipped if the filter does not match.
  void compare(const std::string& label, const std::function<void()>& ingot, const std::vector<Contender>& peers = {},
               const Amount& amount = {});

  /// A case that its suite has timed itself, because what prepares a run must not count; and so its peers, in microseconds.
  void record(const std::string& label, double micros, const Amount& amount = {},
              const std::map<std::string, double>& peers = {});

 private:
  std::string name_;
  Options options_;
  int current_threads_ = 1;
  std::vector<std::function<void(int)>> setters_;
  nlohmann::json rows_ = nlohmann::json::array();
  std::map<std::pair<int, std::string>, double> worst_;  // by threads and case: the ratio to the best peer
};

/// Starts the program anew with the allocator that suits libtorch best; call it first in main.
void use_tuned_allocator(char** argv);

}  // namespace ingot::bench
