// A row for every op of the table: its largest test input, against its own plain reference loop.
#include <ATen/Parallel.h>

#include "harness.h"
#include "ingot/ingot.h"
#include "ingot/ops/samples.h"

namespace {

using namespace ingot;

const Sample& largest(const std::vector<Sample>& samples) {
  size_t best = 0;
  int64_t most = -1;
  for (size_t i = 0; i < samples.size(); i++) {
    int64_t elements = 0;
    for (const Tensor& t : samples[i].inputs) elements += t.numel();
    if (elements > most) most = elements, best = i;
  }
  return samples[best];
}

}  // namespace

int main(int argc, char** argv) {
  bench::Suite suite("table", argc, argv);
  suite.set_threads(1);
  for (const Op* op : all_ops()) {
    if (op->reference == nullptr) continue;  // views compute nothing
    Samples samples(*op, kF32);
    op->samples(samples);
    const Sample& sample = largest(samples.all());
    std::vector<const Tensor*> inputs;
    for (const Tensor& t : sample.inputs) inputs.push_back(&t);
    std::vector<Tensor> outputs(static_cast<size_t>(output_count(*op)));
    call(*op, inputs, sample.attrs, outputs);
    std::vector<const Tensor*> destinations;
    for (const Tensor& t : outputs) destinations.push_back(&t);
    const Call plain{*op, inputs, sample.attrs};
    suite.compare(op->name, [&] { call_into(*op, inputs, sample.attrs, destinations); },
                  {{"reference", [&] { op->reference(plain, outputs.data()); }}});
  }
}
