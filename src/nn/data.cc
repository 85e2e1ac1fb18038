#include "ingot/data.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <utility>

#include "ingot/error.h"
#include "ingot/functions.h"

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

std::string described(const Tensor& t) {
  return t.defined() ? std::string(name(t.dtype())) + " " + to_string(t.shape()) : std::string("undefined");
}

// What every fetch asks of its arguments.
void check_fetch(const char* dataset, std::span<const int64_t> samples, int64_t size, const Tensor& x,
                 const Dims& input, DType input_type, const Tensor& y, const Dims& target, DType target_type) {
  if (!holds(x, samples.size(), input, input_type) || !holds(y, samples.size(), target, target_type))
    throw Error(std::string(dataset) + ": fetch of " + std::to_string(samples.size()) + " samples into x (" +
                described(x) + ") and y (" + described(y) + ") — they must be contiguous rows of " + name(input_type) +
                " " + to_string(input) + " and " + name(target_type) + " " + to_string(target));
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

// Rows first … first + count - 1.
Tensor rows(const Tensor& t, int64_t first, int64_t count) {
  Dims shape = t.shape();
  shape[0] = count;
  const int64_t offset = first * t.strides()[0] * static_cast<int64_t>(size_of(t.dtype()));
  return t.view(static_cast<std::byte*>(t.raw()) + offset, shape, t.strides());
}

}  // namespace

TensorDataset::TensorDataset(Tensor x, Tensor y) {
  for (const Tensor* t : {&x, &y})
    if (!t->defined() || t->is_symbolic() || t->rank() == 0)
      throw Error(std::string("TensorDataset: x (") + described(x) + ") and y (" + described(y) +
                  ") — both need elements, and samples along their first axis");
  if (x.size(0) != y.size(0))
    throw Error(std::string("TensorDataset: x ") + to_string(x.shape()) + " has " + std::to_string(x.size(0)) +
                " samples, y " + to_string(y.shape()) + " has " + std::to_string(y.size(0)) +
                " — the first axis of both counts the samples");
  if (x.size(0) > 0 && (x.numel() == 0 || y.numel() == 0))
    throw Error(std::string("TensorDataset: x ") + to_string(x.shape()) + ", y " + to_string(y.shape()) +
                " — samples without numbers; give every axis a size of 1 or more");
  x_ = with_whole_samples(x);
  y_ = with_whole_samples(y);
  input_type_ = batch_type(x_, false);
  target_type_ = batch_type(y_, y_.rank() == 1);
}

int64_t TensorDataset::size() const { return x_.size(0); }
InputSpec TensorDataset::input() const { return {behind_first_axis(x_.shape()), input_type_, "x"}; }
InputSpec TensorDataset::target() const { return {behind_first_axis(y_.shape()), target_type_, "y"}; }

void TensorDataset::fetch(std::span<const int64_t> samples, const Tensor& x, const Tensor& y) const {
  check_fetch("TensorDataset", samples, size(), x, behind_first_axis(x_.shape()), input_type_, y,
              behind_first_axis(y_.shape()), target_type_);
  if (samples.empty()) return;
  copy_rows(x_, samples, x);
  copy_rows(y_, samples, y);
}

Subset::Subset(const Dataset& all, std::vector<int64_t> samples) : all_(&all), samples_(std::move(samples)) {
  const int64_t size = all.size();
  for (const int64_t sample : samples_)
    if (sample < 0 || sample >= size)
      throw Error(std::string("Subset: sample ") + std::to_string(sample) + " of " + std::to_string(size) +
                  " — samples are numbered from 0");
}

