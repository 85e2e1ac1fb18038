#include "ingot/gates/simplify.h"

#include <algorithm>
#include <utility>

#include "gates/network.h"
#include "gates/resubstitute.h"
#include "gates/tables.h"
#include "ingot/base/clock.h"
#include "ingot/base/error.h"

namespace ingot::gates {
namespace {

double seconds_since(int64_t start) { return static_cast<double>(now_ns() - start) * 1e-9; }

constexpr double kWork = 1e8;     // pairs of signals that resubstitution looks at in eight rounds: about half a second
constexpr int64_t kMoves = 3000;  // of a round

// Channels that the visible ones never depend on keep their state: that takes no gates.
Circuit without_unused_channels(Circuit circuit) {
  std::vector<uint32_t> outputs(circuit.outputs.size());
  for (size_t c = 0; c < outputs.size(); c++) outputs[c] = static_cast<uint32_t>(9 * c + 4);
  for (const int32_t c : needed_channels(circuit))
    outputs[static_cast<size_t>(c)] = circuit.outputs[static_cast<size_t>(c)];
  circuit.outputs = std::move(outputs);
  return circuit;
}

// The gates and outputs with every signal that is read replaced by moved(signal).
template <class Moved>
void renumber(Circuit& circuit, const Moved& moved) {
  for (Gate& g : circuit.gates) {
    g.a = reads_a(g.function) ? moved(g.a) : 0;
    g.b = reads_b(g.function) ? moved(g.b) : 0;
  }
  for (uint32_t& o : circuit.outputs) o = moved(o);
}

// The same over the inputs that count, so that the others take no memory. Gates that no output needs may read anything
// then.
Circuit narrowed(Circuit circuit, const std::vector<uint32_t>& support) {
  const uint32_t inputs = std::exchange(circuit.inputs, static_cast<uint32_t>(support.size()));
  renumber(circuit, [&](uint32_t signal) {
    if (signal >= inputs) return signal - inputs + circuit.inputs;
    const auto found = std::lower_bound(support.begin(), support.end(), signal);
    return found == support.end() ? 0 : static_cast<uint32_t>(found - support.begin());
  });
  return circuit;
}

// Back again.
Circuit widened(Circuit circuit, const std::vector<uint32_t>& support, uint32_t inputs) {
  const uint32_t narrow = std::exchange(circuit.inputs, inputs);
  renumber(circuit, [&](uint32_t signal) { return signal < narrow ? support[signal] : signal - narrow + inputs; });
  return circuit;
}

class Passes {
 public:
  Passes(const Circuit& circuit, const SimplifyOptions& options) : options_(options) { result_.circuit = circuit; }

  void run(const char* name, Circuit after, int64_t start,
           Proof (*prove)(const Circuit&, const Circuit&, const GoOn&) = prove_equal) {
    PassResult pass{.pass = name, .gates = static_cast<int64_t>(after.gates.size())};
    if (options_.prove) {
      const Proof proof = prove(result_.circuit, after, {});
      if (!proof.equal)
        throw Error(ErrorKind::kInternal, std::string("simplify: the pass \"") + name + "\" changed the circuit (" +
                                              proof.method +
                                              ") — this is a mistake of ours; please report it with the circuit");
      pass.proof = proof.method;
    }
    pass.seconds = seconds_since(start);
    result_.circuit = std::move(after);
    result_.passes.push_back(std::move(pass));
  }
  /// The same for a pass from network to network, over the inputs that count.
  void run(const char* name, const Network& after, int64_t start) {
    run(name, widened(to_circuit(after, result_.circuit), support_, result_.circuit.inputs), start);
  }
  /// The circuit over the inputs that count now; from here on, networks are over those.
  Circuit narrow() {
    if (support_.empty()) support_ = support(result_.circuit);
    return narrowed(result_.circuit, support_);
  }

  Simplified take() { return std::move(result_); }

 private:
  const SimplifyOptions& options_;
  std::vector<uint32_t> support_;
  Simplified result_;
};

}  // namespace

Simplified simplify(const Circuit& circuit, const SimplifyOptions& options) {
  check(circuit);
  if (options.rounds < 0) throw Error("simplify: " + std::to_string(options.rounds) + " rounds — give 0 or more");
  Passes passes(circuit, options);
  int64_t start = now_ns();
  if (circuit.cell && options.unused_channels)
    passes.run("unused channels", without_unused_channels(circuit), start, prove_equal_visible);

  start = now_ns();
  passes.run("constants, copies, dead gates", to_network(passes.narrow(), false), start);
  start = now_ns();
  Network network = to_network(passes.narrow(), true);
  passes.run("structural hashing", network, start);
  start = now_ns();
  network = merge_equal(network);
  passes.run("equal signals", network, start);

  if (options.rounds == 0) return passes.take();
  double work = kWork * std::max(1.0, options.rounds / 8.0);  // who asks for more than the default pays for it
  const auto gates = static_cast<int64_t>(network.gates.size());
  const int64_t moves = std::max(std::min(kMoves, 40 * gates), 4 * gates);
  start = now_ns();
  Network best =
      resubstitute(network, {.dont_cares = options.dont_cares, .moves = moves, .seed = options.seed, .work = &work});
  passes.run(options.dont_cares ? "resubstitution, don't-cares" : "resubstitution", best, start);
  if (options.rounds == 1) return passes.take();
  start = now_ns();
  for (int32_t round = 1; round < options.rounds; round++) {
    const uint64_t seed = options.seed + static_cast<uint64_t>(round) * 0x9E3779B97F4A7C15ULL;
    Network other =
        resubstitute(network, {.dont_cares = options.dont_cares, .moves = moves, .seed = seed, .work = &work});
    if (other.gates.size() < best.gates.size()) best = std::move(other);
  }
  passes.run("the same in other orders", best, start);
  return passes.take();
}

}  // namespace ingot::gates
