// What changes samples. Each works sample by sample; a random one draws what it needs for a sample from the block of
// its key's sequence that has the sample's number.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>

#include "ingot/base/error.h"
#include "ingot/data/transforms.h"

namespace ingot::data {
namespace {

// The four words that a sample may draw from.
std::array<uint32_t, 4> draws(int64_t sample, RandomKey key) {
  const auto number = static_cast<uint64_t>(sample);
  const auto low = [](uint64_t x) { return static_cast<uint32_t>(x); };
  return philox({low(number), low(number >> 32), low(key.stream), low(key.stream >> 32)},
                {low(key.seed), low(key.seed >> 32)});
}

// 0 … count - 1, each as likely as the others (to 2^-32).
int64_t pick(uint32_t word, int64_t count) {
  return static_cast<int64_t>(static_cast<uint64_t>(word) * static_cast<uint64_t>(count) >> 32);
}

// Pictures [c, h, w] or [h, w].
struct Picture {
  int64_t channels, height, width;
  int64_t plane() const { return height * width; }
  int64_t size() const { return channels * plane(); }
};

Picture picture(const char* transform, const Dims& sample) {
  if (sample.size() != 2 && sample.size() != 3)
    throw Error(ErrorKind::kShape, std::string(transform) + ": samples of shape " + to_string(sample) +
                                       " — it takes pictures [c, h, w] or [h, w]; reshape the data first");
  const int rank = sample.size();
  return {rank == 3 ? sample[0] : 1, sample[rank - 2], sample[rank - 1]};
}

Dims sample_shape(const Tensor& batch) {
  Dims shape = batch.shape();
  shape.erase(0);
  return shape;
}

class Normalize : public Transform {
 public:
  Normalize(std::vector<float> mean, std::vector<float> deviation)
      : mean_(std::move(mean)), deviation_(std::move(deviation)) {
    if (mean_.empty() || mean_.size() != deviation_.size())
      throw Error(std::string("normalize: ") + std::to_string(mean_.size()) + " means and " +
                  std::to_string(deviation_.size()) + " deviations — give one of each, or one of each per channel");
    for (size_t i = 0; i < mean_.size(); i++)
      if (!std::isfinite(mean_[i]) || !std::isfinite(deviation_[i]) || deviation_[i] == 0)
        throw Error(std::string("normalize: mean ") + std::to_string(mean_[i]) + ", deviation " +
                    std::to_string(deviation_[i]) + " — both must be finite, and the deviation not 0");
  }

  Dims shape(const Dims& sample) const override {
    const auto channels = static_cast<int64_t>(mean_.size());
    if (channels > 1 && (sample.empty() || sample[0] != channels))
      throw Error(ErrorKind::kShape, std::string("normalize: ") + std::to_string(channels) +
                                         " means for samples of shape " + to_string(sample) +
                                         " — give one, or one for each place of the first axis");
    return sample;
  }

  void apply(const Tensor& in, const Tensor& out, std::span<const int64_t> samples, RandomKey) const override {
    const auto channels = static_cast<int64_t>(mean_.size());
    const int64_t rows = static_cast<int64_t>(samples.size()) * channels, size = rows == 0 ? 0 : in.numel() / rows;
    const float* from = in.data<float>();
    float* to = out.data<float>();
    for (int64_t row = 0; row < rows; row++, from += size, to += size) {
      const auto channel = static_cast<size_t>(row % channels);
      const float mean = mean_[channel], deviation = deviation_[channel];
      for (int64_t i = 0; i < size; i++) to[i] = (from[i] - mean) / deviation;
    }
  }

 private:
  std::vector<float> mean_, deviation_;
};

class Shift : public Transform {
 public:
  Shift(int64_t pixels, float fill) : pixels_(pixels), fill_(fill) {
    if (pixels < 0 || pixels > 1 << 20)
      throw Error(std::string("shift: by up to ") + std::to_string(pixels) + " pixels — give 0 or more");
  }

  Dims shape(const Dims& sample) const override {
    const Picture p = picture("shift", sample);
    if (pixels_ > std::min(p.height, p.width))
      throw Error(ErrorKind::kShape, std::string("shift: pictures ") + to_string(sample) + " moved by up to " +
                                         std::to_string(pixels_) + " pixels could leave the frame — shift by fewer");
    return sample;
  }

  void apply(const Tensor& in, const Tensor& out, std::span<const int64_t> samples, RandomKey key) const override {
    const Picture p = picture("shift", sample_shape(in));
    const float* from = in.data<float>();
    float* to = out.data<float>();
    for (const int64_t sample : samples) {
      const auto word = draws(sample, key);
      const int64_t down = pick(word[0], 2 * pixels_ + 1) - pixels_, right = pick(word[1], 2 * pixels_ + 1) - pixels_;
      for (int64_t c = 0; c < p.channels; c++, from += p.plane(), to += p.plane()) move(from, to, p, down, right);
    }
  }

 private:
  // Row after row, beginning where a row is read before it is overwritten: `from` and `to` may be one.
  void move(const float* from, float* to, const Picture& p, int64_t down, int64_t right) const {
    const int64_t width = p.width, kept = width - std::abs(right);
    const int64_t read = std::max<int64_t>(-right, 0), write = std::max<int64_t>(right, 0);
    for (int64_t k = 0; k < p.height; k++) {
      const int64_t row = down > 0 ? p.height - 1 - k : k, source = row - down;
      float* const line = to + row * width;
      if (source < 0 || source >= p.height) {
        std::fill_n(line, width, fill_);
        continue;
      }
      std::memmove(line + write, from + source * width + read, static_cast<size_t>(kept) * sizeof(float));
      std::fill_n(right > 0 ? line : line + kept, width - kept, fill_);
    }
  }

