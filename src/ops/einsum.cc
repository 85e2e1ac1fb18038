// einsum: sums of products over named axes, for any number of operands. Operands are contracted in pairs, the pair with
// the smallest result first; each pair is one GEMM (axes grouped into batch, rows, columns and summed ones), or one
// broadcast product where nothing is summed. Axes of size 1 broadcast.
#include <algorithm>
#include <string>

#include "ingot/ops/checks.h"
#include "ingot/ops/plain.h"
#include "ingot/ops/staging.h"
#include "kernels/gemm.h"
#include "kernels/reduce.h"
#include "ops/define.h"
#include "ops/einsum_equation.h"

namespace ingot {
extern const Op op_multiply;

namespace {

// An operand on its way: names are unique, sizes are the equation's (broadcast axes have stride 0).
struct Term {
  Tensor t;
  Labels labels;
  int64_t stride(int label) const {
    for (int a = 0; a < labels.count; a++)
      if (labels.of[a] == label) return t.strides()[a];
    return 0;
  }
};

// Contracts the operands step by step. Without a team it only counts the scratch that the same steps will take.
class Contraction {
 public:
  Contraction(const Call& call, const Equation& e, const Tensor& out, void* scratch, int team_size, const Team* team)
      : e_(e),
        out_(out),
        scratch_(static_cast<std::byte*>(scratch)),
        team_size_(team_size),
        team_(team),
        count_(call.count()) {
    for (int i = 0; i < count_; i++) terms_[i] = diagonal(call.in(i), e.in[i]);
  }

  void run() {
    while (count_ > 2) {
      const auto [i, j] = cheapest_pair();
      const Labels result = kept_labels(i, j);
      Term c = contract(terms_[i], terms_[j], result, nullptr);
      terms_[i] = std::move(c);
      terms_[j] = std::move(terms_[--count_]);
    }
    if (count_ == 2) {
      contract(terms_[0], terms_[1], e_.out, &out_);
    } else {
      copy(out_, arranged(sum_out(terms_[0], e_.out), e_.out));
    }
  }
  size_t bytes() const { return used_; }

  // Do all intermediate results fit in a tensor's axes? Plays the steps on the names alone.
  bool fits() {
    while (count_ > 2) {
      const auto [i, j] = cheapest_pair();
      const Labels kept = kept_labels(i, j);
      if (kept.count > kMaxRank) return false;
      terms_[i].labels = kept;
      terms_[j].labels = terms_[--count_].labels;
    }
    return true;
  }

 private:
  // Repeated names walk the diagonal: their strides add up.
  Term diagonal(const Tensor& t, const Labels& names) const {
    Term term;
    Dims shape, strides;
    for (int a = 0; a < names.count; a++) {
      const int label = names.of[a];
      const int64_t stride = t.shape()[a] == 1 ? 0 : t.strides()[a];
      const uint8_t* end = term.labels.of + term.labels.count;
      const uint8_t* found = std::find(static_cast<const uint8_t*>(term.labels.of), end, label);
      if (found != end) {
        strides[static_cast<int>(found - term.labels.of)] += stride;
        continue;
      }
      term.labels.add(label);
      shape.push_back(e_.size[label]);
      strides.push_back(stride);
    }
    term.t = t.view(t.raw(), shape, strides);
    return term;
  }

  Labels kept_labels(int i, int j) const {
    Labels kept;
    for (const Term* term : {&terms_[i], &terms_[j]})
      for (int a = 0; a < term->labels.count; a++) {
        const int label = term->labels.of[a];
        bool needed = e_.out.has(label);
        for (int k = 0; k < count_; k++) needed = needed || (k != i && k != j && terms_[k].labels.has(label));
        if (needed && !kept.has(label)) kept.add(label);
      }
    return kept;
  }

  std::pair<int, int> cheapest_pair() const {
    std::pair<int, int> best{0, 1};
    double least = -1;
    for (int i = 0; i < count_; i++)
      for (int j = i + 1; j < count_; j++) {
        double size = 1;
        const Labels kept = kept_labels(i, j);
        for (int a = 0; a < kept.count; a++) size *= static_cast<double>(e_.size[kept.of[a]]);
        if (least < 0 || size < least) least = size, best = {i, j};
      }
    return best;
  }

  // Fresh contiguous memory with these axes.
  Tensor temporary(const Labels& labels) {
    Dims shape;
    for (int a = 0; a < labels.count; a++) shape.push_back(e_.size[labels.of[a]]);
    const size_t size = static_cast<size_t>(element_count(shape)) * size_of(out_.dtype());
    return out_.view(take(size), shape, contiguous_strides(shape));
  }
  void* take(size_t size) {
    void* at = team_ == nullptr ? nullptr : scratch_ + used_;
    used_ += (size + 63) / 64 * 64;
    return at;
  }
  void barrier() const {
    if (team_ != nullptr) team_->barrier();
  }
  void copy(const Tensor& to, const Tensor& from) const {
    if (team_ != nullptr) copy_share(to, from, *team_);
    barrier();
  }

