// Tensor: a value handle on strided memory.
#pragma once
#include <atomic>
#include <functional>
#include <iosfwd>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "ingot/base/dtype.h"
#include "ingot/base/export.h"
#include "ingot/base/shape.h"

namespace ingot {

/// Elements of a storage that live elsewhere from now on.
struct Moved {
  const std::byte *first, *last;  // where they were
  std::string name;
  const Moved* next;
};

/// Memory shared by the tensors that look at it. Freed with the last of them.
struct Storage {
  std::atomic<int64_t> references{1};
  std::byte* data = nullptr;
  size_t bytes = 0;                          // of `data`; what the allocator counted if it owns the block
  std::function<void()>* release = nullptr;  // set for wrapped memory: what to call at the end, or an empty function
  const void* capture = nullptr;             // of a symbolic tensor: the capture that it belongs to,
  int64_t symbol = -1;                       // and its number there
  std::atomic<const Moved*> moved{nullptr};  // see mark_moved()
};

/// A handle: storage, dtype, shape, strides and offset. Copying a Tensor copies the handle, never the elements.
class INGOT_API Tensor {
 public:
  /// The undefined tensor: no storage. Stands for "not given" where an argument is optional.
  Tensor() = default;
  Tensor(const Tensor& other) noexcept;
  Tensor(Tensor&& other) noexcept;
  Tensor& operator=(const Tensor& other) noexcept;
  Tensor& operator=(Tensor&& other) noexcept;
  ~Tensor() {
    if (storage_ != nullptr) release();
  }

  /// Uninitialised contiguous memory, 64-byte aligned.
  static Tensor empty(const Dims& shape, DType dtype = kF32);

  /// Looks at memory that somebody else owns; `on_release` runs when the last handle goes. Strides in elements,
  /// row-major if not given; the memory must cover shape and strides and be aligned to its element.
  static Tensor wrap(void* data, const Dims& shape, DType dtype, const Dims& strides = {},
                     std::function<void()> on_release = {});
  template <class T>
  static Tensor wrap(T* data, const Dims& shape, const Dims& strides = {}) {
    return wrap(const_cast<std::remove_const_t<T>*>(data), shape, dtype_of<std::remove_const_t<T>>, strides);
  }

  /// A copy of `values`, in row-major order; an Error if their number is not the shape's.
  template <class T>
  static Tensor from(const std::vector<T>& values, const Dims& shape);
  /// A one-dimensional copy of `values`.
  template <class T>
  static Tensor from(const std::vector<T>& values) {
    return from(values, {static_cast<int64_t>(values.size())});
  }

  /// A tensor without elements: value number `number` of a capture. What ops are called on while a Plan is made.
  static Tensor symbolic(const void* capture, int64_t number, DType dtype, const Dims& shape, const Dims& strides);
  /// Does it stand for a value that a capture will compute? Then its elements cannot be read.
  bool is_symbolic() const { return symbolic_; }

  bool defined() const { return storage_ != nullptr; }
  DType dtype() const { return dtype_; }
  const Dims& shape() const { return shape_; }
  const Dims& strides() const { return strides_; }
  int rank() const { return shape_.size(); }
  /// Size of one axis; negative axes count from the end.
  int64_t size(int64_t axis) const { return shape_[normalize_axis("size", axis, rank())]; }
  int64_t numel() const { return numel_; }
  /// True if the elements lie in row-major order without gaps.
  bool is_contiguous() const { return contiguous_; }

  /// The first element, untyped.
  void* raw() const { return data_; }
  /// The first element; an Error if T is not the tensor's type.
  template <class T>
  T* data() const {
    check_type(dtype_of<T>);
    return static_cast<T*>(data_);
  }
  /// The element at `index` (one number per axis).
  template <class T>
  T& at(const Dims& index) const {
    check_type(dtype_of<T>);
    return static_cast<T*>(data_)[element_offset(index)];
  }
  /// The value of a one-element tensor of any type, as T.
  template <class T = float>
  T item() const {
    return static_cast<T>(item_as_double());
  }
  /// The elements in row-major order.
  template <class T>
  std::vector<T> to_vector() const;

