// Steps: what a plan is a list of. Every member of the team calls run() of every (wide) step; tensors inside a step
// stand where the plan put them.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "graph/tile_program.h"
#include "ingot/op.h"
#include "ingot/threads.h"
#include "kernels/gemm.h"
#include "kernels/reduce.h"

namespace ingot::graph {

/// Memory that a member touches: `rows` pieces of `width` bytes, `pitch` bytes apart.
struct Footprint {
  uintptr_t start = 0;
  int64_t pitch = 0, rows = 1, width = 0;
  bool write = false;
};

/// The bytes between a tensor's first and last element, as one piece.
Footprint whole(const Tensor& t, bool write);

/// True if some byte is in both (errs towards true for different pitches).
bool meet(const Footprint& a, const Footprint& b);

/// How a step is shared out among the team.
enum class Split : uint8_t { kRows, kColumns };

class Step {
 public:
  virtual ~Step() = default;
  virtual void run(const Team& team) = 0;
  /// What member `rank` of a team of `size` reads and writes.
  virtual void footprints(int rank, int size, std::vector<Footprint>& out) const;
  /// The tensors it looks at; those of the plan's inputs move before each run.
  virtual void each_tensor(const std::function<void(Tensor&, bool written)>& visit) = 0;
  /// The ways in which it could be shared out; the scheduler picks one.
  virtual std::vector<Split> splits() const { return {}; }
  virtual void set_split(Split) {}
  /// Scratch of its own for every member: bytes, and where member 0's is; members' are `stride` bytes apart.
  virtual size_t private_scratch() const { return 0; }
  virtual void set_private_scratch(std::byte*, size_t /*stride*/) {}
  /// Scratch shared by the team.
  virtual size_t shared_scratch(int /*team_size*/) const { return 0; }
  virtual void set_shared_scratch(void*) {}
  /// Before the walk, on the caller's thread: checks values and may throw; draws seeds.
  virtual void before_run() {}
  /// What to print after the name in dump(): the instructions, the sizes.
  virtual std::string detail() const { return {}; }

  std::string name;  // scope and ops
  const char* kind = "op";
  double flops = 0, bytes = 0, cost_ns = 0;
  bool wide = false;     // shared by the team; else the first member alone does it
  bool barrier = false;  // all wait for each other before it
  bool asks = false;     // may find the plan's values wrong; then the walk ends
  int position = -1;
};

/// "axis=1, eps=1e-05": the constants of a call.
std::string attrs_text(const Attrs& attrs);

/// One op of the table.
class OpStep final : public Step {
 public:
  OpStep(const Op& op, const Attrs& attrs, std::vector<Tensor> inputs, std::vector<Tensor> outputs, Tensor seed);
  void run(const Team& team) override;
  void footprints(int rank, int size, std::vector<Footprint>& out) const override;
  void each_tensor(const std::function<void(Tensor&, bool)>& visit) override;
  size_t shared_scratch(int team_size) const override;
  void set_shared_scratch(void* scratch) override { scratch_ = scratch; }
  void before_run() override;
  std::string detail() const override;
  /// Are the values that the op checks there before the plan runs?
  void check_before_run() { check_ = true; }
  bool wants_before_run() const { return check_ || seed_.defined(); }
  ingot::Call call() const { return {op_, pointers_, attrs_}; }
  const Op& op() const { return op_; }
  std::span<const Tensor> outputs() const { return outputs_; }

 private:
  const Op& op_;
  Attrs attrs_;
  std::vector<Tensor> inputs_, outputs_;
  std::vector<const Tensor*> pointers_;
  Tensor seed_;
  void* scratch_ = nullptr;
  bool check_ = false, plain_;
  int64_t rows_ = 0;
};

/// Checks values that the plan computes, such as indices; the first member does it, and the walk ends if one is wrong.
class CheckStep final : public Step {
 public:
  explicit CheckStep(OpStep& of) : of_(of) {
    kind = "check";
    asks = true;
  }
  void run(const Team&) override;
  void each_tensor(const std::function<void(Tensor&, bool)>& visit) override;
  std::exception_ptr failure;

 private:
  OpStep& of_;
};

/// A chain of element-wise ops.
class FusedStep final : public Step {
 public:
  explicit FusedStep(TileProgram program) : program_(std::move(program)) { kind = "fused"; }
  void run(const Team& team) override;
  void footprints(int rank, int size, std::vector<Footprint>& out) const override;
  void each_tensor(const std::function<void(Tensor&, bool)>& visit) override;
  std::vector<Split> splits() const override;
  void set_split(Split split) override { split_ = split; }
  std::string detail() const override;

 private:
  Rect part(int rank, int size) const;
  TileProgram program_;
  Split split_ = Split::kColumns;
};

/// A chain whose last value is folded along rows (each row to one number), along columns, or altogether.
class FusedReduceStep final : public Step {
 public:
  enum class Along : uint8_t { kRows, kColumns, kAll };
  /// External `folded` of the program stands for the value to fold: its tensor has the strides of a block.
  FusedReduceStep(TileProgram program, int folded, kernels::Reduce reduce, Along along, double scale, Tensor result);
  /// The strides (in elements) of that tensor for a chain of this shape, whose columns begin at axis `cut`.
  static Dims block_strides(Along along, const Dims& shape, int cut);
  static constexpr int64_t kBlockElements = 4096, kWidth = 256;

  void run(const Team& team) override;
  void footprints(int rank, int size, std::vector<Footprint>& out) const override;
  void each_tensor(const std::function<void(Tensor&, bool)>& visit) override;
  size_t private_scratch() const override;
  void set_private_scratch(std::byte* scratch, size_t stride) override { scratch_ = scratch, stride_ = stride; }
  size_t shared_scratch(int) const override;
  void set_shared_scratch(void* scratch) override { partials_ = scratch; }
  std::string detail() const override;

 private:
  int64_t pieces() const;
  Rect piece(int64_t p) const;
  template <class T>
  void run_typed(const Team& team);
  template <class T>
  void fold_rows(int64_t row0, int64_t row1, T* block);
  template <class T>
  void fold_columns(int64_t col0, int64_t col1, T* block);
  TileProgram program_;
  int folded_;
  kernels::Reduce reduce_;
  Along along_;
  double scale_;
  Tensor result_;
  std::byte* scratch_ = nullptr;
  size_t stride_ = 0;
  void* partials_ = nullptr;
};

/// A matrix product with its epilogue: bias and activation in the kernel, a chain of element-wise ops on each member's
/// part of the result.
template <class T>
class GemmStep final : public Step {
 public:
  GemmStep(const kernels::Gemm<T>& gemm, Tensor a, Tensor b, Tensor c, Tensor bias, TileProgram epilogue);
  void run(const Team& team) override;
  void footprints(int rank, int size, std::vector<Footprint>& out) const override;
  void each_tensor(const std::function<void(Tensor&, bool)>& visit) override;
  std::vector<Split> splits() const override;
  void set_split(Split split) override;
  size_t private_scratch() const override { return kernels::gemm_scratch(gemm_, 1); }
  void set_private_scratch(std::byte* scratch, size_t stride) override { scratch_ = scratch, stride_ = stride; }
  std::string detail() const override;

 private:
  kernels::Gemm<T> gemm_;
  Tensor a_, b_, c_, bias_;
  TileProgram epilogue_;
  std::byte* scratch_ = nullptr;
  size_t stride_ = 0;
};

/// The tile kernel's instruction for one call of an element-wise op, without its slots.
TileProgram::Instruction instruction(const Op& op, const Attrs& attrs, int inputs, DType type);

}  // namespace ingot::graph
