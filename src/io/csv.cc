// Tables of numbers in text. Two passes over the same scanner: how large the table is, then its numbers.
#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <limits>
#include <utility>

#include "ingot/base/error.h"
#include "ingot/base/text.h"
#include "ingot/io/io.h"
#include "io/unpack.h"

namespace ingot::io {
namespace {

struct Field {
  std::string_view text;
  uint64_t line = 1, column = 1;      // where it begins; columns count fields
  bool quoted = false, last = false;  // last: of its row
};

// Field after field; lines without any are passed over.
class Scanner {
 public:
  Scanner(const Source& source, std::string_view text, char separator)
      : source_(source), text_(text), separator_(separator) {
    if (text_.starts_with("\xef\xbb\xbf")) at_ = 3;  // the mark that some programs begin UTF-8 with
  }

  bool next(Field& field) {
    if (column_ == 1)
      while (at_ < text_.size() && end_of_line()) pass_line();
    if (column_ == 1 && at_ == text_.size()) return false;
    field.line = line_;
    field.column = column_;
    field.quoted = at_ < text_.size() && text_[at_] == '"';
    field.text = field.quoted ? in_quotation_marks() : plain();
    field.last = at_ == text_.size() || end_of_line();
    if (field.last) {
      if (at_ < text_.size()) pass_line();
      column_ = 1;
    } else if (text_[at_] == separator_) {
      at_++;
      column_++;
    } else {
      source_.fail("line " + std::to_string(line_) + ", column " + std::to_string(column_) +
                   ": text follows the closing quotation mark");
    }
    return true;
  }

 private:
  bool end_of_line() const {
    return text_[at_] == '\n' || (text_[at_] == '\r' && (at_ + 1 == text_.size() || text_[at_ + 1] == '\n'));
  }
  void pass_line() {
    if (text_[at_] == '\r') at_++;
    if (at_ < text_.size()) at_++;
    line_++;
  }
  std::string_view plain() {
    const size_t begin = at_;
    while (at_ < text_.size() && text_[at_] != separator_ && !end_of_line()) at_++;
    return trimmed(text_.substr(begin, at_ - begin));
  }
  std::string_view in_quotation_marks() {
    const uint64_t line = line_;
    unquoted_.clear();
    for (at_++; at_ < text_.size(); at_++) {
      if (text_[at_] == '\n') line_++;
      if (text_[at_] == '"') {
        at_++;
        if (at_ == text_.size() || text_[at_] != '"') return unquoted_;
      }
      unquoted_ += text_[at_];
    }
    source_.fail("line " + std::to_string(line) + ", column " + std::to_string(column_) +
                 ": the quotation mark is never closed");
  }

  const Source& source_;
  std::string_view text_;
  char separator_;
  size_t at_ = 0;
  uint64_t line_ = 1, column_ = 1;
  std::string unquoted_;
};

bool is_missing(std::string_view text) {
  for (const char* each : {"", "NA", "N/A", "null", "None", "?"})
    if (text == each) return true;
  return false;
}

template <class T>
bool parse_field(std::string_view text, T& value) {
  text = trimmed(text);
  if (text.starts_with('+') && text.size() > 1 && text[1] != '-') text.remove_prefix(1);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (end != text.data() + text.size()) return false;
  if (error == std::errc::result_out_of_range && std::is_floating_point_v<T>) {  // beyond the type: infinity or zero
    value = static_cast<T>(std::strtod(std::string(text).c_str(), nullptr));
    return true;
  }
  return error == std::errc() && !text.empty();
}

// How often each of the characters stands in a line, outside quotation marks; `text` loses the line.
std::vector<int64_t> counts_in_line(std::string_view& text, std::string_view characters) {
  std::vector<int64_t> counts(characters.size(), 0);
  bool quoted = false;
  size_t at = 0;
  for (; at < text.size() && (quoted || text[at] != '\n'); at++) {
    if (text[at] == '"') quoted = !quoted;
    const size_t which = characters.find(text[at]);
    if (!quoted && which != std::string_view::npos) counts[which]++;
  }
  text.remove_prefix(std::min(at + 1, text.size()));
  return counts;
}

// Commas come last: they may be the decimal points of a table that is separated otherwise.
char guessed_separator(std::string_view text) {
  constexpr std::string_view kCandidates = "\t;|,";
  const std::vector<int64_t> first = counts_in_line(text, kCandidates);
  const std::vector<int64_t> second = trimmed(text).empty() ? first : counts_in_line(text, kCandidates);
  for (size_t i = 0; i < kCandidates.size(); i++)
    if (first[i] > 0 && first[i] == second[i]) return kCandidates[i];
  return ',';
}

class TableReader {
 public:
  TableReader(const Source& source, std::string_view text, const CsvOptions& options)
      : source_(source), text_(text), options_(options) {
    if (options_.separator == '\0') options_.separator = guessed_separator(text_);
  }

