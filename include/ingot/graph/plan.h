// Plan: a function of tensors, compiled once into a flat list of kernel calls with every buffer at a fixed place, and
// run many times without allocating.
//
//   Plan plan = compile([&](const Tensor& x) { return relu(linear(x, w, b)); }, {{32, 784}});
//   Tensor y = plan(x);                          // a tensor of its own
//   const Tensor& z = plan.run(x)[0];            // the fast form: allocates nothing, valid until the next run
//   std::puts(plan.describe().c_str());
#pragma once
#include <concepts>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ingot/base/export.h"
#include "ingot/base/named_tensor.h"
#include "ingot/base/tensor.h"
#include "ingot/graph/plan_function.h"
#include "ingot/ops/options.h"

namespace ingot {

/// What an input of a plan will be: {64, 784}, or {{64}, kI64, "labels"}.
struct InputSpec {
  InputSpec(std::initializer_list<int64_t> sizes) : shape(sizes) {}
  InputSpec(const Dims& sizes) : shape(sizes) {}
  InputSpec(const Dims& sizes, DType type, std::string label = {})
      : shape(sizes), dtype(type), typed(true), name(std::move(label)) {}
  Dims shape;
  DType dtype = kF32;
  bool typed = false;  // was the type given? Else who knows better may choose: a loss, that of its targets
  std::string name;    // for errors and pictures; "input 0", "input 1", … if empty
};

/// What a bound tensor is for; plan.bytes() adds them up by role.
enum class Role : uint8_t { kOther, kParameter, kGradient, kState };

struct PlanOptions {
  std::string name = "plan";
  /// Passes to leave out, by name: pass_names() lists them.
  std::vector<std::string> without = {};
  /// Workers the plan is laid out for; 0: threads() when it is compiled. Small plans choose one.
  int threads = 0;
  /// The most bytes that arena, scratch, constants and results may take; 0: no limit.
  size_t byte_limit = 0;
  /// Tensors that the function finds elsewhere keep the elements they have now, as at inference: what depends on them
  /// alone is computed once, and weights are laid out as their kernels like them (in memory of the plan's).
  bool frozen = false;
  /// After every step, look for NaN and infinity in what it wrote, and name the first step that made one. Slow.
  bool check_numerics = false;
  /// Roles of memory that the function uses: whoever binds a slab says what it is.
  std::vector<std::pair<Tensor, Role>> roles = {};
  /// Names of such memory, for pictures.
  std::vector<NamedTensor> names = {};
};

/// The passes that `PlanOptions::without` can switch off, in the order in which they run.
INGOT_API std::span<const char* const> pass_names();

/// Memory of a plan, in bytes, known before the first run.
struct PlanBytes {
  size_t arena = 0;                                            // temporaries, all in one mapping
  size_t scratch = 0;                                          // what kernels need while they run
  size_t outputs = 0;                                          // results that are no temporaries: they outlive the run
  size_t constants = 0;                                        // folded at compile time
  size_t inputs = 0;                                           // inputs are read where they are
  size_t parameters = 0, gradients = 0, state = 0, bound = 0;  // memory of the user's that the plan reads or writes
  size_t live_peak = 0;  // the largest sum of temporaries alive at once: no arena can be smaller
  /// What the plan itself takes.
  size_t own() const { return arena + scratch + outputs + constants; }
};

/// One step of a plan, measured. Times are medians over the runs.
struct StepProfile {
  std::string name;         // the path of the user's scopes and what was fused: "fc1/linear+relu"
  std::string kind;         // "gemm", "fused", "op", …
  std::string detail = {};  // sizes and instructions, as in Plan::dump()
  int workers = 1;          // that share it
  bool barrier = false;     // all wait for each other before it
  double us = 0;            // on the slowest of them; a wait inside the step counts, one before it does not
  double wait_us = 0;       // wait at the barrier before it, the workers' mean
  double share = 0;         // of the run's time: between two barriers, of the worker that comes last to the second
  double flops = 0, bytes = 0;
  double roofline = 0;    // reached share of what the machine allows for these FLOPs and bytes
  bool critical = false;  // one of the few that make 80 % of the time
};

/// One step on one worker in one run, or its wait at the barrier before it. Times from the run's start.
struct StepTrace {
  int step, worker;
  int64_t begin_ns, end_ns;
  bool wait = false;
};

/// What `Plan::profile` measured.
struct INGOT_API Profile {
  std::string plan;
  int threads = 1, runs = 0;
  double us = 0;                   // median of a whole run
  double plain_us = 0;             // the same without measuring its steps
  double rest_share = 0;           // of the run's time, what is in no step: waking the team, the barriers themselves
  double wait_share = 0;           // of all workers' time together, what they wait for each other
  std::vector<StepProfile> steps;  // their shares and rest_share add up to 1
  std::vector<StepTrace> trace;    // of the last run
  /// A table: time, share, FLOPs, bytes, share of the roofline; and where the time goes. In the order of the steps, or
  /// the slowest first.
  std::string table(bool by_time = false) const;
  /// A table with all steps that do the same as one row: how many, their time, FLOPs and bytes. The slowest first.
  std::string by_op() const;
  /// The last run as a trace for Perfetto or chrome://tracing, with one track per worker (JSON).
  std::string chrome_trace() const;
};

class Plan;
namespace graph {
class Context;
struct Executable;
INGOT_API const Executable& executable_of(const Plan& plan);  // for tests and caches
}  // namespace graph

namespace detail {
/// Copies of results; an Error if there is not exactly one.
INGOT_API std::vector<Tensor> copies(std::span<const Tensor> results);
INGOT_API void check_only_result(std::span<const Tensor> results);
}  // namespace detail

/// How plans, and what has or makes them, are run on tensors; `Self::run` takes a list.
template <class Self>
class Runner {
 public:
  /// The fast form: results that the next run overwrites (see Self::run).
  template <class... T>
  requires(std::same_as<T, Tensor>&&...) std::span<const Tensor> run(const T&... inputs) {
    const Tensor* list[sizeof...(T) + 1] = {&inputs..., nullptr};
    return static_cast<Self*>(this)->run(std::span<const Tensor* const>(list, sizeof...(T)));
  }
  /// The result as a tensor of its own, nobody else's. An Error if there are several: see compute().
  template <class... T>
  requires(std::same_as<T, Tensor>&&...) Tensor operator()(const T&... inputs) {
    detail::check_only_result(static_cast<Self*>(this)->outputs());  // before anything runs
    return detail::copies(run(inputs...))[0];
  }
  /// The same for any number of results.
  template <class... T>
  requires(std::same_as<T, Tensor>&&...) std::vector<Tensor> compute(const T&... inputs) {
    return detail::copies(run(inputs...));
  }
};

class INGOT_API Plan : public Runner<Plan> {
 public:
  Plan();
  Plan(Plan&&) noexcept;
  Plan& operator=(Plan&&) noexcept;
  ~Plan();

