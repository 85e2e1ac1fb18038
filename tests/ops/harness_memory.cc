// Guarded operands in every layout, and the counter behind malloc.
#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <new>
#include <numeric>

#include "ingot/base/error.h"
#include "tests/ops/harness.h"
#include "tests/sanitized.h"

// NOLINTBEGIN(readability-identifier-naming): names of the C library and of the sanitizers
#if INGOT_SANITIZED
// Debian's GCC has the function but not the header that declares it.
extern "C" int __sanitizer_install_malloc_and_free_hooks(void (*on_malloc)(const volatile void*, size_t),
                                                         void (*on_free)(const volatile void*));
#endif
// NOLINTEND(readability-identifier-naming)

namespace ingot::harness {
namespace {

std::atomic<uint64_t> malloc_count{0};
constexpr std::byte kPattern{0xA5};

}  // namespace

uint64_t malloc_calls() { return malloc_count.load(std::memory_order_relaxed); }

bool repeats(Layout layout) {
  return layout == Layout::kRepeatFirst || layout == Layout::kRepeatLast || layout == Layout::kRepeatAll;
}

const char* name(Layout layout) {
  switch (layout) {
    case Layout::kContiguous: return "contiguous";
    case Layout::kOffset: return "offset";
    case Layout::kStrided: return "strided";
    case Layout::kRows: return "rows with gaps";
    case Layout::kTransposed: return "transposed";
    case Layout::kRotated: return "rotated";
    case Layout::kReversed: return "reversed";
    case Layout::kRepeatFirst: return "first axis repeated";
    case Layout::kRepeatLast: return "last axis repeated";
    case Layout::kRepeatAll: return "all axes repeated";
  }
  return "?";
}

namespace {

// The axes from the innermost in memory to the outermost.
std::vector<int> memory_order(int rank, Layout layout) {
  std::vector<int> order(static_cast<size_t>(rank));
  std::iota(order.begin(), order.end(), 0);
  if (layout != Layout::kTransposed) std::reverse(order.begin(), order.end());
  if (layout == Layout::kRotated && rank > 1)
    std::rotate(order.begin(), std::find(order.begin(), order.end(), 1), order.end());
  return order;
}

}  // namespace

Placed::Placed(DType dtype, const Dims& shape, Layout layout) {
  const int rank = shape.size();
  Dims strides = Dims::filled(rank, 0);
  int64_t step = layout == Layout::kStrided ? 2 : 1, last = 0;  // in elements; `last` is the farthest from the first
  bool innermost = true;
  for (int a : memory_order(rank, layout)) {
    const bool repeated = layout == Layout::kRepeatAll || (layout == Layout::kRepeatFirst && a == 0) ||
                          (layout == Layout::kRepeatLast && a == rank - 1);
    if (repeated) continue;
    strides[a] = step;
    last += std::max<int64_t>(shape[a] - 1, 0) * step;
    step *= std::max<int64_t>(shape[a], 1);
    if (innermost && (layout == Layout::kRows || layout == Layout::kStrided)) step += 3;
    innermost = false;
  }
  int64_t first = layout == Layout::kContiguous ? 0 : 1;
  if (layout == Layout::kReversed) {
    first += last;
    for (int64_t& s : strides) s = -s;
  }
  const int64_t margin = layout == Layout::kContiguous || layout == Layout::kOffset ? 0 : 3;
  const int64_t size = static_cast<int64_t>(size_of(dtype)), count = element_count(shape) == 0 ? 0 : last + 1;
  // The memory ends with the last element (or its margin), so that the address sanitizer sees every step beyond.
  bytes_ = ((layout == Layout::kContiguous ? 0 : 1) + count + margin) * size;
  void* memory = nullptr;
  if (posix_memalign(&memory, 64, static_cast<size_t>(bytes_)) != 0) throw std::bad_alloc();
  memory_.reset(static_cast<std::byte*>(memory), [](std::byte* p) { std::free(p); });
  std::memset(memory, static_cast<int>(kPattern), static_cast<size_t>(bytes_));
  if (count == 0) first = 0;
  tensor_ = Tensor::wrap(memory_.get() + first * size, shape, dtype, strides);
}

void Placed::fill(const Tensor& source) {
  const int64_t size = static_cast<int64_t>(size_of(source.dtype()));
  Dims index = Dims::filled(source.rank(), 0);
  for (int64_t i = 0; i < source.numel(); i++) {
    int64_t from = 0, to = 0;
    bool kept = true;
    for (int a = 0; a < source.rank(); a++) {
      from += index[a] * source.strides()[a];
      to += index[a] * tensor_.strides()[a];
      kept = kept && (tensor_.strides()[a] != 0 || index[a] == 0);
    }
    if (kept)
      std::memcpy(static_cast<std::byte*>(tensor_.raw()) + to * size,
                  static_cast<std::byte*>(source.raw()) + from * size, static_cast<size_t>(size));
    for (int a = source.rank() - 1; a >= 0 && ++index[a] == source.shape()[a]; a--) index[a] = 0;
  }
}

std::vector<bool> Placed::element_bytes() const {
  std::vector<bool> inside(static_cast<size_t>(bytes_));
  const int64_t size = static_cast<int64_t>(size_of(tensor_.dtype()));
  Dims index = Dims::filled(tensor_.rank(), 0);
  for (int64_t i = 0; i < tensor_.numel(); i++) {
    int64_t at = static_cast<std::byte*>(tensor_.raw()) - memory_.get();
    for (int a = 0; a < tensor_.rank(); a++) at += index[a] * tensor_.strides()[a] * size;
    std::fill_n(inside.begin() + at, size, true);
    for (int a = tensor_.rank() - 1; a >= 0 && ++index[a] == tensor_.shape()[a]; a--) index[a] = 0;
  }
  return inside;
}

testing::AssertionResult Placed::surroundings_untouched() const {
  const std::vector<bool> inside = element_bytes();
  for (size_t i = 0; i < inside.size(); i++)
    if (!inside[i] && memory_[i] != kPattern)
      return testing::AssertionFailure() << "byte " << i << " of the memory around dst " << to_string(tensor_.shape())
                                         << " was written";
  return testing::AssertionSuccess();
}

testing::AssertionResult Placed::untouched() const {
  for (int64_t i = 0; i < bytes_; i++)
    if (memory_[static_cast<size_t>(i)] != kPattern)
      return testing::AssertionFailure() << "byte " << i << " of dst " << to_string(tensor_.shape()) << " was written";
  return testing::AssertionSuccess();
}

PlacedCase::PlacedCase(const Case& source, const std::vector<Layout>& layouts) : call{source.op, {}, source.attrs} {
  for (size_t i = 0; i < source.inputs.size(); i++) {
    if (!source.inputs[i].defined()) {
      call.inputs.emplace_back();
      continue;
    }
    placed.emplace_back(source.inputs[i], layouts[i % layouts.size()]);
    call.inputs.push_back(placed.back().tensor());
  }
}

bool PlacedCase::allowed() const {
  if (call.op->view == nullptr) return true;
  try {
    infer(call);
  } catch (const Error&) {
    return false;
  }
  return true;
}

std::vector<Placed> destinations(const Case& c, Layout layout) {
  const Specs specs = infer(c);
  std::vector<Placed> result;
  result.reserve(static_cast<size_t>(specs.count));
  for (int i = 0; i < specs.count; i++) result.emplace_back(specs.of[i].dtype, specs.of[i].shape, layout);
  return result;
}

std::vector<Tensor> tensors_of(const std::vector<Placed>& placed) {
  std::vector<Tensor> result;
  result.reserve(placed.size());
  for (const Placed& p : placed) result.push_back(p.tensor());
  return result;
}

#if INGOT_SANITIZED
namespace {
[[maybe_unused]] const int hooks = __sanitizer_install_malloc_and_free_hooks(
    [](const volatile void*, size_t) { malloc_count.fetch_add(1, std::memory_order_relaxed); },
    [](const volatile void*) {});
}  // namespace
#endif

}  // namespace ingot::harness

