#include "tests/exchange/compiled_c.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "ingot/base/error.h"
#include "ingot/base/file.h"
#include "ingot/graph/program.h"
#include "ingot/ops/ops.h"

namespace ingot::exchange {
namespace {

const char* type_of(DType t) {
  switch (t) {
    case DType::kF32: return "float";
    case DType::kF64: return "double";
    case DType::kI32: return "int32_t";
    case DType::kI64: return "int64_t";
    case DType::kF16:
    case DType::kBF16: return "uint16_t";
    default: return "uint8_t";
  }
}

}  // namespace

int run_command(const std::string& command, std::string* said) {
  std::FILE* pipe = popen(("(" + command + ") 2>&1").c_str(), "r");
  if (pipe == nullptr) return -1;
  char buffer[4096];
  for (size_t n = 0; (n = std::fread(buffer, 1, sizeof buffer, pipe)) > 0;) said->append(buffer, n);
  return pclose(pipe);
}

bool has_program(const std::string& name) {
  std::string said;
  return run_command("command -v " + name, &said) == 0;
}

CFolder::CFolder() {
  path_ = ::testing::TempDir() + "c_source.XXXXXX";
  if (mkdtemp(path_.data()) == nullptr) throw Error("no folder for C files");
}

CFolder::~CFolder() {
  if (library_ != nullptr) dlclose(library_);
  std::filesystem::remove_all(path_);
}

void CFolder::add(const CSource& c, const Plan& plan) {
  c.write(path_);
  const graph::Program& p = graph::program_of(plan);
  std::string arguments;
  for (size_t i = 0; i < p.inputs.size(); i++) {
    const std::string at = "in[" + std::to_string(i) + "]",
                      type = std::string("(const ") + type_of(p.inputs[i].dtype) + " *)" + at;
    arguments += (arguments.empty() ? "" : ", ") + (p.inputs[i].shape.empty() ? "*" + type : type);
  }
  for (size_t i = 0; i < p.outputs.size(); i++)
    arguments += (arguments.empty() ? "" : ", ") +
                 ("(" + std::string(type_of(p.outputs[i].operand.dtype)) + " *)out[" + std::to_string(i) + "]");
  const std::string name = path_ + "/" + c.name;
  write_file(name + "_call.c",
             "#include \"" + c.name + ".h\"\nint " + c.name + "_call(const void *const *in, void *const *out);\nint " +
                 c.name + "_call(const void *const *in, void *const *out) {\n  (void)in;\n  (void)out;\n  return " +
                 c.name + "_run(" + arguments + ");\n}\n");
  files_ += " " + c.name + ".c " + c.name + "_call.c" + (c.weights.empty() ? "" : " " + c.name + "_weights.c");
}

void CFolder::add_text(const std::string& file, std::string text, const CSource& c, const Plan& plan) {
  c.write(path_);
  std::string slabs;
  for (const graph::Program::Slab& slab : graph::program_of(plan).slabs) {
    std::string name = slab.name;
    std::replace(name.begin(), name.end(), ' ', '_');
    std::replace(name.begin(), name.end(), '.', '_');
    if (name[0] >= '0' && name[0] <= '9') name.insert(0, "memory_");
    slabs += (slabs.empty() ? "&m." : ", &m.") + name;
  }
  text.replace(text.find("SLABS"), 5, slabs);
  write_file(path_ + "/" + file, text);
  files_ += " " + c.name + ".c " + file;
}

std::string CFolder::compile(const std::string& compiler) {
  if (library_ != nullptr) dlclose(library_);
  static int count = 0;  // a library of the same name would be the one that is loaded already
  const std::string library = "all" + std::to_string(++count) + ".so";
  std::string said;
  if (run_command("cd " + path_ + " && " + compiler + " -shared -fPIC" + files_ + " -o " + library + " -lm", &said) !=
          0 ||
      !said.empty())
    return compiler + ":\n" + said;
  library_ = dlopen((path_ + "/" + library).c_str(), RTLD_NOW | RTLD_LOCAL);
  return library_ == nullptr ? dlerror() : "";
}

std::string CFolder::check(const std::string& compiler) const {
  std::string said;
  const int code = run_command("cd " + path_ + " && " + compiler + " -Werror -fsyntax-only" + files_, &said);
  return code == 0 && said.empty() ? "" : compiler + ":\n" + said;
}

void* CFolder::symbol(const std::string& name) const { return dlsym(library_, name.c_str()); }

std::vector<Tensor> CFolder::call(const CSource& c, const Plan& plan, std::vector<const Tensor*> inputs,
                                  int* status) const {
  const graph::Program& p = graph::program_of(plan);
  std::vector<Tensor> copies, results;
  std::vector<const void*> in;
  std::vector<void*> out;
  copies.reserve(inputs.size());
  in.reserve(inputs.size() + 1);
  out.reserve(p.outputs.size() + 1);
  for (const Tensor* t : inputs) copies.push_back(contiguous(*t));
  for (const Tensor& t : copies) in.push_back(t.raw());
  for (const graph::Program::Output& o : p.outputs) results.push_back(Tensor::empty(o.operand.shape, o.operand.dtype));
  for (const Tensor& t : results) out.push_back(t.raw());
  in.push_back(nullptr);
  out.push_back(nullptr);
  const auto function = reinterpret_cast<int (*)(const void* const*, void* const*)>(symbol(c.name + "_call"));
  const int code = function(in.data(), out.data());
  if (status != nullptr)
    *status = code;
  else
    EXPECT_EQ(code, 0) << c.name;
  return results;
}

}  // namespace ingot::exchange
