// The sections on a circuit: well formed, and whatever they are given stays text.
#include "gates/door/report_circuit.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "ingot/gates/circuit_io.h"
#include "tests/gates/hand_made.h"
#include "tests/recipe/well_formed.h"

namespace ingot::gates::door {
namespace {

using recipe::fault_of;
using recipe::times;

ReportCircuit sample() {
  ReportCircuit out{
      .passed = true,
      .exam = {{"question", "right", "of", "", ""}, {{"fresh boards", "32", "32", "passed", "none < inverted"}}},
      .attempts = {{"attempt", "seed"}, {{"1", "0"}, {"2", "1"}}},
      .frames = Tensor::empty({30, 5, 7, 3}, kU8),
      .film_note = "29 steps",
      .functions = {"and", "xor"},
      .before = {3, 0},
      .after = {0, 5},
      .passes = {{"pass", "gates"}, {{"constants & copies", "7"}}},
      .note = "7 gates",
      .svg = to_svg(hand_made_checkerboard())};
  std::fill_n(out.frames.data<uint8_t>(), out.frames.numel(), uint8_t{200});
  return out;
}

TEST(ReportCircuit, SectionsAreWellFormed) {
  const std::string html = "\n" + circuit_sections(sample());
  EXPECT_EQ(fault_of(html), "");
  for (const char* id : {"exam", "film", "circuit"})
    EXPECT_EQ(times(html, std::string("<section id=\"") + id + "\""), 1) << id;
  EXPECT_EQ(times(html, "src=\""), times(html, "src=\"data:image/"));
  EXPECT_EQ(circuit_sections({}), "") << "without an exam there is no circuit";
}

TEST(ReportCircuit, HostileNamesStayText) {
  const std::string evil = "</script><script>alert(\"1\")</script>'&\xff\x01 onload=\"x\"";
  ReportCircuit c = sample();
  c.note = c.film_note = c.exam.rows[0][0] = c.functions[0] = c.passes.rows[0][0] = c.attempts.rows[0][1] = evil;
  const std::string html = "\n" + circuit_sections(c);
  EXPECT_EQ(fault_of(html), "");
  EXPECT_EQ(times(html, "<script") + times(html, "onload=\""), 0);
}

}  // namespace
}  // namespace ingot::gates::door
