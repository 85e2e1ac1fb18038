// A compiled plan as a file: "INGOTPLN", a version, the Program, then the elements of constants and of frozen slabs.
// Numbers are little-endian 64-bit. How records are shared out among workers is not in it: whoever loads decides that
// for the machine at hand, as well as the layout of packed weights.
#include <algorithm>
#include <bit>
#include <cstring>
#include <deque>
#include <unordered_set>
#include <utility>

#include "graph/loop.h"
#include "graph/plan_impl.h"
#include "graph/schedule.h"
#include "graph/verify_program.h"
#include "ingot/base/error.h"
#include "ingot/base/file.h"
#include "ingot/base/machine.h"
#include "ingot/base/memory.h"
#include "ingot/base/threads.h"

namespace ingot {
namespace graph {
namespace {

static_assert(std::endian::native == std::endian::little, "plan files are written as they are in memory");

constexpr char kMagic[] = {'I', 'N', 'G', 'O', 'T', 'P', 'L', 'N'};
constexpr int64_t kVersion = 1;
constexpr uint64_t kMostElements = uint64_t{1} << 40;  // bytes of an arena, a slab, a constant: more is no plan
constexpr int64_t kMost = static_cast<int64_t>(kMostElements);

/// Attributes of a file's records: what Program::owner keeps.
struct Constants {
  std::deque<Attrs> attrs;
  std::unordered_set<std::string> texts;
};

// Both directions go over the same fields in the same order: `Writer` appends them, `Reader` fills them in.
class Writer {
 public:
  static constexpr bool kReads = false;
  std::vector<std::byte> bytes;
  void raw(const void* data, size_t size) {
    const auto* from = static_cast<const std::byte*>(data);
    bytes.insert(bytes.end(), from, from + size);
  }
  template <class T>
  void number(const T& value) {
    if constexpr (std::is_floating_point_v<T>) {
      const double d = value;
      raw(&d, 8);
    } else {
      const auto n = static_cast<int64_t>(value);
      raw(&n, 8);
    }
  }
  void text(const std::string& s) {
    number(s.size());
    raw(s.data(), s.size());
  }
  template <class T>
  void list(std::vector<T>& values, auto each) {
    number(values.size());
    for (T& v : values) each(v);
  }
};

class Reader {
 public:
  static constexpr bool kReads = true;
  explicit Reader(std::span<const std::byte> bytes) : rest_(bytes) {}
  [[noreturn]] static void fail(const std::string& what) {
    throw Error(ErrorKind::kFile, "plan file: " + what + " — it is damaged, or no file of Plan::save");
  }
  std::span<const std::byte> take(uint64_t size) {
    if (size > rest_.size()) fail("it ends too early");
    const auto part = rest_.first(size);
    rest_ = rest_.subspan(size);
    return part;
  }
  size_t left() const { return rest_.size(); }
  template <class T>
  void number(T& value) {
    const auto from = take(8);
    if constexpr (std::is_floating_point_v<T>) {
      double d = 0;
      std::memcpy(&d, from.data(), 8);
      value = static_cast<T>(d);
    } else {
      int64_t n = 0;
      std::memcpy(&n, from.data(), 8);
      if constexpr (std::is_same_v<T, bool>) {
        if (n != 0 && n != 1) fail("a number is out of range");
      } else if constexpr (std::is_enum_v<T>) {
        if (n < 0 || n > 255) fail("a number is out of range");
      } else if constexpr (!std::is_same_v<T, int64_t>) {
        if (!std::in_range<T>(n)) fail("a number is out of range");
      }
      value = static_cast<T>(n);
    }
  }
  void text(std::string& s) {
    uint64_t size = 0;
    number(size);
    const auto from = take(size);
    s.assign(reinterpret_cast<const char*>(from.data()), from.size());
  }
  template <class T>
  void list(std::vector<T>& values, auto each) {
    uint64_t count = 0;
    number(count);
    if (count > rest_.size() / 8) fail("it ends too early");  // each takes 8 bytes at least
    values.resize(count);
    for (T& v : values) each(v);
  }

 private:
  std::span<const std::byte> rest_;
};

// Memory of the file's own for `bytes`, filled from it.
Block own_block(Reader& in, int64_t bytes) {
  const auto from = in.take(static_cast<uint64_t>(bytes));
  const Tensor t = Tensor::empty({bytes}, kU8);
  if (bytes > 0) std::memcpy(t.raw(), from.data(), from.size());
  return {static_cast<std::byte*>(t.raw()), static_cast<size_t>(bytes), {t}};
}

template <class Stream>
class Format {
 public:
  Format(Stream& stream, Constants& constants) : s_(stream), constants_(constants) {}

