#include "ops/elementwise.h"

#include <algorithm>
#include <cstring>

#include "ingot/base/error.h"
#include "ingot/ops/checks.h"
#include "ingot/ops/own_op.h"
#include "kernels/axes.h"

namespace ingot {
namespace {

constexpr int kOperands = 4;       // the result and up to three inputs
constexpr int64_t kTile = 256;     // elements gathered at a time when an operand is not contiguous
constexpr int64_t kChunk = 16384;  // elements of the innermost axis per unit of work

// The iteration space of an element-wise op: axes of the result, outermost first, merged where every operand allows it.
// Operand 0 is the result. Steps are in bytes.
struct Walk {
  int rank = 0;
  int64_t size[kMaxRank];
  int64_t step[kOperands][kMaxRank];
  int operands = 0;
  char* base[kOperands];
  int64_t bytes[kOperands];  // of one element

  void add_operand(const Tensor& t, const Dims& shape) {
    const int k = operands++;
    base[k] = static_cast<char*>(t.raw());
    bytes[k] = static_cast<int64_t>(size_of(t.dtype()));
    const int shift = shape.size() - t.rank();
    for (int a = 0; a < shape.size(); a++)
      step[k][a] = a < shift || t.shape()[a - shift] == 1 ? 0 : t.strides()[a - shift] * bytes[k];
  }

  // Puts the result's smallest step innermost (a transposed destination is written in memory order), drops axes of size
  // 1 and merges neighbours.
  void simplify() {
    int64_t* steps[kOperands];
    for (int k = 0; k < operands; k++) steps[k] = step[k];
    kernels::order_axes(rank, size, steps, operands);
    rank = kernels::merge_axes(rank, size, steps, operands);
    if (rank == 0) {
      rank = 1;
      size[0] = 1;
      for (int k = 0; k < operands; k++) step[k][0] = 0;
      step[0][0] = bytes[0];
    }
  }
};

template <class T>
void copy_strided(char* to, int64_t to_step, const char* from, int64_t from_step, int64_t n) {
  for (int64_t i = 0; i < n; i++) std::memcpy(to + i * to_step, from + i * from_step, sizeof(T));
}

void copy_strided(char* to, int64_t to_step, const char* from, int64_t from_step, int64_t n, int64_t bytes) {
  switch (bytes) {
    case 8: return copy_strided<uint64_t>(to, to_step, from, from_step, n);
    case 4: return copy_strided<uint32_t>(to, to_step, from, from_step, n);
    case 2: return copy_strided<uint16_t>(to, to_step, from, from_step, n);
    default: return copy_strided<uint8_t>(to, to_step, from, from_step, n);
  }
}

// Runs the tile kernel on n elements of the innermost axis, gathering what is neither contiguous nor one repeated
// element.
class RowRunner {
 public:
  RowRunner(TileFn tile, const Walk& walk, const double* params, bool mask_first)
      : tile_(tile), walk_(walk), params_(params) {
    const int inner = walk.rank - 1;
    unsigned repeated = 0;
    for (int k = 1; k < walk.operands; k++)
      if (walk.step[k][inner] == 0) repeated |= 1u << (k - 1);
    const unsigned all = (1u << (walk.operands - 1)) - 1;
    // A kernel wants at least one operand with a vector of elements, and a mask always as a vector.
    if (repeated == all || walk.operands == 2) repeated = 0;
    if (mask_first) repeated &= ~1u;
    scalars_ = repeated;
    for (int k = 0; k < walk.operands; k++) {
      const bool scalar = k > 0 && (repeated >> (k - 1) & 1) != 0;
      direct_[k] = scalar || walk.step[k][inner] == walk.bytes[k];
      all_direct_ = all_direct_ && direct_[k];
    }
  }

  void run(char* const* at, int64_t n) {
    if (all_direct_) {
      const void* in[kOperands - 1];
      for (int k = 1; k < walk_.operands; k++) in[k - 1] = at[k];
      tile_(at[0], in, scalars_, n, params_);
      return;
    }
    for (int64_t i = 0; i < n; i += kTile) run_gathered(at, i, std::min(kTile, n - i));
  }

 private:
  void run_gathered(char* const* at, int64_t i, int64_t n) {
    const int inner = walk_.rank - 1;
    alignas(64) char buffer[kOperands][kTile * 8];
    const void* in[kOperands - 1];
    for (int k = 1; k < walk_.operands; k++) {
      const int64_t step = walk_.step[k][inner];
      const bool scalar = (scalars_ >> (k - 1) & 1) != 0;
      in[k - 1] = at[k] + (scalar ? 0 : i * step);
      if (direct_[k]) continue;
      copy_strided(buffer[k], walk_.bytes[k], at[k] + i * step, step, n, walk_.bytes[k]);
      in[k - 1] = buffer[k];
    }
    char* out = at[0] + i * walk_.step[0][inner];
    tile_(direct_[0] ? out : buffer[0], in, scalars_, n, params_);
    if (!direct_[0]) copy_strided(out, walk_.step[0][inner], buffer[0], walk_.bytes[0], n, walk_.bytes[0]);
  }

