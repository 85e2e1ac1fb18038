// A matrix product with its epilogue: bias and activation in the GEMM, a chain of element-wise instructions on each
// member's part of the result.
#include "graph/cpu/chain_kernel.h"
#include "kernels/gemm.h"

namespace ingot::graph {
namespace {

enum : size_t { kA, kB, kC, kBias };  // operands

template <class T>
class ProductKernel final : public Kernel {
 public:
  ProductKernel(const Record& r, const Memory* memory) : Kernel(r), epilogue_(tile_program(r)) {
    const Product& p = r.product;
    gemm_.m = p.m, gemm_.n = p.n, gemm_.k = p.k;
    gemm_.a_row = p.a_row, gemm_.a_col = p.a_col;
    gemm_.b_row = p.b_row, gemm_.b_col = p.b_col;
    gemm_.c_row = p.c_row;
    if (p.relu) gemm_.activation = kernels::Activation::kRelu;
    if (p.constant_b && p.m > 1 && p.n > 1 && !repeats(r.operands[kB])) pack(memory);
    own_scratch_ = kernels::gemm_scratch(gemm_, 1);
  }

  void run(const Frame& f, const Team& team) const override {
    kernels::Gemm<T> g = with_split();
    g.a = static_cast<const T*>(f.at[kA]);
    g.b = gemm_.b_packed ? static_cast<const T*>(packed_.raw()) : static_cast<const T*>(f.at[kB]);
    g.c = static_cast<T*>(f.at[kC]);
    g.column_bias = static_cast<const T*>(f.at[kBias]);
    // The GEMM looks for member r's scratch at r times what one needs.
    const int64_t shift = team.rank() * (static_cast<int64_t>(f.stride) - static_cast<int64_t>(own_scratch_));
    kernels::gemm(g, f.own + shift, team);
    if (epilogue_.code.empty()) return;
    const kernels::GemmPart p = kernels::gemm_part(g, team.rank(), team.size());
    epilogue_.run({p.m0, p.m1, p.n0, p.n1}, f.at + record_.chain.first);
  }

  void footprints(int rank, int size, std::vector<Footprint>& out) const override;

  std::vector<Split> splits() const override {
    std::vector<Split> ways;
    if (gemm_.m >= 8) ways.push_back(Split::kRows);
    if (gemm_.n >= 32) ways.push_back(Split::kColumns);
    return ways;
  }

  size_t own_scratch() const override { return own_scratch_; }
  size_t kept_bytes() const override { return packed_.defined() ? packed_.storage()->bytes : 0; }
  std::string detail() const override;

 private:
  // With rows and columns too few to choose from, the GEMM decides by itself.
  kernels::Gemm<T> with_split() const {
    kernels::Gemm<T> g = gemm_;
    if (record_.wide && (gemm_.m >= 8 || gemm_.n >= 32))
      g.split = record_.split == Split::kRows ? kernels::GemmSplit::kRows : kernels::GemmSplit::kColumns;
    return g;
  }

  // Has more elements than memory, such as a `full`: packed, it would need memory that nobody gave it.
  static bool repeats(const Operand& o) {
    const Extent e = extent_of(o);
    return o.numel() * o.element() > e.end - e.begin;
  }

  // b as the GEMM reads it.
  void pack(const Memory* memory) {
    gemm_.b_packed = true;
    gemm_.b_row = gemm_.b_col = 1;
    if (memory == nullptr) return;
    const Product& p = record_.product;
    packed_ = Tensor::empty({kernels::gemm_packed_size<T>(p.k, p.n)}, dtype_of<T>);
    kernels::gemm_pack(p.k, p.n, reinterpret_cast<const T*>(memory->address(record_.operands[kB])), p.b_row, p.b_col,
                       static_cast<T*>(packed_.raw()));
  }

  kernels::Gemm<T> gemm_;
  TileProgram epilogue_;
  Tensor packed_;
  size_t own_scratch_ = 0;
};

template <class T>
void ProductKernel<T>::footprints(int rank, int size, std::vector<Footprint>& out) const {
  const kernels::GemmPart p = kernels::gemm_part(with_split(), rank, size);
  const Rect r{p.m0, p.m1, p.n0, p.n1};
  const auto matrix = [&](const Operand& o, int64_t row0, int64_t row1, int64_t row, int64_t col0, int64_t col1,
                          int64_t col) {
    if (row0 >= row1 || col0 >= col1) return;
    if (row < 0 || col < 0 || (row != 1 && col != 1)) return out.push_back(whole(o));
    const bool by_row = col == 1;  // pieces are rows
    Footprint f{o.space, o.index, o.offset + (row0 * row + col0 * col) * o.element(), 0, 1, 0, o.written};
    f.rows = by_row ? row1 - row0 : col1 - col0;
    f.width = (by_row ? col1 - col0 : row1 - row0) * o.element();
    f.pitch = (by_row ? row : col) * o.element();
    if (f.width == f.pitch) {
      f.width *= f.rows;
      f.rows = 1;
    }
    out.push_back(f);
  };
  if (p.batch0 >= p.batch1) return;
  const std::vector<Operand>& o = record_.operands;
  matrix(o[kA], r.row0, r.row1, gemm_.a_row, 0, gemm_.k, gemm_.a_col);
  if (!gemm_.b_packed) matrix(o[kB], 0, gemm_.k, gemm_.b_row, r.col0, r.col1, gemm_.b_col);
  matrix(o[kC], r.row0, r.row1, gemm_.c_row, r.col0, r.col1, gemm_.c_col);
  if (o[kBias].given()) out.push_back(whole(o[kBias]));
  for (size_t k = 0; k < epilogue_.externals.size(); k++) out.push_back(operand_part(epilogue_, k, r));
}

template <class T>
std::string ProductKernel<T>::detail() const {
  std::string text = std::to_string(gemm_.m) + "x" + std::to_string(gemm_.k) + "x" + std::to_string(gemm_.n) +
                     (gemm_.a_col == 1 || gemm_.k == 1 ? " N" : " T") +
                     (gemm_.b_packed     ? " packed"
                      : gemm_.b_col == 1 ? "N"
                                         : "T");
  if (record_.operands[kBias].given()) text += " bias";
  if (record_.product.relu) text += " relu";
  if (!epilogue_.code.empty()) text += "; " + code_text(epilogue_);
  return text;
}

}  // namespace

std::unique_ptr<Kernel> make_product_kernel(const Record& record, const Memory* memory) {
  if (record.operands[kC].dtype == kF32) return std::make_unique<ProductKernel<float>>(record, memory);
  return std::make_unique<ProductKernel<double>>(record, memory);
}

}  // namespace ingot::graph
