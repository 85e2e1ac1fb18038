// A program from its text to what follows from it, within limits. The first byte chooses the dialect and how it is computed; 255 is a
// theory, which is checked. Programs that name files are checked only, too, and probabilities are not asked for: their diagrams
// have a limit of their own, of four million nodes.
#include "fuzz.h"
#include "ingot/logic/program.h"
#include "ingot/logic/theory.h"

namespace {

using namespace ingot::logic;

void compute(const Program& program, int choice, bool certain) {
  RunOptions options{.output = "-", .memory_limit = 1 << 22, .proofs = 3, .most_work = 100'000};
  for (size_t m = 0; m < methods().size(); m++)
    if ((choice >> (m + 1) & 1) != 0) options.without.emplace_back(methods()[m].name);
  Engine engine(program, options);
  if (!engine.fact_files().empty()) return;
  engine.run();
  if (!certain) return;
  engine.answers();
  engine.explanations();
}

void read(std::span<const std::byte> b) {
  if (b.empty()) return;
  const int choice = std::to_integer<int>(b[0]);
  const std::string text(reinterpret_cast<const char*>(b.data()) + 1, b.size() - 1);
  if (choice == 255) {
    Theory::parse(text);
    return;
  }
  compute(Program::parse(text, (choice & 1) != 0 ? Dialect::kSouffle : Dialect::kRules), choice,
          text.find("::") == std::string::npos);
}

}  // namespace

INGOT_FUZZ(read(b))
