#include "graph/cpu/context.h"

#include <algorithm>

#include "graph/unrecorded.h"
#include "ingot/base/clock.h"
#include "ingot/base/error.h"
#include "ingot/ops/ops.h"

namespace ingot::graph {
namespace {

// What stand-ins for inputs look at between runs; nobody reads it.
alignas(64) std::byte nowhere[64];

size_t operands_of(const Program& p) {
  size_t count = 0;
  for (const Record& r : p.records) count += r.operands.size() + (r.loop != nullptr ? operands_of(r.loop->body) : 0);
  return count;
}

}  // namespace

Context::Context(std::shared_ptr<const Executable> executable, int threads)
    : executable_(std::move(executable)), threads_(threads) {
  const Program& p = executable_->program;
  arena_ = Tensor::empty({static_cast<int64_t>(p.arena_bytes)}, kU8);
  results_ = Tensor::empty({static_cast<int64_t>(p.output_bytes)}, kU8);
  scratch_ = Tensor::empty({static_cast<int64_t>(executable_->scratch_bytes(threads_))}, kU8);
  for (const Program::Input& in : p.inputs) {
    inputs_.push_back(Tensor::wrap(nowhere, in.shape, in.dtype));
    input_bytes_.push_back(static_cast<size_t>(element_count(in.shape)) * size_of(in.dtype));
  }
  staged_.resize(p.inputs.size());
  base_.assign(p.inputs.size(), nowhere);
  const size_t operands = operands_of(p);
  addresses_.reserve(operands);  // frames look at what is in here
  tensors_.reserve(operands);
  pointers_.reserve(operands);
  launches_.resize(p.records.size());
  std::vector<const Executable::Spare*> spares(p.records.size(), nullptr);
  for (const Executable::Spare& s : executable_->spares) spares[s.record] = &s;
  std::byte* spare = static_cast<std::byte*>(scratch_.raw()) + executable_->own_scratch * static_cast<size_t>(threads_);
  for (size_t i = 0; i < p.records.size(); i++) {
    const Record& r = p.records[i];
    launches_[i].kernel = executable_->kernels[i].get();
    if (spares[i] != nullptr)
      place(r, launches_[i], nullptr, spare + spares[i]->offset, scratch_);
    else
      place(r, launches_[i], nullptr, static_cast<std::byte*>(arena_.raw()) + r.scratch_offset, arena_);
  }
  part_checks(launches_);
  for (const Program::Output& o : p.outputs) outputs_.push_back(tensor(o.operand));
  find_written();
  touch_pages();
}

// A check leaves what it found where others may still look for what the one before it found, unless they have met since.
void Context::part_checks(std::span<Launch> launches) {
  bool looking = false;
  for (Launch& l : launches) {
    l.barrier = l.barrier || (l.check && looking);
    looking = l.check || (looking && !l.barrier);
  }
}

// Where a record's operands are. Ops of the table see them as tensors, the others by address. `shared` is the record's
// scratch, a part of `block`.
void Context::place(const Record& r, Launch& launch, const Body* body, std::byte* shared, const Tensor& block) {
  launch.wide = r.wide;
  launch.barrier = r.barrier;
  launch.check = r.kind == Record::Kind::kCheck || r.kind == Record::Kind::kLoop;
  Frame& f = launch.frame;
  f.attrs = r.attrs;
  f.prepared = launch.kernel->prepared();
  f.own = static_cast<std::byte*>(scratch_.raw());
  f.stride = executable_->own_scratch;
  f.failure = &failure_;
  f.shared = shared;
  const bool as_tensors = r.op != nullptr || r.kind == Record::Kind::kLoop;
  f.at = addresses_.data() + addresses_.size();
  f.tensors = tensors_.data() + tensors_.size();
  f.inputs = pointers_.data() + pointers_.size();
  for (const Operand& o : r.operands) {
    const Place at = find(o, body);
    if (as_tensors) {
      tensors_.push_back(at.tensor);
      pointers_.push_back(&tensors_.back());
      if (at.input >= 0) moves_.push_back({&tensors_.back(), nullptr, at.input, at.offset});
    } else {
      addresses_.push_back(at.tensor.raw());
      if (at.input >= 0) moves_.push_back({nullptr, &addresses_.back(), at.input, at.offset});
    }
  }
  if (r.seeded) {
    Seeded& s = seeded_.emplace_back(Seeded{*r.attrs, {}});
    f.attrs = &s.attrs;
    f.prepared = &s.block;
  }
  if (r.seeded || r.check_first) early_.push_back({&r, &f, r.seeded ? &seeded_.back() : nullptr});
  if (r.kind == Record::Kind::kLoop) place_body(r, *launch.kernel, f, body, block);
}

void Context::place_body(const Record& r, const Kernel& kernel, Frame& frame, const Body* outer, const Tensor& block) {
  LoopFrame& loop = loops_.emplace_back();
  frame.loop = &loop;
  auto* scratch = static_cast<std::byte*>(frame.shared);
  const LoopLayout layout = layout_of(r, threads_);
  const Body body{r, layout, outer, block, scratch};
  const Program& p = r.loop->body;
  const std::span<const std::unique_ptr<Kernel>> kernels = kernel.body();
  loop.marks = scratch + layout.marks;
  for (size_t i = 0; i < p.inputs.size(); i++)
    loop.staged.push_back(layout.staged[i] < 0 ? Tensor()
                                               : block.view(scratch + layout.staged[i], p.inputs[i].shape,
                                                            contiguous_strides(p.inputs[i].shape), p.inputs[i].dtype));
  loop.launches.resize(p.records.size());
  for (size_t i = 0; i < p.records.size(); i++) {
    loop.launches[i].kernel = kernels[i].get();
    place(p.records[i], loop.launches[i], &body, scratch + p.records[i].scratch_offset, block);
  }
  part_checks(loop.launches);
  for (const Program::Output& o : p.outputs) loop.made.push_back(find(o.operand, &body).tensor);
}

Context::Place Context::find(const Operand& o, const Body* body) const {
  if (body == nullptr) return {tensor(o), o.space == Space::kInput ? o.index : -1, o.offset};
  const auto look = [&](std::byte* at) { return body->block.view(at, o.shape, o.strides, o.dtype); };
  const Record& r = body->loop;
  switch (o.space) {
    case Space::kArena: return {look(body->scratch + o.offset)};
    case Space::kOutput: return {look(body->scratch + body->layout.outputs + o.offset)};
    case Space::kConstant: {
      const Memory& memory = r.loop->memory;
      return {memory.of(o).keep[0].view(memory.address(o), o.shape, o.strides, o.dtype)};
    }
    case Space::kInput: {
      const int64_t staged = body->layout.staged[static_cast<size_t>(o.index)];
      if (staged >= 0) return {look(body->scratch + staged + o.offset)};
      // A value that is carried is where the loop's result is.
      const int index = o.index < carried_by(r) ? r.inputs + o.index : o.index;
      Place at = find(r.operands[static_cast<size_t>(index)], body->outer);
      at.offset += o.offset;
      at.tensor = at.tensor.view(at.input >= 0 && base_[static_cast<size_t>(at.input)] == nowhere
                                     ? static_cast<std::byte*>(at.tensor.raw())
                                     : static_cast<std::byte*>(at.tensor.raw()) + o.offset,
                                 o.shape, o.strides, o.dtype);
      return at;
    }
    case Space::kNone:
    case Space::kBound:
    case Space::kBlock: break;
  }
  return {};
}

Tensor Context::tensor(const Operand& o) const {
  const auto look = [&](const Tensor& block, std::byte* at) { return block.view(at, o.shape, o.strides, o.dtype); };
  switch (o.space) {
    case Space::kArena: return look(arena_, static_cast<std::byte*>(arena_.raw()) + o.offset);
    case Space::kOutput: return look(results_, static_cast<std::byte*>(results_.raw()) + o.offset);
    case Space::kBound:
    case Space::kConstant: return look(executable_->memory.of(o).keep[0], executable_->memory.address(o));
    case Space::kInput: {
      const auto i = static_cast<size_t>(o.index);
      return look(inputs_[i], base_[i] == nowhere ? nowhere : static_cast<std::byte*>(base_[i]) + o.offset);
    }
    case Space::kNone:
    case Space::kBlock: break;
  }
  return {};
}

void Context::find_written() {
  for (const Record& r : executable_->program.records)
    for (const Operand& o : r.operands) {
      if (!o.written || (o.space != Space::kOutput && o.space != Space::kBound) || o.numel() == 0) continue;
      const auto [first, last] = addresses_of(tensor(o));
      written_.emplace_back(first, last);
    }
  // Neighbours become one: most of it is a few slabs.
  std::sort(written_.begin(), written_.end());
  size_t kept = 0;
  for (size_t i = 1; i < written_.size(); i++) {
    if (written_[i].first <= written_[kept].second + 64)
      written_[kept].second = std::max(written_[kept].second, written_[i].second);
    else
      written_[++kept] = written_[i];
  }
  if (!written_.empty()) written_.resize(kept + 1);
}

// Every page of the context's own memory is there before the first run.
void Context::touch_pages() const {
  for (const Tensor* t : {&arena_, &results_, &scratch_}) {
    volatile std::byte* p = static_cast<std::byte*>(t->raw());
    for (int64_t i = 0; i < t->numel(); i += 4096) p[i] = std::byte{0};
  }
}

size_t Context::staged_bytes() const {
  size_t bytes = 0;
  for (const Tensor& t : staged_)
    if (t.defined()) bytes += t.storage()->bytes;
  return bytes;
}

namespace {

[[noreturn]] void refuse_input(const Program& program, const Program::Input& s, const Tensor& t) {
  const std::string is = !t.defined()      ? "undefined"
                         : t.is_symbolic() ? "symbolic"
                                           : std::string(name(t.dtype())) + " " + to_string(t.shape());
  throw Error(t.defined() && t.dtype() != s.dtype ? ErrorKind::kType : ErrorKind::kShape,
              program.name + ": \"" + s.name + "\" is " + is + ", the plan was compiled for " + name(s.dtype) + " " +
                  to_string(s.shape) + " — compile another plan, or use a PlanCache");
}

}  // namespace

void Context::check_moved() {
  const uint64_t now = move_count();
  if (const std::string* name = executable_->moved())
    throw Error(
        executable_->program.name + ": \"" + *name +
        "\" is no longer where it was when the plan was compiled (a training step or another slab took it, or it "
        "was converted), so the plan would compute with the old one for ever — compile it after that, or use a "
        "PlanCache");
  seen_moves_ = now;
}

void Context::bind(std::span<const Tensor* const> inputs) {
  const Program& p = executable_->program;
  if (move_count() != seen_moves_) check_moved();
  if (inputs.size() != p.inputs.size())
    throw Error(p.name + ": " + std::to_string(inputs.size()) + " inputs given, the plan has " +
                std::to_string(p.inputs.size()));
  for (size_t i = 0; i < inputs.size(); i++) {
    const Tensor& t = *inputs[i];
    const Program::Input& s = p.inputs[i];
    if (!t.defined() || t.dtype() != s.dtype || !(t.shape() == s.shape) || t.is_symbolic()) refuse_input(p, s, t);
  }
  for (size_t i = 0; i < inputs.size(); i++) {
    base_[i] = inputs[i]->raw();
    const auto* at = static_cast<const std::byte*>(base_[i]);
    const auto* end = at + input_bytes_[i];
    bool overwritten = false;
    for (const auto& [first, last] : written_) overwritten = overwritten || (at < last && first < end);
    if (inputs[i]->is_contiguous() && !overwritten) continue;
    if (!staged_[i].defined()) staged_[i] = Tensor::empty(p.inputs[i].shape, p.inputs[i].dtype);
    copy_into(staged_[i], *inputs[i]);
    base_[i] = staged_[i].raw();
  }
  for (const Move& m : moves_) {
    void* to = static_cast<std::byte*>(base_[static_cast<size_t>(m.input)]) + m.offset;
    if (m.tensor != nullptr)
      m.tensor->move_to(to);
    else
      *m.slot = to;
  }
}

// Before the walk, on the caller's thread: draws seeds, checks values and may throw.
void Context::before() {
  failure_ = nullptr;
  for (const Early& e : early_) {
    const Record& r = *e.record;
    const std::span<const Tensor* const> inputs(e.frame->inputs, static_cast<size_t>(r.inputs));
    if (e.seeded != nullptr) {
      const Tensor& seed = e.frame->tensors[r.inputs + r.results];
      e.seeded->attrs.replace("seed", *static_cast<const int64_t*>(seed.raw()));
      prepare({*r.op, inputs, e.seeded->attrs}, e.seeded->block);
    }
    if (r.check_first) r.op->check({*r.op, inputs, *e.frame->attrs, e.frame->prepared});
  }
}

void Context::walk() {
  if (threads_ == 1) {
    walk_records(launches_, Team(), 1, failure_);
    return;
  }
  const bool alone = company_.alone();
  const int64_t begin = now_ns();
  if (alone)
    walk_records(launches_, Team(), threads_, failure_);
  else
    run_team(
        [](void* self, const Team& team) {
          const Context& c = *static_cast<Context*>(self);
          walk_records(c.launches_, team, c.threads_, c.failure_);
        },
        this, threads_);
  company_.took(alone, now_ns() - begin);
}

void Context::after() {
  if (failure_ != nullptr) std::rethrow_exception(failure_);
}

std::span<const Tensor> Context::run(std::span<const Tensor* const> inputs) {
  const Busy busy(*this);
  const Unrecorded unrecorded;
  bind(inputs);
  before();
  executable_->check_numerics ? walk_checked() : walk();
  after();
  return outputs_;
}

Busy::Busy(Context& context) : context_(context) {
  if (context.running_.exchange(true, std::memory_order_acquire))
    throw Error(context.executable().program.name +
                ": already running — one run needs one arena; give each thread an ExecutionContext of the plan");
}

}  // namespace ingot::graph
