// Constants, shapes, and what moves elements without computing.
#include <algorithm>
#include <cmath>

#include "exchange/onnx/binder.h"
#include "exchange/onnx/use.h"
#include "ingot/base/error.h"
#include "ingot/base/numbers.h"

namespace ingot::onnx {
namespace {

void constant_op(Use& u) {
  if (const Attribute* a = u.find("value"); a != nullptr && a->tensor != nullptr) {
    if (!a->tensor->tensor.defined())
      u.fail("a constant of type " + name(a->tensor->type), "strings are not supported");
    u.results.push_back(u.binder().literal(*a->tensor));
  } else if (u.given("value_int")) {
    u.known_out(Tensor::from<int64_t>({u.integer("value_int", 0)}, {}), Type::kInt64);
  } else if (u.given("value_ints")) {
    u.known_out(u.integers("value_ints"));
  } else if (u.given("value_float")) {
    u.known_out(from_reals({u.real("value_float", 0)}, {}, Type::kFloat), Type::kFloat);
  } else if (u.given("value_floats")) {
    const std::vector<double> v = u.reals("value_floats");
    u.known_out(from_reals(v, {static_cast<int64_t>(v.size())}, Type::kFloat), Type::kFloat);
  } else {
    u.fail("a constant that is no dense tensor of numbers", "it is not supported");
  }
}

void constant_of_shape_op(Use& u) {
  const Dims shape = u.shape(u.known_integers(0));
  const Attribute* a = u.find("value");
  if (a == nullptr || a->tensor == nullptr) return u.known_out(zeros(shape), Type::kFloat);
  if (!a->tensor->tensor.defined() || a->tensor->tensor.numel() != 1) u.fail("its value is no number", "give one");
  u.out(contiguous(broadcast_to(reshaped(a->tensor->tensor, {}), shape)), a->tensor->type);
}

void shape_op(Use& u) {
  const int64_t rank = u.rank();
  const auto place = [&](const char* name, int64_t fallback) {
    const int64_t at = u.integer(name, fallback);
    return std::clamp<int64_t>(at < 0 ? at + rank : at, 0, rank);
  };
  std::vector<int64_t> sizes;
  for (int64_t a = place("start", 0); a < place("end", rank); a++) sizes.push_back(u.in().shape()[static_cast<int>(a)]);
  u.known_out(sizes);
}

void reshape_op(Use& u) {
  const Tensor& x = u.in();
  std::vector<int64_t> dims = u.integers("shape", 1);
  const bool zero_stays = u.integer("allowzero", 0) != 0;
  int64_t known = 1, open = -1;
  for (size_t i = 0; i < dims.size(); i++) {
    if (dims[i] == 0 && !zero_stays) {
      if (static_cast<int>(i) >= x.rank())
        u.fail("size 0 at axis " + std::to_string(i), "the input has no such axis to copy");
      dims[i] = x.shape()[static_cast<int>(i)];
    }
    if (dims[i] == -1 && open >= 0) u.fail("two sizes of -1", "only one can be found out");
    if (dims[i] == -1) open = static_cast<int64_t>(i);
    if (dims[i] != -1 && (dims[i] < 0 || !checked_multiply(known, dims[i], known)))
      u.fail("the new shape is no shape", "sizes are 0 or more, or -1 once");
  }
  if (open >= 0) {
    if (known == 0 || x.numel() % known != 0)
      u.fail("the elements do not fill the new shape", "its sizes must divide them");
    dims[static_cast<size_t>(open)] = x.numel() / known;
  }
  const Dims shape(dims);
  if (element_count(shape) != x.numel())
    u.fail("the elements do not fill " + to_string(shape),
           "was the model exported for one batch size only? Give that one, or export it with a free dimension");
  u.out(reshaped(x, shape));
}

void flatten_op(Use& u) {
  const Tensor& x = u.in();
  int64_t axis = u.integer("axis", 1), rows = 1, columns = 1;
  if (axis < 0) axis += x.rank();
  if (axis < 0 || axis > x.rank())
    u.fail("axis " + std::to_string(u.integer("axis", 1)), "it is one of the input's, or the end of them");
  for (int a = 0; a < x.rank(); a++) (a < axis ? rows : columns) *= x.shape()[a];
  u.out(reshaped(x, {rows, columns}));
}

void transpose_op(Use& u) {
  Dims axes;
  for (const int64_t a : u.integers("perm")) axes.push_back(a);
  if (!u.given("perm"))
    for (int a = u.rank() - 1; a >= 0; a--) axes.push_back(a);
  u.out(permute(u.in(), axes));
}

void squeeze_op(Use& u) {
  const Tensor& x = u.in();
  std::vector<int64_t> axes;
  for (const int64_t a : u.integers("axes", 1)) axes.push_back(u.axis(a, x.rank()));
  Dims shape;
  for (int a = 0; a < x.rank(); a++) {
    const bool named = std::find(axes.begin(), axes.end(), a) != axes.end();
    if (named && x.shape()[a] != 1) u.fail("axis " + std::to_string(a) + " is not of size 1", "only such axes go");
    if (axes.empty() ? x.shape()[a] != 1 : !named) shape.push_back(x.shape()[a]);
  }
  u.out(reshaped(x, shape));
}

void unsqueeze_op(Use& u) {
  const Tensor& x = u.in();
  const std::vector<int64_t> given = u.integers("axes", 1);
  const int rank = x.rank() + static_cast<int>(given.size());
  std::vector<int> axes;
  axes.reserve(given.size());
  for (const int64_t a : given) axes.push_back(u.axis(a, rank));
  std::sort(axes.begin(), axes.end());
  Dims shape = x.shape();
  for (const int a : axes) {
    if (a > shape.size()) u.fail("an axis is given twice", "every new axis has its place");
    shape.insert(a, 1);
  }
  u.out(reshaped(x, shape));
}

void slice_op(Use& u) {
  Tensor x = u.in();
  const std::vector<int64_t> starts = u.integers("starts", 1), ends = u.integers("ends", 2),
                             steps = u.has(4) ? u.known_integers(4) : std::vector<int64_t>();
  std::vector<int64_t> axes = u.integers("axes", 3);
  if (axes.empty())
    for (size_t i = 0; i < starts.size(); i++) axes.push_back(static_cast<int64_t>(i));
  if (ends.size() != starts.size() || axes.size() != starts.size() || (!steps.empty() && steps.size() != starts.size()))
    u.fail("lists of different lengths", "starts, ends, axes and steps have one number per axis");
  for (size_t i = 0; i < starts.size(); i++) {
    const int axis = u.axis(axes[i], x.rank());
    const int64_t n = x.shape()[axis], step = steps.empty() ? 1 : std::clamp<int64_t>(steps[i], -n - 1, n + 1);
    if (step == 0) u.fail("a step of 0", "it must go somewhere");
    x = slice(x, axis, std::clamp<int64_t>(starts[i], -n - 1, n), std::clamp<int64_t>(ends[i], -n - 1, n), step);
  }
  u.out(x);
}

// Any number of tensors, of which concat() takes so many at once.
Tensor joined(std::span<const Tensor> xs, int axis) {
  if (xs.size() == 1) return xs[0];
  if (xs.size() <= kMaxInputs) return concat(std::vector<Tensor>(xs.begin(), xs.end()), axis);
  return concat({joined(xs.first(xs.size() / 2), axis), joined(xs.subspan(xs.size() / 2), axis)}, axis);
}

void concat_op(Use& u) {
  std::vector<Tensor> xs;
  xs.reserve(static_cast<size_t>(u.count()));
  const int axis = u.axis("axis", 1, u.rank());
  for (int i = 0; i < u.count(); i++) xs.push_back(u.in(i));
  if (xs.size() > 1 && xs[0].rank() == 1)  // an empty vector is nothing
    std::erase_if(xs, [](const Tensor& t) { return t.numel() == 0; });
  u.out(xs.empty() ? u.in(0) : joined(xs, axis));
}

void split_op(Use& u) {
  const int axis = u.axis("axis", 0, u.rank());
  const int64_t n = u.in().shape()[axis], parts = static_cast<int64_t>(u.node().outputs.size());
  std::vector<int64_t> sizes = u.integers("split", 1);
  if (sizes.empty())
    for (int64_t left = n, i = 0; i < parts; left -= sizes.back(), i++)
      sizes.push_back(std::min(left, u.given("num_outputs") ? ceil_div(n, parts) : n / parts));
  int64_t at = 0;
  for (const int64_t size : sizes) {
    if (size < 0 || size > n - at) u.fail("the sizes do not add up", "together they are the axis");
    u.out(slice(u.in(), axis, at, at + size));
    at += size;
  }
  if (at != n) u.fail("the sizes do not add up", "together they are the axis");
}

void expand_op(Use& u) {
  const Dims shape = broadcast_shapes("Expand", u.in().shape(), u.shape(u.known_integers(1)));
  u.out(broadcast_to(u.in(), shape));
}

void tile_op(Use& u) {
  const Tensor& x = u.in();
  std::vector<int64_t> times = u.known_integers(1);
  if (u.opset() < 6) {  // one axis, so many times
    const auto axis = static_cast<size_t>(u.axis(saturate<int64_t>(u.known_real(2)), x.rank()));
    if (times.size() != 1) u.fail("no single number of repeats", "before opset 6 one axis is repeated");
    const int64_t count = times[0];
    times.assign(static_cast<size_t>(x.rank()), 1);
    times[axis] = count;
  }
  if (static_cast<int>(times.size()) != x.rank()) u.fail("the numbers of repeats do not fit", "give one per axis");
  Dims result = x.shape();
  for (int a = 0; a < x.rank(); a++)
    if (times[static_cast<size_t>(a)] < 0 || !checked_multiply(result[a], times[static_cast<size_t>(a)], result[a]))
      u.fail("a number of repeats that is none", "they are 0 or more");
  u.shape({result.begin(), result.end()});
  Tensor y = x;
  for (int a = 0; a < x.rank(); a++) {
    const int64_t count = times[static_cast<size_t>(a)];
    if (count == 1) continue;
    Dims inner = y.shape(), spread = y.shape();
    inner.insert(a, 1);
    spread.insert(a, count);
    Dims merged = y.shape();
    merged[a] *= count;
    y = inner.size() <= kMaxRank ? reshaped(broadcast_to(reshaped(y, inner), spread), merged) : y;
  }
  u.out(y);
}

// What stands at every place of an axis that grew: a place of the axis as it was.
int64_t mirrored(const std::string& mode, int64_t at, int64_t n) {
  if (mode == "edge" || n == 1) return std::clamp<int64_t>(at, 0, n - 1);
  if (mode == "wrap") return ((at % n) + n) % n;
  const int64_t period = 2 * (n - 1), inside = ((at % period) + period) % period;
  return inside < n ? inside : period - inside;
}

void pad_op(Use& u) {
  Tensor x = u.in();
  const std::vector<int64_t> pads = u.has(1) ? u.known_integers(1) : u.integers(u.given("pads") ? "pads" : "paddings");
  const std::string mode = u.text("mode", "constant");
  std::vector<int> axes;
  if (u.has(3))
    for (const int64_t a : u.known_integers(3)) axes.push_back(u.axis(a, x.rank()));
  else
    for (int a = 0; a < x.rank(); a++) axes.push_back(a);
  const size_t n = axes.size();
  if (pads.size() != 2 * n) u.fail("the pads do not fit", "give two numbers per axis");
  Dims before = Dims::filled(x.rank(), 0), after = before, shape = x.shape();
  for (size_t i = 0; i < n; i++) {
    const int a = axes[i];
    const int64_t front = pads[i], back = pads[i + n], size = x.shape()[a];
    if (front < -size || back < -size || front + back < -size || std::max(front, back) > INT32_MAX)
      u.fail("pads that take away more than there is", "a negative pad cuts off");
    shape[a] += front + back;
    if (mode == "constant") {
      x = slice(x, a, std::max<int64_t>(-front, 0), size - std::max<int64_t>(-back, 0));
      before[a] = std::max<int64_t>(front, 0), after[a] = std::max<int64_t>(back, 0);
    } else if (front != 0 || back != 0) {
      if (size == 0) u.fail("an empty axis", "there is nothing to repeat");
      u.shape({shape.begin(), shape.end()});
      std::vector<int64_t> places;
      places.reserve(static_cast<size_t>(size + front + back));
      for (int64_t k = 0; k < size + front + back; k++) places.push_back(mirrored(mode, k - front, size));
      x = index_select(x, Tensor::from(places), a);
    }
  }
  u.shape({shape.begin(), shape.end()});
  if (mode != "constant" || shape == x.shape()) return u.out(x);
  const double value = u.has(2) && u.in(2).numel() > 0 ? u.known_real(2) : u.real("value", 0);
  u.out(pad(x, before, after, value));
}

void depth_to_space_op(Use& u) {
  const Tensor& x = u.in();
  const int64_t b = u.integer("blocksize", 0);
  if (x.rank() != 4 || b < 1 || x.shape()[1] % (b * b) != 0)
    u.fail("the channels do not divide into blocks", "they must be a multiple of blocksize²");
  const int64_t n = x.shape()[0], c = x.shape()[1] / (b * b), h = x.shape()[2], w = x.shape()[3];
  const Tensor y = u.text("mode", "DCR") == "DCR" ? permute(reshaped(x, {n, b, b, c, h, w}), {0, 3, 4, 1, 5, 2})
                                                  : permute(reshaped(x, {n, c, b, b, h, w}), {0, 1, 4, 2, 5, 3});
  u.out(reshaped(y, {n, c, h * b, w * b}));
}

void space_to_depth_op(Use& u) {
  const Tensor& x = u.in();
  const int64_t b = u.integer("blocksize", 0);
  if (x.rank() != 4 || b < 1 || x.shape()[2] % b != 0 || x.shape()[3] % b != 0)
    u.fail("the picture does not divide into blocks", "its sides must be multiples of blocksize");
  const int64_t n = x.shape()[0], c = x.shape()[1], h = x.shape()[2] / b, w = x.shape()[3] / b;
  u.out(reshaped(permute(reshaped(x, {n, c, h, b, w, b}), {0, 3, 5, 1, 2, 4}), {n, b * b * c, h, w}));
}

void range_op(Use& u) {
  const double start = u.known_real(0), stop = u.known_real(1), step = u.known_real(2);
  const double count = std::max(0.0, std::ceil((stop - start) / step));
  if (!(count < 1e9)) u.fail("a range without an end", "the step must lead from start to limit");
  u.small_shape({static_cast<int64_t>(count)});
  std::vector<double> values;
  values.reserve(static_cast<size_t>(static_cast<int64_t>(count)));
  for (int64_t i = 0; i < static_cast<int64_t>(count); i++) values.push_back(start + static_cast<double>(i) * step);
  u.out(from_reals(values, {static_cast<int64_t>(values.size())}, u.type()));
}

void eye_like_op(Use& u) {
  const Dims& shape = u.in().shape();
  if (shape.size() != 2) u.fail("not a matrix", "the op makes one like its input");
  u.small_shape({shape.begin(), shape.end()});
  const Type type = u.given("dtype") ? static_cast<Type>(u.integer("dtype", 1)) : u.type();
  const int64_t k = u.integer("k", 0);
  std::vector<double> values(static_cast<size_t>(element_count(shape)), 0.0);
  for (int64_t row = 0; row < shape[0]; row++)
    if (const int64_t column = row + k; column >= 0 && column < shape[1])
      values[static_cast<size_t>(row * shape[1] + column)] = 1;
  u.known_out(from_reals(values, shape, type), type);
}

void trilu_op(Use& u) {
  const Tensor& x = u.in();
  const bool upper = u.integer("upper", 1) != 0;
  const int64_t k = u.has(1) ? saturate<int64_t>(u.known_real(1)) : 0;
  if (x.rank() < 2) u.fail("not a matrix", "the op takes triangles of matrices");
  const int64_t rows = x.size(-2), columns = x.size(-1);
  std::vector<double> keep;
  for (int64_t row = 0; row < rows; row++)
    for (int64_t column = 0; column < columns; column++) keep.push_back(upper ? column - row >= k : column - row <= k);
  u.out(where(from_reals(keep, {rows, columns}, Type::kBool), x, scalar_like(x, 0)));
}

}  // namespace

std::span<const Row> shape_rows() {
  static constexpr Row kRows[] = {
      {"Constant", 1, constant_op},
      {"ConstantOfShape", 9, constant_of_shape_op},
      {"Identity", 1, [](Use& u) { u.out(u.in()); }},
      {"Shape", 1, shape_op},
      {"Size", 1, [](Use& u) { u.known_out(Tensor::from<int64_t>({u.in().numel()}, {}), Type::kInt64); }},
      {"Reshape", 1, reshape_op},
      {"Flatten", 1, flatten_op},
      {"Transpose", 1, transpose_op},
      {"Squeeze", 1, squeeze_op},
      {"Unsqueeze", 1, unsqueeze_op},
      {"Slice", 1, slice_op},
      {"Concat", 1, concat_op},
      {"Split", 1, split_op},
      {"Expand", 8, expand_op},
      {"Tile", 1, tile_op},
      {"Pad", 1, pad_op},
      {"DepthToSpace", 1, depth_to_space_op},
      {"SpaceToDepth", 1, space_to_depth_op},
      {"Range", 11, range_op},
      {"EyeLike", 9, eye_like_op},
      {"Trilu", 14, trilu_op},
  };
  return kRows;
}

}  // namespace ingot::onnx
