#include "exchange/c/steps.h"

#include <algorithm>

#include "exchange/c/families.h"
#include "exchange/c/names.h"
#include "ingot/base/error.h"
#include "ingot/base/numbers.h"
#include "ingot/base/text.h"

namespace ingot::exchange {
namespace {

using graph::Space;
using Kind = Record::Kind;
using Stop = LoopOptions::Stop;

constexpr int64_t kAlign = 64;

std::string comment_of(const Record& r) {
  std::string text = c_comment(r.label) + ":";
  for (const Operand& o : r.operands)
    if (o.given() && o.space != Space::kBlock) text += std::string(o.written ? " -> " : " ") + to_string(o.shape);
  const std::string constants = r.attrs != nullptr ? c_comment(graph::attrs_text(*r.attrs)) : "";
  return shortened(text + (constants.empty() ? "" : "; " + constants), 110);
}

int64_t bytes_of(const Operand& o) { return round_up(o.numel() * o.element(), kAlign); }

// A loop's memory: that of its record's scratch, in which the body's arena comes first. Inputs and results are pointers
// that the loop's function has.
class BodyPlaces final : public Places {
 public:
  BodyPlaces(Places& outer, const Record& record) : outer_(outer), loop_(*record.loop), carried_(record.results - 1) {
    at_ = round_up(static_cast<int64_t>(loop_.body.arena_bytes), kAlign);
    results_ = at_;
    at_ += round_up(static_cast<int64_t>(loop_.body.output_bytes), kAlign);
    for (int i = 0; i < static_cast<int>(loop_.body.inputs.size()); i++)
      staged_.push_back(i >= carried_ && !record.operands[static_cast<size_t>(i)].is_contiguous()
                            ? take(record.operands[static_cast<size_t>(i)])
                            : -1);
  }

  /// Room for an operand's elements; where it begins.
  int64_t take(const Operand& o) {
    at_ += bytes_of(o);
    return at_ - bytes_of(o);
  }
  int64_t staged(int input) const { return staged_[static_cast<size_t>(input)]; }
  int64_t bytes() const { return at_ + more_; }

  std::string pointer(const Operand& o) override {
    const std::string type = std::string(o.written ? "" : "const ") + memory_type(o.dtype) + " *";
    const auto plus = [](const std::string& base, int64_t n) { return n == 0 ? base : base + " + " + str(n); };
    switch (o.space) {
      case Space::kArena: return "(" + type + ")(" + plus("arena", o.offset) + ")";
      case Space::kOutput: return "(" + type + ")(" + plus("arena", results_ + o.offset) + ")";
      case Space::kInput: {
        if (o.index < carried_) return plus("y" + str(o.index), o.offset / o.element());
        const int64_t own = staged(o.index);
        if (own >= 0) return "(" + type + ")(" + plus("arena", own + o.offset) + ")";
        return plus("x" + str(o.index), o.offset / o.element());
      }
      case Space::kConstant: {
        const graph::Block& block = loop_.memory.constants[static_cast<size_t>(o.index)];
        const std::string name =
            outer_.constant(key(o) + " " + std::to_string(reinterpret_cast<uintptr_t>(block.base)), o.dtype,
                            "of a loop", std::vector<std::byte>(block.base, block.base + block.bytes));
        return plus(name, o.offset / o.element());
      }
      default: throw Error("to_c: a loop whose body has memory of its own");
    }
  }
  std::string scratch(const Record& r, int64_t bytes) override {
    if (bytes <= r.scratch_bytes) return "(arena + " + str(r.scratch_offset) + ")";
    more_ = std::max(more_, bytes);
    further_ = true;
    return "(arena + further)";
  }
  const std::byte* elements(const Operand&) const override { return nullptr; }
  std::string constant(const std::string& key, DType type, const std::string& comment,
                       std::vector<std::byte> bytes) override {
    return outer_.constant(key, type, comment, std::move(bytes));
  }
  std::string key(const Operand& o) const override {
    return "loop " + str(static_cast<int>(o.space)) + " " + str(o.index) + " " + to_string(o.shape);
  }
  /// Where scratch begins that the body's arena has no room for; -1 if nothing asked for it.
  int64_t further() const { return further_ ? at_ : -1; }

