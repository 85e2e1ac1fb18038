// A chain whose last value is folded along rows (each row to one number), along columns, or altogether. The value is
// made block by block, and a block is folded while it is in the first cache.
#include "graph/fold_layout.h"

#include <algorithm>
#include <cstring>
#include <tuple>

#include "graph/cpu/chain_kernel.h"
#include "kernels/reduce.h"

namespace ingot::graph {

namespace {

int64_t rows_per_block(int64_t width) { return std::max<int64_t>(1, kFoldElements / std::max<int64_t>(width, 1)); }

// `kept` results, each of `folded` elements; steps between results' first elements and between the elements of one.
kernels::ReduceLayout fold_layout(int64_t kept, int64_t kept_step, int64_t folded, int64_t folded_step) {
  kernels::ReduceLayout layout;
  layout.kept_rank = layout.reduced_rank = 1;
  layout.kept[0] = kept, layout.kept_in[0] = kept_step, layout.kept_out[0] = 1;
  layout.reduced[0] = folded, layout.reduced_in[0] = folded_step;
  return layout;
}

// A member's columns. Panels of fewer than 16 columns would be folded in another order, so what is left over at the end
// stays with its neighbour.
std::pair<int64_t, int64_t> column_share(int64_t cols, int rank, int size) {
  const int64_t blocks = std::max<int64_t>(1, cols / 16);
  const auto edge = [&](int64_t member) {
    const int64_t block = blocks * member / size;
    return block == blocks ? cols : block * 16;
  };
  return {edge(rank), edge(rank + 1)};
}

kernels::Reduce reduce_of(Fold fold) {
  return fold == Fold::kMax   ? kernels::Reduce::kMax
         : fold == Fold::kMin ? kernels::Reduce::kMin
                              : kernels::Reduce::kSum;
}

class FoldKernel final : public Kernel {
 public:
  explicit FoldKernel(const Record& r)
      : Kernel(r),
        program_(tile_program(r)),
        reduce_(reduce_of(r.reduction.fold)),
        block_(r.reduction.block - r.chain.first),
        scale_(r.reduction.fold == Fold::kMean ? 1.0 / static_cast<double>(folded_count()) : 1.0) {}

  void run(const Frame& f, const Team& team) const override {
    result().dtype == kF32 ? run_typed<float>(f, team) : run_typed<double>(f, team);
  }
  void footprints(int rank, int size, std::vector<Footprint>& out) const override;
  size_t own_scratch() const override;
  size_t shared_scratch(int) const override {
    return along() == Reduction::Along::kAll && pieces() > 1 ? static_cast<size_t>(pieces() * result().element()) : 0;
  }
  std::string detail() const override {
    static constexpr const char* kAlong[] = {"each row", "each column", "all"};
    return size_text(program_) + code_text(program_) + "; fold m" + std::to_string(block_) + " of " +
           kAlong[static_cast<int>(along())];
  }

 private:
  Reduction::Along along() const { return record_.reduction.along; }
  // Elements that become one.
  int64_t folded_count() const {
    return along() == Reduction::Along::kRows      ? program_.cols()
           : along() == Reduction::Along::kColumns ? program_.rows()
                                                   : program_.rows() * program_.cols();
  }
  const Operand& result() const { return record_.operands.back(); }
  template <class T>
  T* result_at(const Frame& f) const {
    return static_cast<T*>(f.at[record_.operands.size() - 1]);
  }
  int64_t pieces() const;
  Rect piece(int64_t p) const;
  template <class T>
  void run_typed(const Frame& f, const Team& team) const;
  template <class T>
  void fold_rows(const Frame& f, int64_t row0, int64_t row1, T* block) const;
  template <class T>
  void fold_columns(const Frame& f, int64_t col0, int64_t col1, T* block) const;
  void make(const Frame& f, void* block, const Rect& rect) const {
    program_.run_into(block_, block, rect, f.at + record_.chain.first);
  }

