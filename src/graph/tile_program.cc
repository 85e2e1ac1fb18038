#include "graph/tile_program.h"

#include <algorithm>
#include <cstring>

namespace ingot::graph {
namespace {

constexpr int64_t kTileBytes = 2048;  // of one register: a dozen of them leave room in the first cache
constexpr int64_t kShortRow = 64;     // rows of fewer elements are taken several at a time
constexpr size_t kMostChain = kernels::kMostSteps / 4;  // an instruction makes up to four steps
constexpr int kMostBuffers = TileProgram::kRegisters + TileProgram::kExternals;

template <class T>
void copy_elements(char* to, int64_t to_step, const char* from, int64_t from_step, int64_t n) {
  for (int64_t i = 0; i < n; i++) std::memcpy(to + i * to_step, from + i * from_step, sizeof(T));
}

void copy_run(char* to, int64_t to_step, const char* from, int64_t from_step, int64_t n, int64_t bytes) {
  if (to_step == bytes && from_step == bytes) {
    std::memcpy(to, from, static_cast<size_t>(n * bytes));
    return;
  }
  switch (bytes) {
    case 8: return copy_elements<uint64_t>(to, to_step, from, from_step, n);
    case 4: return copy_elements<uint32_t>(to, to_step, from, from_step, n);
    case 2: return copy_elements<uint16_t>(to, to_step, from, from_step, n);
    default: return copy_elements<uint8_t>(to, to_step, from, from_step, n);
  }
}

}  // namespace

bool TileProgram::merges(const Tensor& t, const Dims& shape, int cut) {
  const int shift = shape.size() - t.rank();
  const auto step = [&](int a) { return a < shift || t.shape()[a - shift] == 1 ? 0 : t.strides()[a - shift]; };
  int inner = -1;
  for (int a = shape.size() - 1; a >= cut; a--) {
    if (shape[a] == 1) continue;
    if (inner >= 0 && step(a) != step(inner) * shape[inner]) return false;
    inner = a;
  }
  return true;
}

void TileProgram::prepare(const Dims& shape, int cut) {
  const int rank = shape.size(), count = static_cast<int>(externals.size());
  std::vector<Dims> steps;  // in bytes, per operand
  operands_.assign(static_cast<size_t>(count), {});
  for (int k = 0; k < count; k++) {
    const Operand& t = externals[static_cast<size_t>(k)];
    operands_[static_cast<size_t>(k)].bytes = t.element();
    Dims s = Dims::filled(rank, 0);
    const int shift = rank - t.shape.size();
    for (int a = shift; a < rank; a++)
      if (t.shape[a - shift] != 1) s[a] = t.strides[a - shift] * operands_[static_cast<size_t>(k)].bytes;
    steps.push_back(s);
  }
  // Merge neighbouring axes where every operand allows it; axes of size 1 go.
  Dims size;
  std::vector<Dims> merged(static_cast<size_t>(count));
  bool in_columns = false;
  for (int a = 0; a < rank; a++) {
    const bool first_column = cut >= 0 && a >= cut && !in_columns;
    if (shape[a] == 1 && !(first_column && a == rank - 1)) continue;
    bool joins = !size.empty() && !first_column;
    in_columns = in_columns || first_column;
    for (int k = 0; joins && k < count; k++)
      joins = merged[static_cast<size_t>(k)].back() == steps[static_cast<size_t>(k)][a] * shape[a];
    if (joins) {
      size[size.size() - 1] *= shape[a];
      for (int k = 0; k < count; k++)
        merged[static_cast<size_t>(k)][size.size() - 1] = steps[static_cast<size_t>(k)][a];
    } else {
      size.push_back(shape[a]);
      for (int k = 0; k < count; k++) merged[static_cast<size_t>(k)].push_back(steps[static_cast<size_t>(k)][a]);
    }
  }
  outer_rank_ = std::max(size.size() - 1, 0);
  cols_ = size.empty() ? 1 : size.back();
  rows_ = 1;
  for (int a = 0; a < outer_rank_; a++) rows_ *= outer_[a] = size[a];
  short_rows_ = outer_rank_ == 1 && cols_ < kShortRow;

  int64_t widest = 1;
  buffers_ = registers;
  for (const Instruction& i : code)
    if (i.out.external) operands_[static_cast<size_t>(i.out.index)].written = true;
  for (int k = 0; k < count; k++) {
    Walk& o = operands_[static_cast<size_t>(k)];
    const Dims& s = merged[static_cast<size_t>(k)];
    o.inner = size.empty() ? o.bytes : s.back();
    bool still = o.inner == 0;
    for (int a = 0; a < outer_rank_; a++) {
      o.outer[a] = s[a];
      still = still && s[a] == 0;
    }
    widest = std::max(widest, o.bytes);
    const bool follows = !short_rows_ || o.outer[0] == cols_ * o.inner;
    if (o.inner == o.bytes && follows)
      o.access = Access::kDirect;
    else if (!o.written && o.inner == 0 && (!short_rows_ || still))
      o.access = Access::kRepeated;
    else
      o.access = Access::kGathered;
  }
  // Kernels want at least one input with a vector of elements, and a mask always as one.
  for (Instruction& i : code) {
    unsigned repeated = 0;
    for (int k = 0; k < i.inputs; k++)
      if (i.in[k].external && operands_[static_cast<size_t>(i.in[k].index)].access == Access::kRepeated)
        repeated |= 1u << k;
    if (i.inputs == 3 && (repeated & 1) != 0) operands_[static_cast<size_t>(i.in[0].index)].access = Access::kGathered;
    if (repeated == (1u << i.inputs) - 1) operands_[static_cast<size_t>(i.in[0].index)].access = Access::kGathered;
  }
  for (Instruction& i : code) {
    i.scalars = 0;
    for (int k = 0; k < i.inputs; k++)
      if (i.in[k].external && operands_[static_cast<size_t>(i.in[k].index)].access == Access::kRepeated)
        i.scalars |= 1u << k;
  }
  // A gathered operand needs a buffer; so does a direct one of short rows when only some columns are asked for.
  for (Walk& o : operands_)
    if (o.access == Access::kGathered || (short_rows_ && o.access == Access::kDirect)) o.buffer = buffers_++;
  tile_ = kTileBytes / widest;
  find_chains();
  // A single chain that leaves nothing in memory needs no tiles.
  bool in_memory = pieces_.size() != 1 || pieces_[0].chain.empty() || buffers_ > registers;
  if (!in_memory)
    for (const kernels::ChainStep& s : pieces_[0].chain) in_memory = in_memory || s.operand >= kExternals;
  if (!in_memory) tile_ = int64_t{1} << 20;
  const auto even = [&](const Walk& o) {
    return (o.access == Access::kDirect && o.outer[0] == cols_ * o.inner) ||
           (o.access == Access::kRepeated && o.outer[0] == 0);
  };
  even_rows_ = outer_rank_ == 1 && cols_ <= tile_ / 2 && std::all_of(operands_.begin(), operands_.end(), even);
}

namespace {

static_assert(TileProgram::kExternals + TileProgram::kRegisters <= kernels::kMostArrays);

using kernels::ChainStep;

const kernels::ChainForm* chain_form(const TileProgram::Instruction& i) {
  if (i.chain == nullptr || i.param_count > kernels::kMostChainParams) return nullptr;
  return i.type == kF32 ? &i.chain->f32 : i.type == kF64 ? &i.chain->f64 : nullptr;
}

// May it be one of several that stay in registers?
bool stays(const TileProgram::Instruction& i) {
  return i.copies ? i.type == kF32 || i.type == kF64 : chain_form(i) != nullptr;
}

bool same(const TileProgram::Slot& a, const TileProgram::Slot& b) {
  return a.index == b.index && a.external == b.external;
}

}  // namespace

// Cuts the code into pieces. In a chain one value at a time is in the processor's registers; it goes to memory when an
// instruction other than the next one reads it, or when it is a result.
void TileProgram::find_chains() {
  pieces_.clear();
  const auto array = [](const Slot& s) { return s.external ? s.index : kExternals + s.index; };
  // Is what instruction `i` made read again after instruction `from`, before something else takes its register?
  const auto read_after = [&](size_t i, size_t from) {
    for (size_t k = i + 1; k < code.size(); k++) {
      for (int j = 0; j < code[k].inputs; j++)
        if (k > from && same(code[k].in[j], code[i].out)) return true;
      if (same(code[k].out, code[i].out)) return false;
    }
    return false;
  };
  for (size_t first = 0; first < code.size();) {
    Piece piece;
    piece.first = first;
    size_t last = first;
    while (last < code.size() && last < first + kMostChain && stays(code[last]) && code[last].type == code[first].type)
      last++;
    if (last < first + 2) {
      pieces_.push_back(piece);
      first++;
      continue;
    }
    piece.type = code[first].type;
    piece.count = static_cast<int>(last - first);
    Slot held;  // whose value is in the registers
    const auto move = [&](ChainStep::Kind kind, const Slot& slot, bool repeated) {
      ChainStep s;
      s.kind = kind;
      s.operand = array(slot);
      s.repeated = repeated;
      piece.chain.push_back(s);
    };
    for (size_t i = first; i < last; i++) {
      const Instruction& c = code[i];
      const bool first_held = same(c.in[0], held), second_held = c.inputs == 2 && same(c.in[1], held);
      if (!first_held && !second_held) move(ChainStep::Kind::kLoad, c.in[0], (c.scalars & 1) != 0);
      if (c.copies) {
        held = c.in[0];
        move(ChainStep::Kind::kStore, c.out, false);
        continue;
      }
      // If both inputs are the value, one of them is read from memory.
      if (first_held && second_held && !held.external) move(ChainStep::Kind::kStore, held, false);
      ChainStep step;
      step.form = chain_form(c);
      step.second = second_held && !first_held;
      if (const int other = step.second ? 0 : 1; c.inputs == 2) {
        step.operand = array(c.in[other]);
        step.repeated = (c.scalars >> other & 1) != 0;
      }
      std::copy_n(c.params, c.param_count, step.params);
      piece.chain.push_back(step);
      held = c.out;
      const bool next_takes_it =
          i + 1 < last && (same(code[i + 1].in[0], held) || (code[i + 1].inputs == 2 && same(code[i + 1].in[1], held)));
      if (held.external || read_after(i, next_takes_it ? i + 1 : i)) move(ChainStep::Kind::kStore, held, false);
    }
    pieces_.push_back(std::move(piece));
    first = last;
  }
}

int64_t TileProgram::pitch(int external) const {
  const Walk& o = operands_[static_cast<size_t>(external)];
  return outer_rank_ == 0 ? 0 : outer_rank_ == 1 ? o.outer[0] : -1;
}

char* TileProgram::row_start(char* base, const Walk& o, int64_t row) const {
  for (int a = outer_rank_ - 1; a >= 0; a--) {
    base += row % outer_[a] * o.outer[a];
    row /= outer_[a];
  }
  return base;
}

void TileProgram::run_code(char* const* at, int64_t n, char* buffers) const {
  for (const Piece& piece : pieces_) {
    if (!piece.chain.empty()) {
      const int steps = static_cast<int>(piece.chain.size());
      if (piece.type == kF32)
        kernels::run_chain<float>(piece.chain.data(), steps, at, n);
      else
        kernels::run_chain<double>(piece.chain.data(), steps, at, n);
      continue;
    }
    const Instruction& i = code[piece.first];
    const void* in[3];
    for (int k = 0; k < i.inputs; k++)
      in[k] = i.in[k].external ? at[i.in[k].index] : buffers + i.in[k].index * kTileBytes;
    void* out = i.out.external ? at[i.out.index] : buffers + i.out.index * kTileBytes;
    i.fn(out, in, i.scalars, n, i.params);
  }
}

void TileProgram::run_rows(const Rect& rect, char* const* base) const {
  alignas(64) char buffers[kMostBuffers * kTileBytes];
  char *start[kExternals], *at[kExternals + kRegisters];
  for (int r = 0; r < registers; r++) at[kExternals + r] = buffers + r * kTileBytes;
  const size_t count = operands_.size();
  for (int64_t row = rect.row0; row < rect.row1; row++) {
    for (size_t k = 0; k < count; k++) start[k] = row_start(base[k], operands_[k], row);
    for (int64_t col = rect.col0; col < rect.col1; col += tile_) {
      const int64_t n = std::min(tile_, rect.col1 - col);
      for (size_t k = 0; k < count; k++) {
        const Walk& o = operands_[k];
        char* here = start[k] + col * o.inner;
        at[k] = o.access == Access::kGathered ? buffers + o.buffer * kTileBytes : here;
        if (o.access == Access::kGathered && !o.written) copy_run(at[k], o.bytes, here, o.inner, n, o.bytes);
      }
      run_code(at, n, buffers);
      for (size_t k = 0; k < count; k++)
        if (const Walk& o = operands_[k]; o.written && o.access == Access::kGathered)
          copy_run(start[k] + col * o.inner, o.inner, at[k], o.bytes, n, o.bytes);
    }
  }
}

void TileProgram::run_blocks(const Rect& rect, char* const* base) const {
  alignas(64) char buffers[kMostBuffers * kTileBytes];
  char* at[kExternals + kRegisters];
  for (int r = 0; r < registers; r++) at[kExternals + r] = buffers + r * kTileBytes;
  const size_t count = operands_.size();
  const int64_t width = rect.col1 - rect.col0, rows_per_tile = std::max<int64_t>(1, tile_ / width);
  const bool whole = width == cols_;
  for (int64_t row = rect.row0; row < rect.row1; row += rows_per_tile) {
    const int64_t rows = std::min(rows_per_tile, rect.row1 - row);
    const auto gathered = [&](const Walk& o) {
      return o.access == Access::kGathered || (!whole && o.access == Access::kDirect);
    };
    const auto start = [&](size_t k, int64_t r) {
      return base[k] + (row + r) * operands_[k].outer[0] + rect.col0 * operands_[k].inner;
    };
    for (size_t k = 0; k < count; k++) {
      const Walk& o = operands_[k];
      at[k] = gathered(o) ? buffers + o.buffer * kTileBytes : start(k, 0);
      if (!gathered(o) || o.written) continue;
      for (int64_t r = 0; r < rows; r++)
        copy_run(at[k] + r * width * o.bytes, o.bytes, start(k, r), o.inner, width, o.bytes);
    }
    run_code(at, rows * width, buffers);
    for (size_t k = 0; k < count; k++) {
      const Walk& o = operands_[k];
      if (!o.written || !gathered(o)) continue;
      for (int64_t r = 0; r < rows; r++)
        copy_run(start(k, r), o.inner, at[k] + r * width * o.bytes, o.bytes, width, o.bytes);
    }
  }
}

void TileProgram::run(const Rect& rect, void* const* at) const {
  if (rect.empty()) return;
  char* base[kExternals];
  for (size_t k = 0; k < externals.size(); k++) base[k] = static_cast<char*>(at[k]);
  by_blocks(rect) ? run_blocks(rect, base) : run_rows(rect, base);
}

void TileProgram::run_into(int external, void* to, const Rect& rect, void* const* at) const {
  if (rect.empty()) return;
  char* base[kExternals];
  for (size_t k = 0; k < externals.size(); k++) base[k] = static_cast<char*>(at[k]);
  // Where row 0, column 0 would be: an address that nobody looks at.
  const Walk& o = operands_[static_cast<size_t>(external)];
  int64_t before = rect.col0 * o.inner;
  for (int64_t a = outer_rank_ - 1, row = rect.row0; a >= 0; row /= outer_[a], a--)
    before += row % outer_[a] * o.outer[a];
  base[external] = reinterpret_cast<char*>(reinterpret_cast<uintptr_t>(to) - static_cast<uintptr_t>(before));
  by_blocks(rect) ? run_blocks(rect, base) : run_rows(rect, base);
}

}  // namespace ingot::graph
