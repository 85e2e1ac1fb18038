// Plans as C against the plans themselves, on one thread: training steps and inference of the nets that recipes train. The
// files are compiled by gcc -O3 -march=native; "ingot" is the emitted C, the peer is the plan, so the ratio is the share of
// the plan's speed that is left of it in C.
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "harness.h"
#include "ingot/exchange/c_source.h"
#include "ingot/graph/program.h"
#include "ingot/ingot.h"
#include "ingot/nn/train_step.h"

namespace {

using namespace ingot;

// A folder, a compiled file in it, and its function, called with one input or two.
class Compiled {
 public:
  Compiled(const Plan& plan, const std::string& name) {
    char pattern[] = "/tmp/ingot_c_bench.XXXXXX";
    folder_ = mkdtemp(pattern);
    const exchange::CSource c = exchange::to_c(plan, {.name = name});
    c.write(folder_);
    const std::string file = folder_ + "/" + name;
    const std::string command = "gcc -O3 -march=native -shared -fPIC " + file + ".c -o " + file + ".so -lm";
    if (std::system(command.c_str()) != 0) std::exit(1);
    library_ = dlopen((file + ".so").c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library_ == nullptr) std::exit(1);
    run_ = dlsym(library_, (name + "_run").c_str());
  }
  ~Compiled() {
    dlclose(library_);
    std::filesystem::remove_all(folder_);
  }
  Compiled(const Compiled&) = delete;
  Compiled& operator=(const Compiled&) = delete;

  // Memory of the file's that stands for the plan's: what it holds now.
  void take_over(const Plan& plan, const std::string& name) const {
    const graph::Program& p = graph::program_of(plan);
    for (size_t i = 0; i < p.slabs.size(); i++) {
      void* to = dlsym(library_, (name + "_" + p.slabs[i].name).c_str());
      if (to != nullptr) std::memcpy(to, graph::memory_of(plan).slabs[i].base, static_cast<size_t>(p.slabs[i].bytes));
    }
  }
  int run(const Tensor& x, const Tensor& out) const {
    return reinterpret_cast<int (*)(const void*, void*)>(run_)(x.raw(), out.raw());
  }
  int run(const Tensor& x, const Tensor& label, const Tensor& out) const {
    return reinterpret_cast<int (*)(const void*, const void*, void*)>(run_)(x.raw(), label.raw(), out.raw());
  }

 private:
  std::string folder_;
  void *library_ = nullptr, *run_ = nullptr;
};

nn::Sequential mlp() { return nn::Sequential{nn::Linear(784, 128), nn::ReLU(), nn::Linear(128, 10)}; }

void conv(nn::Sequential& net, int64_t in, int64_t out, bool norm) {
  net.add(nn::Conv2d(in, out, 3, {.padding = {1, 1}}, !norm));
  if (norm) net.add(nn::BatchNorm2d(out));
  net.add(nn::ReLU());
}

// As in recipes/digits.toml and recipes/mnist.toml.
nn::Sequential digits() {
  nn::Sequential net;
  conv(net, 1, 16, false);
  conv(net, 16, 32, false);
  net.add(nn::MaxPool2d(2));
  net.add(nn::Flatten());
  net.add(nn::Dropout(0.3));
  net.add(nn::Linear(512, 64));
  net.add(nn::ReLU());
  net.add(nn::Linear(64, 10));
  return net;
}

nn::Sequential mnist() {
  nn::Sequential net;
  conv(net, 1, 16, true);
  net.add(nn::MaxPool2d(2));
  conv(net, 16, 32, true);
  net.add(nn::MaxPool2d(2));
  conv(net, 32, 64, true);
  net.add(nn::Flatten());
  net.add(nn::Dropout(0.3));
  net.add(nn::Linear(64 * 7 * 7, 128));
  net.add(nn::ReLU());
  net.add(nn::Linear(128, 10));
  return net;
}

void training(bench::Suite& suite, const std::string& name, nn::Sequential net, const Dims& shape) {
  const std::string label = name + " train " + std::to_string(shape[0]);
  if (!suite.wants(label)) return;
  const Tensor x = normal(shape, 1), labels = to(uniform({shape[0]}, 2) * 9.99, kI64), loss = zeros({});
  auto step = nn::train_step(net, nn::cross_entropy, optim::Adam{}, {InputSpec(shape), {shape[0]}}, {.threads = 1});
  step(x, labels);
  const Compiled c(step.plan(), "step");
  c.take_over(step.plan(), "step");
  suite.compare(label, [&] { c.run(x, labels, loss); }, {{"plan", [&] { step(x, labels); }}});
}

void inference(bench::Suite& suite, const std::string& name, nn::Sequential net, const Dims& shape) {
  const std::string label = name + " infer " + std::to_string(shape[0]);
  if (!suite.wants(label)) return;
  const Tensor x = normal(shape, 1), out = zeros({shape[0], 10});
  net.eval();
  Plan plan = compile([&](const Tensor& in) { return net(in); }, {InputSpec(shape)}, {.threads = 1, .frozen = true});
  const Compiled c(plan, "net");
  suite.compare(label, [&] { c.run(x, out); }, {{"plan", [&] { plan.run(x); }}});
}

}  // namespace

int main(int argc, char** argv) {
  bench::use_tuned_allocator(argv);
  bench::Suite suite("c", argc, argv);
  suite.set_threads(1);
  for (const int64_t batch : {1, 8, 64}) inference(suite, "mlp", mlp(), {batch, 784});
  for (const int64_t batch : {1, 32}) inference(suite, "digits", digits(), {batch, 1, 8, 8});
  for (const int64_t batch : {1, 32}) inference(suite, "mnist", mnist(), {batch, 1, 28, 28});
  training(suite, "mlp", mlp(), {64, 784});
  training(suite, "digits", digits(), {32, 1, 8, 8});
  training(suite, "mnist", mnist(), {128, 1, 28, 28});
  return 0;
}
