#include "ops/einsum_equation.h"

#include "ingot/ops/checks.h"

namespace ingot {

void fail_equation(const Call& call, const std::string& what) {
  fail_argument(call, "\"" + std::string(call.text("equation")) + "\": " + what,
                "write names of axes as letters: \"ij,jk->ik\"; \"...\" stands for leading axes that broadcast");
}

namespace {

int label_of(char c) { return c >= 'A' && c <= 'Z' ? c - 'A' : c >= 'a' && c <= 'z' ? c - 'a' + 26 : -1; }

// Names of one term; an ellipsis becomes `dots` axes, right-aligned among the names kLetters … kLetters + kMaxRank - 1.
Labels parse_term(const Call& call, std::string_view term, int dots) {
  Labels labels;
  for (size_t i = 0; i < term.size(); i++) {
    if (labels.count + (term[i] == '.' ? dots : 1) > kMaxRank) fail_equation(call, "too many axes in one term");
    if (term.substr(i, 3) == "...") {
      for (int d = 0; d < dots; d++) labels.add(kLabels - dots + d);
      i += 2;
    } else if (const int label = label_of(term[i]); label >= 0) {
      labels.add(label);
    } else if (term[i] != ' ') {
      fail_equation(call, std::string("'") + term[i] + "' is not a letter");
    }
  }
  return labels;
}

int count_letters(std::string_view term) {
  return static_cast<int>(std::count_if(term.begin(), term.end(), [](char c) { return label_of(c) >= 0; }));
}

}  // namespace

Equation parse_equation(const Call& call) {
  const std::string_view text = call.text("equation");
  const size_t arrow = text.find("->");
  std::string_view left = text.substr(0, arrow);
  Equation e;
  std::fill(e.size, e.size + kLabels, -1);
  int most_dots = 0;
  for (int i = 0; i < call.count(); i++) {
    const size_t comma = left.find(',');
    if ((comma == std::string_view::npos) != (i + 1 == call.count()))
      fail_equation(call, "the number of terms is not the number of operands, " + std::to_string(call.count()));
    const std::string_view term = left.substr(0, comma);
    if (comma != std::string_view::npos) left = left.substr(comma + 1);
    const size_t first_dots = term.find("...");
    const bool dotted = first_dots != std::string_view::npos;
    if (dotted && term.find("...", first_dots + 3) != std::string_view::npos)
      fail_equation(call, "two ellipses in one term");
    const Tensor& t = call.in(i);
    const int dots = dotted ? t.rank() - count_letters(term) : 0;
    if (dots < 0 || (!dotted && count_letters(term) != t.rank()))
      fail_equation(call, "term \"" + std::string(term) + "\" does not name the " + std::to_string(t.rank()) +
                              " axes of operand " + std::to_string(i));
    most_dots = std::max(most_dots, dots);
    e.in[i] = parse_term(call, term, dots);
    for (int a = 0; a < t.rank(); a++) {
      const int label = e.in[i].of[a];
      int64_t& size = e.size[label];
      e.times[label]++;
      if (size == -1 || size == 1) {
        size = t.shape()[a];
      } else if (t.shape()[a] != 1 && t.shape()[a] != size) {
        fail_equation(
            call, "one axis name stands for sizes " + std::to_string(size) + " and " + std::to_string(t.shape()[a]));
      }
    }
  }
  if (arrow != std::string_view::npos) {
    e.out = parse_term(call, text.substr(arrow + 2), most_dots);
  } else {  // the ellipsis, then every name that occurs once, in alphabetical order
    for (int d = 0; d < most_dots; d++) e.out.add(kLabels - most_dots + d);
    for (int label = 0; label < kLetters; label++)
      if (e.times[label] == 1) {
        if (e.out.count == kMaxRank) fail_equation(call, "the result has more than 8 axes");
        e.out.add(label);
      }
  }
  for (int a = 0; a < e.out.count; a++) {
    const int label = e.out.of[a];
    if (e.times[label] == 0) fail_equation(call, "the result names an axis that no operand has");
    if (std::count(e.out.of, e.out.of + e.out.count, label) != 1)
      fail_equation(call, "the result names one axis twice");
  }
  return e;
}

Names names_of(const Call& call, const Equation& e) {
  Names names;
  for (int i = 0; i <= call.count(); i++) {
    const Labels& labels = i < call.count() ? e.in[i] : e.out;
    if (names.count + labels.count > Names::kMost) fail_equation(call, "too many axes in all; contract in steps");
    for (int a = 0; a < labels.count; a++) names.of[names.count++] = labels.of[a];
  }
  return names;
}

Equation equation_of(const Call& call) {
  const Names& names = call.params<EinsumParams>().names;
  Equation e;
  std::fill(e.size, e.size + kLabels, 1);
  int next = 0;
  for (int i = 0; i < call.count(); i++) {
    const Tensor& t = call.in(i);
    for (int a = 0; a < t.rank(); a++) {
      const int label = names.of[next++];
      e.in[i].add(label);
      e.times[label]++;
      if (t.shape()[a] != 1) e.size[label] = t.shape()[a];
    }
  }
  while (next < names.count) e.out.add(names.of[next++]);
  return e;
}

}  // namespace ingot
