#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "gates/bit_program.h"
#include "gates/random_bits.h"
#include "ingot/base/error.h"
#include "ingot/base/memory.h"
#include "ingot/base/threads.h"
#include "ingot/gates/grid.h"
#include "ingot/ops/functions.h"
#include "ingot/ops/ops.h"

namespace ingot::gates {
namespace {

constexpr int64_t kTileRows = kBitGrain;  // members and tiles meet between whole grains

constexpr int64_t up(int64_t n, int64_t grain) { return (n + grain - 1) / grain * grain; }

// Counted, aligned memory that grows when asked for more.
class Words {
 public:
  Words() = default;
  Words(const Words&) = delete;
  Words& operator=(const Words&) = delete;
  ~Words() { free_bytes(data_, bytes_); }
  uint64_t* data() const { return data_; }
  void reserve(int64_t words) {
    const auto bytes = static_cast<size_t>(words) * 8;
    if (bytes <= bytes_) return;
    void* more = allocate_bytes(bytes);
    std::memset(more, 0, bytes);
    free_bytes(data_, bytes_);
    data_ = static_cast<uint64_t*>(more);
    bytes_ = bytes;
  }

 private:
  uint64_t* data_ = nullptr;
  size_t bytes_ = 0;
};

// The rule with one more input, "fires": a cell that does not fire keeps its channels.
Circuit with_mask(const Circuit& rule) {
  Circuit c{.inputs = rule.inputs + 1, .gates = rule.gates};
  const auto moved = [&](uint32_t signal) { return signal < rule.inputs ? signal : signal + 1; };
  for (Gate& g : c.gates) g.a = moved(g.a), g.b = moved(g.b);
  for (uint32_t channel = 0; channel < rule.outputs.size(); channel++) {
    const uint32_t old = 9 * channel + 4, fires = rule.inputs, at = c.signals();
    c.gates.push_back({Function::kXor, old, moved(rule.outputs[channel])});
    c.gates.push_back({Function::kAnd, fires, at});
    c.gates.push_back({Function::kXor, old, at + 1});
    c.outputs.push_back(at + 2);
  }
  return c;
}

// A program with the memory to run it, for every member of a team.
class Machine {
 public:
  Machine(const Circuit& circuit, bool keep_copies) : program_(compile(circuit, keep_copies)) {
    // The slots of a block stay in the first cache, beside what the program reads.
    constexpr int64_t kSlotWords = 2048, kMost = 192;
    block_ = std::clamp(kSlotWords / std::max<int64_t>(1, program_.slots) / kBitGrain * kBitGrain, kBitGrain, kMost);
  }
  const BitProgram& program() const { return program_; }

  void reserve(int members) {
    slots_.reserve(members * slot_words());
    operands_.resize(static_cast<size_t>(members));
    for (auto& each : operands_) each.resize(static_cast<size_t>(program_.inputs + program_.outputs + program_.slots));
  }
  /// Runs on `words` words; place(i) is where input i, or behind those output i, begins.
  template <class Place>
  void run(const Team& team, int64_t words, const Place& place) {
    auto& operands = operands_[static_cast<size_t>(team.rank())];
    uint64_t* slot = slots_.data() + team.rank() * slot_words();
    const int64_t moving = program_.inputs + program_.outputs;
    for (int64_t i = 0; i < moving; i++) operands[static_cast<size_t>(i)] = place(i);
    for (int64_t i = 0; i < program_.slots; i++) operands[static_cast<size_t>(moving + i)] = slot + i * stride();
    const auto* code = program_.code.data();
    run_bits({code, code + program_.code.size(), operands.data(), moving, words, block_});
  }
  /// Of a cell rule: does it look at a channel's neighbours to the left or right?
  bool reads_sides(int64_t channel) const {
    bool any = false;
    for (int64_t k = 0; k < 9; k++) any = any || (k % 3 != 1 && program_.reads[static_cast<size_t>(9 * channel + k)]);
    return any;
  }
  /// Is this worth waking the others?
  bool wide(int64_t words) const { return words * (program_.gates + 8) > 400'000; }

 private:
  // Not a power of two: a store would have to wait for loads from the same place of other pages.
  int64_t stride() const { return block_ < 64 ? block_ : block_ + kBitGrain; }
  int64_t slot_words() const { return up(program_.slots * stride(), 64) + 64; }
  BitProgram program_;
  int64_t block_;
  Words slots_;
  std::vector<std::vector<uint64_t*>> operands_;
};

}  // namespace

// The planes of a grid while it is stepped. A plane has the rows of all samples, each with a row of its border above
// and below, and some space at both ends: what the first and the last row read beyond counts for nothing. Neighbours to
// the left and right are made tile by tile, by every member for itself.
struct Runner::Impl {
  Impl(const Circuit& c, const RunnerOptions& o) : circuit(c), options(o), plain(c, o.keep_copies) {}
  Circuit circuit;
  RunnerOptions options;
  Machine plain;
  std::unique_ptr<Machine> masked;
  Words planes, sides, tail;
  int64_t rows = 0, row_words = 0, plane_words = 0, front = 0, tile = 0, side_words = 0;

