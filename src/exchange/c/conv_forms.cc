// Convolutions and their gradients. An image is copied into a frame of zeros, so that no loop has a border; weights are
// turned so that the channels of a result lie side by side, and a row of results is kept in registers while all taps are
// added to it.
#include <algorithm>

#include "exchange/c/families.h"

namespace ingot::exchange {
namespace {

constexpr int64_t kLanes = 16;  // of the widest machine: channels are filled up to a multiple of it

// A convolution over three axes; those that are not there have size 1.
struct Geometry {
  int64_t batch = 0, in = 0, out = 0, groups = 1;  // channels
  int64_t size[3] = {1, 1, 1}, made[3] = {1, 1, 1}, kernel[3] = {1, 1, 1}, stride[3] = {1, 1, 1}, pad[3] = {0, 0, 0},
          dilation[3] = {1, 1, 1};
  int64_t taps() const { return kernel[0] * kernel[1] * kernel[2]; }
};

// An operand [a, b, …] with three spatial axes.
View with_three(View v) {
  while (v.rank() < 5) {
    v.shape.insert(2, 1);
    v.strides.insert(2, 0);
  }
  return v;
}

int64_t option(Function& f, const char* name, int axis, int spatial, int64_t fallback) {
  const Dims& d = f.ints(name);
  const int own = axis - (3 - spatial);
  return d.empty() || own < 0 ? fallback : d[d.size() == 1 ? 0 : own];
}

Geometry geometry(Function& f, const Dims& x, const Dims& w, const Dims& y, int spatial) {
  Geometry g;
  g.groups = f.integer("groups");
  g.batch = x[0], g.in = x[1], g.out = y[1];
  for (int a = 0; a < 3; a++) {
    g.size[a] = x[a + 2], g.kernel[a] = w[a + 2], g.made[a] = y[a + 2];
    g.pad[a] = option(f, "padding", a, spatial, 0);
    g.stride[a] = g.made[a] == 1 ? 1 : option(f, "stride", a, spatial, 1);
    g.dilation[a] = g.kernel[a] == 1 ? 1 : option(f, "dilation", a, spatial, 1);
  }
  return g;
}

// What a convolution reads: image elements at lead + i * step of a frame of zeros.
struct Frame {
  int64_t channels, size[3], lead[3], step[3];
  int64_t plane() const { return size[0] * size[1] * size[2]; }
  int64_t count() const { return channels * plane(); }
};

// The frame that a convolution of geometry g slides over.
Frame frame_of(const Geometry& g) {
  Frame r{g.in / g.groups, {}, {g.pad[0], g.pad[1], g.pad[2]}, {1, 1, 1}};
  for (int a = 0; a < 3; a++) r.size[a] = (g.made[a] - 1) * g.stride[a] + (g.kernel[a] - 1) * g.dilation[a] + 1;
  return r;
}

// Copies the image of x (indices n and the channels of group g) into `frame`.
void fill_frame(Function& f, const View& x, const Frame& r) {
  f.line(cat("for (long i = 0; i < ", str(r.count()), "; i++) frame[i] = 0;"));
  f.open(cat("for (long c = 0; c < ", str(r.channels), "; c++)"));
  std::vector<std::string> index = {"n", "(g * " + str(r.channels) + " + c)"};
  std::string to = "c * " + str(r.plane());
  int opened = 0;
  int64_t pitch[3] = {r.size[1] * r.size[2], r.size[2], 1};
  for (int a = 0; a < 3; a++) {
    // Elements first … last - 1 are inside the frame.
    const int64_t first = r.lead[a] >= 0 ? 0 : (-r.lead[a] + r.step[a] - 1) / r.step[a];
    const int64_t room = r.size[a] - r.lead[a];
    const int64_t last = std::min(x.shape[a + 2], room <= 0 ? 0 : (room + r.step[a] - 1) / r.step[a]);
    const std::string i(1, "dhw"[a]);
    if (x.shape[a + 2] == 1 && first == 0 && last == 1) {
      index.emplace_back("0");
      to += " + " + str(r.lead[a] * pitch[a]);
      continue;
    }
    f.open(cat("for (long ", i, " = ", str(first), "; ", i, " < ", str(last), "; ", i, "++)"));
    opened++;
    index.push_back(i);
    to += " + (" + i + " * " + str(r.step[a]) + " + " + str(r.lead[a]) + ") * " + str(pitch[a]);
  }
  f.line(cat("frame[", to, "] = ", element(x, index), ";"));
  f.close(opened + 1);
}

// Weights of group g as rows of result channels: turned[(c, taps), o]; `at` gives the element of w for c, o and a tap.
void turn_weights(Function& f, const Geometry& g, int64_t in, int64_t out, int64_t pitch, const std::string& from) {
  f.open(cat("for (long k = 0; k < ", str(in * g.taps()), "; k++)"));
  f.line(cat("const long c = k / ", str(g.taps()), ", tap = k % ", str(g.taps()), ";"));
  f.line(cat("const long kd = tap / ", str(g.kernel[1] * g.kernel[2]), ", kh = tap / ", str(g.kernel[2]), " % ",
             str(g.kernel[1]), ", kw = tap % ", str(g.kernel[2]), ";"));
  f.line("(void)c, (void)kd, (void)kh, (void)kw;");
  f.line(cat("for (long o = 0; o < ", str(out), "; o++) turned[k * ", str(pitch), " + o] = ", from, ";"));
  f.line(cat("for (long o = ", str(out), "; o < ", str(pitch), "; o++) turned[k * ", str(pitch), " + o] = 0;"));
  f.close();
}

// One row of results, all channels: row[w, o], from the frame's element `at`. A function of its own.
constexpr const char* kRow = R"(static void @@(const $M *restrict frame, const $M *restrict turned, $M *restrict row) {
  enum { W = $w, VECTORS = ($out + $LANES - 1) / $LANES, V = VECTORS % 2 == 0 ? 2 : 1 };
  enum { MOST = $REGISTERS / V, PARTS = (W + MOST - 1) / MOST, R = (W + PARTS - 1) / PARTS };
  for (long o = 0; o < VECTORS; o += V)
    for (long part = 0; part < W; part += R) {
      const long first = part + R <= W ? part : W - R; /* the last part ends with the row */
      const $M *from = frame + first * $stride, *weights = turned + o * $LANES;
      $vec s[R][V];
      UNROLL for (int r = 0; r < R; r++)
        UNROLL for (int v = 0; v < V; v++) s[r][v] = ($vec){0};
      for (long c = 0; c < $in; c++)
        for (long kd = 0; kd < $kd; kd++)
          for (long kh = 0; kh < $kh; kh++)
            for (long kw = 0; kw < $kw; kw++) {
              const $M *x = from + c * $plane + kd * $step_d + kh * $step_h + kw * $step_w;
              $vec t[V];
              UNROLL for (int v = 0; v < V; v++) t[v] = $LOAD(weights + v * $LANES);
              UNROLL for (int r = 0; r < R; r++)
                UNROLL for (int v = 0; v < V; v++) s[r][v] += x[r * $stride] * t[v];
              weights += $pitch;
            }
      UNROLL for (int r = 0; r < R; r++)
        UNROLL for (int v = 0; v < V; v++) $STORE(row + (first + r) * $pitch + (o + v) * $LANES, s[r][v]);
    }
}
)";

