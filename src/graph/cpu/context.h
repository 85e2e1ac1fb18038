// The CPU's interpreter: an Executable is a Program with its kernels, immutable; a Context is what one run of it needs.
#pragma once
#include <atomic>
#include <deque>
#include <exception>
#include <memory>
#include <span>
#include <vector>

#include "graph/company.h"
#include "graph/cpu/kernel.h"
#include "graph/loop.h"
#include "graph/lower.h"
#include "graph/memory.h"
#include "ingot/base/tensor.h"
#include "ingot/graph/program.h"

namespace ingot::graph {

/// Everything that contexts share. Stays where it was made: kernels look at their records.
struct Executable {
  struct Spare {  // scratch that is not in the arena: the program was made on a machine whose kernels need less
    size_t record = 0, offset = 0, bytes = 0;
  };
  Program program;
  Memory memory;
  std::vector<std::unique_ptr<Kernel>> kernels;
  std::vector<Spare> spares;
  size_t spare_bytes = 0;
  size_t own_scratch = 0;  // bytes of each member
  size_t kept_bytes = 0;   // of kernels
  bool check_numerics = false;

  size_t scratch_bytes(int threads) const { return own_scratch * static_cast<size_t>(threads) + spare_bytes; }
  /// The first slab of the user's that the program writes, or null.
  const Program::Slab* writes() const;
  /// The name of elements of the user's that the program looks at and that live elsewhere by now, or null.
  const std::string* moved() const;
};

/// Makes the kernels of a program and shares its records out among `threads`.
std::shared_ptr<Executable> make_executable(Lowered lowered, int threads);

class Context {
 public:
  /// For a team of `threads`: that of the program, or 1.
  Context(std::shared_ptr<const Executable> executable, int threads);
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  /// One run: checks inputs, walks the records; the results live until the next one. Allocates nothing.
  std::span<const Tensor> run(std::span<const Tensor* const> inputs);
  /// The parts of it, for the profiler.
  void bind(std::span<const Tensor* const> inputs);
  void before();
  void walk();
  void after();

  const Executable& executable() const { return *executable_; }
  int threads() const { return threads_; }
  std::span<const Launch> launches() const { return launches_; }
  bool failed() const { return failure_ != nullptr; }
  std::span<const Tensor> outputs() const { return outputs_; }
  size_t staged_bytes() const;
  /// An operand of this context as a tensor.
  Tensor tensor(const Operand& operand) const;

 private:
  friend class Busy;
  struct Move {  // something that looks at an input, `offset` bytes from its start
    Tensor* tensor;
    void** slot;
    int input;
    int64_t offset;
  };
  struct Seeded {  // constants of a record whose seed each run says
    Attrs attrs;
    Prepared block;
  };
  struct Early {  // a record that does something before the walk
    const Record* record;
    const Frame* frame;
    Seeded* seeded;  // null if there is none
  };
  /// Where the operands of a loop's body are.
  struct Body {
    const Record& loop;
    const LoopLayout& layout;
    const Body* outer;  // null: the plan
    const Tensor& block;
    std::byte* scratch;
  };
  /// An operand as a tensor; if it is in an input of the plan, which, and how far from its start.
  struct Place {
    Tensor tensor;
    int input = -1;
    int64_t offset = 0;
  };
  Place find(const Operand& operand, const Body* body) const;
  static void part_checks(std::span<Launch> launches);
  void place(const Record& record, Launch& launch, const Body* body, std::byte* shared, const Tensor& block);
  void place_body(const Record& record, const Kernel& kernel, Frame& frame, const Body* outer, const Tensor& block);
  void find_written();
  void check_moved();
  void touch_pages() const;
  void walk_checked();
  void check_numbers(const Record& record) const;

  std::shared_ptr<const Executable> executable_;
  int threads_;
  Tensor arena_, results_, scratch_;
  std::vector<void*> addresses_;
  std::vector<Tensor> tensors_;
  std::vector<const Tensor*> pointers_;
  std::deque<Seeded> seeded_;
  std::vector<Launch> launches_;
  std::deque<LoopFrame> loops_;
  std::vector<Move> moves_;
  std::vector<Early> early_;
  std::vector<Tensor> outputs_, inputs_;  // inputs: stand-ins, until a run says where they are
  std::vector<Tensor> staged_;            // contiguous copies of strided inputs
  std::vector<void*> base_;               // where the inputs of this run are
  std::vector<size_t> input_bytes_;
  // Memory that a run writes and that an input may lie in: results of the last run, tensors of the user's.
  std::vector<std::pair<const std::byte*, const std::byte*>> written_;
  uint64_t seen_moves_ = 0;  // move_count() when the memory of the user's was last looked at
  std::exception_ptr failure_;
  Company company_;
  std::atomic<bool> running_{false};
};

/// One run of a context at a time.
class Busy {
 public:
  explicit Busy(Context& context);
  ~Busy() { context_.running_.store(false, std::memory_order_release); }
  Busy(const Busy&) = delete;
  Busy& operator=(const Busy&) = delete;

 private:
  Context& context_;
};

}  // namespace ingot::graph
