#include "exchange/onnx/schema.h"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <set>
#include <unordered_map>

#include "exchange/onnx/types.h"
#include "ingot/base/file.h"
#include "ingot/base/numbers.h"
#include "ingot/base/text.h"

namespace ingot::onnx {
namespace {

// A tensor's elements as the file has them, in whichever field its type uses.
struct Elements {
  Bytes raw;
  bool is_raw = false;
  std::vector<float> reals;
  std::vector<double> doubles;
  std::vector<int64_t> integers;
  std::vector<std::string> strings;
};

struct External {
  std::string location;
  int64_t offset = 0, length = -1;
};

class Reader {
 public:
  explicit Reader(std::string folder) : folder_(std::move(folder)) {}

  File model(FieldReader m) {
    File file;
    while (m.next()) {
      switch (m.number()) {
        case 1: file.ir_version = m.integer(); break;
        case 2: file.producer = m.text(); break;
        case 7: file.graph = graph(m.message()); break;
        case 8: opset(m.message(), file.opsets); break;
        case 14: entry(m.message(), file.metadata); break;
        case 25: file.functions.push_back(function(m.message())); break;
        default: break;
      }
    }
    return file;
  }

  Literal tensor(FieldReader m) {
    Literal out;
    Elements elements;
    std::vector<int64_t> dims;
    std::map<std::string, std::string> outside;
    bool external = false;
    while (m.next()) {
      switch (m.number()) {
        case 1: m.integers([&](int64_t d) { dims.push_back(d); }); break;
        case 2: out.type = static_cast<Type>(m.integer()); break;
        case 3: FieldReader::fail("a tensor in segments");
        case 4: m.fixed<float>([&](float v) { elements.reals.push_back(v); }); break;
        case 5:
        case 7:
        case 11: m.integers([&](int64_t v) { elements.integers.push_back(v); }); break;
        case 6: elements.strings.push_back(m.text()); break;
        case 8: out.name = m.text(); break;
        case 9: elements.raw = m.bytes(), elements.is_raw = true; break;
        case 10: m.fixed<double>([&](double v) { elements.doubles.push_back(v); }); break;
        case 13: entry(m.message(), outside); break;
        case 14: external = m.integer() == 1; break;
        default: break;
      }
    }
    const std::string what = "tensor " + in_quotes(out.name);
    if (dims.size() > kMaxRank)
      fail(what + " has " + std::to_string(dims.size()) + " axes",
           "at most " + std::to_string(kMaxRank) + " are supported");
    for (const int64_t d : dims)
      if (d < 0) fail(what + " has a negative size", "the file is broken");
    if (out.type == Type::kString) {
      out.strings = std::move(elements.strings);
      return out;
    }
    std::string read;  // lives until the elements are copied
    if (external) {
      read = external_bytes(what, outside);
      elements.raw = std::as_bytes(std::span(read)), elements.is_raw = true;
    }
    out.tensor = filled(what, out.type, Dims(dims), elements);
    return out;
  }

 private:
  [[noreturn]] static void fail(const std::string& what, const std::string& hint) {
    throw Error(ErrorKind::kFile, "onnx: " + what + " — " + hint);
  }

  static void entry(FieldReader m, std::map<std::string, std::string>& into) {
    std::string key, value;
    while (m.next()) {
      if (m.number() == 1) key = m.text();
      if (m.number() == 2) value = m.text();
    }
    into[key] = value;
  }

  static void opset(FieldReader m, std::map<std::string, int64_t>& into) {
    std::string domain;
    int64_t version = 1;
    while (m.next()) {
      if (m.number() == 1) domain = m.text();
      if (m.number() == 2) version = m.integer();
    }
    into[domain == "ai.onnx" ? "" : domain] = version;
  }

  Function function(FieldReader m) {
    Function f;
    while (m.next()) {
      switch (m.number()) {
        case 1: f.name = m.text(); break;
        case 4: f.inputs.push_back(m.text()); break;
        case 5: f.outputs.push_back(m.text()); break;
        case 6: f.attributes.push_back(m.text()); break;
        case 7: f.nodes.push_back(node(m.message())); break;
        case 9: opset(m.message(), f.opsets); break;
        case 10: f.domain = m.text(); break;
        default: break;
      }
    }
    sort(f.nodes);
    return f;
  }

  Graph graph(FieldReader m) {
    Graph g;
    while (m.next()) {
      switch (m.number()) {
        case 1: g.nodes.push_back(node(m.message())); break;
        case 2: g.name = m.text(); break;
        case 5: g.initializers.push_back(std::make_shared<const Literal>(tensor(m.message()))); break;
        case 11: g.inputs.push_back(value(m.message())); break;
        case 12: g.outputs.push_back(value(m.message())); break;
        case 15: fail("the model has sparse weights", "write them dense");
        default: break;
      }
    }
    sort(g.nodes);
    refuse_twice(
        g.inputs, [](const ValueInfo& v) { return v.name; }, "inputs");
    refuse_twice(
        g.initializers, [](const auto& l) { return l->name; }, "initializers");
    return g;
  }