  int64_t channels() const { return circuit.cell->channels; }
  /// The state in even steps, and in odd ones; behind them, as one more channel, which cells fire.
  uint64_t* plane(int odd, int64_t channel) const {
    return planes.data() + (odd * channels() + channel) * plane_words + front;
  }
  uint64_t* mask() const { return plane(1, channels()); }
  uint64_t* side(const Team& team, int right, int64_t channel) const {
    return sides.data() + ((team.rank() * 2 + right) * channels() + channel) * side_words;
  }

  void lay_out(const Grid& grid, int members) {
    constexpr int64_t kSideWords = 1024;  // in the first cache, beside slots and rows
    row_words = grid.row_words();
    rows = grid.batch() * (grid.height() + 2);
    front = up(row_words + 1, kBitGrain);
    plane_words = front + up(rows * row_words, kBitGrain) + up(row_words + 1, kBitGrain);
    planes.reserve((2 * channels() + 1) * plane_words);
    tile = std::max(kSideWords / (2 * channels() * row_words) / kTileRows, int64_t{1}) * kTileRows;
    side_words = up((tile + 2) * row_words, kBitGrain) + 3 * kBitGrain;  // no power of two, as with slots
    sides.reserve(members * 2 * channels() * side_words);
  }

  template <class Copy>
  void each_row(const Grid& grid, int odd, const Copy& copy) const {
    for (int64_t b = 0; b < grid.batch(); b++)
      for (int64_t c = 0; c < channels(); c++)
        for (int64_t y = 0; y < grid.height(); y++)
          copy(plane(odd, c) + (b * (grid.height() + 2) + y + 1) * row_words, b, c, y);
  }

  // The rows above and below every sample: those of the other side, or nothing.
  void make_borders(int odd, const Grid& grid, const Team& team) const {
    const int64_t height = grid.height();
    const auto [first, last] = team.share(grid.batch() * channels());
    for (int64_t i = first; i < last; i++) {
      uint64_t* sample = plane(odd, i % channels()) + i / channels() * (height + 2) * row_words;
      uint64_t* below = sample + (height + 1) * row_words;
      if (circuit.cell->border == Border::kWrap) {
        std::copy_n(sample + height * row_words, row_words, sample);
        std::copy_n(sample + row_words, row_words, below);
      } else {
        std::fill_n(sample, row_words, 0);
        std::fill_n(below, row_words, 0);
      }
    }
  }

  // The next state of rows [first, last), at most a tile.
  void compute(Machine& machine, int odd, int64_t first, int64_t last, const Grid& grid, const Team& team) const {
    const int64_t inputs = 9 * channels(), outputs = machine.program().inputs, start = first * row_words;
    for (int64_t c = 0; c < channels(); c++)
      if (machine.reads_sides(c))
        shift_rows(plane(odd, c) + start - row_words, side(team, 0, c), side(team, 1, c), last - first + 2, row_words,
                   grid.width(), circuit.cell->border == Border::kWrap);
    machine.run(team, up((last - first) * row_words, kBitGrain), [&](int64_t i) {
      if (i >= outputs) return plane(1 - odd, i - outputs) + start;
      if (i >= inputs) return mask() + start;
      const int64_t channel = i / 9, dy = i % 9 / 3 - 1, dx = i % 3 - 1;
      if (dx == 0) return plane(odd, channel) + start + dy * row_words;
      return side(team, dx > 0 ? 1 : 0, channel) + (1 + dy) * row_words;
    });
  }

