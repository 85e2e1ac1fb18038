#include "graph/verify_program.h"

#include <algorithm>

#include "graph/fold_layout.h"
#include "graph/graph.h"
#include "graph/loop.h"
#include "graph/schedule.h"
#include "graph/tile_program.h"
#include "ingot/base/error.h"
#include "ops/call.h"

namespace ingot::graph {
namespace {

using Kind = Record::Kind;

// Sizes of a shape multiplied, or -1 if it is none or too large for any memory.
int64_t safe_numel(const Dims& shape) {
  int64_t n = 1;
  for (const int64_t size : shape)
    if (size < 0 || __builtin_mul_overflow(n, size, &n)) return -1;
  return n;
}

// Bytes of a space that were written, as disjoint intervals.
class Intervals {
 public:
  void add(int64_t begin, int64_t end) {
    if (begin >= end) return;
    auto at =
        std::lower_bound(list_.begin(), list_.end(), begin, [](const auto& i, int64_t b) { return i.second < b; });
    while (at != list_.end() && at->first <= end) {
      begin = std::min(begin, at->first);
      end = std::max(end, at->second);
      at = list_.erase(at);
    }
    list_.insert(at, {begin, end});
  }
  bool covers(int64_t begin, int64_t end) const {
    if (begin >= end) return true;
    const auto at = ending_after(begin);
    return at != list_.end() && at->first <= begin && end <= at->second;
  }
  bool meets(int64_t begin, int64_t end) const {
    const auto at = ending_after(begin);
    return at != list_.end() && at->first < end;
  }

 private:
  std::vector<std::pair<int64_t, int64_t>>::const_iterator ending_after(int64_t begin) const {
    return std::partition_point(list_.begin(), list_.end(), [&](const auto& i) { return i.second <= begin; });
  }
  std::vector<std::pair<int64_t, int64_t>> list_;
};

class Verifier {
 public:
  Verifier(const Program& program, const std::string& place, int depth) : p_(program), place_(place), depth_(depth) {}

  void run() {
    require(p_.threads >= 1 && p_.threads <= 256, "it is laid out for " + std::to_string(p_.threads) + " threads");
    check_buffers();
    int last = -1;
    for (const Record& r : p_.records) {
      record_ = &r;
      require(r.position == last + 1 || (r.position == last && after_check()), "it is out of order");
      last = r.position;
      check_operands(r);
      check_kind(r);
      check_memory(r);
      previous_ = &r;
    }
    record_ = nullptr;
    require(!after_check(), "it ends with a check");
    for (const Program::Output& o : p_.outputs) {
      require(o.operand.space == Space::kOutput || o.operand.space == Space::kBound,
              "a result is in no memory of its own");
      check_operand(o.operand);
      const Extent e = extent_of(o.operand);
      if (o.operand.space == Space::kOutput)
        require(results_.covers(e.begin, e.end), "result \"" + o.name + "\" is not computed");
    }
  }

 private:
  void require(bool good, const std::string& what) const {
    if (good) return;
    const std::string where =
        record_ == nullptr ? "" : "record " + std::to_string(record_->position) + " \"" + record_->label + "\": ";
    throw Error(ErrorKind::kInternal, place_ + ": " + where + what);
  }

  // Values that are alive together have memory of their own, but for one that takes over what its record read last.
  void check_buffers() {
    std::vector<const Buffer*> order;
    for (const Buffer& b : p_.buffers) {
      require(b.first >= 0 && b.first <= b.last, "value \"" + b.name + "\" ends before it begins");
      require(b.offset <= p_.arena_bytes && b.bytes <= p_.arena_bytes - b.offset,
              "value \"" + b.name + "\" is outside the arena");
      order.push_back(&b);
    }
    std::sort(order.begin(), order.end(), [](const Buffer* a, const Buffer* b) { return a->first < b->first; });
    std::vector<const Buffer*> alive;
    for (const Buffer* b : order) {
      std::erase_if(alive, [&](const Buffer* a) { return a->last < b->first; });
      for (const Buffer* a : alive) {
        const bool apart = a->offset + a->bytes <= b->offset || b->offset + b->bytes <= a->offset;
        const bool takes_over =
            b->shared && b->first == a->last && a->first < b->first && a->offset == b->offset && a->bytes == b->bytes;
        require(apart || takes_over || a->bytes == 0 || b->bytes == 0,
                "values \"" + a->name + "\" and \"" + b->name + "\" overlap while both are alive");
      }
      alive.push_back(b);
    }
  }