int64_t pitch_of(int64_t channels) { return (channels + kLanes - 1) / kLanes * kLanes; }

// What the functions of a convolution have in common.
void set_geometry(Function& f, const Geometry& g, const Frame& r, int64_t out) {
  vector_names(f);
  f.set("w", g.made[2]);
  f.set("out", out);
  f.set("in", r.channels);
  f.set("pitch", pitch_of(out));
  f.set("plane", r.plane());
  f.set("kd", g.kernel[0]), f.set("kh", g.kernel[1]), f.set("kw", g.kernel[2]);
  f.set("step_d", g.dilation[0] * r.size[1] * r.size[2]);
  f.set("step_h", g.dilation[1] * r.size[2]);
  f.set("step_w", g.dilation[2]);
  f.set("stride", g.stride[2]);
}

// Writes that function; gives its name.
std::string row_function(Function& f, const Geometry& g, const Frame& r, int64_t out) {
  set_geometry(f, g, r, out);
  return f.file().function("conv_row", "A row of a convolution: " + str(r.channels) + " channels to " + str(out),
                           f.fill(kRow));
}

// The scratch that a convolution of rows needs: a frame, the turned weights, rows.
void row_scratch(Function& f, const Geometry& g, const Frame& r, int64_t out, int64_t rows) {
  const auto size = static_cast<int64_t>(size_of(f.main_type()));
  const int64_t frame = (r.count() + kLanes - 1) / kLanes * kLanes, turned = r.channels * g.taps() * pitch_of(out);
  f.scratch(memory_type(f.main_type()), "scratch", (frame + turned + rows * g.made[2] * pitch_of(out)) * size);
  f.line(cat("$M *frame = scratch, *turned = frame + ", str(frame), ", *row = turned + ", str(turned), ";"));
}