  Machine& machine(bool with_fires, int members) {
    if (with_fires && !masked) masked = std::make_unique<Machine>(with_mask(circuit), options.keep_copies);
    Machine& chosen = with_fires ? *masked : plain;
    chosen.reserve(members);
    return chosen;
  }

  void check_grid(const Grid& grid) const {
    if (!circuit.cell) throw Error("Runner::step: the circuit is no cell rule — use evaluate");
    if (grid.channels() != circuit.cell->channels)
      throw Error("Runner::step: a grid of " + std::to_string(grid.channels()) + " channels for a rule of " +
                  std::to_string(circuit.cell->channels) + " — make a grid with the rule's channels");
  }

  // Steps of the grid. draw(step, first, last) makes the masks of a step in these rows.
  template <class Draw>
  void step(Grid& grid, int64_t steps, const Draw& draw, bool with_fires) {
    const int members = threads();
    lay_out(grid, members);
    each_row(grid, 0,
             [&](uint64_t* to, int64_t b, int64_t c, int64_t y) { std::copy_n(grid.row(b, c, y), row_words, to); });
    Machine& chosen = machine(with_fires, members);
    parallel(chosen.wide(rows * row_words), [&](const Team& team) {
      const auto [first, last] = team.share(rows, kTileRows);
      for (int64_t s = 0; s < steps; s++) {
        const int odd = static_cast<int>(s % 2);
        make_borders(odd, grid, team);
        if (with_fires) draw(s, first, last);
        team.barrier();
        for (int64_t row = first; row < last; row += tile)
          compute(chosen, odd, row, std::min(last, row + tile), grid, team);
        team.barrier();
      }
    });
    const uint64_t mask = ~uint64_t{0} >> (64 * row_words - grid.width());
    each_row(grid, static_cast<int>(steps % 2), [&](const uint64_t* from, int64_t b, int64_t c, int64_t y) {
      uint64_t* to = grid.row(b, c, y);
      std::copy_n(from, row_words, to);
      to[row_words - 1] &= mask;
    });
  }

