// Exports read and run by other people's tools: the C compiler, Icarus Verilog, ABC. What they compute is what the
// circuit computes, on a million random assignments; and it is proved equal where a tool can.
#include <array>
#include <sstream>

#include "tests/error_of.h"
#include "tests/gates/export_tools.h"

namespace ingot::gates {
namespace {

TEST_F(Exports, CFunctionsEqualTheCircuitOnAMillionAssignments) {
  expect_c_equals(motley_circuit(), "random_logic", kWords);
  Circuit named = random_circuit(30, 800, 20, 2);
  named.name = "2 names; */ \"x\n";
  expect_c_equals(named, "c2_names______x__logic", kWords);
}

// One cell at a time, straight from the definition.
std::vector<uint64_t> next_state(const Circuit& c, const std::vector<uint64_t>& state,
                                 const std::vector<uint64_t>& fire, int64_t height, int64_t width, bool wrap) {
  const int64_t words = (width + 63) / 64;
  const auto place = [&](int64_t channel, int64_t y, int64_t x) {
    return static_cast<size_t>((channel * height + y) * words + x / 64);
  };
  const auto get = [&](const std::vector<uint64_t>& bits, int64_t channel, int64_t y, int64_t x) {
    if (wrap) y = (y + height) % height, x = (x + width) % width;
    if (y < 0 || y >= height || x < 0 || x >= width) return false;
    return (bits[place(channel, y, x)] >> (x % 64) & 1) != 0;
  };
  std::vector<uint64_t> next(state.size());
  for (int64_t y = 0; y < height; y++)
    for (int64_t x = 0; x < width; x++) {
      std::vector<bool> in;
      for (int64_t channel = 0; channel < c.cell->channels; channel++)
        for (int64_t k = 0; k < 9; k++) in.push_back(get(state, channel, y + k / 3 - 1, x + k % 3 - 1));
      const std::vector<bool> out = evaluate(c, in);
      for (int64_t channel = 0; channel < c.cell->channels; channel++) {
        const bool fires = fire.empty() || get(fire, 0, y, x);
        const bool bit = fires ? out[static_cast<size_t>(channel)] : get(state, channel, y, x);
        next[place(channel, y, x)] |= uint64_t{bit} << (x % 64);
      }
    }
  return next;
}

TEST_F(Exports, CStepsGridsOfAnySizeWithBothBorders) {
  using Step = void (*)(uint64_t*, const uint64_t*, const uint64_t*, size_t, size_t, int);
  const std::vector<Circuit> rules = {life_rule(), random_rule(3, 120, Border::kZero, 1, 4)};
  std::mt19937_64 random(6);
  for (const Circuit& c : rules) {
    void* library = compiled(c.name, c);
    const auto step = reinterpret_cast<Step>(dlsym(library, (c.name + "_step").c_str()));
    ASSERT_NE(step, nullptr);
    for (const auto& [height, width] :
         {std::pair<int64_t, int64_t>{1, 1}, {1, 2}, {2, 1}, {3, 3}, {5, 63}, {6, 64}, {4, 65}, {7, 128}, {3, 150}})
      for (const bool wrap : {false, true})
        for (const bool masked : {false, true}) {
          const int64_t words = (width + 63) / 64;
          std::vector<uint64_t> state(static_cast<size_t>(c.cell->channels * height * words)), fire;
          for (size_t i = 0; i < state.size(); i++)
            state[i] = random() &
                       ((i + 1) % static_cast<size_t>(words) != 0 || width % 64 == 0 ? ~uint64_t{0}
                                                                                     : (uint64_t{1} << width % 64) - 1);
          if (masked) fire = random_words(static_cast<size_t>(height * words), random);
          for (int t = 0; t < 3; t++) {
            std::vector<uint64_t> next(state.size(), 0xdead);
            step(next.data(), state.data(), masked ? fire.data() : nullptr, static_cast<size_t>(height),
                 static_cast<size_t>(width), wrap);
            ASSERT_EQ(next, next_state(c, state, fire, height, width, wrap))
                << height << " " << width << " " << wrap << masked;
            state = next;
          }
        }
    dlclose(library);
  }
}

TEST_F(Exports, CProgramsPrintTheTrialsHash) {
  const auto said = [&](const Circuit& c, const std::string& arguments) {
    file("program.c", to_c(c, true));
    std::string hash =
        run("cc -std=c99 -pedantic -Wall -Wextra -Werror -O1 program.c -o program && ./program " + arguments);
    uint64_t number = 0;
    std::istringstream(hash) >> std::hex >> number;
    return number;
  };
  EXPECT_EQ(said(life_rule(), ""), trial_hash(life_rule()));
  EXPECT_EQ(said(life_rule(), "11 70 30 5 0"),
            trial_hash(life_rule(Border::kZero), {.height = 11, .width = 70, .steps = 30, .seed = 5}));
  const Circuit async = random_rule(2, 100, Border::kZero, 0.6, 9);
  EXPECT_EQ(said(async, "9 20 12 3"), trial_hash(async, {.height = 9, .width = 20, .steps = 12, .seed = 3}));
  const Circuit plain = random_circuit(20, 400, 9, 8);
  EXPECT_EQ(said(plain, "15625 4"), trial_hash(plain, {.words = kWords, .seed = 4}));
  EXPECT_NE(trial_hash(plain, {.seed = 4}), trial_hash(plain, {.seed = 5}));
}

TEST_F(Exports, TrialHashIsThatOfAPlainLoop) {
  const Circuit c = random_rule(2, 100, Border::kWrap, 1, 12);
  uint64_t x = (2 * 7 + 1) * 0x9e3779b97f4a7c15, hash = 0xcbf29ce484222325;
  const auto next = [&] {
    x ^= x << 13;
    x ^= x >> 7;
    return x ^= x << 17;
  };
  std::vector<uint64_t> state(2 * 5);
  for (uint64_t& w : state) w = next() & 0x1ff;
  for (int t = 0; t < 4; t++) {
    state = next_state(c, state, {}, 5, 9, true);
    for (const uint64_t w : state) hash = (hash ^ w) * 0x100000001b3;
  }
  EXPECT_EQ(trial_hash(c, {.height = 5, .width = 9, .steps = 4, .seed = 7}), hash);
}

TEST_F(Exports, VerilogPassesItsTestBench) {
  struct Case {
    Circuit circuit;
    Trial trial;
  };
  const std::vector<Case> cases = {
      {random_circuit(9, 60, 5, 1), {.words = kWords}},
      {motley_circuit(), {.words = 100}},
      {life_rule(), {.height = 16, .width = 16, .steps = 100}},
      {life_rule(Border::kZero), {.height = 5, .width = 70, .steps = 40}},
      {life_rule(), {.height = 1, .width = 1, .steps = 3}},
      {life_rule(), {.height = 2, .width = 64, .steps = 20}},
      {random_rule(4, 200, Border::kZero, 1, 5), {.height = 9, .width = 12, .steps = 30}},
      {random_rule(3, 150, Border::kWrap, 0.6, 6), {.height = 7, .width = 6, .steps = 30, .seed = 3}}};
  for (const Case& each : cases) {
    const std::string said = simulated(each.circuit, to_verilog_testbench(each.circuit, each.trial));
    EXPECT_EQ(said.substr(0, 5), "PASS ") << said << to_verilog(each.circuit).substr(0, 3000);
  }
}

TEST_F(Exports, TestBenchesNoticeAWrongGate) {
  for (const Circuit& c : {life_rule(), random_circuit(9, 60, 5, 1)}) {
    Circuit wrong = c;
    Gate& last = wrong.gates[wrong.outputs[0] - wrong.inputs];
    last.function = static_cast<Function>(static_cast<int>(last.function) ^ 1);  // at (1, 1) only
    EXPECT_EQ(simulated(wrong, to_verilog_testbench(c)).substr(0, 5), "FAIL ");
  }
}

// A reader of the readable AIGER form, by its specification.
Circuit read_aag(const std::string& text) {
  std::istringstream in(text);
  std::string format;
  uint32_t most = 0, inputs = 0, latches = 0, outputs = 0, ands = 0;
  in >> format >> most >> inputs >> latches >> outputs >> ands;
  EXPECT_EQ(format, "aag");
  EXPECT_EQ(most, inputs + latches + ands);
  Circuit c{.inputs = inputs + latches};
  std::vector<uint32_t> results;
  uint32_t literal = 0, lhs = 0, a = 0, b = 0;
  for (uint32_t i = 0; i < inputs; i++) {
    in >> lhs;
    EXPECT_EQ(lhs, literal += 2);
  }
  std::vector<uint32_t> nexts;
  for (uint32_t i = 0; i < latches; i++) {
    in >> lhs >> a;
    EXPECT_EQ(lhs, literal += 2);
    nexts.push_back(a);
  }
  for (uint32_t i = 0; i < outputs; i++) in >> a, results.push_back(a);
  if (latches > 0) EXPECT_EQ(nexts, results);
  for (uint32_t i = 0; i < ands; i++) {
    in >> lhs >> a >> b;
    EXPECT_EQ(lhs, literal += 2);
    EXPECT_TRUE(lhs > a && a >= b) << lhs << " " << a << " " << b;
    constexpr std::array<Function, 4> kAnds = {Function::kAnd, Function::kAndNot, Function::kNotAnd, Function::kNor};
    c.gates.push_back({kAnds[(a & 1) * 2 + (b & 1)], a / 2 - 1, b / 2 - 1});
  }
  for (const uint32_t r : results) {
    c.gates.push_back(r < 2 ? Gate{r == 1 ? Function::kTrue : Function::kFalse, 0, 0}
                            : Gate{(r & 1) != 0 ? Function::kNotA : Function::kA, r / 2 - 1, r / 2 - 1});
    c.outputs.push_back(c.signals() - 1);
  }
  return c;
}

// The inputs of a cell in the order of the exports: neighbours first, then its own channels.
std::vector<uint64_t> latches_last(const Circuit& c, const std::vector<uint64_t>& in) {
  std::vector<uint64_t> out, own;
  for (size_t k = 0; k < in.size(); k++) (c.cell && k % 9 == 4 ? own : out).push_back(in[k]);
  out.insert(out.end(), own.begin(), own.end());
  return out;
}

TEST_F(Exports, AigerEqualsTheCircuitOnAMillionAssignments) {
  for (const Circuit& c : {motley_circuit(), life_rule(), random_rule(3, 150, Border::kZero, 1, 4)}) {
    const Circuit aig = read_aag(to_aag(c));
    std::mt19937_64 random(11);
    for (int64_t w = 0; w < kWords; w++) {
      const std::vector<uint64_t> in = random_words(c.inputs, random);
      ASSERT_EQ(evaluate_words(aig, latches_last(c, in)), evaluate_words(c, in));
    }
  }
}

TEST_F(Exports, AbcProvesBlifAndAigerEqual) {
  for (const Circuit& c :
       {motley_circuit(), random_circuit(12, 4500, 8, 3), life_rule(), random_rule(3, 150, Border::kZero, 1, 4)}) {
    file("c.blif", to_blif(c));
    file("c.aig", to_aig(c));
    expect_equal("c.blif", "c.aig");
  }
}

TEST_F(Exports, WhatIsProvedEqualCanFail) {
  file("right.blif", to_blif(life_rule()));
  Circuit wrong = life_rule();
  wrong.gates.back().function = Function::kOr;
  file("wrong.blif", to_blif(wrong));
  const std::string said = run("berkeley-abc -c 'cec right.blif wrong.blif'");
  EXPECT_NE(said.find("NOT EQUIVALENT"), std::string::npos) << said;
}

TEST_F(Exports, PicturesAreWellFormed) {
  for (const Circuit& c :
       {life_rule(), motley_circuit(), random_rule(8, 2000, Border::kZero, 1, 4), Circuit{.inputs = 1, .outputs = {0}},
        Circuit{.inputs = 1, .outputs = std::vector<uint32_t>(100'000)}, Circuit{}}) {
    file("c.svg", to_svg(c));
    run("python3 -c 'import xml.dom.minidom; xml.dom.minidom.parse(\"c.svg\")'");
    EXPECT_EQ(to_dot(c).substr(0, 9), "digraph \"");
  }
}

TEST(ExportErrors, AreSentences) {
  EXPECT_REFUSED(to_verilog(Circuit{}), "no inputs");
  EXPECT_REFUSED(trial_hash(life_rule(), {.height = 0}), "sizes are positive");
  // At once: none of these is run.
  EXPECT_REFUSED(to_verilog_testbench(life_rule(), {.steps = int64_t{1} << 31}), "below 2^31");
  EXPECT_REFUSED(to_verilog_testbench(life_rule(), {.height = 1 << 20, .width = 1 << 20}), "below 2^31");
  EXPECT_REFUSED(to_verilog_testbench(random_circuit(3, 5, 1, 1), {.words = int64_t{1} << 31}), "below 2^31");
  Circuit wrong = life_rule();
  wrong.gates[0].a = 1000;
  for (const auto& to : {to_json, to_binary, to_blif, to_aag, to_aig, to_dot, to_svg, to_verilog})
    EXPECT_REFUSED(to(wrong), "cycles");
}

}  // namespace
}  // namespace ingot::gates