  TileFn tile_;
  const Walk& walk_;
  const double* params_;
  unsigned scalars_ = 0;
  bool direct_[kOperands], all_direct_ = true;
};

}  // namespace

void infer_elementwise(const Call& call, Specs& out) {
  if (call.attrs.size() != call.op.signature.attr_count())
    fail_argument(call, std::to_string(call.attrs.size()) + " attributes given",
                  std::string("the op is ") + call.op.signature.text());
  const Tensor& last = call.in(call.count() - 1);
  const DType type = last.dtype();
  const int first = call.count() == 3 ? 1 : 0;  // three inputs: a mask comes first
  for (int i = first; i < call.count(); i++)
    if (call.in(i).dtype() != type)
      throw Error(ErrorKind::kType, std::string(call.op.name) + ": element types " + name(call.in(i).dtype()) +
                                        " and " + name(type) + " differ (shapes " + to_string(call.in(i).shape()) +
                                        " and " + to_string(last.shape()) + ") — convert one with to()");
  require_type(call, type);
  if (first == 1 && call.in(0).dtype() != kBool)
    throw Error(ErrorKind::kType, std::string(call.op.name) + ": the condition is " + name(call.in(0).dtype()) + " " +
                                      to_string(call.in(0).shape()) + ", not bool — compare first");
  if (call.count() == 1 || (call.count() == 2 && call.in(0).shape() == last.shape()))
    return out.add(type, last.shape());
  Dims shape = broadcast_shapes(call.op.name, call.in(0).shape(), call.in(1).shape());
  if (call.count() == 3) shape = broadcast_shapes(call.op.name, shape, last.shape());
  out.add(type, shape);
}

void infer_comparison(const Call& call, Specs& out) {
  infer_elementwise(call, out);
  out.of[0].dtype = kBool;
}

void run_tiles(TileFn tile, const Call& call, const double* params, const Tensor& out, const Team& team) {
  bool plain = out.is_contiguous();
  for (int i = 0; i < call.count(); i++)
    plain = plain && call.in(i).is_contiguous() && call.in(i).shape() == out.shape();
  if (plain) {  // one run of elements
    const auto [begin, end] = team.share(out.numel(), 64);
    if (begin >= end) return;
    const void* in[kOperands - 1];
    for (int i = 0; i < call.count(); i++)
      in[i] = static_cast<const char*>(call.in(i).raw()) + begin * static_cast<int64_t>(size_of(call.in(i).dtype()));
    tile(static_cast<char*>(out.raw()) + begin * static_cast<int64_t>(size_of(out.dtype())), in, 0, end - begin,
         params);
    return;
  }
  Walk walk;
  walk.rank = out.rank();
  for (int a = 0; a < out.rank(); a++) walk.size[a] = out.shape()[a];
  walk.add_operand(out, out.shape());
  for (int i = 0; i < call.count(); i++) walk.add_operand(call.in(i), out.shape());
  walk.simplify();

  RowRunner row(tile, walk, params, call.count() == 3);
  const int inner = walk.rank - 1;
  const int64_t chunks = (walk.size[inner] + kChunk - 1) / kChunk;
  int64_t rows = 1;
  for (int a = 0; a < inner; a++) rows *= walk.size[a];
  const auto [begin, end] = team.share(rows * chunks);
  if (begin >= end) return;
  // Where the first unit stands; from there an odometer steps to the next row.
  int64_t chunk = begin % chunks, index[kMaxRank];
  char* at[kOperands];
  for (int k = 0; k < walk.operands; k++) at[k] = walk.base[k];
  int64_t rest = begin / chunks;
  for (int a = inner - 1; a >= 0; rest /= walk.size[a], a--) {
    index[a] = rest % walk.size[a];
    for (int k = 0; k < walk.operands; k++) at[k] += index[a] * walk.step[k][a];
  }
  for (int64_t unit = begin; unit < end; unit++) {
    const int64_t first = chunk * kChunk;
    char* here[kOperands];
    for (int k = 0; k < walk.operands; k++) here[k] = at[k] + first * walk.step[k][inner];
    row.run(here, std::min(kChunk, walk.size[inner] - first));
    if (++chunk < chunks) continue;
    chunk = 0;
    for (int a = inner - 1; a >= 0; a--) {
      const int64_t move = ++index[a] < walk.size[a] ? 1 : 1 - walk.size[a];
      for (int k = 0; k < walk.operands; k++) at[k] += move * walk.step[k][a];
      if (move == 1) break;
      index[a] = 0;
    }
  }
}

void prepare_elementwise(const Call& call, Prepared& block) { block.set(Params(call)); }

void run_element_by_element(const Call& call, const Tensor& out, TileFn tile) {
  const Params params(call);
  for_each_element(call, out, [&](void* to, const void* const* from) { tile(to, from, 0, 1, params.values); });
}

Tensor call(const Op& op, std::initializer_list<Tensor> inputs, const Attrs& attrs) {
  const Tensor* pointers[kMaxInputs];
  if (inputs.size() > kMaxInputs) throw Error(std::string(op.name) + ": too many inputs — at most 64 go into one call");
  size_t count = 0;
  for (const Tensor& t : inputs) pointers[count++] = &t;
  return call(op, std::span<const Tensor* const>(pointers, count), attrs);
}

int64_t load_as_int(const void* p, DType dtype) {
  return dtype == kI64 ? *static_cast<const int64_t*>(p) : static_cast<int64_t>(load_as_double(p, dtype));
}

void store_from_int(void* p, DType dtype, int64_t value) {
  switch (dtype) {  // wraps, as the kernels do
    case DType::kI64: *static_cast<int64_t*>(p) = value; break;
    case DType::kI32: *static_cast<int32_t*>(p) = static_cast<int32_t>(value); break;
    case DType::kU8: *static_cast<uint8_t*>(p) = static_cast<uint8_t>(value); break;
    default: store_from_double(p, dtype, static_cast<double>(value));
  }
}

}  // namespace ingot
