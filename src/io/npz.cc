// npz: a zip archive of npy files. The reader knows what NumPy and Python's zipfile write, zip64 included, and takes
// the archive's directory as the truth; entries may not overlap, which is how small archives unpack to endless ones.
#include <zlib.h>

#include <algorithm>
#include <unordered_set>

#include "ingot/base/error.h"
#include "ingot/base/text.h"
#include "ingot/io/io.h"
#include "io/npy.h"
#include "io/unpack.h"

namespace ingot::io {
namespace {

constexpr uint32_t kLocal = 0x04034b50, kCentral = 0x02014b50, kEnd = 0x06054b50, kEnd64 = 0x06064b50,
                   kLocator64 = 0x07064b50;
constexpr size_t kEndBytes = 22, kCentralBytes = 46, kLocalBytes = 30;
constexpr uint16_t kStored = 0, kDeflated = 8, kEncrypted = 1;

// Integers at places of a span; whoever reads has checked that they are inside.
struct Fields {
  std::span<const std::byte> bytes;
  template <class T>
  T at(size_t offset) const {
    T value;
    std::memcpy(&value, bytes.subspan(offset, sizeof value).data(), sizeof value);
    return value;
  }
  uint16_t u16(size_t offset) const { return at<uint16_t>(offset); }
  uint32_t u32(size_t offset) const { return at<uint32_t>(offset); }
  uint64_t u64(size_t offset) const { return at<uint64_t>(offset); }
};

struct Entry {
  std::string name;
  bool deflated;
  uint32_t crc;
  uint64_t packed, size, begin;  // begin: of its local header
};

struct Directory {
  uint64_t entries, bytes, begin;
};

class ZipReader {
 public:
  ZipReader(const Source& source, std::span<const std::byte> bytes) : source_(source), bytes_(bytes), file_{bytes} {}

  std::vector<Entry> entries() const {
    const Directory directory = find_directory();
    std::vector<Entry> entries;
    uint64_t at = directory.begin;
    const uint64_t end = directory.begin + directory.bytes;
    for (uint64_t i = 0; i < directory.entries; i++) {
      if (end - at < kCentralBytes || file_.u32(at) != kCentral) fail_directory();
      const uint64_t name = file_.u16(at + 28), extra = file_.u16(at + 30), comment = file_.u16(at + 32);
      if (end - at - kCentralBytes < name + extra + comment) fail_directory();
      entries.push_back(entry(at, name, extra));
      at += kCentralBytes + name + extra + comment;
    }
    if (at != end) fail_directory();
    check_places(entries, directory.begin);
    return entries;
  }

  // The packed bytes of an entry, behind its local header.
  std::span<const std::byte> data(const Entry& entry) const { return bytes_.subspan(data_begin(entry), entry.packed); }

 private:
  [[noreturn]] void fail_directory() const { source_.fail("the archive's directory is damaged"); }

  Directory find_directory() const {
    if (bytes_.size() < kEndBytes) source_.fail("it is too short to be an npz file");
    const uint64_t last = bytes_.size() - kEndBytes, first = last - std::min<uint64_t>(last, 65535);
    for (uint64_t at = last + 1; at-- > first;) {
      if (file_.u32(at) != kEnd || file_.u16(at + 20) != last - at) continue;
      Directory directory{file_.u16(at + 10), file_.u32(at + 12), file_.u32(at + 16)};
      if (file_.u32(at + 4) != 0 || file_.u16(at + 8) != directory.entries)
        source_.fail("it is one part of several archives");
      uint64_t before = at;  // what the directory must end at
      if (at >= 20 && file_.u32(at - 20) == kLocator64) {
        before = file_.u64(at - 12);
        if (at < 76 || before > at - 76 || file_.u32(before) != kEnd64) fail_directory();
        directory = {file_.u64(before + 32), file_.u64(before + 40), file_.u64(before + 48)};
      }
      if (directory.begin > before || directory.bytes > before - directory.begin ||
          directory.entries > directory.bytes / kCentralBytes)
        fail_directory();
      return directory;
    }
    source_.fail("it does not end as zip archives do — is it an npz file, and complete?");
  }

