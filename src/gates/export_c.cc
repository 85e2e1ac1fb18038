// Circuits as C99 that needs nothing but its compiler.
#include <algorithm>
#include <array>

#include "gates/netlist.h"
#include "gates/template.h"
#include "ingot/base/text.h"
#include "ingot/gates/circuit_io.h"

namespace ingot::gates {
namespace {

// Compilers take very long over functions of many thousands of variables: beyond this, gates go in small parts, through
// memory.
constexpr size_t kMostInFunction = 2000, kPart = 200;
constexpr size_t kMostOnStack = 50'000;

class CWriter {
 public:
  explicit CWriter(const Circuit& circuit)
      : list_(netlist_of(circuit)), in_parts_(list_.gates.size() > kMostInFunction) {}

  // NAME_logic: 64 assignments at once.
  std::string logic() const {
    const size_t gates = list_.gates.size();
    std::string out, calls;
    for (size_t first = 0; in_parts_ && first < gates; first += kPart) {
      const std::string part = "NAME_part_" + std::to_string(first / kPart);
      out += "static void " + part + "(const uint64_t *in, uint64_t *s) {\n  (void)in;\n" +
             body(first, std::min(gates, first + kPart)) + "}\n";
      calls += "  " + part + "(in, s);\n";
    }
    const std::string storage = gates > kMostOnStack ? "  static uint64_t s[" : "  uint64_t s[";
    out += "$static$void NAME_logic(const uint64_t *in, uint64_t *out) {\n" +
           std::string(list_.used_inputs().empty() ? "  (void)in;\n" : "") +
           (in_parts_ ? storage + std::to_string(gates) + "];\n" + calls : body(0, gates));
    for (size_t i = 0; i < list_.outputs.size(); i++)
      out += "  out[" + std::to_string(i) + "] = " + signal(list_.outputs[i]) + ";\n";
    return out + "}\n";
  }

  const Netlist& list() const { return list_; }

 private:
  std::string signal(uint32_t s) const {
    if (is_constant(s)) return s == kTrueSignal ? "~UINT64_C(0)" : "0";
    if (s < list_.inputs) return "in[" + std::to_string(s) + "]";
    const std::string number = std::to_string(s - list_.inputs);
    return in_parts_ ? "s[" + number + "]" : "s" + number;
  }

  std::string body(size_t first, size_t last) const {
    std::string out;
    for (size_t i = first; i < last; i++) {
      const Gate& g = list_.gates[i];
      out += (in_parts_ ? "  " : "  const uint64_t ") + signal(list_.inputs + static_cast<uint32_t>(i)) + " = " +
             expression(g.function, signal(g.a), signal(g.b)) + ";\n";
    }
    return out;
  }

  Netlist list_;
  bool in_parts_;
};

constexpr const char* kPlainHead = R"(/* $headline$. Written by Ingot; C99, needs nothing else.

   NAME_logic evaluates 64 assignments at once: bit i of in[k] is input k of assignment i, bit i of out[k] its output k.
   Inputs: $inputs$, outputs: $outputs$. */
#include <stdint.h>

void NAME_logic(const uint64_t *in, uint64_t *out);

)";

constexpr const char* kCellHead = R"(/* $headline$. Written by Ingot; C99, needs nothing else.

   NAME_step computes the next state of a whole grid. A grid is uint64_t[channels][height][words] with words =
   (width + 63) / 64; cell x of a row is bit x % 64 of its word x / 64, bits behind the width are 0. `next` and `state`
   must not overlap. Where `fire` (uint64_t[height][words]) is given, only cells with their bit set take their next
   state. wrap: beyond a border lies the opposite one; else zeros. The rule was made for wrap = $wrap$ and a fire rate of
   $rate$; its channels: $channels$. */
#include <stddef.h>
#include <stdint.h>

enum { NAME_channels = $channels$, NAME_wrap = $wrap$ };
void NAME_step(uint64_t *next, const uint64_t *state, const uint64_t *fire, size_t height, size_t width, int wrap);

/* 64 cells at once: in[9 * channel + 3 * row + column] is the neighbourhood, out[channel] the next state. */
)";

