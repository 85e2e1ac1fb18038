#include "ingot/ops/staging.h"

#include "kernels/copy.h"

namespace ingot {
namespace {

void* take(void*& scratch, size_t bytes) {
  void* taken = scratch;
  scratch = static_cast<std::byte*>(scratch) + bytes;
  return taken;
}

int64_t element_bytes(const Tensor& t) { return static_cast<int64_t>(size_of(t.dtype())); }

}  // namespace

size_t staging_bytes(const Tensor& t) {
  if (!t.defined() || t.is_contiguous()) return 0;
  return (static_cast<size_t>(t.numel()) * size_of(t.dtype()) + 63) / 64 * 64;
}

const void* stage_in(const Tensor& t, void*& scratch, const Team& team) {
  if (!t.defined()) return nullptr;
  if (t.is_contiguous()) return t.raw();
  void* staged = take(scratch, staging_bytes(t));
  const Dims strides = contiguous_strides(t.shape());
  kernels::copy(staged, strides.begin(), t.raw(), t.strides().begin(), t.shape().begin(), t.rank(), element_bytes(t),
                team);
  return staged;
}

void* stage_out(const Tensor& t, void*& scratch) {
  return t.is_contiguous() ? t.raw() : take(scratch, staging_bytes(t));
}

void unstage(const Tensor& t, const void* staged, const Team& team) {
  if (staged == t.raw()) return;
  team.barrier();
  const Dims strides = contiguous_strides(t.shape());
  kernels::copy(t.raw(), t.strides().begin(), staged, strides.begin(), t.shape().begin(), t.rank(), element_bytes(t),
                team);
}

void copy_share(const Tensor& to, const Tensor& from, const Team& team) {
  kernels::copy(to.raw(), to.strides().begin(), from.raw(), from.strides().begin(), to.shape().begin(), to.rank(),
                element_bytes(to), team);
}

void fill_share(const Tensor& to, const void* element, const Team& team) {
  const Dims repeat = Dims::filled(to.rank(), 0);
  kernels::copy(to.raw(), to.strides().begin(), element, repeat.begin(), to.shape().begin(), to.rank(),
                element_bytes(to), team);
}

size_t staged_bytes(const Call& call, const Tensor* out) {
  size_t bytes = 0;
  for (int i = 0; i < call.count(); i++) bytes += staging_bytes(call.in(i));
  for (int i = 0; i < output_count(call.op); i++) bytes += staging_bytes(out[i]);
  return bytes;
}

}  // namespace ingot
