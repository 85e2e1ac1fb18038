// A Program as a C file: a function for every record (one for all that do the same), and one that calls them in order.
#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <tuple>

#include "exchange/c/data.h"
#include "exchange/c/forms.h"
#include "exchange/c/names.h"
#include "exchange/c/steps.h"
#include "ingot/base/error.h"
#include "ingot/base/file.h"
#include "ingot/base/numbers.h"
#include "ingot/base/text.h"
#include "ingot/exchange/c_source.h"

namespace ingot::exchange {
namespace {

using graph::Memory;
using graph::Program;
using graph::Space;
using Kind = Record::Kind;

constexpr int64_t kAlign = 64;

// Ops without a form ---------------------------------------------------------------------------------------------------

void count_missing(const Program& p, std::map<std::string, int>& missing) {
  for (const Record& r : p.records) {
    if ((r.kind == Kind::kOp || r.kind == Kind::kCheck) && !has_c_form(*r.op)) missing[r.op->name]++;
    for (const graph::Chain::Instruction& i : r.chain.code)
      if (find_element_form(i.op->name) == nullptr) missing[i.op->name]++;
    if (r.kind == Kind::kLoop) count_missing(r.loop->body, missing);
  }
}

void refuse_missing(const Program& p) {
  std::map<std::string, int> missing;
  count_missing(p, missing);
  if (missing.empty()) return;
  std::vector<std::string> list;
  list.reserve(missing.size());
  for (const auto& [op, count] : missing) list.push_back(op + (count > 1 ? " (" + str(count) + " times)" : ""));
  throw Error("to_c: " + p.name + " has steps that have no form in C: " + listed(list) +
              " — compose them of other ops, or save the plan for a program that has the library");
}

// A block of memory as an array of C: what its elements are, and how many.
struct Array {
  std::string name;
  DType type = kF32;
  bool mixed = false;  // of several types: an array of bytes inside a union that is aligned
  size_t bytes = 0;
  size_t count() const { return mixed ? bytes : bytes / size_of(type); }
  std::string element() const { return mixed ? "uint8_t" : value_type(type); }
};

// A stretch of constant memory.
struct Piece {
  graph::Extent extent;
  Array array;
};

// ---------------------------------------------------------------------------------------------------------------------

class Writer final : public Places {
 public:
  Writer(const Plan& plan, const CSourceOptions& options)
      : program_(graph::program_of(plan)),
        memory_(graph::memory_of(plan)),
        options_(options),
        file_(options.math),
        steps_(file_, *this) {
    name_ = c_file_name(options.name.empty() ? program_.name : options.name, "plan");
    refuse_missing(program_);
    name_slabs();
    name_arguments();
    find_arrays();
    find_direct_outputs();
  }

  CSource run() {
    steps_.write(program_);
    write_outputs();
    run_ = steps_.text();
    CSource c;
    c.name = name_;
    c.arena = arena_bytes();
    for (size_t i = 0; i < program_.slabs.size(); i++)
      if (is_state(i)) c.state += slabs_[i].bytes;
    c.constants = constant_bytes_;
    c.source = source(c);
    c.header = header(c);
    if (options_.weights_apart) c.weights = "#include \"" + name_ + ".h\"\n\n" + data_;
    return c;
  }

  // Places -------------------------------------------------------------------------------------------------------------

  std::string pointer(const Operand& o) override {
    const std::string type = std::string(o.written ? "" : "const ") + memory_type(o.dtype) + " *";
    const auto plus = [](const std::string& base, int64_t n) { return n == 0 ? base : base + " + " + str(n); };
    switch (o.space) {
      case Space::kArena: return "(" + type + ")(" + plus("arena", o.offset) + ")";
      case Space::kInput: {
        const size_t i = static_cast<size_t>(o.index);
        const std::string base = by_value(i) ? "&" + inputs_[i] : inputs_[i];
        return plus(base, o.offset / o.element());
      }
      case Space::kOutput: {
        if (o.index < 0) return outputs_[static_cast<size_t>(-1 - o.index)];
        for (const auto& [output, extent] : direct_)
          if (extent.begin <= extent_of(o).begin && extent_of(o).end <= extent.end)
            return plus(outputs_[output], (o.offset - extent.begin) / o.element());
        return "(" + type + ")(" + plus("arena", results_at() + o.offset) + ")";
      }
      case Space::kBound:
        if (is_state(static_cast<size_t>(o.index))) return part_of_state(slab(static_cast<size_t>(o.index)), o, type);
        return part_of_piece(o, type);
      case Space::kConstant: return part_of_piece(o, type);
      default: throw Error("to_c: an operand without memory");
    }
  }

