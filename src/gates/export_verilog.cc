// Circuits as Verilog-2001, and the test benches that check them.
#include "gates/netlist.h"
#include "gates/template.h"
#include "ingot/base/error.h"
#include "ingot/gates/circuit_io.h"
#include "ingot/gates/grid.h"

namespace ingot::gates {
namespace {

constexpr const char* kLogic = R"(// $headline$. Written by Ingot.
// LANES independent copies: input k of all of them is in[k * LANES +: LANES], and the outputs likewise.
module NAME_$kind$ #(parameter LANES = 1) (
  input  wire [$inputs$ * LANES - 1:0] in,
  output wire [$outputs$ * LANES - 1:0] out
);
$gates$endmodule
)";

constexpr const char* kGrid = R"(
// WIDTH x HEIGHT cells. Cell (y, x) of channel c is bit (c * HEIGHT + y) * WIDTH + x of `state` and `start`; at a rising
// edge of clk the grid takes `start` if load is high, and its next state otherwise$fire_text$.
// WRAP: beyond a border lies the opposite one; else zeros.
module NAME_grid #(parameter WIDTH = $width$, parameter HEIGHT = $height$, parameter WRAP = $wrap$) (
  input  wire clk,
  input  wire load,
  input  wire [$channels$ * HEIGHT * WIDTH - 1:0] start,
