#include "ingot/base/tensor.h"

#include <algorithm>
#include <new>

#include "ingot/base/error.h"
#include "ingot/base/memory.h"

namespace ingot {
namespace {

[[noreturn]] void fail_symbolic(const char* what, const Dims& shape) {
  throw Error(
      std::string(what) + ": the tensor " + to_string(shape) +
      " is symbolic: its elements exist only when the plan runs — decide with shapes and constants, use where(), "
      "or return it as a result");
}

// The Storage record lies in front of its elements, in one block: one allocation per tensor.
constexpr size_t kHeader = 64;
static_assert(sizeof(Storage) <= kHeader);

Storage* allocate_storage(size_t bytes) {
  void* block = allocate_bytes(kHeader + bytes);
  Storage* storage = new (block) Storage;
  storage->data = static_cast<std::byte*>(block) + kHeader;
  storage->bytes = bytes;
  return storage;
}

std::atomic<uint64_t> moves{0};

void free_storage(Storage* storage) noexcept {
  for (const Moved* m = storage->moved.load(std::memory_order_acquire); m != nullptr;) delete std::exchange(m, m->next);
  if (storage->release != nullptr) {
    std::unique_ptr<std::function<void()>> release(storage->release);
    if (*release) (*release)();
    free_bytes(storage, kHeader);
  } else {
    free_bytes(storage, kHeader + storage->bytes);
  }
}

bool row_major(const Dims& shape, const Dims& strides) {
  for (int64_t n : shape)
    if (n == 0) return true;
  int64_t step = 1;
  for (int i = shape.size() - 1; i >= 0; i--) {
    if (shape[i] != 1 && strides[i] != step) return false;
    step *= shape[i];
  }
  return true;
}

// The axes of one or two tensors as positive byte steps with the highest count of each.
struct Steps {
  struct Axis {
    int64_t step, limit;
  };
  Axis of[2 * kMaxRank];
  int count = 0;
  void add(const Tensor& t) {
    for (int i = 0; i < t.rank(); i++)
      if (t.shape()[i] > 1)
        of[count++] = {std::abs(t.strides()[i]) * static_cast<int64_t>(size_of(t.dtype())), t.shape()[i] - 1};
  }
  void sort_descending() {
    std::sort(of, of + count, [](const Axis& a, const Axis& b) { return a.step > b.step; });
  }
};

// Is there a choice of counts 0 ≤ cᵢ ≤ limitᵢ with Σ cᵢ·stepᵢ in [lo, hi]? Steps are positive and descending, so what
// the later steps can still reach bounds each count: a handful of candidates per level. Gives up (true) after `budget`
// tries.
bool reachable(const Steps& steps, int at, int64_t lo, int64_t hi, int& budget) {
  if (lo <= 0 && hi >= 0) return true;
  if (hi < 0 || at == steps.count) return false;
  if (--budget < 0) return true;
  int64_t rest = 0;
  for (int i = at + 1; i < steps.count; i++) rest += steps.of[i].step * steps.of[i].limit;
  const auto [step, limit] = steps.of[at];
  const int64_t least = lo - rest <= 0 ? 0 : (lo - rest + step - 1) / step;
  const int64_t most = std::min(limit, hi / step);
  for (int64_t c = least; c <= most; c++) {
    if (reachable(steps, at + 1, lo - c * step, hi - c * step, budget)) return true;
    if (budget < 0) return true;
  }
  return false;
}

}  // namespace

Tensor::Tensor(Storage* owned, void* data, DType dtype, const Dims& shape, const Dims& strides)
    : storage_(owned),
      data_(data),
      numel_(element_count(shape)),
      dtype_(dtype),
      contiguous_(row_major(shape, strides)),
      symbolic_(owned->capture != nullptr),
      shape_(shape),
      strides_(strides) {}

Tensor::Tensor(Storage* owned, DType dtype, const Dims& shape, int64_t numel)
    : storage_(owned),
      data_(owned->data),
      numel_(numel),
      dtype_(dtype),
      shape_(shape),
      strides_(contiguous_strides(shape)) {}

Tensor::Tensor(const Tensor& other) noexcept
    : storage_(other.storage_),
      data_(other.data_),
      numel_(other.numel_),
      dtype_(other.dtype_),
      contiguous_(other.contiguous_),
      symbolic_(other.symbolic_),
      shape_(other.shape_),
      strides_(other.strides_) {
  if (storage_ != nullptr) storage_->references.fetch_add(1, std::memory_order_relaxed);
}

Tensor::Tensor(Tensor&& other) noexcept
    : storage_(std::exchange(other.storage_, nullptr)),
      data_(std::exchange(other.data_, nullptr)),
      numel_(std::exchange(other.numel_, 0)),
      dtype_(other.dtype_),
      contiguous_(other.contiguous_),
      symbolic_(std::exchange(other.symbolic_, false)),
      shape_(other.shape_),
      strides_(other.strides_) {}

Tensor& Tensor::operator=(const Tensor& other) noexcept {
  Tensor copy(other);
  return *this = std::move(copy);
}

Tensor& Tensor::operator=(Tensor&& other) noexcept {
  if (this == &other) return *this;
  release();
  storage_ = std::exchange(other.storage_, nullptr);
  data_ = std::exchange(other.data_, nullptr);
  numel_ = std::exchange(other.numel_, 0);
  dtype_ = other.dtype_;
  contiguous_ = other.contiguous_;
  symbolic_ = std::exchange(other.symbolic_, false);
  shape_ = other.shape_;
  strides_ = other.strides_;
  return *this;
}

void Tensor::release() noexcept {
  if (storage_ == nullptr) return;
  // The only handle left is nobody else's to copy: it needs no atomic subtraction.
  std::atomic<int64_t>& references = storage_->references;
  if (references.load(std::memory_order_acquire) == 1 || references.fetch_sub(1, std::memory_order_acq_rel) == 1)
    free_storage(storage_);
  storage_ = nullptr;
}

Tensor Tensor::empty(const Dims& shape, DType dtype) {
  const int64_t numel = element_count(shape);
  return Tensor(allocate_storage(static_cast<size_t>(numel) * size_of(dtype)), dtype, shape, numel);
}

Tensor Tensor::wrap(void* data, const Dims& shape, DType dtype, const Dims& strides, std::function<void()> on_release) {
  const int64_t n = element_count(shape);
  if (data == nullptr && n > 0) throw Error(ErrorKind::kArgument, "wrap: null pointer for shape " + to_string(shape));
  if (reinterpret_cast<uintptr_t>(data) % size_of(dtype) != 0)
    throw Error("wrap: memory is not aligned to its elements (" + std::string(name(dtype)) + ")");
  if (!strides.empty() && strides.size() != shape.size())
    throw Error(ErrorKind::kShape, "wrap: strides " + to_string(strides) + " do not fit shape " + to_string(shape) +
                                       " — give one stride per axis");
  auto release = std::make_unique<std::function<void()>>(std::move(on_release));
  Storage* storage = new (allocate_bytes(kHeader)) Storage;
  storage->data = static_cast<std::byte*>(data);
  storage->release = release.release();
  return Tensor(storage, data, dtype, shape, strides.empty() ? contiguous_strides(shape) : strides);
}

Tensor Tensor::symbolic(const void* capture, int64_t number, DType dtype, const Dims& shape, const Dims& strides) {
  // Views of a symbolic tensor are told apart by where they start, so it stands at an address that nobody has.
  static std::byte* const nowhere = reinterpret_cast<std::byte*>(uintptr_t{1} << 62);
  Storage* storage = allocate_storage(0);
  storage->data = nowhere;
  storage->capture = capture;
  storage->symbol = number;
  return Tensor(storage, nowhere, dtype, shape, strides);
}

Tensor Tensor::view(void* data, const Dims& shape, const Dims& strides, DType dtype) const {
  storage_->references.fetch_add(1, std::memory_order_relaxed);
  return Tensor(storage_, data, dtype, shape, strides);
}

void mark_moved(const Tensor& t, const std::string& name) {
  const auto [first, last] = memory_span(t);
  std::atomic<const Moved*>& list = t.storage()->moved;
  auto* const mark = new Moved{reinterpret_cast<const std::byte*>(first), reinterpret_cast<const std::byte*>(last),
                               name, list.load(std::memory_order_acquire)};
  while (!list.compare_exchange_weak(mark->next, mark, std::memory_order_release)) {
  }
  moves.fetch_add(1, std::memory_order_release);
}

const std::string* moved_from(const Tensor& t) {
  const auto [first, last] = memory_span(t);
  for (const Moved* m = t.storage()->moved.load(std::memory_order_acquire); m != nullptr; m = m->next)
    if (reinterpret_cast<const std::byte*>(first) < m->last && m->first < reinterpret_cast<const std::byte*>(last))
      return &m->name;
  return nullptr;
}

uint64_t move_count() { return moves.load(std::memory_order_acquire); }

void Tensor::check_type(DType wanted) const {
  if (storage_ == nullptr) throw Error("tensor: undefined — give it a value before reading it");
  if (symbolic_) fail_symbolic("data", shape_);
  if (dtype_ != wanted)
    throw Error(ErrorKind::kType, "tensor: elements are " + std::string(name(dtype_)) + ", asked for as " +
                                      name(wanted) + " — convert with to()");
}

void Tensor::check_value_count(size_t count, const Dims& shape) {
  if (static_cast<int64_t>(count) != element_count(shape))
    throw Error(ErrorKind::kShape, "from: " + std::to_string(count) + " values do not fill shape " + to_string(shape));
}

int64_t Tensor::element_offset(const Dims& index) const {
  if (index.size() != rank())
    throw Error(ErrorKind::kShape,
                "at: index " + to_string(index) + " for shape " + to_string(shape_) + " — give one number per axis");
  int64_t offset = 0;
  for (int i = 0; i < index.size(); i++) {
    if (index[i] < 0 || index[i] >= shape_[i])
      throw Error("at: index " + to_string(index) + " is outside shape " + to_string(shape_));
    offset += index[i] * strides_[i];
  }
  return offset;
}

double Tensor::item_as_double() const {
  if (storage_ == nullptr) throw Error("item: undefined tensor");
  if (symbolic_) fail_symbolic("item", shape_);
  if (numel_ != 1)
    throw Error(ErrorKind::kShape,
                "item: shape " + to_string(shape_) + " has " + std::to_string(numel_) + " elements, not one");
  return load_as_double(data_, dtype_);
}

std::pair<const char*, const char*> memory_span(const Tensor& t) {
  const int64_t size = static_cast<int64_t>(size_of(t.dtype()));
  const char* lo = static_cast<const char*>(t.raw());
  const char* hi = lo + size;
  for (int i = 0; i < t.rank(); i++) {
    const int64_t reach = (t.shape()[i] - 1) * t.strides()[i] * size;
    (reach < 0 ? lo : hi) += reach;
  }
  return {lo, hi};
}

bool overlaps(const Tensor& a, const Tensor& b) {
  if (a.numel() == 0 || b.numel() == 0) return false;
  const auto [a_lo, a_hi] = memory_span(a);
  const auto [b_lo, b_hi] = memory_span(b);
  if (a_hi <= b_lo || b_hi <= a_lo) return false;
  // Byte ranges meet; ask whether two elements do. Counting a's indices up and b's down from its far corner makes
  // every step positive: a_lo + Σ cᵢ·stepᵢ (over both) = b_hi' up to the elements' own sizes.
  const int64_t a_size = static_cast<int64_t>(size_of(a.dtype())), b_size = static_cast<int64_t>(size_of(b.dtype()));
  Steps steps;
  steps.add(a);
  steps.add(b);
  steps.sort_descending();
  while (steps.count > 0 && steps.of[steps.count - 1].step == 0) steps.count--;  // broadcast axes go nowhere
  const int64_t distance = (b_hi - b_size) - a_lo;
  int budget = 10000;
  return reachable(steps, 0, distance - a_size + 1, distance + b_size - 1, budget);
}

bool overlaps_itself(const Tensor& t) {
  if (t.is_contiguous() || t.numel() <= 1) return false;
  Steps steps;
  steps.add(t);
  steps.sort_descending();
  int64_t reach = 0;  // of all smaller steps; sufficient, and every view of ours satisfies it when it does not overlap
  for (int i = steps.count - 1; i >= 0; i--) {
    if (steps.of[i].step <= reach) return true;
    reach += steps.of[i].step * steps.of[i].limit;
  }
  return false;
}

std::string describe(const Tensor& t) {
  return t.defined() ? std::string(name(t.dtype())) + " " + to_string(t.shape()) : "undefined";
}

double load_as_double(const void* p, DType dtype) {
  switch (dtype) {
    case DType::kF32: return *static_cast<const float*>(p);
    case DType::kF64: return *static_cast<const double*>(p);
    case DType::kI32: return *static_cast<const int32_t*>(p);
    case DType::kI64: return static_cast<double>(*static_cast<const int64_t*>(p));
    case DType::kU8: return *static_cast<const uint8_t*>(p);
    case DType::kBool: return *static_cast<const uint8_t*>(p) != 0;
    case DType::kF16: return to_float(*static_cast<const Half*>(p));
    case DType::kBF16: return to_float(*static_cast<const BFloat16*>(p));
  }
  return 0;
}

void store_from_double(void* p, DType dtype, double value) {
  switch (dtype) {
    case DType::kF32: *static_cast<float*>(p) = static_cast<float>(value); break;
    case DType::kF64: *static_cast<double*>(p) = value; break;
    case DType::kI32: *static_cast<int32_t*>(p) = saturate<int32_t>(value); break;
    case DType::kI64: *static_cast<int64_t*>(p) = saturate<int64_t>(value); break;
    case DType::kU8: *static_cast<uint8_t*>(p) = saturate<uint8_t>(value); break;
    case DType::kBool: *static_cast<uint8_t*>(p) = value != 0; break;
    case DType::kF16: *static_cast<Half*>(p) = to_half(static_cast<float>(value)); break;
    case DType::kBF16: *static_cast<BFloat16*>(p) = to_bfloat16(static_cast<float>(value)); break;
  }
}

}  // namespace ingot