  std::string scratch(const Record& r, int64_t bytes) override {
    int64_t at = r.scratch_offset;
    if (bytes > r.scratch_bytes) {
      at = extra_at();
      extra_bytes_ = std::max(extra_bytes_, bytes);
    }
    return "(arena + " + str(at) + ")";
  }

  const std::byte* elements(const Operand& o) const override {
    if (o.space == Space::kConstant) return memory_.address(o);
    if (o.space != Space::kBound || is_state(static_cast<size_t>(o.index))) return nullptr;
    return memory_.address(o);
  }

  std::string constant(const std::string& key, DType type, const std::string& comment,
                       std::vector<std::byte> bytes) override {
    std::string& name = laid_out_[key];
    if (!name.empty()) return name;
    const Array a{constant_name(), type, false, bytes.size()};
    name = a.name;
    add_data(a, bytes.data(), true, comment);
    return name;
  }

  std::string key(const Operand& o) const override {
    return str(static_cast<int>(o.space)) + " " + str(o.index) + " " + str(o.offset) + " " + to_string(o.shape) +
           to_string(o.strides);
  }

 private:
  // Names and places ----------------------------------------------------------------------------------------------------

  bool by_value(size_t input) const { return program_.inputs[input].shape.empty(); }
  // Memory that the plan or its user may change between two runs: all that is bound and not frozen.
  bool is_state(size_t slab) const { return !program_.slabs[slab].frozen; }

  // With all that the header declares.
  void name_slabs() {
    for (const char* end : {"_run", "_error", "_start", "_memory"}) globals_.insert(name_ + end);
    globals_.insert(arena_bytes_name());
    for (const Program::Slab& s : program_.slabs) {
      const std::string own = c_name(s.name, "memory");
      slab_names_.push_back(options_.own_memory ? c_name(cat(name_, "_", own), "memory", globals_)
                                                : c_name(own, "memory", members_));
    }
  }
  std::string arena_bytes_name() const { return upper(name_) + "_ARENA_BYTES"; }

  void name_arguments() {
    std::set<std::string> taken = globals_;
    for (size_t i = 0; i < program_.inputs.size(); i++)
      inputs_.push_back(c_name(program_.inputs[i].name, "input_" + str(static_cast<int64_t>(i)), taken));
    for (size_t i = 0; i < program_.outputs.size(); i++)
      outputs_.push_back(
          c_name(program_.outputs[i].name.empty() ? "output" : program_.outputs[i].name, "output", taken));
  }

  bool is_constant(const Operand& o) const {
    return o.space == Space::kConstant || (o.space == Space::kBound && !is_state(static_cast<size_t>(o.index)));
  }

  template <class F>
  void for_each_operand(F f) const {
    for (const Record& r : program_.records)
      for (const Operand& o : r.operands) f(o);
    for (const Program::Output& o : program_.outputs) f(o.operand);
  }

  // Elements of one type; of several, the memory is seen as bytes.
  static void add_type(Array& a, const Operand& o, int64_t begin, bool first) {
    if (first) a.type = o.dtype;
    const auto size = static_cast<int64_t>(size_of(o.dtype));
    a.mixed =
        a.mixed || a.type != o.dtype || (o.offset - begin) % size != 0 || static_cast<int64_t>(a.bytes) % size != 0;
  }

