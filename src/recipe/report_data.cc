// What the model makes of samples: confusion, pictures, texts, numbers.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "ingot/recipe/chart.h"
#include "ingot/recipe/page.h"
#include "recipe/report_parts.h"

namespace ingot::recipe {
namespace {

constexpr size_t kMostCells = 30;     // classes whose confusion is a table; beyond, it is a picture
constexpr size_t kMostPictures = 96;  // on the page

struct Confused {
  size_t truth, prediction;
  int64_t count;
  double share;  // of the true class
};

struct ClassScore {
  int64_t total = 0, right = 0;
  double recall() const { return total > 0 ? static_cast<double>(right) / static_cast<double>(total) : 1; }
};

class Matrix {
 public:
  explicit Matrix(const ReportConfusion& c)
      : n_(c.classes.size()), classes_(c.classes), counts_(c.counts), scores_(n_) {
    for (size_t i = 0; i < n_; i++)
      for (size_t j = 0; j < n_; j++) {
        scores_[i].total += count(i, j);
        if (i == j) scores_[i].right += count(i, j);
      }
  }

  std::string section_html() const;

 private:
  int64_t count(size_t truth, size_t prediction) const {
    const size_t at = truth * n_ + prediction;
    return at < counts_.size() ? std::max<int64_t>(0, counts_[at]) : 0;
  }
  double share(size_t i, size_t j) const {
    return scores_[i].total > 0 ? static_cast<double>(count(i, j)) / static_cast<double>(scores_[i].total) : 0;
  }
  std::string cells() const;
  std::string heat_map() const;
  std::string mistakes() const;
  std::string weakest() const;

  size_t n_;
  const std::vector<std::string>& classes_;
  const std::vector<int64_t>& counts_;
  std::vector<ClassScore> scores_;
};

std::string Matrix::cells() const {
  std::string out =
      "<div class=\"scroll\"><table class=\"confusion\">\n<tr><th class=\"corner\">true ↓<br/>predicted →</th>";
  for (const std::string& name : classes_) out += fmt::format("<th scope=\"col\">{}</th>", escaped(name));
  out += "<th class=\"recall\">found</th></tr>\n";
  for (size_t i = 0; i < n_; i++) {
    out += fmt::format("<tr><th scope=\"row\">{}</th>", escaped(classes_[i]));
    for (size_t j = 0; j < n_; j++) {
      const double s = share(i, j);
      // A rare mistake must still be seen: its colour grows with the root of its share.
      const double shade = i == j ? 0.15 + 0.6 * s : 0.2 + 0.75 * std::sqrt(s);
      if (count(i, j) == 0)
        out += "<td></td>";
      else
        out += fmt::format("<td class=\"{}\" style=\"--s:{:.2f}\" title=\"{} taken for {}: {} ({})\">{}</td>",
                           i == j ? "right" : "wrong", shade, escaped(classes_[i]), escaped(classes_[j]), count(i, j),
                           percentage(s, 1), grouped(count(i, j)));
    }
    out += fmt::format("<td class=\"recall\">{}</td></tr>\n",
                       scores_[i].total > 0 ? percentage(scores_[i].recall(), 1) : std::string("–"));
  }
  return out + "</table></div>\n";
}

// Row shares as grey values, the largest of a block of cells where there are more classes than pixels.
std::string Matrix::heat_map() const {
  const size_t block = (n_ + 249) / 250, side = (n_ + block - 1) / block;
  std::vector<uint8_t> pixels(side * side, 255);
  for (size_t i = 0; i < n_; i++)
    for (size_t j = 0; j < n_; j++) {
      uint8_t& p = pixels[i / block * side + j / block];
      p = std::min(p, static_cast<uint8_t>(255.5 - 255 * std::sqrt(share(i, j))));
    }
  const auto length = static_cast<int64_t>(side);
  return fmt::format(
      "<div class=\"heat\">{}<p class=\"note\">True classes downwards, predicted ones across; darker: more "
      "often.{}</p></div>\n",
      picture(Tensor::wrap(pixels.data(), {length, length}), "confusion matrix"),
      block > 1 ? fmt::format(" A pixel is the darkest of {} × {} cells.", block, block) : "");
}

std::string Matrix::mistakes() const {
  std::vector<Confused> all;
  for (size_t i = 0; i < n_; i++)
    for (size_t j = 0; j < n_; j++)
      if (i != j && count(i, j) > 0) all.push_back({i, j, count(i, j), share(i, j)});
  const size_t shown = std::min<size_t>(all.size(), 8);
  std::partial_sort(all.begin(), all.begin() + static_cast<int64_t>(shown), all.end(),
                    [](const Confused& a, const Confused& b) {
                      return a.count != b.count   ? a.count > b.count
                             : a.truth != b.truth ? a.truth < b.truth
                                                  : a.prediction < b.prediction;
                    });
  if (all.empty()) return "<p class=\"good\">No sample was taken for another class.</p>\n";
  std::string out = "<h3>Most often confused</h3>\n<ol class=\"pairs\">\n";
  for (size_t k = 0; k < shown; k++)
    out += fmt::format("<li><b>{}</b> taken for <b>{}</b><span>{} × ({} of its class)</span></li>\n",
                       escaped(classes_[all[k].truth]), escaped(classes_[all[k].prediction]), grouped(all[k].count),
                       percentage(all[k].share, 1));
  return out + "</ol>\n";
}

std::string Matrix::weakest() const {
  std::vector<size_t> order;
  for (size_t i = 0; i < n_; i++)
    if (scores_[i].total > 0) order.push_back(i);
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return scores_[a].recall() < scores_[b].recall(); });
  order.resize(std::min<size_t>(order.size(), 8));
  std::string out = "<h3>Weakest classes</h3>\n<ol class=\"pairs\">\n";
  for (const size_t i : order)
    out += fmt::format("<li><b>{}</b><span>{} of {} found</span></li>\n", escaped(classes_[i]),
                       percentage(scores_[i].recall(), 1), grouped(scores_[i].total));
  return out + "</ol>\n";
}

