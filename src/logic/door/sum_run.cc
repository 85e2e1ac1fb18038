#include "logic/door/sum_run.h"

#include <fmt/format.h>

#include <cmath>
#include <cstring>

#include "ingot/base/error.h"
#include "ingot/base/file.h"
#include "ingot/base/random.h"
#include "ingot/io/io.h"
#include "ingot/logic/addition.h"
#include "ingot/logic/theory.h"
#include "ingot/nn/layers.h"
#include "ingot/ops/functions.h"
#include "ingot/ops/ops.h"
#include "ingot/recipe/data_source.h"
#include "ingot/recipe/description.h"
#include "ingot/recipe/page.h"
#include "ingot/recipe/run_folder.h"
#include "ingot/recipe/terminal.h"
#include "logic/door/curves.h"

namespace ingot::logic::door {
namespace {

using namespace recipe;

constexpr int64_t kPieceBatches = 8;
const std::string kTrainer = "trainer.";
constexpr uint64_t kPairs = 1;  // the stream that says which pictures make a number

struct Pictures {
  Tensor x, y;  // u8 or f32 [n, h, w], i64 [n]
};

Pictures digits_of(const Description& d, bool test) {
  const io::Csv table = io::parse_csv(d.catalogue->file("digits.csv.gz")->bytes());
  const int64_t rows = table.values.size(0), held_back = rows / 5, first = test ? rows - held_back : 0,
                last = test ? rows : rows - held_back;
  const Tensor part = slice(table.values, 0, first, last);
  return {reshape(multiply(contiguous(slice(part, 1, 0, 64)), 1.0 / 16), {last - first, 8, 8}),
          to(contiguous(select(part, 1, 64)), kI64)};
}

Pictures mnist_of(const Settings& s, bool test) {
  const std::string folder = s.has("folder") ? s.text("folder") : cache_folder("mnist");
  const auto file = [&](const std::string& what) {
    for (const char* ending : {"", ".gz"})
      if (std::string path = fmt::format("{}/{}-{}{}", folder, test ? "t10k" : "train", what, ending); is_file(path))
        return path;
    throw Error(ErrorKind::kFile, fmt::format("\"{}\" has no MNIST — `ingot data get mnist` fetches it", folder));
  };
  return {io::load_idx(file("images-idx3-ubyte")), to(io::load_idx(file("labels-idx1-ubyte")), kI64)};
}

// Numbers of so many digits, in pairs: every picture is in one of them. What `digits` says is for examinations only.
data::TensorDataset pairs_of(const Pictures& all, int64_t digits, uint64_t seed) {
  const int64_t places = 2 * digits, n = all.x.size(0) / places, h = all.x.size(1), w = all.x.size(2);
  if (n == 0) throw Error(ErrorKind::kArgument, "there are too few pictures for numbers of so many digits");
  std::vector<int64_t> order(static_cast<size_t>(all.x.size(0)));
  fill_permutation(order.data(), std::ssize(order), {seed, kPairs});
  const Tensor x = Tensor::empty({n, places, h, w}, all.x.dtype()), sums = Tensor::empty({n}, kI64),
               said = Tensor::empty({n, places}, kI64);
  const auto picture = static_cast<size_t>(h * w) * size_of(all.x.dtype());
  for (int64_t i = 0; i < n; i++) {
    int64_t sum = 0, scale = 1;
    for (int64_t p = 0; p < places; p++, scale *= 10) {
      if (p == digits) scale = 1;
      const int64_t from = order[static_cast<size_t>(i * places + p)], digit = all.y.data<int64_t>()[from];
      std::memcpy(static_cast<std::byte*>(x.raw()) + static_cast<size_t>(i * places + p) * picture,
                  static_cast<const std::byte*>(all.x.raw()) + static_cast<size_t>(from) * picture, picture);
      said.data<int64_t>()[i * places + p] = digit;
      sum += digit * scale;
    }
    sums.data<int64_t>()[i] = sum;
  }
  return data::TensorDataset({{"x", x}, {"y", sums}, {"written", written_digits(sums, digits)}, {"digits", said}});
}

// All pictures of a batch at once, whatever number they are a part of.
class Reader final : public nn::Layer {
 public:
  Reader(int64_t side, int64_t width, double dropout) {
    const auto block = [&](int64_t in, int64_t out, bool pool) {
      net_.add(nn::Conv2d(in, out, 3, {.padding = {1, 1}}, /*with_bias=*/false))
          .add(nn::BatchNorm2d(out))
          .add(nn::ReLU());
      if (pool) net_.add(nn::MaxPool2d(2));
    };
    block(1, width, true);
    block(width, 2 * width, side > 16);
    block(2 * width, 4 * width, false);
    const int64_t left = side > 16 ? side / 4 : side / 2;
    net_.add(nn::Flatten())
        .add(nn::Dropout(dropout))
        .add(nn::Linear(4 * width * left * left, 128))
        .add(nn::ReLU())
        .add(nn::Linear(128, 10));
  }
  void parts(nn::Parts& p) override { p("net", net_); }
  Tensor forward(const Tensor& x) override {
    return net_(reshape(x, {x.size(0) * x.size(1), 1, x.size(2), x.size(3)}));
  }

