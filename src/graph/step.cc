#include "graph/step.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "ingot/error.h"
#include "ingot/ops.h"
#include "ingot/simd.h"
#include "ops/elementwise.h"

namespace ingot::graph {

Footprint whole(const Tensor& t, bool write) {
  Footprint f;
  f.write = write;
  if (!t.defined() || t.numel() == 0) return f;
  const int64_t bytes = static_cast<int64_t>(size_of(t.dtype()));
  int64_t low = 0, high = 0;
  for (int a = 0; a < t.rank(); a++) {
    const int64_t reach = (t.shape()[a] - 1) * t.strides()[a] * bytes;
    (reach < 0 ? low : high) += reach;
  }
  f.start = reinterpret_cast<uintptr_t>(t.raw()) + static_cast<uintptr_t>(low);
  f.width = high - low + bytes;
  return f;
}

namespace {

std::string number_text(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.9g", value);
  return text;
}

}  // namespace

std::string attrs_text(const Attrs& attrs) {
  std::string text;
  for (int i = 0; i < attrs.size(); i++) {
    const Attr& a = attrs[i];
    if (a.kind == Attr::Kind::kPointer) continue;
    if (!text.empty()) text += ", ";
    text += a.name;
    text += '=';
    if (a.kind == Attr::Kind::kInt) text += std::to_string(a.integer);
    if (a.kind == Attr::Kind::kReal) text += number_text(a.real);
    if (a.kind == Attr::Kind::kInts) text += to_string(a.ints);
    if (a.kind == Attr::Kind::kText) text += a.text;
  }
  return text;
}

bool meet(const Footprint& a, const Footprint& b) {
  if (a.width <= 0 || b.width <= 0 || a.rows <= 0 || b.rows <= 0) return false;
  const auto end = [](const Footprint& f) {
    return f.start + static_cast<uintptr_t>((f.rows - 1) * f.pitch + f.width);
  };
  if (end(a) <= b.start || end(b) <= a.start) return false;
  const int64_t pitch = a.rows > 1 ? a.pitch : b.pitch;
  if (pitch <= 0 || (a.rows > 1 && b.rows > 1 && a.pitch != b.pitch)) return true;
  if (a.width > pitch || b.width > pitch) return true;
  // Both are columns of one matrix: do their columns meet, and then their rows?
  const int64_t shift = static_cast<int64_t>(b.start - a.start);
  int64_t column = shift % pitch;
  if (column < 0) column += pitch;
  // Taking b's start into a's first row leaves its columns at [column, column + b.width), wrapping round.
  const bool beside = column >= a.width && column + b.width <= pitch;
  return !beside;
}

void Step::footprints(int, int, std::vector<Footprint>& out) const {
  const_cast<Step*>(this)->each_tensor([&](Tensor& t, bool written) { out.push_back(whole(t, written)); });
}

// ---------------------------------------------------------------------------------------------------------------------

OpStep::OpStep(const Op& op, const Attrs& attrs, std::vector<Tensor> inputs, std::vector<Tensor> outputs, Tensor seed)
    : op_(op),
      attrs_(attrs),
      inputs_(std::move(inputs)),
      outputs_(std::move(outputs)),
      seed_(std::move(seed)),
      plain_(simd() == Simd::kScalar && op.reference != nullptr) {
  for (const Tensor& t : inputs_) pointers_.push_back(&t);
  bool contiguous = true;
  for (const auto* list : {&inputs_, &outputs_})
    for (const Tensor& t : *list) contiguous = contiguous && (!t.defined() || t.is_contiguous());
  if (op.rows != nullptr && contiguous && !plain_) rows_ = op.rows(call());
}

void OpStep::run(const Team& team) {
  const ingot::Call c = call();
  if (op_.view != nullptr) {  // views are switched off, or one is stored
    if (team.rank() == 0) copy_into(outputs_[0], op_.view(c));
  } else if (plain_) {
    if (team.rank() == 0) op_.reference(c, outputs_.data());
  } else if (op_.tile != nullptr) {
    const Params params(c);
    run_tiles(op_.tile(c.in(c.count() - 1).dtype()), c, params.values, outputs_[0], team);
  } else {
    op_.run(c, outputs_.data(), scratch_, team);
  }
}

void OpStep::footprints(int rank, int size, std::vector<Footprint>& out) const {
  const auto add = [&](const Tensor& t, bool by_rows, bool write) {
    Footprint f = whole(t, write);
    if (rows_ > 0 && by_rows && t.numel() > 0) {
      const int64_t row = f.width / rows_, first = rows_ * rank / size, last = rows_ * (rank + 1) / size;
      f.start += static_cast<uintptr_t>(first * row);
      f.width = (last - first) * row;
    }
    out.push_back(f);
  };
  for (size_t i = 0; i < inputs_.size(); i++)
    add(inputs_[i], i == 0 || (inputs_[i].defined() && inputs_[i].shape() == outputs_[0].shape()), false);
  for (const Tensor& t : outputs_) add(t, true, true);
  if (scratch_ != nullptr) {  // another step's values may stand there as soon as this one is over
    Footprint f;
    f.start = reinterpret_cast<uintptr_t>(scratch_);
    f.width = static_cast<int64_t>(shared_scratch(size));
    f.write = true;
    out.push_back(f);
  }
}

void OpStep::each_tensor(const std::function<void(Tensor&, bool)>& visit) {
  for (Tensor& t : inputs_)
    if (t.defined()) visit(t, false);
  if (seed_.defined()) visit(seed_, false);
  for (Tensor& t : outputs_) visit(t, true);
}

size_t OpStep::shared_scratch(int team_size) const {
  return op_.scratch == nullptr || op_.view != nullptr || plain_ ? 0 : op_.scratch(call(), outputs_.data(), team_size);
}

void OpStep::before_run() {
  if (seed_.defined()) attrs_.replace("seed", *static_cast<const int64_t*>(seed_.raw()));
  if (check_) op_.check(call());
}

std::string OpStep::detail() const {
  std::string text;
  for (const Tensor& t : inputs_) {
    if (!text.empty()) text += ", ";
    text += t.defined() ? to_string(t.shape()) : std::string("-");
  }
  if (const std::string constants = attrs_text(attrs_); !constants.empty()) text += "; " + constants;
  return text;
}

void CheckStep::run(const Team&) {
  try {
    of_.op().check(of_.call());
  } catch (...) {
    failure = std::current_exception();
  }
}

void CheckStep::each_tensor(const std::function<void(Tensor&, bool)>& visit) {
  of_.each_tensor([&](Tensor& t, bool written) {
    if (!written) visit(t, false);
  });
}

// ---------------------------------------------------------------------------------------------------------------------

TileProgram::Instruction instruction(const Op& op, const Attrs& attrs, int inputs, DType type) {
  TileProgram::Instruction i;
  i.name = op.name;
  i.fn = op.tile(type);
  i.type = type;
  i.inputs = inputs;
  for (int k = 0; k < attrs.size(); k++)
    if (attrs[k].kind == Attr::Kind::kReal) i.params[i.param_count++] = attrs[k].real;
  return i;
}

namespace {

std::string code_text(const TileProgram& program) {
  std::string text;
  const auto add_slot = [&](const char* before, const TileProgram::Slot& s) {
    text += before;
    text += s.external ? 'm' : 'r';
    text += std::to_string(s.index);
  };
  for (const TileProgram::Instruction& i : program.code) {
    add_slot(text.empty() ? "" : "; ", i.out);
    text += " = ";
    text += i.name;
    for (int k = 0; k < i.inputs; k++) add_slot(k == 0 ? " " : ", ", i.in[k]);
    for (int k = 0; k < i.param_count; k++) text += ", " + number_text(i.params[k]);
  }
  return text;
}

std::string size_text(const TileProgram& program) {
  return std::to_string(program.rows()) + "x" + std::to_string(program.cols()) + ": ";
}

bool is_written(const TileProgram& program, size_t external) {
  for (const auto& i : program.code)
    if (i.out.external && static_cast<size_t>(i.out.index) == external) return true;
  return false;
}

// The part of an operand that lies in a rectangle of the iteration space.
Footprint operand_part(const TileProgram& program, size_t k, const Rect& r) {
  const Tensor& t = program.externals[k];
  const int64_t pitch_bytes = program.pitch(static_cast<int>(k));
  Footprint f = whole(t, is_written(program, k));
  const int64_t bytes = static_cast<int64_t>(size_of(t.dtype()));
  if (program.rows() == 1) {
    if (t.is_contiguous() && t.numel() == program.cols()) {
      f.start += static_cast<uintptr_t>(r.col0 * bytes);
      f.width = (r.col1 - r.col0) * bytes;
    }
  } else if (program.dense_columns(static_cast<int>(k)) && pitch_bytes == program.cols() * bytes &&
             t.numel() == program.rows() * program.cols()) {
    f.start += static_cast<uintptr_t>(r.row0 * pitch_bytes + r.col0 * bytes);
    f.rows = r.row1 - r.row0;
    f.pitch = pitch_bytes;
    f.width = (r.col1 - r.col0) * bytes;
    if (f.width == pitch_bytes) {  // whole rows are one piece
      f.width *= f.rows;
      f.rows = 1;
    }
  } else if (pitch_bytes == 0 && t.is_contiguous() && t.numel() == program.cols()) {  // one row for all
    f.start += static_cast<uintptr_t>(r.col0 * bytes);
    f.width = (r.col1 - r.col0) * bytes;
  }
  if (r.empty()) f.width = 0;
  return f;
}

void program_footprints(const TileProgram& program, const Rect& r, std::vector<Footprint>& out) {
  for (size_t k = 0; k < program.externals.size(); k++) out.push_back(operand_part(program, k, r));
}

}  // namespace

Rect FusedStep::part(int rank, int size) const {
  const auto share = [&](int64_t n, int64_t grain) {
    const int64_t blocks = (n + grain - 1) / grain;
    return std::pair(std::min(n, blocks * rank / size * grain), std::min(n, blocks * (rank + 1) / size * grain));
  };
  Rect r{0, program_.rows(), 0, program_.cols()};
  if (split_ == Split::kRows)
    std::tie(r.row0, r.row1) = share(program_.rows(), 1);
  else
    std::tie(r.col0, r.col1) = share(program_.cols(), 16);
  return r;
}

void FusedStep::run(const Team& team) { program_.run(part(team.rank(), team.size())); }

void FusedStep::footprints(int rank, int size, std::vector<Footprint>& out) const {
  program_footprints(program_, part(rank, size), out);
}

void FusedStep::each_tensor(const std::function<void(Tensor&, bool)>& visit) {
  for (size_t k = 0; k < program_.externals.size(); k++) visit(program_.externals[k], is_written(program_, k));
}

std::vector<Split> FusedStep::splits() const {
  if (program_.rows() == 1) return {Split::kColumns};
  if (program_.cols() < 64) return {Split::kRows};
  return {Split::kRows, Split::kColumns};
}

std::string FusedStep::detail() const { return size_text(program_) + code_text(program_); }

// ---------------------------------------------------------------------------------------------------------------------

FusedReduceStep::FusedReduceStep(TileProgram program, int folded, kernels::Reduce reduce, Along along, double scale,
                                 Tensor result)
    : program_(std::move(program)),
      folded_(folded),
      reduce_(reduce),
      along_(along),
      scale_(scale),
      result_(std::move(result)) {
  kind = "fused reduce";
}

Dims FusedReduceStep::block_strides(Along along, const Dims& shape, int cut) {
  Dims strides = contiguous_strides(shape);
  if (along != Along::kColumns) return strides;
  int64_t cols = 1;
  for (int a = cut; a < shape.size(); a++) cols *= shape[a];
  int64_t step = std::min(kWidth, cols);
  for (int a = cut - 1; a >= 0; step *= shape[a], a--) strides[a] = step;
  return strides;
}

namespace {

int64_t rows_per_block(int64_t width) {
  return std::max<int64_t>(1, FusedReduceStep::kBlockElements / std::max<int64_t>(width, 1));
}

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

}  // namespace

// Rows to one number each: as many as fit a block are computed and folded together.
template <class T>
void FusedReduceStep::fold_rows(int64_t row0, int64_t row1, T* block) {
  const int64_t cols = program_.cols(), most = rows_per_block(cols);
  T* out = static_cast<T*>(result_.raw());
  for (int64_t row = row0; row < row1; row += most) {
    const int64_t rows = std::min(most, row1 - row);
    program_.run_into(folded_, block, {row, row + rows, 0, cols});
    kernels::reduce(reduce_, fold_layout(rows, cols, cols, 1), block, out + row, scale_, block + kBlockElements + cols,
                    Team());
  }
}

// Columns to one number each, for a panel of them: row 0 of the block holds what was folded so far.
template <class T>
void FusedReduceStep::fold_columns(int64_t col0, int64_t col1, T* block) {
  const int64_t pitch = std::min(kWidth, program_.cols()), width = col1 - col0, most = kBlockElements / pitch - 1;
  T* out = static_cast<T*>(result_.raw()) + col0;
  for (int64_t row = 0; row < program_.rows(); row += most) {
    const int64_t rows = std::min(most, program_.rows() - row);
    program_.run_into(folded_, block + pitch, {row, row + rows, col0, col1});
    const bool first = row == 0, last = row + rows == program_.rows();
    const kernels::ReduceLayout layout = fold_layout(width, 1, rows + (first ? 0 : 1), pitch);
    T* to = last ? out : block + kBlockElements;
    kernels::reduce(reduce_, layout, first ? block + pitch : block, to, last ? scale_ : 1.0,
                    block + kBlockElements + pitch, Team());
    if (!last) std::memcpy(block, to, static_cast<size_t>(width) * sizeof(T));
  }
}

template <class T>
void FusedReduceStep::run_typed(const Team& team) {
  T* block = reinterpret_cast<T*>(scratch_ + static_cast<size_t>(team.rank()) * stride_);
  if (along_ == Along::kRows) {
    const auto [first, last] = team.share(program_.rows());
    return fold_rows<T>(first, last, block);
  }
  if (along_ == Along::kColumns) {
    const int64_t width = std::min(kWidth, program_.cols());
    const auto [first, last] = column_share(program_.cols(), team.rank(), team.size());
    for (int64_t col = first, next; col < last; col = next) {
      next = last - col <= width ? last : last - col - width < 16 ? col + width - 16 : col + width;
      fold_columns<T>(col, next, block);
    }
    return;
  }
  // Everything to one number: pieces of a size that depends on the shape only, then the pieces' results.
  const int64_t count = pieces();
  T* partials = count == 1 ? static_cast<T*>(result_.raw()) : static_cast<T*>(partials_);
  const auto fold = [&](const T* from, int64_t n, T* to, double scale) {
    kernels::reduce(reduce_, fold_layout(1, 0, n, 1), from, to, scale, block + kBlockElements, Team());
  };
  const auto [first, last] = team.share(count);
  for (int64_t p = first; p < last; p++) {
    const Rect r = piece(p);
    program_.run_into(folded_, block, r);
    fold(block, (r.row1 - r.row0) * (r.col1 - r.col0), partials + p, count == 1 ? scale_ : 1.0);
  }
  if (count == 1) return;
  team.barrier();
  if (team.rank() == 0) fold(partials, count, static_cast<T*>(result_.raw()), scale_);
}

// Some rows, or part of one.
Rect FusedReduceStep::piece(int64_t p) const {
  const int64_t rows = program_.rows(), cols = program_.cols();
  if (cols <= kBlockElements) {
    const int64_t most = rows_per_block(cols);
    return {p * most, std::min(rows, (p + 1) * most), 0, cols};
  }
  const int64_t per_row = (cols + kBlockElements - 1) / kBlockElements, row = p / per_row, at = p % per_row;
  return {row, row + 1, at * kBlockElements, std::min(cols, (at + 1) * kBlockElements)};
}

int64_t FusedReduceStep::pieces() const {
  const int64_t rows = program_.rows(), cols = program_.cols();
  if (cols <= kBlockElements) return (rows + rows_per_block(cols) - 1) / rows_per_block(cols);
  return rows * ((cols + kBlockElements - 1) / kBlockElements);
}

void FusedReduceStep::run(const Team& team) {
  result_.dtype() == kF32 ? run_typed<float>(team) : run_typed<double>(team);
}

void FusedReduceStep::footprints(int rank, int size, std::vector<Footprint>& out) const {
  Rect r{0, program_.rows(), 0, program_.cols()};
  Footprint to = whole(result_, true);
  const int64_t element = static_cast<int64_t>(size_of(result_.dtype()));
  const auto share = [&](std::pair<int64_t, int64_t> part, int64_t& first, int64_t& last) {
    std::tie(first, last) = part;
    to.start += static_cast<uintptr_t>(first * element);
    to.width = (last - first) * element;
  };
  const int64_t rows = program_.rows();
  if (along_ == Along::kRows) share({rows * rank / size, rows * (rank + 1) / size}, r.row0, r.row1);
  if (along_ == Along::kColumns) share(column_share(program_.cols(), rank, size), r.col0, r.col1);
  for (size_t k = 0; k < program_.externals.size(); k++)
    if (static_cast<int>(k) != folded_)
      out.push_back(along_ == Along::kAll ? whole(program_.externals[k], is_written(program_, k))
                                          : operand_part(program_, k, r));
  out.push_back(to);
  if (along_ == Along::kAll && partials_ != nullptr) {
    Footprint p;
    p.start = reinterpret_cast<uintptr_t>(partials_);
    p.width = static_cast<int64_t>(shared_scratch(size));
    p.write = true;
    out.push_back(p);
  }
}

void FusedReduceStep::each_tensor(const std::function<void(Tensor&, bool)>& visit) {
  for (size_t k = 0; k < program_.externals.size(); k++)
    if (static_cast<int>(k) != folded_) visit(program_.externals[k], is_written(program_, k));
  visit(result_, true);
}

size_t FusedReduceStep::private_scratch() const {
  // The block, a row more, and what the folds need: at most what one result needs, for each of a block's results.
  const auto fold = [](int64_t results, int64_t elements) {
    return static_cast<size_t>(results) * kernels::reduce_scratch(fold_layout(1, 0, elements, 1));
  };
  const int64_t cols = program_.cols();
  const int64_t row = along_ == Along::kAll ? 0 : along_ == Along::kColumns ? kWidth : cols;
  const size_t folds = along_ == Along::kAll       ? std::max(fold(1, kBlockElements), fold(1, pieces()))
                       : along_ == Along::kColumns ? fold(kWidth, kBlockElements)
                                                   : fold(rows_per_block(cols), cols);
  return static_cast<size_t>(std::max(kBlockElements, row) + row) * size_of(result_.dtype()) + folds;
}

size_t FusedReduceStep::shared_scratch(int) const {
  return along_ == Along::kAll && pieces() > 1 ? static_cast<size_t>(pieces()) * size_of(result_.dtype()) : 0;
}

std::string FusedReduceStep::detail() const {
  static constexpr const char* kAlong[] = {"each row", "each column", "all"};
  return size_text(program_) + code_text(program_) + "; fold m" + std::to_string(folded_) + " of " +
         kAlong[static_cast<int>(along_)];
}

// ---------------------------------------------------------------------------------------------------------------------

template <class T>
GemmStep<T>::GemmStep(const kernels::Gemm<T>& gemm, Tensor a, Tensor b, Tensor c, Tensor bias, TileProgram epilogue)
    : gemm_(gemm),
      a_(std::move(a)),
      b_(std::move(b)),
      c_(std::move(c)),
      bias_(std::move(bias)),
      epilogue_(std::move(epilogue)) {
  kind = "gemm";
}

template <class T>
void GemmStep<T>::run(const Team& team) {
  kernels::Gemm<T> g = gemm_;
  g.a = static_cast<const T*>(a_.raw());
  g.b = static_cast<const T*>(b_.raw());
  g.c = static_cast<T*>(c_.raw());
  if (bias_.defined()) g.column_bias = static_cast<const T*>(bias_.raw());
  // The kernel looks for member r's scratch at r times what one needs.
  const int64_t shift = team.rank() * (static_cast<int64_t>(stride_) - static_cast<int64_t>(private_scratch()));
  kernels::gemm(g, scratch_ + shift, team);
  if (epilogue_.code.empty()) return;
  const kernels::GemmPart p = kernels::gemm_part(g, team.rank(), team.size());
  epilogue_.run({p.m0, p.m1, p.n0, p.n1});
}

template <class T>
void GemmStep<T>::footprints(int rank, int size, std::vector<Footprint>& out) const {
  const kernels::GemmPart p = kernels::gemm_part(gemm_, rank, size);
  const Rect r{p.m0, p.m1, p.n0, p.n1};
  const auto matrix = [&](const Tensor& t, int64_t row0, int64_t row1, int64_t row, int64_t col0, int64_t col1,
                          int64_t col, bool write) {
    Footprint f;
    f.write = write;
    if (row0 >= row1 || col0 >= col1) return out.push_back(f);
    if (row < 0 || col < 0 || (row != 1 && col != 1)) return out.push_back(whole(t, write));
    const int64_t element = sizeof(T);
    f.start = reinterpret_cast<uintptr_t>(t.raw()) + static_cast<uintptr_t>((row0 * row + col0 * col) * element);
    const bool by_row = col == 1;  // pieces are rows
    f.rows = by_row ? row1 - row0 : col1 - col0;
    f.width = (by_row ? col1 - col0 : row1 - row0) * element;
    f.pitch = (by_row ? row : col) * element;
    if (f.width == f.pitch) {
      f.width *= f.rows;
      f.rows = 1;
    }
    out.push_back(f);
  };
  if (p.batch0 >= p.batch1) return;
  matrix(a_, r.row0, r.row1, gemm_.a_row, 0, gemm_.k, gemm_.a_col, false);
  if (!gemm_.b_packed) matrix(b_, 0, gemm_.k, gemm_.b_row, r.col0, r.col1, gemm_.b_col, false);
  matrix(c_, r.row0, r.row1, gemm_.c_row, r.col0, r.col1, gemm_.c_col, true);
  if (bias_.defined()) out.push_back(whole(bias_, false));
  if (!epilogue_.code.empty()) program_footprints(epilogue_, r, out);
}

template <class T>
void GemmStep<T>::each_tensor(const std::function<void(Tensor&, bool)>& visit) {
  visit(a_, false);
  visit(b_, false);
  visit(c_, true);
  if (bias_.defined()) visit(bias_, false);
  for (size_t k = 0; k < epilogue_.externals.size(); k++) visit(epilogue_.externals[k], is_written(epilogue_, k));
}

template <class T>
std::vector<Split> GemmStep<T>::splits() const {
  std::vector<Split> ways;
  if (gemm_.m >= 8) ways.push_back(Split::kRows);
  if (gemm_.n >= 32) ways.push_back(Split::kColumns);
  return ways;
}

template <class T>
void GemmStep<T>::set_split(Split split) {
  gemm_.split = split == Split::kRows ? kernels::GemmSplit::kRows : kernels::GemmSplit::kColumns;
}

template <class T>
std::string GemmStep<T>::detail() const {
  std::string text = std::to_string(gemm_.m) + "x" + std::to_string(gemm_.k) + "x" + std::to_string(gemm_.n) +
                     (gemm_.a_col == 1 || gemm_.k == 1 ? " N" : " T") +
                     (gemm_.b_packed     ? " packed"
                      : gemm_.b_col == 1 ? "N"
                                         : "T");
  if (bias_.defined()) text += " bias";
  if (gemm_.activation == kernels::Activation::kRelu) text += " relu";
  if (!epilogue_.code.empty()) text += "; " + code_text(epilogue_);
  return text;
}

template class GemmStep<float>;
template class GemmStep<double>;

}  // namespace ingot::graph
