#include "ingot/logic/theory.h"

#include <algorithm>
#include <cctype>
#include <cmath>

#include "ingot/base/error.h"
#include "ingot/base/file.h"
#include "ingot/base/text.h"
#include "ingot/graph/plan.h"
#include "ingot/ops/functions.h"
#include "ingot/ops/ops.h"
#include "logic/theory/files.h"
#include "logic/theory/world.h"

namespace ingot::logic {
namespace {

constexpr double kLeastTruth = 1e-12;  // whose logarithm is taken

int tensor_named(const TheoryUnit& unit, std::string_view name) {
  const int i = unit.find(name);
  if (i >= 0) return i;
  std::vector<std::string> known;
  for (const TheoryTensor& t : unit.tensors) known.push_back(t.name);
  throw Error(ErrorKind::kArgument, "theory: there is no relation or tensor " + in_quotes(name) +
                                        (known.empty() ? "" : " — " + did_you_mean(name, known)));
}

}  // namespace

Theory::Theory(std::shared_ptr<TheoryUnit> unit) : unit_(std::move(unit)) {}
Theory::Theory(const Theory& other) : Module(other), unit_(std::make_shared<TheoryUnit>(*other.unit_)) {
  for (TheoryTensor& t : unit_->tensors)  // what is learned gets memory of its own from clone()
    if (t.elements.defined() && t.kind != TheoryTensor::Kind::kParam) t.elements = ingot::clone(t.elements);
}

Theory Theory::parse(std::string text, const std::string& name, const TheoryOptions& options) {
  if (options.dtype != kF32 && options.dtype != kF64) throw Error(ErrorKind::kType, "theory: truths are f32 or f64");
  auto unit = std::make_shared<TheoryUnit>();
  unit->dtype = options.dtype;
  unit->folder = options.folder;
  parse_theory(*unit, name, std::move(text));
  if (!options.semantics.empty()) choose_semantics(*unit, options.semantics);
  check_theory(*unit);
  return Theory(std::move(unit));
}

Theory Theory::load(const std::string& path, const TheoryOptions& options) {
  return parse(read_file(path), path, options);
}

namespace {

void require_network(const Theory& theory, const std::string& name) {
  const auto all = theory.networks();
  if (std::find(all.begin(), all.end(), name) == all.end())
    throw Error(ErrorKind::kArgument, "theory: no neural predicate calls " + in_quotes(name) +
                                          (all.empty() ? "" : " — " + did_you_mean(name, all)));
}

}  // namespace

void Theory::network(const std::string& name, nn::LayerPtr layer) {
  require_network(*this, name);
  unit_->functions.erase(name);
  unit_->layers.insert_or_assign(name, std::move(layer));
}

void Theory::network(const std::string& name, std::function<Tensor(Tensors)> function) {
  require_network(*this, name);
  unit_->layers.erase(name);
  unit_->functions[name] = std::move(function);
}

void Theory::set(const std::string& name, const Tensor& elements) {
  TheoryTensor& t = unit_->tensor(tensor_named(*unit_, name));
  if (!t.elements.defined() || t.kind == TheoryTensor::Kind::kParam)
    throw Error(ErrorKind::kArgument, "theory: " + in_quotes(name) + " is " +
                                          (t.elements.defined() ? "learned" : "computed or an input") +
                                          ", so nothing can be put into it");
  if (!(elements.shape() == t.elements.shape()))
    throw Error(ErrorKind::kShape, "theory: " + in_quotes(name) + " is " + to_string(t.elements.shape()) +
                                       ", given were " + to_string(elements.shape()));
  to_into(t.elements, elements, unit_->dtype);
}

void Theory::set_temperature(double temperature) {
  if (!(temperature >= 0)) throw Error(ErrorKind::kArgument, "theory: a temperature is 0 or more");
  unit_->temperature = temperature;
}

Tensor Theory::operator()(std::string_view name, const data::Batch& batch) const {
  return World(*unit_, batch).tensor(tensor_named(*unit_, name));
}

Tensor Theory::ask(const std::string& question, const data::Batch& batch) const {
  TheoryUnit asked = *unit_;  // its own sources: messages point into the question
  Statement s = parse_question(asked, question);
  check_statement(asked, s);
  return World(asked, batch).truth(s);
}

std::vector<std::pair<std::string, std::string>> Theory::variables_of(const std::string& question) const {
  TheoryUnit asked = *unit_;
  Statement s = parse_question(asked, question);
  check_statement(asked, s);
  std::vector<std::pair<std::string, std::string>> all;
  for (const int v : s.body[0].free) {  // which is sorted
    const TheoryVariable& variable = s.variables[static_cast<size_t>(v)];
    all.emplace_back(variable.name,
                     variable.axis.domain < 0 ? "" : asked.domains[static_cast<size_t>(variable.axis.domain)].name);
  }
  return all;
}

std::string Theory::explain(const std::string& what, const data::Batch& batch) const {
  const auto& all = unit_->assertions;
  const auto named = std::find_if(all.begin(), all.end(), [&](const Assertion& a) { return a.name == what; });
  if (named != all.end()) return explain_assertion(*unit_, static_cast<size_t>(named - all.begin()), batch);
  const bool word = std::all_of(what.begin(), what.end(),
                                [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; });
  if (word && unit_->find(what) < 0) {
    std::vector<std::string> known = names();
    for (const Assertion& a : all) known.push_back(a.name);
    throw Error(ErrorKind::kArgument, "theory: there is no relation, tensor or assertion " + in_quotes(what) + " — " +
                                          did_you_mean(what, known));
  }
  TheoryUnit asked = *unit_;
  Statement s = parse_question(asked, what);
  check_statement(asked, s);
  return explain_question(*unit_, s, batch);  // whose lines are the program's
}

std::vector<std::string> Theory::write(const std::string& folder, const data::Batch& batch) const {
  World world(*unit_, batch);
  for (const TheoryOutput& o : unit_->outputs) {
    const int number = unit_->find(o.name);
    write_elements(*unit_, unit_->tensor(number), world.tensor(number), path_in(folder, o.file));
  }
  return outputs(folder);
}

std::vector<std::string> Theory::outputs(const std::string& folder) const {
  std::vector<std::string> paths;
  for (const TheoryOutput& o : unit_->outputs) paths.push_back(path_in(folder, o.file));
  return paths;
}
const std::vector<std::string>& Theory::files() const { return unit_->files; }

namespace {

// Marks the tensors that a formula rests on.
void mark(const TheoryUnit& unit, const Node& n, std::vector<bool>& used) {
  for (const Node& part : n.parts) mark(unit, part, used);
  if (n.tensor < 0 || used[static_cast<size_t>(n.tensor)]) return;
  used[static_cast<size_t>(n.tensor)] = true;
  const TheoryTensor& t = unit.tensor(n.tensor);
  for (const int i : t.statements)
    for (const Node& part : unit.statements[static_cast<size_t>(i)].body) mark(unit, part, used);
  for (const int i : t.inputs) mark(unit, {.tensor = i}, used);
}

}  // namespace

void Theory::require_learnable() const {
  if (unit_->asserted.empty()) return;  // of which results() complains
  std::vector<bool> used(unit_->tensors.size());
  for (const int i : unit_->asserted) mark(*unit_, unit_->statements[static_cast<size_t>(i)].body[0], used);
  for (size_t i = 0; i < used.size(); i++)
    if (const TheoryTensor& t = unit_->tensors[i]; t.kind == TheoryTensor::Kind::kParam && !used[i])
      unit_->sources.fail(t.at, in_quotes(t.name) + " is learned, and used by no assertion",
                          "assert something about it, or leave out `param`");
}

namespace {

std::vector<NamedTensor> truths_of(const TheoryUnit& unit, const data::Batch& batch) {
  World world(unit, batch);
  std::vector<NamedTensor> all;
  for (size_t i = 0; i < unit.assertions.size(); i++) {
    const Scope scope(unit.assertions[i].name);
    all.push_back({unit.assertions[i].name, world.truth(unit.statements[static_cast<size_t>(unit.asserted[i])])});
  }
  return all;
}

}  // namespace

std::vector<NamedTensor> Theory::truths(const data::Batch& batch) const { return truths_of(*unit_, batch); }

std::vector<NamedTensor> Theory::results(const data::Batch& batch) const {
  std::vector<NamedTensor> all = truths_of(*unit_, batch);
  if (all.empty())
    throw Error(ErrorKind::kArgument, "theory: nothing is asserted, so nothing can be learned — assert forall x: …");
  const Quantify how = unit_->semantics.quantify;
  const bool logs = how == Quantify::kProduct || how == Quantify::kGeometric;
  double weights = 0;
  Tensor total;
  for (size_t i = 0; i < all.size(); i++) {
    const double weight = unit_->assertions[i].weight;
    weights += weight;
    Tensor part = all[i].tensor;
    if (logs) part = log(clamp(part, kLeastTruth, 1));
    if (how == Quantify::kPMean) part = square(1.0 - part);
    if (weight != 1) part = multiply(part, weight);
    total = total.defined() ? add(total, part) : part;
  }
  const Tensor mean = weights == 1 ? total : multiply(total, 1 / weights);
  Tensor loss, satisfaction;
  if (logs) {
    loss = negative(mean);
    satisfaction = exp(mean);
  } else if (how == Quantify::kPMean) {
    loss = sqrt(mean + 1e-12);
    satisfaction = 1.0 - loss;
  } else {
    loss = 1.0 - mean;
    satisfaction = mean;
  }
  all.insert(all.begin(), {{"loss", loss}, {"satisfaction", satisfaction}});
  return all;
}

const std::vector<Assertion>& Theory::assertions() const { return unit_->assertions; }
const std::vector<std::string>& Theory::questions() const { return unit_->questions; }

std::vector<std::string> Theory::learned() const {
  std::vector<std::string> all;
  for (const TheoryTensor& t : unit_->tensors)
    if (t.kind == TheoryTensor::Kind::kParam) all.push_back(t.name);
  return all;
}
std::vector<std::string> Theory::names() const {
  std::vector<std::string> all;
  for (const TheoryTensor& t : unit_->tensors) all.push_back(t.name);
  return all;
}
std::vector<std::string> Theory::networks() const {
  std::vector<std::string> all;
  for (const TheoryTensor& t : unit_->tensors)
    if (!t.network.empty() && std::find(all.begin(), all.end(), t.network) == all.end()) all.push_back(t.network);
  return all;
}

std::vector<std::string> Theory::members(const std::string& domain) const {
  const int i = unit_->domain_named(domain);
  if (i < 0) throw Error(ErrorKind::kArgument, "theory: there is no domain " + in_quotes(domain));
  const Domain& d = unit_->domains[static_cast<size_t>(i)];
  if (!d.members.empty() || d.size < 0) return d.members;
  std::vector<std::string> all;
  for (int64_t n = 0; n < d.size; n++) all.push_back(std::to_string(n));
  return all;
}

std::vector<std::string> Theory::domains_of(const std::string& name) const {
  std::vector<std::string> all;
  for (const Axis& a : unit_->tensor(tensor_named(*unit_, name)).axes)
    all.push_back(a.domain < 0 ? "" : unit_->domains[static_cast<size_t>(a.domain)].name);
  return all;
}
const std::string& Theory::text() const { return unit_->text; }

void Theory::parts(nn::Parts& p) {
  for (TheoryTensor& t : unit_->tensors)
    if (t.kind == TheoryTensor::Kind::kParam) p(t.name, t.elements);
  for (auto& [name, layer] : unit_->layers) p(name, *layer);
}

}  // namespace ingot::logic