 private:
  nn::Sequential net_;
};

class SumRun final : public OwnRun {
 public:
  explicit SumRun(const Description& d)
      : of_(d.settings("sums").text("of")),
        digits_(d.settings("sums").integer("digits")),
        seed_(static_cast<uint64_t>(d.settings("train").integer("seed"))),
        epochs_(d.settings("train").integer("epochs")),
        train_set_(pairs_of(pictures(d, false), digits_, seed_)),
        test_set_(pairs_of(pictures(d, true), digits_, 0)),
        side_(train_set_.input().shape[1]),
        theory_(Theory::parse(addition_program(digits_, side_, side_), "addition")) {
    const Settings s = d.settings("sums"), t = d.settings("train");
    const nn::SeedScope seed(static_cast<int64_t>(seed_));
    theory_.network("net", std::make_shared<Reader>(side_, s.integer("width"), s.number("dropout")));
    data::LoaderOptions options{.batch = t.integer("batch"), .shuffle = true, .drop_last = true, .seed = seed_};
    if (s.integer("shift") > 0) options.transforms.push_back(data::shift(s.integer("shift")));
    if (train_set_.size() < options.batch)
      t.fail("batch", fmt::format("there are {} sums to learn from", train_set_.size()));
    train_ = std::make_unique<data::Loader>(train_set_, options);
    test_ = std::make_unique<data::Loader>(test_set_, data::LoaderOptions{.batch = options.batch});
    nn::TrainerOptions trainer{.epochs = epochs_,
                               .schedule = schedule::one_cycle(),
                               .ema = t.number("ema"),
                               .seed = static_cast<int64_t>(seed_)};
    trainer.metrics = {{.name = "accuracy"}, {.name = "right"}};
    trainer_ = std::make_unique<nn::Trainer>(
        theory_, [this](const data::Batch& b) { return results(b); },
        optim::AdamW{.lr = static_cast<float>(t.number("lr"))}, trainer);
    trainer_->on_batch = [this](const nn::BatchResult& b) {
      piece_.period = b.epoch, piece_.piece = (b.batch + kPieceBatches - 1) / kPieceBatches;
      piece_.pieces = (b.batches + kPieceBatches - 1) / kPieceBatches;
      piece_.per_second = b.samples_per_second;
      piece_.scores = b.mean;
      if (b.batch % kPieceBatches == 0 && b.batch < b.batches) trainer_->stop();
    };
    trainer_->on_epoch = [this](const nn::EpochResult& e) {
      piece_.ended = e;
      trainer_->stop();
    };
  }

  std::string about() const override {
    return fmt::format("{} sums of two numbers of {} ({}), {} held back", grouped(train_set_.size()),
                       counted(digits_, "digit"), of_, grouped(test_set_.size()));
  }
  int64_t parameter_count() override { return theory_.parameter_count(); }
  RunInfo info() const override {
    return {.epochs = epochs_, .metrics = {"accuracy", "right"}, .test_name = "held back", .unit = "sums"};
  }
  OwnPiece work() override {
    piece_.ended.reset();
    trainer_->fit(*train_, test_.get());
    return piece_;
  }
  bool done() const override { return std::ssize(trainer_->history()) >= epochs_; }
  nn::TrainingState state() override {
    nn::TrainingState state = trainer_->state();
    for (NamedTensor& t : state.tensors) t.name = kTrainer + t.name;  // the run has names of its own
    return state;
  }
  void load_state(const nn::TrainingState& saved) override {
    nn::TrainingState state{{}, saved.values};
    for (const NamedTensor& t : saved.tensors)
      if (t.name.starts_with(kTrainer)) state.tensors.push_back({t.name.substr(kTrainer.size()), t.tensor});
    trainer_->load_state(state);
  }
  std::vector<NamedTensor> weights() override { return trainer_->weights(); }
  bool keeps_best() const override { return false; }  // held-back sums are for the exam

