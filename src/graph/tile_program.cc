#include "graph/tile_program.h"

#include <algorithm>
#include <cstring>

namespace ingot::graph {
namespace {

constexpr int64_t kTileBytes = 2048;  // of one register: a dozen of them leave room in the first cache
constexpr int64_t kShortRow = 64;     // rows of fewer elements are taken several at a time
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
    const Tensor& t = externals[static_cast<size_t>(k)];
    operands_[static_cast<size_t>(k)].bytes = static_cast<int64_t>(size_of(t.dtype()));
    Dims s = Dims::filled(rank, 0);
    const int shift = rank - t.rank();
    for (int a = shift; a < rank; a++)
      if (t.shape()[a - shift] != 1) s[a] = t.strides()[a - shift] * operands_[static_cast<size_t>(k)].bytes;
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
  if (cut == rank) {  // no columns at all: one of size 1
    size.push_back(1);
    for (int k = 0; k < count; k++) merged[static_cast<size_t>(k)].push_back(operands_[static_cast<size_t>(k)].bytes);
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
    Operand& o = operands_[static_cast<size_t>(k)];
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
  for (Operand& o : operands_)
    if (o.access == Access::kGathered || (short_rows_ && o.access == Access::kDirect)) o.buffer = buffers_++;
  tile_ = kTileBytes / widest;
}

int64_t TileProgram::pitch(int external) const {
  const Operand& o = operands_[static_cast<size_t>(external)];
  return outer_rank_ == 0 ? 0 : outer_rank_ == 1 ? o.outer[0] : -1;
}

char* TileProgram::row_start(char* base, const Operand& o, int64_t row) const {
  for (int a = outer_rank_ - 1; a >= 0; a--) {
    base += row % outer_[a] * o.outer[a];
    row /= outer_[a];
  }
  return base;
}

void TileProgram::run_code(char* const* at, int64_t n, char* buffers) const {
  for (const Instruction& i : code) {
    const void* in[3];
    for (int k = 0; k < i.inputs; k++)
      in[k] = i.in[k].external ? at[i.in[k].index] : buffers + i.in[k].index * kTileBytes;
    void* out = i.out.external ? at[i.out.index] : buffers + i.out.index * kTileBytes;
    i.fn(out, in, i.scalars, n, i.params);
  }
}

void TileProgram::run_rows(const Rect& rect, char* const* base) const {
  alignas(64) char buffers[kMostBuffers * kTileBytes];
  char *start[kExternals], *at[kExternals];
  const size_t count = operands_.size();
  for (int64_t row = rect.row0; row < rect.row1; row++) {
    for (size_t k = 0; k < count; k++) start[k] = row_start(base[k], operands_[k], row);
    for (int64_t col = rect.col0; col < rect.col1; col += tile_) {
      const int64_t n = std::min(tile_, rect.col1 - col);
      for (size_t k = 0; k < count; k++) {
        const Operand& o = operands_[k];
        char* here = start[k] + col * o.inner;
        at[k] = o.access == Access::kGathered ? buffers + o.buffer * kTileBytes : here;
        if (o.access == Access::kGathered && !o.written) copy_run(at[k], o.bytes, here, o.inner, n, o.bytes);
      }
      run_code(at, n, buffers);
      for (size_t k = 0; k < count; k++)
        if (const Operand& o = operands_[k]; o.written && o.access == Access::kGathered)
          copy_run(start[k] + col * o.inner, o.inner, at[k], o.bytes, n, o.bytes);
    }
  }
}

void TileProgram::run_blocks(const Rect& rect, char* const* base) const {
  alignas(64) char buffers[kMostBuffers * kTileBytes];
  char* at[kExternals];
  const size_t count = operands_.size();
  const int64_t width = rect.col1 - rect.col0, rows_per_tile = std::max<int64_t>(1, tile_ / width);
  const bool whole = width == cols_;
  for (int64_t row = rect.row0; row < rect.row1; row += rows_per_tile) {
    const int64_t rows = std::min(rows_per_tile, rect.row1 - row);
    const auto gathered = [&](const Operand& o) {
      return o.access == Access::kGathered || (!whole && o.access == Access::kDirect);
    };
    const auto start = [&](size_t k, int64_t r) {
      return base[k] + (row + r) * operands_[k].outer[0] + rect.col0 * operands_[k].inner;
    };
    for (size_t k = 0; k < count; k++) {
      const Operand& o = operands_[k];
      at[k] = gathered(o) ? buffers + o.buffer * kTileBytes : start(k, 0);
      if (!gathered(o) || o.written) continue;
      for (int64_t r = 0; r < rows; r++)
        copy_run(at[k] + r * width * o.bytes, o.bytes, start(k, r), o.inner, width, o.bytes);
    }
    run_code(at, rows * width, buffers);
    for (size_t k = 0; k < count; k++) {
      const Operand& o = operands_[k];
      if (!o.written || !gathered(o)) continue;
      for (int64_t r = 0; r < rows; r++)
        copy_run(start(k, r), o.inner, at[k] + r * width * o.bytes, o.bytes, width, o.bytes);
    }
  }
}

void TileProgram::run(const Rect& rect) const {
  if (rect.empty()) return;
  char* base[kExternals];
  for (size_t k = 0; k < externals.size(); k++) base[k] = static_cast<char*>(externals[k].raw());
  short_rows_ ? run_blocks(rect, base) : run_rows(rect, base);
}

void TileProgram::run_into(int external, void* to, const Rect& rect) const {
  if (rect.empty()) return;
  char* base[kExternals];
  for (size_t k = 0; k < externals.size(); k++) base[k] = static_cast<char*>(externals[k].raw());
  const Operand& o = operands_[static_cast<size_t>(external)];
  const uintptr_t before = reinterpret_cast<uintptr_t>(row_start(base[external], o, rect.row0)) -
                           reinterpret_cast<uintptr_t>(base[external]);
  base[external] =
      reinterpret_cast<char*>(reinterpret_cast<uintptr_t>(to) - before - static_cast<uintptr_t>(rect.col0 * o.inner));
  short_rows_ ? run_blocks(rect, base) : run_rows(rect, base);
}

}  // namespace ingot::graph