  int64_t size_of_space(const Operand& o) const {
    const auto at = [&](const auto& list, auto bytes) -> int64_t {
      require(o.index >= 0 && static_cast<size_t>(o.index) < list.size(), "an operand is in memory that is not there");
      return bytes(list[static_cast<size_t>(o.index)]);
    };
    switch (o.space) {
      case Space::kArena: return static_cast<int64_t>(p_.arena_bytes);
      case Space::kOutput: return static_cast<int64_t>(p_.output_bytes);
      case Space::kInput:
        return at(p_.inputs,
                  [](const Program::Input& i) { return safe_numel(i.shape) * static_cast<int64_t>(size_of(i.dtype)); });
      case Space::kBound: return at(p_.slabs, [](const Program::Slab& s) { return s.bytes; });
      case Space::kConstant: return at(p_.constants, [](int64_t bytes) { return bytes; });
      case Space::kNone:
      case Space::kBlock: break;
    }
    return 0;
  }

  void check_operand(const Operand& o) const {
    require(o.shape.size() == o.strides.size() || !o.given(), "an operand has other strides than axes");
    const int64_t numel = safe_numel(o.shape);
    require(numel >= 0 && numel < (int64_t{1} << 48), "an operand has an impossible shape " + to_string(o.shape));
    for (const int64_t stride : o.strides)
      require(stride > -(int64_t{1} << 44) && stride < (int64_t{1} << 44), "an operand has an impossible stride");
    for (int a = 0; a < o.shape.size(); a++) {
      int64_t reach = 0;
      require(!__builtin_mul_overflow(o.shape[a], o.strides[a] * 16, &reach), "an operand has an impossible stride");
    }
    require((o.space == Space::kArena) == (o.buffer >= 0), "an operand is not where its value is");
    if (!o.given() || o.space == Space::kBlock) return;
    const int64_t size = size_of_space(o);
    require(o.space != Space::kInput || o.dtype == p_.inputs[static_cast<size_t>(o.index)].dtype,
            "an operand is of another type than its input");
    const Extent e = extent_of(o);
    require(o.offset >= 0 && o.offset <= size && e.begin >= 0 && e.end <= size,
            "operand " + to_string(o.shape) + " is outside its memory");
    require(o.offset % o.element() == 0, "operand " + to_string(o.shape) + " is not aligned to its elements");
  }

  void check_operands(const Record& r) const {
    for (const Operand& o : r.operands) {
      check_operand(o);
      if (!o.written) continue;
      const bool may = o.space == Space::kArena || o.space == Space::kOutput || o.space == Space::kBlock ||
                       (o.space == Space::kBound && p_.slabs[static_cast<size_t>(o.index)].written);
      require(may, "it writes memory that is only read");
    }
  }

  Tensor layout(const Operand& o) const {
    return o.given() ? Tensor::symbolic(this, 0, o.dtype, o.shape, o.strides) : Tensor();
  }