  /// Another look at the same storage. `data` must lie inside it: the view functions of ops.h are what to use.
  Tensor view(void* data, const Dims& shape, const Dims& strides) const { return view(data, shape, strides, dtype_); }
  Tensor view(void* data, const Dims& shape, const Dims& strides, DType dtype) const;
  /// Looks at `data` from now on, with the same shape; whoever calls it keeps that memory alive.
  void move_to(void* data) { data_ = data; }

  /// True if both look at the same storage.
  bool shares_storage(const Tensor& other) const { return storage_ != nullptr && storage_ == other.storage_; }
  Storage* storage() const { return storage_; }

 private:
  Tensor(Storage* owned, void* data, DType dtype, const Dims& shape, const Dims& strides);
  Tensor(Storage* owned, DType dtype, const Dims& shape, int64_t numel);  // in row-major order
  void release() noexcept;
  void check_type(DType wanted) const;
  static void check_value_count(size_t count, const Dims& shape);
  int64_t element_offset(const Dims& index) const;
  double item_as_double() const;

  Storage* storage_ = nullptr;
  void* data_ = nullptr;
  int64_t numel_ = 0;
  DType dtype_ = kF32;
  bool contiguous_ = true, symbolic_ = false;
  Dims shape_, strides_;
};

/// True if some element of `a` lies in memory of some element of `b` (exact; for absurdly many strides, errs towards
/// true).
INGOT_API bool overlaps(const Tensor& a, const Tensor& b);
/// The addresses [first, last) of the bytes between which the elements of `t` lie.
INGOT_API std::pair<const char*, const char*> memory_span(const Tensor& t);
/// True if two indices of `t` name the same memory, as in a broadcast view.
INGOT_API bool overlaps_itself(const Tensor& t);

/// Says that the elements of `t`, called `name`, live elsewhere from now on (a slab took them): whoever still looks at
/// this memory, such as a plan that was compiled before, can know.
INGOT_API void mark_moved(const Tensor& t, const std::string& name);
/// The name of elements of `t` that live elsewhere, or null.
INGOT_API const std::string* moved_from(const Tensor& t);
/// How often elements moved so far: who has looked since the last time need not look again.
INGOT_API uint64_t move_count();

/// "f32 [2, 3]", or "undefined".
INGOT_API std::string describe(const Tensor& t);

/// Readable text: small tensors whole, large ones with their corners.
INGOT_API std::string to_string(const Tensor& t);
INGOT_API std::ostream& operator<<(std::ostream& out, const Tensor& t);

/// Reads or writes one element of any type as double (exact but for i64 beyond 2⁵³); for printing, tests and
/// references.
INGOT_API double load_as_double(const void* element, DType dtype);
INGOT_API void store_from_double(void* element, DType dtype, double value);

// ---------------------------------------------------------------------------------------------------------------------

template <class T>
Tensor Tensor::from(const std::vector<T>& values, const Dims& shape) {
  check_value_count(values.size(), shape);
  Tensor t = empty(shape, dtype_of<T>);
  T* out = t.data<T>();
  for (size_t i = 0; i < values.size(); i++) out[i] = values[i];
  return t;
}

template <class T>
std::vector<T> Tensor::to_vector() const {
  check_type(dtype_of<T>);
  std::vector<T> values;
  values.reserve(static_cast<size_t>(numel_));
  Dims index = Dims::filled(rank(), 0);
  for (int64_t i = 0; i < numel_; i++) {
    values.push_back(static_cast<const T*>(data_)[element_offset(index)]);
    for (int axis = rank() - 1; axis >= 0 && ++index[axis] == shape_[axis]; axis--) index[axis] = 0;
  }
  return values;
}

}  // namespace ingot
