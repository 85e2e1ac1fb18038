#include "cli/data_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>

#include "cli/embedded.h"
#include "cli/page.h"
#include "cli/terminal.h"
#include "ingot/error.h"
#include "ingot/functions.h"
#include "ingot/io.h"
#include "ingot/ops.h"

namespace ingot::cli {
namespace {

namespace fs = std::filesystem;

// Samples as a file has them. Without a target, or without a test part, those tensors are undefined.
struct Samples {
  Tensor x, y, test_x, test_y;
  std::vector<std::string> class_names, columns;
};

std::span<const std::byte> bytes_of(const std::string& text) { return std::as_bytes(std::span(text)); }

Tensor with_shape(const Tensor& x, const Settings& s, const char* key) {
  if (!s.has(key) || !x.defined()) return x;
  Dims shape{x.size(0)};
  for (const int64_t size : s.integers(key)) shape.push_back(size);
  try {
    return reshape(x, shape);
  } catch (const Error& e) {
    s.fail(key,
           fmt::format("samples of {} numbers do not have this shape", x.numel() / std::max<int64_t>(1, x.size(0))));
  }
}

io::CsvOptions csv_options(const Settings& s) {
  io::CsvOptions options;
  const std::string &separator = s.text("separator"), &header = s.text("header");
  if (separator.size() != 1) s.fail("separator", "a separator is one character");
  options.separator = separator[0];
  using Header = io::CsvOptions::Header;
  if (header != "guess" && header != "yes" && header != "no") s.fail("header", "\"header\" is guess, yes or no");
  options.header = header == "guess" ? Header::kGuess : header == "yes" ? Header::kYes : Header::kNo;
  return options;
}

int64_t column_number(const Settings& s, const char* key, const Value& column, const io::Csv& table) {
  const int64_t count = table.values.size(1);
  if (column.type == Value::Type::kInteger) {
    const int64_t number = column.integer < 0 ? column.integer + count : column.integer;
    if (number < 0 || number >= count) fail_at(column.place, fmt::format("the table has columns 0 to {}", count - 1));
    return number;
  }
  const auto found = std::find(table.columns.begin(), table.columns.end(), column.text);
  if (found == table.columns.end())
    fail_at(column.place, table.columns.empty() ? fmt::format("the table has no header: give \"{}\" as a number", key)
                                                : fmt::format("the table has no column \"{}\" — {}", column.text,
                                                              suggestion(column.text, table.columns)));
  static_cast<void>(s);
  return found - table.columns.begin();
}

// The columns of a table that are inputs, and the one that is the target (none when inputs are reconstructed).
void take_columns(const Settings& s, const io::Csv& table, Tensor& x, Tensor& y, std::vector<std::string>* names) {
  const int64_t rows = table.values.size(0), columns = table.values.size(1);
  std::vector<bool> left_out(static_cast<size_t>(columns), false);
  int64_t target = -1;
  if (!s.flag("reconstruct")) {
    target = column_number(s, "target", s.value("target"), table);
    left_out[static_cast<size_t>(target)] = true;
  }
  for (const Value& each : s.value("ignore").list)
    left_out[static_cast<size_t>(column_number(s, "ignore", each, table))] = true;
  std::vector<int64_t> inputs;
  for (int64_t i = 0; i < columns; i++)
    if (!left_out[static_cast<size_t>(i)]) inputs.push_back(i);
  if (inputs.empty()) s.fail("file", "no column is left as an input");
  x = index_select(table.values, Tensor::from(inputs), 1);
  if (target >= 0) y = reshape(slice(table.values, 1, target, target + 1), {rows, 1});
  if (names != nullptr && !table.columns.empty())
    for (const int64_t i : inputs) names->push_back(table.columns[static_cast<size_t>(i)]);
}

Samples load_table(const Settings& s) {
  const io::CsvOptions options = csv_options(s);
  Samples out;
  const io::Csv table = io::parse_csv(bytes_of(read_source(s.text("file"))), options);
  take_columns(s, table, out.x, out.y, &out.columns);
  out.x = with_shape(out.x, s, "shape");
  if (s.has("test_file")) {
    take_columns(s, io::parse_csv(bytes_of(read_source(s.text("test_file"))), options), out.test_x, out.test_y,
                 nullptr);
    out.test_x = with_shape(out.test_x, s, "shape");
  }
  return out;
}

Samples load_digits(const Settings&) {
  const io::Csv table = io::parse_csv(find_embedded("digits.csv.gz")->bytes);
  const int64_t rows = table.values.size(0);
  Samples out;
  out.x = reshape(multiply(contiguous(slice(table.values, 1, 0, 64)), 1.0 / 16), {rows, 1, 8, 8});
  out.y = contiguous(slice(table.values, 1, 64, 65));
  return out;
}

Tensor optional(const Settings& s, const char* key, Tensor (*load)(const std::string&)) {
  return s.has(key) ? load(s.text(key)) : Tensor();
}

Tensor idx(const std::string& path) {
  Tensor t = io::load_idx(path);
  if (t.rank() == 3) t = reshape(t, {t.size(0), 1, t.size(1), t.size(2)});  // pictures have channels
  return t;
}
Tensor npy(const std::string& path) { return io::map_npy(path); }

Samples load_mnist(const Settings& s) {
  const std::string folder = s.has("folder") ? s.text("folder") : cache_folder("mnist");
  const auto file = [&](const std::string& name) {
    for (const char* ending : {"", ".gz"})
      if (std::string path = fmt::format("{}/{}{}", folder, name, ending); fs::exists(path)) return path;
    throw Error(fmt::format("\"{}\" has no MNIST ({}) — `ingot data get mnist` fetches it", folder, name));
  };
  return {idx(file("train-images-idx3-ubyte")),
          idx(file("train-labels-idx1-ubyte")),
          idx(file("t10k-images-idx3-ubyte")),
          idx(file("t10k-labels-idx1-ubyte")),
          {},
          {}};
}

Samples load_pictures(const Settings& s) {
  io::PictureFolder train = io::load_png_folder(s.text("folder"));
  Samples out{train.x, train.y, {}, {}, train.classes, {}};
  if (s.has("test_folder")) {
    io::PictureFolder test = io::load_png_folder(s.text("test_folder"));
    if (test.classes != train.classes) s.fail("test_folder", "it has other classes (subfolders) than \"folder\"");
    out.test_x = test.x, out.test_y = test.y;
  }
  return out;
}

struct DataRow {
  Choice choice;
  Samples (*load)(const Settings&);  // nullptr: a text
};

const Key kShape{"shape", Kind::kIntegers, nullptr, "of a sample, if it is not as in the file: [1, 8, 8]"};

const DataRow kData[] = {
    {{"digits", "1,797 handwritten digits of 8 x 8 pixels, which are in the program"}, load_digits},
    {{"mnist",
      "70,000 handwritten digits of 28 x 28 pixels, 10,000 of them for the test; `ingot data get mnist` fetches them",
      {{"folder", Kind::kPath, nullptr, "where the four IDX files are, if not where `ingot data get` puts them"}}},
     load_mnist},
    {{"csv",
      "a table of numbers, plain or .gz",
      {{"file", Kind::kPath, "", "the table"},
       {"test_file", Kind::kPath, nullptr, "a table to test with; then nothing is held back of the first"},
       {"target", Kind::kColumn, "-1",
        "the column to predict: its name or number; negative numbers count from the last"},
       {"ignore", Kind::kColumns, "[]", "columns that are no inputs"},
       {"header", Kind::kText, R"("guess")", "is the first line one? guess, yes or no"},
       {"separator", Kind::kText, R"(",")", "what stands between columns"},
       kShape}},
     load_table},
    {{"idx",
      "IDX files (MNIST's format), plain or .gz",
      {{"images", Kind::kPath, "", "inputs"},
       {"labels", Kind::kPath, nullptr, "targets"},
       {"test_images", Kind::kPath, nullptr, "inputs to test with; then nothing is held back of the others"},
       {"test_labels", Kind::kPath, nullptr, "their targets"}}},
     [](const Settings& s) -> Samples {
       return {idx(s.text("images")),
               optional(s, "labels", idx),
               optional(s, "test_images", idx),
               optional(s, "test_labels", idx),
               {},
               {}};
     }},
    {{"npy",
      "arrays that NumPy saved; the files stay where they are and are read as needed",
      {{"x", Kind::kPath, "", "inputs, a row per sample"},
       {"y", Kind::kPath, nullptr, "targets"},
       {"test_x", Kind::kPath, nullptr, "inputs to test with; then nothing is held back of the others"},
       {"test_y", Kind::kPath, nullptr, "their targets"},
       kShape}},
     [](const Settings& s) -> Samples {
       return {with_shape(npy(s.text("x")), s, "shape"),
               optional(s, "y", npy),
               with_shape(optional(s, "test_x", npy), s, "shape"),
               optional(s, "test_y", npy),
               {},
               {}};
     }},
    {{"png_folder",
      "pictures in subfolders, one per class, all of one size",
      {{"folder", Kind::kPath, "", "the folder of the subfolders"},
       {"test_folder", Kind::kPath, nullptr, "pictures to test with; then nothing is held back of the others"}}},
     load_pictures},
    {{"text",
      "a text, of which the model learns to say the next character",
      {{"file", Kind::kPath, "", "the text"},
       {"length", Kind::kInteger, "64", "characters in a sample", 1, 65536},
       {"continuous", Kind::kBoolean, "false",
        "samples follow each other in `batch` rows, for recurrent layers that keep their state; else they begin "
        "anywhere"},
       {"held_back", Kind::kNumber, "0.1", "share of the text, its end, that is not trained on but tested with", 0,
        0.9}}},
     nullptr},
};

struct TransformRow {
  Choice choice;
  data::TransformPtr (*make)(const Settings&);
};
const TransformRow kTransforms[] = {
    {{"shift",
      "moves pictures",
      {{"pixels", Kind::kInteger, "1", "at most so far, along both axes", 0, 4096},
       {"fill", Kind::kNumber, "0.0", "what comes in from outside"}}},
     [](const Settings& s) { return data::shift(s.integer("pixels"), static_cast<float>(s.number("fill"))); }},
    {{"crop",
      "cuts windows out of pictures; tests see the window in the middle",
      {{"height", Kind::kInteger, "", "of the window", 1, 65536},
       {"width", Kind::kInteger, "", "of the window", 1, 65536}}},
     [](const Settings& s) { return data::crop(s.integer("height"), s.integer("width")); }},
    {{"flip", "mirrors half of the pictures, left to right"}, [](const Settings&) { return data::flip(); }},
    {{"noise", "adds normal noise", {{"deviation", Kind::kNumber, "0.1", "of the noise", 0}}},
     [](const Settings& s) { return data::noise(static_cast<float>(s.number("deviation"))); }},
};

// Mean and deviation of a dataset's inputs (or targets): per column of a table, per channel of pictures, or of all.
void statistics(const data::Dataset& set, bool of_target, std::vector<float>& mean, std::vector<float>& deviation) {
  const InputSpec spec = of_target ? set.target() : set.input();
  const int64_t groups = spec.shape.size() == 1 || spec.shape.size() == 3 ? spec.shape[0] : 1;
  std::vector<double> sum(static_cast<size_t>(groups)), squares(static_cast<size_t>(groups));
  const int64_t rows = 256;
  const auto shaped = [&](const InputSpec& one) {
    Dims shape{rows};
    for (const int64_t size : one.shape) shape.push_back(size);
    return Tensor::empty(shape, one.dtype);
  };
  const Tensor x = shaped(set.input()), y = shaped(set.target());
  const Tensor& values = of_target ? y : x;
  const int64_t per_sample = values.numel() / rows, inner = per_sample / groups;
  for (int64_t first = 0; first < set.size(); first += rows) {
    const int64_t count = std::min(rows, set.size() - first);
    std::vector<int64_t> samples(static_cast<size_t>(count));
    for (int64_t i = 0; i < count; i++) samples[static_cast<size_t>(i)] = first + i;
    set.fetch(samples, slice(x, 0, 0, count), slice(y, 0, 0, count));
    const float* data = values.data<float>();
    for (int64_t i = 0; i < count * per_sample; i++) {
      const auto group = static_cast<size_t>(i % per_sample / inner);
      const double v = data[i];
      sum[group] += v, squares[group] += v * v;
    }
  }
  const double count = static_cast<double>(set.size() * inner);
  for (size_t g = 0; g < sum.size(); g++) {
    const double m = sum[g] / count, variance = std::max(0.0, squares[g] / count - m * m);
    mean.push_back(static_cast<float>(m));
    deviation.push_back(variance > 1e-12 ? static_cast<float>(std::sqrt(variance)) : 1.0F);  // a constant stays 0
  }
}

Tensor labels_of(const Settings& s, const Tensor& y, int64_t& classes) {
  const Tensor numbers = to(y.rank() == 2 && y.size(1) == 1 ? reshape(y, {y.size(0)}) : y, kI64);
  if (numbers.rank() != 1) s.fail("the loss needs one label per sample, but targets are lists of numbers");
  Tensor values = contiguous(numbers);
  const Tensor back = to(values, y.dtype());
  const Tensor given = contiguous(reshape(y, {y.size(0)}));
  for (int64_t i = 0; i < values.numel(); i++) {
    const int64_t label = values.data<int64_t>()[i];
    if (label < 0 || label > 1'000'000 || (y.dtype() == kF32 && back.data<float>()[i] != given.data<float>()[i]))
      s.fail(
          fmt::format("the label of sample {} is no whole number from 0 to 1,000,000 — for other numbers take another "
                      "loss: [loss] type = \"mse\"",
                      i));
    classes = std::max(classes, label + 1);
  }
  return values;
}

std::string shape_words(const Dims& shape) {
  std::string out;
  for (const int64_t size : shape) out += (out.empty() ? "" : " x ") + std::to_string(size);
  return out;
}

DataSource make_tensor_source(const Settings& s, Samples samples, bool labels) {
  DataSource out;
  Task& task = out.task;
  task.reconstructs = s.flag("reconstruct");
  task.class_names = samples.class_names;
  task.columns = samples.columns;
  if (task.reconstructs) samples.y = samples.x, samples.test_y = samples.test_x;
  if (!samples.y.defined()) s.fail("there are inputs but no targets — name them, or set reconstruct = true");
  if (samples.x.size(0) != samples.y.size(0))
    s.fail(fmt::format("there are {} inputs but {} targets", samples.x.size(0), samples.y.size(0)));
  if (labels) {
    samples.y = labels_of(s, samples.y, task.classes);
    if (samples.test_y.defined()) samples.test_y = labels_of(s, samples.test_y, task.classes);
  } else if (!task.reconstructs) {
    samples.y = to(samples.y, kF32);
    if (samples.test_y.defined()) samples.test_y = to(samples.test_y, kF32);
  }

  const double held_back = s.number("held_back");
  const auto seed = static_cast<uint64_t>(s.integer("seed"));
  const auto part = [&] {
    if (samples.test_x.defined()) {
      out.train = std::make_unique<data::TensorDataset>(samples.x, samples.y);
      out.test = std::make_unique<data::TensorDataset>(samples.test_x, samples.test_y);
    } else if (held_back > 0) {
      out.whole = std::make_unique<data::TensorDataset>(samples.x, samples.y);
      data::Split parts = data::split(*out.whole, held_back, seed);
      out.train = std::make_unique<data::Subset>(std::move(parts.train));
      out.test = std::make_unique<data::Subset>(std::move(parts.test));
    } else {
      out.train = std::make_unique<data::TensorDataset>(samples.x, samples.y);
    }
  };
  part();
  if (s.flag("normalize") && !labels && !task.reconstructs) {  // targets to the scale of what a model begins with
    statistics(*out.train, true, task.target_mean, task.target_deviation);
    const Tensor mean = Tensor::from(task.target_mean), deviation = Tensor::from(task.target_deviation);
    samples.y = divide(subtract(samples.y, mean), deviation);
    if (samples.test_y.defined()) samples.test_y = divide(subtract(samples.test_y, mean), deviation);
    part();
  }
  if (s.flag("normalize") && out.train->input().dtype == kF32) {
    statistics(*out.train, false, task.mean, task.deviation);
    out.always.push_back(data::normalize(task.mean, task.deviation));
  }
  return out;
}

DataSource make_text_source(const Settings& s, int64_t batch) {
  const std::string text = read_source(s.text("file"));
  DataSource out;
  bool used[256] = {};
  for (const unsigned char c : text) used[c] = true;
  int32_t number[256] = {};
  for (int c = 0; c < 256; c++)
    if (used[c])
      number[c] = static_cast<int32_t>(out.task.vocabulary.size()), out.task.vocabulary += static_cast<char>(c);
  out.task.classes = static_cast<int64_t>(out.task.vocabulary.size());

  const auto held = static_cast<size_t>(s.number("held_back") * static_cast<double>(text.size()));
  const auto tokens = [&](size_t begin, size_t end) {
    std::vector<int32_t> list;
    for (size_t i = begin; i < end; i++) list.push_back(number[static_cast<unsigned char>(text[i])]);
    return list;
  };
  const int64_t length = s.integer("length");
  out.shuffle = !s.flag("continuous");
  out.task.rows = out.shuffle ? 0 : batch;
  out.train = std::make_unique<data::TokenDataset>(tokens(0, text.size() - held), length, out.shuffle ? 0 : batch);
  if (held > 0) out.test = std::make_unique<data::TokenDataset>(tokens(text.size() - held, text.size()), length, batch);
  return out;
}

}  // namespace

Choices data_choices() { return choices_of(kData); }
Choices transform_choices() { return choices_of(kTransforms); }

DataSource load_data(const Value& section, int64_t batch, bool labels) {
  const Settings s(section);
  const DataRow& row = row_of(kData, section);
  DataSource out;
  try {
    out = row.load != nullptr ? make_tensor_source(s, row.load(s), labels) : make_text_source(s, batch);
    for (const Value& each : s.value("transforms").list) {
      const Settings transform(each);
      out.augment.push_back(row_of(kTransforms, each).make(transform));
      if (transform.type() == "crop")
        out.always.insert(out.always.begin(),
                          data::center_crop(transform.integer("height"), transform.integer("width")));
    }
  } catch (const Error& e) {
    if (std::string_view(e.what()).find('\n') != std::string_view::npos) throw;  // it points at a line already
    s.fail(e.what());
  }
  const InputSpec input = out.train->input();
  out.task.input = input.shape;
  out.task.input_type = input.dtype;
  out.task.target = out.train->target().shape;
  for (const data::TransformPtr& t : out.always) out.task.input = t->shape(out.task.input);
  out.about = fmt::format("{} samples of {}{}", grouped(out.train->size()), shape_words(out.task.input),
                          out.task.vocabulary.empty() ? "" : " characters");
  if (out.test != nullptr) out.about += fmt::format(", {} to test with", grouped(out.test->size()));
  return out;
}

std::string read_source(const std::string& path) {
  if (!path.starts_with("recipe:")) return io::read_file(path);
  const EmbeddedFile* file = find_embedded(path.substr(7));
  if (file == nullptr) throw Error(fmt::format("the program has no file \"{}\"", path.substr(7)));
  return std::string(file->text());
}

std::string cache_folder(const std::string& name) {
  const char *cache = std::getenv("XDG_CACHE_HOME"), *home = std::getenv("HOME");
  if (cache != nullptr && *cache != '\0') return std::string(cache) + "/ingot/" + name;
  return std::string(home != nullptr ? home : ".") + "/.cache/ingot/" + name;
}

}  // namespace ingot::cli
