// Program: a plan as plain data. Records say what is computed, operands where: in which space, at which offset, in which
// layout. No address of this machine is in it, so it can be verified, drawn, saved, emitted, and run by any backend; the
// CPU's interpreter is in graph/cpu. For backends: no umbrella header includes it, and it makes no promise to users.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "ingot/base/dtype.h"
#include "ingot/base/export.h"
#include "ingot/base/shape.h"
#include "ingot/base/tensor.h"
#include "ingot/graph/loop.h"
#include "ingot/graph/plan.h"
#include "ingot/ops/op.h"

namespace ingot::graph {

enum class Space : uint8_t {
  kNone,      // an optional input that is not given
  kArena,     // temporaries
  kInput,     // what the caller passes; the index says which
  kOutput,    // results, which outlive the run
  kBound,     // memory of the user's; the index is the slab's
  kConstant,  // elements that never change; the index is the constant's
  kBlock,     // a worker's own block: what a fold's chain writes and the fold reads
};

/// A tensor without elements: where it begins and how it is laid out.
struct Operand {
  Space space = Space::kNone;
  bool written = false;
  DType dtype = kF32;
  int index = 0;
  int64_t offset = 0;  // bytes from the start of the space to the first element
  Dims shape, strides;
  int buffer = -1;  // kArena: which value it is, of the Program's buffers

  bool given() const { return space != Space::kNone; }
  INGOT_API int64_t numel() const;
  INGOT_API bool is_contiguous() const;
  int64_t element() const { return static_cast<int64_t>(size_of(dtype)); }
  bool operator==(const Operand&) const = default;
};

/// The bytes of a space from an operand's first element in memory to its last.
struct Extent {
  Space space = Space::kNone;
  int index = 0;
  int64_t begin = 0, end = 0;
  bool same_space(const Extent& e) const { return space == e.space && index == e.index; }
  bool meets(const Extent& e) const { return same_space(e) && begin < e.end && e.begin < end; }
  bool covers(const Extent& e) const { return same_space(e) && begin <= e.begin && end >= e.end; }
  bool operator==(const Extent&) const = default;
};
INGOT_API Extent extent_of(const Operand& operand);

/// Element-wise instructions on tiles that stay in the first cache.
struct Chain {
  /// What an instruction reads or writes: one of the chain's operands in memory, or a register.
  struct Slot {
    int index = -1;
    bool external = false;
  };
  struct Instruction {
    const Op* op = nullptr;
    const Attrs* attrs = nullptr;
    DType type = kF32;  // of the inputs (of a mask: of the others)
    int inputs = 0;
    Slot in[3], out;
  };
  std::vector<Instruction> code;
  int first = 0;  // external slot i is operand first + i of the record
  int registers = 0;
  Dims shape;    // of every result
  int cut = -1;  // axes from here on are columns, those before it rows; -1: as operands allow
};

/// What becomes of a chain's last value: each row, each column or all of it is folded to one number.
struct Reduction {
  enum class Along : uint8_t { kRows, kColumns, kAll };
  Fold fold = Fold::kSum;
  Along along = Along::kAll;
  int block = -1;  // the operand, in space kBlock, that the chain leaves the value in; the result is the last operand
};

/// c = relu(a·b + bias), strides in elements. Operands: a, b, c, bias (or none), then those of the chain that follows.
struct Product {
  int64_t m = 0, n = 0, k = 0;
  int64_t a_row = 0, a_col = 1, b_row = 0, b_col = 1, c_row = 0;
  bool relu = false;
  bool constant_b = false;  // b never changes: a backend may lay it out as it likes
};

struct Loop;

/// How a record is shared out among workers.
enum class Split : uint8_t { kRows, kColumns };

struct Record {
  enum class Kind : uint8_t {
    kOp,       // an op of the table
    kCheck,    // looks at values that an op checks, such as indices; the run ends if one is wrong
    kChain,    // element-wise instructions
    kFold,     // the same, and a reduction of what they make
    kProduct,  // a matrix product, and a chain on its result
    kLoop,     // rounds of a Program of its own
  };
  Kind kind = Kind::kOp;
  std::string label;  // scope and ops
  int position = -1;  // in the order of groups; a check has that of the op it looks at for
  std::vector<Operand> operands;