  // Calls row(words, index) for those of the plane's rows [first, last) that are a sample's, with its number there.
  template <class Row>
  void mask_rows(const Grid& grid, int64_t first, int64_t last, const Row& row) const {
    const int64_t period = grid.height() + 2;
    for (int64_t r = first; r < last; r++)
      if (r % period != 0 && r % period != period - 1)
        row(mask() + r * row_words, r / period * grid.height() + r % period - 1);
  }
};

Runner::Runner(const Circuit& circuit, const RunnerOptions& options) {
  check(circuit);
  impl_ = std::make_unique<Impl>(circuit, options);
}
Runner::~Runner() = default;
Runner::Runner(Runner&&) noexcept = default;
Runner& Runner::operator=(Runner&&) noexcept = default;

int64_t Runner::gates() const { return impl_->plain.program().gates; }
int64_t Runner::slots() const { return impl_->plain.program().slots; }

void Runner::step(Grid& grid, int64_t steps, RandomKey fire, int64_t first_step) {
  impl_->check_grid(grid);
  if (steps < 0) throw Error("Runner::step: " + std::to_string(steps) + " steps — give 0 or more");
  const double rate = impl_->circuit.cell->fire_rate;
  impl_->step(
      grid, steps,
      [&](int64_t s, int64_t first, int64_t last) {
        const RandomKey key{fire.seed, fire.stream + static_cast<uint64_t>(first_step + s)};
        impl_->mask_rows(grid, first, last, [&](uint64_t* words, int64_t row) {
          random_bits(words, grid.width(), row * grid.width(), rate, key);
        });
      },
      rate < 1);
}

void Runner::step(Grid& grid, const Grid& fires) {
  impl_->check_grid(grid);
  if (fires.batch() != grid.batch() || fires.channels() != 1 || fires.height() != grid.height() ||
      fires.width() != grid.width())
    throw Error("Runner::step: the mask is " + std::to_string(fires.height()) + " x " + std::to_string(fires.width()) +
                " of " + std::to_string(fires.batch()) + " samples and " + std::to_string(fires.channels()) +
                " channels — give one channel, and the grid's batch, height and width");
  impl_->step(
      grid, 1,
      [&](int64_t, int64_t first, int64_t last) {
        impl_->mask_rows(grid, first, last, [&](uint64_t* words, int64_t row) {
          std::copy_n(fires.row(row / grid.height(), 0, row % grid.height()), grid.row_words(), words);
        });
      },
      true);
}

Grid Runner::fire_mask(const Grid& grid, double fire_rate, RandomKey key, int64_t step) {
  Grid mask(grid.batch(), 1, grid.height(), grid.width());
  mask.fill_random({key.seed, key.stream + static_cast<uint64_t>(step)}, fire_rate);
  return mask;
}

void Runner::evaluate(std::span<const uint64_t> in, std::span<uint64_t> out, int64_t words) {
  Machine& machine = impl_->machine(false, threads());
  const int64_t inputs = machine.program().inputs, outputs = machine.program().outputs;
  if (words < 0 || in.size() != static_cast<size_t>(inputs * words) ||
      out.size() != static_cast<size_t>(outputs * words))
    throw Error("Runner::evaluate: " + std::to_string(in.size()) + " words in and " + std::to_string(out.size()) +
                " out for " + std::to_string(inputs) + " inputs, " + std::to_string(outputs) + " outputs and " +
                std::to_string(words) + " words of each — give inputs x words and outputs x words");
  const int64_t whole = words / kBitGrain * kBitGrain, rest = words - whole;
  // The program writes through operands of outputs only.
  auto* source = const_cast<uint64_t*>(in.data());
  parallel(machine.wide(whole), [&](const Team& team) {
    const auto [first, last] = team.share(whole, kBitGrain);
    machine.run(team, last - first, [&, first = first](int64_t i) {
      return i < inputs ? source + i * words + first : out.data() + (i - inputs) * words + first;
    });
  });
  if (rest == 0) return;
  Words& tail = impl_->tail;  // the last words have no grain of their own
  tail.reserve((inputs + outputs) * kBitGrain);
  for (int64_t i = 0; i < inputs; i++) std::copy_n(source + i * words + whole, rest, tail.data() + i * kBitGrain);
  machine.run(Team(), kBitGrain, [&](int64_t i) { return tail.data() + i * kBitGrain; });
  for (int64_t o = 0; o < outputs; o++)
    std::copy_n(tail.data() + (inputs + o) * kBitGrain, rest, out.data() + o * words + whole);
}

Tensor Runner::evaluate(const Tensor& x) {
  const int64_t inputs = impl_->plain.program().inputs, outputs = impl_->plain.program().outputs;
  if (x.rank() != 2 || x.size(1) != inputs || x.dtype() != kF32)
    throw Error("Runner::evaluate: an input of " + to_string(x.shape()) + " of " + name(x.dtype()) +
                " — it must be f32 [batch, " + std::to_string(inputs) + "]");
  const int64_t batch = x.size(0), words = up(batch, 64) / 64;
  std::vector<uint64_t> in(static_cast<size_t>(inputs * words)), out(static_cast<size_t>(outputs * words));
  const Tensor rows = contiguous(x);
  for (int64_t b = 0; b < batch; b++)
    for (int64_t i = 0; i < inputs; i++)
      if (rows.data<float>()[b * inputs + i] >= 0.5F)
        in[static_cast<size_t>(i * words + b / 64)] |= uint64_t{1} << (b % 64);
  evaluate(in, out, words);
  Tensor y = Tensor::empty({batch, outputs});
  for (int64_t b = 0; b < batch; b++)
    for (int64_t o = 0; o < outputs; o++)
      y.data<float>()[b * outputs + o] =
          static_cast<float>(out[static_cast<size_t>(o * words + b / 64)] >> (b % 64) & 1);
  return y;
}

}  // namespace ingot::gates
