#include "cli/data_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "cli/board_source.h"
#include "cli/embedded.h"
#include "cli/page.h"
#include "cli/sampling.h"
#include "cli/scaling.h"
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
  std::vector<int64_t> column_numbers = {};
  int64_t table_columns = 0;
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

// Takes the columns of a table that are inputs, and the one that is the target (none when inputs are reconstructed).
// A trained model finds its own by their names, in whatever order.
void take_columns(const Settings& s, const io::Csv& table, const Task* trained, Samples& out) {
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
  if (trained != nullptr && !trained->columns.empty() && !table.columns.empty()) {
    inputs = columns_named(table, trained->columns);
    if (std::find(inputs.begin(), inputs.end(), target) != inputs.end())
      s.fail("target", fmt::format("\"{}\" is an input of the model — name the target's column",
                                   table.columns[static_cast<size_t>(target)]));
  } else {
    for (int64_t i = 0; i < columns; i++)
      if (!left_out[static_cast<size_t>(i)]) inputs.push_back(i);
  }
  if (inputs.empty()) s.fail("file", "no column is left as an input");
  out.x = with_shape(index_select(table.values, Tensor::from(inputs), 1), s, "shape");
  if (target >= 0) out.y = reshape(slice(table.values, 1, target, target + 1), {rows, 1});
  if (!table.columns.empty())
    for (const int64_t i : inputs) out.columns.push_back(table.columns[static_cast<size_t>(i)]);
  out.column_numbers = inputs, out.table_columns = columns;
}

Samples load_table(const Settings& s, const Task* trained) {
  const io::CsvOptions options = csv_options(s);
  Samples out;
  take_columns(s, io::parse_csv(bytes_of(read_source(s.text("file"))), options), trained, out);
  if (s.has("test_file")) {
    Task of_train;
    of_train.columns = out.columns;
    Samples test;
    take_columns(s, io::parse_csv(bytes_of(read_source(s.text("test_file"))), options), &of_train, test);
    out.test_x = test.x, out.test_y = test.y;
  }
  return out;
}