  void examine() override {
    counts_.assign(100, 0);
    sums_ = right_sums_ = 0;
    data::Loader fresh(test_set_, {.batch = test_->options().batch});
    trainer_->evaluate(fresh, [&](const data::Batch& batch, const Tensor& result) {
      const Tensor& truth = batch["digits"];
      const int64_t places = truth.size(1);
      for (int64_t i = 0; i < batch.size(); i++, sums_++) {
        int64_t sum = 0, scale = 1;
        for (int64_t p = 0; p < places; p++, scale *= 10) {
          if (p == digits_) scale = 1;
          const auto said = result.at<int64_t>({i, p}), is = truth.at<int64_t>({i, p});
          counts_[static_cast<size_t>(is * 10 + said)]++;
          sum += said * scale;
        }
        right_sums_ += sum == batch.y.at<int64_t>({i}) ? 1 : 0;
      }
    });
  }
  std::string exam_text() const override {
    return fmt::format("exam    {} of {} sums right ({}), {} of single digits, of which it was never told one",
                       grouped(right_sums_), grouped(sums_), bold(percentage(exam_score())), percentage(digit_share()));
  }
  Value exam_record() const override {
    return record(
        {{"sums", sums_}, {"right", right_sums_}, {"accuracy", exam_score()}, {"digit_accuracy", digit_share()}});
  }
  double exam_score() const override { return share(right_sums_, sums_); }
  void report(Report& report, std::span<const nn::EpochResult> history) override {
    double seconds = 0;
    for (const nn::EpochResult& e : history) seconds += e.seconds;
    report.verdict = {{percentage(exam_score()), fmt::format("of {} sums held back are right", grouped(sums_))},
                      {percentage(digit_share()), "of their digits, which nobody told it"},
                      {duration(seconds), "of training"}};
    report.sections.push_back(curves_section(history, {"accuracy", "right"}, "loss", "held back"));
    report.sections.push_back(program_section(theory_.text()));
    for (int i = 0; i < 10; i++) report.confusion.classes.push_back(std::to_string(i));
    report.confusion.counts = counts_;
  }

 private:
  static double share(int64_t part, int64_t all) {
    return all == 0 ? 0 : static_cast<double>(part) / static_cast<double>(all);
  }
  double digit_share() const {
    int64_t all = 0, right = 0;
    for (size_t i = 0; i < 100; i++) all += counts_[i], right += i % 11 == 0 ? counts_[i] : 0;
    return share(right, all);
  }
  static Pictures pictures(const Description& d, bool test) {
    const Settings s = d.settings("sums");
    if (s.text("of") == "digits") return digits_of(d, test);
    if (s.text("of") == "mnist") return mnist_of(s, test);
    s.fail("of", "\"of\" is \"mnist\" or \"digits\"");
  }

  // The loss sees sums. Digits that are read are compared with them only to be counted.
  std::vector<NamedTensor> results(const data::Batch& b) {
    data::Batch in;
    in.set("pictures", b.x), in.set("written", b["written"]);
    const Tensor says = theory_("says", in);
    std::vector<NamedTensor> all = theory_.results(in);
    const Tensor digits = argmax(says, {2});
    std::vector<int64_t> scales;
    for (int64_t p = 0; p < 2 * digits_; p++) scales.push_back(p % digits_ == 0 ? 1 : 10 * scales.back());
    const Tensor sums = sum(multiply(digits, Tensor::from(scales)), {1});
    all.push_back({"accuracy", mean(to(equal(sums, b.y), kF32))});
    all.push_back({"result", digits});
    return all;
  }

  std::string of_;
  int64_t digits_;
  uint64_t seed_;
  int64_t epochs_;
  data::TensorDataset train_set_, test_set_;
  int64_t side_;
  Theory theory_;
  std::unique_ptr<data::Loader> train_, test_;
  std::unique_ptr<nn::Trainer> trainer_;
  OwnPiece piece_;
  std::vector<int64_t> counts_;  // [digit, said]
  int64_t sums_ = 0, right_sums_ = 0;
};

}  // namespace

std::span<const Section> sum_sections() {
  static const Section all[] = {
      {"sums",
       "what is added up, and what reads it",
       {{"of", Kind::kText, "\"mnist\"",
         "pictures of digits: mnist (`ingot data get mnist`), or digits, which are in the program"},
        {"digits", Kind::kInteger, "1", "of each of the two numbers", 1, 18},
        {"folder", Kind::kPath, nullptr, "of mnist's files, if they are not where `ingot data get` puts them"},
        {"width", Kind::kInteger, "16", "channels of the network's first convolution", 1, 1024},
        {"dropout", Kind::kNumber, "0.3", "before its last two layers", 0, 0.99},
        {"shift", Kind::kInteger, "2", "pixels by which training pictures move, at most", 0, 8}},
       {},
       nullptr,
       Change::kFixed},
      {"train",
       "how long",
       {{"epochs", Kind::kInteger, "5", "over all sums", 1, 1e6, nullptr, Change::kFixed},
        {"batch", Kind::kInteger, "64", "sums", 1, 1e6, nullptr, Change::kFixed},
        {"lr", Kind::kNumber, "0.004", "of AdamW at the top of its cycle", 0, 1, nullptr, Change::kFixed},
        {"ema", Kind::kNumber, "0.998", "decay of the averaged weights that are kept", 0, 0.99999, nullptr,
         Change::kFixed},
        {"seed", Kind::kInteger, "1", "of all that is random", 0, 1e15, nullptr, Change::kFixed},
        {"threads", Kind::kInteger, "0", "worker threads; 0: INGOT_THREADS, or all cores", 0, 256}}}};
  return all;
}

std::unique_ptr<OwnRun> begin_sums(const Description& d) {
  try {
    return std::make_unique<SumRun>(d);
  } catch (const Error& e) {
    d.settings("sums").fail(e);
  }
}

}  // namespace ingot::logic::door
