// verify(Program) finds what is wrong with a program that was sound before it was changed.
#include <gtest/gtest.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "graph/cpu/context.h"
#include "graph/schedule.h"
#include "graph/verify_program.h"
#include "ingot/base/error.h"
#include "ingot/graph/grad.h"
#include "ingot/graph/plan.h"
#include "ingot/ops/ops.h"

namespace ingot::graph {
namespace {

// Products, chains, folds, ops with scratch, checks, stores: every kind of record.
Plan make_plan() {
  share_every_step = true;
  const Tensor w = normal({48, 32}, 1), b = normal({48}, 2), g = zeros({48, 32}), table = normal({20, 32}, 3);
  Plan plan = compile(
      [=](const Tensor& x, const Tensor& rows) {
        const auto [loss, slopes] = value_and_grad(
            [&] {
              const Tensor picked = index_select(table, argmax(matmul(x, transpose(table, 0, 1)), {1}));
              const Tensor h = tanh(linear(x + picked, w, b));
              return mean(square(h)) + sum(x * picked) + sum(layer_norm(h * 2.0 + index_select(b, rows)));
            },
            {w});
        copy_into(g, slopes[0]);
        return std::vector<Tensor>{loss, softmax(matmul(x, transpose(w, 0, 1)), 1)};
      },
      {{{64, 32}, kF32, "x"}, {{48}, kI64, "rows"}}, {.threads = 2});
  share_every_step = false;
  return plan;
}

bool found(const Program& p) {
  try {
    verify(p, "test");
    return false;
  } catch (const Error&) {
    return true;
  }
}

class Mutations : public ::testing::Test {
 protected:
  Plan plan_ = make_plan();
  const Program& good_ = executable_of(plan_).program;
  // Every operand of a copy is handed over; what `change` returns true for must be found.
  template <class Change>
  int expect_found(const char* what, Change change) {
    int tried = 0;
    for (size_t r = 0; r < good_.records.size(); r++)
      for (size_t o = 0; o < good_.records[r].operands.size(); o++) {
        Program p = good_;
        if (!change(p.records[r].operands[o])) continue;
        tried++;
        EXPECT_TRUE(found(p)) << what << " of operand " << o << " of record " << r << " " << p.records[r].label;
      }
    return tried;
  }
};

TEST_F(Mutations, TheProgramIsSoundAndHasEveryKind) {
  EXPECT_FALSE(found(good_));
  std::vector<int> kinds(5, 0);
  for (const Record& r : good_.records) kinds[static_cast<size_t>(r.kind)]++;
  for (size_t k = 0; k < kinds.size(); k++) EXPECT_GT(kinds[k], 0) << "no record of kind " << k << "\n" << plan_.dump();
  EXPECT_GT(good_.barriers, 2);
}

TEST_F(Mutations, Offsets) {
  const auto placed = [](const Operand& o) {
    return o.space == Space::kArena || o.space == Space::kOutput || o.space == Space::kInput;
  };
  for (const int64_t by : {int64_t{-4}, int64_t{4}, int64_t{64}, int64_t{1} << 40})
    EXPECT_GT(expect_found("offset",
                           [&](Operand& o) {
                             return o.offset += by,
                                    placed(o) && o.numel() > 0 &&
                                        (o.space != Space::kInput || by < 0 || by > 64 || o.is_contiguous());
                           }),
              5);
  EXPECT_GT(
      expect_found("offset",
                   [](Operand& o) { return o.offset += 1, o.given() && o.space != Space::kBlock && o.element() > 1; }),
      10);
}

TEST_F(Mutations, TypesShapesAndStrides) {
  EXPECT_GT(expect_found("dtype",
                         [](Operand& o) {
                           o.dtype = o.dtype == kF32 ? kI32 : kF32;
                           return o.space == Space::kArena || o.space == Space::kInput || o.written;
                         }),
            10);
  EXPECT_GT(expect_found("shape",
                         [](Operand& o) {
                           if (!o.given() || o.shape.empty() || o.space == Space::kBound || o.space == Space::kConstant)
                             return false;
                           o.shape[0]++;
                           return true;
                         }),
            10);
  EXPECT_GT(expect_found("stride",
                         [](Operand& o) {
                           if (o.shape.empty() || o.shape[0] < 2 || o.space != Space::kArena) return false;
                           o.strides[0] = o.strides[0] * 2 + 1;
                           return true;
                         }),
            5);
  EXPECT_GT(expect_found("rank", [](Operand& o) { return o.strides.push_back(1), o.given(); }), 10);
}

// An op that trusts indices without a look at them would read anywhere.
TEST_F(Mutations, ChecksOfValues) {
  int checks = 0, first = 0;
  for (size_t i = 0; i < good_.records.size(); i++) {
    Program p = good_;
    Record& r = p.records[i];
    if (r.kind == Record::Kind::kCheck) {
      checks++;
      Program other = good_;
      other.records[i].operands[1].offset = 8;
      EXPECT_TRUE(found(other)) << "a look at other values";
      const Attrs elsewhere = Attrs().set("axis", 1);
      other = good_;
      other.records[i].attrs = &elsewhere;
      EXPECT_TRUE(found(other)) << "a look for another range";
      other = good_;
      other.records[i].seeded = true;
      EXPECT_TRUE(found(other)) << "a look with a seed that is not there";
      p.records.erase(p.records.begin() + static_cast<int64_t>(i));
      EXPECT_TRUE(found(p)) << "no look";
    } else if (r.op != nullptr && r.op->check != nullptr) {
      first += r.check_first;
      r.check_first = !r.check_first;
      EXPECT_TRUE(found(p)) << "a look at the wrong time";
    }
  }
  EXPECT_GT(checks, 0);
  EXPECT_GT(first, 0);
}

// Columns that do not follow each other would be counted as rows, of which the result has fewer.
TEST(FoldMutations, ColumnsThatDoNotMerge) {
  const Plan plan = compile([](const Tensor& x) { return sum(exp(x), {1, 2}); }, {{6, 4, 5}});
  Program p = executable_of(plan).program;
  ASSERT_EQ(p.records.size(), 1u);
  ASSERT_EQ(p.records[0].kind, Record::Kind::kFold);
  EXPECT_FALSE(found(p));
  for (Operand& o : p.records[0].operands)
    if (o.space == Space::kInput) o.strides = {20, 1, 4};
  EXPECT_TRUE(found(p));
  p = executable_of(plan).program;
  p.records[0].chain.cut = 3;
  EXPECT_TRUE(found(p));
}

TEST_F(Mutations, SpacesAndValues) {
  for (const Space to : {Space::kNone, Space::kOutput, Space::kInput, Space::kBound, Space::kBlock})
    EXPECT_GT(expect_found("space",
                           [&](Operand& o) {
                             if (o.space != Space::kArena) return false;
                             o.space = to;
                             return true;
                           }),
              5);
  expect_found("space",
               [](Operand& o) { return o.written ? (o.space = Space::kConstant, o.buffer = -1, true) : false; });
  expect_found("index", [](Operand& o) {
    return o.index = 1000, o.space == Space::kInput || o.space == Space::kBound || o.space == Space::kConstant;
  });
  EXPECT_GT(expect_found("written", [](Operand& o) { return std::exchange(o.written, false); }), 10);
  EXPECT_GT(expect_found("value",
                         [&](Operand& o) {
                           if (o.buffer < 0) return false;
                           const int before = o.buffer;
                           o.buffer = (o.buffer + 1) % static_cast<int>(good_.buffers.size());
                           const Buffer &a = good_.buffers[static_cast<size_t>(before)],
                                        &b = good_.buffers[static_cast<size_t>(o.buffer)];
                           return a.offset != b.offset || a.bytes != b.bytes;
                         }),
            5);
}

TEST_F(Mutations, OrderLifetimesAndScratch) {
  for (size_t i = 0; i + 1 < good_.records.size(); i++) {
    Program p = good_;
    std::swap(p.records[i], p.records[i + 1]);
    EXPECT_TRUE(found(p)) << "records " << i << " and " << i + 1 << " swapped";
    const Record &first = good_.records[i], &second = good_.records[i + 1];
    bool depends = false;  // with their positions, it is found if one reads what the other makes
    for (const Operand& w : first.operands)
      for (const Operand& r : second.operands)
        depends |= w.written && !r.written && w.buffer >= 0 && w.buffer == r.buffer;
    std::swap(p.records[i].position, p.records[i + 1].position);
    if (depends) EXPECT_TRUE(found(p)) << "records " << i << " and " << i + 1 << " in the other order";
  }
  for (size_t i = 0; i < good_.records.size(); i++) {
    Program p = good_;
    p.records.erase(p.records.begin() + static_cast<std::ptrdiff_t>(i));
    if (good_.records[i].kind != Record::Kind::kCheck) EXPECT_TRUE(found(p)) << "record " << i << " left out";
  }
  int overlaps = 0;
  for (size_t i = 0; i < good_.buffers.size(); i++)
    for (const Buffer& other : good_.buffers) {
      const Buffer& b = good_.buffers[i];
      if (&other == &b || other.bytes == 0 || b.bytes == 0 || other.offset == b.offset) continue;
      if ((b.shared && b.first == other.last) || (other.shared && other.first == b.last)) continue;  // takes it over
      if (other.last < b.first || b.last < other.first || other.offset + b.bytes > good_.arena_bytes) continue;
      Program p = good_;  // moved into a value that is alive as well, with all its operands
      const auto by = static_cast<int64_t>(other.offset) - static_cast<int64_t>(b.offset);
      p.buffers[i].offset = other.offset;
      for (Record& r : p.records)
        for (Operand& o : r.operands)
          if (o.buffer == static_cast<int>(i)) o.offset += by;
      EXPECT_TRUE(found(p)) << b.name << " into " << other.name;
      overlaps++;
    }
  EXPECT_GT(overlaps, 3);
  for (size_t i = 0; i < good_.records.size(); i++) {
    if (good_.records[i].scratch_bytes == 0) continue;
    Program p = good_;
    p.records[i].scratch_offset = static_cast<int64_t>(p.arena_bytes);
    EXPECT_TRUE(found(p));
  }
}

TEST_F(Mutations, EveryBarrierIsMissed) {
  Program p = good_;
  const auto kernels = make_kernels(p, nullptr);
  EXPECT_NO_THROW(verify_barriers(p, kernels, "test"));
  for (Record& r : p.records) {
    if (!r.barrier) continue;
    r.barrier = false;
    EXPECT_THROW(verify_barriers(p, kernels, "test"), Error) << r.label;
    r.barrier = true;
  }
}

TEST_F(Mutations, RecordsOfChainsFoldsAndProducts) {
  int tried = 0;
  const auto changed = [&](size_t i, auto change) {
    Program p = good_;
    change(p.records[i]);
    EXPECT_TRUE(found(p)) << "record " << i << " " << good_.records[i].label << ", change " << tried;
    tried++;
  };
  for (size_t i = 0; i < good_.records.size(); i++) {
    const Record::Kind kind = good_.records[i].kind;
    if (kind == Record::Kind::kProduct) {
      changed(i, [](Record& r) { r.product.m++; });
      changed(i, [](Record& r) { r.product.a_row += 8; });
      changed(i, [](Record& r) { r.product.b_row += 8; });
      changed(i, [](Record& r) { r.product.c_row++; });
    }
    if (kind == Record::Kind::kFold) {
      changed(i, [](Record& r) { r.reduction.block++; });
      changed(i, [](Record& r) { r.reduction.fold = Fold::kNone; });
    }
    if (!good_.records[i].chain.code.empty()) {
      changed(i, [](Record& r) { r.chain.code[0].in[0].index = 40; });
      changed(i, [](Record& r) { r.chain.code[0].type = kBool; });
      changed(i, [](Record& r) { r.chain.shape.push_back(2); });
      changed(i, [](Record& r) { r.chain.code.back().out = {9, false}; });
    }
    if (kind == Record::Kind::kOp) changed(i, [](Record& r) { r.inputs++; });
  }
  EXPECT_GT(tried, 15);
}

// The same of strided operands: elements may lie side by side, and one may be another's.
TEST(MutationsInPlace, StridedOperandsMeetWhereTheirElementsDo) {
  const Tensor wide = ones({8, 12}), even = slice(wide, 1, 2, 10, 2), odd = slice(wide, 1, 3, 11, 2);
  const Plan plan = compile([=](const Tensor& x) { add_into(even, even, odd * x); }, {{8, 4}});
  const Program& good = executable_of(plan).program;
  ASSERT_EQ(good.records.size(), 1u) << plan.dump();
  EXPECT_FALSE(found(good));
  const std::vector<Operand>& operands = good.records[0].operands;
  const auto written = std::find_if(operands.begin(), operands.end(), [](const Operand& o) { return o.written; });
  int moved = 0;
  for (size_t o = 0; o < operands.size(); o++) {
    if (operands[o].space != Space::kBound || operands[o].written) continue;
    for (const int columns : {-2, -1, 1, 2}) {
      Program shifted = good;
      int64_t& offset = shifted.records[0].operands[o].offset;
      offset += columns * 4;
      EXPECT_EQ(found(shifted), offset / 4 % 2 == 0 && offset != written->offset)
          << "operand " << o << " moved by " << columns;
      moved++;
    }
    Program turned = good;  // the same first element, but then others
    std::swap(turned.records[0].operands[o].strides[0], turned.records[0].operands[o].strides[1]);
    EXPECT_EQ(found(turned), operands[o].offset == written->offset) << "operand " << o;
  }
  EXPECT_EQ(moved, 8);
}

// A chain that works in place reads an element before it overwrites it, and no other.
TEST(MutationsInPlace, ReadsAfterWritesAndElsewhereAreFound) {
  const Tensor a = ones({64}), b = ones({64});
  const Plan plan = compile(
      [=](const Tensor& x) {
        const Tensor next = tanh(a) + exp(x);
        copy_into(b, square(a) - x);
        copy_into(a, next);
      },
      {{64}});
  const Program& good = executable_of(plan).program;
  ASSERT_EQ(good.records.size(), 1u) << plan.dump();
  EXPECT_FALSE(found(good));
  Program late = good;  // the one that overwrites comes first
  std::vector<Chain::Instruction>& code = late.records[0].chain.code;
  const auto reads_a = [&](const Chain::Instruction& i) { return i.inputs == 1 && i.in[0].external; };
  const auto last = std::find_if(code.rbegin(), code.rend(), reads_a);
  ASSERT_NE(last, code.rend());
  code.push_back(*last);
  EXPECT_TRUE(found(late));
  Program half = good;  // the first half of the elements
  half.records[0].chain.shape = {32};
  for (Operand& o : half.records[0].operands) o.shape = {32};
  EXPECT_FALSE(found(half));
  int moved = 0;
  for (size_t o = 0; o < half.records[0].operands.size(); o++) {
    const Operand& one = half.records[0].operands[o];
    const auto meets = [&](const Operand& x) { return extent_of(x).meets(extent_of(one)); };
    if (std::count_if(half.records[0].operands.begin(), half.records[0].operands.end(), meets) < 2) continue;
    Program shifted = half;
    shifted.records[0].operands[o].offset += 16 * 4;
    EXPECT_TRUE(found(shifted)) << "operand " << o;
    moved++;
  }
  EXPECT_EQ(moved, 2) << "a is read and written";
}

}  // namespace
}  // namespace ingot::graph