  // What the op's own shape rule makes of inputs like these.
  Specs inferred(const Op& op, std::span<const Tensor> inputs, const Attrs& attrs) const {
    std::vector<const Tensor*> in;
    for (const Tensor& t : inputs) in.push_back(&t);
    require(static_cast<int>(in.size()) >= op.signature.least_inputs() &&
                static_cast<int>(in.size()) <= op.signature.most_inputs(),
            std::string(op.name) + " has another number of inputs");
    for (size_t i = 0; i < in.size(); i++)
      require(in[i]->defined() || op.signature.optional(static_cast<int>(i)), std::string(op.name) + " lacks an input");
    try {
      return infer({op, in, attrs});
    } catch (const Error& e) {
      require(false, e.what());
      throw;
    }
  }

  void check_kind(const Record& r) const {
    switch (r.kind) {
      case Kind::kOp: return check_op(r);
      case Kind::kCheck: return check_check(r);
      case Kind::kChain: return check_chain(r);
      case Kind::kFold: return check_fold(r);
      case Kind::kProduct: return check_product(r);
      case Kind::kLoop: return check_loop(r);
    }
    require(false, "no such kind of record");
  }

  void check_op(const Record& r) const {
    const auto count = static_cast<size_t>(r.inputs) + static_cast<size_t>(r.results) + (r.seeded ? 1 : 0);
    require(r.op != nullptr && r.inputs >= 0 && r.results >= 1 && r.operands.size() == count, "it lacks operands");
    const std::vector<Tensor> tensors = layouts_of(r);
    const Specs specs = inferred(*r.op, std::span(tensors).first(static_cast<size_t>(r.inputs)), *r.attrs);
    require(specs.count == r.results, "it has another number of results");
    for (size_t i = 0; i < r.operands.size(); i++) {
      const Operand& o = r.operands[i];
      const bool result =
          i >= static_cast<size_t>(r.inputs) && i < static_cast<size_t>(r.inputs) + static_cast<size_t>(r.results);
      require(o.written == result && o.space != Space::kBlock,
              "an operand is read where it should be written, or the reverse");
      if (!result) continue;
      const Spec& s = specs.of[i - static_cast<size_t>(r.inputs)];
      require(o.given() && o.dtype == s.dtype && o.shape == s.shape, "its result is " + std::string(name(o.dtype)) +
                                                                         " " + to_string(o.shape) + ", the op makes " +
                                                                         name(s.dtype) + " " + to_string(s.shape));
    }
    check_trust(r);
    if (!r.seeded) return;
    const Operand& seed = r.operands.back();
    require(seed.given() && seed.dtype == kI64 && seed.numel() == 1 && r.attrs->find("seed") != nullptr,
            "its seed is no i64 number");
  }

  // Values that an op trusts, such as indices, are looked at: before the first record, if no record writes them until it
  // runs, or by the record before it.
  void check_trust(const Record& r) const {
    if (r.op->check == nullptr) return;
    const auto inputs = std::span(r.operands).first(static_cast<size_t>(r.inputs));
    if (!r.check_first)
      return require(
          after_check() && previous_->op == r.op && same_attrs(*previous_->attrs, *r.attrs) &&
              std::equal(inputs.begin(), inputs.end(), previous_->operands.begin(), previous_->operands.end()),
          "nobody looks at the values that it trusts");
    for (const Operand& o : inputs) {
      if (!o.given() || is_float(o.dtype) || o.space == Space::kInput || o.space == Space::kConstant) continue;
      const auto slab = static_cast<size_t>(o.index);
      const Extent e = extent_of(o);
      require(o.space == Space::kBound && (slab >= stored_.size() || !stored_[slab].meets(e.begin, e.end)),
              "values that it trusts are looked at before they are there");
    }
  }
  bool after_check() const { return previous_ != nullptr && previous_->kind == Kind::kCheck; }

  void check_check(const Record& r) const {
    require(r.op != nullptr && r.op->check != nullptr && r.operands.size() == static_cast<size_t>(r.inputs) &&
                r.results == 0 && !r.seeded && !r.check_first,
            "it lacks operands");
    for (const Operand& o : r.operands) require(!o.written && o.space != Space::kBlock, "a check writes");
    const std::vector<Tensor> tensors = layouts_of(r);
    inferred(*r.op, tensors, *r.attrs);
  }

