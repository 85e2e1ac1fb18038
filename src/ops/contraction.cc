#include "ops/contraction.h"

#include <algorithm>

#include "ingot/ops/staging.h"
#include "kernels/gemm.h"
#include "kernels/reduce.h"
#include "ops/elementwise.h"

namespace ingot {
extern const Op op_multiply, op_add;

namespace {

// The term as a view with the axes `labels`, in that order; an axis it lacks has size 1.
Tensor arranged(const Term& term, const Labels& labels) {
  Dims shape, strides;
  for (int a = 0; a < labels.count; a++) {
    int64_t size = 1;
    for (int k = 0; k < term.labels.count; k++)
      if (term.labels.of[k] == labels.of[a]) size = term.t.shape()[k];
    shape.push_back(size);
    strides.push_back(term.stride(labels.of[a]));
  }
  return term.t.view(term.t.raw(), shape, strides);
}

Labels either(const Labels& a, const Labels& b) {
  Labels both = a;
  for (int i = 0; i < b.count; i++)
    if (!both.has(b.of[i])) both.add(b.of[i]);
  return both;
}

size_t rounded(size_t size) { return (size + 63) / 64 * 64; }

}  // namespace

size_t ScratchRoom::take(size_t size) {
  if (size == 0) return kNothing;
  size = rounded(size);
  size_t at = 0;
  int i = 0;
  for (; i < count_ && pieces_[i].at - at < size; i++) at = pieces_[i].at + pieces_[i].size;
  std::copy_backward(pieces_ + i, pieces_ + count_, pieces_ + count_ + 1);
  pieces_[i] = {at, size};
  count_++;
  peak_ = std::max(peak_, at + size);
  return at;
}

void ScratchRoom::give_back(size_t at) {
  if (at == kNothing) return;
  const auto* piece = std::find_if(pieces_, pieces_ + count_, [&](const Piece& p) { return p.at == at; });
  std::copy(piece + 1, static_cast<const Piece*>(pieces_ + count_), pieces_ + (piece - pieces_));
  count_--;
}

Contraction::Contraction(const Call& call, const Equation& e, const ContractionSteps& steps, const Labels& sliced,
                         const Tensor& out, void* scratch, int team_size, const Team* team)
    : e_(e),
      steps_(steps),
      sliced_(sliced),
      type_(out.dtype()),
      scratch_(static_cast<std::byte*>(scratch)),
      team_size_(team_size),
      team_(team),
      count_(call.count()) {
  for (int i = 0; i < count_; i++) whole_[i] = diagonal(call.in(i), e.in[i]);
  result_ = diagonal(out, e.out);
}

// Repeated names walk the diagonal: their strides add up. Axes of size 1 say nothing, and broadcast ones neither.
Term Contraction::diagonal(const Tensor& t, const Labels& names) const {
  Term term;
  Dims shape, strides;
  for (int a = 0; a < names.count; a++) {
    const int label = names.of[a];
    if (t.shape()[a] == 1) continue;
    const uint8_t* end = term.labels.of + term.labels.count;
    const uint8_t* found = std::find(static_cast<const uint8_t*>(term.labels.of), end, label);
    if (found != end) {
      strides[static_cast<int>(found - term.labels.of)] += t.strides()[a];
      continue;
    }
    term.labels.add(label);
    shape.push_back(e_.size[label]);
    strides.push_back(t.strides()[a]);
  }
  term.t = t.view(t.raw(), shape, strides);
  return term;
}

// The term where the sliced names have these values.
Term Contraction::at_slice(const Term& term, const int64_t* index) const {
  Term slice;
  Dims shape, strides;
  int64_t offset = 0;
  for (int a = 0; a < term.labels.count; a++) {
    const int label = term.labels.of[a];
    const int64_t stride = term.t.strides()[a];
    if (sliced_.has(label)) {
      offset += stride * index[std::find(sliced_.of, sliced_.of + sliced_.count, label) - sliced_.of];
      continue;
    }
    slice.labels.add(label);
    shape.push_back(term.t.shape()[a]);
    strides.push_back(stride);
  }
  auto* start = static_cast<std::byte*>(term.t.raw());
  if (start != nullptr) start += offset * static_cast<int64_t>(size_of(type_));
  slice.t = term.t.view(start, shape, strides);
  return slice;
}

void Contraction::run() {
  int64_t index[2 * kMaxRank] = {}, slices = 1;
  for (int s = 0; s < sliced_.count; s++) slices *= e_.size[sliced_.of[s]];
  if (team_ == nullptr) slices = std::min<int64_t>(slices, 2);  // the others take what the second does
  for (int64_t slice = 0; slice < slices; slice++) {
    for (int i = 0; i < count_; i++) terms_[i] = at_slice(whole_[i], index);
    out_ = at_slice(result_, index);
    accumulate_ = false;
    for (int s = 0; s < sliced_.count; s++)
      accumulate_ = accumulate_ || (index[s] > 0 && !result_.labels.has(sliced_.of[s]));
    run_slice();
    for (int s = 0; s < sliced_.count && ++index[s] == e_.size[sliced_.of[s]]; s++) index[s] = 0;
  }
}

void Contraction::run_slice() {
  for (int s = 0; s < steps_.count; s++) {
    const int i = steps_.left[s], j = steps_.right[s];
    const bool last = s + 1 == steps_.count;
    Term c = contract(terms_[i], terms_[j], last ? out_.labels : kept_labels(i, j), last ? &out_ : nullptr);
    release(terms_[i]);
    release(terms_[j]);
    terms_[i] = std::move(c);
    terms_[j] = {};
  }
  if (steps_.count > 0) return;
  const Term sum = sum_out(terms_[0], out_.labels);
  deliver(out_, sum);
  release(sum, terms_[0]);
}

Labels Contraction::kept_labels(int i, int j) const {
  Labels kept;
  for (const Term* term : {&terms_[i], &terms_[j]})
    for (int a = 0; a < term->labels.count; a++) {
      const int label = term->labels.of[a];
      bool needed = out_.labels.has(label);
      for (int k = 0; k < count_; k++) needed = needed || (k != i && k != j && terms_[k].labels.has(label));
      if (needed && !kept.has(label)) kept.add(label);
    }
  return kept;
}

// Fresh contiguous memory with these axes.
Term Contraction::temporary(const Labels& labels) {
  Dims shape;
  for (int a = 0; a < labels.count; a++) shape.push_back(e_.size[labels.of[a]]);
  const size_t size = static_cast<size_t>(element_count(shape)) * size_of(type_);
  Term term;
  term.at = room_.take(size);
  term.labels = labels;
  term.t = result_.t.view(address(term.at), shape, contiguous_strides(shape));
  held_ += rounded(size);
  most_held_ = std::max(most_held_, held_);
  return term;
}

void Contraction::release(const Term& term) {
  if (term.at == ScratchRoom::kNothing) return;
  room_.give_back(term.at);
  held_ -= rounded(static_cast<size_t>(term.t.numel()) * size_of(type_));
}

void Contraction::copy(const Tensor& to, const Tensor& from) const {
  if (team_ != nullptr) copy_share(to, from, *team_);
  barrier();
}

void Contraction::run_pair(const Op& op, const Tensor& to, const Tensor& a, const Tensor& b) const {
  if (team_ != nullptr) {
    const Tensor* in[] = {&a, &b};
    const Attrs none{};
    run_tiles(op.tile(type_), Call{op, in, none}, nullptr, to, *team_);
  }
  barrier();
}

// The value, whose axes are the target's in some order, where it belongs.
void Contraction::deliver(const Term& target, const Term& value) {
  const Tensor from = arranged(value, target.labels);
  if (accumulate_)
    run_pair(op_add, target.t, target.t, from);
  else
    copy(target.t, from);
}

// Sums over the axes that are not in `kept`.
Term Contraction::sum_out(const Term& term, const Labels& kept) {
  Labels labels;
  kernels::ReduceLayout layout;
  for (int a = 0; a < term.labels.count; a++)
    if (kept.has(term.labels.of[a])) {
      labels.add(term.labels.of[a]);
      layout.kept[layout.kept_rank] = term.t.shape()[a];
      layout.kept_in[layout.kept_rank++] = term.t.strides()[a];
    } else {
      layout.reduced[layout.reduced_rank] = term.t.shape()[a];
      layout.reduced_in[layout.reduced_rank++] = term.t.strides()[a];
    }
  if (layout.reduced_rank == 0) return term;
  Term result = temporary(labels);
  for (int a = 0; a < layout.kept_rank; a++) layout.kept_out[a] = result.t.strides()[a];
  const size_t at = room_.take(kernels::reduce_scratch(layout));
  if (team_ != nullptr) {
    if (type_ == kF32)
      kernels::reduce(kernels::Reduce::kSum, layout, static_cast<const float*>(term.t.raw()),
                      static_cast<float*>(result.t.raw()), 1, address(at), *team_);
    else
      kernels::reduce(kernels::Reduce::kSum, layout, static_cast<const double*>(term.t.raw()),
                      static_cast<double*>(result.t.raw()), 1, address(at), *team_);
  }
  barrier();
  room_.give_back(at);
  return result;
}

Contraction::Group Contraction::grouped(const Term& term, const Labels& labels) const {
  Group g;
  for (int a = labels.count - 1; a >= 0; a--) {
    const int64_t size = e_.size[labels.of[a]], stride = term.stride(labels.of[a]);
    if (size == 1) continue;
    if (g.size == 1)
      g.stride = stride;
    else
      g.whole = g.whole && stride == g.stride * g.size;
    g.size *= size;
  }
  return g;
}

// Copied if its strides do not allow it.
Contraction::Matrices Contraction::as_matrices(const Term& term, const Labels& batch, const Labels& rows,
                                               const Labels& cols) {
  Matrices m{term, grouped(term, batch), grouped(term, rows), grouped(term, cols)};
  if (m.batch.whole && m.rows.whole && m.cols.whole) return m;
  Labels order;
  for (const Labels* group : {&batch, &rows, &cols})
    for (int a = 0; a < group->count; a++) order.add(group->of[a]);
  m.term = temporary(order);
  copy(m.term.t, arranged(term, order));
  m.cols.stride = 1, m.rows.stride = m.cols.size, m.batch.stride = m.cols.size * m.rows.size;
  return m;
}

// a·b with the axes `result`, into `target` or into scratch.
Term Contraction::contract(const Term& a0, const Term& b0, const Labels& result, const Term* target) {
  const Term a = sum_out(a0, either(result, b0.labels)), b = sum_out(b0, either(result, a0.labels));
  Labels batch, rows, cols, summed;
  for (int i = 0; i < result.count; i++) {
    const int label = result.of[i];
    (a.labels.has(label) ? b.labels.has(label) ? batch : rows : cols).add(label);
  }
  for (int i = 0; i < a.labels.count; i++)
    if (!result.has(a.labels.of[i])) summed.add(a.labels.of[i]);
  Term c;
  if (summed.count == 0) {
    c = multiply(a, b, result, target);
  } else {
    const Matrices ma = as_matrices(a, batch, rows, summed), mb = as_matrices(b, batch, summed, cols);
    const bool direct = target != nullptr && grouped(*target, batch).whole && grouped(*target, rows).whole &&
                        grouped(*target, cols).whole;
    if (direct) {
      c = *target;
    } else {
      Labels order;
      for (const Labels* group : {&batch, &rows, &cols})
        for (int i = 0; i < group->count; i++) order.add(group->of[i]);
      c = temporary(order);
    }
    const Group cb = grouped(c, batch), cr = grouped(c, rows), cc = grouped(c, cols);
    type_ == kF32 ? gemm<float>(ma, mb, c, cb, cr, cc, direct && accumulate_)
                  : gemm<double>(ma, mb, c, cb, cr, cc, direct && accumulate_);
    release(ma.term, a);
    release(mb.term, b);
    if (target != nullptr && !direct) {
      deliver(*target, c);
      release(c);
    }
  }
  release(a, a0);
  release(b, b0);
  return c;
}

Term Contraction::multiply(const Term& a, const Term& b, const Labels& result, const Term* target) {
  Term c = target != nullptr && !accumulate_ ? *target : temporary(result);
  run_pair(op_multiply, c.t, arranged(a, result), arranged(b, result));
  if (target != nullptr && accumulate_) {
    deliver(*target, c);
    release(c);
  }
  return c;
}

template <class T>
void Contraction::gemm(const Matrices& a, const Matrices& b, const Term& c, Group batch, Group rows, Group cols,
                       bool accumulate) {
  kernels::Gemm<T> g;
  g.m = rows.size, g.n = cols.size, g.k = a.cols.size;
  g.a = static_cast<const T*>(a.term.t.raw()), g.a_row = a.rows.stride, g.a_col = a.cols.stride;
  g.b = static_cast<const T*>(b.term.t.raw()), g.b_row = b.rows.stride, g.b_col = b.cols.stride;
  g.c = static_cast<T*>(c.t.raw()), g.c_row = rows.stride, g.c_col = cols.stride;
  g.batch = batch.size, g.a_batch = a.batch.stride, g.b_batch = b.batch.stride, g.c_batch = batch.stride;
  g.accumulate = accumulate;
  const size_t at = room_.take(kernels::gemm_scratch(g, team_size_));
  if (team_ != nullptr) kernels::gemm(g, address(at), *team_);
  barrier();
  room_.give_back(at);
}

}  // namespace ingot
