// Circuits to and from files, and as what other tools read: C, Verilog, BLIF, AIGER, DOT, SVG.
//
//   gates::Circuit life = gates::load_circuit("life.json");
//   gates::save_circuit("life.igc", life);                      // compact
//   io::write_file("life.c", gates::to_c(life));                // a whole-grid stepper that needs nothing else
//
// Readers take files for hostile, as those of io.h do. Exports leave out gates that no output depends on, copies and
// constants; what they compute is the circuit's outputs to the bit.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "ingot/base/export.h"
#include "ingot/gates/circuit.h"

namespace ingot::gates {

// Files ---------------------------------------------------------------------------------------------------------------

/// A circuit from JSON, from the compact form, or from the JSON of the Rust port of Differentiable Logic CA
/// ("logicars": perception kernels and an update network); the contents tell which.
INGOT_API Circuit load_circuit(const std::string& path);
INGOT_API Circuit parse_circuit(std::span<const std::byte> bytes);
/// Writes JSON if the path ends in .json, the compact form if it ends in .igc.
INGOT_API void save_circuit(const std::string& path, const Circuit& circuit);

/// JSON for people: a line per gate, ["xor", 0, 1], and the outputs' signals.
INGOT_API std::string to_json(const Circuit& circuit);
/// About four bytes per gate, with a checksum.
INGOT_API std::string to_binary(const Circuit& circuit);

/// The rule of a life-like automaton as a circuit of adders: "B3/S23" (born with three live neighbours, survives with
/// two or three), or "life" for the same.
INGOT_API Circuit life_like(const std::string& rule, Border border = Border::kWrap);

// Exports -------------------------------------------------------------------------------------------------------------

/// What the exported C program and the test bench run: random inputs, and a hash of all that comes out.
struct Trial {
  int64_t words = 256;                           // of a plain circuit: 64 random assignments each
  int64_t height = 16, width = 16, steps = 100;  // of a cell rule: a random board
  uint64_t seed = 1;
};
/// The hash that they must come to.
INGOT_API uint64_t trial_hash(const Circuit& circuit, const Trial& trial = {});

/// A stand-alone C99 file. A plain circuit becomes a function of 64 assignments at once; a cell rule, a stepper of
/// grids of any size, rows of 64 cells per word, with either border and optional fire masks. `with_main` adds a program
/// that runs a Trial given by its arguments and prints its hash.
INGOT_API std::string to_c(const Circuit& circuit, bool with_main = false);

/// Verilog-2001. A plain circuit becomes NAME_logic, `LANES` copies side by side; a cell rule, NAME_cell and NAME_grid
/// of WIDTH × HEIGHT cells with registers, clock, load and the border as a parameter.
INGOT_API std::string to_verilog(const Circuit& circuit);
/// A test bench for it that prints PASS if a Trial comes to its hash. Verilog counts steps, words and bits below 2^31.
INGOT_API std::string to_verilog_testbench(const Circuit& circuit, const Trial& trial = {});

/// BLIF. A cell's own channels are latches, its neighbours inputs, its next channels outputs.
INGOT_API std::string to_blif(const Circuit& circuit);

/// AIGER 1.0 of AND gates and inverters, with latches as in BLIF: the readable aag, or the binary aig.
INGOT_API std::string to_aag(const Circuit& circuit);
INGOT_API std::string to_aig(const Circuit& circuit);

/// A graph for Graphviz.
INGOT_API std::string to_dot(const Circuit& circuit);
/// A picture: gate symbols in layers, coloured by function; above 300 gates, an overview with a square per gate.
INGOT_API std::string to_svg(const Circuit& circuit);

}  // namespace ingot::gates