$fire_port$  output reg  [$channels$ * HEIGHT * WIDTH - 1:0] state
);
  wire [$channels$ * HEIGHT * WIDTH - 1:0] next;
  genvar y, c, r;
  generate
    for (y = 0; y < HEIGHT; y = y + 1) begin : row
      wire [9 * $channels$ * WIDTH - 1:0] in;
      wire [$channels$ * WIDTH - 1:0] out;
      for (c = 0; c < $channels$; c = c + 1) begin : channel
        for (r = 0; r < 3; r = r + 1) begin : near
          localparam Y = (y + r + HEIGHT - 1) % HEIGHT;
          localparam INSIDE = WRAP || (y + r >= 1 && y + r <= HEIGHT);
          wire [WIDTH - 1:0] here = INSIDE ? state[(c * HEIGHT + Y) * WIDTH +: WIDTH] : {WIDTH{1'b0}};
          assign in[(9 * c + 3 * r) * WIDTH +: WIDTH] = (here << 1) | (WRAP ? here >> (WIDTH - 1) : {WIDTH{1'b0}});
          assign in[(9 * c + 3 * r + 1) * WIDTH +: WIDTH] = here;
          assign in[(9 * c + 3 * r + 2) * WIDTH +: WIDTH] = (here >> 1) | (WRAP ? here << (WIDTH - 1) : {WIDTH{1'b0}});
        end
        assign next[(c * HEIGHT + y) * WIDTH +: WIDTH] = $next$;
      end
      NAME_cell #(.LANES(WIDTH)) cells (.in(in), .out(out));
    end
  endgenerate
  always @(posedge clk) state <= load ? start : next;
endmodule
)";

constexpr const char* kBenchHead =
    R"(// Test bench of NAME: random inputs, and a hash of what comes out. Written by Ingot.
`timescale 1ns / 1ps
module NAME_test;
  reg [63:0] random, hash;
  integer $integers$;
  task draw;
    begin
      random = random ^ (random << 13);
      random = random ^ (random >> 7);
      random = random ^ (random << 17);
    end
  endtask
)";

constexpr const char* kPlainBench = R"(  reg [$inputs$ * 64 - 1:0] in, drawn;
  wire [$outputs$ * 64 - 1:0] out;
  NAME_logic #(.LANES(64)) circuit (.in(in), .out(out));
  initial begin
    random = 64'h$start$;
    hash = 64'h$hash$;
    for (w = 0; w < $words$; w = w + 1) begin
      for (k = 0; k < $inputs$; k = k + 1) begin
        draw;
        drawn[k * 64 +: 64] = random;
      end
      in = drawn;  // at once: the simulator looks at all gates after each change
      #1;
      for (k = 0; k < $outputs$; k = k + 1) hash = (hash ^ out[k * 64 +: 64]) * 64'h$factor$;
    end
)";

constexpr const char* kCellBench = R"(  localparam HEIGHT = $height$, WIDTH = $width$, WORDS = (WIDTH + 63) / 64;
  reg clk, load;
  reg [$channels$ * HEIGHT * WIDTH - 1:0] start;
  wire [$channels$ * HEIGHT * WIDTH - 1:0] state;
  reg [WORDS * 64 - 1:0] row;
$fire_reg$  NAME_grid #(.WIDTH(WIDTH), .HEIGHT(HEIGHT), .WRAP($wrap$)) grid (
    .clk(clk), .load(load), .start(start),$fire_pin$ .state(state));
  initial begin
    random = 64'h$start$;
    hash = 64'h$hash$;
    for (k = 0; k < $channels$ * HEIGHT; k = k + 1) begin
      for (i = 0; i < WORDS; i = i + 1) begin
        draw;
        row[i * 64 +: 64] = random;
      end
      start[k * WIDTH +: WIDTH] = row[WIDTH - 1:0];
    end
    clk = 0;
    load = 1;
    #1 clk = 1;
    #1 load = 0;
    for (w = 0; w < $steps$; w = w + 1) begin
$fire_draw$      clk = 0;
      #1 clk = 1;
      #1;
      for (k = 0; k < $channels$ * HEIGHT; k = k + 1) begin
        row = {WORDS * 64{1'b0}};
        row[WIDTH - 1:0] = state[k * WIDTH +: WIDTH];
        for (i = 0; i < WORDS; i = i + 1) hash = (hash ^ row[i * 64 +: 64]) * 64'h$factor$;
      end
    end
)";

constexpr const char* kFireDraw = R"(      for (k = 0; k < HEIGHT; k = k + 1) begin
        for (i = 0; i < WORDS; i = i + 1) begin
          draw;
          row[i * 64 +: 64] = random;
        end
        drawn[k * WIDTH +: WIDTH] = row[WIDTH - 1:0];
      end
      fire = drawn;  // at once: the simulator looks at all gates after each change
)";

constexpr const char* kBenchTail = R"(    if (hash === 64'h$expected$) $display("PASS $what$, hash %h", hash);
    else $display("FAIL hash %h, expected $expected$", hash);
    $finish;
  end
endmodule
)";

std::string gates_of(const Netlist& list) {
  const auto signal = [&](uint32_t s) -> std::string {
    if (is_constant(s)) return s == kTrueSignal ? "{LANES{1'b1}}" : "{LANES{1'b0}}";
    if (s < list.inputs) return "in[" + std::to_string(s) + " * LANES +: LANES]";
    return "s" + std::to_string(s - list.inputs);
  };
  std::string out;
  for (size_t i = 0; i < list.gates.size(); i++) {
    const Gate& g = list.gates[i];
    out +=
        "  wire [LANES - 1:0] s" + std::to_string(i) + " = " + expression(g.function, signal(g.a), signal(g.b)) + ";\n";
  }
  for (size_t i = 0; i < list.outputs.size(); i++)
    out += "  assign out[" + std::to_string(i) + " * LANES +: LANES] = " + signal(list.outputs[i]) + ";\n";
  return out;
}

Values values_of(const Circuit& circuit) {
  Values v = {{"inputs", std::to_string(circuit.inputs)}, {"outputs", std::to_string(circuit.outputs.size())}};
  if (!circuit.cell) return v;
  const bool async = circuit.cell->fire_rate < 1;
  v["channels"] = std::to_string(circuit.cell->channels);
  v["wrap"] = circuit.cell->border == Border::kWrap ? "1" : "0";
  v["fire_text"] = async ? ",\n// where `fire` has the cell's bit y * WIDTH + x set" : "";
  v["fire_port"] = async ? "  input  wire [HEIGHT * WIDTH - 1:0] fire,\n" : "";
  v["fire_reg"] = async ? "  reg [HEIGHT * WIDTH - 1:0] fire, drawn;\n" : "";
  v["fire_pin"] = async ? " .fire(fire)," : "";
  v["fire_draw"] = async ? kFireDraw : "";
  v["next"] = async ? "(out[c * WIDTH +: WIDTH] & fire[y * WIDTH +: WIDTH]) |\n"
                      "          (state[(c * HEIGHT + y) * WIDTH +: WIDTH] & ~fire[y * WIDTH +: WIDTH])"
                    : "out[c * WIDTH +: WIDTH]";
  return v;
}

void check_ports(const char* op, const Circuit& circuit) {
  if (circuit.inputs == 0 || circuit.outputs.empty())
    throw Error(std::string(op) + ": the circuit has no inputs or no outputs — a Verilog module needs both");
}

std::string text_of(const Trial& trial) {
  return "a board of " + std::to_string(trial.height) + " × " + std::to_string(trial.width) + " cells, " +
         std::to_string(trial.steps) + " steps, " + std::to_string(trial.words) + " words";
}

void check_trial(const Trial& trial) {
  if (trial.words < 0 || trial.height < 1 || trial.width < 1 || trial.steps < 0)
    throw Error("trial: " + text_of(trial) + " — sizes are positive");
}

// Verilog counts loops and bits with 32-bit integers.
void check_bench(const Circuit& circuit, const Trial& trial) {
  constexpr int64_t kMost = INT32_MAX;
  check_trial(trial);
  const auto fits = [](std::initializer_list<int64_t> factors) {
    int64_t product = 1;
    for (const int64_t n : factors) {
      if (n > kMost / product) return false;
      product *= n;
    }
    return true;
  };
  if (circuit.cell ? trial.steps > kMost || !fits({trial.height, trial.width, 9, circuit.cell->channels})
                   : trial.words > kMost || !fits({64, circuit.inputs}) ||
                         !fits({64, static_cast<int64_t>(circuit.outputs.size())}))
    throw Error("to_verilog_testbench: " + text_of(trial) + ", " + std::to_string(circuit.inputs) + " inputs, " +
                std::to_string(circuit.outputs.size()) +
                " outputs — Verilog counts steps, words and the bits of all inputs below 2^31: make the trial smaller");
}

uint64_t plain_hash(const Circuit& circuit, const Trial& trial) {
  Runner runner(circuit);
  std::vector<uint64_t> in(circuit.inputs), out(circuit.outputs.size());
  uint64_t random = random_start(trial.seed), hash = kHashStart;
  for (int64_t w = 0; w < trial.words; w++) {
    for (uint64_t& word : in) word = next_random(random);
    runner.evaluate(in, out, 1);
    for (const uint64_t word : out) hash = mixed(hash, word);
  }
  return hash;
}

uint64_t cell_hash(const Circuit& circuit, const Trial& trial) {
  Runner runner(circuit);
  Grid grid(1, circuit.cell->channels, trial.height, trial.width), fires(1, 1, trial.height, trial.width);
  const int64_t words = grid.row_words();
  const uint64_t last = trial.width % 64 == 0 ? ~uint64_t{0} : (uint64_t{1} << trial.width % 64) - 1;
  const auto each = [&](Grid& g, auto&& use) {
    for (int64_t c = 0; c < g.channels(); c++)
      for (int64_t y = 0; y < g.height(); y++)
        for (int64_t i = 0; i < words; i++) use(g.row(0, c, y)[i], i + 1 == words ? last : ~uint64_t{0});
  };
  uint64_t random = random_start(trial.seed), hash = kHashStart;
  const auto draw = [&](uint64_t& word, uint64_t inside) { word = next_random(random) & inside; };
  each(grid, draw);
  for (int64_t step = 0; step < trial.steps; step++) {
    if (circuit.cell->fire_rate < 1) {
      each(fires, draw);
      runner.step(grid, fires);
    } else {
      runner.step(grid);
    }
    each(grid, [&](uint64_t word, uint64_t) { hash = mixed(hash, word); });
  }
  return hash;
}

}  // namespace

uint64_t trial_hash(const Circuit& circuit, const Trial& trial) {
  check_trial(trial);
  return circuit.cell ? cell_hash(circuit, trial) : plain_hash(circuit, trial);
}

std::string to_verilog(const Circuit& circuit) {
  check_ports("to_verilog", circuit);
  const Netlist list = netlist_of(circuit);
  Values v = values_of(circuit);
  v["headline"] = headline(circuit, list);
  v["kind"] = circuit.cell ? "cell" : "logic";
  v["gates"] = gates_of(list);
  if (circuit.cell) {
    v["width"] = std::to_string(circuit.cell->width > 0 ? circuit.cell->width : 16);
    v["height"] = std::to_string(circuit.cell->height > 0 ? circuit.cell->height : 16);
  }
  return filled_in(circuit.cell ? std::string(kLogic) + kGrid : kLogic, v, identifier(circuit));
}

std::string to_verilog_testbench(const Circuit& circuit, const Trial& trial) {
  check_ports("to_verilog_testbench", circuit);
  check_bench(circuit, trial);
  Values v = values_of(circuit);
  v["start"] = hexadecimal(random_start(trial.seed));
  v["hash"] = hexadecimal(kHashStart);
  v["factor"] = hexadecimal(kHashFactor);
  v["expected"] = hexadecimal(trial_hash(circuit, trial));
  v["words"] = std::to_string(trial.words);
  v["height"] = std::to_string(trial.height);
  v["width"] = std::to_string(trial.width);
  v["steps"] = std::to_string(trial.steps);
  v["integers"] = circuit.cell ? "w, k, i" : "w, k";
  v["what"] = circuit.cell ? v["steps"] + " steps of " + v["height"] + " x " + v["width"] + " cells"
                           : std::to_string(64 * trial.words) + " random assignments";
  return filled_in(std::string(kBenchHead) + (circuit.cell ? kCellBench : kPlainBench) + kBenchTail, v,
                   identifier(circuit));
}

}  // namespace ingot::gates
