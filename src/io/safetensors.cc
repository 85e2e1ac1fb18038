// safetensors: the header's length (u64), a JSON header {"name": {"dtype", "shape", "data_offsets"}, …, "__metadata__":
// {…}}, and the elements, in the order of their offsets, without gaps.
#include "io/safetensors.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <unordered_set>

#include "ingot/base/error.h"
#include "ingot/base/text.h"

namespace ingot::io {
namespace {

constexpr uint64_t kLongestHeader = 100'000'000;  // the reference implementation's bound
constexpr const char* kMetadataName = "__metadata__";

// In the order in which the reference implementation lays tensors down: wide elements first, so that all are aligned.
struct TypeName {
  DType dtype;
  const char* name;
};
constexpr TypeName kTypes[] = {{kI64, "I64"},   {kF64, "F64"}, {kF32, "F32"}, {kI32, "I32"},
                               {kBF16, "BF16"}, {kF16, "F16"}, {kU8, "U8"},   {kBool, "BOOL"}};

int rank_of(DType dtype) {
  return static_cast<int>(
      std::find_if(std::begin(kTypes), std::end(kTypes), [&](auto& t) { return t.dtype == dtype; }) - kTypes);
}

// Takes the header's JSON apart as it is read, so that nothing is built that the format does not know: one object of
// objects, with arrays of whole numbers and strings inside.
class HeaderReader : public nlohmann::json_sax<nlohmann::json> {
 public:
  HeaderReader(const Source& source, SafeTensorsInfo& info) : source_(source), info_(info) {}

  bool start_object(size_t) override {
    if (at_ == At::kNothing) return go(At::kFile);
    if (at_ != At::kFile) unexpected("an object");
    if (name_ == kMetadataName) return go(At::kMetadata);
    entry_ = {};
    return go(At::kTensor);
  }
  bool key(std::string& text) override {
    if (at_ == At::kFile) {
      if (!names_.insert(text).second) source_.fail("two tensors are named " + in_quotes(text));
      name_ = text;
    } else {
      field_ = text;
    }
    return true;
  }
  bool string(std::string& text) override {
    if (at_ == At::kMetadata) {
      if (!info_.metadata.emplace(field_, text).second) source_.fail("two metadata are named " + in_quotes(field_));
    } else if (at_ == At::kTensor && field_ == "dtype" && !entry_.dtype) {
      entry_.dtype = type_named(text);
    } else {
      unexpected("a string");
    }
    return true;
  }
  bool start_array(size_t) override {
    if (at_ != At::kTensor) unexpected("a list");
    std::optional<std::vector<int64_t>>* const list = field_ == "shape"          ? &entry_.shape
                                                      : field_ == "data_offsets" ? &entry_.offsets
                                                                                 : nullptr;
    if (list == nullptr || *list) unexpected("a list");
    list_ = &list->emplace();
    return go(At::kList);
  }
  bool end_array() override { return go(At::kTensor); }
  bool number_unsigned(uint64_t value) override {
    if (at_ != At::kList) unexpected("a number");
    if (value > static_cast<uint64_t>(INT64_MAX)) source_.fail(of_tensor() + " has a number beyond 63 bits");
    const size_t most = field_ == "shape" ? kMaxRank : 2;
    if (list_->size() == most)
      source_.fail(of_tensor() + " has more than " + std::to_string(most) + " numbers in " + field_);
    list_->push_back(static_cast<int64_t>(value));
    return true;
  }
  bool end_object() override {
    if (at_ == At::kFile) return go(At::kEnd);
    if (at_ == At::kTensor) add_tensor();
    return go(At::kFile);
  }
  bool number_integer(int64_t) override { unexpected("a negative number"); }
  bool number_float(double, const std::string&) override { unexpected("a fraction"); }
  bool null() override { unexpected("null"); }
  bool boolean(bool) override { unexpected("true or false"); }
  bool binary(nlohmann::json::binary_t&) override { unexpected("binary data"); }
  bool parse_error(size_t position, const std::string&, const nlohmann::json::exception&) override {
    source_.fail("the header is no valid JSON at its byte " + std::to_string(position));
  }