std::string row_start(const Geometry& g, const Frame& r, const std::string& d, const std::string& h) {
  return "frame + (" + d + " * " + str(g.stride[0]) + " * " + str(r.size[1]) + " + " + h + " * " + str(g.stride[1]) +
         ") * " + str(r.size[2]);
}

// A convolution of x with weights that `weights` names, plus a bias, to y; g's channels are x's and y's.
void convolve(Function& f, const Geometry& g, const Frame& r, const View& x, const View& y, const View* bias,
              const std::string& weights) {
  const int64_t out = g.out / g.groups;
  const std::string row = row_function(f, g, r, out);
  row_scratch(f, g, r, out, 1);
  f.open(cat("for (long g = 0; g < ", str(g.groups), "; g++)"));
  turn_weights(f, g, r.channels, out, pitch_of(out), weights);
  f.open(cat("for (long n = 0; n < ", str(g.batch), "; n++)"));
  fill_frame(f, x, r);
  f.open(cat("for (long d = 0; d < ", str(g.made[0]), "; d++)"));
  f.open(cat("for (long h = 0; h < ", str(g.made[1]), "; h++)"));
  f.line(cat(row, "(", row_start(g, r, "d", "h"), ", turned, row);"));
  f.open(cat("for (long o = 0; o < ", str(out), "; o++)"));
  const std::string channel = "(g * " + str(out) + " + o)";
  if (bias != nullptr) f.line(cat("const $T base = ", element(*bias, {channel}), ";"));
  f.open(cat("for (long w = 0; w < ", str(g.made[2]), "; w++)"));
  f.line(cat("const $T s = row[w * ", str(pitch_of(out)), " + o]", (bias != nullptr ? " + base;" : ";")));
  f.line(cat(element(y, {"n", channel, "d", "h", "w"}), " = ", (f.has_attr(kRelu) ? "s < 0 ? 0 : s" : "s"), ";"));
  f.close(6);
}

void forward(Function& f) {
  const View given = f.in(0, "x"), w = with_three(f.in(1, "kernel")), x = with_three(given);
  View bias;
  if (f.given(2)) bias = f.in(2, "bias");
  const View y = with_three(f.out(0, "y"));
  const Geometry g = geometry(f, x.shape, w.shape, y.shape, given.rank() - 2);
  const std::string weights = element(w, {"(g * " + str(g.out / g.groups) + " + o)", "c", "kd", "kh", "kw"});
  convolve(f, g, frame_of(g), x, y, f.given(2) ? &bias : nullptr, weights);
}