  // Memory that may change stays in one piece; of constants, what operands see together.
  void find_arrays() {
    for (const Program::Slab& s : program_.slabs) slabs_.push_back({"", s.dtype, false, static_cast<size_t>(s.bytes)});
    std::vector<bool> seen(slabs_.size());
    for_each_operand([&](const Operand& o) {
      if (is_constant(o) && o.numel() > 0) pieces_.push_back({extent_of(o), {}});
      if (o.space != Space::kBound || is_constant(o)) return;
      const auto i = static_cast<size_t>(o.index);
      add_type(slabs_[i], o, 0, !seen[i]);
      seen[i] = true;
    });
    const auto order = [](const Piece& p) { return std::tuple(p.extent.space, p.extent.index, p.extent.begin); };
    std::sort(pieces_.begin(), pieces_.end(), [&](const Piece& a, const Piece& b) { return order(a) < order(b); });
    std::vector<Piece> merged;
    for (const Piece& p : pieces_) {
      if (!merged.empty() && merged.back().extent.meets(p.extent))
        merged.back().extent.end = std::max(merged.back().extent.end, p.extent.end);
      else
        merged.push_back(p);
    }
    pieces_ = std::move(merged);
    std::vector<bool> typed(pieces_.size());
    for (Piece& p : pieces_) p.array.bytes = static_cast<size_t>(p.extent.end - p.extent.begin);
    for_each_operand([&](const Operand& o) {
      if (!is_constant(o) || o.numel() == 0) return;
      const size_t i = piece_of(o);
      add_type(pieces_[i].array, o, pieces_[i].extent.begin, !typed[i]);
      typed[i] = true;
    });
  }
  size_t piece_of(const Operand& o) const {
    const graph::Extent e = extent_of(o);
    size_t i = 0;
    while (!pieces_[i].extent.covers(e)) i++;
    return i;
  }

  // Results that records can write where the caller wants them: contiguous, and nobody else's memory.
  void find_direct_outputs() {
    for (size_t i = 0; i < program_.outputs.size(); i++) {
      const Operand& o = program_.outputs[i].operand;
      if (o.space != Space::kOutput || !o.is_contiguous() || o.numel() == 0) continue;
      const graph::Extent mine = extent_of(o);
      bool alone = true;
      for (size_t k = 0; k < program_.outputs.size(); k++)
        alone = alone && (k == i || !mine.meets(extent_of(program_.outputs[k].operand)));
      for (const Record& r : program_.records)
        for (const Operand& used : r.operands)
          alone = alone && (!mine.meets(extent_of(used)) || (mine.covers(extent_of(used)) && used.dtype == o.dtype));
      if (alone) direct_.emplace_back(i, mine);
    }
  }
  bool is_direct(size_t output) const {
    return std::any_of(direct_.begin(), direct_.end(), [&](const auto& d) { return d.first == output; });
  }
  // One area for all: the plan's arena, results that are not written straight to the caller's, further scratch.
  int64_t results_at() const { return static_cast<int64_t>(round_up(program_.arena_bytes, kAlign)); }
  bool keeps_results() const {
    return std::any_of(program_.outputs.begin(), program_.outputs.end(), [&](const Program::Output& o) {
      return o.operand.space == Space::kOutput && !is_direct(static_cast<size_t>(&o - program_.outputs.data()));
    });
  }
  int64_t extra_at() const {
    return results_at() + (keeps_results() ? static_cast<int64_t>(round_up(program_.output_bytes, kAlign)) : 0);
  }
  size_t arena_bytes() const {
    if (extra_bytes_ > 0) return static_cast<size_t>(extra_at() + extra_bytes_);
    return keeps_results() ? static_cast<size_t>(results_at()) + program_.output_bytes : program_.arena_bytes;
  }

  std::string constant_name() { return (options_.weights_apart ? name_ + "_w_" : "w_") + str(++constant_count_); }

  Array& slab(size_t i) {
    Array& a = slabs_[i];
    if (!a.name.empty()) return a;
    const Program::Slab& s = program_.slabs[i];
    const std::byte* data = memory_.slabs[i].base;
    a.name = slab_names_[i];
    if (options_.own_memory) {
      add_data(a, data, false, slab_parts(s));
    } else if (!all_zero(data, a.bytes)) {
      Array first{constant_name(), a.type, a.mixed, a.bytes};
      add_data(first, data, true, "first values of " + c_comment(s.name));
      first_values_.emplace_back(i, first);
    }
    return a;
  }
  static std::string slab_parts(const Program::Slab& s) {
    std::string text = c_comment(s.name);
    for (size_t i = 0; i < s.parts.size(); i++)
      text += (i == 0 ? ": " : ", ") + c_comment(s.parts[i].name) + " at " +
              str(s.parts[i].offset / static_cast<int64_t>(size_of(s.dtype)));
    return text;
  }
  std::string part_of_state(const Array& a, const Operand& o, const std::string& type) const {
    const std::string base = options_.own_memory ? a.name : "memory->" + a.name;
    if (a.mixed) return "(" + type + ")(" + base + (options_.own_memory ? ".bytes" : "") + " + " + str(o.offset) + ")";
    return o.offset == 0 ? base : base + " + " + str(o.offset / o.element());
  }

