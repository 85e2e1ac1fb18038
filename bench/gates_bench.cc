// Circuits of logic gates: training soft ones against libtorch; what running and simplifying hard ones takes.
#include "gates_run.h"
#include "gates_train.h"

int main(int argc, char** argv) {
  using namespace ingot;
  bench::use_tuned_allocator(argv);
  bench::Suite suite("gates", argc, argv);
  for (const int threads : suite.threads()) {
    suite.set_threads(threads);
    bench::train_automata(suite);
    bench::run_circuits(suite);
    if (threads == 1) bench::simplify_circuits(suite);
  }
}
