// Facts and rules from C++: who descends from whom, and a proof.
#include <ingot/logic.h>

#include <cstdio>

int main() {
  using namespace ingot::logic;
  Builder b;
  const auto parent = b.relation("parent", {Type::kSymbol, Type::kSymbol});
  const auto ancestor = b.relation("ancestor", {Type::kSymbol, Type::kSymbol});
  const Variable x("x"), y("y"), z("z");
  b.rule(ancestor(x, y), {parent(x, y)});
  b.rule(ancestor(x, z), {ancestor(x, y), parent(y, z)});

  Engine engine(b.program());
  engine.add("parent", std::vector<std::string>{"ann", "bob"});
  engine.add("parent", std::vector<std::string>{"bob", "cid"});
  engine.run();
  std::printf("%s", engine.explain("ancestor(ann, cid)").c_str());
  return engine.size("ancestor") == 3 ? 0 : 1;
}
