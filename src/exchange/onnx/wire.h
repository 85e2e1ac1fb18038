// protobuf's encoding: a message is fields one after another, each a key (its number and kind) and a value. Files are
// hostile, so every length is checked against the bytes that are there, and messages nest only so deep.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

#include "ingot/base/error.h"

namespace ingot::onnx {

using Bytes = std::span<const std::byte>;

/// The fields of one message, in the order of the file.
class FieldReader {
 public:
  enum Kind : uint8_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

  explicit FieldReader(Bytes message, int depth = 0) : left_(message), depth_(depth) {
    if (depth > kDeepest) fail("messages nest deeper than " + std::to_string(kDeepest));
  }
  /// Goes to the next field; false at the end.
  bool next() {
    if (left_.empty()) return false;
    const uint64_t key = take_varint();
    number_ = static_cast<uint32_t>(key >> 3);
    kind_ = static_cast<Kind>(key & 7);
    switch (kind_) {
      case kVarint: value_ = take_varint(); break;
      case kFixed64: bytes_ = take(8); break;
      case kFixed32: bytes_ = take(4); break;
      case kBytes: bytes_ = take(take_varint()); break;
      default: fail("a field of the unknown kind " + std::to_string(key & 7));
    }
    return true;
  }
  uint32_t number() const { return number_; }
  Kind kind() const { return kind_; }

  int64_t integer() const { return static_cast<int64_t>(expect(kVarint).value_); }
  float real() const {
    float value = 0;
    std::memcpy(&value, expect(kFixed32).bytes_.data(), sizeof value);
    return value;
  }
  Bytes bytes() const { return expect(kBytes).bytes_; }
  std::string text() const { return {reinterpret_cast<const char*>(bytes().data()), bytes().size()}; }
  FieldReader message() const { return FieldReader(bytes(), depth_ + 1); }
  int depth() const { return depth_; }

  /// Calls f with every number of a repeated field, which is packed into one or comes one by one.
  template <class F>
  void integers(F f) const {
    if (kind_ == kVarint) return f(integer());
    FieldReader packed(bytes());
    while (!packed.left_.empty()) f(static_cast<int64_t>(packed.take_varint()));
  }
  template <class T, class F>
  void fixed(F f) const {
    const Bytes all = kind_ == kBytes ? bytes() : expect(sizeof(T) == 4 ? kFixed32 : kFixed64).bytes_;
    if (all.size() % sizeof(T) != 0) fail("a list of numbers was cut off");
    for (size_t i = 0; i < all.size(); i += sizeof(T)) {
      T value{};
      std::memcpy(&value, all.data() + i, sizeof value);
      f(value);
    }
  }
  [[noreturn]] static void fail(const std::string& what) {
    throw Error(ErrorKind::kFile, "onnx: " + what + " — is it an ONNX file, and whole?");
  }

 private:
  static constexpr int kDeepest = 64;
  const FieldReader& expect(Kind kind) const {
    if (kind_ != kind) fail("field " + std::to_string(number_) + " is of another kind than the format says");
    return *this;
  }
  Bytes take(uint64_t count) {
    if (count > left_.size())
      fail("a field says " + std::to_string(count) + " bytes where " + std::to_string(left_.size()) + " are left");
    const Bytes taken = left_.first(static_cast<size_t>(count));
    left_ = left_.subspan(static_cast<size_t>(count));
    return taken;
  }
  uint64_t take_varint() {
    uint64_t value = 0;
    for (int shift = 0; shift < 70; shift += 7) {
      if (left_.empty()) fail("it ends inside a number");
      const auto byte = static_cast<uint64_t>(left_[0]);
      left_ = left_.subspan(1);
      value |= shift < 64 ? (byte & 127) << shift : 0;
      if (byte < 128) return value;
    }
    fail("a number of more than 64 bits");
  }

  Bytes left_, bytes_;
  uint64_t value_ = 0;
  uint32_t number_ = 0;
  Kind kind_ = kVarint;
  int depth_;
};

/// A message under construction.
class FieldWriter {
 public:
  void integer(int field, int64_t value) {
    key(field, FieldReader::kVarint);
    varint(static_cast<uint64_t>(value));
  }
  void real(int field, float value) {
    key(field, FieldReader::kFixed32);
    text_.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  void text(int field, std::string_view value) {
    key(field, FieldReader::kBytes);
    varint(value.size());
    text_ += value;
  }
  void message(int field, const FieldWriter& inner) { text(field, inner.text_); }
  const std::string& bytes() const { return text_; }

 private:
  void key(int field, FieldReader::Kind kind) { varint(static_cast<uint64_t>(field) << 3 | kind); }
  void varint(uint64_t value) {
    for (; value >= 128; value >>= 7) text_ += static_cast<char>(value | 128);
    text_ += static_cast<char>(value);
  }
  std::string text_;
};

}  // namespace ingot::onnx
