#include "ingot/data/dataset.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <deque>
#include <string>
#include <utility>

#include "ingot/base/error.h"
#include "ingot/base/random.h"
#include "ingot/ops/functions.h"

namespace ingot::data {
namespace {

Dims behind_first_axis(const Dims& shape) {
  Dims rest = shape;
  rest.erase(0);
  return rest;
}

// Does `t` have `rows` rows of this shape and type, one after the other?
bool holds(const Tensor& t, size_t rows, const Dims& row, DType dtype) {
  return t.defined() && !t.is_symbolic() && t.rank() == row.size() + 1 && t.size(0) == static_cast<int64_t>(rows) &&
         behind_first_axis(t.shape()) == row && t.dtype() == dtype && t.is_contiguous();
}

std::string listed(const std::vector<InputSpec>& fields) {
  std::string text;
  for (const InputSpec& f : fields)
    text += (text.empty() ? "" : ", ") + f.name + " " + name(f.dtype) + " " + to_string(f.shape);
  return text;
}

// What every fetch asks of its arguments.
void check_fetch(const char* dataset, std::span<const int64_t> samples, int64_t size, const Batch& batch,
                 const std::vector<InputSpec>& fields) {
  for (const InputSpec& f : fields) {
    const Tensor* t = batch.find(f.name);
    if (t == nullptr || !holds(*t, samples.size(), f.shape, f.dtype))
      throw Error(ErrorKind::kShape, std::string(dataset) + ": fetch of " + std::to_string(samples.size()) +
                                         " samples into " + f.name + " (" + (t == nullptr ? "none" : describe(*t)) +
                                         ") — batches have contiguous rows of " + listed(fields));
  }
  for (const int64_t sample : samples)
    if (sample < 0 || sample >= size)
      throw Error(std::string(dataset) + ": sample " + std::to_string(sample) + " of " + std::to_string(size) +
                  " — samples are numbered from 0");
}

// Type of a tensor's numbers in a batch.
DType batch_type(const Tensor& t, bool labels) {
  if (t.dtype() == kI32 || t.dtype() == kI64 || (labels && t.dtype() == kU8)) return kI64;
  return kF32;
}

template <class From, class To>
void convert(const void* from, To* to, int64_t n) {
  const From* in = static_cast<const From*>(from);
  if constexpr (std::is_same_v<From, To>) {
    std::memcpy(to, in, static_cast<size_t>(n) * sizeof(To));
  } else if constexpr (std::is_same_v<From, Half> || std::is_same_v<From, BFloat16>) {
    for (int64_t i = 0; i < n; i++) to[i] = to_float(in[i]);
  } else if constexpr (std::is_same_v<From, uint8_t> && std::is_same_v<To, float>) {
    for (int64_t i = 0; i < n; i++) to[i] = static_cast<float>(in[i]) / 255.0f;
  } else {
    for (int64_t i = 0; i < n; i++) to[i] = static_cast<To>(in[i]);
  }
}

void convert_row(DType from, const void* in, DType to, void* out, int64_t n) {
  if (to == kI64) {
    int64_t* integers = static_cast<int64_t*>(out);
    if (from == kI64) return convert<int64_t>(in, integers, n);
    if (from == kI32) return convert<int32_t>(in, integers, n);
    return convert<uint8_t>(in, integers, n);
  }
  float* floats = static_cast<float*>(out);
  switch (from) {
    case DType::kF64: return convert<double>(in, floats, n);
    case DType::kF16: return convert<Half>(in, floats, n);
    case DType::kBF16: return convert<BFloat16>(in, floats, n);
    case DType::kU8: return convert<uint8_t>(in, floats, n);
    case DType::kBool: return convert<bool>(in, floats, n);
    default: return convert<float>(in, floats, n);
  }
}

// Rows `samples` of `all`, each of which lies in one piece, to the rows of `out`.
void copy_rows(const Tensor& all, std::span<const int64_t> samples, const Tensor& out) {
  const int64_t row = all.numel() / all.size(0);
  const auto step = all.strides()[0] * static_cast<int64_t>(size_of(all.dtype()));
  const auto out_step = row * static_cast<int64_t>(size_of(out.dtype()));
  const auto* from = static_cast<const std::byte*>(all.raw());
  auto* to = static_cast<std::byte*>(out.raw());
  for (size_t i = 0; i < samples.size(); i++, to += out_step)
    convert_row(all.dtype(), from + samples[i] * step, out.dtype(), to, row);
}

// The tensor itself if its samples lie in one piece each.
Tensor with_whole_samples(const Tensor& t) {
  const Dims row = behind_first_axis(t.shape());
  return behind_first_axis(t.strides()) == contiguous_strides(row) ? t : contiguous(t);
}

}  // namespace

InputSpec Dataset::field(std::string_view name) const {
  const std::vector<InputSpec> all = fields();
  for (const InputSpec& f : all)
    if (f.name == name) return f;
  throw Error("dataset: no tensor \"" + std::string(name) + "\" — samples have " + listed(all));
}

TensorDataset::TensorDataset(Tensor x, Tensor y)
    : TensorDataset(std::vector<NamedTensor>{{"x", std::move(x)}, {"y", std::move(y)}}) {}

TensorDataset::TensorDataset(std::vector<NamedTensor> tensors) : tensors_(std::move(tensors)) {
  if (tensors_.empty()) throw Error("TensorDataset: no tensors — give at least one");
  for (NamedTensor& t : tensors_) {
    if (t.name.empty()) throw Error("TensorDataset: a tensor without a name — call it \"x\", \"y\" or as you like");
    if (!t.tensor.defined() || t.tensor.is_symbolic() || t.tensor.rank() == 0)
      throw Error(ErrorKind::kShape, "TensorDataset: " + t.name + " (" + describe(t.tensor) +
                                         ") — it needs elements, and samples along its first axis");
    const Tensor& first = tensors_[0].tensor;
    if (t.tensor.size(0) != first.size(0))
      throw Error(ErrorKind::kShape, "TensorDataset: " + tensors_[0].name + " " + to_string(first.shape()) + " has " +
                                         std::to_string(first.size(0)) + " samples, " + t.name + " " +
                                         to_string(t.tensor.shape()) + " has " + std::to_string(t.tensor.size(0)) +
                                         " — the first axis of all tensors counts the samples");
    if (t.tensor.size(0) > 0 && t.tensor.numel() == 0)
      throw Error(ErrorKind::kShape, "TensorDataset: " + t.name + " " + to_string(t.tensor.shape()) +
                                         " — samples without numbers; give every axis a size of 1 or more");
    for (const InputSpec& f : fields_)
      if (f.name == t.name) throw Error("TensorDataset: two tensors are called \"" + t.name + "\"");
    t.tensor = with_whole_samples(t.tensor);
    const bool labels = t.name == "y" && t.tensor.rank() == 1;
    fields_.emplace_back(behind_first_axis(t.tensor.shape()), batch_type(t.tensor, labels), t.name);
  }
}

int64_t TensorDataset::size() const { return tensors_[0].tensor.size(0); }

void TensorDataset::fetch(std::span<const int64_t> samples, const Batch& batch) const {
  check_fetch("TensorDataset", samples, size(), batch, fields_);
  if (samples.empty()) return;
  for (const NamedTensor& t : tensors_) copy_rows(t.tensor, samples, batch[t.name]);
}

Subset::Subset(const Dataset& all, std::vector<int64_t> samples) : all_(&all), samples_(std::move(samples)) {
  const int64_t size = all.size();
  for (const int64_t sample : samples_)
    if (sample < 0 || sample >= size)
      throw Error(std::string("Subset: sample ") + std::to_string(sample) + " of " + std::to_string(size) +
                  " — samples are numbered from 0");
}

namespace {

// Room for sample numbers, kept by every thread: one list for each subset of a subset.
class Numbers {
 public:
  Numbers() {
    if (depth++ == lists.size()) lists.emplace_back();
  }
  ~Numbers() { depth--; }
  Numbers(const Numbers&) = delete;
  Numbers& operator=(const Numbers&) = delete;
  std::vector<int64_t>& list() { return lists[depth - 1]; }