 private:
  Places& outer_;
  const graph::Loop& loop_;
  int carried_;
  int64_t results_ = 0, at_ = 0, more_ = 0;
  bool further_ = false;
  std::vector<int64_t> staged_;
};

}  // namespace

void Steps::write(const graph::Program& p) {
  for (const Record& r : p.records)
    if (r.kind == Kind::kOp && r.check_first) write_check(r);
  for (const Record& r : p.records) write(r);
}

void Steps::write_check(const Record& r) {
  const OpForm* form = find_op_form(r.op->name);
  Function f(file_, places_, r);
  form->check(f);
  f.line("return 0;");
  const std::string call = f.call("check_" + std::string(r.op->name), comment_of(r), "int");
  errors_->push_back(c_string(r.label + ": " + r.op->name + " " + form->refuses));
  text_ += indent_ + "if (" + call + ") return " + str(static_cast<int64_t>(errors_->size())) + ";\n";
}

void Steps::write(const Record& r) {
  if (r.kind == Kind::kCheck) return write_check(r);
  if (r.kind == Kind::kLoop) return write_loop(r);
  const bool nothing = std::none_of(r.operands.begin(), r.operands.end(), [](const Operand& o) {
    return o.given() && o.written && o.space != Space::kBlock && o.numel() > 0;
  });
  if (nothing) return;
  Function f(file_, places_, r);
  const char* name = "chain";
  switch (r.kind) {
    case Kind::kChain: write_chain(f); break;
    case Kind::kFold: write_fold(f), name = "fold"; break;
    case Kind::kProduct: write_product(f), name = "product"; break;
    default:
      name = r.op->name;
      if (const OpForm* form = find_op_form(name))
        form->write(f);
      else
        write_element_op(f);
  }
  text_ += indent_ + f.call(name, comment_of(r)) + ";\n";
}

// Rounds of a body, until what they make is what was there: a function that gives 0, or the number of what went wrong.
void Steps::write_loop(const Record& r) {
  const graph::Loop& loop = *r.loop;
  const int carried = r.results - 1;
  BodyPlaces body(places_, r);
  Steps steps(*this, body);
  Function f(file_, places_, r);
  std::vector<View> in, out;
  for (int i = 0; i < r.inputs; i++) in.push_back(f.in(i, "x" + str(i)));
  for (int i = 0; i < carried; i++) out.push_back(f.out(i, "y" + str(i)));
  f.out(carried, "rounds");
  for (int i = 0; i < carried; i++) copy_elements(f, out[static_cast<size_t>(i)], in[static_cast<size_t>(i)]);
  for (int i = carried; i < r.inputs; i++) {
    if (body.staged(i) < 0) continue;
    View to = in[static_cast<size_t>(i)];
    to.name = "((" + std::string(memory_type(to.dtype)) + " *)(arena + " + str(body.staged(i)) + "))";
    to.strides = contiguous_strides(to.shape);
    copy_elements(f, to, in[static_cast<size_t>(i)]);
  }
  steps.write(loop.body);
  // What the round made; what stands where a value stood that changes needs a place of its own until all are there.
  std::vector<View> made;
  for (int i = 0; i < carried; i++) {
    const Operand& o = loop.body.outputs[static_cast<size_t>(i)].operand;
    made.push_back({"(" + body.pointer(o) + ")", o.dtype, o.shape, o.strides});
  }
  f.line("int64_t round = 0;");
  f.line("int stopped = 0;");
  f.open(cat("while (round < INT64_C(", std::to_string(loop.most), ") && !stopped)"));
  f.line("round++;");
  f.raw(steps.text());
  for (int i = 0; i < carried; i++) {
    const Operand& o = loop.body.outputs[static_cast<size_t>(i)].operand;
    if (o.space == Space::kOutput) continue;
    View& from = made[static_cast<size_t>(i)];
    View kept{"((" + std::string(memory_type(o.dtype)) + " *)(arena + " + str(body.take(o)) + "))", o.dtype, o.shape,
              contiguous_strides(o.shape)};
    copy_elements(f, kept, from);
    from = kept;
  }
  f.line("int differs = 0;");
  for (int i = 0; i < carried; i++) {
    const View &to = out[static_cast<size_t>(i)], &from = made[static_cast<size_t>(i)];
    const auto index = f.loops(to.shape);
    const std::string old = element(to, index), now = element(from, index);
    if (loop.stop == Stop::kClose && is_float(to.dtype)) {
      f.line(cat("const ", value_type(to.dtype), " d = ", old, " == ", now, " ? 0 : ", old, " - ", now, ";"));
      f.line(cat("differs |= !((d < 0 ? -d : d) <= ", literal(loop.epsilon, kF64), ");"));
    } else if (loop.stop != Stop::kCount) {
      const char* bits = size_of(to.dtype) == 8   ? "i64"
                         : size_of(to.dtype) == 4 ? "i32"
                         : size_of(to.dtype) == 2 ? "u16"
                                                  : "u8";
      f.line(cat("differs |= *(const ", std::string(bits), " *)&", old, " != *(const ", bits, " *)&", now, ";"));
    }
    f.line(cat(old, " = ", now, ";"));
    f.close_loops();
  }
  f.line(loop.stop == Stop::kCount ? "(void)differs;" : "stopped = !differs;");
  f.close();
  f.line("*rounds = round;");
  if (loop.stop != Stop::kCount && loop.must_stop) {
    errors_->push_back(
        c_string(loop.body.name + ": after " + std::to_string(loop.most) + " rounds a round still changes something"));
    f.line(cat("return stopped ? 0 : ", str(static_cast<int64_t>(errors_->size())), ";"));
  } else {
    f.line("return 0;");
  }
  f.parameter("unsigned char *", "arena", places_.scratch(r, body.bytes()));
  if (body.further() >= 0)
    f.before("enum { further = " + str(body.further()) + " };");
  else
    f.before("(void)arena;");
  const std::string call = f.call("loop", comment_of(r), "int");
  text_ += indent_ + "{\n" + indent_ + "  const int status = " + call + ";\n" + indent_ +
           "  if (status != 0) return status;\n" + indent_ + "}\n";
}

}  // namespace ingot::exchange