 private:
  enum class At { kNothing, kFile, kMetadata, kTensor, kList, kEnd };
  struct Entry {
    std::optional<DType> dtype;
    std::optional<std::vector<int64_t>> shape, offsets;
  };

  bool go(At at) {
    at_ = at;
    return true;
  }
  std::string of_tensor() const { return "the header's entry " + in_quotes(name_); }
  [[noreturn]] void unexpected(const char* what) const {
    if (at_ == At::kNothing) source_.fail("the header is not a JSON object");
    if (at_ == At::kFile) source_.fail(of_tensor() + " is " + what + ", not an object");
    source_.fail(of_tensor() + " has " + what + " where the format has none, at " + in_quotes(field_));
  }
  DType type_named(const std::string& text) const {
    for (const TypeName& type : kTypes)
      if (text == type.name) return type.dtype;
    source_.fail(of_tensor() + " is of type " + in_quotes(text) +
                 " — supported are F32, F64, I32, I64, U8, BOOL, F16 and BF16");
  }
  void add_tensor() {
    if (!entry_.dtype || !entry_.shape || !entry_.offsets || entry_.offsets->size() != 2)
      source_.fail(of_tensor() + " lacks its dtype, shape or two data_offsets");
    const uint64_t begin = static_cast<uint64_t>((*entry_.offsets)[0]),
                   end = static_cast<uint64_t>((*entry_.offsets)[1]);
    const Dims shape(*entry_.shape);
    uint64_t bytes = 0;
    if (!byte_count(shape, *entry_.dtype, bytes) || end < begin || bytes != end - begin)
      source_.fail(of_tensor() + " says shape " + to_string(shape) + " of " + name(*entry_.dtype) +
                   " but data_offsets [" + std::to_string(begin) + ", " + std::to_string(end) + "]");
    info_.tensors.push_back({name_, *entry_.dtype, shape, begin, bytes});
  }

