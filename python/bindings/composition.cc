// Layers made of layers, recurrent ones and attention.
#include "ingot/nn/attention.h"
#include "ingot/nn/layers.h"
#include "ingot/nn/recurrent.h"
#include "nn.h"

namespace ingot::python {
namespace {

using py::arg;

template <class L>
using Class = py::class_<L, nn::Layer, std::shared_ptr<L>>;

// len(), net[0], and a copy made of copies.
template <class L>
void list_of_layers(Class<L>& type) {
  type.def("__len__", [](const L& l) { return l.size(); })
      .def(
          "__getitem__",
          [](L& l, int64_t i) -> nn::Layer& {
            const auto n = static_cast<int64_t>(l.size());
            if (i < -n || i >= n) throw py::index_error("there are " + std::to_string(n) + " layers");
            return l[static_cast<size_t>(i < 0 ? i + n : i)];
          },
          py::return_value_policy::reference_internal);
}

nn::RecurrentOptions recurrent_options(int layers, bool bidirectional, bool batch_first, bool bias, double dropout) {
  nn::RecurrentOptions o;
  o.layers = layers, o.bidirectional = bidirectional, o.batch_first = batch_first, o.bias = bias, o.dropout = dropout;
  return o;
}

template <class L>
void recurrent(py::module_& m, const char* name, const char* doc) {
  Class<L>(m, name, py::is_final(), doc)
      .def(py::init([](int64_t in, int64_t hidden, int layers, bool bidirectional, bool batch_first, bool bias,
                       double dropout) {
             return std::make_shared<L>(in, hidden,
                                        recurrent_options(layers, bidirectional, batch_first, bias, dropout));
           }),
           arg("in_features"), arg("hidden"), arg("layers") = 1, arg("bidirectional") = false,
           arg("batch_first") = false, arg("bias") = true, arg("dropout") = 0.0)
      .def(
          "with_state",
          [](L& l, const Tensor& x, const Tensor& h, const Tensor& c) {
            const nn::RecurrentResult r = l.nn::Recurrent::forward(x, nn::RecurrentState{h, c});
            return r.state.c.defined() ? py::make_tuple(r.y, r.state.h, r.state.c) : py::make_tuple(r.y, r.state.h);
          },
          arg("x"), arg("h") = Tensor(), arg("c") = Tensor(),
          "From a state of yours; also returns the one after the last step: (y, h[, c]).")
      .def(
          "stateful", [](L& l, int64_t batch) { l.stateful(batch); }, arg("batch"),
          "Keeps the state for so many sequences between calls; 0 stops it.")
      .def("reset_state", [](L& l) { l.reset_state(); });
}

}  // namespace

void bind_composition(py::module_& m) {
  Class<nn::Sequential> sequential(m, "Sequential", py::is_final(), "Layers one after the other.");
  sequential
      .def(py::init([](const py::args& layers) {
        auto made = std::make_shared<nn::Sequential>();
        for (const py::handle each : layers) made->add(layer_pointer(py::reinterpret_borrow<py::object>(each)));
        return made;
      }))
      .def(
          "add", [](nn::Sequential& s, const py::object& layer) { s.add(layer_pointer(layer)); }, arg("layer"),
          "One more at the end.");
  list_of_layers(sequential);
  Class<nn::Concat> concat(m, "Concat", py::is_final(),
                           "Layers side by side: what each makes of x, joined along an axis.");
  concat.def(py::init([](int64_t axis, const py::args& branches) {
               auto made = std::make_shared<nn::Concat>(axis);
               for (const py::handle each : branches)
                 made->add(layer_pointer(py::reinterpret_borrow<py::object>(each)));
               return made;
             }),
             arg("axis"));
  list_of_layers(concat);
  Class<nn::Residual>(m, "Residual", py::is_final(), "x + inner(x).")
      .def(py::init([](const py::object& inner) { return std::make_shared<nn::Residual>(layer_pointer(inner)); }),
           arg("inner"))
      .def_property_readonly(
          "inner", [](nn::Residual& r) -> nn::Layer& { return r.inner(); },
          py::return_value_policy::reference_internal);
  recurrent<nn::LSTM>(m, "LSTM", "Long short-term memory: x [steps, batch, in] to [steps, batch, hidden].");
  recurrent<nn::GRU>(m, "GRU", "Gated recurrent unit: x [steps, batch, in] to [steps, batch, hidden].");
  Class<nn::MultiheadAttention>(
      m, "MultiheadAttention", py::is_final(),
      "x attends to itself, [batch, length, width] to the same; or queries to keys and values.")
      .def(py::init([](int64_t width, int64_t heads, bool causal, bool bias) {
             nn::AttentionOptions o;
             o.causal = causal, o.bias = bias;
             return std::make_shared<nn::MultiheadAttention>(width, heads, o);
           }),
           arg("width"), arg("heads"), arg("causal") = false, arg("bias") = true)
      .def(
          "forward",
          [](nn::MultiheadAttention& a, const Tensor& q, const Tensor& k, const Tensor& v) {
            if (!k.defined() && !v.defined()) return a(q);
            return a.forward(q, k, v);
          },
          arg("query"), arg("key") = Tensor(), arg("value") = Tensor());
  Class<nn::SinusoidalPositions>(m, "SinusoidalPositions", py::is_final(), "Adds sines and cosines of the position.")
      .def(py::init<int64_t, int64_t>(), arg("most"), arg("width"));
  Class<nn::LearnedPositions>(m, "LearnedPositions", py::is_final(), "Adds a learned row per position.")
      .def(py::init<int64_t, int64_t>(), arg("most"), arg("width"));
  Class<nn::TransformerBlock>(m, "TransformerBlock", py::is_final(),
                              "Attention and a feed-forward part, each after a norm and beside x.")
      .def(py::init([](int64_t width, int64_t heads, bool causal, int64_t feedforward, double dropout) {
             return std::make_shared<nn::TransformerBlock>(width, heads,
                                                           nn::TransformerOptions{causal, feedforward, dropout});
           }),
           arg("width"), arg("heads"), arg("causal") = false, arg("feedforward") = 0, arg("dropout") = 0.0);
}

}  // namespace ingot::python
