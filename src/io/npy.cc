// npy: "\x93NUMPY", a version, the header's length, a Python dictionary {'descr', 'fortran_order', 'shape'}, the
// elements.
#include "io/npy.h"

#include <algorithm>
#include <optional>

#include "ingot/base/error.h"
#include "ingot/base/text.h"
#include "ingot/io/io.h"

namespace ingot::io {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr uint32_t kLongestHeader = 1 << 16;

struct TypeName {
  DType dtype;
  const char* name;
};
constexpr TypeName kTypes[] = {{kF32, "<f4"}, {kF64, "<f8"},  {kI32, "<i4"}, {kI64, "<i8"},
                               {kU8, "|u1"},  {kBool, "|b1"}, {kF16, "<f2"}};

// The header's dictionary, of which only the one form is understood that NumPy writes: three keys, each once.
class HeaderReader {
 public:
  HeaderReader(const Source& source, std::string_view text) : source_(source), text_(text) {}

  NpyHeader read() {
    expect('{');
    while (!accept('}')) {
      const std::string_view key = string();
      expect(':');
      if (key == "descr" && !dtype_)
        dtype_ = type();
      else if (key == "fortran_order" && !fortran_)
        fortran_ = boolean();
      else if (key == "shape" && !shape_)
        shape_ = tuple();
      else
        source_.fail("the header has an unknown or second key " + in_quotes(key));
      if (!accept(',')) {
        expect('}');
        break;
      }
    }
    skip();
    if (!text_.empty()) source_.fail("the header goes on behind its dictionary");
    if (!dtype_ || !fortran_ || !shape_) source_.fail("the header lacks 'descr', 'fortran_order' or 'shape'");
    return {*dtype_, *fortran_, *shape_};
  }

 private:
  void skip() {
    while (!text_.empty() && (text_[0] == ' ' || text_[0] == '\n')) text_.remove_prefix(1);
  }
  bool accept(std::string_view word) {
    skip();
    if (!text_.starts_with(word)) return false;
    text_.remove_prefix(word.size());
    return true;
  }
  bool accept(char c) { return accept(std::string_view(&c, 1)); }
  void expect(char c) {
    if (!accept(c))
      source_.fail(std::string("the header should have '") + c + "' before " + in_quotes(text_.substr(0, 20)));
  }
  std::string_view string() {
    const char quote = accept('"') ? '"' : '\'';
    if (quote == '\'') expect('\'');
    const size_t end = text_.find(quote);
    if (end == std::string_view::npos) source_.fail("a text in the header has no end");
    const std::string_view result = text_.substr(0, end);
    text_.remove_prefix(end + 1);
    return result;
  }
  bool boolean() {
    if (accept("True")) return true;
    if (!accept("False")) source_.fail("'fortran_order' is neither True nor False");
    return false;
  }
  DType type() {
    skip();
    if (text_.starts_with('[')) source_.fail("it is a structured array — save its fields one by one");
    const std::string_view name = string();
    for (const TypeName& type : kTypes)
      if (name == type.name) return type.dtype;
    const bool big = name.starts_with('>');
    source_.fail("its type is " + in_quotes(name) + (big ? ", big-endian" : "") +
                 " — save it as one of <f4, <f8, <i4, <i8, |u1, |b1, <f2: a.astype(" + (big ? "'<f4'" : "'f4'") + ")");
  }
  int64_t number() {
    skip();
    int64_t value = 0;
    size_t digits = 0;
    for (; digits < text_.size() && text_[digits] >= '0' && text_[digits] <= '9'; digits++)
      if (__builtin_mul_overflow(value, int64_t{10}, &value) ||
          __builtin_add_overflow(value, text_[digits] - '0', &value))
        source_.fail("a size in 'shape' is beyond 63 bits");
    if (digits == 0) source_.fail("'shape' should have a size of 0 or more before " + in_quotes(text_.substr(0, 20)));
    text_.remove_prefix(digits);
    accept('L');  // what Python 2 wrote
    return value;
  }
  Dims tuple() {
    Dims shape;
    expect('(');
    while (!accept(')')) {
      if (shape.size() == kMaxRank) source_.fail("it has more than " + std::to_string(kMaxRank) + " dimensions");
      shape.push_back(number());
      if (accept(',')) continue;
      if (shape.size() == 1) source_.fail("'shape' is a number, not a tuple");
      expect(')');
      break;
    }
    return shape;
  }

