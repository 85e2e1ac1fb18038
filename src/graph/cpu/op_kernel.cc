// Ops of the table, and checks of the values that they are called on.
#include <algorithm>

#include "graph/cpu/kernel.h"
#include "ingot/base/simd.h"
#include "ingot/ops/ops.h"
#include "ops/elementwise.h"

namespace ingot::graph {
namespace {

std::span<const Tensor* const> inputs_of(const Record& r, const Frame& f) {
  return {f.inputs, static_cast<size_t>(r.inputs)};
}

std::vector<const Tensor*> pointers_to(const std::vector<Tensor>& tensors, int count) {
  std::vector<const Tensor*> pointers;
  for (int i = 0; i < count; i++) pointers.push_back(&tensors[static_cast<size_t>(i)]);
  return pointers;
}

// An op's constants, decoded by the layouts of a record's operands.
class PreparedKernel : public Kernel {
 public:
  explicit PreparedKernel(const Record& r) : Kernel(r) {
    if (r.op->prepare == nullptr) return;
    const std::vector<Tensor> tensors = layouts_of(r);
    ingot::prepare({*r.op, pointers_to(tensors, r.inputs), *r.attrs}, block_);
  }
  const Prepared* prepared() const final { return &block_; }

 protected:
  /// The call as kernels want it.
  ingot::Call ready(const Frame& f) const { return {*record_.op, inputs_of(record_, f), *f.attrs, f.prepared}; }
  Prepared block_;
};

class OpKernel final : public PreparedKernel {
 public:
  explicit OpKernel(const Record& r)
      : PreparedKernel(r), plain_(simd() == Simd::kScalar && r.op->reference != nullptr) {}

  void run(const Frame& f, const Team& team) const override {
    const Op& op = *record_.op;
    const ingot::Call c = ready(f);
    const Tensor* out = f.tensors + record_.inputs;
    if (op.view != nullptr) {  // views are switched off, or one is stored
      if (team.rank() == 0) copy_into(out[0], op.view(c));
    } else if (plain_) {
      if (team.rank() == 0) op.reference(c, out);
    } else if (op.tile != nullptr) {
      run_tiles(op.tile(c.in(c.count() - 1).dtype()), c, tile_params(c), out[0], team);
    } else {
      op.run(c, out, f.shared, team);
    }
  }

  void footprints(int rank, int size, std::vector<Footprint>& out) const override {
    const std::vector<Operand>& operands = record_.operands;
    const int64_t rows = plain_ ? 0 : record_.rows;
    const int results = record_.inputs + record_.results;
    for (int i = 0; i < results; i++) {
      const Operand& o = operands[static_cast<size_t>(i)];
      if (!o.given()) continue;
      Footprint f = whole(o);
      const bool by_rows = i == 0 || o.written || o.shape == operands[static_cast<size_t>(record_.inputs)].shape;
      if (rows > 0 && by_rows && f.width > 0) {
        const int64_t row = f.width / rows, first = rows * rank / size, last = rows * (rank + 1) / size;
        f.start += first * row;
        f.width = (last - first) * row;
      }
      out.push_back(f);
    }
    add_shared_scratch(size, out);
  }

  size_t shared_scratch(int team_size) const override {
    const Op& op = *record_.op;
    if (op.scratch == nullptr || op.view != nullptr || plain_) return 0;
    const std::vector<Tensor> tensors = layouts_of(record_);
    return op.scratch({op, pointers_to(tensors, record_.inputs), *record_.attrs, &block_},
                      tensors.data() + record_.inputs, team_size);
  }

  std::string detail() const override {
    std::string text;
    for (int i = 0; i < record_.inputs; i++) {
      const Operand& o = record_.operands[static_cast<size_t>(i)];
      if (!text.empty()) text += ", ";
      text += o.given() ? to_string(o.shape) : std::string("-");
    }
    if (const std::string constants = attrs_text(*record_.attrs); !constants.empty()) text += "; " + constants;
    return text;
  }

 private:
  bool plain_;
};

class CheckKernel final : public PreparedKernel {
 public:
  using PreparedKernel::PreparedKernel;
  void run(const Frame& f, const Team&) const override {
    try {
      record_.op->check(ready(f));
    } catch (...) {
      *f.failure = std::current_exception();
    }
  }
};

}  // namespace

int64_t rows_of(const Record& r) {
  if (r.op->rows == nullptr) return 0;
  for (int i = 0; i < r.inputs + r.results; i++)
    if (const Operand& o = r.operands[static_cast<size_t>(i)]; o.given() && !o.is_contiguous()) return 0;
  const std::vector<Tensor> tensors = layouts_of(r);
  Prepared block;
  return r.op->rows(ingot::prepare({*r.op, pointers_to(tensors, r.inputs), *r.attrs}, block));
}

std::unique_ptr<Kernel> make_op_kernel(const Record& record) { return std::make_unique<OpKernel>(record); }
std::unique_ptr<Kernel> make_check_kernel(const Record& record) { return std::make_unique<CheckKernel>(record); }

}  // namespace ingot::graph
