// Tensors that look at files.
#include <cstring>
#include <memory>
#include <utility>

#include "ingot/io/io.h"
#include "io/npy.h"
#include "io/safetensors.h"

namespace ingot::io {
namespace {

// Mappings are private and writable, so that an `_into` op on a mapped tensor is no crash and changes no file.
// Elements that do not lie on a multiple of their size cannot be looked at: those are copied.
Tensor look(const FileSource& file, const std::shared_ptr<MappedFile>& mapping, uint64_t offset, const Dims& shape,
            DType dtype, const Dims& strides) {
  std::byte* const start = mapping->data() + offset;
  Tensor t;
  if (offset % size_of(dtype) == 0) {
    t = Tensor::wrap(start, shape, dtype, strides, [mapping] {});
  } else {
    t = Tensor::empty(shape, dtype);
    std::memcpy(t.raw(), start, bytes_of(t).size());
    t = t.view(t.raw(), shape, strides);
  }
  check_bools(file, t);
  return t;
}

}  // namespace

Tensor map_npy(const std::string& path) {
  FileSource file("map_npy", path);
  const NpyHeader header = read_npy_header(file);
  if (file.left() == 0) return Tensor::empty(header.shape, header.dtype);
  Dims strides = contiguous_strides(header.shape);
  if (header.fortran_order) {
    int64_t step = 1;
    for (int i = 0; i < strides.size(); step *= header.shape[i++]) strides[i] = step;
  }
  return look(file, std::make_shared<MappedFile>(file.file()), file.position(), header.shape, header.dtype, strides);
}

SafeTensors map_safetensors(const std::string& path) {
  FileSource file("map_safetensors", path);
  SafeTensorsInfo info = read_directory(file);
  const auto mapping = std::make_shared<MappedFile>(file.file());
  SafeTensors result{{}, std::move(info.metadata)};
  for (TensorInfo& t : info.tensors)
    result.tensors.push_back(
        {std::move(t.name), look(file, mapping, t.offset, t.shape, t.dtype, contiguous_strides(t.shape))});
  return result;
}

}  // namespace ingot::io