  std::string part_of_piece(const Operand& o, const std::string& type) {
    if (o.numel() == 0) return "(" + type + ")0";
    Piece& p = pieces_[piece_of(o)];
    const int64_t offset = o.offset - p.extent.begin;
    if (p.array.name.empty()) {
      p.array.name = constant_name();
      add_data(p.array, memory_.of(o).base + p.extent.begin, true, comment_of(p.extent));
    }
    if (p.array.mixed) return "(" + type + ")(" + p.array.name + ".bytes + " + str(offset) + ")";
    return offset == 0 ? p.array.name : p.array.name + " + " + str(offset / o.element());
  }

  // Which tensors of a slab it is.
  std::string comment_of(const graph::Extent& e) const {
    if (e.space == Space::kConstant) return "a constant";
    const Program::Slab& s = program_.slabs[static_cast<size_t>(e.index)];
    const auto size = static_cast<int64_t>(size_of(s.dtype));
    std::vector<std::string> names;
    for (const Program::Slab::Part& part : s.parts)
      if (part.offset < e.end && part.offset + part.numel * size > e.begin) names.push_back(c_comment(part.name));
    return names.empty() ? c_comment(s.name) : listed(names);
  }

  // Data of an array: in the file, or in the one of weights.
  void add_data(const Array& a, const std::byte* data, bool is_const, const std::string& comment) {
    if (is_const) constant_bytes_ += a.bytes;
    const std::string what =
        std::string(is_const ? "const " : "") + (a.mixed ? "union " + a.name + "_bytes" : a.element());
    const std::string size = a.mixed ? "" : "[" + str(static_cast<int64_t>(std::max<size_t>(a.count(), 1))) + "]";
    const bool shared = !is_const || options_.weights_apart;  // the header declares it
    std::string type;
    if (a.mixed)
      type = "union " + a.name + "_bytes {\n  uint8_t bytes[" + str(static_cast<int64_t>(a.bytes)) +
             "];\n  double aligns;\n  int64_t too;\n};\n";
    if (shared)
      declarations_ +=
          (is_const ? "" : "/* " + comment + " */\n") + type + "extern " + what + " " + a.name + size + ";\n";
    std::string text = "/* " + comment + " */\n" + (shared ? "" : type + "static ") + what + " " + a.name + size;
    if (is_const || !all_zero(data, a.bytes)) {
      const std::string list = a.bytes == 0 ? "{0}" : numbers(data, a.bytes, a.mixed ? kU8 : a.type);
      text += " = " + (a.mixed ? "{" + list + "}" : list);
    }
    data_ += text + ";\n\n";
  }

  // Results that are not where the caller wants them.
  void write_outputs() {
    static const Attrs kNone{};
    for (size_t i = 0; i < program_.outputs.size(); i++) {
      const Operand& o = program_.outputs[i].operand;
      if (is_direct(i) || o.numel() == 0) continue;
      Record r;
      r.label = "result " + program_.outputs[i].name;
      r.op = find_op("copy");
      r.attrs = &kNone;
      r.inputs = r.results = 1;
      Operand to{Space::kOutput, true, o.dtype, -1 - static_cast<int>(i), 0, o.shape, contiguous_strides(o.shape)};
      r.operands = {o, to};
      r.operands[0].written = false;
      steps_.write(r);
    }
  }

  // Texts ----------------------------------------------------------------------------------------------------------------

  std::string arguments() const {
    std::string text = options_.own_memory ? "" : "const " + name_ + "_memory *memory";
    const auto add = [&](const std::string& s) { text += (text.empty() ? "" : ", ") + s; };
    for (size_t i = 0; i < inputs_.size(); i++)
      add(by_value(i) ? std::string(value_type(program_.inputs[i].dtype)) + " " + inputs_[i]
                      : std::string("const ") + value_type(program_.inputs[i].dtype) + " *" + inputs_[i]);
    for (size_t i = 0; i < outputs_.size(); i++)
      add(std::string(value_type(program_.outputs[i].operand.dtype)) + " *" + outputs_[i]);
    return text.empty() ? "void" : text;
  }

