// A chain of element-wise ops as one pass: each tile of a few hundred elements goes through all of them while it is in
// the first cache. Operands may be broadcast or strided.
#pragma once
#include <cstdint>
#include <vector>

#include "ingot/base/tensor.h"
#include "ingot/graph/program.h"
#include "ingot/ops/op.h"
#include "kernels/chain.h"

namespace ingot::graph {

/// A rectangle of the iteration space: rows (all axes but the innermost, merged) and columns (the innermost).
struct Rect {
  int64_t row0 = 0, row1 = 0, col0 = 0, col1 = 0;
  bool empty() const { return row0 >= row1 || col0 >= col1; }
};

class TileProgram {
 public:
  using Slot = Chain::Slot;
  struct Instruction {
    const char* name = "";
    TileFn fn = nullptr;
    const ChainForms* chain = nullptr;  // null: the op has no form for registers
    bool copies = false;                // its input, as it is
    DType type = kF32;                  // of the inputs (of a mask: of the others)
    int inputs = 0;
    Slot in[3];
    Slot out;
    unsigned scalars = 0;  // inputs that are one element repeated
    double params[kMaxAttrs] = {};
    int param_count = 0;
  };
  static constexpr int kRegisters = 10, kExternals = 22;

  std::vector<Operand> externals;  // layouts of what is in memory; where it is, each run says
  std::vector<Instruction> code;
  int registers = 0;

  /// Fixes the iteration space: `shape`, which every result has. Axes that all operands run through alike are merged;
  /// with `cut` ≥ 0, axes from there on are the columns, and those before it stay rows.
  void prepare(const Dims& shape, int cut);
  /// Do the axes from `cut` on merge into one for an operand of this layout?
  static bool merges(const Tensor& operand, const Dims& shape, int cut);

  int64_t rows() const { return rows_; }
  int64_t cols() const { return cols_; }
  /// `at` has the addresses of the externals.
  void run(const Rect& rect, void* const* at) const;
  /// The same with the rectangle's first element of operand `external` at `to`.
  void run_into(int external, void* to, const Rect& rect, void* const* at) const;
  /// Bytes between rows of an operand, or -1 if its rows do not follow each other at one distance.
  int64_t pitch(int external) const;
  /// Do the columns of an operand follow each other without gaps?
  bool dense_columns(int external) const {
    const Walk& o = operands_[static_cast<size_t>(external)];
    return o.inner == o.bytes;
  }

 private:
  enum class Access : uint8_t { kDirect, kRepeated, kGathered };
  struct Walk {
    Access access = Access::kDirect;
    bool written = false;
    int buffer = -1;               // where a gathered operand's tile is put together
    int64_t bytes = 4;             // of an element
    int64_t inner = 0;             // byte step along columns
    int64_t outer[kMaxRank] = {};  // byte steps along the other axes
  };
  void run_rows(const Rect& rect, char* const* base) const;
  void run_blocks(const Rect& rect, char* const* base) const;
  bool by_blocks(const Rect& rect) const { return short_rows_ || (even_rows_ && rect.col0 == 0 && rect.col1 == cols_); }
  void run_code(char* const* at, int64_t n, char* buffers) const;
  void find_chains();
  char* row_start(char* base, const Walk& o, int64_t row) const;

  int outer_rank_ = 0;
  int64_t outer_[kMaxRank] = {};
  int64_t rows_ = 1, cols_ = 1;
  int64_t tile_ = 512;  // elements
  int buffers_ = 0;
  bool short_rows_ = false;  // tiles span several rows
  bool even_rows_ = false;   // they may where rows are whole: those of every operand follow each other
  std::vector<Walk> operands_;
  // The code in pieces: one instruction by its tile kernel, or several that stay in the processor's registers.
  struct Piece {
    size_t first = 0;
    int count = 1;
    DType type = kF32;
    std::vector<kernels::ChainStep> chain;
  };
  std::vector<Piece> pieces_;
};

}  // namespace ingot::graph
