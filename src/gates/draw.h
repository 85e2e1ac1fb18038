// Pictures of circuits.
#pragma once
#include <string>
#include <vector>

#include "gates/netlist.h"

namespace ingot::gates {

/// "#rrggbb" of a gate's body, by function: AND is blue, OR green, XOR orange, a negation grey.
const char* fill_colour(Function f);
/// The symbol of a gate with its middle at (x, y); negated inputs and outputs have a circle.
std::string gate_symbol(Function f, double x, double y, bool swapped);
/// How far the symbol's upper and lower inputs lie from its middle, and where wires end: left of the circles, if any.
inline constexpr double kPort = 7;
double port_x(Function f, bool second);
double out_x(Function f);

/// Which functions there are and how many of each, in a line at y: with their symbols, or squares of other colours.
struct Legend {
  std::string svg;
  double right;  // where it ends
};
Legend legend(const Netlist& list, double x, double y, const char* (*square)(Function) = nullptr);
/// The head of an SVG of this size with a title.
std::string svg_head(const Circuit& circuit, const Netlist& list, double width, double height);

/// The depth of every signal: inputs at 0, gates behind what they read.
std::vector<int> depths(const Netlist& list);

/// Symbols and wires.
std::string draw_gates(const Circuit& circuit, const Netlist& list);

}  // namespace ingot::gates