  bool has_state() const {
    for (size_t i = 0; i < slabs_.size(); i++)
      if (is_state(i)) return true;
    return false;
  }

  std::string header(const CSource& c) const {
    const std::string guard = "INGOT_C_" + upper(name_) + "_H";
    std::string t = "/* " + c_comment(program_.name) + ", a plan that Ingot wrote as C99. */\n#ifndef " + guard +
                    "\n#define " + guard + "\n\n#include <stdint.h>\n\n#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n";
    t += "/* Bytes of temporaries" + std::string(options_.own_memory ? ", which the file has itself. */\n" : ". */\n");
    t += "#define " + arena_bytes_name() + " " + str(static_cast<int64_t>(c.arena)) + "\n\n";
    if (!options_.own_memory) {
      t += "/* What the caller keeps for the plan, each at a multiple of 64 bytes. */\ntypedef struct {\n  void "
           "*arena; /* " +
           arena_bytes_name() + "; need not outlive a run */\n";
      for (size_t i = 0; i < slabs_.size(); i++)
        if (is_state(i) && !slabs_[i].name.empty())
          t += "  " + slabs_[i].element() + " *" + slabs_[i].name + "; /* " +
               str(static_cast<int64_t>(slabs_[i].count())) + " elements; " + slab_parts(program_.slabs[i]) + " */\n";
      t += "} " + name_ + "_memory;\n\n";
      if (has_state())
        t += "/* Writes the first values of all memory but the arena: once, before the first run. */\nvoid " + name_ +
             "_start(const " + name_ + "_memory *memory);\n\n";
    }
    if (!declarations_.empty()) t += declarations_ + "\n";
    t += "/* One run" + std::string(options_.own_memory ? ", one at a time" : "") +
         ". Tensors are contiguous, row by row; outputs overlap neither inputs nor each other:\n";
    const auto describe = [&](const std::string& name, DType type, const Dims& shape, const char* how) {
      t += "     " + name + "  " + how + " " + ingot::name(type) + " " + to_string(shape) + "\n";
    };
    for (size_t i = 0; i < inputs_.size(); i++)
      describe(inputs_[i], program_.inputs[i].dtype, program_.inputs[i].shape, "input");
    for (size_t i = 0; i < outputs_.size(); i++)
      describe(outputs_[i], program_.outputs[i].operand.dtype, program_.outputs[i].operand.shape, "output");
    t += steps_.errors().empty() ? "   Gives 0. */\n"
                                 : "   Gives 0, or the number of the check that an input failed: " + name_ +
                                       "_error() says what is wrong. */\n";
    t += "int " + name_ + "_run(" + arguments() + ");\n";
    if (!steps_.errors().empty()) t += "const char *" + name_ + "_error(int number);\n";
    return t + "\n#ifdef __cplusplus\n}\n#endif\n\n#endif\n";
  }

  std::string start_text() const {
    std::string t = "void " + name_ + "_start(const " + name_ + "_memory *memory) {\n";
    for (size_t i = 0; i < slabs_.size(); i++) {
      if (!is_state(i) || slabs_[i].name.empty()) continue;
      std::string from = "0";
      for (const auto& [slab, first] : first_values_)
        if (slab == i) from = first.name + (first.mixed ? ".bytes" : "") + "[i]";
      t += "  for (long i = 0; i < " + str(static_cast<int64_t>(slabs_[i].count())) + "; i++) memory->" +
           slabs_[i].name + "[i] = " + from + ";\n";
    }
    return t + "}\n\n";
  }

