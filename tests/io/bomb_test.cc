// Small files that unpack to large ones: refused before memory is taken, read if the caller allows it. In a file of its
// own, because these tensors would hide the small ones that the other tests watch for.
#include <gtest/gtest.h>
#include <zlib.h>

#include "hostile.h"
#include "ingot/base/error.h"
#include "ingot/base/memory.h"
#include "ingot/io/io.h"
#include "ingot/ops/ops.h"
#include "temporary.h"
#include "tests/error_of.h"

namespace ingot::io {
namespace {

constexpr UnpackLimits kTight{.bytes = 4 << 20, .ratio = 200}, kLoose{.bytes = 4 << 20, .ratio = 2000};
constexpr const char* kRefusal = "it unpacks to more than 4.0 MiB and 200 times its size";

// Refused under tight limits without taking `bytes` of memory for tensors, read under loose ones.
void expect_limited(const std::string& file, size_t bytes, const std::function<void(const UnpackLimits&)>& read) {
  EXPECT_LT(file.size(), bytes / 300);
  const uint64_t before = memory_stats().allocations;
  const std::string error = error_of([&] { read(kTight); });
  EXPECT_NE(error.find(kRefusal), std::string::npos) << error;
  EXPECT_LE(memory_stats().allocations - before, 12u);  // the file, and a buffer that grew to the limit
  read(kLoose);
}

std::string gzipped(const std::string& text) {
  z_stream zlib = {};
  deflateInit2(&zlib, 9, Z_DEFLATED, 31, 8, Z_DEFAULT_STRATEGY);
  std::string out(deflateBound(&zlib, text.size()), '\0');
  zlib.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  zlib.avail_in = static_cast<uInt>(text.size());
  zlib.next_out = reinterpret_cast<Bytef*>(out.data());
  zlib.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(deflate(&zlib, Z_FINISH), Z_STREAM_END);
  out.resize(zlib.total_out);
  deflateEnd(&zlib);
  return out;
}

TEST(Bomb, Npz) {
  TemporaryFolder folder;
  save_npz(folder / "bomb", std::vector<NamedTensor>{{"zeros", zeros({2 << 20})}}, true);
  const std::string file = contents(folder / "bomb");
  expect_limited(file, 8 << 20, [&](const UnpackLimits& limits) { parse_npz(as_span(file), limits); });
}

TEST(Bomb, Gzip) {
  const std::string table = gzipped(std::string(8 << 20, '\n') + "1,2\n");
  expect_limited(table, 8 << 20, [&](const UnpackLimits& limits) { parse_csv(as_span(table), {.limits = limits}); });
  const std::string idx = gzipped(std::string("\0\0\x08\1\0\x80\0\0", 8) + std::string(8 << 20, '\0'));
  expect_limited(idx, 8 << 20, [&](const UnpackLimits& limits) { parse_idx(as_span(idx), limits); });
}

TEST(Bomb, Png) {
  TemporaryFolder folder;
  save_png(folder / "bomb", zeros({2048, 4096}, kU8));
  const std::string file = contents(folder / "bomb");
  expect_limited(file, 8 << 20, [&](const UnpackLimits& limits) { parse_png(as_span(file), limits); });
}

}  // namespace
}  // namespace ingot::io
