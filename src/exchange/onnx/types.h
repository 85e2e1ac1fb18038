// The format's element types, and the tensors that carry them. Narrow integers are computed with in 32 bits (or 64) and
// wrapped after each op, half precision in f32: more types than Ingot's ops have are exact that way.
#pragma once
#include <string>

#include "exchange/onnx/schema.h"

namespace ingot::onnx {

/// The type of elements that carries a type of the format; strings and complex numbers have none, which is an Error.
DType carrier(Type type);
/// Bytes of an element in a file; 0 for what is not supported.
int size_in_file(Type type);
bool is_real(Type type);
bool is_integer(Type type);
/// The smallest and largest number of an integer type, as its carrier holds them.
struct Range {
  int64_t low, high;
};
Range range_of(Type type);
/// The format's type of a tensor of Ingot's.
Type type_of(DType dtype);

/// Writes one element, given as the file has it (f16 as its bits), in the carrier's type.
void put_element(std::byte* out, Type type, float value);
void put_element(std::byte* out, Type type, double value);
void put_element(std::byte* out, Type type, int64_t value);
/// Elements as a file has them, little-endian, to a tensor of the carrier's type and back.
Tensor from_file_bytes(Bytes raw, Type type, const Dims& shape);
std::string to_file_bytes(const Tensor& tensor, Type type);

}  // namespace ingot::onnx
