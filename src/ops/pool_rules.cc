// The pass `pool`: what max pooling needs when nobody reads the positions of the largest elements.
//
//   relu, then pooling              pooling, then relu: the same numbers, fewer of them
//   positions (i64) for gradients   taps: a byte per window, which needs no check
//   conv2d, then pooling            conv2d_max_pool: the convolution's result never reaches memory
//   their gradients                 straight from the pooled side; the gradient between them does not exist
#include <algorithm>

#include "ops/rules.h"

namespace ingot {

extern const Op op_relu, op_relu_grad, op_sum, op_max_pool_grad, op_max_pool_taps, op_max_pool_taps_grad, op_conv2d,
    op_conv_grad_input, op_conv_grad_kernel, op_conv2d_max_pool, op_conv2d_max_pool_input_grad,
    op_conv2d_max_pool_kernel_grad;

namespace {

constexpr int64_t kMostTaps = 256;

const Dims& ints(const Attrs& attrs, std::string_view name) { return attrs.find(name)->ints; }

// One max pooling, its gradients, and what stands around them.
class Pooling {
 public:
  explicit Pooling(Rewrite& r) : r_(r), pool_(r.site()), kernel_(ints(r.attrs(pool_), "kernel")) {}

  bool run() {
    if (!r_.is_free(pool_) || element_count(kernel_) > kMostTaps || !find_gradients()) return false;
    Attrs attrs = r_.attrs(pool_);
    const bool tiles = lies_side_by_side(attrs);
    attrs.set("with_taps", !gradients_.empty());
    find_relu(r_.in()) ? pool_before_relu(attrs) : pool_with_taps(attrs);
    if (!tiles) return true;
    for (const Site g : gradients_) join_gradients(g);
    join_convolution();
    return true;
  }

 private:
  bool is_free(Site s, const Op& op) const { return r_.is(s, op) && r_.is_free(s); }

  // The gradients that read the positions; false if anybody else does.
  bool find_gradients() {
    const Tensor positions = r_.out(1);
    for (const Site s : r_.readers(positions)) {
      if (!is_free(s, op_max_pool_grad) || r_.same(r_.in(s, 0), positions)) return false;
      gradients_.push_back(s);
    }
    return true;
  }

  // Does a relu make x that is there for this pooling alone, with gradients that all go through both?
  bool find_relu(const Tensor& x) {
    const Site relu = r_.maker(x);
    if (!is_free(relu, op_relu)) return false;
    std::vector<Site> backward;
    for (const Site g : gradients_) {
      const std::vector<Site> readers = r_.readers(r_.out(g, 0));
      if (readers.size() != 1 || !is_free(readers[0], op_relu_grad)) return false;
      if (!r_.same(r_.in(readers[0], 0), x) || !r_.same(r_.in(readers[0], 1), r_.out(g, 0))) return false;
      backward.push_back(readers[0]);
    }
    for (const Site s : r_.readers(x))
      if (s != pool_ && std::find(backward.begin(), backward.end(), s) == backward.end()) return false;
    relu_ = relu;
    relu_gradients_ = backward;
    return true;
  }

  void pool_with_taps(const Attrs& attrs) {
    const Tensor x = r_.in();
    const std::vector<Tensor> pooled = r_.become(pool_, op_max_pool_taps, {x}, attrs);
    r_.replace(r_.out(), pooled[0]);
    for (const Site g : gradients_) {
      const Tensor dx = r_.out(g, 0);
      r_.replace(dx,
                 r_.become(g, op_max_pool_taps_grad, {r_.in(g, 0), pooled[1]}, gradient_attrs(r_.attrs(g), attrs))[0]);
    }
  }

  // The largest of relu(x) is relu of the largest of x; and if it is 0, no gradient passes. Each pair of calls changes
  // places, so that all stand where their operands are there.
  void pool_before_relu(const Attrs& attrs) {
    const std::vector<Tensor> pooled = r_.become(relu_, op_max_pool_taps, {r_.in(relu_, 0)}, attrs);
    const Tensor y = r_.become(pool_, op_relu, {pooled[0]}, {})[0];
    r_.replace(r_.out(), y);
    std::swap(relu_, pool_);
    for (size_t i = 0; i < gradients_.size(); i++) {
      const Site first = gradients_[i], second = relu_gradients_[i];
      const Tensor dx = r_.out(second, 0), dy = r_.in(first, 0);
      const Attrs size = gradient_attrs(r_.attrs(first), attrs);
      const Tensor positive = r_.become(first, op_relu_grad, {y, dy}, {})[0];
      r_.replace(dx, r_.become(second, op_max_pool_taps_grad, {positive, pooled[1]}, size)[0]);
      gradients_[i] = second;
    }
  }