  int64_t pixels_;
  float fill_;
};

class Crop : public Transform {
 public:
  Crop(int64_t height, int64_t width, bool centered) : height_(height), width_(width), centered_(centered) {
    if (height < 1 || width < 1)
      throw Error(std::string("crop: a window of ") + std::to_string(height) + " × " + std::to_string(width) +
                  " — both must be 1 or more");
  }

  Dims shape(const Dims& sample) const override {
    const Picture p = picture("crop", sample);
    if (height_ > p.height || width_ > p.width)
      throw Error(ErrorKind::kShape, std::string("crop: a window of ") + std::to_string(height_) + " × " +
                                         std::to_string(width_) + " out of pictures " + to_string(sample) +
                                         " — it must not be larger than they are");
    Dims result = sample;
    result[sample.size() - 2] = height_;
    result[sample.size() - 1] = width_;
    return result;
  }

  void apply(const Tensor& in, const Tensor& out, std::span<const int64_t> samples, RandomKey key) const override {
    const Picture p = picture("crop", sample_shape(in));
    const int64_t free_rows = p.height - height_, free_columns = p.width - width_;
    if (free_rows == 0 && free_columns == 0) return;  // the same shape: in place
    const float* from = in.data<float>();
    float* to = out.data<float>();
    for (const int64_t sample : samples) {
      int64_t top = free_rows / 2, left = free_columns / 2;
      if (!centered_) {
        const auto word = draws(sample, key);
        top = pick(word[0], free_rows + 1);
        left = pick(word[1], free_columns + 1);
      }
      for (int64_t c = 0; c < p.channels; c++, from += p.plane())
        for (int64_t row = 0; row < height_; row++, to += width_)
          std::memcpy(to, from + (top + row) * p.width + left, static_cast<size_t>(width_) * sizeof(float));
    }
  }

 private:
  int64_t height_, width_;
  bool centered_;
};

class Flip : public Transform {
 public:
  Dims shape(const Dims& sample) const override {
    picture("flip", sample);
    return sample;
  }

  void apply(const Tensor& in, const Tensor& out, std::span<const int64_t> samples, RandomKey key) const override {
    const Picture p = picture("flip", sample_shape(in));
    const float* from = in.data<float>();
    float* to = out.data<float>();
    for (const int64_t sample : samples) {
      if (from != to) std::copy_n(from, p.size(), to);
      if (draws(sample, key)[0] >> 31 != 0)
        for (int64_t row = 0; row < p.channels * p.height; row++)
          std::reverse(to + row * p.width, to + (row + 1) * p.width);
      from += p.size();
      to += p.size();
    }
  }
};

// Element i of a sample takes number i of the sample's stretch of the key's sequence. Stretches and pieces begin at
// multiples of what fill_normal makes at a time, and pieces are too short for it to take the pool.
class Noise : public Transform {
 public:
  explicit Noise(float deviation) : deviation_(deviation) {
    if (!(deviation >= 0) || !std::isfinite(deviation))
      throw Error(std::string("noise: deviation ") + std::to_string(deviation) + " — it must be finite, and 0 or more");
  }

  void apply(const Tensor& in, const Tensor& out, std::span<const int64_t> samples, RandomKey key) const override {
    constexpr int64_t kPiece = 1024, kStretch = 128;
    if (samples.empty()) return;
    const int64_t size = in.numel() / static_cast<int64_t>(samples.size());
    const int64_t stretch = (size + kStretch - 1) / kStretch * kStretch;
    const float* from = in.data<float>();
    float* to = out.data<float>();
    alignas(64) float numbers[kPiece];
    for (const int64_t sample : samples)
      for (int64_t first = 0; first < size; first += kPiece) {
        const int64_t count = std::min(kPiece, size - first);
        fill_normal(numbers, count, sample * stretch + first, 0.0f, deviation_, key);
        for (int64_t i = 0; i < count; i++) to[i] = from[i] + numbers[i];
        from += count;
        to += count;
      }
  }

 private:
  float deviation_;
};

class On : public Transform {
 public:
  On(std::vector<std::string> fields, TransformPtr transform)
      : fields_(std::move(fields)), transform_(std::move(transform)) {
    if (transform_ == nullptr || fields_.empty())
      throw Error("on: give the names of tensors, and a transform such as data::flip()");
  }
  std::vector<std::string> fields() const override { return fields_; }
  Dims shape(const Dims& sample) const override { return transform_->shape(sample); }
  void apply(const Tensor& in, const Tensor& out, std::span<const int64_t> samples, RandomKey key) const override {
    transform_->apply(in, out, samples, key);
  }

 private:
  std::vector<std::string> fields_;
  TransformPtr transform_;
};

}  // namespace

TransformPtr on(std::vector<std::string> fields, TransformPtr transform) {
  return std::make_shared<On>(std::move(fields), std::move(transform));
}
TransformPtr normalize(std::vector<float> mean, std::vector<float> deviation) {
  return std::make_shared<Normalize>(std::move(mean), std::move(deviation));
}
TransformPtr shift(int64_t pixels, float fill) { return std::make_shared<Shift>(pixels, fill); }
TransformPtr crop(int64_t height, int64_t width) { return std::make_shared<Crop>(height, width, false); }
TransformPtr center_crop(int64_t height, int64_t width) { return std::make_shared<Crop>(height, width, true); }
TransformPtr flip() { return std::make_shared<Flip>(); }
TransformPtr noise(float deviation) { return std::make_shared<Noise>(deviation); }

}  // namespace ingot::data