// The geometry of the convolution that the gradient for the input of `g` is: of dy, spread by the strides.
Geometry turned_around(const Geometry& g, Frame& r) {
  Geometry t = g;
  t.in = g.out, t.out = g.in;
  for (int a = 0; a < 3; a++) t.size[a] = g.made[a], t.made[a] = g.size[a], t.stride[a] = 1, t.pad[a] = 0;
  r = frame_of(t);
  for (int a = 0; a < 3; a++) r.lead[a] = (g.kernel[a] - 1) * g.dilation[a] - g.pad[a], r.step[a] = g.stride[a];
  return t;
}
std::string turned_weights(const Geometry& g, const View& w) {
  return element(w, {"(g * " + str(g.out / g.groups) + " + c)", "o", "(" + str(g.kernel[0] - 1) + " - kd)",
                     "(" + str(g.kernel[1] - 1) + " - kh)", "(" + str(g.kernel[2] - 1) + " - kw)"});
}

void grad_input(Function& f) {
  const View given = f.in(0, "dy"), w = with_three(f.in(1, "kernel")), dy = with_three(given);
  const View dx = with_three(f.out(0, "dx"));
  const Geometry g = geometry(f, dx.shape, w.shape, dy.shape, given.rank() - 2);
  Frame r{};
  const Geometry t = turned_around(g, r);
  convolve(f, t, r, dy, dx, nullptr, turned_weights(g, w));
}

// y of a transposed convolution is the input gradient of the convolution from y's size to x's.
void transposed(Function& f) {
  const View given = f.in(0, "x"), w = with_three(f.in(1, "kernel")), x = with_three(given);
  View bias;
  if (f.given(2)) bias = f.in(2, "bias");
  const View y = with_three(f.out(0, "y"));
  const Geometry g = geometry(f, y.shape, w.shape, x.shape, given.rank() - 2);
  Frame r{};
  const Geometry t = turned_around(g, r);
  convolve(f, t, r, x, y, f.given(2) ? &bias : nullptr, turned_weights(g, w));
}

// Adds what a row of dy gives to the weights' gradient: sums[(c, taps), o] += frame · turned dy[w, o].
constexpr const char* kTaps =
    R"(static void @@(const $M *restrict frame, const $M *restrict passed, $M *restrict sums) {
  enum { VECTORS = ($out + $LANES - 1) / $LANES, V = VECTORS % 2 == 0 && 2 * $tile <= $REGISTERS ? 2 : 1 };
  for (long o = 0; o < VECTORS; o += V)
    for (long c = 0; c < $in; c++)
      for (long kd = 0; kd < $kd; kd++)
        for (long kh = 0; kh < $kh; kh += $tile_h)
          for (long kw = 0; kw < $kw; kw += $tile_w) {
            const $M *from = frame + c * $plane + kd * $step_d + kh * $step_h + kw * $step_w;
            $M *to = sums + (((c * $kd + kd) * $kh + kh) * $kw + kw) * $pitch + o * $LANES;
            $vec s[$tile_h][$tile_w][V];
            UNROLL for (int p = 0; p < $tile_h; p++)
              UNROLL for (int q = 0; q < $tile_w; q++)
                UNROLL for (int v = 0; v < V; v++) s[p][q][v] = $LOAD(to + (p * $kw + q) * $pitch + v * $LANES);
            for (long d = 0; d < $made_d; d++)
              for (long h = 0; h < $made_h; h++)
                for (long w = 0; w < $w; w++) {
                  const $M *x = from + d * $slide_d + h * $slide_h + w * $stride;
                  const $M *g = passed + ((d * $made_h + h) * $w + w) * $pitch + o * $LANES;
                  $vec t[V];
                  UNROLL for (int v = 0; v < V; v++) t[v] = $LOAD(g + v * $LANES);
                  UNROLL for (int p = 0; p < $tile_h; p++)
                    UNROLL for (int q = 0; q < $tile_w; q++)
                      UNROLL for (int v = 0; v < V; v++) s[p][q][v] += x[p * $step_h + q * $step_w] * t[v];
                }
            UNROLL for (int p = 0; p < $tile_h; p++)
              UNROLL for (int q = 0; q < $tile_w; q++)
                UNROLL for (int v = 0; v < V; v++) $STORE(to + (p * $kw + q) * $pitch + v * $LANES, s[p][q][v]);
          }
}
)";

