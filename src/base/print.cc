// Tensors as text, in the manner of NumPy: a header with type and shape, aligned columns, large tensors by their
// corners.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <ostream>
#include <string>
#include <vector>

#include "ingot/base/tensor.h"

namespace ingot {
namespace {

constexpr int64_t kWhole = 1000;  // more elements are summarised
constexpr int64_t kEdge = 3;      // entries shown at either end of an axis then
constexpr int64_t kGap = -1;
constexpr size_t kLineWidth = 100;
constexpr int kDecimals = 4;

// How the real numbers of one tensor are written, so that they can be compared at a glance.
struct Style {
  bool scientific = false;
  int decimals = kDecimals;
};

std::string format(double value, Style style) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  char text[400];
  const int n = std::snprintf(text, sizeof text, style.scientific ? "%.*e" : "%.*f", style.decimals, value);
  return {text, static_cast<size_t>(n)};
}

// Plain decimals unless the numbers are very large or very small; no more digits than they need.
Style choose_style(const std::vector<double>& values) {
  double least = INFINITY, most = 0;
  bool whole = true;
  for (double v : values) {
    if (!std::isfinite(v) || v == 0) continue;
    least = std::min(least, std::fabs(v));
    most = std::max(most, std::fabs(v));
    whole = whole && v == std::floor(v);
  }
  Style style;
  style.scientific = most >= (whole ? 1e10 : 1e7) || least < 1e-4;
  const auto fits = [&](int decimals) {
    return std::all_of(values.begin(), values.end(), [&](double v) {
      const double full = std::strtod(format(v, style).c_str(), nullptr);
      return !std::isfinite(v) || std::strtod(format(v, {style.scientific, decimals}).c_str(), nullptr) == full;
    });
  };
  int decimals = 0;
  while (decimals < kDecimals && !fits(decimals)) decimals++;
  return {style.scientific, decimals};
}

class Printer {
 public:
  explicit Printer(const Tensor& t) : t_(t), summarised_(t.numel() > kWhole) {
    const std::vector<const std::byte*> elements = shown_elements();
    if (is_real())
      for (const std::byte* e : elements) values_.push_back(load_as_double(e, t_.dtype()));
    style_ = choose_style(values_);
    for (const std::byte* e : elements) width_ = std::max(width_, text_of(e).size());
  }

  std::string text() {
    write(0, first());
    return std::move(out_);
  }

 private:
  const std::byte* first() const { return static_cast<const std::byte*>(t_.raw()); }
  bool is_real() const { return is_float(t_.dtype()) || t_.dtype() == kF16 || t_.dtype() == kBF16; }
  const std::byte* move(const std::byte* at, int axis, int64_t index) const {
    return at + index * t_.strides()[axis] * static_cast<int64_t>(size_of(t_.dtype()));
  }

  // The indices shown along an axis, kGap where some are left out.
  std::vector<int64_t> shown(int axis) const {
    const int64_t n = t_.shape()[axis];
    std::vector<int64_t> result;
    for (int64_t i = 0; i < n; i++) {
      if (summarised_ && n > 2 * kEdge && i == kEdge) {
        result.push_back(kGap);
        i = n - kEdge;
      }
      result.push_back(i);
    }
    return result;
  }

  std::vector<const std::byte*> shown_elements() const {
    std::vector<const std::byte*> elements = {first()};
    for (int axis = 0; axis < t_.rank(); axis++) {
      std::vector<const std::byte*> finer;
      for (const std::byte* e : elements)
        for (int64_t i : shown(axis))
          if (i != kGap) finer.push_back(move(e, axis, i));
      elements = std::move(finer);
    }
    return elements;
  }

  std::string text_of(const std::byte* element) const {
    if (is_real()) return format(load_as_double(element, t_.dtype()), style_);
    if (t_.dtype() == kBool) return *reinterpret_cast<const uint8_t*>(element) != 0 ? "true" : "false";
    if (t_.dtype() == kI64) return std::to_string(*reinterpret_cast<const int64_t*>(element));
    return std::to_string(static_cast<int64_t>(load_as_double(element, t_.dtype())));
  }

  void write(int axis, const std::byte* at) {
    out_ += '[';
    if (axis + 1 == t_.rank())
      write_row(at);
    else
      write_blocks(axis, at);
    out_ += ']';
  }

  void write_row(const std::byte* at) {
    const int axis = t_.rank() - 1;
    size_t line = out_.size() - static_cast<size_t>(t_.rank());
    bool start = true;
    for (int64_t i : shown(axis)) {
      if (!start) out_ += ',';
      if (!start && out_.size() - line + width_ + 2 > kLineWidth) {
        out_ += '\n';
        line = out_.size();
        out_.append(static_cast<size_t>(t_.rank()), ' ');
      } else if (!start) {
        out_ += ' ';
      }
      start = false;
      if (i == kGap) {
        out_ += "…";
        continue;
      }
      const std::string text = text_of(move(at, axis, i));
      out_.append(width_ - text.size(), ' ') += text;
    }
  }

  void write_blocks(int axis, const std::byte* at) {
    bool start = true;
    for (int64_t i : shown(axis)) {
      if (!start) {  // matrices are set apart by an empty line, blocks of them by two, …
        out_ += ',';
        out_.append(static_cast<size_t>(t_.rank() - axis - 1), '\n');
        out_.append(static_cast<size_t>(axis + 1), ' ');
      }
      start = false;
      if (i == kGap)
        out_ += "…";
      else
        write(axis + 1, move(at, axis, i));
    }
  }

  const Tensor& t_;
  bool summarised_;
  std::vector<double> values_;
  Style style_;
  size_t width_ = 0;
  std::string out_;
};

// One number by itself: all the digits that matter.
std::string scalar_text(const Tensor& t) {
  const double value = load_as_double(t.raw(), t.dtype());
  if (t.dtype() == kI64) return std::to_string(*static_cast<const int64_t*>(t.raw()));
  if (t.dtype() == kBool) return value != 0 ? "true" : "false";
  char text[64];
  const auto end = t.dtype() == kF64 ? std::to_chars(text, text + sizeof text, value)
                                     : std::to_chars(text, text + sizeof text, static_cast<float>(value));
  return {text, end.ptr};
}

}  // namespace

std::string to_string(const Tensor& t) {
  if (!t.defined()) return "undefined tensor";
  const std::string header = std::string(name(t.dtype())) + " " + to_string(t.shape());
  if (t.is_symbolic()) return "symbolic " + header;
  if (t.rank() == 0) return header + " " + scalar_text(t);
  if (t.numel() == 0) return header;
  return header + "\n" + Printer(t).text();
}

std::ostream& operator<<(std::ostream& out, const Tensor& t) { return out << to_string(t); }

}  // namespace ingot