  /// Runs the plan. Inputs have exactly the shapes and types it was compiled for; any layout (a strided input is copied
  /// into room made at its first run). The results live in the plan, and the next run overwrites them: keep one with
  /// clone(), or call the plan: plan(x). Allocates nothing. An Error if memory that the plan looks at is no longer where
  /// it was, because a slab took the parameters since.
  std::span<const Tensor> run(std::span<const Tensor* const> inputs);
  using Runner::run;

  /// Runs the plan once for each of n sets of inputs, spread over the workers: every input has one more axis in front,
  /// of n, and so has every result. Each worker has an ExecutionContext of its own, made at the first call; the bits are
  /// those of n calls of run(). An Error if the plan writes memory of yours.
  std::vector<Tensor> run_batch(std::span<const Tensor* const> inputs);
  template <class... T>
  requires(std::same_as<T, Tensor>&&...) std::vector<Tensor> run_batch(const T&... inputs) {
    const Tensor* list[sizeof...(T) + 1] = {&inputs..., nullptr};
    return run_batch(std::span<const Tensor* const>(list, sizeof...(T)));
  }

  /// Writes the compiled plan to a file: a frozen plan with its weights, another one with the names and sizes of the
  /// memory that it is bound to. A killed process leaves the old file or the new one.
  void save(const std::string& path) const;
  /// Reads such a file; nothing is captured. `bindings` has the memory that the plan is bound to, by the names that
  /// slabs() of the saved plan gave: contiguous tensors of the same type and number of bytes. A plan that takes more than
  /// `byte_limit` bytes for itself is refused (0: more than this machine has).
  static Plan load(const std::string& path, const std::vector<NamedTensor>& bindings = {}, size_t byte_limit = 0);
  /// The same from the bytes of a file.
  static Plan from_bytes(std::span<const std::byte> bytes, const std::vector<NamedTensor>& bindings = {},
                         size_t byte_limit = 0);
  std::vector<std::byte> to_bytes() const;
  /// Names of the memory that load() must be given for this plan.
  std::vector<std::string> slabs() const;