  // The term as a view with the axes `labels`, in that order; an axis it lacks has size 1.
  static Tensor arranged(const Term& term, const Labels& labels) {
    Dims shape, strides;
    for (int a = 0; a < labels.count; a++) {
      const int label = labels.of[a];
      int64_t size = 1;
      for (int k = 0; k < term.labels.count; k++)
        if (term.labels.of[k] == label) size = term.t.shape()[k];
      shape.push_back(size);
      strides.push_back(term.stride(label));
    }
    return term.t.view(term.t.raw(), shape, strides);
  }

  // Sums over the axes that are not in `kept`.
  Term sum_out(const Term& term, const Labels& kept) {
    Term result;
    kernels::ReduceLayout layout;
    for (int a = 0; a < term.labels.count; a++)
      if (kept.has(term.labels.of[a])) {
        result.labels.add(term.labels.of[a]);
        layout.kept[layout.kept_rank] = term.t.shape()[a];
        layout.kept_in[layout.kept_rank++] = term.t.strides()[a];
      } else {
        layout.reduced[layout.reduced_rank] = term.t.shape()[a];
        layout.reduced_in[layout.reduced_rank++] = term.t.strides()[a];
      }
    if (layout.reduced_rank == 0) return term;
    result.t = temporary(result.labels);
    for (int a = 0; a < layout.kept_rank; a++) layout.kept_out[a] = result.t.strides()[a];
    void* scratch = take(kernels::reduce_scratch(layout));
    if (team_ != nullptr) {
      if (out_.dtype() == kF32)
        kernels::reduce(kernels::Reduce::kSum, layout, static_cast<const float*>(term.t.raw()),
                        static_cast<float*>(result.t.raw()), 1, scratch, *team_);
      else
        kernels::reduce(kernels::Reduce::kSum, layout, static_cast<const double*>(term.t.raw()),
                        static_cast<double*>(result.t.raw()), 1, scratch, *team_);
    }
    barrier();
    return result;
  }

