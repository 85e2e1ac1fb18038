// What a model's file says of itself: its description and, behind a line of dashes, its task. Layers are made as for a file
// without weights.
#include "fuzz.h"
#include "ingot/base/memory_budget.h"
#include "ingot/recipe/job.h"

namespace {

using namespace ingot::recipe;

void read(std::span<const std::byte> bytes) {
  static const auto catalogue = std::make_shared<const Catalogue>();
  const std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size()), line = "\n---\n";
  const size_t at = std::min(text.find(line), text.size());
  const Description d = parse_trained("fuzz", text.substr(0, at), {}, catalogue);
  const Task task = Task::from_json(text.substr(std::min(at + line.size(), text.size())));
  const ingot::MemoryBudget budget(uint64_t{8} << 20);
  make_model(d, task);
}

}  // namespace

INGOT_FUZZ(read(b))