  const Source& source_;
  SafeTensorsInfo& info_;
  At at_ = At::kNothing;
  std::string name_, field_;
  Entry entry_;
  std::vector<int64_t>* list_ = nullptr;
  std::unordered_set<std::string> names_;
};

SafeTensors read_tensors(Source& source) {
  SafeTensorsInfo info = read_directory(source);
  SafeTensors file{{}, std::move(info.metadata)};
  file.tensors.reserve(info.tensors.size());
  for (TensorInfo& t : info.tensors) file.tensors.push_back({std::move(t.name), read_tensor(source, t.shape, t.dtype)});
  return file;
}

std::string json_string(const std::string& text) {
  try {
    return nlohmann::json(text).dump();
  } catch (const nlohmann::json::exception&) {
    throw Error("save_safetensors: " + in_quotes(text) + " is not UTF-8 text");
  }
}

std::string header_of(std::span<const NamedTensor* const> tensors, const Metadata& metadata) {
  std::string header = "{", comma;
  if (!metadata.empty()) {
    header += json_string(kMetadataName) + ":{";
    for (const auto& [key, value] : metadata) {
      header += std::exchange(comma, ",") + json_string(key) + ":" + json_string(value);
    }
    header += "}";
  }
  uint64_t offset = 0;
  for (const NamedTensor* each : tensors) {
    const Tensor& t = each->tensor;
    const uint64_t end = offset + static_cast<uint64_t>(t.numel()) * size_of(t.dtype());
    header += std::exchange(comma, ",") + json_string(each->name) + ":{\"dtype\":\"" + kTypes[rank_of(t.dtype())].name +
              "\",\"shape\":[";
    for (int i = 0; i < t.rank(); i++) {
      if (i > 0) header += ',';
      header += std::to_string(t.shape()[i]);
    }
    header += "],\"data_offsets\":[" + std::to_string(offset) + "," + std::to_string(end) + "]}";
    offset = end;
  }
  header += "}";
  header.resize((header.size() + 7) / 8 * 8, ' ');  // so that the elements are aligned
  return header;
}

}  // namespace

SafeTensorsInfo read_directory(Source& source) {
  if (source.size() < 8) source.fail("it is too short to be a safetensors file");
  const uint64_t length = source.read<uint64_t>();
  if (length > kLongestHeader || length > source.left())
    source.fail("it does not begin as safetensors files do, or was cut off in its header");
  std::string header(length, '\0');
  source.read(header.data(), length);
  if (header.empty() || header[0] != '{') source.fail("the header is not a JSON object — is it a safetensors file?");

  SafeTensorsInfo info;
  HeaderReader reader(source, info);
  nlohmann::json::sax_parse(header, &reader);
  std::stable_sort(info.tensors.begin(), info.tensors.end(), [](const TensorInfo& a, const TensorInfo& b) {
    return a.offset != b.offset ? a.offset < b.offset : a.bytes < b.bytes;
  });
  uint64_t next = 0;
  for (TensorInfo& t : info.tensors) {
    if (t.offset != next)
      source.fail(std::string("there is ") + (t.offset > next ? "a gap before" : "an overlap with") + " tensor " +
                  in_quotes(t.name) + ", which begins at byte " + std::to_string(t.offset) + " and not " +
                  std::to_string(next));
    next += t.bytes;
    t.offset += 8 + length;
  }
  if (next != source.left())
    source.fail("its tensors take " + std::to_string(next) + " bytes, but there are " + std::to_string(source.left()) +
                (next > source.left() ? " — the file was cut off" : ""));
  return info;
}

const Tensor* SafeTensors::find(std::string_view name) const {
  for (const NamedTensor& each : tensors)
    if (each.name == name) return &each.tensor;
  return nullptr;
}

const Tensor& SafeTensors::operator[](std::string_view name) const {
  if (const Tensor* found = find(name)) return *found;
  std::string there;
  for (size_t i = 0; i < std::min<size_t>(tensors.size(), 8); i++) {
    if (i > 0) there += ", ";
    there += in_quotes(tensors[i].name);
  }
  if (tensors.size() > 8) there += ", …";
  throw Error("safetensors: there is no tensor " + in_quotes(name) + " among " + std::to_string(tensors.size()) +
              (there.empty() ? "" : " — there are " + there));
}

SafeTensors load_safetensors(const std::string& path) {
  FileSource file("load_safetensors", path);
  return read_tensors(file);
}

SafeTensors parse_safetensors(std::span<const std::byte> bytes) {
  MemorySource memory("parse_safetensors", bytes);
  return read_tensors(memory);
}

SafeTensorsInfo safetensors_info(const std::string& path) {
  FileSource file("safetensors_info", path);
  return read_directory(file);
}

void save_safetensors(const std::string& path, std::span<const NamedTensor> tensors, const Metadata& metadata) {
  std::vector<const NamedTensor*> order;
  std::unordered_set<std::string_view> names{kMetadataName};
  for (const NamedTensor& each : tensors) {
    if (!names.insert(each.name).second)
      throw Error("save_safetensors: the name " + in_quotes(each.name) +
                  (each.name == kMetadataName ? " is reserved" : " is given twice") + " — give every tensor its own");
    if (!each.tensor.defined() || each.tensor.is_symbolic()) to_write("save_safetensors", each.name, each.tensor);
    order.push_back(&each);
  }
  std::sort(order.begin(), order.end(), [](const NamedTensor* a, const NamedTensor* b) {
    const int left = rank_of(a->tensor.dtype()), right = rank_of(b->tensor.dtype());
    return left != right ? left < right : a->name < b->name;
  });
  const std::string header = header_of(order, metadata);
  if (header.size() > kLongestHeader)
    throw Error("save_safetensors: names and metadata take " + std::to_string(header.size()) +
                " bytes — the format allows " + std::to_string(kLongestHeader));
  AtomicFile file(path);
  const uint64_t length = header.size();
  file.write(std::as_bytes(std::span(&length, 1)));
  file.write(header);
  for (const NamedTensor* each : order) file.write(bytes_of(to_write("save_safetensors", each->name, each->tensor)));
  file.commit();
}

}  // namespace ingot::io