  void program(Program& p) {
    s_.text(p.name);
    for (size_t* n : {&p.arena_bytes, &p.live_peak, &p.output_bytes}) size(*n);
    s_.number(p.in_place);
    s_.number(p.threads);
    s_.list(p.inputs, [&](Program::Input& i) {
      s_.text(i.name);
      type(i.dtype);
      dims(i.shape);
      check_shape(i.shape);
    });
    s_.list(p.slabs, [&](Program::Slab& b) { slab(b); });
    s_.list(p.constants, [&](int64_t& n) {
      s_.number(n);
      if (n < 0 || static_cast<uint64_t>(n) > kMostElements) refuse("a constant has an impossible size");
    });
    s_.list(p.buffers, [&](Buffer& b) {
      s_.text(b.name);
      size(b.bytes);
      size(b.offset);
      type(b.dtype);
      s_.number(b.first);
      s_.number(b.last);
      s_.number(b.shared);
    });
    s_.list(p.records, [&](Record& r) { record(r); });
    s_.list(p.outputs, [&](Program::Output& o) {
      s_.text(o.name);
      operand(o.operand);
    });
  }

 private:
  void refuse(const char* what) {
    if constexpr (Stream::kReads) Reader::fail(what);
  }
  void size(size_t& n) {
    s_.number(n);
    if (n > kMostElements) refuse("a size is impossible");
  }
  template <class E>
  void choice(E& value, E last) {
    s_.number(value);
    if (value > last) refuse("a number is out of range");
  }
  void type(DType& t) { choice(t, kBF16); }

  void dims(Dims& d) {
    int count = d.size();
    s_.number(count);
    if (count < 0 || count > kMaxRank) refuse("a shape has too many axes");
    if constexpr (Stream::kReads) d = Dims::filled(count, 0);
    for (int64_t& n : d) s_.number(n);
  }

  void slab(Program::Slab& b) {
    s_.text(b.name);
    s_.number(b.bytes);
    if (b.bytes < 0 || static_cast<uint64_t>(b.bytes) > kMostElements) refuse("a slab has an impossible size");
    type(b.dtype);
    choice(b.role, Role::kState);
    s_.number(b.written);
    s_.number(b.frozen);
    if (b.written && b.frozen) refuse("a slab is frozen and written");
    s_.list(b.parts, [&](Program::Slab::Part& part) {
      s_.text(part.name);
      s_.number(part.offset);
      s_.number(part.numel);
    });
  }

  void operand(Operand& o) {
    choice(o.space, Space::kBlock);
    s_.number(o.written);
    type(o.dtype);
    s_.number(o.index);
    s_.number(o.offset);
    s_.number(o.buffer);
    dims(o.shape);
    dims(o.strides);
    if constexpr (Stream::kReads) check_layout(o);
  }

  // No number of a layout is so large that arithmetic on it could overflow.
  static void check_layout(const Operand& o) {
    bool fits = o.shape.size() == o.strides.size() && o.offset >= 0 && o.offset <= kMost;
    int64_t reach = 1;
    for (int a = 0; fits && a < o.shape.size(); a++) {
      const int64_t size = o.shape[a], stride = o.strides[a];
      fits = size >= 0 && size <= kMost / reach && stride >= -kMost && stride <= kMost &&
             size <= kMost / std::max<int64_t>(1, std::abs(stride));
      reach *= std::clamp<int64_t>(size, 1, kMost / reach);
    }
    if (!fits) Reader::fail("an operand's layout is out of range");
  }

  static void check_shape(const Dims& shape) {
    if constexpr (Stream::kReads) check_layout({.shape = shape, .strides = Dims::filled(shape.size(), 0)});
  }

