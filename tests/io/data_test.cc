// CSV, IDX, pictures and event files.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>

#include "base/os/file.h"
#include "hostile.h"
#include "ingot/base/error.h"
#include "ingot/io/io.h"
#include "ingot/ops/ops.h"
#include "temporary.h"
#include "tests/error_of.h"

namespace ingot::io {
namespace {

using Header = CsvOptions::Header;

Csv csv(const std::string& text, const CsvOptions& options = {}) { return parse_csv(as_span(text), options); }
std::string csv_error(const std::string& text, const CsvOptions& options = {}) {
  return error_of([&] { csv(text, options); });
}
void expect_error(const std::string& error, const std::string& words) {
  EXPECT_NE(error.find(words), std::string::npos) << error;
}

TEST(Csv, ReadsTables) {
  for (const char* name : {"table.csv", "table.csv.gz"}) {
    const Csv table = load_csv(golden_path(name));
    EXPECT_EQ(table.columns, (std::vector<std::string>{"length", "width", "class, or so"}));
    EXPECT_EQ(table.values.shape(), (Dims{3, 3}));
    EXPECT_EQ(table.values.to_vector<float>(), (std::vector<float>{1.5, 2, 0, -3e-2f, 4, 1, 7, .5, 2})) << name;
  }
}

TEST(Csv, HeadersSeparatorsAndTypes) {
  EXPECT_TRUE(csv("1,2\n3,4\n").columns.empty());
  EXPECT_EQ(csv("1,2\n3,4\n", {.header = Header::kYes}).columns, (std::vector<std::string>{"1", "2"}));
  EXPECT_EQ(csv("a\n").values.shape(), (Dims{0, 1}));
  EXPECT_EQ(csv("\xef\xbb\xbf"
                "1;2",
                {.separator = ';'})
                .values.to_vector<float>(),
            (std::vector<float>{1, 2}));
  EXPECT_EQ(csv("1 \t 2\r\n", {.separator = '\t'}).values.to_vector<float>(), (std::vector<float>{1, 2}));
  EXPECT_EQ(csv("\"a\"\"b\n c\",d\n1,2").columns, (std::vector<std::string>{"a\"b\n c", "d"}));
  const std::vector<int64_t> large = {9007199254740993, -9223372036854775807 - 1};
  EXPECT_EQ(csv("9007199254740993\n-9223372036854775808\n", {.dtype = kI64}).values.to_vector<int64_t>(), large);
  EXPECT_EQ(csv("1e-310,1e400,-inf,1e-400\n", {.dtype = kF64}).values.to_vector<double>(),
            (std::vector<double>{1e-310, HUGE_VAL, -HUGE_VAL, 0}));
}

TEST(Csv, GuessesSeparators) {
  const std::vector<float> numbers = {1, 2, 3, 4};
  for (const char c : {',', ';', '\t', '|'}) {
    for (std::string text : {"1_2\n3_4\n", "a_b\n1_2\n3_4\n", "\"a;,|\"_b\n1_2\n3_4\n"}) {
      std::replace(text.begin(), text.end(), '_', c);
      EXPECT_EQ(csv(text).separator, c) << text;
      EXPECT_EQ(csv(text).values.to_vector<float>(), numbers) << text;
    }
  }
  EXPECT_EQ(csv("1\n2\n").separator, ',');
  EXPECT_EQ(csv("1;2").values.shape(), (Dims{1, 2}));
  expect_error(csv_error("a;b\n1,5;2\n"),
               "line 2, column 1 (\"a\"): \"1,5\" is not a number — write decimals with a point");
  expect_error(csv_error("a b\n1 2\n"), "\"1 2\" is not a number — what separates the columns? Set \"separator\"");
}

TEST(Png, SaysItsSizeWithoutItsPixels) {
  const std::string path = ::testing::TempDir() + "/ingot_png_info.png";
  save_png(path, Tensor::empty({3, 4, 5}, kU8));
  const PngInfo info = png_info(path);
  EXPECT_EQ(info.height, 4);
  EXPECT_EQ(info.width, 5);
  EXPECT_EQ(info.channels, 3);
  std::string bytes = read_file(path);
  write_file(path, bytes.substr(0, 33) + bytes.substr(bytes.size() - 40));  // the header is whole
  EXPECT_NE(error_of([&] { load_png(path); }), "no error");
  write_file(path, "no picture");
  expect_error(error_of([&] { png_info(path); }), "does not begin as PNG pictures do");
}

TEST(Csv, NamesThePlaceOfWhatIsWrong) {
  expect_error(csv_error("a,b\n1,2\n3,x4\n"), "line 3, column 2 (\"b\"): \"x4\" is not a number");
  expect_error(csv_error("a,b\n\n1,\n"),
               "line 3, column 2 (\"b\"): the value is missing — fill it in, or leave the line out");
  expect_error(csv_error("1,2\nNA,3\n"), "line 2, column 1: the value is missing");
  expect_error(csv_error("1,2\n3\n"), "line 2 has 1 fields, the first one 2");
  expect_error(csv_error("1,2\n3,4,5\n"), "line 2 has more than the first one's 2 fields");
  expect_error(csv_error("1,\"2\n"), "line 1, column 2: the quotation mark is never closed");
  expect_error(csv_error("1,\"2\"3\n"), "line 1, column 2: text follows the closing quotation mark");
  expect_error(csv_error("1.5\n", {.header = Header::kNo, .dtype = kI32}), "\"1.5\" is not a whole number of 32 bits");
  expect_error(csv_error("2147483648\n", {.dtype = kI32}), "is not a whole number of 32 bits");
  expect_error(csv_error("1,2\n", {.dtype = kU8}), "cannot be read as u8");
  expect_error(csv_error("1,2\n", {.dtype = kI32, .missing_is_nan = true}), "have no NaN");
  expect_error(csv_error("1,2\n", {.separator = '"'}), "cannot separate");
  expect_error(csv_error(""), "it is empty");
  expect_error(csv_error("\n\r\n"), "it is empty");
  expect_error(csv_error(std::string("a,b\0", 4)), "byte 3 is no text");
  const std::vector<float> values = csv("1,\n?,NA\n2,null\n", {.missing_is_nan = true}).values.to_vector<float>();
  EXPECT_TRUE(values[0] == 1 && std::isnan(values[1]) && std::isnan(values[2]) && std::isnan(values[3]) &&
              values[4] == 2 && std::isnan(values[5]));
}

void parse_table(const std::string& bytes) { parse_csv(as_span(bytes), {.limits = {.bytes = 1 << 20, .ratio = 100}}); }
TEST(CsvHostile, BeginningsAndFlippedBits) {
  cut_everywhere(golden("table.csv"), parse_table, false);
  cut_everywhere(golden("table.csv.gz"), parse_table);
  flip_bits(golden("table.csv"), parse_table, 5000, 64 << 10);
  flip_bits(golden("table.csv.gz"), parse_table, 5000, 256 << 10);
}

// gzip in gzip's own hands: members one after the other, garbage behind, and 8 MiB of zeros in 8 KiB.
TEST(CsvHostile, Gzip) {
  const std::string table = golden("table.csv.gz");
  expect_error(csv_error(table + "garbage"), "compressed data is damaged");
  expect_error(csv_error(table + table), "\"length\" is not a number");  // the second header
  std::string bad = table;
  bad[bad.size() - 6] ^= 1;
  expect_error(csv_error(bad), "incorrect data check");
}

TEST(Idx, ReadsEveryType) {
  for (const char* name : {"pixels.idx", "pixels.idx.gz"}) {
    const Tensor pixels = load_idx(golden_path(name));
    EXPECT_EQ(pixels.shape(), (Dims{2, 3, 4}));
    EXPECT_EQ(to(pixels, kF32).to_vector<float>(), arange(0, 24).to_vector<float>());
  }
  const std::pair<const char*, DType> types[] = {
      {"type_9.idx", kI32}, {"type_11.idx", kI32}, {"type_12.idx", kI32}, {"type_13.idx", kF32}, {"type_14.idx", kF64}};
  for (const auto& [name, dtype] : types) {
    const Tensor t = load_idx(golden_path(name));
    EXPECT_EQ(t.dtype(), dtype) << name;
    EXPECT_EQ(to(t, kF64).to_vector<double>(), (std::vector<double>{-2, 0, 1, 100})) << name;
  }
}

void parse_array(const std::string& bytes) { parse_idx(as_span(bytes), {.bytes = 1 << 20, .ratio = 100}); }
TEST(IdxHostile, BeginningsAndFlippedBits) {
  for (const char* name : {"pixels.idx", "pixels.idx.gz", "type_11.idx", "type_14.idx"}) {
    cut_everywhere(golden(name), parse_array);
    flip_bits(golden(name), parse_array, 3000, 256 << 10);
  }
}
TEST(IdxHostile, LyingSizes) {
  const auto refused = [](const std::string& file, const std::string& words) {
    expect_refused(file, parse_array, words, 64 << 10);
  };
  refused(std::string("\0\0\x08\1\xff\xff\xff\xff"
                      "1",
                      9),
          "shape [4294967295] of u8 does not fit into the 1 bytes");
  refused(std::string("\0\0\x0e\3\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"
                      "1",
                      17),
          "does not fit into the 1 bytes");
  refused(std::string("\0\0\x08\1\0\0\0\1"
                      "12",
                      10),
          "1 bytes follow the elements");
  refused(std::string("\0\0\x07\1\0\0\0\1"
                      "1",
                      9),
          "type 7 is unknown");
  refused(std::string("\0\0\x08\0"
                      "1",
                      5),
          "has 0 axes");
  refused(std::string("\0\0\x08\x09", 4) + std::string(40, '\1'), "has 9 axes");
  refused("PK..", "does not begin as IDX files do");
}

std::vector<float> values(const Tensor& t) { return to(t, kF32).to_vector<float>(); }

// 10 y + x (+ 50 c), as tools/golden_files.py paints it.
std::vector<float> painted(int channels) {
  std::vector<float> pixels;
  for (int c = 0; c < channels; c++)
    for (int y = 0; y < 4; y++)
      for (int x = 0; x < 5; x++) pixels.push_back(static_cast<float>(10 * y + x + 50 * c));
  return pixels;
}

TEST(Png, ReadsEveryKind) {
  for (const char* name : {"grey.png", "interlaced.png", "sixteen.png"}) {
    EXPECT_EQ(load_png(golden_path(name)).shape(), (Dims{4, 5})) << name;
    EXPECT_EQ(values(load_png(golden_path(name))), painted(1)) << name;
  }
  EXPECT_EQ(load_png(golden_path("colours.png")).shape(), (Dims{3, 4, 5}));
  EXPECT_EQ(values(load_png(golden_path("colours.png"))), painted(3));
  EXPECT_EQ(values(load_png(golden_path("grey_alpha.png"))), painted(2));
  EXPECT_EQ(values(load_png(golden_path("colours_alpha.png"))), painted(4));
  const Tensor palette = load_png(golden_path("palette.png")), bits = load_png(golden_path("bits.png"));
  ASSERT_EQ(palette.shape(), (Dims{3, 4, 5}));
  const int colours[4][3] = {{0, 0, 0}, {10, 20, 30}, {40, 50, 60}, {255, 254, 253}};
  for (int y = 0; y < 4; y++)
    for (int x = 0; x < 5; x++) {
      for (int c = 0; c < 3; c++) EXPECT_EQ(palette.at<uint8_t>({c, y, x}), colours[(10 * y + x) % 4][c]);
      EXPECT_EQ(bits.at<uint8_t>({y, x}), x % 2 * 255);
    }
}

TEST(Png, WritesWhatItReads) {
  TemporaryFolder folder;
  for (const char* name : {"grey.png", "colours.png", "grey_alpha.png", "colours_alpha.png"}) {
    const Tensor picture = load_png(golden_path(name));
    save_png(folder / "x.png", picture);
    EXPECT_EQ(load_png(folder / "x.png").shape(), picture.shape());
    EXPECT_EQ(values(load_png(folder / "x.png")), values(picture));
  }
  save_png(folder / "one.png", full({1, 2, 3}, 7.0, kU8));
  EXPECT_EQ(load_png(folder / "one.png").shape(), (Dims{2, 3}));
  for (const Tensor& wrong : {zeros({2, 3}), zeros({5, 2, 3}, kU8), zeros({0, 3}, kU8), zeros({3}, kU8)})
    expect_error(error_of([&] { save_png(folder / "y.png", wrong); }), "a picture is u8 [h, w] or [c, h, w]");
}

void parse_picture(const std::string& bytes) { parse_png(as_span(bytes), {.bytes = 1 << 20, .ratio = 100}); }
TEST(PngHostile, BeginningsAndFlippedBits) {
  for (const char* name : {"grey.png", "interlaced.png", "palette.png", "colours_alpha.png"}) {
    cut_everywhere(golden(name), parse_picture);
    flip_bits(golden(name), parse_picture, 2000, 1 << 20);
  }
}

TEST(PngFolder, ClassesAndPictures) {
  TemporaryFolder folder;
  for (const char* name : {"cat", "ant"}) std::filesystem::create_directory(folder / name);
  save_png(folder / "cat/2.png", full({2, 3}, 2.0, kU8));
  save_png(folder / "cat/1.PNG", full({2, 3}, 1.0, kU8));
  save_png(folder / "ant/9.png", full({2, 3}, 9.0, kU8));
  write_file(folder / "cat/notes.txt", "ignored");
  const PictureFolder pictures = load_png_folder(folder.path().string());
  EXPECT_EQ(pictures.classes, (std::vector<std::string>{"ant", "cat"}));
  EXPECT_EQ(pictures.x.shape(), (Dims{3, 1, 2, 3}));
  EXPECT_EQ(pictures.y.to_vector<int64_t>(), (std::vector<int64_t>{0, 1, 1}));
  EXPECT_EQ(pictures.x.at<uint8_t>({0, 0, 1, 2}), 9);
  EXPECT_EQ(pictures.x.at<uint8_t>({1, 0, 0, 0}), 1);
  EXPECT_EQ(pictures.x.at<uint8_t>({2, 0, 0, 0}), 2);

  const auto error = [&] { return error_of([&] { load_png_folder(folder.path().string()); }); };
  save_png(folder / "cat/3.png", full({3, 2, 3}, 0.0, kU8));
  expect_error(error(), "cat/3.png is [3, 2, 3], but");
  write_file(folder / "cat/3.png", "no picture");
  expect_error(error(), "cat/3.png: it does not begin as PNG pictures do");
  std::filesystem::create_directory(folder / "bee");
  expect_error(error(), "bee has no .png files");
  expect_error(error_of([&] { load_png_folder(folder / "bee"); }), "has no subfolders");
  expect_error(error_of([&] { load_png_folder(folder / "none"); }), "No such file");
}

// The file without its first record, whose time is now.
std::string scalars_of(const std::string& path) {
  const std::string bytes = contents(path);
  const size_t first = 8 + 4 + static_cast<size_t>(static_cast<unsigned char>(bytes[0])) + 4;
  EXPECT_NE(bytes.substr(0, first).find("brain.Event:2"), std::string::npos);
  return bytes.substr(first);
}

TEST(Events, WritesTheSameBytesAsProtobuf) {
  TemporaryFolder folder;
  const std::string path = folder / "events.out.tfevents.1";
  {
    EventFile events(path);
    events.scalar("loss", 0.25, 0, 1700000000.5);
    expect_error(error_of([&] { EventFile second(path); }), "another process is at work on it");
  }
  EventFile(path).scalar("test/accuracy", 0.9921875, 300, 1700000001.0);
  EXPECT_EQ(scalars_of(path), golden("scalars.tfevents"));
}

TEST(Events, GoesOnBehindTheLastWholeRecord) {
  TemporaryFolder folder;
  const std::string path = folder / "events.out.tfevents.1";
  { EventFile(path).scalar("loss", 0.25, 0, 1700000000.5); }
  const std::string whole = contents(path);
  const size_t first = whole.size() - scalars_of(path).size();
  for (size_t length = 0; length < whole.size(); length++) {
    write_file(path, std::string_view(whole).substr(0, length));
    EventFile(path).scalar("loss", 0.25, 0, 1700000000.5);
    const std::string back = contents(path);
    if (length >= first) EXPECT_EQ(back, whole) << length;
    EXPECT_EQ(back.size(), whole.size()) << length;
  }
  write_file(path, std::string(1000, 'x'));
  expect_error(error_of([&] { EventFile events(path); }), "it is no event file");
  EXPECT_EQ(contents(path), std::string(1000, 'x'));
}

TEST(Events, DiskFullKeepsWhatThereWas) {
  TemporaryFolder folder;
  const std::string path = folder / "events.out.tfevents.1";
  EventFile events(path);
  events.scalar("loss", 1, 1, 1);
  const std::string before = contents(path);
  static int calls;
  calls = 0;
  os::system_calls.write = [](int file, const void* bytes, size_t) -> ssize_t {
    if (calls++ < 3) return ::write(file, bytes, 5);
    errno = ENOSPC;
    return -1;
  };
  const std::string error = error_of([&] { events.scalar("loss", 2, 2, 2); });
  os::system_calls.write = ::write;
  expect_error(error, "No space left on device (what it had is still there)");
  EXPECT_EQ(contents(path), before);
  events.scalar("loss", 3, 3, 3);
  EXPECT_GT(contents(path).size(), before.size());
}

}  // namespace
}  // namespace ingot::io