// The gradient for the weights; `pass` writes an image's dy into passed[(d, h, w), o].
void kernel_gradient(Function& f, const Geometry& g, const View& x, const View& dw, const auto& pass) {
  const Frame r = frame_of(g);
  const int64_t out = g.out / g.groups, pitch = pitch_of(out), made = g.made[0] * g.made[1] * g.made[2];
  const bool small = g.kernel[1] * g.kernel[2] <= 9;
  f.set("tile_h", small ? g.kernel[1] : 1);
  f.set("tile_w", small || g.kernel[2] <= 9 ? g.kernel[2] : 1);
  f.set("tile", small ? g.kernel[1] * g.kernel[2] : g.kernel[2] <= 9 ? g.kernel[2] : 1);
  f.set("made_d", g.made[0]), f.set("made_h", g.made[1]);
  f.set("slide_d", g.stride[0] * r.size[1] * r.size[2]), f.set("slide_h", g.stride[1] * r.size[2]);
  set_geometry(f, g, r, out);
  const std::string taps =
      f.file().function("conv_taps", "The weights' gradient of a convolution, from one image", f.fill(kTaps));
  const int64_t frame = (r.count() + kLanes - 1) / kLanes * kLanes, sums = r.channels * g.taps() * pitch;
  f.scratch(memory_type(f.main_type()), "scratch",
            (frame + sums + made * pitch) * static_cast<int64_t>(size_of(f.main_type())));
  f.line(cat("$M *frame = scratch, *sums = frame + ", str(frame), ", *passed = sums + ", str(sums), ";"));
  f.open(cat("for (long g = 0; g < ", str(g.groups), "; g++)"));
  f.line(cat("for (long i = 0; i < ", str(sums), "; i++) sums[i] = 0;"));
  f.open(cat("for (long n = 0; n < ", str(g.batch), "; n++)"));
  fill_frame(f, x, r);
  f.line(cat("for (long i = 0; i < ", str(made * pitch), "; i++) passed[i] = 0;"));
  pass(out, pitch);
  f.line(taps + "(frame, passed, sums);");
  f.close();
  const std::string n = str(g.taps());
  f.open(cat("for (long k = 0; k < ", str(r.channels * g.taps()), "; k++)"));
  f.line(cat("const long c = k / ", n, ", kd = k % ", n, " / ", str(g.kernel[1] * g.kernel[2]), ", kh = k / ",
             str(g.kernel[2]), " % ", str(g.kernel[1]), ", kw = k % ", str(g.kernel[2]), ";"));
  f.line("(void)c, (void)kd, (void)kh, (void)kw;");
  f.line(cat("for (long o = 0; o < ", str(out), "; o++) ",
             element(dw, {"(g * " + str(out) + " + o)", "c", "kd", "kh", "kw"}), " = sums[k * ", str(pitch), " + o];"));
  f.close(2);
}

void grad_kernel(Function& f) {
  const View given = f.in(0, "x"), dy = with_three(f.in(1, "dy")), x = with_three(given);
  const View dw = with_three(f.out(0, "dw"));
  const Geometry g = geometry(f, x.shape, dw.shape, dy.shape, given.rank() - 2);
  kernel_gradient(f, g, x, dw, [&](int64_t out, int64_t pitch) {
    f.open(cat("for (long o = 0; o < ", str(out), "; o++)"));
    const auto at = f.loops(dy.shape, {{0, "n"}, {1, "(g * " + str(out) + " + o)"}}, "j");
    f.line(cat("passed[((", at[2], " * ", str(g.made[1]), " + ", at[3], ") * ", str(g.made[2]), " + ", at[4], ") * ",
               str(pitch), " + o] = ", element(dy, at), ";"));
    f.close_loops();
    f.close();
  });
}

// Fused with max pooling by windows side by side ---------------------------------------------------------------------

