// Matrix products: the shapes and transposition forms of the training steps, against OpenBLAS, BLIS, oneDNN and
// libtorch.
#include <ATen/ATen.h>
#include <dlfcn.h>
#include <oneapi/dnnl/dnnl.h>

#include <cstdio>
#include <string>

#include "harness.h"
#include "ingot/ingot.h"

namespace {

using namespace ingot;
using bench::Contender;

// cblas_sgemm of one BLAS; two of them cannot be linked into one program.
struct Blas {
  using Sgemm = void (*)(int order, int ta, int tb, int m, int n, int k, float alpha, const float* a, int lda,
                         const float* b, int ldb, float beta, float* c, int ldc);
  Sgemm sgemm = nullptr;
  void (*set_threads)(int64_t) = nullptr;

  Blas(const char* library, const char* threads_function) {
    void* handle = dlopen(library, RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
    if (handle == nullptr) {
      std::fprintf(stderr, "bench: %s is not there (%s)\n", library, dlerror());
      return;
    }
    sgemm = reinterpret_cast<Sgemm>(dlsym(handle, "cblas_sgemm"));
    set_threads = reinterpret_cast<void (*)(int64_t)>(dlsym(handle, threads_function));
  }
};

struct Shape {
  int m, k, n;
};

void compare(bench::Suite& suite, const Blas& openblas, const Blas& blis, const Shape& s, bool ta, bool tb) {
  const Tensor a_memory = uniform(ta ? Dims{s.k, s.m} : Dims{s.m, s.k}, 1, -1, 1);
  const Tensor b_memory = uniform(tb ? Dims{s.n, s.k} : Dims{s.k, s.n}, 2, -1, 1);
  const Tensor a = ta ? transpose(a_memory) : a_memory, b = tb ? transpose(b_memory) : b_memory,
               c = Tensor::empty({s.m, s.n});
  const float *pa = a_memory.data<float>(), *pb = b_memory.data<float>();
  const int lda = ta ? s.m : s.k, ldb = tb ? s.k : s.n;
  const Tensor other = Tensor::empty({s.m, s.n});
  float* pc = other.data<float>();
  const auto wrap = [](const Tensor& t) { return at::from_blob(t.raw(), {t.size(0), t.size(1)}, at::kFloat); };
  at::Tensor ta_view = wrap(a_memory), tb_view = wrap(b_memory), tc = wrap(other);
  if (ta) ta_view = ta_view.t();
  if (tb) tb_view = tb_view.t();

  std::vector<Contender> peers;
  for (const auto& [name, blas] : {std::pair{"openblas", &openblas}, std::pair{"blis", &blis}})
    if (blas->sgemm != nullptr)
      peers.push_back({name, [=, &s] {
                         blas->sgemm(101, ta ? 112 : 111, tb ? 112 : 111, s.m, s.n, s.k, 1, pa, lda, pb, ldb, 0, pc,
                                     s.n);
                       }});
  peers.push_back({"onednn", [=, &s] {
                     dnnl_sgemm(ta ? 'T' : 'N', tb ? 'T' : 'N', s.m, s.n, s.k, 1, pa, lda, pb, ldb, 0, pc, s.n);
                   }});
  peers.push_back({"libtorch", [&] { at::mm_out(tc, ta_view, tb_view); }});
  const std::string label = std::to_string(s.m) + "x" + std::to_string(s.k) + "x" + std::to_string(s.n) + "-" +
                            (ta ? "T" : "N") + (tb ? "T" : "N");
  suite.compare(
      label, [&] { matmul_into(c, a, b); }, peers);
}

}  // namespace

int main(int argc, char** argv) {
  at::InferenceMode inference;
  bench::Suite suite("gemm", argc, argv);
  const Blas openblas("libopenblas.so.0", "openblas_set_num_threads"),
      blis("libblis.so.4", "bli_thread_set_num_threads");
  for (const Blas* blas : {&openblas, &blis})
    if (blas->set_threads != nullptr) suite.on_threads([blas](int n) { blas->set_threads(n); });
  const Shape shapes[] = {{1000, 1000, 1000}, {512, 512, 512}, {256, 1024, 1024}, {128, 128, 128}, {64, 144, 256},
                          {64, 256, 128},     {64, 128, 64},   {64, 64, 6},       {32, 784, 128},  {1, 256, 256}};
  for (const int n : suite.threads()) {
    suite.set_threads(n);
    for (const Shape& shape : shapes)
      for (const bool ta : {false, true})
        for (const bool tb : {false, true}) compare(suite, openblas, blis, shape, ta, tb);
  }
}