  void record(Record& r) {
    choice(r.kind, Record::Kind::kLoop);
    s_.text(r.label);
    s_.number(r.position);
    s_.list(r.operands, [&](Operand& o) { operand(o); });
    s_.number(r.scratch_offset);
    s_.number(r.scratch_bytes);
    if constexpr (Stream::kReads)
      if (std::min(r.scratch_offset, r.scratch_bytes) < 0 || std::max(r.scratch_offset, r.scratch_bytes) > kMost)
        Reader::fail("scratch is out of range");
    for (double* d : {&r.flops, &r.bytes, &r.cost_ns}) s_.number(*d);
    if (r.kind == Record::Kind::kOp || r.kind == Record::Kind::kCheck) {
      op(r.op, r.attrs);
      s_.number(r.inputs);
      s_.number(r.results);
      s_.number(r.seeded);
      s_.number(r.check_first);
      if (r.inputs < 0 || r.results < 0 || (r.check_first && r.op->check == nullptr)) refuse("an op is called wrongly");
      return;
    }
    if (r.kind == Record::Kind::kLoop) return loop(r);
    Chain& c = r.chain;
    s_.number(c.first);
    s_.number(c.registers);
    dims(c.shape);
    check_shape(c.shape);
    s_.number(c.cut);
    s_.list(c.code, [&](Chain::Instruction& i) {
      op(i.op, i.attrs);
      type(i.type);
      s_.number(i.inputs);
      for (Chain::Slot* slot : {&i.in[0], &i.in[1], &i.in[2], &i.out}) {
        s_.number(slot->index);
        s_.number(slot->external);
      }
    });
    choice(r.reduction.fold, Fold::kMin);
    choice(r.reduction.along, Reduction::Along::kAll);
    s_.number(r.reduction.block);
    Product& g = r.product;
    for (int64_t* n : {&g.m, &g.n, &g.k, &g.a_row, &g.a_col, &g.b_row, &g.b_col, &g.c_row}) s_.number(*n);
    if (std::max({g.m, g.n, g.k}) > INT32_MAX || std::min({g.m, g.n, g.k}) < 0) refuse("a product is out of range");
    s_.number(g.relu);
    s_.number(g.constant_b);
  }

  // A body is written like the program that it is in, with its constants behind it.
  void loop(Record& r) {
    if constexpr (Stream::kReads) r.loop = std::make_shared<Loop>();
    if (++depth_ > 16) refuse("loops are nested too deeply");
    s_.number(r.inputs);
    s_.number(r.results);
    if (r.inputs < 0 || r.results < 0) refuse("a loop is called wrongly");
    choice(r.loop->stop, LoopOptions::Stop::kCount);
    s_.number(r.loop->must_stop);
    s_.number(r.loop->epsilon);
    s_.number(r.loop->most);
    program(r.loop->body);
    for (size_t i = 0; i < r.loop->body.constants.size(); i++) {
      std::vector<Block>& blocks = r.loop->memory.constants;
      if constexpr (Stream::kReads)
        blocks.push_back(own_block(s_, r.loop->body.constants[i]));
      else
        s_.raw(blocks[i].base, blocks[i].bytes);
    }
    depth_--;
  }

  // An op by its name, its constants by name and kind.
  void op(const Op*& which, const Attrs*& attrs) {
    if constexpr (Stream::kReads) {
      std::string name;
      s_.text(name);
      which = find_op(name);
      if (which == nullptr)
        throw Error(ErrorKind::kFile, "plan file: no op is named \"" + name +
                                          "\" here — it was saved by a program with further ops, or a newer version");
      attrs = &constants_.attrs.emplace_back();
      read_attrs(*which, constants_.attrs.back());
    } else {
      s_.text(which->name);
      write_attrs(*which, *attrs);
    }
  }

  void write_attrs(const Op& op, const Attrs& attrs) {
    s_.number(attrs.size());
    for (int i = 0; i < attrs.size(); i++) {
      const Attr& a = attrs[i];
      if (a.kind == Attr::Kind::kPointer)
        throw Error("save: " + std::string(op.name) +
                    " calls a function of your program, which no file can hold — write it with ops, or compile again");
      s_.text(std::string(a.name));
      s_.number(a.kind);
      if (a.kind == Attr::Kind::kInt) s_.number(a.integer);
      if (a.kind == Attr::Kind::kReal) s_.number(a.real);
      if (a.kind == Attr::Kind::kText) s_.text(std::string(a.text));
      Dims ints = a.kind == Attr::Kind::kInts ? a.ints : Dims();
      if (a.kind == Attr::Kind::kInts) dims(ints);
    }
  }

  void read_attrs(const Op& op, Attrs& attrs) {
    int count = 0;
    s_.number(count);
    if (count < 0 || count > kMaxAttrs) refuse("a call has too many constants");
    for (int i = 0; i < count; i++) {
      std::string name, value;
      s_.text(name);
      const std::string_view kept = *constants_.texts.insert(name).first;
      auto kind = Attr::Kind::kInt;
      choice(kind, Attr::Kind::kText);
      int64_t integer = 0;
      double real = 0;
      Dims ints;
      switch (kind) {
        case Attr::Kind::kInt: s_.number(integer), attrs.set(kept, integer); break;
        case Attr::Kind::kReal: s_.number(real), attrs.set(kept, real); break;
        case Attr::Kind::kInts: dims(ints), attrs.set(kept, ints); break;
        case Attr::Kind::kText:
          s_.text(value);
          attrs.set(kept, std::string_view(*constants_.texts.insert(value).first));
          break;
        case Attr::Kind::kPointer: break;
      }
    }
    check_attrs(op, attrs);
  }