  void check_chain(const Record& r) const {
    check_code(r);
    check_overwrites(r);
    for (size_t i = static_cast<size_t>(r.chain.first); i < r.operands.size(); i++)
      require(r.operands[i].given() && (r.operands[i].space != Space::kBlock || r.kind == Kind::kFold),
              "a chain's operand is in no memory");
  }

  // Slots, types and shapes of a chain's instructions; registers are written before they are read.
  void check_code(const Record& r) const {
    const Chain& c = r.chain;
    require(!c.code.empty() && c.first >= 0 && static_cast<size_t>(c.first) <= r.operands.size(), "its chain is empty");
    require(safe_numel(c.shape) >= 0 && c.cut >= -1 && c.cut <= c.shape.size(), "its chain has no shape");
    const size_t externals = r.operands.size() - static_cast<size_t>(c.first) - (r.kind == Kind::kFold ? 1 : 0);
    require(externals <= TileProgram::kExternals && c.registers >= 0 && c.registers <= TileProgram::kRegisters,
            "its chain needs too much");
    std::vector<int> registers(static_cast<size_t>(c.registers), -1);  // types
    const Dims strides = contiguous_strides(c.shape);
    for (const Chain::Instruction& i : c.code) {
      const bool copies = i.op != nullptr && i.op->role == OpRole::kCopy;
      require(i.op != nullptr && (i.op->tile != nullptr || copies) && i.inputs >= 1 && i.inputs <= 3,
              "no element-wise instruction");
      std::vector<Tensor> in;
      for (int k = 0; k < i.inputs; k++) {
        const Chain::Slot& s = i.in[k];
        require(s.index >= 0 && static_cast<size_t>(s.index) < (s.external ? externals : registers.size()),
                "no such slot");
        if (s.external) {
          in.push_back(layout(r.operands[static_cast<size_t>(c.first) + static_cast<size_t>(s.index)]));
          require(in.back().defined() && broadcasts(in.back().shape(), c.shape), "an operand does not fit its chain");
        } else {
          const int type = registers[static_cast<size_t>(s.index)];
          require(type >= 0, "a register is read before it is written");
          in.push_back(Tensor::symbolic(this, 0, static_cast<DType>(type), c.shape, strides));
        }
      }
      require(in.back().dtype() == i.type && (copies || i.op->tile(i.type) != nullptr),
              "an instruction is of another type");
      const Specs specs = inferred(*i.op, in, *i.attrs);
      const Chain::Slot& out = i.out;
      require(out.index >= 0 && static_cast<size_t>(out.index) < (out.external ? externals : registers.size()),
              "no such slot");
      if (!out.external) {
        registers[static_cast<size_t>(out.index)] = static_cast<int>(specs.of[0].dtype);
        continue;
      }
      const Operand& o = r.operands[static_cast<size_t>(c.first) + static_cast<size_t>(out.index)];
      require(o.written && o.dtype == specs.of[0].dtype && o.shape == c.shape, "a result does not fit its chain");
    }
  }

  // Is an element of one in memory of an element of the other? Strided ones may lie side by side.
  static bool meets(const Operand& a, const Operand& b) {
    const Extent x = extent_of(a), y = extent_of(b);
    if (a.space == Space::kBlock || !x.meets(y)) return false;
    if (a.is_contiguous() && b.is_contiguous()) return true;
    const auto placed = [&](const Operand& o) {  // nobody reads what is there
      const auto address = static_cast<uintptr_t>(o.offset - std::min(x.begin, y.begin) / 64 * 64) + 64;
      return Tensor::wrap(reinterpret_cast<void*>(address), o.shape, o.dtype, o.strides);
    };
    return overlaps(placed(a), placed(b));
  }
  static bool coincide(const Operand& a, const Operand& b) {
    return a.offset == b.offset && a.shape == b.shape && a.element() == b.element() &&
           (a.strides == b.strides || (a.is_contiguous() && b.is_contiguous()));
  }