constexpr const char* kStep = R"(
/* The 64 cells of word i, and their neighbours to the west and to the east. No row is a row of zeros. */
static inline uint64_t NAME_here(const uint64_t *row, size_t i) { return row ? row[i] : 0; }
static inline uint64_t NAME_west(const uint64_t *row, size_t i, size_t width, int wrap) {
  if (!row) return 0;
  if (i > 0) return row[i] << 1 | row[i - 1] >> 63;
  return row[0] << 1 | (wrap ? row[(width - 1) / 64] >> (width - 1) % 64 & 1 : 0);
}
static inline uint64_t NAME_east(const uint64_t *row, size_t i, size_t width, int wrap) {
  if (!row) return 0;
  if (i < (width - 1) / 64) return row[i] >> 1 | row[i + 1] << 63;
  return row[i] >> 1 | (wrap ? (row[0] & 1) << (width - 1) % 64 : 0);
}

void NAME_step(uint64_t *next, const uint64_t *state, const uint64_t *fire, size_t height, size_t width, int wrap) {
  const size_t words = (width + 63) / 64, plane = height * words;
  size_t y, i, c;
  for (y = 0; y < height; y++) {
    const uint64_t *const middle = state + y * words;
    const uint64_t *const above = y > 0 ? middle - words : wrap ? state + (height - 1) * words : 0;
    const uint64_t *const below = y + 1 < height ? middle + words : wrap ? state : 0;
$rows$    (void)above, (void)below;
    for (i = 0; i < words; i++) {
      const uint64_t inside = i + 1 < words || width % 64 == 0 ? ~UINT64_C(0) : (UINT64_C(1) << width % 64) - 1;
      const uint64_t fires = fire ? fire[y * words + i] & inside : inside;
      uint64_t in[9 * NAME_channels], out[NAME_channels];
$gather$      NAME_logic(in, out);
      for (c = 0; c < NAME_channels; c++) {
        const size_t at = c * plane + y * words + i;
        next[at] = (out[c] & fires) | (state[at] & ~fires);
      }
    }
  }
}
)";

constexpr const char* kMainShared = R"(
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static uint64_t random_state, hash = UINT64_C($hash$);
static uint64_t next_random(void) {
  random_state ^= random_state << 13;
  random_state ^= random_state >> 7;
  return random_state ^= random_state << 17;
}
static uint64_t argument(int count, char **values, int i, uint64_t otherwise) {
  return i < count ? strtoull(values[i], 0, 10) : otherwise;
}
)";

constexpr const char* kPlainMain = R"(
/* [words [seed]]: 64 random assignments per word; prints a hash of the outputs. */
int main(int count, char **values) {
  const uint64_t words = argument(count, values, 1, $words$);
  uint64_t in[$inputs$ + 1], out[$outputs$ + 1], w;
  int k;
  random_state = (2 * argument(count, values, 2, 1) + 1) * UINT64_C(0x9e3779b97f4a7c15);
  for (w = 0; w < words; w++) {
    for (k = 0; k < $inputs$; k++) in[k] = next_random();
    NAME_logic(in, out);
    for (k = 0; k < $outputs$; k++) hash = (hash ^ out[k]) * UINT64_C($factor$);
  }
  printf("%016" PRIx64 "\n", hash);
  return 0;
}
)";