  const Source& source_;
  std::string_view text_;
  std::optional<DType> dtype_;
  std::optional<bool> fortran_;
  std::optional<Dims> shape_;
};

Dims reversed(Dims dims) {
  std::reverse(dims.begin(), dims.end());
  return dims;
}

}  // namespace

NpyHeader read_npy_header(Source& source) {
  char start[8];
  if (source.size() < 10) source.fail("it is too short to be an npy file");
  source.read(start, sizeof start);
  if (std::string_view(start, 6) != kMagic) source.fail("it does not begin as npy files do");
  if (start[6] < 1 || start[6] > 3 || start[7] != 0)
    source.fail("version " + std::to_string(start[6]) + "." + std::to_string(start[7]) +
                " of the format is unknown — 1.0, 2.0 and 3.0 are");
  const uint32_t length = start[6] == 1 ? source.read<uint16_t>() : source.read<uint32_t>();
  if (length > kLongestHeader) source.fail("its header claims " + std::to_string(length) + " bytes, far too many");
  std::string text(std::min<uint64_t>(length, source.left()), '\0');
  if (text.size() < length) source.fail("it ends in its header");
  source.read(text.data(), length);
  NpyHeader header = HeaderReader(source, text).read();
  uint64_t bytes = 0;
  if (!byte_count(header.shape, header.dtype, bytes) || bytes != source.left())
    source.fail("its shape " + to_string(header.shape) + " of " + name(header.dtype) + " does not fit the " +
                std::to_string(source.left()) + " bytes of elements");
  return header;
}

Tensor read_npy(Source& source) {
  const NpyHeader header = read_npy_header(source);
  if (!header.fortran_order || header.shape.size() < 2) return read_tensor(source, header.shape, header.dtype);
  const Tensor turned = read_tensor(source, reversed(header.shape), header.dtype);
  return row_major(turned.view(turned.raw(), header.shape, reversed(turned.strides())));
}

std::string npy_header(const char* op, const Tensor& t) {
  const auto type =
      std::find_if(std::begin(kTypes), std::end(kTypes), [&](auto& each) { return each.dtype == t.dtype(); });
  if (type == std::end(kTypes))
    throw Error(ErrorKind::kType, std::string(op) + ": NumPy has no " + name(t.dtype()) +
                                      " — convert with to(x, kF32), or save as safetensors");
  std::string text = std::string("{'descr': '") + type->name + "', 'fortran_order': False, 'shape': (";
  for (int i = 0; i < t.rank(); i++) {
    if (i > 0) text += ' ';
    text += std::to_string(t.shape()[i]);
    if (t.rank() == 1 || i + 1 < t.rank()) text += ',';
  }
  text += "), }";
  // As NumPy does: room for the first size to grow, then up to a multiple of 64 with the line's end.
  if (t.rank() > 0) text += std::string(21 - std::to_string(t.shape()[0]).size(), ' ');
  text += std::string(63 - (kMagic.size() + 4 + text.size()) % 64, ' ') + '\n';
  const uint16_t length = static_cast<uint16_t>(text.size());
  std::string header(kMagic);
  header += '\1';
  header += '\0';
  header += static_cast<char>(length & 255);
  header += static_cast<char>(length >> 8);
  return header + text;
}

Tensor load_npy(const std::string& path) {
  FileSource file("load_npy", path);
  return read_npy(file);
}

Tensor parse_npy(std::span<const std::byte> bytes) {
  MemorySource memory("parse_npy", bytes);
  return read_npy(memory);
}

void save_npy(const std::string& path, const Tensor& t) {
  const Tensor elements = to_write("save_npy", "", t);
  const std::string header = npy_header("save_npy", elements);
  AtomicFile file(path);
  file.write(header);
  file.write(bytes_of(elements));
  file.commit();
}

}  // namespace ingot::io
