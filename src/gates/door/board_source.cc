#include "gates/door/board_source.h"

#include <fmt/format.h>

#include "ingot/base/error.h"
#include "ingot/gates/boards.h"
#include "ingot/io/io.h"

namespace ingot::gates::door {
namespace {

using namespace recipe;

constexpr uint64_t kTestStream = 0x626f61726473;  // of the boards to test with

const Key kChannels{
    "channels", Kind::kInteger,
    "8",        "bits of a cell; the target is compared with the first of them, the others are the automaton's own",
    1,          1024};

// One sample `count` times, in the memory of one.
Tensor repeated(const Tensor& sample, int64_t count) {
  Dims shape{count}, strides{0};
  for (const int64_t size : sample.shape()) shape.push_back(size);
  for (const int64_t stride : sample.strides()) strides.push_back(stride);
  return sample.view(sample.raw(), shape, strides);
}

std::unique_ptr<data::Dataset> set_of(const Tensor& x, const Tensor& y) {
  return std::make_unique<data::TensorDataset>(x, y);
}

DataSource life(const SourceRequest&) {
  DataSource out;
  const gates::LifeBoards boards = gates::life_boards();
  out.train = set_of(boards.x, boards.y);
  out.test = set_of(boards.x, boards.y);
  out.details = std::make_shared<BoardTask>(BoardTask::Kind::kLife, Tensor(), gates::Seed::kRandom);
  out.about = "all 512 boards of 3 x 3 cells";
  return out;
}

DataSource random_checkerboard(const SourceRequest& r) {
  const Settings& s = r.s;
  DataSource out;
  const int64_t size = s.integer("size"), channels = s.integer("channels"), tests = s.integer("test_boards");
  const Tensor target = gates::checkerboard(size, size);
  out.train = set_of(repeated(gates::seed_board(channels, size, size, gates::Seed::kZeros), r.batch),
                     repeated(target, r.batch));
  out.augment = {gates::random_bits()};
  out.test =
      set_of(gates::random_boards(tests, channels, size, size, {static_cast<uint64_t>(s.integer("seed")), kTestStream}),
             repeated(target, tests));
  out.shuffle = false;
  out.details = std::make_shared<BoardTask>(BoardTask::Kind::kCheckerboard, target, gates::Seed::kRandom);
  out.about = fmt::format("random boards of {0} x {0} cells with {1} bits, {2} to test with", size, channels, tests);
  return out;
}

Tensor picture_of(const Settings& s) {
  const std::string& path = s.text("picture");
  if (path == "recipe:lizard") return gates::lizard();
  if (path == "recipe:g") return gates::letter_g();
  try {
    return gates::picture_target(io::load_png(path));
  } catch (const Error& e) {
    s.fail("picture", e.what(), e.kind());
  }
}

DataSource grow(const SourceRequest& r) {
  const Settings& s = r.s;
  DataSource out;
  const Tensor picture = picture_of(s);
  const int64_t channels = s.integer("channels"), height = picture.size(1), width = picture.size(2);
  if (channels < picture.size(0))
    s.fail("channels", fmt::format("a picture in colours needs at least {} channels", picture.size(0)));
  const std::string& start = s.text("start");
  if (start != "centre" && start != "zeros") s.fail("start", "\"start\" is centre or zeros");
  const gates::Seed seed = gates::seed_of(start);
  const Tensor board = gates::seed_board(channels, height, width, seed);
  out.train = set_of(repeated(board, r.batch), repeated(picture, r.batch));
  out.test = set_of(repeated(board, 1), repeated(picture, 1));
  out.shuffle = false;
  out.details = std::make_shared<BoardTask>(BoardTask::Kind::kGrow, picture, seed);
  out.about = fmt::format("a picture of {} x {} cells with {} bits, of which {} {} seen", height, width, channels,
                          picture.size(0), picture.size(0) == 1 ? "is" : "are");
  return out;
}

const SourceType kSources[] = {
    {{"life", "the Game of Life: all 512 boards of 3 x 3 cells, whose border wraps, and their next states"},
     life,
     "squared_error_sum",
     true},
    {{"checkerboard",
      "random bits, other ones in every batch, that are to become a board of 2 x 2 squares",
      {{"size", Kind::kInteger, "16", "cells along a side", 4, 256},
       kChannels,
       {"test_boards", Kind::kInteger, "16", "boards that are drawn once, to test with", 1, 10000}}},
     random_checkerboard,
     "squared_error_sum",
     true},
    {{"grow",
      "a picture that is to grow from a seed",
      {{"picture", Kind::kPath, R"("recipe:lizard")",
        "a PNG, grey (1 bit is seen) or in colours (3 bits), a cell per pixel; recipe:lizard and recipe:g are in "
        "the program"},
       kChannels,
       {"start", Kind::kText, R"("centre")", "centre: one cell with all bits set; zeros: nothing but the border"}}},
     grow,
     "squared_error_sum",
     true},
};

}  // namespace

std::span<const recipe::SourceType> board_sources() { return kSources; }
const BoardTask* boards_of(const recipe::DataSource& source) {
  return dynamic_cast<const BoardTask*>(source.details.get());
}

}  // namespace ingot::gates::door