 private:
  static thread_local std::deque<std::vector<int64_t>> lists;
  static thread_local size_t depth;
};
thread_local std::deque<std::vector<int64_t>> Numbers::lists;
thread_local size_t Numbers::depth = 0;

}  // namespace

void Subset::fetch(std::span<const int64_t> samples, const Batch& batch) const {
  Numbers numbers;
  std::vector<int64_t>& chosen = numbers.list();
  chosen.clear();
  for (const int64_t sample : samples) {
    if (sample < 0 || sample >= size())
      throw Error(std::string("Subset: sample ") + std::to_string(sample) + " of " + std::to_string(size()) +
                  " — samples are numbered from 0");
    chosen.push_back(samples_[static_cast<size_t>(sample)]);
  }
  all_->fetch(chosen, batch);
}

Split split(const Dataset& all, double held_back, uint64_t seed) {
  const int64_t size = all.size();
  const double share = held_back * static_cast<double>(size);
  const int64_t test = share > 0 && share < static_cast<double>(size) ? std::llround(share) : 0;
  if (test < 1 || test >= size)
    throw Error(std::string("split: ") + std::to_string(held_back) + " of " + std::to_string(size) +
                " samples held back — give a share between 0 and 1 that leaves samples on both sides");
  std::vector<int64_t> order(static_cast<size_t>(size));
  fill_permutation(order.data(), size, {seed, 0});
  std::sort(order.begin(), order.begin() + test);
  std::sort(order.begin() + test, order.end());
  return {Subset(all, {order.begin() + test, order.end()}), Subset(all, {order.begin(), order.begin() + test})};
}

TokenDataset::TokenDataset(std::vector<int32_t> tokens, int64_t length, int64_t streams)
    : tokens_(std::move(tokens)),
      length_(length),
      streams_(streams),
      row_(0),
      fields_{{Dims{length}, kI64, "x"}, {Dims{length}, kI64, "y"}} {
  const auto count = static_cast<int64_t>(tokens_.size());
  if (length < 1 || streams < 0)
    throw Error(std::string("TokenDataset: samples of ") + std::to_string(length) + " tokens in " +
                std::to_string(streams) + " streams — give a length from 1 on, and 0 streams for windows everywhere");
  row_ = streams == 0 ? 0 : (count - 1) / streams;
  if (streams == 0 ? count <= length : row_ < length)
    throw Error(std::string("TokenDataset: ") + std::to_string(count) + " tokens are too few for samples of " +
                std::to_string(length) + (streams == 0 ? "" : " in " + std::to_string(streams) + " streams") +
                " — a sample needs one token more than its length: give more text, or a shorter length");
  for (size_t i = 0; i < tokens_.size(); i++)
    if (tokens_[i] < 0)
      throw Error(std::string("TokenDataset: token ") + std::to_string(tokens_[i]) + " at place " + std::to_string(i) +
                  " — tokens are numbers from 0 on");
}

int64_t TokenDataset::size() const {
  return streams_ == 0 ? static_cast<int64_t>(tokens_.size()) - length_ : row_ / length_ * streams_;
}

void TokenDataset::fetch(std::span<const int64_t> samples, const Batch& batch) const {
  check_fetch("TokenDataset", samples, size(), batch, fields_);
  int64_t* to_x = batch.x.data<int64_t>();
  int64_t* to_y = batch.y.data<int64_t>();
  for (const int64_t sample : samples) {
    const int64_t start = streams_ == 0 ? sample : sample % streams_ * row_ + sample / streams_ * length_;
    const int32_t* from = tokens_.data() + start;
    for (int64_t i = 0; i < length_; i++) to_x[i] = from[i];
    for (int64_t i = 0; i < length_; i++) to_y[i] = from[i + 1];
    to_x += length_;
    to_y += length_;
  }
}

}  // namespace ingot::data