// A piece at a time, so that the numbers need no memory of their own.
void Subset::fetch(std::span<const int64_t> samples, const Tensor& x, const Tensor& y) const {
  constexpr size_t kPiece = 256;
  int64_t piece[kPiece];
  if (x.size(0) != static_cast<int64_t>(samples.size()) || y.size(0) != x.size(0))
    throw Error(std::string("Subset: fetch of ") + std::to_string(samples.size()) + " samples into x (" + described(x) +
                ") and y (" + described(y) + ") — they need a row for each");
  for (size_t first = 0; first < samples.size(); first += kPiece) {
    const size_t count = std::min(kPiece, samples.size() - first);
    for (size_t i = 0; i < count; i++) {
      const int64_t sample = samples[first + i];
      if (sample < 0 || sample >= size())
        throw Error(std::string("Subset: sample ") + std::to_string(sample) + " of " + std::to_string(size()) +
                    " — samples are numbered from 0");
      piece[i] = samples_[static_cast<size_t>(sample)];
    }
    const auto at = static_cast<int64_t>(first), n = static_cast<int64_t>(count);
    all_->fetch({piece, count}, rows(x, at, n), rows(y, at, n));
  }
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
    : tokens_(std::move(tokens)), length_(length), streams_(streams), row_(0) {
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
InputSpec TokenDataset::input() const { return {Dims{length_}, kI64, "tokens"}; }
InputSpec TokenDataset::target() const { return {Dims{length_}, kI64, "next"}; }

void TokenDataset::fetch(std::span<const int64_t> samples, const Tensor& x, const Tensor& y) const {
  check_fetch("TokenDataset", samples, size(), x, {length_}, kI64, y, {length_}, kI64);
  int64_t* to_x = x.data<int64_t>();
  int64_t* to_y = y.data<int64_t>();
  for (const int64_t sample : samples) {
    const int64_t start = streams_ == 0 ? sample : sample % streams_ * row_ + sample / streams_ * length_;
    const int32_t* from = tokens_.data() + start;
    for (int64_t i = 0; i < length_; i++) to_x[i] = from[i];
    for (int64_t i = 0; i < length_; i++) to_y[i] = from[i + 1];
    to_x += length_;
    to_y += length_;
  }
}

int64_t recommended_batch(double bytes_per_sample, double fixed, int workers, const MachineInfo& machine) {
  if (!(bytes_per_sample >= 0) || !(fixed >= 0) || workers < 1)
    throw Error(std::string("recommended_batch: ") + std::to_string(bytes_per_sample) + " bytes per sample, " +
                std::to_string(fixed) + " fixed, " + std::to_string(workers) +
                " workers — bytes are 0 or more, workers 1 or more");
  const double l2 = machine.l2_bytes > 0 ? static_cast<double>(machine.l2_bytes) : 256 * 1024;
  const double near = l2 * workers, most = std::max(near, static_cast<double>(machine.l3_bytes) / 2);
  const double room = std::min(std::max(near, fixed), most);
  int64_t batch = 8;
  while (batch < 4096 && 2 * static_cast<double>(batch) * bytes_per_sample <= room) batch *= 2;
  return batch;
}

namespace {

int64_t recommended(const Plan& plan, int64_t batch, double batch_bytes) {
  if (batch < 1)
    throw Error(std::string("recommended_batch: a plan for ") + std::to_string(batch) +
                " samples — give the batch size that it was compiled for");
  const PlanBytes bytes = plan.bytes();
  const auto fixed = static_cast<double>(bytes.parameters + bytes.gradients + bytes.state + bytes.bound);
  const double growing = static_cast<double>(bytes.arena + bytes.outputs) + batch_bytes;
  return recommended_batch(growing / static_cast<double>(batch), fixed, plan.threads(), machine_info());
}

}  // namespace

int64_t recommended_batch(const Plan& plan, int64_t batch) { return recommended(plan, batch, 0); }

int64_t recommended_batch(const Plan& plan, const Loader& loader) {
  double bytes = 0;
  for (const InputSpec& spec : {loader.input(), loader.target()})
    bytes += static_cast<double>(element_count(spec.shape)) * static_cast<double>(size_of(spec.dtype));
  return recommended(plan, loader.input().shape[0], bytes);
}

}  // namespace ingot::data
