// Measuring a plan, and drawing it.
#include <gtest/gtest.h>

#include "ingot/base/error.h"
#include "ingot/base/text.h"
#include "ingot/ingot.h"
#include "tests/graph/profile_net.h"

namespace ingot {
namespace {

// Are tags closed in the order in which they open, and attributes quoted?
bool well_formed(std::string_view xml) {
  std::vector<std::string_view> open;
  while (!xml.empty()) {
    const size_t start = xml.find('<');
    const std::string_view before = xml.substr(0, start);
    if (before.find('>') != before.npos) return false;
    for (size_t i = before.find('&'); i != before.npos; i = before.find('&', i + 1))
      if (before.find(';', i) == before.npos) return false;
    if (start == xml.npos) break;
    const size_t end = xml.find('>', start);
    if (end == xml.npos) return false;
    const std::string_view tag = xml.substr(start + 1, end - start - 1);
    xml.remove_prefix(end + 1);
    if (std::count(tag.begin(), tag.end(), '"') % 2 != 0 || tag.find('<') != tag.npos) return false;
    if (tag.ends_with('/')) continue;
    if (!tag.starts_with('/')) {
      open.push_back(tag.substr(0, tag.find(' ')));
    } else {
      if (open.empty() || open.back() != tag.substr(1)) return false;
      open.pop_back();
    }
  }
  return open.empty();
}

TEST(Profile, BadArguments) {
  Net net;
  Plan plan = net.compile(1);
  EXPECT_THROW(plan.profile(0), Error);
  EXPECT_THROW(plan.profile(-1), Error);
  const Tensor wrong = zeros({3});
  const Tensor* inputs[] = {&wrong, &wrong};
  EXPECT_THROW(plan.profile(1, inputs), Error);
  const std::vector<float> before = net.w1.to_vector<float>();
  const Tensor x = uniform({128, 96}, 5), label = full({128}, 10, kI64);  // there are classes 0 to 9
  const Tensor* out_of_range[] = {&x, &label};
  EXPECT_THROW(plan.profile(1, out_of_range), Error);
  EXPECT_EQ(net.w1.to_vector<float>(), before);
  plan.profile(1);  // the plan is not stuck
}

// Indices that the plan computes are checked on the way: a run ends there, and nobody reads out of bounds.
TEST(Profile, ChecksOnTheWay) {
  const Tensor table = uniform({10, 8}, 1);
  Plan plan = compile([&](const Tensor& i) { return index_select(table, i + i, 0); }, {{{64}, kI64}});
  EXPECT_GT(plan.profile(3).us, 0);
  const Tensor bad = full({64}, 7, kI64);
  const Tensor* inputs[] = {&bad};
  EXPECT_THROW(plan.profile(3, inputs), Error);
}

TEST(Profile, TableLinesUp) {
  Profile p;
  p.plan = "tiny";
  p.runs = 10;
  p.us = 12.5;
  p.plain_us = 12;
  p.rest_share = 0.04;
  p.steps = {{.name = "fc1/linear+relu+…3",
              .kind = "gemm",
              .us = 10,
              .share = 0.8,
              .flops = 2e6,
              .bytes = 40000,
              .roofline = 0.5,
              .critical = true},
             {.name = "sum", .kind = "op", .us = 2, .share = 0.16, .flops = 100, .bytes = 400, .roofline = 0.01}};
  EXPECT_EQ(p.table(),
            R"(tiny: 12.5 µs per run, median of 10; 12.0 without measuring; 2 steps on 1 thread; 160.0 GFLOP/s

 step      name                kind  ×    µs  share             FLOPs      data  of roofline
    0   *  fc1/linear+relu+…3  gemm  1  10.0   80 %  ████████  2.00 M  39.1 KiB         50 %
    1      sum                 op    1  2.00   16 %  █▋         100       400 B        1.0 %
           whole run                    12.5  100 %            2.00 M  39.5 KiB

* 80 % of the time is in 1 of 2 steps: fc1/linear+relu+…3 (80 %).
  4.0 % is in no step: the looks at the clock, the walk itself.
)");
  p.steps.push_back(p.steps[1]);
  p.steps[2].name = "fc2/sum";
  EXPECT_EQ(p.by_op(), R"( op              count    µs  share             FLOPs      data  GFLOP/s
 linear+relu+…3      1  10.0   80 %  ████████  2.00 M  39.1 KiB    200.0
 sum                 2  4.00   32 %  ███▎       200       800 B      0.1
)");
  const std::string by_time = p.table(true);
  EXPECT_LT(by_time.find("linear"), by_time.find("sum"));
}

TEST(Profile, EmptyPlan) {
  Plan plan = compile([] {}, {});
  const Profile p = plan.profile(2);
  EXPECT_TRUE(p.steps.empty());
  EXPECT_NE(p.table().find("no steps"), std::string::npos);
  EXPECT_TRUE(Json::valid(p.chrome_trace()));
  EXPECT_TRUE(well_formed(plan.svg()));
}

TEST(Picture, Golden) {
  const Tensor w = uniform({3, 4}, 1);
  Plan plan = compile(
      [&](const Tensor& x) {
        const Scope scope("fc");
        return std::vector<NamedTensor>{{"y", tanh(matmul(x, w)) * 2.0}};
      },
      {{{2, 3}, kF32, "x"}}, {.name = "tiny", .threads = 1, .names = {{"w", w}}});
  const std::string head = R"(
  labelloc=t;
  rankdir=TB;
  node [fontname="Helvetica", fontsize=11, margin="0.12,0.06"];
  edge [fontname="Helvetica", fontsize=9, color="#666666", fontcolor="#666666"];
)";
  EXPECT_EQ(plan.dot(false),
            "digraph plan {\n  label=\"tiny as captured: 3 ops\";" + head +
                R"(  n0 [label="x\n[2, 3], 24 B", shape=ellipse, style="filled", fillcolor="#cfe8ff", color="#2b6cb0"];
  n1 [label="w\n[3, 4], 48 B", shape=cylinder, style="filled", fillcolor="#d5f0d0", color="#3c7d34"];
  n2 [label="matmul\nfc", shape=box, style="filled,rounded", fillcolor="#ffffff", color="#555555"];
  n3 [label="tanh\nfc", shape=box, style="filled,rounded", fillcolor="#ffffff", color="#555555"];
  n4 [label="multiply_scalar\nfc", shape=box, style="filled,rounded", fillcolor="#ffffff", color="#555555"];
  n5 [label="y\n[2, 4], 32 B", shape=ellipse, style="filled", fillcolor="#fff3b0", color="#b7791f"];
  n0 -> n2;
  n1 -> n2;
  n2 -> n3 [label="[2, 4], 32 B"];
  n3 -> n4 [label="[2, 4], 32 B"];
  n4 -> n5;
}
)");
  EXPECT_EQ(
      plan.dot(),
      "digraph plan {\n  label=\"tiny: 1 step, 1 thread, 0 B arena\";" + head +
          R"(  n0 [label="0  fc/matmul+tanh+multiply_scalar\ngemm; 2x3x4 NN; r0 = tanh m0;\nm1 = multiply_scalar r0, 2", shape=box, style="filled,rounded", fillcolor="#ffdcc8", color="#c05621"];
  n1 [label="x\n[2, 3], 24 B", shape=ellipse, style="filled", fillcolor="#cfe8ff", color="#2b6cb0"];
  n2 [label="w\n[3, 4], 48 B", shape=cylinder, style="filled", fillcolor="#d5f0d0", color="#3c7d34"];
  n3 [label="y\n[2, 4], 32 B", shape=ellipse, style="filled", fillcolor="#fff3b0", color="#b7791f"];
  n1 -> n0;
  n2 -> n0;
  n0 -> n3;
}
)");
  EXPECT_EQ(plan.dump(), R"(0 gemm fc/matmul+tanh+multiply_scalar : 2x3x4 NN; r0 = tanh m0; m1 = multiply_scalar r0, 2
arena 0
)");
}