  Entry entry(uint64_t at, uint64_t name, uint64_t extra) const {
    const char* text = reinterpret_cast<const char*>(bytes_.data()) + at + kCentralBytes;
    Entry e{std::string(text, name), false, file_.u32(at + 16), file_.u32(at + 20), file_.u32(at + 24),
            file_.u32(at + 42)};
    const uint16_t method = file_.u16(at + 10);
    if ((file_.u16(at + 8) & kEncrypted) != 0) source_.fail("entry " + in_quotes(e.name) + " is encrypted");
    if (method != kStored && method != kDeflated)
      source_.fail("entry " + in_quotes(e.name) + " is compressed by method " + std::to_string(method) +
                   " — only stored and deflated ones can be read");
    e.deflated = method == kDeflated;
    widen(e, Fields{bytes_.subspan(at + kCentralBytes + name, extra)});
    if (!e.deflated && e.packed != e.size) source_.fail("entry " + in_quotes(e.name) + " has two different lengths");
    return e;
  }

  // zip64: the numbers that did not fit into 32 bits, in this order, in a field of their own.
  void widen(Entry& e, Fields extra) const {
    size_t at = 0;
    while (extra.bytes.size() - at >= 4) {
      const size_t length = extra.u16(at + 2);
      if (length > extra.bytes.size() - at - 4) fail_directory();
      if (extra.u16(at) == 1) {
        size_t next = at + 4;
        for (uint64_t* value : {&e.size, &e.packed, &e.begin}) {
          if (*value != UINT32_MAX) continue;
          if (next + 8 > at + 4 + length) fail_directory();
          *value = extra.u64(next);
          next += 8;
        }
        return;
      }
      at += 4 + length;
    }
  }

  uint64_t data_begin(const Entry& e) const {
    return e.begin + kLocalBytes + file_.u16(e.begin + 26) + file_.u16(e.begin + 28);
  }

  // Every entry lies before the directory, behind a header of the same name, and none in another.
  void check_places(const std::vector<Entry>& entries, uint64_t directory) const {
    std::vector<std::pair<uint64_t, uint64_t>> places;
    std::unordered_set<std::string_view> names;
    for (const Entry& e : entries) {
      if (!names.insert(e.name).second) source_.fail("two entries are named " + in_quotes(e.name));
      if (e.begin > directory || directory - e.begin < kLocalBytes || file_.u32(e.begin) != kLocal)
        source_.fail("entry " + in_quotes(e.name) + " is not where the directory says");
      const uint64_t data = data_begin(e);
      if (data > directory || e.packed > directory - data)
        source_.fail("entry " + in_quotes(e.name) + " does not fit into the archive");
      const char* local_name = reinterpret_cast<const char*>(bytes_.data()) + e.begin + kLocalBytes;
      if (std::string_view(local_name, file_.u16(e.begin + 26)) != e.name)
        source_.fail("entry " + in_quotes(e.name) + " has another name in the directory");
      places.emplace_back(e.begin, data + e.packed);
    }
    std::sort(places.begin(), places.end());
    for (size_t i = 1; i < places.size(); i++)
      if (places[i].first < places[i - 1].second) source_.fail("two of its entries overlap");
  }

  const Source& source_;
  std::span<const std::byte> bytes_;
  Fields file_;
};

std::vector<NamedTensor> read_npz(Source& source, std::span<const std::byte> bytes, const UnpackLimits& limits) {
  const ZipReader zip(source, bytes);
  std::vector<NamedTensor> tensors;
  uint64_t packed = 0, unpacked = 0;
  const std::vector<Entry> entries = zip.entries();
  for (const Entry& e : entries) {
    if (e.deflated) {
      packed += e.packed;
      if (__builtin_add_overflow(unpacked, e.size, &unpacked)) source.fail("its entries claim more bytes than exist");
      check_unpacked(source, e.packed, e.size, limits);
    }
  }
  check_unpacked(source, packed, unpacked, limits);
  for (const Entry& e : entries) {
    if (!e.name.ends_with(".npy")) source.fail("entry " + in_quotes(e.name) + " is no .npy file");
    EntrySource entry(source, e.name, zip.data(e), e.size, e.deflated, e.crc);
    tensors.push_back({e.name.substr(0, e.name.size() - 4), read_npy(entry)});
    entry.finish();
  }
  return tensors;
}

template <class T>
void put(std::string& text, T value) {
  text.append(reinterpret_cast<const char*>(&value), sizeof value);
}

// The fields that local header and directory share, from the flags to the extra field's length.
std::string common_fields(const Entry& e) {
  std::string text;
  put<uint16_t>(text, 1 << 11);  // names are UTF-8
  put<uint16_t>(text, e.deflated ? kDeflated : kStored);
  put<uint32_t>(text, 0x00210000);  // 1 January 1980: the same tensors make the same file
  put<uint32_t>(text, e.crc);
  put<uint32_t>(text, static_cast<uint32_t>(e.packed));
  put<uint32_t>(text, static_cast<uint32_t>(e.size));
  put<uint16_t>(text, static_cast<uint16_t>(e.name.size()));
  put<uint16_t>(text, 0);
  return text;
}

std::string deflated(std::span<const std::byte> header, std::span<const std::byte> elements) {
  z_stream zlib = {};
  if (deflateInit2(&zlib, 6, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY) != Z_OK)
    throw Error(ErrorKind::kMemory, "save_npz: zlib has no memory");
  std::string out(deflateBound(&zlib, header.size() + elements.size()) + 1024, '\0');
  zlib.next_out = reinterpret_cast<Bytef*>(out.data());
  zlib.avail_out = static_cast<uInt>(std::min<size_t>(out.size(), UINT32_MAX));
  int result = Z_OK;
  for (int last = 0; last < 2; last++) {
    const std::span<const std::byte> part = last != 0 ? elements : header;
    zlib.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(part.data()));
    zlib.avail_in = static_cast<uInt>(part.size());
    result = deflate(&zlib, last != 0 ? Z_FINISH : Z_NO_FLUSH);
  }
  out.resize(zlib.total_out);
  deflateEnd(&zlib);
  if (result != Z_STREAM_END) throw Error("save_npz: zlib could not compress a tensor — save it uncompressed");
  return out;
}

}  // namespace