  static Attrs gradient_attrs(const Attrs& gradient, const Attrs& pool) {
    Attrs attrs;
    attrs.set("size", ints(gradient, "size"));
    for (const char* name : {"kernel", "stride", "padding", "dilation"}) attrs.set(name, ints(pool, name));
    for (const char* name : {"ceil_mode", "count_include_pad"}) attrs.set(name, pool.find(name)->integer);
    return attrs;
  }

  // Windows that follow each other without gap, overlap or padding, over two axes; none sticks out.
  bool lies_side_by_side(const Attrs& attrs) const {
    const Dims &stride = ints(attrs, "stride"), &padding = ints(attrs, "padding"), &dilation = ints(attrs, "dilation");
    const Tensor x = r_.in(), y = r_.out();
    const auto at = [](const Dims& d, int a) { return d[d.size() == 1 ? 0 : a]; };
    if (x.rank() != 4) return false;
    for (int a = 0; a < 2; a++) {
      if (!stride.empty() && at(stride, a) != at(kernel_, a)) return false;
      if (!padding.empty() && at(padding, a) != 0) return false;
      if (!dilation.empty() && at(dilation, a) != 1) return false;
      if (y.size(a + 2) * at(kernel_, a) > x.size(a + 2)) return false;
    }
    return true;
  }

  // The attributes of a convolution's op as those of its pooled form.
  Attrs pooled_attrs(const Attrs& conv, const char* first) const {
    Attrs attrs;
    if (first != nullptr) attrs.set(first, ints(conv, first));
    attrs.set("pool", kernel_);
    for (const char* name : {"stride", "padding", "dilation"}) attrs.set(name, ints(conv, name));
    return attrs.set("groups", conv.find("groups")->integer);
  }

  static bool sums_channels(const Attrs& attrs) {
    Dims axes = ints(attrs, "axes");
    for (int64_t& a : axes) a = a < 0 ? a + 4 : a;
    std::sort(axes.begin(), axes.end());
    return axes == Dims{0, 2, 3} && attrs.find("keepdim")->integer == 0;
  }

  // If only gradients of convolutions read what a gradient spreads over the windows, they do without.
  void join_gradients(Site gradient) {
    const Tensor spread = r_.out(gradient, 0), dy = r_.in(gradient, 0), taps = r_.in(gradient, 1);
    const std::vector<Site> readers = r_.readers(spread);
    for (const Site s : readers) {
      if (!s || r_.is_store(s)) return;
      const bool input = r_.is(s, op_conv_grad_input) && !r_.same(r_.in(s, 1), spread);
      const bool kernel = r_.is(s, op_conv_grad_kernel) && !r_.same(r_.in(s, 0), spread);
      if (!input && !kernel && !(r_.is(s, op_sum) && sums_channels(r_.attrs(s)))) return;
    }
    for (const Site s : readers) {
      const Tensor result = r_.out(s, 0);
      const Attrs attrs = r_.attrs(s);
      std::vector<Tensor> pooled;
      if (r_.is(s, op_sum))
        pooled = r_.become(s, op_sum, {dy}, attrs);
      else if (r_.is(s, op_conv_grad_input))
        pooled = r_.become(s, op_conv2d_max_pool_input_grad, {dy, taps, r_.in(s, 1)}, pooled_attrs(attrs, "size"));
      else
        pooled = r_.become(s, op_conv2d_max_pool_kernel_grad, {r_.in(s, 0), dy, taps}, pooled_attrs(attrs, "kernel"));
      r_.replace(result, pooled[0]);
    }
  }

  // A convolution that is there for this pooling alone does it on its way out.
  void join_convolution() {
    const Tensor x = r_.in(pool_, 0), y = r_.out(pool_, 0), taps = r_.out(pool_, 1);
    const Site conv = r_.maker(x);
    if (!is_free(conv, op_conv2d) || r_.readers(x).size() != 1) return;
    Attrs attrs = pooled_attrs(r_.attrs(conv), nullptr);
    attrs.set("with_taps", r_.attrs(pool_).find("with_taps")->integer);
    std::vector<Tensor> inputs;
    for (int i = 0; i < r_.input_count(conv); i++) inputs.push_back(r_.in(conv, i));
    const std::vector<Tensor> pooled = r_.become(conv, op_conv2d_max_pool, inputs, attrs);
    r_.replace(y, pooled[0]);
    r_.replace(taps, pooled[1]);
  }

  Rewrite& r_;
  Site pool_, relu_;
  std::vector<Site> gradients_, relu_gradients_;
  Dims kernel_;
};

}  // namespace

bool pool_by_taps(Rewrite& r) { return r.pass() == "pool" && Pooling(r).run(); }

}  // namespace ingot