TEST(Picture, StableAndWellFormed) {
  Net net;
  Plan plan = net.compile(2);
  const std::string dump = plan.dump(), dot = plan.dot(), before = plan.dot(false), svg = plan.svg();
  const Tensor x = uniform({128, 96}, 5), label = full({128}, 3, kI64);
  plan.run(x, label);
  EXPECT_EQ(plan.dump(), dump);
  EXPECT_EQ(plan.dot(), dot);
  EXPECT_EQ(plan.dot(false), before);
  EXPECT_EQ(plan.svg(), svg);
  Net again;
  Plan other = again.compile(2);
  EXPECT_EQ(other.dump(), dump);
  EXPECT_EQ(other.dot(), dot);
  EXPECT_EQ(other.dot(false), before);
  EXPECT_TRUE(well_formed(svg)) << svg;
  EXPECT_TRUE(well_formed(plan.svg(false))) << plan.svg(false);
  for (const std::string& text : {dot, before, svg}) {
    EXPECT_EQ(text, valid_utf8(text));
    for (const char* name : {"w1", "b1", "w2", "label"}) EXPECT_NE(text.find(name), std::string::npos) << name;
  }
}

// What is drawn as captured does not depend on what passes make of it.
TEST(Picture, CapturedIsBeforeThePasses) {
  const auto f = [](const Tensor& x) {
    return sum(pow(transpose(x), 2.0) + x * 1.0 + ones({5, 5})) + sum(transpose(transpose(x)));
  };
  std::vector<std::string> all(pass_names().begin(), pass_names().end());
  std::erase(all, "cse");
  const std::string with = compile(f, {{5, 5}}).dot(false);
  EXPECT_EQ(compile(f, {{5, 5}}, {.without = all}).dot(false), with);
  EXPECT_NE(with.find("pow_scalar"), std::string::npos) << with;
  for (const std::string& pass : all) EXPECT_EQ(compile(f, {{5, 5}}, {.without = {pass}}).dot(false), with) << pass;
}