  Node node(FieldReader m) {
    Node n;
    while (m.next()) {
      switch (m.number()) {
        case 1: n.inputs.push_back(m.text()); break;
        case 2: n.outputs.push_back(m.text()); break;
        case 3: n.name = m.text(); break;
        case 4: n.op = m.text(); break;
        case 5: n.attributes.push_back(attribute(m.message())); break;
        case 7: n.domain = m.text(); break;
        default: break;
      }
    }
    if (n.domain == "ai.onnx") n.domain.clear();
    return n;
  }

  Attribute attribute(FieldReader m) {
    Attribute a;
    while (m.next()) {
      switch (m.number()) {
        case 1: a.name = m.text(); break;
        case 2: a.real = m.real(); break;
        case 3: a.integer = m.integer(); break;
        case 4: a.text = m.text(); break;
        case 5: a.tensor = std::make_shared<const Literal>(tensor(m.message())); break;
        case 6: a.graph = std::make_shared<const Graph>(graph(m.message())); break;
        case 7: m.fixed<float>([&](float v) { a.reals.push_back(v); }); break;
        case 8: m.integers([&](int64_t v) { a.integers.push_back(v); }); break;
        case 9: a.texts.push_back(m.text()); break;
        case 20: a.kind = static_cast<int>(m.integer()); break;
        case 21: a.reference = m.text(); break;
        default: break;
      }
    }
    return a;
  }

  static ValueInfo value(FieldReader m) {
    ValueInfo v;
    while (m.next()) {
      if (m.number() == 1) v.name = m.text();
      if (m.number() == 2) type(m.message(), v);
    }
    return v;
  }

  static void type(FieldReader m, ValueInfo& v) {
    while (m.next()) {
      switch (m.number()) {
        case 1: tensor_type(m.message(), v); break;
        case 4: v.other = "sequence"; break;
        case 5: v.other = "map"; break;
        case 8: v.other = "sparse tensor"; break;
        case 9: v.other = "optional"; break;
        default: break;
      }
    }
  }

  static void tensor_type(FieldReader m, ValueInfo& v) {
    while (m.next()) {
      if (m.number() == 1) v.type = static_cast<Type>(m.integer());
      if (m.number() != 2) continue;
      v.has_shape = true;
      FieldReader shape = m.message();
      while (shape.next()) {
        if (shape.number() != 1) continue;
        std::pair<int64_t, std::string> dim{-1, ""};
        FieldReader d = shape.message();
        while (d.next()) {
          if (d.number() == 1) dim.first = d.integer();
          if (d.number() == 2) dim.second = d.text();
        }
        v.dims.push_back(std::move(dim));
      }
    }
  }

  // The part of a file beside the model that holds a tensor's elements. The name is the file's own word: it may not lead
  // out of the model's folder.
  std::string external_bytes(const std::string& what, std::map<std::string, std::string>& outside) const {
    const std::filesystem::path location(outside["location"]);
    bool leads_out = location.empty() || location.is_absolute();
    for (const auto& part : location) leads_out |= part == "..";
    if (leads_out)
      fail(what + " is kept in " + in_quotes(location.string()), "only files in the model's folder are read");
    if (folder_.empty()) fail(what + " is kept in " + in_quotes(location.string()), "load the model from its file");
    const auto number = [&](const char* key, int64_t fallback) {
      int64_t value = fallback;
      if (const auto found = outside.find(key);
          found != outside.end() && (!parse_number(found->second, value) || value < 0))
        fail(what + " has the " + key + " " + in_quotes(found->second), "it must be a number of bytes");
      return value;
    };
    const int64_t offset = number("offset", 0), length = number("length", -1);
    InputFile file("onnx", (std::filesystem::path(folder_) / location).string());
    const auto size = static_cast<int64_t>(file.size());
    if (offset > size || length > size - offset)
      fail(what + " is said to lie at byte " + std::to_string(offset) + " of " + in_quotes(location.string()),
           "that file has " + std::to_string(size) + " bytes");
    const MappedFile map(file);
    return {reinterpret_cast<const char*>(map.data()) + offset,
            static_cast<size_t>(length < 0 ? size - offset : length)};
  }

