// Gate networks against a plain loop, at sizes that make narrow tiles, partial ones and groups of several.
#include "gates/soft.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "tests/kernels/on_target.h"

namespace ingot::gates::soft {
namespace {

using namespace kernels;

class GateKernels : public OnTarget {
 protected:
  std::mt19937 random_{5};
};

struct Net {
  GateProgram program;
  std::vector<int32_t> wires;
  std::vector<double> coefficients;

  Net(std::mt19937& random, int64_t inputs, int64_t gates, int64_t outputs, int64_t rows)
      : program{.inputs = inputs, .gates = gates, .outputs = outputs, .rows = rows} {
    const auto draw = [&](int64_t n) { return static_cast<int32_t>(random() % static_cast<uint64_t>(n)); };
    for (int64_t g = 0; g < gates; g++) {
      // Mostly near signals, as layers have them, and some far ones.
      const int64_t near = std::min<int64_t>(inputs + g, 300);
      const auto signal = [&] {
        return static_cast<int32_t>(draw(10) == 0 ? draw(inputs + g) : inputs + g - 1 - draw(near));
      };
      wires.insert(wires.end(), {signal(), signal(), draw(rows)});
    }
    std::uniform_real_distribution<double> coefficient(-0.5, 0.5);
    for (int64_t k = 0; k < 4 * rows; k++) coefficients.push_back(coefficient(random));
    program.wires = wires.data();
  }
};

template <class T>
void check_network(const Net& net, int64_t batch, std::mt19937& random, double tolerance) {
  const GateProgram& p = net.program;
  const auto n_in = static_cast<size_t>(p.inputs), n_gates = static_cast<size_t>(p.gates),
             n_out = static_cast<size_t>(p.outputs);
  std::uniform_real_distribution<double> bit(0, 1);
  std::vector<T> x(n_in * static_cast<size_t>(batch)), dy(n_out * static_cast<size_t>(batch));
  for (T& v : x) v = static_cast<T>(bit(random));
  for (T& v : dy) v = static_cast<T>(bit(random) - 0.5);
  const std::vector<T> w(net.coefficients.begin(), net.coefficients.end());

  std::vector<double> y, dx, dw(net.coefficients.size());
  for (size_t r = 0; r < static_cast<size_t>(batch); r++) {
    std::vector<double> signal(x.begin() + static_cast<int64_t>(r * n_in),
                               x.begin() + static_cast<int64_t>((r + 1) * n_in));
    for (size_t g = 0; g < n_gates; g++) {
      const double a = signal[static_cast<size_t>(net.wires[3 * g])],
                   b = signal[static_cast<size_t>(net.wires[3 * g + 1])];
      const double* c = &net.coefficients[4 * static_cast<size_t>(net.wires[3 * g + 2])];
      signal.push_back(c[0] + c[1] * a + c[2] * b + c[3] * a * b);
    }
    y.insert(y.end(), signal.end() - static_cast<int64_t>(n_out), signal.end());
    std::vector<double> d(signal.size());
    for (size_t o = 0; o < n_out; o++) d[signal.size() - n_out + o] = static_cast<double>(dy[r * n_out + o]);
    for (size_t g = n_gates; g-- > 0;) {
      const auto a = static_cast<size_t>(net.wires[3 * g]), b = static_cast<size_t>(net.wires[3 * g + 1]),
                 row = 4 * static_cast<size_t>(net.wires[3 * g + 2]);
      const double dg = d[n_in + g], by[4] = {1, signal[a], signal[b], signal[a] * signal[b]};
      for (size_t k = 0; k < 4; k++) dw[row + k] += dg * by[k];
      d[a] += dg * (net.coefficients[row + 1] + net.coefficients[row + 3] * signal[b]);
      d[b] += dg * (net.coefficients[row + 2] + net.coefficients[row + 3] * signal[a]);
    }
    dx.insert(dx.end(), d.begin(), d.begin() + p.inputs);
  }

  std::vector<T> first_dw;
  for (const int threads : {1, 2, 5}) {
    set_threads(threads);
    std::vector<T> got_y(y.size()), got_dx(dx.size()), got_dw(dw.size());
    const auto aligned = [](std::vector<std::byte>& bytes) {
      return reinterpret_cast<void*>((reinterpret_cast<uintptr_t>(bytes.data()) + 63) / 64 * 64);
    };
    std::vector<std::byte> scratch(64 + std::max(gate_network_scratch(p, batch, false, sizeof(T), threads),
                                                 gate_network_scratch(p, batch, true, sizeof(T), threads)));
    parallel(true, [&](const Team& team) {
      gate_network(GateNetwork<T>{p, batch, x.data(), w.data(), got_y.data()}, aligned(scratch), team);
      team.barrier();
      gate_network_grad(GateNetworkGrad<T>{p, batch, dy.data(), x.data(), w.data(), got_dx.data(), got_dw.data()},
                        aligned(scratch), team);
    });
    for (size_t i = 0; i < y.size(); i++) ASSERT_NEAR(got_y[i], y[i], tolerance) << i;
    for (size_t i = 0; i < dx.size(); i++) ASSERT_NEAR(got_dx[i], dx[i], tolerance) << i;
    for (size_t i = 0; i < dw.size(); i++) ASSERT_NEAR(got_dw[i], dw[i], tolerance * static_cast<double>(batch)) << i;
    if (threads == 1) first_dw = got_dw;
    EXPECT_EQ(got_dw, first_dw) << threads << " threads";
  }
}

TEST_P(GateKernels, NarrowTilesAndManyGroups) {
  const Net large(random_, 50, 18000, 40, 9000);  // 16 lanes in f32 on the way back: 2 MiB of signals and more
  check_network<float>(large, 330, random_, 1e-3);
  const Net small(random_, 7, 60, 9, 30);
  check_network<float>(small, 700, random_, 1e-4);  // 22 tiles in 16 groups
  check_network<double>(small, 333, random_, 1e-11);
  check_network<double>(large, 37, random_, 1e-9);
}
INGOT_ON_TARGETS(GateKernels);

}  // namespace
}  // namespace ingot::gates::soft
