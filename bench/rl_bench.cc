// Learning by playing: what stepping, searching and learning take.
#include "rl_world.h"

int main(int argc, char** argv) {
  using namespace ingot;
  bench::use_tuned_allocator(argv);
  bench::Suite suite("rl", argc, argv);
  for (const int threads : suite.threads()) {
    suite.set_threads(threads);
    bench::step_worlds(suite);
    if (threads == 1) bench::search_worlds(suite);
  }
}
