// Several element-wise operations on the same elements, one after the other, without leaving the registers: a block of
// vectors is loaded, goes through all of them, and is stored. Each operation is a handler that the op's own file
// compiles from its formula (kernels/chain-inl.h) and that jumps to the next one; no list of operations is kept here.
#pragma once
#include <cstdint>

namespace ingot {

namespace kernels {

/// Code of one SIMD target; only chain-inl.h knows its type.
using ChainHandler = void (*)();

/// An op's formula on elements of one type: with the value in the registers as its first input, or as its second; the
/// other input comes from memory, vector by vector or as one element for all. Null: the op has no such form.
struct ChainForm {
  ChainHandler block[2][2] = {}, single[2][2] = {};  // on a block of vectors; on one, for what is left
};

inline constexpr int kMostSteps = 128, kMostArrays = 32, kMostChainParams = 4;

struct ChainStep {
  enum class Kind : uint8_t { kLoad, kStore, kOp } kind = Kind::kOp;
  bool second = false;    // the value in the registers is the op's second input
  bool repeated = false;  // the operand is one element for all
  int operand = -1;       // which array; -1: none
  const ChainForm* form = nullptr;
  double params[kMostChainParams] = {};
};

/// Runs the steps on n elements of the arrays; the first step loads. f32 and f64. An element's bits do not depend on
/// where it stands.
template <class T>
void run_chain(const ChainStep* steps, int count, char* const* arrays, int64_t n);

}  // namespace kernels

/// What an element-wise op says about itself for chains: see Op::chain.
struct ChainForms {
  kernels::ChainForm f32, f64;
};

}  // namespace ingot
