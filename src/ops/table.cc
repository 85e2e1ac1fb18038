// The table and the public functions, from what tools/opgen.py found.
#include <array>

#include "ingot/error.h"
#include "ingot/op.h"
#include "ingot/ops.h"
#include "ops/call.h"

namespace ingot {
namespace {

// Inputs of a variadic op: the list, then the fixed ones.
class InputList {
 public:
  InputList(const Tensors& list, std::initializer_list<const Tensor*> fixed) {
    if (list.size() + fixed.size() > kMaxInputs)
      throw Error("inputs: " + std::to_string(list.size()) + " tensors given — at most " + std::to_string(kMaxInputs) +
                  " go into one call");
    for (size_t i = 0; i < list.size(); i++) pointers_[count_++] = &list[i];
    for (const Tensor* t : fixed) pointers_[count_++] = t;
  }
  operator std::span<const Tensor* const>() const { return {pointers_, count_}; }

 private:
  const Tensor* pointers_[kMaxInputs];
  size_t count_ = 0;
};

}  // namespace

#include "ops/table.inc"

std::span<const Op* const> all_ops() { return kTable; }

const Op* find_op(std::string_view name) {
  for (const Op* op : kTable)
    if (name == op->name) return op;
  return nullptr;
}

}  // namespace ingot
