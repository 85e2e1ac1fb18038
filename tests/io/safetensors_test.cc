// safetensors: the same files as Python's, and nothing that is not one.
#include <gtest/gtest.h>

#include <cmath>

#include "hostile.h"
#include "ingot/base/error.h"
#include "ingot/io/io.h"
#include "ingot/ops/ops.h"
#include "temporary.h"
#include "tests/error_of.h"

namespace ingot::io {
namespace {

const char* const kGolden = "all_types.safetensors";

std::string file_of(const std::string& header, const std::string& data = "") {
  std::string length(8, '\0');
  for (int i = 0; i < 8; i++) length[static_cast<size_t>(i)] = static_cast<char>(header.size() >> (8 * i));
  return length + header + data;
}
void parse(const std::string& bytes) { parse_safetensors(as_span(bytes)); }
// A file with one tensor "t", as the header's text says.
std::string one(const std::string& entry, size_t data = 4) {
  return file_of("{\"t\":" + entry + "}", std::string(data, '\0'));
}

TEST(SafeTensors, ReadsWhatPythonWrote) {
  const SafeTensors file = load_safetensors(golden_path(kGolden));
  EXPECT_EQ(file.tensors.size(), 11u);
  EXPECT_EQ(file.metadata, (Metadata{{"epoch", "3"}, {"note", "grün \\ \t"}}));
  const Tensor& weight = file["layer.0.weight"];
  EXPECT_EQ(weight.shape(), (Dims{2, 3}));
  EXPECT_EQ(weight.to_vector<float>(), (std::vector<float>{-1, -0.75, -0.5, -0.25, 0, 0.25}));
  const std::vector<float> bias = file["layer.0.bias"].to_vector<float>();
  EXPECT_TRUE(std::signbit(bias[1]) && bias[1] == 0 && std::isinf(bias[2]));
  EXPECT_EQ(file["double"].to_vector<double>(), (std::vector<double>{1e-300, 2.5, -1.0 / 3}));
  EXPECT_EQ(file["step"].rank(), 0);
  EXPECT_EQ(file["step"].data<int64_t>()[0], 123456789012345);
  EXPECT_EQ(file["int"].shape(), (Dims{2, 1}));
  EXPECT_EQ(file["int"].to_vector<int32_t>(), (std::vector<int32_t>{-1, 2147483647}));
  EXPECT_EQ(to_float(file["half"].data<Half>()[1]), -65504);
  EXPECT_EQ(to_float(file["brain"].data<BFloat16>()[2]), -0.25);
  EXPECT_EQ(file["bytes"].to_vector<uint8_t>(), (std::vector<uint8_t>{0, 7, 255}));
  EXPECT_EQ(file["mask"].to_vector<bool>(), (std::vector<bool>{true, false, true}));
  EXPECT_EQ(file["nothing"].shape(), (Dims{0, 4}));
  EXPECT_EQ(file["名前 \"quoted\"\n"].item(), 3.25f);
  EXPECT_EQ(file.find("absent"), nullptr);
  const std::string error = error_of([&] { file["absent"]; });
  EXPECT_NE(error.find("no tensor \"absent\" among 11 — there are \"step\""), std::string::npos) << error;
}

TEST(SafeTensors, WritesTheSameBytesAsPython) {
  TemporaryFolder folder;
  SafeTensors file = load_safetensors(golden_path(kGolden));
  std::reverse(file.tensors.begin(), file.tensors.end());  // the order of the file does not depend on ours
  save_safetensors(folder / "copy", file.tensors, file.metadata);
  EXPECT_EQ(contents(folder / "copy"), golden(kGolden));
}

TEST(SafeTensors, WritesViewsAndNothing) {
  TemporaryFolder folder;
  const Tensor t = reshape(arange(0, 6), {2, 3});
  save_safetensors(folder / "views", std::vector<NamedTensor>{{"t", transpose(t)}, {"row", slice(t, 0, 1, 2)}});
  const SafeTensors file = load_safetensors(folder / "views");
  EXPECT_EQ(file["t"].shape(), (Dims{3, 2}));
  EXPECT_EQ(file["t"].to_vector<float>(), (std::vector<float>{0, 3, 1, 4, 2, 5}));
  EXPECT_EQ(file["row"].to_vector<float>(), (std::vector<float>{3, 4, 5}));
  save_safetensors(folder / "empty", {});
  EXPECT_EQ(contents(folder / "empty"), file_of("{}      "));
  EXPECT_TRUE(load_safetensors(folder / "empty").tensors.empty());
}

TEST(SafeTensors, InfoReadsNoElements) {
  const SafeTensorsInfo info = safetensors_info(golden_path(kGolden));
  const std::string bytes = golden(kGolden);
  ASSERT_EQ(info.tensors.size(), 11u);
  EXPECT_EQ(info.metadata.at("epoch"), "3");
  for (const TensorInfo& t : info.tensors) {
    EXPECT_EQ(t.offset % size_of(t.dtype), 0u) << t.name;
    if (t.name == "bytes") EXPECT_EQ(bytes.substr(t.offset, t.bytes), std::string("\0\7\377", 3));
  }
}

TEST(SafeTensors, RefusesToWriteWhatNobodyCouldRead) {
  TemporaryFolder folder;
  const Tensor t = zeros({2});
  const auto error = [&](std::vector<NamedTensor> tensors, Metadata metadata = {}) {
    return error_of([&] { save_safetensors(folder / "x", tensors, metadata); });
  };
  EXPECT_NE(error({{"a", t}, {"a", t}}).find("\"a\" is given twice"), std::string::npos);
  EXPECT_NE(error({{"__metadata__", t}}).find("is reserved"), std::string::npos);
  EXPECT_NE(error({{"a", Tensor()}}).find("\"a\" is undefined"), std::string::npos);
  EXPECT_NE(error({{"\xff", t}}).find("not UTF-8"), std::string::npos);
  EXPECT_NE(error({{"a", t}}, {{"k", "\xc3"}}).find("not UTF-8"), std::string::npos);
  EXPECT_TRUE(folder.list().empty());
}

TEST(SafeTensorsHostile, Beginnings) { cut_everywhere(golden(kGolden), parse); }
TEST(SafeTensorsHostile, FlippedBits) { flip_bits(golden(kGolden), parse, 5000, 64 << 10); }

TEST(SafeTensorsHostile, LyingHeaders) {
  const std::string good = "{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}";
  parse(one(good));
  const auto refused = [](const std::string& file, const std::string& words) {
    expect_refused(file, parse, words, 64 << 10);
  };
  refused("", "too short");
  refused(file_of(""), "not a JSON object");
  refused(file_of(" {}"), "not a JSON object");
  refused(file_of("[]"), "not a JSON object");
  refused(std::string("\xff\xff\xff\xff\xff\xff\xff\xff{}", 10), "does not begin as safetensors files do");
  refused(std::string("\x00\xe1\xf5\x05\x00\x00\x00\x00{}", 10), "was cut off in its header");
  refused(one(good, 5), "but there are 5");
  refused(one(good, 3), "the file was cut off");
  refused(one("{\"dtype\":\"F32\",\"shape\":[-1],\"data_offsets\":[0,4]}"), "a negative number");
  refused(one("{\"dtype\":\"F32\",\"shape\":[1.0],\"data_offsets\":[0,4]}"), "a fraction");
  refused(one("{\"dtype\":\"F32\",\"shape\":[1e0],\"data_offsets\":[0,4]}"), "a fraction");
  refused(one("{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,4]}"), "shape [2] of f32 but data_offsets [0, 4]");
  refused(one("{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[4,0]}"), "data_offsets [4, 0]");
  refused(one("{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[4,8]}", 8), "a gap before");
  refused(one("{\"dtype\":\"F32\",\"shape\":[4294967296,4294967296,2],\"data_offsets\":[0,4]}"), "data_offsets");
  refused(one("{\"dtype\":\"F32\",\"shape\":[4611686018427387904,4],\"data_offsets\":[0,0]}"), "data_offsets");
  refused(one("{\"dtype\":\"F32\",\"shape\":[18446744073709551615],\"data_offsets\":[0,4]}"), "beyond 63 bits");
  refused(one("{\"dtype\":\"F32\",\"shape\":[36893488147419103232],\"data_offsets\":[0,4]}"), "a fraction");
  refused(one("{\"dtype\":\"F32\",\"shape\":[1000000000000],\"data_offsets\":[0,4000000000000]}"), "cut off");
  refused(one("{\"dtype\":\"F32\",\"shape\":[1,1,1,1,1,1,1,1,1],\"data_offsets\":[0,4]}"), "more than 8 numbers");
  refused(one("{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4,8]}"), "more than 2 numbers");
  refused(one("{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0]}"), "lacks");
  refused(one("{\"dtype\":\"F32\",\"shape\":[1]}"), "lacks");
  refused(one("{\"dtype\":\"F32\",\"data_offsets\":[0,4]}"), "lacks");
  refused(one("{\"shape\":[1],\"data_offsets\":[0,4]}"), "lacks");
  refused(one("{}"), "lacks");
  refused(one("{\"dtype\":\"I16\",\"shape\":[2],\"data_offsets\":[0,4]}"), "of type \"I16\" — supported are F32");
  refused(one("{\"dtype\":7,\"shape\":[1],\"data_offsets\":[0,4]}"),
          "a number where the format has none, at \"dtype\"");
  refused(one("{\"dtype\":\"F32\",\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}"), "a string where");
  refused(one("{\"dtype\":\"F32\",\"shape\":[1],\"shape\":[1],\"data_offsets\":[0,4]}"), "a list where");
  refused(one("{\"dtype\":\"F32\",\"shape\":[[1]],\"data_offsets\":[0,4]}"), "a list where");
  refused(one("{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4],\"more\":\"x\"}"), "at \"more\"");
  refused(one("{\"dtype\":\"F32\",\"shape\":{},\"data_offsets\":[0,4]}"), "an object where");
  refused(one("null"), "is null, not an object");
  refused(one("[" + std::string(50000, '[')), "is a list, not an object");
  refused(one(std::string(50000, '{')), "no valid JSON");
  refused(file_of("{\"t\":" + good + ",\"t\":" + good + "}", "1234"), "two tensors are named \"t\"");
  refused(file_of("{\"t\":" + good + ",\"u\":" + good + "}", "1234"), "an overlap with tensor \"u\"");
  refused(file_of("{\"t\":" + good + "}}", "1234"), "no valid JSON");
  refused(file_of("{\"t\":" + good, "1234"), "no valid JSON");
  refused(file_of("{\"__metadata__\":{\"a\":\"1\",\"a\":\"2\"}}"), "two metadata are named \"a\"");
  refused(file_of("{\"__metadata__\":{\"a\":1}}"), "a number where");
  refused(file_of("{\"__metadata__\":\"a\"}"), "is a string, not an object");
  refused(file_of("{\"__metadata__\":{\"a\":{\"b\":{}}}}"), "an object where");
  refused(file_of("{\"\xff\":" + good + "}", "1234"), "no valid JSON");
  refused(one("{\"dtype\":\"BOOL\",\"shape\":[1],\"data_offsets\":[0,1]}", 0) + "\x07", "a bool has the value 7");
}

// A file of two terabytes that is all hole: no memory is taken for it.
TEST(SafeTensorsHostile, SparseFileBeyondMemory) {
  TemporaryFolder folder;
  const std::string path = folder / "sparse";
  std::ofstream(path, std::ios::binary) << file_of(
      "{\"t\":{\"dtype\":\"U8\",\"shape\":[2199023255552],\"data_offsets\":[0,2199023255552]}}");
  std::filesystem::resize_file(path, std::filesystem::file_size(path) + 2199023255552);
  EXPECT_EQ(safetensors_info(path).tensors[0].bytes, 2199023255552u);
  EXPECT_NE(error_of([&] { load_safetensors(path); }).find("cannot allocate 2.0 TiB"), std::string::npos);
}

}  // namespace
}  // namespace ingot::io
