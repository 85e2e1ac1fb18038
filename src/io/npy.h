// npy on any source, for files and for the entries of npz.
#pragma once
#include "ingot/io/source.h"

namespace ingot::io {

struct NpyHeader {
  DType dtype = kF32;
  bool fortran_order = false;
  Dims shape;
};

/// Reads and checks the header; the source then stands at the first element, and what is left is all elements.
NpyHeader read_npy_header(Source& source);
Tensor read_npy(Source& source);
/// Everything that numpy.save writes before the elements; an Error that starts with `op` for types NumPy does not have.
std::string npy_header(const char* op, const Tensor& t);

}  // namespace ingot::io