void pooled_forward(Function& f) {
  const View x = with_three(f.in(0, "x")), w = with_three(f.in(1, "kernel"));
  View bias;
  if (f.given(2)) bias = f.in(2, "bias");
  const View y = f.out(0, "y");
  const bool with_taps = f.flag("with_taps");
  View taps;
  if (with_taps) taps = f.out(1, "taps");
  const Dims& window = f.ints("pool");
  const int64_t wh = window[0], ww = window.size() == 1 ? window[0] : window[1];
  // Only what windows cover is computed.
  const Dims made = {y.shape[0], y.shape[1], 1, y.shape[2] * wh, y.shape[3] * ww};
  const Geometry g = geometry(f, x.shape, w.shape, made, 2);
  const Frame r = frame_of(g);
  const int64_t out = g.out / g.groups, pitch = pitch_of(out);
  const std::string row = row_function(f, g, r, out);
  row_scratch(f, g, r, out, wh);
  f.open(cat("for (long g = 0; g < ", str(g.groups), "; g++)"));
  turn_weights(f, g, r.channels, out, pitch, element(w, {"(g * " + str(out) + " + o)", "c", "kd", "kh", "kw"}));
  f.open(cat("for (long n = 0; n < ", str(g.batch), "; n++)"));
  fill_frame(f, x, r);
  f.open(cat("for (long h = 0; h < ", str(y.shape[2]), "; h++)"));
  f.line(cat("for (long i = 0; i < ", str(wh), "; i++) ", row, "(", row_start(g, r, "0", "(h * " + str(wh) + " + i)"),
             ", turned, row + i * ", str(g.made[2] * pitch), ");"));
  f.open(cat("for (long w = 0; w < ", str(y.shape[3]), "; w++)"));
  f.open(cat("for (long o = 0; o < ", str(out), "; o++)"));
  f.line(cat("const $M *at = row + w * ", str(ww * pitch), " + o;"));
  f.line("$T best = *at;");
  f.line("int tap = 0;");
  for (int64_t i = 0; i < wh * ww; i++) {
    if (i == 0) continue;
    f.open("");
    f.line(cat("const $T v = at[", str((i / ww * g.made[2] + i % ww) * pitch), "];"));
    f.line("const int better = v > best || (v != v && best == best);");
    f.line("best = better ? v : best;");
    f.line(cat("tap = better ? ", str(i), " : tap;"));
    f.close();
  }
  const std::string channel = "(g * " + str(out) + " + o)";
  f.line(cat("const $T s = best", (f.given(2) ? " + " + element(bias, {channel}) : ""), ";"));
  f.line(cat(element(y, {"n", channel, "h", "w"}), " = ", (f.has_attr(kRelu) ? "s < 0 ? 0 : s" : "s"), ";"));
  if (with_taps)
    f.line(element(taps, {"n", channel, "h", "w"}) + " = (uint8_t)tap;");
  else
    f.line("(void)tap;");
  f.close(5);
}

// dy as the convolution's result has it: at the place of its tap, and 0 elsewhere.
struct Spread {
  View dy, taps;
  int64_t wh, ww;
};

Geometry pooled_geometry(Function& f, const Spread& s, const Dims& x, const Dims& w) {
  return geometry(f, x, w, {s.dy.shape[0], s.dy.shape[1], 1, s.dy.shape[2] * s.wh, s.dy.shape[3] * s.ww}, 2);
}

