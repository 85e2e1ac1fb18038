// Circuits of logic gates: what running and simplifying hard ones takes.
#include "gates_run.h"

int main(int argc, char** argv) {
  using namespace ingot;
  bench::Suite suite("gates", argc, argv);
  for (const int threads : suite.threads()) {
    suite.set_threads(threads);
    bench::run_circuits(suite);
    if (threads == 1) bench::simplify_circuits(suite);
  }
}