  Csv read() {
    const auto binary = std::find_if(text_.begin(), text_.end(), [](char c) {
      return static_cast<unsigned char>(c) < 32 && c != '\t' && c != '\n' && c != '\r';
    });
    if (binary != text_.end())
      source_.fail("byte " + std::to_string(binary - text_.begin()) + " is no text — is it a table?");
    measure();
    const bool header = has_header();
    Csv csv;
    csv.values = Tensor::empty({rows_ - (header ? 1 : 0), columns_}, options_.dtype);
    Scanner scanner(source_, text_, options_.separator);
    Field field;
    if (header)
      for (int64_t i = 0; i < columns_ && scanner.next(field); i++) names_.emplace_back(field.text);
    char* to = static_cast<char*>(csv.values.raw());
    for (; scanner.next(field); to += size_of(options_.dtype)) store(field, to);
    csv.columns = std::move(names_);
    csv.separator = options_.separator;
    return csv;
  }

 private:
  // Rows and columns; all rows must have as many.
  void measure() {
    Scanner scanner(source_, text_, options_.separator);
    for (Field field; scanner.next(field);) {
      if (rows_ == 0) {
        columns_ = static_cast<int64_t>(field.column);
        double number = 0;
        words_ = words_ || (!is_missing(field.text) && !parse_field(field.text, number));
      }
      if (field.last) {
        if (static_cast<int64_t>(field.column) != columns_)
          source_.fail("line " + std::to_string(field.line) + " has " + std::to_string(field.column) +
                       " fields, the first one " + std::to_string(columns_));
        rows_++;
      } else if (rows_ > 0 && static_cast<int64_t>(field.column) >= columns_) {
        source_.fail("line " + std::to_string(field.line) + " has more than the first one's " +
                     std::to_string(columns_) + " fields");
      }
    }
    if (rows_ == 0) source_.fail("it is empty");
  }
  bool has_header() const {
    return options_.header == CsvOptions::Header::kYes || (options_.header == CsvOptions::Header::kGuess && words_);
  }
  std::string place(const Field& field) const {
    const size_t i = field.column - 1;
    return "line " + std::to_string(field.line) + ", column " + std::to_string(field.column) +
           (i < names_.size() ? " (" + in_quotes(names_[i]) + ")" : "") + ": ";
  }
  // What a field that is no number may be.
  std::string hint(std::string_view text) const {
    std::string with_point(text);
    std::replace(with_point.begin(), with_point.end(), ',', '.');
    double number = 0;
    if (with_point != text && parse_field(with_point, number)) return " — write decimals with a point";
    if (columns_ == 1 && text.find_first_of(" :/;|\t,") != std::string_view::npos)
      return " — what separates the columns? Set \"separator\"";
    return "";
  }
  void store(const Field& field, void* to) const {
    if (is_missing(field.text)) {
      if (!options_.missing_is_nan)
        source_.fail(place(field) + "the value is missing" + " — fill it in, or leave the line out");
      return store_from_double(to, options_.dtype, std::numeric_limits<double>::quiet_NaN());
    }
    if (is_float(options_.dtype)) {
      double value = 0;
      if (!parse_field(field.text, value))
        source_.fail(place(field) + in_quotes(field.text) + " is not a number" + hint(field.text));
      return store_from_double(to, options_.dtype, value);
    }
    int64_t value = 0;
    const bool narrow = options_.dtype == kI32;
    if (!parse_field(field.text, value) || (narrow && value != static_cast<int32_t>(value)))
      source_.fail(place(field) + in_quotes(field.text) + " is not a whole number of " + (narrow ? "32" : "64") +
                   " bits");
    if (narrow)
      *static_cast<int32_t*>(to) = static_cast<int32_t>(value);
    else
      *static_cast<int64_t*>(to) = value;
  }

  const Source& source_;
  std::string_view text_;
  CsvOptions options_;
  int64_t rows_ = 0, columns_ = 0;
  bool words_ = false;  // the first row has something that is no number
  std::vector<std::string> names_;
};

Csv read_csv(Source& source, const CsvOptions& options) {
  if (!is_number(options.dtype))
    source.fail(std::string("a table cannot be read as ") + name(options.dtype) + " — use f32, f64, i32 or i64");
  if (options.missing_is_nan && !is_float(options.dtype))
    source.fail("missing_is_nan needs f32 or f64: whole numbers have no NaN");
  if (options.separator == '"' || options.separator == '\n' || options.separator == '\r')
    source.fail("quotation marks and line ends cannot separate fields");
  const Tensor text = read_unpacked(source, options.limits);
  return TableReader(source, {static_cast<const char*>(text.raw()), static_cast<size_t>(text.numel())}, options).read();
}

}  // namespace

Csv load_csv(const std::string& path, const CsvOptions& options) {
  FileSource file("load_csv", path);
  return read_csv(file, options);
}

Csv parse_csv(std::span<const std::byte> bytes, const CsvOptions& options) {
  MemorySource memory("parse_csv", bytes);
  return read_csv(memory, options);
}

}  // namespace ingot::io