  // Axes in a group, as one: their common size and stride in a term, if their strides allow it.
  struct Group {
    int64_t size = 1, stride = 0;
    bool whole = true;
  };
  Group grouped(const Term& term, const Labels& labels) const {
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

  // The term with each of three groups of axes as one axis; copied if its strides do not allow it.
  struct Matrices {
    Tensor t;
    Group batch, rows, cols;
  };
  Matrices as_matrices(const Term& term, const Labels& batch, const Labels& rows, const Labels& cols) {
    Matrices m{term.t, grouped(term, batch), grouped(term, rows), grouped(term, cols)};
    if (m.batch.whole && m.rows.whole && m.cols.whole) return m;
    Labels order;
    for (const Labels* group : {&batch, &rows, &cols})
      for (int a = 0; a < group->count; a++) order.add(group->of[a]);
    m.t = temporary(order);
    copy(m.t, arranged(term, order));
    m.cols.stride = 1, m.rows.stride = m.cols.size, m.batch.stride = m.cols.size * m.rows.size;
    return m;
  }

  // a·b with the axes `result`, into `target` or into scratch.
  Term contract(const Term& a0, const Term& b0, const Labels& result, const Tensor* target) {
    const Term a = sum_out(a0, either(result, b0.labels)), b = sum_out(b0, either(result, a0.labels));
    Labels batch, rows, cols, summed;
    for (int i = 0; i < result.count; i++) {
      const int label = result.of[i];
      (a.labels.has(label) ? b.labels.has(label) ? batch : rows : cols).add(label);
    }
    for (int i = 0; i < a.labels.count; i++)
      if (!result.has(a.labels.of[i])) summed.add(a.labels.of[i]);
    if (summed.count == 0) return multiply(a, b, result, target);

    const Matrices ma = as_matrices(a, batch, rows, summed), mb = as_matrices(b, batch, summed, cols);
    Term c;
    if (target != nullptr) c = {*target, result};
    if (target == nullptr || !grouped(c, batch).whole || !grouped(c, rows).whole || !grouped(c, cols).whole) {
      c.labels = {};
      for (const Labels* group : {&batch, &rows, &cols})
        for (int i = 0; i < group->count; i++) c.labels.add(group->of[i]);
      c.t = temporary(c.labels);
    }
    if (out_.dtype() == kF32)
      gemm<float>(ma, mb, c.t, grouped(c, batch), grouped(c, rows), grouped(c, cols));
    else
      gemm<double>(ma, mb, c.t, grouped(c, batch), grouped(c, rows), grouped(c, cols));
    if (target != nullptr && c.t.raw() != target->raw()) copy(*target, arranged(c, result));
    return c;
  }

  static Labels either(const Labels& a, const Labels& b) {
    Labels both = a;
    for (int i = 0; i < b.count; i++)
      if (!both.has(b.of[i])) both.add(b.of[i]);
    return both;
  }

  Term multiply(const Term& a, const Term& b, const Labels& result, const Tensor* target) {
    Term c{target != nullptr ? *target : temporary(result), result};
    if (team_ != nullptr) {
      const Tensor va = arranged(a, result), vb = arranged(b, result);
      const Tensor* in[] = {&va, &vb};
      const Attrs none{};
      run_tiles(op_multiply.tile(out_.dtype()), Call{op_multiply, in, none}, nullptr, c.t, *team_);
    }
    barrier();
    return c;
  }

  template <class T>
  void gemm(const Matrices& a, const Matrices& b, const Tensor& c, Group batch, Group rows, Group cols) {
    kernels::Gemm<T> g;
    g.m = rows.size, g.n = cols.size, g.k = a.cols.size;
    g.a = static_cast<const T*>(a.t.raw()), g.a_row = a.rows.stride, g.a_col = a.cols.stride;
    g.b = static_cast<const T*>(b.t.raw()), g.b_row = b.rows.stride, g.b_col = b.cols.stride;
    g.c = static_cast<T*>(c.raw()), g.c_row = rows.stride, g.c_col = cols.stride;
    g.batch = batch.size, g.a_batch = a.batch.stride, g.b_batch = b.batch.stride, g.c_batch = batch.stride;
    void* scratch = take(kernels::gemm_scratch(g, team_size_));
    if (team_ != nullptr) kernels::gemm(g, scratch, *team_);
    barrier();
  }

  const Equation& e_;
  const Tensor& out_;
  std::byte* scratch_;
  size_t used_ = 0;
  const int team_size_;
  const Team* team_;
  Term terms_[kMaxInputs];
  int count_;
};

// The gradient for operand i is an einsum again: dy times the other operands, with i's own names as the result. A name
// that nothing else has gets a vector of ones; a name that occurs twice in operand i gets an identity matrix.
Tensor operand_gradient(const Gradient& g, int i) {
  const Equation e = parse_equation(g.call());
  bool used[kLabels] = {};
  for (int label = 0; label < kLabels; label++) used[label] = e.times[label] > 0;
  char letter[kLabels];
  int next = 0;
  const auto fresh = [&] {
    while (next < kLetters && used[next]) next++;
    if (next == kLetters) throw Error("einsum: too many axis names for a gradient — use fewer letters");
    used[next] = true;
    return letter_of(next);
  };
  for (int label = 0; label < kLabels; label++)
    letter[label] = label < kLetters ? letter_of(label) : used[label] ? fresh() : '?';
  const auto spell = [&](const Labels& labels) {
    std::string text;
    for (int a = 0; a < labels.count; a++) text += letter[labels.of[a]];
    return text;
  };

  std::vector<Tensor> operands{g.dy()};
  std::string equation = spell(e.out);
  bool seen[kLabels] = {};
  for (int a = 0; a < e.out.count; a++) seen[e.out.of[a]] = true;
  for (int k = 0; k < g.count(); k++) {
    if (k == i) continue;
    operands.push_back(g.in(k));
    equation += ',';
    equation += spell(e.in[k]);
    for (int a = 0; a < e.in[k].count; a++) seen[e.in[k].of[a]] = true;
  }
  std::string result;
  bool placed[kLabels] = {};
  for (int a = 0; a < e.in[i].count; a++) {
    const int label = e.in[i].of[a];
    const DType type = g.in(i).dtype();
    if (placed[label]) {
      const char twin = fresh();
      operands.push_back(eye(e.size[label], -1, type));
      equation += std::string(",") + letter[label] + twin;
      result += twin;
      continue;
    }
    placed[label] = true;
    result += letter[label];
    if (!seen[label]) {
      operands.push_back(ones({e.size[label]}, type));
      equation += std::string(",") + letter[label];
    }
  }
  return einsum(operands, equation + "->" + result);
}

double einsum_cost(const Call& call) {  // as if every name were walked once
  const Equation e = equation_of(call);
  double products = 1;
  for (int label = 0; label < kLabels; label++)
    if (e.times[label] > 0) products *= static_cast<double>(e.size[label]);
  return products / 20;
}

}  // namespace

INGOT_OP(einsum) = {
    .name = "einsum",
    .signature = "einsum(xs..., equation:text)",
    .doc =
        "Sum of products over named axes: \\\"ij,jk->ik\\\" multiplies matrices, \\\"ii->i\\\" takes a diagonal, "
        "\\\"...ij->...ji\\\" transposes.",
    .family = "einsum",
    .infer =
        [](const Call& call, Specs& out) {
          if (call.count() == 0) fail_argument(call, "no operands", "give at least one tensor");
          require_type(call, call.in(0).dtype());
          for (int i = 1; i < call.count(); i++) require_same_type(call, 0, i);
          const Equation e = parse_equation(call);
          decode_names(call);
          if (!Contraction(call, e, call.in(0), nullptr, 1, nullptr).fits())
            fail_equation(call, "an intermediate result would have more than 8 axes; contract in steps");
          Dims shape;
          for (int a = 0; a < e.out.count; a++) shape.push_back(e.size[e.out.of[a]]);
          out.add(call.in(0).dtype(), shape);
        },
    .prepare = prepared<decode_names>,
    .run =
        [](const Call& call, const Tensor* out, void* scratch, const Team& team) {
          const Equation e = equation_of(call);
          Contraction(call, e, out[0], scratch, team.size(), &team).run();
        },
    .scratch =
        [](const Call& call, const Tensor* out, int team_size) {
          const Equation e = equation_of(call);
          Contraction dry(call, e, out[0], nullptr, team_size, nullptr);
          dry.run();
          return dry.bytes();
        },
    .reference =
        [](const Call& call, const Tensor* out) {
          const Equation e = parse_equation(call);
          int64_t index[kLabels] = {};
          const Tensor sums = zeros(out[0].shape(), kF64);
          int64_t count = 1;
          for (int label = 0; label < kLabels; label++)
            if (e.times[label] > 0) count *= e.size[label];
          for (int64_t step = 0; step < count; step++) {
            double product = 1;
            for (int i = 0; i < call.count(); i++) {
              Dims at;
              for (int a = 0; a < e.in[i].count; a++)
                at.push_back(call.in(i).shape()[a] == 1 ? 0 : index[e.in[i].of[a]]);
              product *= load_as_double(element_at(call.in(i), at), call.in(i).dtype());
            }
            Dims to;
            for (int a = 0; a < e.out.count; a++) to.push_back(index[e.out.of[a]]);
            sums.at<double>(to) += product;
            for (int label = 0; label < kLabels; label++) {
              if (e.times[label] == 0) continue;
              if (++index[label] < e.size[label]) break;
              index[label] = 0;
            }
          }
          for_each_index(out[0].shape(), [&](const Dims& i) {
            store_from_double(element_at(out[0], i), out[0].dtype(), sums.at<double>(i));
          });
        },
    .cost = einsum_cost,
    .gradient =
        [](Gradient& g) {
          for (int i = 0; i < g.count(); i++)
            if (g.wants(i)) g.set(i, operand_gradient(g, i));
        },
    .samples =
        [](Samples& s) {
          const auto add = [&](const char* equation, std::vector<Dims> shapes) {
            std::vector<Tensor> operands;
            for (const Dims& shape : shapes) operands.push_back(s.real(shape));
            s.add(std::move(operands), Attrs().set("equation", equation));
          };
          add("ij,jk->ik", {{3, 4}, {4, 5}});
          add("ij,jk", {{3, 4}, {4, 5}});
          add("ij,kj->ik", {{3, 4}, {5, 4}});
          add("ij,jk->ki", {{3, 4}, {4, 5}});
          add("bij,bjk->bik", {{2, 3, 4}, {2, 4, 5}});
          add("bhid,bhjd->bhij", {{2, 2, 3, 4}, {2, 2, 5, 4}});
          add("ibd,jbd->bij", {{3, 2, 4}, {5, 2, 4}});
          add("i,i->", {{7}, {7}});
          add("i,j->ij", {{3}, {4}});
          add("i,i->i", {{5}, {5}});
          add("ii->i", {{4, 4}});
          add("ii->", {{4, 4}});
          add("ij->ji", {{3, 4}});
          add("ij->", {{3, 4}});
          add("ijk->j", {{2, 3, 4}});
          add("...ij,...jk->...ik", {{2, 1, 3, 4}, {3, 4, 2}});
          add("...i->...", {{2, 3, 4}});
          add("i...,i...", {{3, 2}, {3, 2}});
          add("ij,jk,kl->il", {{2, 3}, {3, 4}, {4, 5}});
          add("i,j,k,ijk->", {{2}, {3}, {4}, {2, 3, 4}});
          add("iij,jk->ik", {{3, 3, 2}, {2, 4}});
          add("ab,ab,ab->a", {{3, 4}, {3, 4}, {3, 4}});
          add("ij,k->i", {{2, 3}, {4}});
          add("ij,jk->ik", {{0, 4}, {4, 5}});
          add("ij,jk->ik", {{3, 0}, {0, 5}});
          add("->", {{}});
          add("i->i", {{1}});
          add("bchw,oc->bohw", {{2, 3, 2, 2}, {4, 3}});
        },
    .reorders_sums = true,
};

}  // namespace ingot