std::vector<NamedTensor> load_npz(const std::string& path, const UnpackLimits& limits) {
  FileSource file("load_npz", path);
  const Tensor bytes = read_all(file);
  return read_npz(file, bytes_of(bytes), limits);
}

std::vector<NamedTensor> parse_npz(std::span<const std::byte> bytes, const UnpackLimits& limits) {
  MemorySource memory("parse_npz", bytes);
  return read_npz(memory, bytes, limits);
}

void save_npz(const std::string& path, std::span<const NamedTensor> tensors, bool compress) {
  std::unordered_set<std::string_view> names;
  AtomicFile file(path);
  std::string directory;
  uint64_t at = 0;
  for (const NamedTensor& each : tensors) {
    if (each.name.empty() || each.name.size() > 60000 || !names.insert(each.name).second)
      throw Error("save_npz: the name " + in_quotes(each.name) +
                  " is empty, too long or given twice — give every tensor its own");
    const Tensor t = to_write("save_npz", each.name, each.tensor);
    const std::string header = npy_header("save_npz", t);
    const std::span<const std::byte> parts[] = {std::as_bytes(std::span(header)), bytes_of(t)};
    uint64_t size = parts[0].size() + parts[1].size();
    if (at + size > UINT32_MAX - (1 << 20) || tensors.size() > UINT16_MAX - 1)
      throw Error("save_npz: more than 4 GiB or 65534 tensors — save them as safetensors");
    uLong crc = 0;
    for (const auto& part : parts) crc = crc32_z(crc, reinterpret_cast<const Bytef*>(part.data()), part.size());
    const std::string packed = compress ? deflated(parts[0], parts[1]) : "";
    const Entry e{each.name + ".npy", compress, static_cast<uint32_t>(crc), compress ? packed.size() : size, size, at};

    std::string local;
    put(local, kLocal);
    put<uint16_t>(local, 20);  // the version that reading needs
    local += common_fields(e) + e.name;
    file.write(local);
    if (compress) file.write(packed);
    for (const auto& part : parts)
      if (!compress) file.write(part);

    put(directory, kCentral);
    put<uint16_t>(directory, 20 | 3 << 8);  // made by: Unix
    put<uint16_t>(directory, 20);
    directory += common_fields(e);
    put<uint16_t>(directory, 0);                     // no comment
    put<uint32_t>(directory, 0);                     // first disk, binary
    put<uint32_t>(directory, uint32_t{0644} << 16);  // rw-r--r--
    put<uint32_t>(directory, static_cast<uint32_t>(at));
    directory += e.name;
    at += local.size() + e.packed;
  }
  file.write(directory);
  std::string end;
  put(end, kEnd);
  put<uint32_t>(end, 0);
  put<uint16_t>(end, static_cast<uint16_t>(tensors.size()));
  put<uint16_t>(end, static_cast<uint16_t>(tensors.size()));
  put<uint32_t>(end, static_cast<uint32_t>(directory.size()));
  put<uint32_t>(end, static_cast<uint32_t>(at));
  put<uint16_t>(end, 0);
  file.write(end);
  file.commit();
}

}  // namespace ingot::io