// The program's own malloc stands in front of the C library's, for every library of the process.
#if !INGOT_SANITIZED
extern "C" {
// NOLINTBEGIN(readability-identifier-naming)
void* __libc_malloc(size_t);
void* __libc_calloc(size_t, size_t);
void* __libc_realloc(void*, size_t);
void* __libc_memalign(size_t, size_t);
// NOLINTEND(readability-identifier-naming)

void* malloc(size_t bytes) {
  ingot::harness::malloc_count.fetch_add(1, std::memory_order_relaxed);
  return __libc_malloc(bytes);
}
void* calloc(size_t count, size_t bytes) {
  ingot::harness::malloc_count.fetch_add(1, std::memory_order_relaxed);
  return __libc_calloc(count, bytes);
}
void* realloc(void* block, size_t bytes) {
  ingot::harness::malloc_count.fetch_add(1, std::memory_order_relaxed);
  return __libc_realloc(block, bytes);
}
void* aligned_alloc(size_t alignment, size_t bytes) {
  ingot::harness::malloc_count.fetch_add(1, std::memory_order_relaxed);
  return __libc_memalign(alignment, bytes);
}
int posix_memalign(void** block, size_t alignment, size_t bytes) {
  ingot::harness::malloc_count.fetch_add(1, std::memory_order_relaxed);
  *block = __libc_memalign(alignment, bytes);
  return *block == nullptr ? 12 : 0;  // ENOMEM
}
}
#endif
