// libtorch as a peer at its best: on either BLAS, on all threads and on one. Its BLAS is the system's libblas.so.3, but a
// symbol in the program comes before one in a library: a program that includes this defines the BLAS functions that
// libtorch calls and hands them on to whichever is to be measured.
#pragma once
#include <dlfcn.h>
#include <torch/torch.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "harness.h"
#include "ingot/ingot.h"

namespace {

// One BLAS under libtorch, with so many threads.
struct Blas {
  using Sgemm = void(const char* ta, const char* tb, const int* m, const int* n, const int* k, const float* alpha,
                     const float* a, const int* lda, const float* b, const int* ldb, const float* beta, float* c,
                     const int* ldc);
  using Sgemv = void(const char* t, const int* m, const int* n, const float* alpha, const float* a, const int* lda,
                     const float* x, const int* incx, const float* beta, float* y, const int* incy);
  Sgemm* sgemm = nullptr;
  Sgemv* sgemv = nullptr;
  void (*set_threads)(int64_t) = nullptr;

  Blas(const char* library, const char* threads_function) {
    void* handle = dlopen(library, RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
    if (handle != nullptr) {
      sgemm = reinterpret_cast<Sgemm*>(dlsym(handle, "sgemm_"));
      sgemv = reinterpret_cast<Sgemv*>(dlsym(handle, "sgemv_"));
      set_threads = reinterpret_cast<void (*)(int64_t)>(dlsym(handle, threads_function));
    }
    if (sgemm == nullptr || sgemv == nullptr || set_threads == nullptr) {
      std::fprintf(stderr, "bench: %s cannot be used (%s)\n", library, dlerror());
      std::exit(1);
    }
  }
};

const Blas& openblas() {
  static const Blas blas("libopenblas.so.0", "openblas_set_num_threads");
  return blas;
}
const Blas& blis() {
  static const Blas blas("libblis.so.4", "bli_thread_set_num_threads");
  return blas;
}

const Blas* current_blas = nullptr;
int current_blas_threads = 0;
int64_t blas_calls = 0;

void use(const Blas& blas, int threads) {
  if (current_blas == &blas && current_blas_threads == threads) return;
  current_blas = &blas, current_blas_threads = threads;
  blas.set_threads(threads);
}

}  // namespace

// What libtorch calls.
extern "C" {
[[gnu::visibility("default"), gnu::used]] void sgemm_(const char* ta, const char* tb, const int* m, const int* n,
                                                      const int* k, const float* alpha, const float* a, const int* lda,
                                                      const float* b, const int* ldb, const float* beta, float* c,
                                                      const int* ldc) {
  blas_calls++;
  current_blas->sgemm(ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}
[[gnu::visibility("default"), gnu::used]] void sgemv_(const char* t, const int* m, const int* n, const float* alpha,
                                                      const float* a, const int* lda, const float* x, const int* incx,
                                                      const float* beta, float* y, const int* incy) {
  blas_calls++;
  current_blas->sgemv(t, m, n, alpha, a, lda, x, incx, beta, y, incy);
}
}

namespace {

using namespace ingot;
using Batch = std::vector<Tensor>;
using TorchBatch = std::vector<at::Tensor>;

[[noreturn]] void differs(const std::string& label, const std::string& what) {
  std::fprintf(stderr, "bench: %s: Ingot and libtorch do not compute the same thing: %s\n", label.c_str(),
               what.c_str());
  std::exit(1);
}

// The same memory as a libtorch tensor.
at::Tensor torch_view(const Tensor& t) {
  return at::from_blob(t.raw(), at::IntArrayRef(t.shape().begin(), static_cast<size_t>(t.rank())),
                       t.dtype() == kI64 ? at::kLong : at::kFloat);
}

TorchBatch torch_view(const Batch& batch) {
  TorchBatch views;
  for (const Tensor& t : batch) views.push_back(torch_view(t));
  return views;
}

// Tensors agree if the norm of their difference is small against their norm: an element whose gradient is all rounding
// may well take Adam's whole step in the other direction.
void check_same(const std::string& label, const std::string& what, const at::Tensor& ours, const at::Tensor& theirs,
                double most = 1e-5) {
  const torch::NoGradGuard guard;
  const auto a = ours.to(at::kDouble), b = theirs.to(at::kDouble);
  const double error = (a - b).norm().item<double>() / std::max(b.norm().item<double>(), 1e-30);
  if (!(error <= most)) differs(label, what + " is off by " + std::to_string(error) + " of its norm");
}

// The settings of libtorch for `run`.
std::vector<bench::Contender> libtorch(const std::string& setting, const std::function<void()>& run) {
  const int all = at::get_num_threads();
  std::vector<bench::Contender> settings;
  for (const int n : all == 1 ? std::vector<int>{1} : std::vector<int>{all, 1})
    for (const Blas* blas : {&openblas(), &blis()})
      settings.push_back({"libtorch",
                          [=] {
                            use(*blas, n);
                            run();
                          },
                          setting + (blas == &blis() ? "blis" : "openblas") + (n < all ? " on 1" : "")});
  return settings;
}

// libtorch must come to the BLAS functions above; if not, one BLAS would be measured twice.
inline void check_blas() {
  use(openblas(), 1);
  const at::Tensor a = at::ones({16, 16});
  const int64_t before = blas_calls;
  if (at::mm(a, a).sum().item<float>() != 4096 || blas_calls == before) differs("BLAS", "libtorch does not use ours");
}

}  // namespace