  static Tensor filled(const std::string& what, Type type, const Dims& shape, const Elements& e) {
    const int bytes = size_in_file(type);
    if (bytes == 0) fail(what + " holds " + name(type), "this type of element is not supported");
    const int64_t count = element_count(shape);
    const auto check = [&](size_t there) {
      if (static_cast<uint64_t>(count) != there)
        fail(what + " " + to_string(shape) + " needs " + std::to_string(count) + " elements, but the file has " +
                 std::to_string(there),
             "the file is broken");
    };
    const auto from = [&](const auto& values) {
      check(values.size());
      Tensor t = Tensor::empty(shape, carrier(type));
      std::byte* out = static_cast<std::byte*>(t.raw());
      for (size_t i = 0; i < values.size(); i++, out += size_of(t.dtype())) put_element(out, type, values[i]);
      return t;
    };
    if (e.is_raw) {
      if (e.raw.size() % static_cast<size_t>(bytes) != 0) check(e.raw.size() / static_cast<size_t>(bytes) + 1);
      check(e.raw.size() / static_cast<size_t>(bytes));
      return from_file_bytes(e.raw, type, shape);
    }
    if (type == Type::kFloat) return from(e.reals);
    if (type == Type::kDouble) return from(e.doubles);
    return from(e.integers);  // f16 and bf16 as their bits
  }

  static void refuse_twice(const auto& list, const auto& name_of, const std::string& what) {
    std::set<std::string> names;
    for (const auto& each : list)
      if (!names.insert(name_of(each)).second)
        fail("two " + what + " are called " + in_quotes(name_of(each)), "the file is broken");
  }

  // Puts every node behind those whose results it reads, and otherwise leaves the order alone.
  static void sort(std::vector<Node>& nodes) {
    std::unordered_map<std::string, size_t> maker;
    for (size_t i = 0; i < nodes.size(); i++)
      for (const std::string& out : nodes[i].outputs)
        if (!out.empty() && !maker.emplace(out, i).second)
          fail("two nodes make " + in_quotes(out), "the file is broken");
    std::vector<std::vector<size_t>> before(nodes.size());
    for (size_t i = 0; i < nodes.size(); i++) add_makers(nodes[i], maker, before[i]);
    std::vector<size_t> order;
    std::vector<uint8_t> state(nodes.size(), 0);  // 1: begun, 2: placed
    std::vector<std::pair<size_t, size_t>> stack;
    for (size_t start = 0; start < nodes.size(); start++) {
      if (state[start] == 0) stack.push_back({start, 0}), state[start] = 1;
      while (!stack.empty()) {
        auto& [n, next] = stack.back();
        if (next == before[n].size()) {
          state[n] = 2, order.push_back(n);
          stack.pop_back();
          continue;
        }
        const size_t needed = before[n][next++];
        if (state[needed] == 1)
          fail("node " + in_quotes(nodes[needed].name) + " needs its own result", "the file is broken");
        if (state[needed] == 0) state[needed] = 1, stack.push_back({needed, 0});
      }
    }
    std::vector<Node> sorted;
    sorted.reserve(order.size());
    for (const size_t i : order) sorted.push_back(std::move(nodes[i]));
    nodes = std::move(sorted);
  }

  // Of what a node reads, itself or in its graphs, what these nodes make. Names that a graph inside gives itself are its
  // own.
  static void add_makers(const Node& node, const std::unordered_map<std::string, size_t>& maker,
                         std::vector<size_t>& to, std::vector<const Graph*> inside = {}) {
    const auto read = [&](const std::string& name) {
      if (const auto found = maker.find(name); found != maker.end() && !is_own(name, inside))
        to.push_back(found->second);
    };
    for (const std::string& in : node.inputs) read(in);
    for (const Attribute& a : node.attributes) {
      if (a.graph == nullptr) continue;
      inside.push_back(a.graph.get());
      for (const Node& inner : a.graph->nodes) add_makers(inner, maker, to, inside);
      for (const ValueInfo& out : a.graph->outputs) read(out.name);
      inside.pop_back();
    }
  }
  static bool is_own(const std::string& name, const std::vector<const Graph*>& graphs) {
    const auto any = [](const auto& list, const auto& f) { return std::any_of(list.begin(), list.end(), f); };
    return any(graphs, [&](const Graph* g) {
      return any(g->inputs, [&](const ValueInfo& v) { return v.name == name; }) ||
             any(g->initializers, [&](const auto& l) { return l->name == name; }) ||
             any(g->nodes, [&](const Node& n) { return any(n.outputs, [&](const auto& out) { return out == name; }); });
    });
  }

  std::string folder_;
};

}  // namespace

const Attribute* Node::find(std::string_view attribute) const {
  for (const Attribute& a : attributes)
    if (a.name == attribute) return &a;
  return nullptr;
}

File parse_model(Bytes bytes, const std::string& folder) {
  File file = Reader(folder).model(FieldReader(bytes));
  if (file.ir_version == 0 || (file.graph.nodes.empty() && file.graph.outputs.empty()))
    FieldReader::fail("there is no graph in it");
  return file;
}

Literal parse_literal(Bytes bytes) { return Reader("").tensor(FieldReader(bytes)); }

FieldWriter tensor_message(const std::string& name, Type type, const Tensor& tensor) {
  FieldWriter m;
  for (const int64_t d : tensor.shape()) m.integer(1, d);
  m.integer(2, static_cast<int64_t>(type));
  m.text(8, name);
  m.text(9, to_file_bytes(tensor, type));
  return m;
}

}  // namespace ingot::onnx