  // kOp, kCheck, kLoop: operands are the inputs, the results, then the seed if there is one.
  const Op* op = nullptr;
  const Attrs* attrs = nullptr;
  int inputs = 0, results = 0;
  bool seeded = false;       // the last operand holds the seed
  bool check_first = false;  // values that the op checks are there before the first record
  int64_t rows = 0;          // that the op shares out, see Op::rows

  Chain chain;
  Reduction reduction;
  Product product;
  std::shared_ptr<Loop> loop;

  Split split = Split::kRows;
  bool wide = false;                              // shared by the team; else the first member alone does it
  bool barrier = false;                           // all wait for each other before it
  int64_t scratch_offset = 0, scratch_bytes = 0;  // of the arena, shared by the team
  double flops = 0, bytes = 0, cost_ns = 0;

  INGOT_API const char* kind_name() const;
};

/// A value in the arena, for describe() and pictures.
struct Buffer {
  std::string name;
  size_t bytes = 0, offset = 0;
  int first = 0, last = 0;  // positions of records, both included
  bool shared = false;      // stands where an input of its record stood
  DType dtype = kF32;
};

struct Program {
  struct Input {
    std::string name;
    DType dtype = kF32;
    Dims shape;
  };
  struct Output {
    std::string name;
    Operand operand;
  };
  /// A block of memory of the user's.
  struct Slab {
    struct Part {  // a tensor in it that has a name
      std::string name;
      int64_t offset = 0, numel = 0;
    };
    std::string name;
    int64_t bytes = 0;
    DType dtype = kU8;
    Role role = Role::kOther;
    bool written = false, frozen = false;
    std::vector<Part> parts;
  };

  std::string name;
  std::vector<Record> records;
  std::vector<Input> inputs;
  std::vector<Output> outputs;
  std::vector<Slab> slabs;
  std::vector<int64_t> constants;  // bytes of each
  std::vector<Buffer> buffers;
  size_t arena_bytes = 0, live_peak = 0, output_bytes = 0;
  int threads = 1, in_place = 0, barriers = 0;
  std::shared_ptr<const void> owner;  // of the attributes: the graph that the program was made from, or a file's
};

/// A stretch of host memory, kept alive by the tensors that look at it.
struct Block {
  std::byte* base = nullptr;
  size_t bytes = 0;
  std::vector<Tensor> keep;
};

/// The elements that a Program refers to and that exist before it runs: memory of the user's, and constants.
struct Memory {
  std::vector<Block> slabs, constants;  // in the order of the Program's

  const Block& of(const Operand& o) const {
    return (o.space == Space::kBound ? slabs : constants)[static_cast<size_t>(o.index)];
  }
  std::byte* address(const Operand& o) const { return of(o).base + o.offset; }
};

/// What a record of kind kLoop does besides its operands: start values, what else the body reads, results, rounds.
struct Loop {
  LoopOptions::Stop stop = LoopOptions::Stop::kEqual;
  bool must_stop = true;
  double epsilon = 0;
  int64_t most = 0;
  Program body;   // its inputs are the values carried, then what else it reads; its results are the new values
  Memory memory;  // of the body's constants
};

/// What a plan is made of.
INGOT_API const Program& program_of(const Plan& plan);
INGOT_API const Memory& memory_of(const Plan& plan);

/// Which result has that name; an Error that lists the names if none has.
size_t output_index(const Program& program, std::string_view name);

/// "axis=1, eps=1e-05": the constants of a call.
INGOT_API std::string attrs_text(const Attrs& attrs);
std::string number_text(double value);

}  // namespace ingot::graph
