#include "graph/cpu/kernel.h"

namespace ingot::graph {

void Kernel::footprints(int, int, std::vector<Footprint>& out) const {
  for (const Operand& o : record_.operands)
    if (o.given()) out.push_back(whole(o));
}

// Another record's values may stand there as soon as this one is over.
void Kernel::add_shared_scratch(int team_size, std::vector<Footprint>& out) const {
  if (record_.scratch_bytes == 0) return;
  const auto bytes = static_cast<int64_t>(shared_scratch(team_size));
  out.push_back({Space::kArena, 0, record_.scratch_offset, 0, 1, std::min(bytes, record_.scratch_bytes), true});
}

std::vector<Tensor> layouts_of(const Record& record) {
  std::vector<Tensor> tensors;
  tensors.reserve(record.operands.size());
  for (const Operand& o : record.operands)
    tensors.push_back(o.given() ? Tensor::symbolic(&record, 0, o.dtype, o.shape, o.strides) : Tensor());
  return tensors;
}

std::unique_ptr<Kernel> make_kernel(const Record& record, const Memory* memory) {
  switch (record.kind) {
    case Record::Kind::kOp: return make_op_kernel(record);
    case Record::Kind::kCheck: return make_check_kernel(record);
    case Record::Kind::kChain: return make_chain_kernel(record);
    case Record::Kind::kFold: return make_fold_kernel(record);
    case Record::Kind::kProduct: return make_product_kernel(record, memory);
    case Record::Kind::kLoop: return make_loop_kernel(record);
  }
  return nullptr;
}

std::vector<std::unique_ptr<Kernel>> make_kernels(const Program& program, const Memory* memory) {
  std::vector<std::unique_ptr<Kernel>> kernels;
  kernels.reserve(program.records.size());
  for (const Record& r : program.records) kernels.push_back(make_kernel(r, memory));
  return kernels;
}

}  // namespace ingot::graph