// Every parameter is there as a source and as a result.
TEST(Picture, ShowsWhatIsUpdated) {
  Net net;
  Plan plan = net.compile(1);
  const std::string dot = plan.dot();
  for (const char* name : {"w1", "b1", "w2"}) {
    EXPECT_NE(dot.find(std::string(name) + " updated\\n"), std::string::npos) << name << "\n" << dot;
    EXPECT_NE(dot.find(std::string(name) + "\\n["), std::string::npos) << name;
  }
  EXPECT_NE(dot.find("output 0"), std::string::npos);
}

// Deep and wide graphs are drawn in reasonable time, and every op is there.
TEST(Picture, LargeGraph) {
  Plan plan = compile(
      [](const Tensor& x) {
        Tensor y = x;
        std::vector<Tensor> all;
        for (int i = 0; i < 300; i++) {
          y = tanh(y) + x;
          if (i % 10 == 0) all.push_back(sum(y));
        }
        return all;
      },
      {{16, 16}});
  const std::string svg = plan.svg(false);
  EXPECT_TRUE(well_formed(svg));
  size_t found = 0;
  for (size_t at = svg.find(">tanh<"); at != svg.npos; at = svg.find(">tanh<", at + 1)) found++;
  EXPECT_GE(found, 291u);
}

TEST(Text, Escaping) {
  EXPECT_EQ(json_escaped("a\"b\\c\n\x01µ"), "a\\\"b\\\\c\\u000a\\u0001µ");
  EXPECT_EQ(json_escaped("\xff\xc3"), "\uFFFD\uFFFD");
  EXPECT_EQ(xml_escaped("a<b>&\"\x01"), "a&lt;b&gt;&amp;&quot; ");
  EXPECT_EQ(valid_utf8("\xe2\x82\xac \xed\xa0\x80 \xf0\x9f\x99\x82"), "€ \uFFFD\uFFFD\uFFFD 🙂");
  EXPECT_EQ(text_width("µs …"), 4);
  EXPECT_EQ(shortened("abcdef", 4), "abc…");
  EXPECT_EQ(shortened("äöüß", 4), "äöüß");
  EXPECT_EQ(padded("µ", 3, true), "  µ");
}

}  // namespace
}  // namespace ingot