void pooled_grad_input(Function& f) {
  const Dims& window = f.ints("pool");
  const Spread s{f.in(0, "dy"), f.in(1, "taps"), window[0], window.size() == 1 ? window[0] : window[1]};
  const View w = with_three(f.in(2, "kernel")), dx = with_three(f.out(0, "dx"));
  const Geometry g = pooled_geometry(f, s, dx.shape, w.shape);
  Frame r{};
  Geometry t = turned_around(g, r);
  const int64_t in = g.out / g.groups, out = g.in / g.groups, pitch = pitch_of(out);
  const std::string row = row_function(f, t, r, out);
  row_scratch(f, t, r, out, 1);
  f.open(cat("for (long g = 0; g < ", str(g.groups), "; g++)"));
  turn_weights(f, t, r.channels, out, pitch, turned_weights(g, w));
  f.open(cat("for (long n = 0; n < ", str(g.batch), "; n++)"));
  f.line(cat("for (long i = 0; i < ", str(r.count()), "; i++) frame[i] = 0;"));
  f.open(cat("for (long c = 0; c < ", str(in), "; c++)"));
  f.open(cat("for (long h = 0; h < ", str(s.dy.shape[2]), "; h++)"));
  f.open(cat("for (long w = 0; w < ", str(s.dy.shape[3]), "; w++)"));
  const std::vector<std::string> index = {"n", "(g * " + str(in) + " + c)", "h", "w"};
  f.line(cat("const long tap = ", element(s.taps, index), ", p = (h * ", str(s.wh), " + tap / ", str(s.ww), ") * ",
             str(r.step[1]), " + ", str(r.lead[1]), ", q = (w * ", str(s.ww), " + tap % ", str(s.ww), ") * ",
             str(r.step[2]), " + ", str(r.lead[2]), ";"));
  f.line(cat("if (p >= 0 && p < ", str(r.size[1]), " && q >= 0 && q < ", str(r.size[2]), ") frame[c * ", str(r.plane()),
             " + p * ", str(r.size[2]), " + q] = ", element(s.dy, index), ";"));
  f.close(3);
  f.open(cat("for (long h = 0; h < ", str(t.made[1]), "; h++)"));
  f.line(cat(row, "(", row_start(t, r, "0", "h"), ", turned, row);"));
  f.open(cat("for (long o = 0; o < ", str(out), "; o++)"));
  f.line(cat("for (long w = 0; w < ", str(t.made[2]), "; w++) ",
             element(dx, {"n", "(g * " + str(out) + " + o)", "0", "h", "w"}), " = row[w * ", str(pitch), " + o];"));
  f.close(4);
}

void pooled_grad_kernel(Function& f) {
  const Dims& window = f.ints("pool");
  const View x = with_three(f.in(0, "x"));
  const Spread s{f.in(1, "dy"), f.in(2, "taps"), window[0], window.size() == 1 ? window[0] : window[1]};
  const View dw = with_three(f.out(0, "dw"));
  const Geometry g = pooled_geometry(f, s, x.shape, dw.shape);
  kernel_gradient(f, g, x, dw, [&](int64_t out, int64_t pitch) {
    f.open(cat("for (long o = 0; o < ", str(out), "; o++)"));
    f.open(cat("for (long h = 0; h < ", str(s.dy.shape[2]), "; h++)"));
    f.open(cat("for (long w = 0; w < ", str(s.dy.shape[3]), "; w++)"));
    const std::vector<std::string> index = {"n", "(g * " + str(out) + " + o)", "h", "w"};
    f.line(cat("const long tap = ", element(s.taps, index), ";"));
    f.line(cat("passed[((h * ", str(s.wh), " + tap / ", str(s.ww), ") * ", str(g.made[2]), " + w * ", str(s.ww),
               " + tap % ", str(s.ww), ") * ", str(pitch), " + o] = ", element(s.dy, index), ";"));
    f.close(3);
  });
}

}  // namespace

std::span<const OpForm> conv_forms() {
  static constexpr OpForm kForms[] = {
      {"conv1d", forward},
      {"conv2d", forward},
      {"conv3d", forward},
      {"conv_transpose1d", transposed},
      {"conv_transpose2d", transposed},
      {"conv_grad_input", grad_input},
      {"conv_grad_kernel", grad_kernel},
      {"conv2d_max_pool", pooled_forward},
      {"conv2d_max_pool_input_grad", pooled_grad_input},
      {"conv2d_max_pool_kernel_grad", pooled_grad_kernel},
  };
  return kForms;
}

}  // namespace ingot::exchange
