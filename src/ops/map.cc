// map: the user's own element-wise function; see include/ingot/ops/map.h.
#include "ingot/ops/map.h"

#include "ingot/ops/checks.h"
#include "ops/define.h"

namespace ingot {
namespace {

const MapFunction& function_of(const Call& call) { return *static_cast<const MapFunction*>(call.pointer("function")); }

// What the tile kernel needs; it travels through run_tiles where other ops have their params.
struct MapTile {
  const MapFunction* function;
  int part;
  DType dtype;
};

MapTile decode_map(const Call& call) {
  return {&function_of(call), static_cast<int>(call.integer("part")), call.in(0).dtype()};
}

void run_part(const MapTile& tile, const Call& call, const Tensor& out, const Team& team) {
  const TileFn run = [](void* to, const void* const* in, unsigned scalars, int64_t n, const double* params) {
    const MapTile& t = *reinterpret_cast<const MapTile*>(params);
    t.function->run(t.part, t.dtype, to, in, scalars, n);
  };
  run_tiles(run, call, reinterpret_cast<const double*>(&tile), out, team);
}

const MapFunction& sample_unary() {
  static const MapFunction kCube(
      "cube", [](auto x) { return x * x * x; }, [](auto x) { return 3 * x * x; });
  return kCube;
}
const MapFunction& sample_binary() {
  static const MapFunction kProduct(
      "product", [](auto x, auto y) { return x * y + x; }, [](auto, auto y) { return y + 1; },
      [](auto x, auto) { return x; });
  return kProduct;
}

}  // namespace

INGOT_OP(map) = {
    .name = "map",
    .signature = "map_part(xs..., function:pointer, part:int=0)",
    .doc =
        "A user's own element-wise function of 1 to 3 tensors (part 0) or its derivative by argument part - 1; see "
        "map.h.",
    .family = "map",
    .plumbing = true,
    .infer =
        [](const Call& call, Specs& out) {
          if (call.pointer("function") == nullptr) fail_argument(call, "no function", "call map(fn, x) of map.h");
          const MapFunction& fn = function_of(call);
          const int64_t part = call.integer("part");
          if (call.count() != fn.inputs())
            fail_argument(call,
                          std::string("\"") + fn.name() + "\" takes " + std::to_string(fn.inputs()) + " tensors, " +
                              std::to_string(call.count()) + " given",
                          "pass one tensor per argument of the function");
          if (part < 0 || part > fn.inputs() || (part > 0 && !fn.differentiable()))
            fail_argument(call, std::string("\"") + fn.name() + "\" has no derivative",
                          "give MapFunction one derivative per argument");
          Dims shape = call.in(0).shape();
          for (int i = 0; i < call.count(); i++) {
            require_type(call, call.in(i).dtype());
            require_same_type(call, 0, i);
            shape = broadcast_shapes("map", shape, call.in(i).shape());
          }
          out.add(call.in(0).dtype(), shape);
        },
    .prepare = prepared<decode_map>,
    .run = [](const Call& call, const Tensor* out, void*,
              const Team& team) { run_part(call.params<MapTile>(), call, out[0], team); },
    .in_place = true,
    .reference = [](const Call& call, const Tensor* out) { run_part(decode_map(call), call, out[0], Team()); },
    .gradient =
        [](Gradient& g) {
          if (g.call().integer("part") != 0)
            throw Error(
                "map: a derivative given by the user is not differentiable again — write the function with ops");
          std::vector<Tensor> xs;
          for (int i = 0; i < g.count(); i++) xs.push_back(g.in(i));
          for (int i = 0; i < g.count(); i++)
            if (g.wants(i)) g.set(i, multiply(g.dy(), map_part(xs, g.call().pointer("function"), i + 1)));
        },
    .samples =
        [](Samples& s) {
          const auto attrs = [](const MapFunction& fn) {
            return Attrs().set("function", static_cast<const void*>(&fn)).set("part", 0);
          };
          s.add({s.real({})}, attrs(sample_unary()));
          s.add({s.real({0, 2})}, attrs(sample_unary()));
          s.add({s.real({3, 5})}, attrs(sample_unary()));
          s.add({s.real({4, 1}), s.real({3})}, attrs(sample_binary()));
          s.add({s.real({7}), s.real({7})}, attrs(sample_binary()));
        },
};

Tensor map(const MapFunction& fn, Tensors xs) { return map_part(xs, &fn); }
void map_into(const Tensor& dst, const MapFunction& fn, Tensors xs) { map_part_into(dst, xs, &fn); }

}  // namespace ingot
