#include "data/batch_maker.h"

#include <algorithm>
#include <string>
#include <utility>

#include "ingot/base/error.h"

namespace ingot::data {
namespace {

// Streams of one seed: the order's, and one for every transform, each for every epoch.
uint64_t stream(size_t use, int64_t epoch) { return uint64_t{use} << 48 | static_cast<uint64_t>(epoch); }

[[noreturn]] void refuse(const std::string& what) { throw Error(std::string("Loader: ") + what); }

void check(const Dataset& dataset, const LoaderOptions& options) {
  const int64_t size = dataset.size();
  if (size < 1) refuse("the dataset is empty — give it at least one sample");
  if (options.batch < 1) refuse("a batch of " + std::to_string(options.batch) + " samples — give 1 or more");
  if (options.batch > INT32_MAX)
    refuse("a batch of " + std::to_string(options.batch) + " samples — that is more than memory holds");
  if (options.prefetch < 0 || options.prefetch > 1024)
    refuse(std::to_string(options.prefetch) + " batches ahead — prefetch is from 0 (no thread) to 1024");
  if (options.batches < 0)
    refuse(std::to_string(options.batches) + " batches in an epoch — give 1 or more, or 0 for all samples once");
  if (options.batches > 0 && options.batches > INT64_MAX / 2 / options.batch)
    refuse(std::to_string(options.batches) + " batches of " + std::to_string(options.batch) + " samples are too many");
  if (options.drop_last && options.batches == 0 && options.batch > size)
    refuse("no batch of " + std::to_string(options.batch) + " is full with " + std::to_string(size) +
           " samples — use a smaller batch, or drop_last = false");
  for (const TransformPtr& transform : options.transforms)
    if (transform == nullptr) refuse("a transform is null — make them with data::shift() and the like");
  const std::vector<InputSpec> fields = dataset.fields();
  if (fields.empty()) refuse("the dataset has no tensors — fields() lists them");
  for (const TransformPtr& transform : options.transforms)
    for (const std::string& field : transform->fields())
      if (const DType type = dataset.field(field).dtype; type != kF32)
        refuse(std::string("transforms change f32, and the samples are ") + name(type) + " — leave the transforms out");
}

InputSpec batch_of(InputSpec sample, int64_t count) {
  sample.shape.insert(0, count);
  return sample;
}

}  // namespace

Tensor first_rows(const Tensor& t, int64_t count) {
  Dims shape = t.shape();
  shape[0] = count;
  return t.view(t.raw(), shape, t.strides());
}

BatchMaker::BatchMaker(const Dataset& dataset, const LoaderOptions& options)
    : dataset_(&dataset),
      transforms_(options.transforms),
      shuffled_(options.shuffle),
      seed_(options.seed),
      size_(dataset.size()),
      batch_(options.batch),
      fields_(dataset.fields()) {
  check(dataset, options);
  if (options.batches > 0) {
    batches_ = options.batches;
    samples_ = batches_ * batch_;
  } else {
    batch_ = std::min(batch_, size_);
    batches_ = options.drop_last ? size_ / batch_ : (size_ + batch_ - 1) / batch_;
    samples_ = options.drop_last ? batches_ * batch_ : size_;
  }
  chosen_.resize(static_cast<size_t>(batch_));
  numbers_.resize(static_cast<size_t>(batch_));
  if (shuffled_) order_.resize(static_cast<size_t>(size_));
  for (InputSpec& field : fields_) {
    ways_.push_back(way_of(field));
    field = batch_of(field, batch_);
  }
}

// A transform that keeps the shape joins the stage before it; the last stage works in the batch itself. The field's
// shape becomes that of the samples after all of them.
BatchMaker::Way BatchMaker::way_of(InputSpec& field) const {
  Way way;
  for (size_t i = 0; i < transforms_.size(); i++)
    for (const std::string& name : transforms_[i]->fields())
      if (name == field.name) way.transforms.push_back(i);
  if (way.transforms.empty()) return way;
  way.stages.push_back({0, 0, {}});
  for (size_t i = 0; i < way.transforms.size(); i++) {
    const Dims next = transforms_[way.transforms[i]]->shape(field.shape);
    if (next == field.shape) {
      way.stages.back().last = i + 1;
    } else {
      way.stages.back().buffer = Tensor::empty(batch_of(field, batch_).shape);
      way.stages.push_back({i, i + 1, {}});
    }
    field.shape = next;
  }
  return way;
}

Slot::Handles BatchMaker::handles(const Batch& memory, int64_t count) const {
  Slot::Handles h;
  for (size_t i = 0; i < fields_.size(); i++) {
    const Tensor result = first_rows(memory[fields_[i].name], count);
    const bool buffered = !ways_[i].stages.empty() && ways_[i].stages[0].buffer.defined();
    h.result.set(fields_[i].name, result);
    h.fetched.set(fields_[i].name, buffered ? first_rows(ways_[i].stages[0].buffer, count) : result);
  }
  return h;
}

Slot BatchMaker::make_slot() const {
  Batch memory;
  for (const InputSpec& field : fields_) memory.set(field.name, Tensor::empty(field.shape, field.dtype));
  Slot slot;
  slot.full = handles(memory, batch_);
  if (const int64_t rest = samples_ % batch_; rest > 0) slot.rest = handles(memory, rest);
  return slot;
}

// The seed moves with the lap, so that every pass over the data within an epoch has an order of its own.
void BatchMaker::shuffle(int64_t epoch, int64_t lap) {
  if (!shuffled_ || (pass_.epoch == epoch && pass_.batch == lap)) return;
  constexpr uint64_t kLap = 0xD1B54A32D192ED03;
  fill_permutation(order_.data(), size_, {seed_ + kLap * static_cast<uint64_t>(lap), stream(0, epoch)});
  pass_ = {epoch, lap};
}

void BatchMaker::choose(Position at, int64_t count) {
  for (int64_t i = 0; i < count; i++) {
    const int64_t place = at.batch * batch_ + i, lap = place / size_, in_lap = place % size_;
    if (i == 0 || in_lap == 0) shuffle(at.epoch, lap);
    const int64_t sample = shuffled_ ? order_[static_cast<size_t>(in_lap)] : in_lap;
    chosen_[static_cast<size_t>(i)] = sample;
    numbers_[static_cast<size_t>(i)] = sample + lap * size_;
  }
}

void BatchMaker::make(Position at, Slot& slot) {
  const int64_t count = std::min(batch_, samples_ - at.batch * batch_);
  choose(at, count);
  slot.size = count;
  const Slot::Handles& now = slot.now();
  dataset_->fetch({chosen_.data(), static_cast<size_t>(count)}, now.fetched);
  for (size_t i = 0; i < fields_.size(); i++)
    if (!ways_[i].transforms.empty()) transform(ways_[i], now.result[fields_[i].name], count, at.epoch);
}

// One field from where it was fetched to, through the stages' buffers, into the batch.
void BatchMaker::transform(const Way& way, const Tensor& result, int64_t count, int64_t epoch) const {
  Tensor from, to;
  for (const Stage& stage : way.stages) {
    to = stage.buffer.defined() ? first_rows(stage.buffer, count) : result;
    for (size_t i = stage.first; i < stage.last; i++) {
      const bool in_place = i > stage.first || !from.defined();
      const size_t number = way.transforms[i];
      transforms_[number]->apply(in_place ? to : from, to, {numbers_.data(), static_cast<size_t>(count)},
                                 {seed_, stream(number + 1, epoch)});
    }
    from = to;
  }
}

}  // namespace ingot::data