  // What a chain overwrites it has read before, element by element.
  void check_overwrites(const Record& r) const {
    const auto at = [&](const Chain::Slot& s) -> const Operand& {
      return r.operands[static_cast<size_t>(r.chain.first + s.index)];
    };
    for (size_t i = 0; i < r.chain.code.size(); i++) {
      const Chain::Slot& out = r.chain.code[i].out;
      if (!out.external) continue;
      for (size_t k = 0; k < r.chain.code.size(); k++)
        for (int j = 0; j < r.chain.code[k].inputs; j++) {
          const Chain::Slot& in = r.chain.code[k].in[j];
          if (!in.external || in.index == out.index || !meets(at(in), at(out))) continue;
          require(k <= i && coincide(at(in), at(out)), "it overwrites what it reads later or elsewhere");
        }
    }
  }

  static bool broadcasts(const Dims& from, const Dims& to) {
    const int shift = to.size() - from.size();
    for (int a = 0; a < from.size(); a++)
      if (shift < 0 || (from[a] != 1 && from[a] != to[a + shift])) return false;
    return true;
  }

  void check_fold(const Record& r) const {
    const Reduction& f = r.reduction;
    require(r.operands.size() >= 2 && f.fold != Fold::kNone, "its fold lacks operands");
    check_chain(r);
    const Dims& shape = r.chain.shape;
    const int cut = r.chain.cut;
    require(f.block >= r.chain.first && static_cast<size_t>(f.block) + 1 < r.operands.size(), "its fold has no block");
    require((f.along == Reduction::Along::kAll) == (cut < 0) && cut < shape.size(), "its fold is cut elsewhere");
    for (size_t i = static_cast<size_t>(r.chain.first); cut >= 0 && i + 1 < r.operands.size(); i++)
      require(TileProgram::merges(layout(r.operands[i]), shape, cut), "what its fold reads is in no columns");
    const Operand& block = r.operands[static_cast<size_t>(f.block)];
    const Operand& result = r.operands.back();
    const int blocks = static_cast<int>(
        std::count_if(r.operands.begin(), r.operands.end(), [](const Operand& o) { return o.space == Space::kBlock; }));
    require(block.space == Space::kBlock && blocks == 1 && block.strides == block_strides(f.along, shape, cut),
            "its fold has no block");
    int64_t rows = 1, cols = 1;
    for (int a = 0; a < shape.size(); a++) (cut >= 0 && a >= cut ? cols : rows) *= shape[a];
    const int64_t kept = f.along == Reduction::Along::kAll ? 1 : f.along == Reduction::Along::kRows ? rows : cols;
    require(result.written && result.space != Space::kBlock && result.dtype == block.dtype &&
                (result.dtype == kF32 || result.dtype == kF64) && result.numel() == kept && result.is_contiguous(),
            "its result does not fit the fold");
  }

