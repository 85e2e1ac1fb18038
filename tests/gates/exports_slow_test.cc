// Large circuits, and what takes yosys: Verilog and AIGER as it understands them, proved equal to BLIF.
#include "tests/gates/export_tools.h"

namespace ingot::gates {
namespace {

using SlowExports = Exports;

TEST_F(SlowExports, LargeCircuitsInC) {
  expect_c_equals(random_circuit(12, 9000, 8, 3), "random_logic", kWords);
  expect_c_equals(random_circuit(264, 3040, 8, 4), "random_logic", kWords);
}

TEST_F(SlowExports, LargeCircuitsInVerilog) {
  const Circuit plain = random_circuit(264, 3040, 8, 4);
  EXPECT_EQ(simulated(plain, to_verilog_testbench(plain, {.words = kWords / 50})).substr(0, 5), "PASS ");
  const Circuit rule = random_rule(8, 3040, Border::kZero, 0.6, 5);
  EXPECT_EQ(simulated(rule, to_verilog_testbench(rule, {.height = 16, .width = 16, .steps = 40})).substr(0, 5),
            "PASS ");
}

TEST_F(SlowExports, YosysAndAbcProveAllFormsEqual) {
  for (const Circuit& c :
       {motley_circuit(), random_circuit(12, 9000, 8, 3), life_rule(), random_rule(3, 150, Border::kZero, 1, 4)}) {
    // Yosys gives latches a clock, so the logic alone is compared.
    Circuit plain = c;
    plain.cell.reset();
    file("c.blif", to_blif(plain));
    file("c.aag", to_aag(plain));
    file("c.v", to_verilog(c));
    run("yosys -q -p 'read_aiger c.aag; simplemap; write_blif aag.blif; design -reset; read_verilog c.v; hierarchy "
        "-top " +
        c.name + (c.cell ? "_cell" : "_logic") + "; simplemap; write_blif v.blif'");
    expect_equal("c.blif", "aag.blif");
    expect_equal("c.blif", "v.blif", "-n");  // its ports are in[0], in[1], …
  }
}

}  // namespace
}  // namespace ingot::gates