Samples load_digits(const Settings&, const Task*) {
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

Samples load_mnist(const Settings& s, const Task*) {
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

// Pictures of the folder at `key`; with `classes`, labels are places among those, whichever of them the folder has.
Samples load_pictures_at(const Settings& s, const char* key, const std::vector<std::string>& classes) {
  const io::PictureFolder folder = io::load_png_folder(s.text(key));
  if (classes.empty() || folder.classes == classes) return {folder.x, folder.y, {}, {}, folder.classes, {}};
  std::vector<int64_t> numbers;
  for (const std::string& name : folder.classes) {
    const auto found = std::find(classes.begin(), classes.end(), name);
    if (found == classes.end())
      s.fail(key, fmt::format("there is no class (subfolder) \"{}\" — {}", name, suggestion(name, classes)));
    numbers.push_back(found - classes.begin());
  }
  return {folder.x, index_select(Tensor::from(numbers), to(folder.y, kI64), 0), {}, {}, classes, {}};
}

Samples load_pictures(const Settings& s, const Task* trained) {
  Samples out = load_pictures_at(s, "folder", trained != nullptr ? trained->class_names : std::vector<std::string>());
  if (s.has("test_folder")) {
    const Samples test = load_pictures_at(s, "test_folder", out.class_names);
    out.test_x = test.x, out.test_y = test.y;
  }
  return out;
}

struct DataRow {
  Choice choice;
  Samples (*load)(const Settings&, const Task* trained);  // nullptr: a text, or boards
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
     [](const Settings& s, const Task*) -> Samples {
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
     [](const Settings& s, const Task*) -> Samples {
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
    {life_choice(), nullptr},
    {checkerboard_choice(), nullptr},
    {grow_choice(), nullptr},
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

std::string shape_words(const Dims& shape) {
  std::string out;
  for (const int64_t size : shape) out += (out.empty() ? "" : " x ") + std::to_string(size);
  return out;
}

// Targets in the shape and type that the loss takes.
Tensor as_targets(const Settings& s, const Tensor& y, Targets targets, Task& task, const Task* trained) {
  if (targets == Targets::kLabels) {
    int64_t classes = 0;
    Tensor labels = labels_of(s, y, classes);
    if (trained != nullptr && classes > trained->classes)
      s.fail(fmt::format("there is a label {}, but the model knows {} classes: 0 to {}", classes - 1, trained->classes,
                         trained->classes - 1));
    task.classes = std::max(
        {task.classes, classes, static_cast<int64_t>(task.class_names.size()), trained ? trained->classes : 0});
    return labels;
  }
  Tensor numbers = task.reconstructs ? y : to(y.rank() == 1 ? reshape(y, {y.size(0), 1}) : y, kF32);
  if (targets == Targets::kShares) check_shares(s, to(numbers, kF32));
  return numbers;
}

DataSource make_tensor_source(const Settings& s, Samples samples, Targets targets, const Task* trained) {
  DataSource out;
  Task& task = out.task;
  task.reconstructs = s.flag("reconstruct");
  task.class_names = samples.class_names;
  task.columns = samples.columns;
  task.column_numbers = samples.column_numbers, task.table_columns = samples.table_columns;
  if (task.reconstructs) samples.y = samples.x, samples.test_y = samples.test_x;
  if (!samples.y.defined()) s.fail("there are inputs but no targets — name them, or set reconstruct = true");
  if (samples.x.size(0) != samples.y.size(0))
    s.fail(fmt::format("there are {} inputs but {} targets", samples.x.size(0), samples.y.size(0)));
  if (samples.test_x.defined() != samples.test_y.defined()) s.fail("to test with, there must be inputs and targets");
  samples.y = as_targets(s, samples.y, targets, task, trained);
  if (samples.test_y.defined()) samples.test_y = as_targets(s, samples.test_y, targets, task, trained);

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
  // Both to the scale of what a model begins with. A trained one stays with the scale that it has learned.
  const bool normalize = s.flag("normalize") && trained == nullptr;
  Scale scale;
  if (trained != nullptr) scale = {trained->target_mean, trained->target_deviation};
  if (normalize && targets == Targets::kNumbers && !task.reconstructs) scale = target_scale(*out.train);
  task.target_mean = scale.mean, task.target_deviation = scale.deviation;
  if (!scale.mean.empty()) {
    const Tensor mean = Tensor::from(scale.mean), deviation = Tensor::from(scale.deviation);
    samples.y = divide(subtract(samples.y, mean), deviation);
    if (samples.test_y.defined()) samples.test_y = divide(subtract(samples.test_y, mean), deviation);
    part();
  }
  scale = {};
  if (trained != nullptr) scale = {trained->mean, trained->deviation};
  if (normalize && out.train->input().dtype == kF32) scale = input_scale(*out.train);
  task.mean = scale.mean, task.deviation = scale.deviation;
  if (!scale.mean.empty()) out.always.push_back(data::normalize(scale.mean, scale.deviation));
  return out;
}

DataSource make_text_source(const Settings& s, int64_t batch, const Task* trained) {
  const std::string text = read_source(s.text("file"));
  DataSource out;
  std::string& vocabulary = out.task.vocabulary;
  if (trained != nullptr) {
    vocabulary = trained->vocabulary;
  } else {
    bool used[256] = {};
    for (const unsigned char c : text) used[c] = true;
    for (int c = 0; c < 256; c++)
      if (used[c]) vocabulary += static_cast<char>(c);
  }
  int32_t number[256];
  std::fill(std::begin(number), std::end(number), -1);
  for (size_t i = 0; i < vocabulary.size(); i++)
    number[static_cast<unsigned char>(vocabulary[i])] = static_cast<int32_t>(i);
  for (const char c : text)
    if (number[static_cast<unsigned char>(c)] < 0)
      s.fail("file", fmt::format("the model has never seen the character {} of this text", shown_character(c)));
  out.task.classes = static_cast<int64_t>(vocabulary.size());
  size_t first = 1;  // bytes of the first character: UTF-8 goes on with 10xxxxxx
  while (first < text.size() && (static_cast<unsigned char>(text[first]) & 0xc0) == 0x80) first++;
  out.prompt = vocabulary.find('\n') != std::string::npos ? "\n" : text.substr(0, first);

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

DataSource load_data(const Value& section, int64_t batch, Targets targets, const Task* trained) {
  const Settings s(section);
  const DataRow& row = row_of(kData, section);
  DataSource out;
  try {
    const bool text = s.type() == std::string_view("text");
    if (trained != nullptr && text != !trained->vocabulary.empty())
      s.fail(fmt::format("the model is {} of text", trained->vocabulary.empty() ? "none" : "one"));
    out = row.load != nullptr ? make_tensor_source(s, row.load(s, trained), targets, trained)
          : text              ? make_text_source(s, batch, trained)
                              : make_board_source(s, batch);
    for (const Value& each : s.value("transforms").list) {
      const Settings transform(each);
      out.augment.push_back(row_of(kTransforms, each).make(transform));
      if (transform.type() == "crop")
        out.always.insert(out.always.begin(),
                          data::center_crop(transform.integer("height"), transform.integer("width")));
    }
  } catch (const PlacedError&) {
    throw;
  } catch (const Error& e) {
    s.fail(e.what());
  }
  const InputSpec input = out.train->input();
  out.task.input = input.shape;
  out.task.input_type = input.dtype;
  out.task.target = out.train->target().shape;
  for (const data::TransformPtr& t : out.always) out.task.input = t->shape(out.task.input);
  if (!out.about.empty()) return out;
  out.about = fmt::format("{} samples of {}{}", grouped(out.train->size()), shape_words(out.task.input),
                          out.task.vocabulary.empty() ? "" : " characters");
  if (out.test != nullptr) out.about += fmt::format(", {} to test with", grouped(out.test->size()));
  return out;
}

std::vector<int64_t> columns_named(const io::Csv& table, const std::vector<std::string>& names) {
  std::vector<int64_t> numbers;
  for (const std::string& name : names) {
    const auto found = std::find(table.columns.begin(), table.columns.end(), name);
    if (found == table.columns.end())
      throw Error(fmt::format("the table has no column \"{}\", which the model needs", name));
    numbers.push_back(found - table.columns.begin());
  }
  return numbers;
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
