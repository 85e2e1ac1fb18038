// [data] out of files: tables, arrays, pictures.
#include <fmt/format.h>

#include <algorithm>

#include "ingot/base/error.h"
#include "ingot/io/io.h"
#include "ingot/ops/functions.h"
#include "ingot/ops/ops.h"
#include "ingot/recipe/run_folder.h"
#include "recipe/core_types.h"

namespace ingot::recipe {
namespace {

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
  if (separator != "guess" && separator.size() != 1) s.fail("separator", "a separator is one character, or guess");
  if (separator != "guess") options.separator = separator[0];
  using Header = io::CsvOptions::Header;
  if (header != "guess" && header != "yes" && header != "no") s.fail("header", "\"header\" is guess, yes or no");
  options.header = header == "guess" ? Header::kGuess : header == "yes" ? Header::kYes : Header::kNo;
  return options;
}

int64_t column_number(const char* key, const Value& column, const io::Csv& table) {
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
                                                              did_you_mean(column.text, table.columns)));
  return found - table.columns.begin();
}

// Takes the columns of a table that are inputs, and the one that is the target (none when inputs are reconstructed).
// A trained model finds its own by their names, in whatever order.
void take_columns(const Settings& s, const io::Csv& table, const Task* trained, Samples& out) {
  const int64_t rows = table.values.size(0), columns = table.values.size(1);
  std::vector<bool> left_out(static_cast<size_t>(columns), false);
  int64_t target = -1;
  if (!s.flag("reconstruct")) {
    target = column_number("target", s.value("target"), table);
    left_out[static_cast<size_t>(target)] = true;
  }
  for (const Value& each : s.value("ignore").list)
    left_out[static_cast<size_t>(column_number("ignore", each, table))] = true;
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

io::Csv read_table(const SourceRequest& r, const char* key) {
  const std::string& path = r.s.text(key);
  const io::CsvOptions options = csv_options(r.s);
  if (!path.starts_with("recipe:")) return io::load_csv(path, options);
  return io::parse_csv(bytes_of(read_source(path, r.catalogue)), options);
}

std::string separator_text(char c) { return c == '\t' ? "tabs" : fmt::format("\"{}\"", c); }

Samples load_table(const SourceRequest& r) {
  const Settings& s = r.s;
  Samples out;
  const io::Csv table = read_table(r, "file");
  take_columns(s, table, r.trained, out);
  if (s.text("separator") == "guess" && table.separator != ',')
    out.guessed = fmt::format("columns are separated by {}, it seems", separator_text(table.separator));
  if (s.has("test_file")) {
    Task of_train;
    of_train.columns = out.columns;
    Samples test;
    take_columns(s, read_table(r, "test_file"), &of_train, test);
    out.test_x = test.x, out.test_y = test.y;
  }
  return out;
}

Samples load_digits(const SourceRequest& r) {
  const io::Csv table = io::parse_csv(r.catalogue.file("digits.csv.gz")->bytes());
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

Samples load_mnist(const SourceRequest& r) {
  const Settings& s = r.s;
  const std::string folder = s.has("folder") ? s.text("folder") : cache_folder("mnist");
  const auto file = [&](const std::string& name) {
    for (const char* ending : {"", ".gz"})
      if (std::string path = fmt::format("{}/{}{}", folder, name, ending); is_file(path)) return path;
    throw Error(ErrorKind::kFile,
                fmt::format("\"{}\" has no MNIST ({}) — `ingot data get mnist` fetches it", folder, name));
  };
  return {idx(file("train-images-idx3-ubyte")), idx(file("train-labels-idx1-ubyte")),
          idx(file("t10k-images-idx3-ubyte")), idx(file("t10k-labels-idx1-ubyte"))};
}

// Pictures of the folder at `key`; with `classes`, labels are places among those, whichever of them the folder has.
Samples load_pictures_at(const Settings& s, const char* key, const std::vector<std::string>& classes) {
  const io::PictureFolder folder = io::load_png_folder(s.text(key));
  if (classes.empty() || folder.classes == classes) return {folder.x, folder.y, {}, {}, folder.classes, {}};
  std::vector<int64_t> numbers;
  for (const std::string& name : folder.classes) {
    const auto found = std::find(classes.begin(), classes.end(), name);
    if (found == classes.end())
      s.fail(key, fmt::format("there is no class (subfolder) \"{}\" — {}", name, did_you_mean(name, classes)));
    numbers.push_back(found - classes.begin());
  }
  return {folder.x, index_select(Tensor::from(numbers), to(folder.y, kI64), 0), {}, {}, classes, {}};
}

Samples load_pictures(const SourceRequest& r) {
  const Settings& s = r.s;
  Samples out =
      load_pictures_at(s, "folder", r.trained != nullptr ? r.trained->class_names : std::vector<std::string>());
  if (s.has("test_folder")) {
    const Samples test = load_pictures_at(s, "test_folder", out.class_names);
    out.test_x = test.x, out.test_y = test.y;
  }
  return out;
}

Samples load_idx(const SourceRequest& r) {
  return {idx(r.s.text("images")), optional(r.s, "labels", idx), optional(r.s, "test_images", idx),
          optional(r.s, "test_labels", idx)};
}

Samples load_npy(const SourceRequest& r) {
  return {with_shape(npy(r.s.text("x")), r.s, "shape"), optional(r.s, "y", npy),
          with_shape(optional(r.s, "test_x", npy), r.s, "shape"), optional(r.s, "test_y", npy)};
}

template <Samples (*load)(const SourceRequest&)>
DataSource files(const SourceRequest& r) {
  return source_of(r, load(r));
}

const Key kShape{"shape", Kind::kIntegers, nullptr, "of a sample, if it is not as in the file: [1, 8, 8]"};

}  // namespace

std::vector<SourceType> file_sources() {
  return {
      {{"digits", "1,797 handwritten digits of 8 x 8 pixels, which are in the program"}, files<load_digits>},
      {{"mnist",
        "70,000 handwritten digits of 28 x 28 pixels, 10,000 of them for the test; `ingot data get mnist` fetches them",
        {{"folder", Kind::kPath, nullptr, "where the four IDX files are, if not where `ingot data get` puts them"}}},
       files<load_mnist>},
      {{"csv",
        "a table of numbers, plain or .gz",
        {{"file", Kind::kPath, "", "the table"},
         {"test_file", Kind::kPath, nullptr, "a table to test with; then nothing is held back of the first"},
         {"target", Kind::kColumn, "-1",
          "the column to predict: its name or number; negative numbers count from the last"},
         {"ignore", Kind::kColumns, "[]", "columns that are no inputs"},
         {"header", Kind::kText, R"("guess")", "is the first line one? guess, yes or no"},
         {"separator", Kind::kText, R"("guess")",
          "what stands between columns: one character; guess: a tab, semicolon, bar or comma, as the first two lines "
          "have them"},
         kShape}},
       files<load_table>},
      {{"idx",
        "IDX files (MNIST's format), plain or .gz",
        {{"images", Kind::kPath, "", "inputs"},
         {"labels", Kind::kPath, nullptr, "targets"},
         {"test_images", Kind::kPath, nullptr, "inputs to test with; then nothing is held back of the others"},
         {"test_labels", Kind::kPath, nullptr, "their targets"}}},
       files<load_idx>},
      {{"npy",
        "arrays that NumPy saved; the files stay where they are and are read as needed",
        {{"x", Kind::kPath, "", "inputs, a row per sample"},
         {"y", Kind::kPath, nullptr, "targets"},
         {"test_x", Kind::kPath, nullptr, "inputs to test with; then nothing is held back of the others"},
         {"test_y", Kind::kPath, nullptr, "their targets"},
         kShape}},
       files<load_npy>},
      {{"png_folder",
        "pictures in subfolders, one per class, all of one size",
        {{"folder", Kind::kPath, "", "the folder of the subfolders"},
         {"test_folder", Kind::kPath, nullptr, "pictures to test with; then nothing is held back of the others"}}},
       files<load_pictures>},
  };
}

std::vector<int64_t> columns_named(const io::Csv& table, const std::vector<std::string>& names) {
  std::vector<int64_t> numbers;
  for (const std::string& name : names) {
    const auto found = std::find(table.columns.begin(), table.columns.end(), name);
    if (found == table.columns.end())
      throw Error(ErrorKind::kFile, fmt::format("the table has no column \"{}\", which the model needs", name));
    numbers.push_back(found - table.columns.begin());
  }
  return numbers;
}

}  // namespace ingot::recipe
