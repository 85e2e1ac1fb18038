// npy and npz: what NumPy writes, and what it reads.
#include <gtest/gtest.h>

#include "hostile.h"
#include "ingot/base/error.h"
#include "ingot/io/io.h"
#include "ingot/ops/ops.h"
#include "temporary.h"
#include "tests/error_of.h"

namespace ingot::io {
namespace {

void parse(const std::string& bytes) { parse_npy(as_span(bytes)); }
void parse_archive(const std::string& bytes) { parse_npz(as_span(bytes)); }
std::string error_in(const std::string& name) {
  return error_of([&] { load_npy(golden_path(name)); });
}
std::vector<double> numbers(const Tensor& t) { return to(t, kF64).to_vector<double>(); }
std::vector<float> count(int n) { return arange(0, n).to_vector<float>(); }

const std::vector<std::pair<const char*, DType>> kTypes = {{"f4", kF32}, {"f8", kF64},  {"i4", kI32}, {"i8", kI64},
                                                           {"u1", kU8},  {"b1", kBool}, {"f2", kF16}};

TEST(Npy, ReadsEveryType) {
  for (const auto& [name, dtype] : kTypes) {
    const Tensor t = load_npy(golden_path(std::string("type_") + name + ".npy"));
    EXPECT_EQ(t.dtype(), dtype) << name;
    EXPECT_EQ(t.shape(), (Dims{2, 3})) << name;
    const std::vector<double> wanted = dtype == kBool                   ? std::vector<double>{1, 1, 0, 1, 1, 1}
                                       : dtype == kU8                   ? std::vector<double>{1, 0, 0, 0, 1, 1}
                                       : dtype == kI32 || dtype == kI64 ? std::vector<double>{-1, 0, 0, 0, 1, 1}
                                                                        : std::vector<double>{-1, -0.5, 0, 0.5, 1, 1.5};
    EXPECT_EQ(numbers(t), wanted) << name;
  }
  EXPECT_EQ(load_npy(golden_path("scalar.npy")).rank(), 0);
  EXPECT_EQ(load_npy(golden_path("scalar.npy")).item(), 2.5f);
  EXPECT_EQ(load_npy(golden_path("vector.npy")).to_vector<int64_t>(), (std::vector<int64_t>{0, 1, 2, 3, 4}));
  EXPECT_EQ(load_npy(golden_path("empty.npy")).shape(), (Dims{0, 3}));
}

TEST(Npy, WritesTheSameBytesAsNumPy) {
  TemporaryFolder folder;
  for (const char* name :
       {"type_f4", "type_f8", "type_i4", "type_i8", "type_u1", "type_b1", "type_f2", "scalar", "vector", "empty"}) {
    save_npy(folder / "out.npy", load_npy(golden_path(std::string(name) + ".npy")));
    EXPECT_EQ(contents(folder / "out.npy"), golden(std::string(name) + ".npy")) << name;
  }
}

TEST(Npy, FortranOrderInAllVersions) {
  for (const char* name : {"fortran_v1.npy", "fortran_v2.npy", "fortran_v3.npy"}) {
    const Tensor t = load_npy(golden_path(name));
    EXPECT_EQ(t.shape(), (Dims{2, 3, 4}));
    EXPECT_TRUE(t.is_contiguous());
    EXPECT_EQ(t.to_vector<float>(), count(24)) << name;
    const Tensor mapped = map_npy(golden_path(name));
    EXPECT_EQ(mapped.strides(), (Dims{1, 2, 6}));
    EXPECT_EQ(mapped.to_vector<float>(), count(24)) << name;
  }
}

TEST(Npy, SaysWhatItCannotRead) {
  EXPECT_NE(error_in("big_endian.npy").find("\">f4\", big-endian — save it as"), std::string::npos)
      << error_in("big_endian.npy");
  EXPECT_NE(error_in("complex.npy").find("type is \"<c8\""), std::string::npos) << error_in("complex.npy");
  EXPECT_NE(error_in("structured.npy").find("structured array"), std::string::npos) << error_in("structured.npy");
  TemporaryFolder folder;
  EXPECT_NE(error_of([&] { save_npy(folder / "x", to(zeros({2}), kBF16)); }).find("NumPy has no bf16"),
            std::string::npos);
  EXPECT_NE(error_of([&] { save_npy(folder / "x", Tensor()); }).find("is undefined"), std::string::npos);
  EXPECT_TRUE(folder.list().empty());
}

std::string npy(const std::string& dictionary, const std::string& data) {
  return std::string("\x93NUMPY\1\0", 8) + static_cast<char>(dictionary.size()) + '\0' + dictionary + data;
}

TEST(NpyHostile, Beginnings) {
  cut_everywhere(golden("type_f8.npy"), parse);
  cut_everywhere(golden("fortran_v3.npy"), parse);
}
TEST(NpyHostile, FlippedBits) {
  for (const char* name : {"type_b1.npy", "fortran_v2.npy", "scalar.npy"})
    flip_bits(golden(name), parse, 3000, 64 << 10);
}
TEST(NpyHostile, LyingHeaders) {
  const auto refused = [](const std::string& dictionary, const std::string& words, const std::string& data = "1234") {
    expect_refused(npy(dictionary, data), parse, words, 64 << 10);
  };
  parse(npy("{'descr':'<f4','fortran_order':False,'shape':(1,)}", "1234"));
  parse(npy("{\"shape\": (1L, 1L), 'fortran_order': True, 'descr': \"<f4\", } \n", "1234"));
  refused("{'descr':'<f4','fortran_order':False,'shape':(2,)}", "[2] of f32 does not fit the 4 bytes");
  refused("{'descr':'<f4','fortran_order':False,'shape':(1,)}", "does not fit the 5 bytes", "12345");
  refused("{'descr':'<f4','fortran_order':False,'shape':(-1,)}", "a size of 0 or more");
  refused("{'descr':'<f4','fortran_order':False,'shape':(99999999999999999999,)}", "beyond 63 bits");
  refused("{'descr':'<f4','fortran_order':False,'shape':(4294967296,4294967296,4294967296)}", "does not fit");
  refused("{'descr':'<f4','fortran_order':True,'shape':(9223372036854775807,9223372036854775807)}", "does not fit");
  refused("{'descr':'<f4','fortran_order':False,'shape':(1000000000000,)}", "does not fit");
  refused("{'descr':'<f4','fortran_order':False,'shape':(1,1,1,1,1,1,1,1,1)}", "more than 8 dimensions");
  refused("{'descr':'<f4','fortran_order':False,'shape':(1)}", "a number, not a tuple");
  refused("{'descr':'<f4','fortran_order':False,'shape':(1,}", "a size of 0 or more");
  refused("{'descr':'<f4','fortran_order':0,'shape':(1,)}", "neither True nor False");
  refused("{'descr':'<f4','fortran_order':False}", "lacks");
  refused("{'descr':'<f4','descr':'<f4','fortran_order':False,'shape':(1,)}", "second key \"descr\"");
  refused("{'descr':'<f4','fortran_order':False,'shape':(1,)} x", "goes on behind");
  refused("{'descr':'<f4", "has no end");
  refused("{" + std::string(100, '{'), "should have '''");
  refused("", "should have '{'");
  refused("{'descr':'|b1','fortran_order':False,'shape':(4,)}", "a bool has the value");
  refused("{'descr':'|O','fortran_order':False,'shape':(1,)}", "type is \"|O\"");
  expect_refused(std::string("\x93NUMPY\4\0\1\0\0\0", 12), parse, "version 4.0");
  expect_refused(std::string("\x93NUMPY\2\0\xff\xff\xff\xff", 12), parse, "claims 4294967295 bytes");
  expect_refused("not a numpy file at all", parse, "does not begin");
}

TEST(Npz, ReadsWhatNumPyWrote) {
  for (const char* name : {"stored.npz", "deflated.npz", "zip64.npz"}) {
    const std::vector<NamedTensor> file = load_npz(golden_path(name));
    ASSERT_EQ(file.size(), 3u) << name;
    EXPECT_EQ(file[0].name, "weight");
    EXPECT_EQ(file[0].tensor.shape(), (Dims{2, 3, 4}));
    EXPECT_EQ(file[0].tensor.to_vector<float>(), count(24));
    EXPECT_EQ(file[1].name, "labels");
    EXPECT_EQ(file[1].tensor.to_vector<int64_t>(), (std::vector<int64_t>{0, 1, 2, 3, 4}));
    EXPECT_EQ(file[2].tensor.to_vector<bool>(), (std::vector<bool>{true, false}));
  }
}

TEST(Npz, WritesWhatItReads) {
  TemporaryFolder folder;
  const std::vector<NamedTensor> tensors = {
      {"a", transpose(reshape(arange(0, 6), {2, 3}))}, {"ä/b", zeros({100, 100})}, {"none", zeros({0})}};
  for (bool compress : {false, true}) {
    save_npz(folder / "x.npz", tensors, compress);
    const std::vector<NamedTensor> back = load_npz(folder / "x.npz");
    ASSERT_EQ(back.size(), 3u);
    for (size_t i = 0; i < 3; i++) {
      EXPECT_EQ(back[i].name, tensors[i].name);
      EXPECT_EQ(back[i].tensor.shape(), tensors[i].tensor.shape());
      EXPECT_EQ(back[i].tensor.to_vector<float>(), tensors[i].tensor.to_vector<float>());
    }
    EXPECT_EQ(contents(folder / "x.npz").size() < 2000, compress);
  }
  save_npz(folder / "none.npz", {});
  EXPECT_TRUE(load_npz(folder / "none.npz").empty());
  EXPECT_NE(error_of([&] {
              save_npz(folder / "y", std::vector<NamedTensor>{{"a", zeros({1})}, {"a", zeros({1})}});
            }).find("given twice"),
            std::string::npos);
}

// tools/golden_files.py shows that NumPy reads this file.
TEST(Npz, WritesWhatNumPyReads) {
  TemporaryFolder folder;
  save_npz(folder / "x.npz", std::vector<NamedTensor>{{"weight", reshape(arange(0, 24), {2, 3, 4})},
                                                      {"labels", arange(0, 5, 1, kI64)},
                                                      {"mask", Tensor::from(std::vector<bool>{true, false})},
                                                      {"ä", to(arange(0, 3), kF16)},
                                                      {"none", zeros({0, 2})}});
  EXPECT_EQ(contents(folder / "x.npz"), golden("written.npz"));
}

TEST(NpzHostile, Beginnings) {
  cut_everywhere(golden("stored.npz"), parse_archive);
  cut_everywhere(golden("deflated.npz"), parse_archive);
  cut_everywhere(golden("zip64.npz"), parse_archive);
}
TEST(NpzHostile, FlippedBits) {
  flip_bits(golden("stored.npz"), parse_archive, 3000, 256 << 10);
  flip_bits(golden("deflated.npz"), parse_archive, 3000, 256 << 10);
  flip_bits(golden("zip64.npz"), parse_archive, 3000, 256 << 10);
}

// Every element that a flipped bit could change is under a checksum.
TEST(NpzHostile, DamagedElementsAreFound) {
  std::string bytes = golden("stored.npz");
  bytes[bytes.find("NUMPY") + 200] ^= 1;
  expect_refused(bytes, parse_archive, "CRC");
}

// A copy of a golden with some bytes of its directory or its local headers replaced.
std::string changed(std::string bytes, const std::string& record, size_t offset, const std::string& value) {
  const size_t at = bytes.rfind(record);
  return bytes.replace(at + offset, value.size(), value);
}

TEST(NpzHostile, LyingDirectories) {
  const std::string stored = golden("stored.npz"), deflated = golden("deflated.npz");
  const std::string central = "PK\1\2", end = "PK\5\6";
  const auto refused = [](const std::string& file, const std::string& words) {
    expect_refused(file, parse_archive, words, 256 << 10);
  };
  refused(changed(stored, central, 24, "\xff\xff\xff\x7f"), "two different lengths");
  refused(changed(deflated, central, 24, "\xff\xff\xff\x7f"), "cannot hold the 2147483647 they claim");
  refused(changed(deflated, central, 24, std::string("\0\1\0\0", 4)), "does not fit the");
  refused(changed(stored, central, 20, "\xff\xff\xff\xff"), "two different lengths");
  refused(changed(deflated, central, 20, "\xff\xff\xff\x7f"), "does not fit into the archive");
  refused(changed(stored, central, 42, "\xff\xff\xff\x7f"), "not where the directory says");
  refused(changed(stored, central, 42, std::string(4, '\0')), "has another name");
  refused(changed(stored, central, 8, "\1"), "is encrypted");
  refused(changed(stored, central, 10, "\x0e"), "method 14");
  refused(changed(stored, central, 28, "\xff\xff"), "directory is damaged");
  refused(changed(stored, end, 10, "\xff\xff"), "one part of several");
  refused(changed(changed(stored, end, 10, "\xff\xff"), end, 8, "\xff\xff"), "directory is damaged");
  refused(changed(stored, end, 16, "\xff\xff\xff\xff"), "directory is damaged");
  refused(changed(stored, end, 12, "\xff\xff\xff\xff"), "directory is damaged");
  refused(changed(stored, end, 20, "\1"), "does not end as zip archives do");
  refused("", "too short");
}

// One entry, told twice under two names in the directory: how a small archive unpacks to much.
TEST(NpzHostile, OverlappingAndDoubleEntries) {
  TemporaryFolder folder;
  save_npz(folder / "x", std::vector<NamedTensor>{{"a", zeros({4})}, {"b", zeros({4})}});
  std::string bytes = contents(folder / "x");
  const size_t first = bytes.find("PK\1\2"), second = bytes.rfind("PK\1\2");
  std::string same_place = bytes;
  same_place.replace(second + 42, 4, bytes.substr(first + 42, 4));
  expect_refused(same_place, parse_archive, "has another name");
  same_place[bytes.rfind("b.npy")] = 'a';
  expect_refused(same_place, parse_archive, "two entries are named \"a.npy\"");
}

TEST(Map, LooksAtTheFile) {
  TemporaryFolder folder;
  const std::string path = folder / "x.npy";
  save_npy(path, reshape(arange(0, 12), {3, 4}));
  const std::string before = contents(path);
  Tensor t = map_npy(path);
  EXPECT_EQ(t.to_vector<float>(), count(12));
  t.data<float>()[0] = 77;  // changes our copy of the page, not the file
  EXPECT_EQ(contents(path), before);
  save_npy(path, zeros({3, 4}));  // replaces the file; the mapping keeps the old one
  EXPECT_EQ(t.to_vector<float>()[11], 11);
  EXPECT_EQ(map_npy(golden_path("empty.npy")).shape(), (Dims{0, 3}));
  EXPECT_EQ(map_npy(golden_path("scalar.npy")).item(), 2.5f);
}

TEST(Map, SafeTensors) {
  const SafeTensors mapped = map_safetensors(golden_path("all_types.safetensors")),
                    loaded = load_safetensors(golden_path("all_types.safetensors"));
  ASSERT_EQ(mapped.tensors.size(), loaded.tensors.size());
  EXPECT_EQ(mapped.metadata, loaded.metadata);
  for (size_t i = 0; i < mapped.tensors.size(); i++) {
    EXPECT_EQ(mapped.tensors[i].name, loaded.tensors[i].name);
    EXPECT_EQ(numbers(mapped.tensors[i].tensor), numbers(loaded.tensors[i].tensor));
  }
}

// Elements that a strange header moved to an odd address are copied; a damaged file is refused as by the readers.
TEST(Map, OddAddressesAndDamage) {
  TemporaryFolder folder;
  const std::string header = "{\"t\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}} ";
  std::string bytes(8, '\0');
  bytes[0] = static_cast<char>(header.size());
  const float values[] = {1.5f, -2};
  bytes += header + std::string(reinterpret_cast<const char*>(values), 8);
  ASSERT_NE((8 + header.size()) % 4, 0u);
  write_file(folder / "odd", bytes);
  EXPECT_EQ(map_safetensors(folder / "odd")["t"].to_vector<float>(), (std::vector<float>{1.5f, -2}));
  write_file(folder / "cut", std::string_view(bytes).substr(0, bytes.size() - 1));
  EXPECT_NE(error_of([&] { map_safetensors(folder / "cut"); }).find("cut off"), std::string::npos);
  write_file(folder / "cut", golden("type_b1.npy").substr(0, 130));
  EXPECT_NE(error_of([&] { map_npy(folder / "cut"); }).find("does not fit"), std::string::npos);
  std::string wrong = golden("type_b1.npy");
  wrong.back() = 5;
  write_file(folder / "bool", wrong);
  EXPECT_NE(error_of([&] { map_npy(folder / "bool"); }).find("a bool has the value 5"), std::string::npos);
}

}  // namespace
}  // namespace ingot::io