  void check_product(const Record& r) const {
    const Product& g = r.product;
    require(r.operands.size() >= 4, "a product lacks operands");
    const Operand &a = r.operands[0], &b = r.operands[1], &c = r.operands[2], &bias = r.operands[3];
    for (const Operand* o : {&a, &b, &c})
      require(o->given() && o->space != Space::kBlock && o->dtype == c.dtype &&
                  (o->dtype == kF32 || o->dtype == kF64) && !o->shape.empty() && o->written == (o == &c),
              "a product's operand does not fit");
    const int rank = a.shape.size();
    const bool columns = b.shape.size() == 2 && b.shape[0] == g.k && b.shape[1] == g.n && g.b_row == b.strides[0] &&
                         g.b_col == b.strides[1];
    const bool rows = b.shape.size() == 2 && b.shape[1] == g.k && b.shape[0] == g.n && g.b_row == b.strides[1] &&
                      g.b_col == b.strides[0];
    require(g.k > 0 && g.m >= 0 && a.shape[rank - 1] == g.k && a.numel() == g.m * g.k && (columns || rows) &&
                g.a_row == (rank == 2 ? a.strides[0] : g.k) && g.a_col == a.strides[rank - 1] &&
                (rank == 2 || a.is_contiguous()),
            "a product's factors do not fit");
    require(c.numel() == g.m * g.n && c.is_contiguous() && g.c_row == g.n, "a product's result does not fit");
    require(!bias.given() || (bias.dtype == c.dtype && bias.numel() == g.n && bias.is_contiguous() && !bias.written &&
                              bias.space != Space::kBlock),
            "a product's bias does not fit");
    require(!g.constant_b || b.space == Space::kConstant ||
                (b.space == Space::kBound && p_.slabs[static_cast<size_t>(b.index)].frozen),
            "a product's factor is no constant");
    if (r.chain.code.empty()) return require(r.operands.size() == 4, "a product has operands that nobody reads");
    require(r.chain.first == 4, "a product's chain begins elsewhere");
    check_chain(r);
    require(!r.chain.shape.empty() && r.chain.shape.back() == g.n && safe_numel(r.chain.shape) == g.m * g.n &&
                r.chain.cut == r.chain.shape.size() - 1,
            "a product's chain has another shape");
  }

  void check_loop(const Record& r) const {
    const auto alike = [](const Operand& o, const auto& other) {
      return o.dtype == other.dtype && o.shape == other.shape;
    };
    require(r.loop != nullptr && r.inputs >= 1 && r.results >= 2 && r.results - 1 <= r.inputs && !r.seeded &&
                r.operands.size() == static_cast<size_t>(r.inputs) + static_cast<size_t>(r.results),
            "a loop lacks operands");
    const Program& body = r.loop->body;
    require(r.loop->most >= 1 && r.loop->epsilon >= 0 && r.loop->stop <= LoopOptions::Stop::kCount,
            "a loop has no stop rule");
    const auto carried = static_cast<size_t>(carried_by(r));
    require(body.inputs.size() == static_cast<size_t>(r.inputs) && body.outputs.size() == carried && body.slabs.empty(),
            "a loop's body has other inputs or results");
    for (size_t i = 0; i < r.operands.size(); i++) {
      const Operand& o = r.operands[i];
      const bool result = i >= body.inputs.size();
      require(o.given() && o.written == result && o.space != Space::kBlock && (!result || o.is_contiguous()),
              "a loop's operand does not fit");
      if (!result) require(alike(o, body.inputs[i]), "a loop's input does not fit its body");
    }
    for (size_t i = 0; i < carried; i++) {
      const Operand& made = body.outputs[i].operand;
      require(alike(made, body.inputs[i]) && alike(r.operands[body.inputs.size() + i], made) && made.is_contiguous(),
              "a loop's value changes its shape");
    }
    const Operand& rounds = r.operands.back();
    require(rounds.dtype == kI64 && rounds.numel() == 1, "a loop counts its rounds elsewhere");
    for (const Record& b : body.records)
      require(!b.seeded && !b.check_first, "a loop's body looks at values before it runs");
    require(depth_ < 16, "loops are nested too deeply");
    verify(body, place_ + ": loop \"" + body.name + "\"", depth_ + 1);
    const LoopLayout layout = layout_of(r, p_.threads);
    require(static_cast<int64_t>(layout.bytes) <= r.scratch_bytes, "a loop has too little memory for its body");
  }