constexpr const char* kCellMain = R"(
/* [height [width [steps [seed [wrap]]]]]: a random board; prints a hash of all its states. */
int main(int count, char **values) {
  const size_t height = argument(count, values, 1, $height$), width = argument(count, values, 2, $width$);
  const uint64_t steps = argument(count, values, 3, $steps$);
  const int wrap = (int)argument(count, values, 5, NAME_wrap);
  const size_t words = (width + 63) / 64, plane = height * words, all = NAME_channels * plane;
  const uint64_t last = width % 64 ? (UINT64_C(1) << width % 64) - 1 : ~UINT64_C(0);
  uint64_t *state = malloc((2 * all + plane + 1) * sizeof *state), *next = state + all, *fire = next + all;
  uint64_t step;
  size_t i;
  if (!state || !height || !width) return 1;
  random_state = (2 * argument(count, values, 4, 1) + 1) * UINT64_C(0x9e3779b97f4a7c15);
  for (i = 0; i < all; i++) state[i] = next_random() & ((i + 1) % words ? ~UINT64_C(0) : last);
  for (step = 0; step < steps; step++) {
    uint64_t *const old = state;
    for (i = 0; $async$ && i < plane; i++) fire[i] = next_random();
    NAME_step(next, state, $async$ ? fire : 0, height, width, wrap);
    state = next;
    next = old;
    for (i = 0; i < all; i++) hash = (hash ^ state[i]) * UINT64_C($factor$);
  }
  printf("%016" PRIx64 "\n", hash);
  free(state < next ? state : next);
  return 0;
}
)";

std::string gather(const Netlist& list) {
  static constexpr std::array<const char*, 3> kRows = {"above", "middle", "below"}, kColumns = {"west", "here", "east"};
  std::string out;
  for (const uint32_t k : list.used_inputs()) {
    const uint32_t column = k % 3;
    out += "      in[" + std::to_string(k) + "] = NAME_" + kColumns[column] + "(" + kRows[k % 9 / 3] +
           std::to_string(k / 9) + ", i" + (column == 1 ? "" : ", width, wrap") + ");\n";
  }
  return out;
}

// A pointer to each row that is read: above0 is the row above in channel 0.
std::string rows(const Netlist& list) {
  static constexpr std::array<const char*, 3> kRows = {"above", "middle", "below"};
  std::string out;
  uint32_t done = UINT32_MAX;
  for (const uint32_t k : list.used_inputs()) {
    if (k / 3 == done) continue;
    done = k / 3;
    const std::string row = kRows[k % 9 / 3], channel = std::to_string(k / 9);
    out += "    const uint64_t *const " + row + channel + " = " + row + (row == "middle" ? "" : " ? " + row) + " + " +
           channel + " * plane" + (row == "middle" ? "" : " : 0") + ";\n";
  }
  return out;
}

}  // namespace

std::string to_c(const Circuit& circuit, bool with_main) {
  const CWriter writer(circuit);
  const Netlist& list = writer.list();
  const Trial trial;
  const auto hex = [](uint64_t v) { return "0x" + hexadecimal(v); };
  Values values = {{"headline", headline(circuit, list)},
                   {"inputs", std::to_string(circuit.inputs)},
                   {"outputs", std::to_string(circuit.outputs.size())},
                   {"static", circuit.cell ? "static " : ""},
                   {"hash", hex(kHashStart)},
                   {"factor", hex(kHashFactor)},
                   {"words", std::to_string(trial.words)},
                   {"height", std::to_string(trial.height)},
                   {"width", std::to_string(trial.width)},
                   {"steps", std::to_string(trial.steps)}};
  std::string text;
  if (circuit.cell) {
    values["channels"] = std::to_string(circuit.cell->channels);
    values["wrap"] = circuit.cell->border == Border::kWrap ? "1" : "0";
    values["rate"] = formatted("%.9g", circuit.cell->fire_rate);
    values["async"] = circuit.cell->fire_rate < 1 ? "1" : "0";
    values["rows"] = rows(list);
    values["gather"] = gather(list);
    text = kCellHead + writer.logic() + kStep;
  } else {
    text = kPlainHead + writer.logic();
  }
  if (with_main) text += std::string(kMainShared) + (circuit.cell ? kCellMain : kPlainMain);
  return filled_in(text, values, identifier(circuit));
}

}  // namespace ingot::gates