  TileProgram program_;
  kernels::Reduce reduce_;
  int block_;  // which external of the chain
  double scale_;
};

// Rows to one number each: as many as fit a block are computed and folded together.
template <class T>
void FoldKernel::fold_rows(const Frame& f, int64_t row0, int64_t row1, T* block) const {
  const int64_t cols = program_.cols(), most = rows_per_block(cols);
  T* out = result_at<T>(f);
  for (int64_t row = row0; row < row1; row += most) {
    const int64_t rows = std::min(most, row1 - row);
    make(f, block, {row, row + rows, 0, cols});
    kernels::reduce(reduce_, fold_layout(rows, cols, cols, 1), block, out + row, scale_, block + kFoldElements + cols,
                    Team());
  }
}

// Columns to one number each, for a panel of them: row 0 of the block holds what was folded so far.
template <class T>
void FoldKernel::fold_columns(const Frame& f, int64_t col0, int64_t col1, T* block) const {
  const int64_t pitch = std::min(kFoldWidth, program_.cols()), width = col1 - col0, most = kFoldElements / pitch - 1;
  T* out = result_at<T>(f) + col0;
  for (int64_t row = 0; row < program_.rows(); row += most) {
    const int64_t rows = std::min(most, program_.rows() - row);
    make(f, block + pitch, {row, row + rows, col0, col1});
    const bool first = row == 0, last = row + rows == program_.rows();
    const kernels::ReduceLayout layout = fold_layout(width, 1, rows + (first ? 0 : 1), pitch);
    T* to = last ? out : block + kFoldElements;
    kernels::reduce(reduce_, layout, first ? block + pitch : block, to, last ? scale_ : 1.0,
                    block + kFoldElements + pitch, Team());
    if (!last) std::memcpy(block, to, static_cast<size_t>(width) * sizeof(T));
  }
}

template <class T>
void FoldKernel::run_typed(const Frame& f, const Team& team) const {
  T* block = reinterpret_cast<T*>(f.own + static_cast<size_t>(team.rank()) * f.stride);
  if (along() == Reduction::Along::kRows) {
    const auto [first, last] = team.share(program_.rows());
    return fold_rows<T>(f, first, last, block);
  }
  if (along() == Reduction::Along::kColumns) {
    const int64_t width = std::min(kFoldWidth, program_.cols());
    const auto [first, last] = column_share(program_.cols(), team.rank(), team.size());
    for (int64_t col = first, next; col < last; col = next) {
      next = last - col <= width ? last : last - col - width < 16 ? col + width - 16 : col + width;
      fold_columns<T>(f, col, next, block);
    }
    return;
  }
  // Everything to one number: pieces of a size that depends on the shape only, then the pieces' results.
  const int64_t count = pieces();
  T* partials = count == 1 ? result_at<T>(f) : static_cast<T*>(f.shared);
  const auto fold = [&](const T* from, int64_t n, T* to, double scale) {
    kernels::reduce(reduce_, fold_layout(1, 0, n, 1), from, to, scale, block + kFoldElements, Team());
  };
  const auto [first, last] = team.share(count);
  for (int64_t p = first; p < last; p++) {
    const Rect r = piece(p);
    make(f, block, r);
    fold(block, (r.row1 - r.row0) * (r.col1 - r.col0), partials + p, count == 1 ? scale_ : 1.0);
  }
  if (count == 1) return;
  team.barrier();
  if (team.rank() == 0) fold(partials, count, result_at<T>(f), scale_);
}

// Some rows, or part of one.
Rect FoldKernel::piece(int64_t p) const {
  const int64_t rows = program_.rows(), cols = program_.cols();
  if (cols <= kFoldElements) {
    const int64_t most = rows_per_block(cols);
    return {p * most, std::min(rows, (p + 1) * most), 0, cols};
  }
  const int64_t per_row = (cols + kFoldElements - 1) / kFoldElements, row = p / per_row, at = p % per_row;
  return {row, row + 1, at * kFoldElements, std::min(cols, (at + 1) * kFoldElements)};
}

int64_t FoldKernel::pieces() const {
  const int64_t rows = program_.rows(), cols = program_.cols();
  if (cols <= kFoldElements) return (rows + rows_per_block(cols) - 1) / rows_per_block(cols);
  return rows * ((cols + kFoldElements - 1) / kFoldElements);
}

void FoldKernel::footprints(int rank, int size, std::vector<Footprint>& out) const {
  Rect r{0, program_.rows(), 0, program_.cols()};
  Footprint to = whole(result());
  const auto share = [&](std::pair<int64_t, int64_t> part, int64_t& first, int64_t& last) {
    std::tie(first, last) = part;
    to.start += first * result().element();
    to.width = (last - first) * result().element();
  };
  const int64_t rows = program_.rows();
  if (along() == Reduction::Along::kRows) share({rows * rank / size, rows * (rank + 1) / size}, r.row0, r.row1);
  if (along() == Reduction::Along::kColumns) share(column_share(program_.cols(), rank, size), r.col0, r.col1);
  for (size_t k = 0; k < program_.externals.size(); k++)
    if (static_cast<int>(k) != block_)
      out.push_back(along() == Reduction::Along::kAll ? whole(program_.externals[k]) : operand_part(program_, k, r));
  out.push_back(to);
  add_shared_scratch(size, out);
}

// The block, a row more, and what the folds need: at most what one result needs, for each of a block's results.
size_t FoldKernel::own_scratch() const {
  const auto fold = [](int64_t results, int64_t elements) {
    return static_cast<size_t>(results) * kernels::reduce_scratch(fold_layout(1, 0, elements, 1));
  };
  const int64_t cols = program_.cols();
  const int64_t row = along() == Reduction::Along::kAll ? 0 : along() == Reduction::Along::kColumns ? kFoldWidth : cols;
  const size_t folds = along() == Reduction::Along::kAll       ? std::max(fold(1, kFoldElements), fold(1, pieces()))
                       : along() == Reduction::Along::kColumns ? fold(kFoldWidth, kFoldElements)
                                                               : fold(rows_per_block(cols), cols);
  return static_cast<size_t>((std::max(kFoldElements, row) + row) * result().element()) + folds;
}

}  // namespace

std::unique_ptr<Kernel> make_fold_kernel(const Record& record) { return std::make_unique<FoldKernel>(record); }

}  // namespace ingot::graph
