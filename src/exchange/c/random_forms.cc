// Random numbers: the same as the library's for the same seed, stream and row-major index.
#include <cmath>

#include "exchange/c/families.h"

namespace ingot::exchange {
namespace {

// The seed is a constant, or what a tensor holds when the plan runs.
void key(Function& f) {
  f.file().need("philox");
  std::string seed = "UINT64_C(" + std::to_string(static_cast<uint64_t>(f.integer("seed"))) + ")";
  if (f.record().seeded) {
    f.use(static_cast<int>(f.record().operands.size()) - 1, "seed");
    seed = "(uint64_t)*seed";
  }
  f.line(cat("const uint64_t key = ", seed, ", stream = UINT64_C(",
             std::to_string(static_cast<uint64_t>(f.integer("stream"))), ");"));
}

// Loops over y row by row, with `i` the number of the element and word[] the random words of its block; `per_block`
// elements come of each.
std::vector<std::string> open_draws(Function& f, const View& y, int per_block) {
  key(f);
  f.line("uint32_t word[4] = {0};");
  f.line("uint64_t i = 0;");
  auto index = f.loops(y.shape, {}, "j");
  f.line(cat("if (i % ", str(per_block), " == 0) philox(i / ", str(per_block), ", stream, key, word);"));
  return index;
}
void close_draws(Function& f) {
  f.line("i++;");
  f.close_loops();
}

// Is the element's word below p · 2³²?
std::string chance(double p) {
  const double words = std::round(p * 0x1p32);
  if (words >= 0x1p32) return "1";
  return "word[i % 4] < UINT32_C(" + std::to_string(static_cast<uint32_t>(words)) + ")";
}

void bernoulli(Function& f) {
  const View y = f.out(0, "y");
  const auto index = open_draws(f, y, 4);
  f.line(cat(element(y, index), " = (uint8_t)(", chance(f.real("p")), ");"));
  close_draws(f);
}

void dropout(Function& f) {
  const View x = f.in(0, "x"), y = f.out(0, "y"), mask = f.out(1, "mask");
  const double p = f.real("p");
  f.set("scale", literal(p == 1 ? 0 : 1 / (1 - p), f.main_type()));
  const auto index = open_draws(f, y, 4);
  f.line(cat("const uint8_t kept = (uint8_t)(", chance(1 - p), ");"));
  f.line(cat(element(y, index), " = kept ? ", element(x, index), " * $scale : 0;"));
  f.line(element(mask, index) + " = kept;");
  close_draws(f);
}

// 53 random bits in [0, 1), of two words.
std::string unit(const std::string& lower, const std::string& upper) {
  return "(double)" + upper + " * (1.0 / 4294967296.0) + (double)(" + lower + " >> 11) * (1.0 / 9007199254740992.0)";
}

void uniform(Function& f) {
  const View y = f.out(0, "y");
  const bool wide = y.dtype == kF64;
  f.main_type(y.dtype);
  if (wide) {
    const double low = f.real("low"), high = f.real("high");
    f.set("low", literal(low, kF64)), f.set("span", literal(high - low, kF64));
    f.set("below", literal(low < high ? std::nextafter(high, low) : high, kF64));
  } else {
    const auto low = static_cast<float>(f.real("low")), high = static_cast<float>(f.real("high"));
    f.set("low", literal(low, kF32)), f.set("span", literal(high - low, kF32));
    f.set("below", literal(low < high ? std::nextafter(high, low) : high, kF32));
  }
  const auto index = open_draws(f, y, wide ? 2 : 4);
  f.line(cat("const $T u = ",
             (wide ? unit("word[i % 2 * 2]", "word[i % 2 * 2 + 1]")
                   : std::string("(float)(word[i % 4] >> 8) * (1.0f / 16777216.0f)")),
             ";"));
  f.line("const $T v = $low + u * $span;");
  f.line(element(y, index) + " = v < $below ? v : $below;");
  close_draws(f);
}

// Box and Muller: two numbers are the coordinates of a point at a random distance in a random direction.
void normal(Function& f) {
  const View y = f.out(0, "y");
  const bool wide = y.dtype == kF64;
  f.main_type(kF64);
  const double mean = wide ? f.real("mean") : static_cast<double>(static_cast<float>(f.real("mean")));
  const double deviation = wide ? f.real("stddev") : static_cast<double>(static_cast<float>(f.real("stddev")));
  f.set("mean", literal(mean, kF64)), f.set("deviation", literal(deviation, kF64));
  const auto index = open_draws(f, y, wide ? 2 : 4);
  if (wide) {
    f.line(cat("const double u = ", unit("word[0]", "word[1]"), " + 1.0 / 18014398509481984.0;"));
    f.line("const uint32_t turn = word[3];");
    f.line(
        "const double part = (double)(uint32_t)(turn << 2) * (1.0 / 4294967296.0) + (double)(word[2] >> 9) * (1.0 / "
        "9007199254740992.0) - 0.5;");
  } else {
    f.line("const double u = ((double)word[i % 4 / 2 * 2] + 0.5) * (1.0 / 4294967296.0);");
    f.line("const uint32_t turn = word[i % 4 / 2 * 2 + 1];");
    f.line("const double part = (double)(uint32_t)(turn << 2) * (1.0 / 4294967296.0) - 0.5;");
  }
  f.line("const double angle = ((double)(turn >> 30) + part) * 1.57079632679489661923, radius = @sqrt(-2 * @log(u));");
  f.line("const double v = radius * (i % 2 == 0 ? @cos(angle) : @sin(angle));");
  f.line(cat(element(y, index), " = (", value_type(y.dtype), ")($mean + $deviation * v);"));
  close_draws(f);
}

// Each number changes places with one drawn from those before it.
void permutation(Function& f) {
  const View y = f.out(0, "y");
  f.file().need("bounded");
  key(f);
  f.set("n", y.shape[0]);
  f.open("for (long i = 0; i < $n; i++)");
  f.line("uint32_t word[4];");
  f.line("philox((uint64_t)i / 2, stream, key, word);");
  f.line("const uint64_t draw = (uint64_t)word[i % 2 * 2] | (uint64_t)word[i % 2 * 2 + 1] << 32;");
  f.line("const long at = (long)bounded(draw, (uint64_t)i + 1, (uint64_t)i, stream, key);");
  f.line("$y[i] = $y[at];");
  f.line("$y[at] = i;");
  f.close();
}

}  // namespace

std::span<const OpForm> random_forms() {
  static constexpr OpForm kForms[] = {
      {"dropout", dropout}, {"bernoulli", bernoulli},     {"uniform", uniform},
      {"normal", normal},   {"permutation", permutation},
  };
  return kForms;
}

}  // namespace ingot::exchange
