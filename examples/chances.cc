// How reliable are the links of a network? Nobody measures links; it is known how often messages arrived. Rules say what follows
// from links, and their probabilities are learned from that.
#include <ingot/ingot.h>
#include <ingot/logic/chance_function.h>
#include <ingot/logic/program.h>

#include <cmath>
#include <cstdio>

using namespace ingot;

struct Links : nn::Module {
  explicit Links(int64_t n) : logits(clone(zeros({n}))) {}
  void parts(nn::Parts& p) override { p("logits", logits); }
  Tensor logits;
};

int main() {
  logic::Engine engine(logic::Program::parse(R"(
    0.5 :: link("home", "tower").   0.5 :: link("tower", "city").   0.5 :: link("home", "relay").
    0.5 :: link("relay", "city").   0.5 :: link("relay", "tower").
    way(x, y) <- link(x, y).
    way(x, z) <- way(x, y), link(y, z).)"));
  engine.run();
  const logic::ChanceFunction arrives =
      engine.chance_function({R"(way("home", "tower"))", R"(way("home", "relay"))", R"(way("home", "city"))",
                              R"(way("relay", "city"))", R"(way("relay", "tower"))", R"(way("tower", "city"))"});
  const Tensor seen = Tensor::from<float>({0.935F, 0.7F, 0.8488F, 0.76F, 0.5F, 0.8F});  // shares of messages

  Links links(std::ssize(arrives.coins()));
  TrainStep step = nn::train_step(links, [&] { return sum(square(arrives(sigmoid(links.logits)) - seen)); },
                                  optim::Adam{.lr = 0.05F}, {});
  for (int i = 0; i < 1000; i++) step();

  bool right = true;
  for (size_t i = 0; i < arrives.coins().size(); i++) {
    const float p = sigmoid(links.logits).at<float>({static_cast<int64_t>(i)});
    std::printf("%-24s %.3f\n", arrives.coins()[i].c_str(), p);
    if (arrives.coins()[i] == R"(link("home", "tower"))") right = right && std::abs(p - 0.9F) < 0.02F;
    if (arrives.coins()[i] == R"(link("relay", "city"))") right = right && std::abs(p - 0.6F) < 0.02F;
  }
  return right ? 0 : 1;
}
