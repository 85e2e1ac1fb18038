#include "ingot/simplify.h"

#include <utility>

#include "base/clock.h"
#include "gates/network.h"
#include "gates/resubstitute.h"
#include "gates/tables.h"
#include "ingot/error.h"

namespace ingot::gates {
namespace {

double seconds_since(int64_t start) { return static_cast<double>(now_ns() - start) * 1e-9; }

// Channels that the visible ones never depend on keep their state: that takes no gates.
Circuit without_unused_channels(Circuit circuit) {
  std::vector<uint32_t> outputs(circuit.outputs.size());
  for (size_t c = 0; c < outputs.size(); c++) outputs[c] = static_cast<uint32_t>(9 * c + 4);
  for (const int32_t c : needed_channels(circuit))
    outputs[static_cast<size_t>(c)] = circuit.outputs[static_cast<size_t>(c)];
  circuit.outputs = std::move(outputs);
  return circuit;
}

class Passes {
 public:
  Passes(const Circuit& circuit, const SimplifyOptions& options) : options_(options) { result_.circuit = circuit; }

  void run(const char* name, Circuit after, int64_t start,
           Proof (*prove)(const Circuit&, const Circuit&) = prove_equal) {
    PassResult pass{.pass = name, .gates = static_cast<int64_t>(after.gates.size()), .seconds = seconds_since(start)};
    if (options_.prove) {
      const Proof proof = prove(result_.circuit, after);
      if (!proof.equal)
        throw Error(std::string("simplify: the pass \"") + name + "\" changed the circuit (" + proof.method +
                    ") — this is a mistake of ours; please report it with the circuit");
      pass.proof = proof.method;
    }
    result_.circuit = std::move(after);
    result_.passes.push_back(std::move(pass));
  }
  /// The same for a pass from network to network.
  void run(const char* name, const Network& after, int64_t start) {
    run(name, to_circuit(after, result_.circuit), start);
  }

  Simplified take() { return std::move(result_); }
  const Circuit& circuit() const { return result_.circuit; }

 private:
  const SimplifyOptions& options_;
  Simplified result_;
};

}  // namespace

Simplified simplify(const Circuit& circuit, const SimplifyOptions& options) {
  check(circuit);
  if (options.rounds < 0)
    throw Error("simplify: " + std::to_string(options.rounds) + " rounds — give a number of tries, 0 for none");
  Passes passes(circuit, options);
  int64_t start = now_ns();
  if (circuit.cell && options.unused_channels)
    passes.run("unused channels", without_unused_channels(circuit), start, prove_equal_visible);

  start = now_ns();
  passes.run("constants, copies, dead gates", to_network(passes.circuit(), false), start);
  start = now_ns();
  Network network = to_network(passes.circuit(), true);
  passes.run("structural hashing", network, start);
  start = now_ns();
  network = merge_equal(network);
  passes.run("equal signals", network, start);

  start = now_ns();
  network = resubstitute(
      network, {.dont_cares = false, .moves = 4 * static_cast<int64_t>(network.gates.size()), .seed = options.seed});
  passes.run("resubstitution", network, start);
  if (!options.dont_cares) return passes.take();
  start = now_ns();
  network = resubstitute(network, {.moves = 4 * static_cast<int64_t>(network.gates.size()), .seed = options.seed});
  passes.run("don't-cares", network, start);
  start = now_ns();
  network = resubstitute(network, {.moves = 1000 * static_cast<int64_t>(options.rounds), .seed = options.seed});
  passes.run("detours", network, start);
  return passes.take();
}

}  // namespace ingot::gates
