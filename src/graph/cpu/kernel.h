// The CPU's side of a record. A Kernel knows no address: contexts share it, and each hands over a Frame that says where
// the operands are.
#pragma once
#include <exception>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "graph/footprint.h"
#include "graph/memory.h"
#include "ingot/base/threads.h"
#include "ingot/graph/program.h"
#include "ingot/ops/op.h"

namespace ingot::graph {

struct LoopFrame;

/// What a record looks at in one context.
struct Frame {
  void** at = nullptr;                    // where its operands begin
  Tensor* tensors = nullptr;              // the same as tensors, for ops of the table
  const Tensor* const* inputs = nullptr;  // the first of them
  const Attrs* attrs = nullptr;           // the record's, or a copy with the seed of this run
  const Prepared* prepared = nullptr;     // the same, decoded
  void* shared = nullptr;                 // scratch of the team
  std::byte* own = nullptr;               // scratch of member 0; the others' are `stride` bytes apart
  size_t stride = 0;
  std::exception_ptr* failure = nullptr;  // where a check leaves what it found
  const LoopFrame* loop = nullptr;        // a loop's: its body
};

class Kernel {
 public:
  explicit Kernel(const Record& record) : record_(record) {}
  virtual ~Kernel() = default;
  Kernel(const Kernel&) = delete;
  Kernel& operator=(const Kernel&) = delete;

  /// Called by every member of the team if the record is wide, else by one alone. Allocates nothing, throws nothing.
  virtual void run(const Frame& frame, const Team& team) const = 0;
  /// What member `rank` of a team of `size` reads and writes. Too much costs a barrier, too little is a data race.
  virtual void footprints(int rank, int size, std::vector<Footprint>& out) const;
  /// The ways in which it could be shared out; the scheduler picks one and writes it into the record.
  virtual std::vector<Split> splits() const { return {}; }
  /// Bytes of scratch: for each member alone, and for the team together.
  virtual size_t own_scratch() const { return 0; }
  virtual size_t shared_scratch(int /*team_size*/) const { return 0; }
  /// Bytes that the kernel keeps, such as weights in a layout of its own.
  virtual size_t kept_bytes() const { return 0; }
  /// Constants of an op, decoded for all contexts; null for other records.
  virtual const Prepared* prepared() const { return nullptr; }
  /// Of a loop: shares the body out among `threads`; is it worth more than one?
  virtual void share_out(int /*threads*/) {}
  virtual bool worth_sharing() const { return true; }
  virtual std::span<const std::unique_ptr<Kernel>> body() const { return {}; }
  /// What to print after the label: sizes and instructions.
  virtual std::string detail() const { return {}; }
  const Record& record() const { return record_; }

 protected:
  void add_shared_scratch(int team_size, std::vector<Footprint>& out) const;
  const Record& record_;
};

/// One record in the walk.
struct Launch {
  const Kernel* kernel = nullptr;
  Frame frame;
  bool wide = false, barrier = false;
  bool check = false;  // may find values wrong; then the walk ends
};

/// A loop's body in one context.
struct LoopFrame {
  std::vector<Launch> launches;
  std::vector<Tensor> made;    // what a round makes
  std::vector<Tensor> staged;  // by input: its contiguous copy, if it needs one
  std::byte* marks = nullptr;
};

/// One member's walk over records that were shared out among `threads`; false if a check ended it.
inline bool walk_records(std::span<const Launch> launches, const Team& team, int threads,
                         const std::exception_ptr& failure) {
  const bool alone = team.size() == 1;
  for (const Launch& l : launches) {
    if (alone) {
      l.kernel->run(l.frame, Team());
    } else {
      if (l.barrier || team.size() != threads) team.barrier();  // barriers were left out for this many
      if (l.wide)
        l.kernel->run(l.frame, team);
      else if (team.rank() == 0)
        l.kernel->run(l.frame, Team());
    }
    if (l.check) {
      team.barrier();
      if (failure != nullptr) return false;
    }
  }
  return true;
}

/// The kernel of a record, which stays where it is. `memory` has the constants that a kernel may lay out anew; null if
/// only footprints are wanted.
std::unique_ptr<Kernel> make_kernel(const Record& record, const Memory* memory);
std::vector<std::unique_ptr<Kernel>> make_kernels(const Program& program, const Memory* memory);

/// Tensors that have the layout of a record's operands but no elements, for questions about shapes.
std::vector<Tensor> layouts_of(const Record& record);

/// Op::rows for a record of an op of the table; 0 if it does not share out rows.
int64_t rows_of(const Record& record);

std::unique_ptr<Kernel> make_op_kernel(const Record& record);
std::unique_ptr<Kernel> make_check_kernel(const Record& record);
std::unique_ptr<Kernel> make_chain_kernel(const Record& record);
std::unique_ptr<Kernel> make_fold_kernel(const Record& record);
std::unique_ptr<Kernel> make_product_kernel(const Record& record, const Memory* memory);
std::unique_ptr<Kernel> make_loop_kernel(const Record& record);

}  // namespace ingot::graph