  // Bytes that are read were written before, by a record that made the value; scratch is in nobody's way.
  void check_memory(const Record& r) {
    for (const Operand& o : r.operands) {
      const Extent e = extent_of(o);
      if (o.space == Space::kArena) check_in_buffer(r, o, e);
      if (o.space == Space::kOutput && !o.written)
        require(results_.covers(e.begin, e.end) || writes(r, e), "it reads a result before it is computed");
    }
    for (const Operand& o : r.operands) {
      const Extent e = extent_of(o);
      if (o.written && o.space == Space::kOutput) {
        require(!results_.meets(e.begin, e.end), "it writes a result that is there already");
        new_results_.emplace_back(e.begin, e.end);
      }
      if (o.written && o.space == Space::kArena) made_[static_cast<size_t>(o.buffer)] = true;
      if (o.written && o.space == Space::kBound) {
        stored_.resize(p_.slabs.size());
        stored_[static_cast<size_t>(o.index)].add(e.begin, e.end);
      }
    }
    for (const auto& [begin, end] : new_results_) results_.add(begin, end);
    new_results_.clear();
    if (r.scratch_bytes == 0) return;
    const int64_t begin = r.scratch_offset, end = begin + r.scratch_bytes;
    require(r.scratch_bytes > 0 && begin >= 0 && r.scratch_bytes <= static_cast<int64_t>(p_.arena_bytes) &&
                begin <= static_cast<int64_t>(p_.arena_bytes) - r.scratch_bytes && begin % 64 == 0,
            "its scratch is outside the arena");
    for (const Buffer& b : p_.buffers)
      require(r.position < b.first || r.position > b.last || b.bytes == 0 || end <= static_cast<int64_t>(b.offset) ||
                  static_cast<int64_t>(b.offset + b.bytes) <= begin,
              "its scratch overlaps value \"" + b.name + "\"");
  }

  static bool writes(const Record& r, const Extent& e) {
    return std::any_of(r.operands.begin(), r.operands.end(),
                       [&](const Operand& o) { return o.written && extent_of(o).covers(e); });
  }

  void check_in_buffer(const Record& r, const Operand& o, const Extent& e) {
    require(static_cast<size_t>(o.buffer) < p_.buffers.size(), "an operand is in no value");
    made_.resize(p_.buffers.size(), false);
    const Buffer& b = p_.buffers[static_cast<size_t>(o.buffer)];
    require(e.begin >= static_cast<int64_t>(b.offset) && e.end <= static_cast<int64_t>(b.offset + b.bytes),
            "operand " + to_string(o.shape) + " is outside its value \"" + b.name + "\"");
    require(o.dtype == b.dtype, "operand " + to_string(o.shape) + " is of another type than its value");
    if (o.written)
      require(r.position == b.first, "it writes value \"" + b.name + "\", which is another record's");
    else
      require(r.position <= b.last && (made_[static_cast<size_t>(o.buffer)] || (r.position == b.first && writes(r, e))),
              "it reads value \"" + b.name + "\" before it is written, or after it is gone");
  }

  const Program& p_;
  const std::string& place_;
  int depth_;  // of loops
  const Record* record_ = nullptr;
  const Record* previous_ = nullptr;
  Intervals results_;
  std::vector<std::pair<int64_t, int64_t>> new_results_;
  std::vector<bool> made_;         // by buffer
  std::vector<Intervals> stored_;  // by slab
};

}  // namespace

void verify(const Program& program, const std::string& place, int depth) { Verifier(program, place, depth).run(); }

void verify_barriers(const Program& program, const std::vector<std::unique_ptr<Kernel>>& kernels,
                     const std::string& place) {
  if (program.threads <= 1) return;
  Window window(program.threads);
  for (size_t i = 0; i < program.records.size(); i++) {
    const Record& r = program.records[i];
    const Touched touched = touched_by(*kernels[i], program.threads);
    if (r.barrier) window.clear();
    if (window.conflicts(touched))
      throw Error(ErrorKind::kInternal, place + ": record " + std::to_string(r.position) + " \"" + r.label +
                                            "\" needs a barrier: workers would meet in the same memory");
    window.add(touched);
  }
}

}  // namespace ingot::graph