  // Names are unique, and types are types; ops look for the rest themselves, as they do for users.
  void check_attrs(const Op& op, const Attrs& attrs) {
    for (int i = 0; i < attrs.size(); i++)
      if (attrs.find(attrs[i].name) != &attrs[i]) refuse("a call has a constant twice");
    for (int i = 0; i < op.signature.attr_count(); i++) {
      const Signature::Attribute a = op.signature.attr(i);
      const Attr* given = attrs.find(a.name);
      if (a.type == AttrType::kDType && given != nullptr && given->kind == Attr::Kind::kInt &&
          (given->integer < 0 || given->integer > static_cast<int64_t>(kBF16)))
        refuse("a call has a type that is none");
    }
  }

  Stream& s_;
  Constants& constants_;
  int depth_ = 0;  // of loops
};

Block bind_slab(const Program& p, const Program::Slab& slab, const std::vector<NamedTensor>& bindings) {
  const std::string wants =
      "\"" + slab.name + "\" (" + name(slab.dtype) + ", " + std::to_string(slab.bytes) + " bytes)";
  for (const NamedTensor& b : bindings) {
    if (b.name != slab.name) continue;
    const Tensor& t = b.tensor;
    if (!t.defined() || t.is_symbolic() || !t.is_contiguous() || t.dtype() != slab.dtype ||
        t.numel() * static_cast<int64_t>(size_of(t.dtype())) != slab.bytes)
      throw Error(ErrorKind::kShape, p.name + ": load binds " + wants + ", given is " +
                                         (t.defined() ? std::string(name(t.dtype())) + " " + to_string(t.shape())
                                                      : std::string("an undefined tensor")) +
                                         " — give a contiguous tensor of that type and size");
    return {static_cast<std::byte*>(t.raw()), static_cast<size_t>(slab.bytes), {t}};
  }
  throw Error(p.name + ": the plan is bound to " + wants + ", which load was not given — pass it by that name");
}

// Slabs are apart from each other in memory, or barriers could not be trusted.
void check_apart(const Program& p, const Memory& memory) {
  for (size_t i = 0; i < memory.slabs.size(); i++)
    for (size_t j = 0; j < i; j++) {
      const Block &a = memory.slabs[i], &b = memory.slabs[j];
      if (a.base < b.base + b.bytes && b.base < a.base + a.bytes)
        throw Error(p.name + ": \"" + p.slabs[i].name + "\" and \"" + p.slabs[j].name +
                    "\" are given the same memory — bind a tensor of its own to each");
    }
}

// Memory that is not in the file must be what records use.
void check_sizes(const Program& p) {
  size_t arena = 0;
  for (const Buffer& b : p.buffers) arena = std::max(arena, b.offset + b.bytes);
  for (const Record& r : p.records) arena = std::max(arena, static_cast<size_t>(r.scratch_offset + r.scratch_bytes));
  size_t outputs = 0;
  for (const Record& r : p.records)
    for (const Operand& o : r.operands)
      if (o.space == Space::kOutput) outputs = std::max(outputs, static_cast<size_t>(extent_of(o).end));
  if (p.arena_bytes > arena + 64 || p.output_bytes > outputs + 64)
    Reader::fail("it asks for memory that it does not use");
}

void find_rows(Program& p) {
  for (Record& r : p.records) {
    if (r.kind == Record::Kind::kOp) r.rows = rows_of(r);
    if (r.loop != nullptr) find_rows(r.loop->body);
  }
}

// Inside a loop nothing can be added.
void check_body_scratch(std::span<const std::unique_ptr<Kernel>> kernels, int threads) {
  for (const auto& kernel : kernels) {
    for (const auto& k : kernel->body())
      if (k->shared_scratch(threads) > static_cast<size_t>(k->record().scratch_bytes))
        throw Error(ErrorKind::kFile,
                    "plan file: a loop in it was laid out for a machine whose kernels need less memory "
                    "— compile and save the plan again");
    check_body_scratch(kernel->body(), threads);
  }
}

// Scratch that this machine's kernels need beyond what the file reserved gets room of its own.
void reserve_spares(Executable& e) {
  for (size_t i = 0; i < e.kernels.size(); i++) {
    const size_t need = e.kernels[i]->shared_scratch(e.program.threads);
    if (need <= static_cast<size_t>(e.program.records[i].scratch_bytes)) continue;
    e.spares.push_back({i, e.spare_bytes, need});
    e.spare_bytes += (need + 63) / 64 * 64;
  }
}

// A small file can ask for any amount of memory: more than the caller allows, or this machine has, is refused.
void check_room(const Executable& e, size_t limit) {
  const Program& p = e.program;
  const uint64_t most = limit > 0 ? limit : machine_info().ram_bytes;
  const uint64_t need = p.arena_bytes + p.output_bytes + e.kept_bytes + e.scratch_bytes(p.threads);
  if (most > 0 && need > most)
    throw Error(ErrorKind::kMemory, p.name + ": the plan needs " + format_bytes(need) + ", " +
                                        (limit > 0 ? "the limit is " : "this machine has ") + format_bytes(most));
}

}  // namespace
}  // namespace graph

std::vector<std::byte> Plan::to_bytes() const {
  const graph::Executable& e = *impl().executable;
  graph::Program program = e.program;
  graph::Constants none;
  graph::Writer out;
  out.raw(graph::kMagic, sizeof graph::kMagic);
  out.number(graph::kVersion);
  graph::Format<graph::Writer>(out, none).program(program);
  for (size_t i = 0; i < program.constants.size(); i++)
    out.raw(e.memory.constants[i].base, e.memory.constants[i].bytes);
  for (size_t i = 0; i < program.slabs.size(); i++)
    if (program.slabs[i].frozen) out.raw(e.memory.slabs[i].base, e.memory.slabs[i].bytes);
  return std::move(out.bytes);
}

void Plan::save(const std::string& path) const { write_file(path, to_bytes()); }

std::vector<std::string> Plan::slabs() const {
  std::vector<std::string> names;
  for (const graph::Program::Slab& s : impl().program().slabs)
    if (!s.frozen) names.push_back(s.name);
  return names;
}

Plan Plan::from_bytes(std::span<const std::byte> bytes, const std::vector<NamedTensor>& bindings, size_t byte_limit) {
  graph::Reader in(bytes);
  if (std::memcmp(in.take(sizeof graph::kMagic).data(), graph::kMagic, sizeof graph::kMagic) != 0)
    graph::Reader::fail("it does not begin as a plan does");
  int64_t version = 0;
  in.number(version);
  if (version != graph::kVersion)
    throw Error(ErrorKind::kFile, "plan file: it has version " + std::to_string(version) + ", this program reads " +
                                      std::to_string(graph::kVersion) + " — compile and save the plan again");
  auto constants = std::make_shared<graph::Constants>();
  graph::Lowered lowered;
  graph::Program& p = lowered.program;
  graph::Format<graph::Reader>(in, *constants).program(p);
  p.owner = constants;
  const int threads_saved = p.threads;
  if (threads_saved < 1 || threads_saved > 256)
    graph::Reader::fail("it is laid out for an impossible number of threads");
  try {
    graph::verify(p, "plan file");
  } catch (const Error& e) {
    throw Error(ErrorKind::kFile, e.what());
  }
  graph::check_sizes(p);
  graph::find_rows(p);
  for (const int64_t size : p.constants) lowered.memory.constants.push_back(graph::own_block(in, size));
  for (const graph::Program::Slab& s : p.slabs)
    lowered.memory.slabs.push_back(s.frozen ? graph::own_block(in, s.bytes) : graph::bind_slab(p, s, bindings));
  if (in.left() != 0) graph::Reader::fail("more follows than a plan has");
  graph::check_apart(p, lowered.memory);

  auto impl = std::make_unique<Plan::Impl>();
  impl->options.name = p.name;
  const auto e = graph::make_executable(std::move(lowered), std::min(threads_saved, ingot::threads()));
  graph::check_body_scratch(e->kernels, e->program.threads);
  graph::reserve_spares(*e);
  graph::check_room(*e, byte_limit);
  impl->executable = e;
  impl->context = std::make_unique<graph::Context>(impl->executable, impl->program().threads);
  return Plan(std::move(impl));
}

Plan Plan::load(const std::string& path, const std::vector<NamedTensor>& bindings, size_t byte_limit) {
  InputFile file("load", path);
  std::vector<std::byte> bytes(file.size());
  file.read(bytes.data(), bytes.size());
  return from_bytes(bytes, bindings, byte_limit);
}

}  // namespace ingot
