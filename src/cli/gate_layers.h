// Layers of logic gates from their tables in a description.
#pragma once
#include <memory>

#include "cli/keys.h"
#include "ingot/gates.h"

namespace ingot::cli {

std::vector<Key> automaton_keys();
std::vector<Key> gate_network_keys();

/// An automaton for states like x [n, channels, height, width], whose first channels are compared with a target.
std::shared_ptr<nn::Layer> make_automaton(const Settings& s, const Tensor& x, int64_t visible);
/// A network of gates for x [n, features].
std::shared_ptr<nn::Layer> make_gate_network(const Settings& s, const Tensor& x);

}  // namespace ingot::cli