  std::span<const Tensor> outputs() const;
  /// A result by name; an Error that lists the names if there is none.
  const Tensor& output(std::string_view name) const;

  PlanBytes bytes() const;
  /// Workers that share the plan's work.
  int threads() const;
  int step_count() const;
  /// Runs the plan `runs` times with measuring, on the inputs given (zeros if none); memory of the user's that the plan
  /// writes is put back afterwards.
  Profile profile(int runs = 100, std::span<const Tensor* const> inputs = {});

  /// For people: what each pass did, the steps, the bytes; with `by_node`, the bytes of every value.
  std::string describe(bool by_node = false) const;
  /// Stable text of the steps, for golden tests.
  std::string dump() const;
  /// A picture of the graph for Graphviz: as captured, or (after) as the plan's steps.
  std::string dot(bool after = true) const;
  /// The same picture as SVG, laid out here.
  std::string svg(bool after = true) const;

  struct INGOT_PRIVATE Impl;
  explicit Plan(std::unique_ptr<Impl> impl);

 private:
  friend class ExecutionContext;
  friend const graph::Executable& graph::executable_of(const Plan& plan);
  Impl& impl() const;
  std::unique_ptr<Impl> impl_;
};

/// What a run of a plan needs besides the plan: an arena, results, scratch. A plan has one for its own run(); with one
/// per thread, n threads run one plan on n inputs at once, each on its thread alone. It keeps what it needs of the plan
/// alive. An Error for a plan that writes memory of yours, such as a training step.
///
///   ExecutionContext context(plan);              // in each thread
///   const Tensor& y = context.run(x)[0];         // valid until the context's next run
class INGOT_API ExecutionContext : public Runner<ExecutionContext> {
 public:
  explicit ExecutionContext(const Plan& plan);
  ExecutionContext(ExecutionContext&&) noexcept;
  ExecutionContext& operator=(ExecutionContext&&) noexcept;
  ~ExecutionContext();

  /// As Plan::run.
  std::span<const Tensor> run(std::span<const Tensor* const> inputs);
  using Runner::run;
  std::span<const Tensor> outputs() const;
  const Tensor& output(std::string_view name) const;

 private:
  std::unique_ptr<graph::Context> context_;
};

/// Compiles the general form of a function.
INGOT_API Plan compile_function(const PlanFunction& fn, std::span<const InputSpec> inputs, const PlanOptions& options);

/// Compiles `fn`: a function of one Tensor per input (or of one std::span<const Tensor>) that returns a Tensor, a list
/// of Tensors, a std::vector<NamedTensor>, or nothing. It is called once, on symbolic tensors; tensors that it finds
/// elsewhere are bound by reference, so the plan sees later changes of their elements.
template <class F>
Plan compile(F&& fn, const std::vector<InputSpec>& inputs, const PlanOptions& options = {}) {
  return compile_function(detail::as_plan_function<std::decay_t<F>>(std::forward<F>(fn), inputs.size()), inputs,
                          options);
}

/// Is the calling thread inside a capture?
INGOT_API bool capturing();

/// Names what is recorded while it lives: scopes nest into paths such as "encoder/fc1". Nothing outside a capture.
class INGOT_API Scope {
 public:
  explicit Scope(std::string_view name);
  ~Scope();
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;
};

/// Random ops whose seed is an input of the plan: called with a symbolic seed (an i64 scalar input, or a tensor bound
/// by reference), the numbers follow what it holds at each run. With a concrete seed outside a capture: the plain op.
INGOT_API Tensor dropout(const Tensor& x, double p, const Tensor& seed, int64_t stream = 0);
INGOT_API Tensor uniform(const Dims& shape, const Tensor& seed, double low = 0, double high = 1, int64_t stream = 0,
                         DType dtype = kF32);
INGOT_API Tensor normal(const Dims& shape, const Tensor& seed, double mean = 0, double stddev = 1, int64_t stream = 0,
                        DType dtype = kF32);
INGOT_API Tensor bernoulli(const Dims& shape, const Tensor& seed, double p, int64_t stream = 0);

}  // namespace ingot