  std::string source(const CSource& c) const {
    std::string t = "/* " + c_comment(program_.name) + ", a plan that Ingot wrote as C99: see " + name_ +
                    ".h. */\n#include \"" + name_ + ".h\"\n\n";
    if (file_.includes_math()) t += "#include <math.h>\n\n";
    t += R"(/* Sums may be contracted, square roots need not set errno, and memory is used again for other types. */
#if defined(__clang__)
#pragma STDC FP_CONTRACT ON
#define MAY_ALIAS __attribute__((__may_alias__))
#elif defined(__GNUC__) && !defined(__TINYC__)
#pragma GCC optimize("no-math-errno", "no-trapping-math", "fp-contract=fast")
#define MAY_ALIAS __attribute__((__may_alias__))
#else
#define MAY_ALIAS
#endif
typedef float f32 MAY_ALIAS;
typedef double f64 MAY_ALIAS;
typedef int32_t i32 MAY_ALIAS;
typedef int64_t i64 MAY_ALIAS;
typedef uint16_t u16 MAY_ALIAS;
typedef uint8_t u8 MAY_ALIAS;

)";
    t += file_.helpers();
    if (!options_.weights_apart) t += data_;
    const bool arena = run_.find("(arena + ") != std::string::npos || run_.find("(arena)") != std::string::npos;
    if (options_.own_memory && arena)
      t += "static union {\n  unsigned char bytes[" + arena_bytes_name() +
           "];\n  double aligns;\n  int64_t too;\n} temporaries;\n\n";
    t += file_.functions();
    if (!options_.own_memory && has_state()) t += start_text();
    t += "int " + name_ + "_run(" + arguments() + ") {\n";
    if (arena)
      t += std::string("  unsigned char *arena = ") +
           (options_.own_memory ? "temporaries.bytes;\n" : "memory->arena;\n");
    else if (!options_.own_memory && run_.find("memory->") == std::string::npos)
      t += "  (void)memory;\n";
    for (size_t i = 0; i < inputs_.size(); i++)
      if (!mentions(inputs_[i])) t += "  (void)" + inputs_[i] + ";\n";
    for (size_t i = 0; i < outputs_.size(); i++)
      if (!mentions(outputs_[i])) t += "  (void)" + outputs_[i] + ";\n";
    t += run_ + "  return 0;\n}\n";
    if (!steps_.errors().empty()) {
      t += "\nconst char *" + name_ + "_error(int number) {\n  static const char *const text[] = {\"no error\"";
      for (const std::string& e : steps_.errors()) t += ",\n                                     \"" + e + "\"";
      t += "};\n  return number >= 0 && number <= " + str(static_cast<int64_t>(steps_.errors().size())) +
           " ? text[number] : \"no such error\";\n}\n";
    }
    (void)c;
    return t;
  }

  // Is the argument used in a call?
  bool mentions(const std::string& name) const {
    for (size_t at = run_.find(name); at != std::string::npos; at = run_.find(name, at + 1)) {
      const char before = at == 0 ? ' ' : run_[at - 1], after = run_[at + name.size()];
      const auto ends = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '_'; };
      if (ends(before) && ends(after) && after != '(' && before != '>') return true;
    }
    return false;
  }

  const Program& program_;
  const Memory& memory_;
  CSourceOptions options_;
  File file_;
  Steps steps_;
  std::string name_;
  std::vector<std::string> inputs_, outputs_, slab_names_;
  std::set<std::string> globals_, members_;
  std::vector<std::pair<size_t, graph::Extent>> direct_;
  std::vector<Array> slabs_;
  std::vector<Piece> pieces_;
  std::vector<std::pair<size_t, Array>> first_values_;
  std::map<std::string, std::string> laid_out_;
  int64_t extra_bytes_ = 0;
  int constant_count_ = 0;
  size_t constant_bytes_ = 0;
  std::string data_, declarations_, run_;
};

}  // namespace

bool has_c_form(const Op& op) { return find_element_form(op.name) != nullptr || find_op_form(op.name) != nullptr; }

CSource to_c(const Plan& plan, const CSourceOptions& options) { return Writer(plan, options).run(); }

void CSource::write(const std::string& folder) const {
  std::error_code failed;
  std::filesystem::create_directories(folder, failed);
  if (failed)
    throw Error(ErrorKind::kFile, "to_c: cannot make the folder " + in_quotes(folder) + ": " + failed.message());
  const std::string path = folder + "/" + name;
  AtomicFile h(path + ".h"), c(path + ".c");
  std::optional<AtomicFile> w;
  if (!weights.empty()) w.emplace(path + "_weights.c");
  h.write(header), c.write(source);
  if (w) w->write(weights);
  // All or, on a disk that is full, none.
  if (w) w->commit();
  c.commit(), h.commit();
}

}  // namespace ingot::exchange
