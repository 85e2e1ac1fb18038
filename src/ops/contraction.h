// How einsum computes: operands with named axes, contracted two at a time in a given order. Each pair is one GEMM (axes
// grouped into batch, rows, columns and summed ones), or one broadcast product where nothing is summed.
#pragma once
#include <cstddef>

#include "ingot/base/threads.h"
#include "ops/einsum_equation.h"

namespace ingot {

/// Where scratch is taken from and given back to, always in the same way: the first gap that is large enough.
class ScratchRoom {
 public:
  static constexpr size_t kNothing = ~size_t{0};  // the place of no bytes
  size_t take(size_t size);
  void give_back(size_t at);
  size_t peak() const { return peak_; }

 private:
  static constexpr int kMost = 2 * kMaxInputs;
  struct Piece {
    size_t at, size;
  };
  Piece pieces_[kMost];  // in use, in order of place
  int count_ = 0;
  size_t peak_ = 0;
};

/// An operand on its way: names are unique, sizes are the equation's and not 1.
struct Term {
  Tensor t;
  Labels labels;
  size_t at = ScratchRoom::kNothing;  // in the scratch, if it is there
  int64_t stride(int label) const {
    for (int a = 0; a < labels.count; a++)
      if (labels.of[a] == label) return t.strides()[a];
    return 0;
  }
};

/// Contracts the operands step by step, once for every slice. Without a team it only counts the scratch that the same
/// steps will take.
class Contraction {
 public:
  Contraction(const Call& call, const Equation& e, const ContractionSteps& steps, const Labels& sliced,
              const Tensor& out, void* scratch, int team_size, const Team* team);
  void run();
  /// Bytes of scratch; and those of them that hold operands and results, kernels' own scratch aside.
  size_t bytes() const { return room_.peak(); }
  size_t result_bytes() const { return most_held_; }

 private:
  // Axes in a group, as one: their common size and stride in a term, if their strides allow it.
  struct Group {
    int64_t size = 1, stride = 0;
    bool whole = true;
  };
  // A term with each of three groups of axes as one axis.
  struct Matrices {
    Term term;
    Group batch, rows, cols;
  };

  Term diagonal(const Tensor& t, const Labels& names) const;
  Term at_slice(const Term& term, const int64_t* index) const;
  void run_slice();
  Labels kept_labels(int i, int j) const;
  Term contract(const Term& a, const Term& b, const Labels& result, const Term* target);
  Term multiply(const Term& a, const Term& b, const Labels& result, const Term* target);
  Term sum_out(const Term& term, const Labels& kept);
  void deliver(const Term& target, const Term& value);
  Group grouped(const Term& term, const Labels& labels) const;
  Matrices as_matrices(const Term& term, const Labels& batch, const Labels& rows, const Labels& cols);
  template <class T>
  void gemm(const Matrices& a, const Matrices& b, const Term& c, Group batch, Group rows, Group cols, bool accumulate);

  Term temporary(const Labels& labels);
  void release(const Term& term);
  void release(const Term& copy, const Term& original) {
    if (copy.at != original.at) release(copy);
  }
  void* address(size_t at) const { return team_ == nullptr || at == ScratchRoom::kNothing ? nullptr : scratch_ + at; }
  void barrier() const {
    if (team_ != nullptr) team_->barrier();
  }
  void copy(const Tensor& to, const Tensor& from) const;
  void run_pair(const Op& op, const Tensor& to, const Tensor& a, const Tensor& b) const;

  const Equation& e_;
  const ContractionSteps& steps_;
  const Labels sliced_;  // its own: callers may pass {}
  const DType type_;
  std::byte* scratch_;
  ScratchRoom room_;
  size_t held_ = 0, most_held_ = 0;
  const int team_size_;
  const Team* team_;
  const int count_;
  Term whole_[kMaxInputs], result_;  // all of the operands and of the result
  Term terms_[kMaxInputs], out_;     // those of the slice at hand
  bool accumulate_ = false;          // adds to what the result holds
};

}  // namespace ingot
