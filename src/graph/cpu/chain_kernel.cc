#include "graph/cpu/chain_kernel.h"

#include <algorithm>
#include <cstring>
#include <tuple>

namespace ingot::graph {
namespace {

template <size_t kBytes>
void copy_tile(void* out, const void* const* in, unsigned, int64_t n, const double*) {
  std::memcpy(out, in[0], static_cast<size_t>(n) * kBytes);
}

TileFn copy_of(DType type) {
  switch (size_of(type)) {
    case 8: return copy_tile<8>;
    case 4: return copy_tile<4>;
    case 2: return copy_tile<2>;
    default: return copy_tile<1>;
  }
}

// The tile kernel's instruction for one call of an element-wise op, or for a copy.
TileProgram::Instruction instruction(const Chain::Instruction& from) {
  TileProgram::Instruction i;
  i.name = from.op->name;
  i.copies = from.op->role == OpRole::kCopy;
  i.fn = i.copies ? copy_of(from.type) : from.op->tile(from.type);
  i.chain = from.op->chain == nullptr ? nullptr : from.op->chain();
  i.type = from.type;
  i.inputs = from.inputs;
  std::copy(std::begin(from.in), std::end(from.in), i.in);
  i.out = from.out;
  for (int k = 0; k < from.attrs->size(); k++)
    if ((*from.attrs)[k].kind == Attr::Kind::kReal) i.params[i.param_count++] = (*from.attrs)[k].real;
  return i;
}

}  // namespace

TileProgram tile_program(const Record& record) {
  TileProgram program;
  const Chain& chain = record.chain;
  if (chain.code.empty()) return program;
  size_t externals = 0;
  program.code.reserve(chain.code.size());
  for (const Chain::Instruction& from : chain.code) {
    program.code.push_back(instruction(from));
    for (int k = 0; k <= from.inputs; k++) {
      const Chain::Slot& slot = k < from.inputs ? from.in[k] : from.out;
      if (slot.external) externals = std::max(externals, static_cast<size_t>(slot.index) + 1);
    }
  }
  const auto first = record.operands.begin() + chain.first;
  program.externals.assign(first, first + static_cast<std::ptrdiff_t>(externals));
  program.registers = chain.registers;
  program.prepare(chain.shape, chain.cut);
  return program;
}

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

Footprint operand_part(const TileProgram& program, size_t k, const Rect& r) {
  const Operand& t = program.externals[k];
  const int64_t pitch = program.pitch(static_cast<int>(k)), bytes = t.element();
  Footprint f = whole(t);
  if (program.rows() == 1) {
    if (t.is_contiguous() && t.numel() == program.cols()) {
      f.start += r.col0 * bytes;
      f.width = (r.col1 - r.col0) * bytes;
    }
  } else if (program.dense_columns(static_cast<int>(k)) && pitch == program.cols() * bytes &&
             t.numel() == program.rows() * program.cols()) {
    f.start += r.row0 * pitch + r.col0 * bytes;
    f.rows = r.row1 - r.row0;
    f.pitch = pitch;
    f.width = (r.col1 - r.col0) * bytes;
    if (f.width == pitch) {  // whole rows are one piece
      f.width *= f.rows;
      f.rows = 1;
    }
  } else if (pitch == 0 && t.is_contiguous() && t.numel() == program.cols()) {  // one row for all
    f.start += r.col0 * bytes;
    f.width = (r.col1 - r.col0) * bytes;
  }
  if (r.empty()) f.width = 0;
  return f;
}

namespace {

class ChainKernel final : public Kernel {
 public:
  explicit ChainKernel(const Record& r) : Kernel(r), program_(tile_program(r)) {}

  void run(const Frame& f, const Team& team) const override { program_.run(part(team.rank(), team.size()), f.at); }

  void footprints(int rank, int size, std::vector<Footprint>& out) const override {
    const Rect r = part(rank, size);
    for (size_t k = 0; k < program_.externals.size(); k++) out.push_back(operand_part(program_, k, r));
  }

  std::vector<Split> splits() const override {
    if (program_.rows() == 1) return {Split::kColumns};
    if (program_.cols() < 64) return {Split::kRows};
    return {Split::kRows, Split::kColumns};
  }

  std::string detail() const override { return size_text(program_) + code_text(program_); }

 private:
  Rect part(int rank, int size) const {
    const auto share = [&](int64_t n, int64_t grain) {
      const int64_t blocks = (n + grain - 1) / grain;
      return std::pair(std::min(n, blocks * rank / size * grain), std::min(n, blocks * (rank + 1) / size * grain));
    };
    Rect r{0, program_.rows(), 0, program_.cols()};
    if (size == 1) return r;
    if (record_.split == Split::kRows)
      std::tie(r.row0, r.row1) = share(program_.rows(), 1);
    else
      std::tie(r.col0, r.col1) = share(program_.cols(), 16);
    return r;
  }

  TileProgram program_;
};

}  // namespace

std::unique_ptr<Kernel> make_chain_kernel(const Record& record) { return std::make_unique<ChainKernel>(record); }

}  // namespace ingot::graph
