// Learning by playing: what stepping, searching and learning take.
#include "rl_learn.h"
#include "rl_world.h"

int main(int argc, char** argv) {
  using namespace ingot;
  bench::use_tuned_allocator(argv);
  bench::Suite suite("rl", argc, argv);
  check_blas();
  for (const int threads : suite.threads()) {
    suite.set_threads(threads);
    bench::step_worlds(suite);
    for (const int64_t batch : {64, 256}) bench::dqn_update(suite, batch);
    if (threads == 1) bench::search_worlds(suite);
  }
}
