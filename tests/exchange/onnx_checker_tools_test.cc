// What we write, ONNX's own checker finds nothing wrong with (Debian's python3-onnx).
#include <gtest/gtest.h>

#include <cstdlib>

#include "ingot/exchange/onnx.h"
#include "tests/exchange/onnx_networks.h"

namespace ingot::onnx {
namespace {

TEST(OnnxChecker, FindsNothingWrong) {
  std::string command =
      "/usr/bin/python3 -c '\nimport sys, onnx\nfor path in sys.argv[1:]:\n  model = onnx.load(path)\n"
      "  onnx.checker.check_model(model, full_check=True)\n"
      "  assert model.ir_version == 8 and model.opset_import[0].version == 17, path\n'";
  for (const TestNetwork& n : test_networks()) {
    n.net->eval();
    const std::string path = testing::TempDir() + "onnx_checker_" + n.name + ".onnx";
    save(path, *n.net, n.input, {.batch_axis = n.batch_axis});
    command += " " + path;
  }
  EXPECT_EQ(std::system(command.c_str()), 0) << "the checker complains above; it needs Debian's package python3-onnx";
}

}  // namespace
}  // namespace ingot::onnx