std::string Matrix::section_html() const {
  int64_t total = 0, right = 0;
  for (const ClassScore& s : scores_) {
    total += s.total;
    right += s.right;
  }
  if (total == 0) return {};
  const bool small = n_ <= kMostCells;
  return section(
      "confusion", "Confusion matrix",
      fmt::format("{} of {} samples are right, {} wrong.", grouped(right), grouped(total), grouped(total - right)),
      fmt::format("<div class=\"beside\"><div>{}</div><div>{}{}</div></div>\n", small ? cells() : heat_map(),
                  mistakes(), small ? "" : weakest()));
}

}  // namespace

std::string confusion_section(const ReportConfusion& confusion) { return Matrix(confusion).section_html(); }

std::string pictures_section(const std::vector<ReportPicture>& pictures) {
  if (pictures.empty()) return {};
  std::vector<const ReportPicture*> order;
  order.reserve(pictures.size());
  for (const ReportPicture& p : pictures) order.push_back(&p);
  std::stable_partition(order.begin(), order.end(), [](const ReportPicture* p) { return !p->correct; });
  const auto wrong =
      static_cast<size_t>(std::count_if(pictures.begin(), pictures.end(), [](auto& p) { return !p.correct; }));
  order.resize(std::min(order.size(), kMostPictures));
  std::string out = "<div class=\"gallery\">\n";
  for (const ReportPicture* p : order) {
    const std::string sure = std::isfinite(p->probability) ? percentage(p->probability, 0) : "";
    out += fmt::format("<figure class=\"{}\">{}<figcaption><b>{}</b>{}{}</figcaption></figure>\n",
                       p->correct ? "right" : "wrong", picture(p->pixels, "predicted " + p->prediction),
                       escaped(p->prediction), p->correct ? "" : fmt::format("<span>is {}</span>", escaped(p->target)),
                       sure.empty() ? "" : fmt::format("<i>{}</i>", sure));
  }
  return section("samples", "Samples",
                 wrong > 0 ? "What the model says, and how sure it is. The wrong ones come first."
                           : "What the model says, and how sure it is.",
                 out + "</div>\n");
}

std::string reconstructions_section(const std::vector<ReportReconstruction>& pairs) {
  if (pairs.empty()) return {};
  std::string out = "<div class=\"gallery pairs\">\n";
  for (size_t i = 0; i < std::min(pairs.size(), kMostPictures); i++)
    out += fmt::format(
        "<figure><div>{}{}</div>{}</figure>\n", picture(pairs[i].input, "input"), picture(pairs[i].output, "output"),
        pairs[i].label.empty() ? "" : fmt::format("<figcaption>{}</figcaption>", escaped(pairs[i].label)));
  return section("reconstructions", "Reconstructions", "Left what went in, right what came out.", out + "</div>\n");
}

std::string texts_section(const std::vector<ReportText>& texts) {
  if (texts.empty()) return {};
  std::string out;
  for (size_t i = texts.size(); i-- > 0;) {
    const bool last = i + 1 == texts.size();
    out += folded(texts[i].when, fmt::format("<pre class=\"prose\">{}</pre>\n", escaped_lines(texts[i].text)), last);
  }
  return section("texts", "What it writes", "Samples over the training, the latest first.",
                 fmt::format("<div class=\"texts\">\n{}</div>\n", out));
}

std::string scatter_section(const std::vector<ReportScatter>& scatters) {
  std::string out;
  for (const ReportScatter& s : scatters) {
    const size_t n = std::min(s.truth.size(), s.prediction.size());
    if (n == 0) continue;
    double mean = 0, squares = 0, absolute = 0, spread = 0;
    for (size_t i = 0; i < n; i++) mean += s.truth[i] / static_cast<double>(n);
    for (size_t i = 0; i < n; i++) {
      const double error = s.prediction[i] - s.truth[i];
      squares += error * error;
      absolute += std::fabs(error);
      spread += (s.truth[i] - mean) * (s.truth[i] - mean);
    }
    out +=
        fmt::format("<div>{}<p class=\"note\">R² {} · mean error {} · root mean square {} · {} samples</p></div>\n",
                    scatter_chart(s.name, s.truth, s.prediction),
                    figure(spread > 0 ? 1 - squares / spread : std::nan("")), figure(absolute / static_cast<double>(n)),
                    figure(std::sqrt(squares / static_cast<double>(n))), grouped(static_cast<int64_t>(n)));
  }
  if (out.empty()) return {};
  return section("scatter", "Predicted against true", "On the line is right.",
                 fmt::format("<div class=\"charts\">\n{}</div>\n", out));
}

}  // namespace ingot::recipe
