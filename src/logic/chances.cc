#include "logic/chances.h"

#include <algorithm>
#include <queue>

#include "ingot/base/text.h"

namespace ingot::logic {
namespace {

constexpr size_t kMostCoins = 10000;         // decision diagrams are walked that deep
constexpr uint64_t kMostWork = 200'000'000;  // proofs compared and joined
constexpr size_t kShownSlopes = 10;

}  // namespace

Chances::Chances(Evaluation& e, int proofs) : e_(e), proofs_(proofs), grounding_(e, true), bdd_(e.meter()) {}

void Chances::ground(const std::vector<size_t>& goals) {
  grounding_.expand();
  const auto& nodes = grounding_.nodes();
  coin_of_.resize(nodes.size(), -1);
  for (size_t n = 0; n < nodes.size(); n++) {
    if (!nodes[n].coin || coin_of_[n] >= 0) continue;
    const double weight = as_float(nodes[n].fact.back());
    if (!(weight >= 0 && weight <= 1))
      throw Error("logic: " + formatted("%g", weight) + " is no probability (of " + coin_text(n) +
                  ") — it must be between 0 and 1");
    coin_of_[n] = static_cast<int64_t>(coins_.size());
    coins_.push_back(n);
    weights_.push_back(weight);
  }
  if (coins_.size() > kMostCoins)
    throw Error("logic: " + grouped(static_cast<int64_t>(coins_.size())) + " facts with probabilities lead to " +
                grounding_.text_of(goals[0]) + ", " + grouped(kMostCoins) +
                " at most are possible — ask for fewer facts");
  users_.assign(nodes.size(), {});
  const auto& instances = grounding_.instances();
  for (size_t i = 0; i < instances.size(); i++)
    for (const size_t p : instances[i].premises) users_[p].push_back(i);
  exact_.resize(nodes.size(), Bdd::kFalse);
  solved_.resize(nodes.size(), false);
  labels_.resize(nodes.size());
}

// Calls update(instance) until nothing changes, for the wanted nodes, a stratum after the other: what is negated is finished.
// update says whether the instance's head is another one now. What was found last is needed first.
template <class F>
void Chances::sweep(const std::vector<bool>& wanted, F&& update) {
  const auto& nodes = grounding_.nodes();
  const auto& instances = grounding_.instances();
  const auto strata = stratify(e_.unit_as_written());
  std::vector<size_t> level(e_.unit().relations.size(), 0);
  for (size_t s = 0; s < strata.size(); s++)
    for (const int r : strata[s].relations) level[static_cast<size_t>(r)] = s;
  std::vector<std::vector<size_t>> by_level(strata.size());
  for (size_t i = 0; i < instances.size(); i++)
    if (wanted[instances[i].head]) by_level[level[static_cast<size_t>(nodes[instances[i].head].relation)]].push_back(i);
  std::vector<bool> waiting(instances.size(), false);
  for (size_t s = 0; s < strata.size(); s++) {
    std::priority_queue<size_t> queue;
    const auto push = [&](size_t i) {
      if (waiting[i] || !wanted[instances[i].head] ||
          level[static_cast<size_t>(nodes[instances[i].head].relation)] != s)
        return;
      waiting[i] = true;
      queue.push(i);
    };
    for (const size_t i : by_level[s]) push(i);
    while (!queue.empty()) {
      const size_t i = queue.top();
      queue.pop();
      waiting[i] = false;
      if ((++work_ & 1023) == 0) e_.check_cancel();
      if (update(i))
        for (const size_t user : users_[instances[i].head]) push(user);
    }
  }
}

void Chances::solve_exactly(const std::vector<bool>& wanted) {
  const auto& nodes = grounding_.nodes();
  std::vector<bool> missing(nodes.size(), false);
  for (size_t n = 0; n < nodes.size(); n++) {
    missing[n] = wanted[n] && !solved_[n];
    if (!missing[n] || !nodes[n].given) continue;
    exact_[n] = nodes[n].coin ? bdd_.variable(static_cast<uint32_t>(coin_of_[n])) : Bdd::kTrue;
  }
  sweep(missing, [&](size_t i) {
    const Grounding::Instance& instance = grounding_.instances()[i];
    Bdd::Node f = Bdd::kTrue;
    if (nodes[instance.head].coin) f = bdd_.variable(static_cast<uint32_t>(coin_of_[instance.head]));
    for (const size_t p : instance.premises) f = bdd_.both(f, exact_[p]);
    for (const size_t a : instance.absent) f = bdd_.both(f, bdd_.complement(exact_[a]));
    const Bdd::Node now = bdd_.either(exact_[instance.head], f);
    if (now == exact_[instance.head]) return false;
    exact_[instance.head] = now;
    return true;
  });
  for (size_t n = 0; n < nodes.size(); n++) solved_[n] = solved_[n] || wanted[n];
}

Bdd::Node Chances::function_of(const Proof& proof) {
  Bdd::Node f = Bdd::kTrue;
  for (size_t l = proof.size(); l-- > 0;)
    f = bdd_.both(f, proof[l] >= 0 ? bdd_.variable(static_cast<uint32_t>(proof[l]))
                                   : bdd_.complement(exact_[static_cast<size_t>(-1 - proof[l])]));
  return f;
}

double Chances::probability_of(const Proof& proof) {
  if (!proof.empty() && proof[0] < 0) return bdd_.probability(function_of(proof), weights_);
  double p = 1;
  for (const int64_t coin : proof) p *= weights_[static_cast<size_t>(coin)];
  return p;
}

// Keeps the most probable ones; one that needs no more than another takes its place. True if something is new.
bool Chances::keep(Label& label, Kept proof, size_t most) {
  if (proof.probability <= 0) return false;
  work_ += label.kept.size();
  const auto includes = [](const Proof& all, const Proof& part) {
    return std::includes(all.begin(), all.end(), part.begin(), part.end());
  };
  for (const Kept& k : label.kept)
    if (k.probability >= proof.probability && includes(proof.proof, k.proof)) return false;
  const auto better = [](const Kept& a, const Kept& b) {
    return a.probability != b.probability ? a.probability > b.probability : a.proof < b.proof;
  };
  if (label.kept.size() >= most &&
      (most == 1 ? proof.probability <= label.kept.back().probability : !better(proof, label.kept.back())))
    return false;
  label.kept.erase(std::remove_if(label.kept.begin(), label.kept.end(),
                                  [&](const Kept& k) { return includes(k.proof, proof.proof); }),
                   label.kept.end());
  label.kept.insert(std::upper_bound(label.kept.begin(), label.kept.end(), proof, better), std::move(proof));
  if (label.kept.size() > most) label.kept.pop_back();
  return true;
}

// The premises' proofs joined, the best ones.
std::vector<Chances::Kept> Chances::proofs_of(size_t i, size_t most) {
  const Grounding::Instance& instance = grounding_.instances()[i];
  Proof first;
  if (grounding_.nodes()[instance.head].coin) first.push_back(coin_of_[instance.head]);
  for (const size_t a : instance.absent)
    if (exact_[a] == Bdd::kTrue) return {};
  for (const size_t a : instance.absent)
    if (exact_[a] != Bdd::kFalse) first.push_back(-1 - static_cast<int64_t>(a));
  std::sort(first.begin(), first.end());
  first.erase(std::unique(first.begin(), first.end()), first.end());
  Label joined;
  keep(joined, {probability_of(first), first, i}, most);
  for (const size_t p : instance.premises) {
    Label next;
    for (const Kept& a : joined.kept)
      for (const Kept& b : labels_[p].kept) {
        Proof both;
        std::set_union(a.proof.begin(), a.proof.end(), b.proof.begin(), b.proof.end(), std::back_inserter(both));
        const double probability = probability_of(both);
        keep(next, {probability, std::move(both), i}, most);
      }
    joined = std::move(next);
    if (work_ > kMostWork)
      throw Error("logic: " + grouped(proofs_) + " proofs of each fact are too many here (" + grouped(kMostWork) +
                  " comparisons) — keep fewer");
  }
  return std::move(joined.kept);
}

void Chances::solve_best(size_t most) {
  const auto& nodes = grounding_.nodes();
  const auto& instances = grounding_.instances();
  // What is negated must be known whole, and so must be what it follows from.
  std::vector<bool> exactly(nodes.size(), false);
  std::vector<std::vector<size_t>> makers(nodes.size());
  std::vector<size_t> open;
  const auto want = [&](size_t n) {
    if (!exactly[n]) open.push_back(n);
    exactly[n] = true;
  };
  for (size_t i = 0; i < instances.size(); i++) {
    makers[instances[i].head].push_back(i);
    for (const size_t a : instances[i].absent) want(a);
  }
  while (!open.empty()) {
    const size_t n = open.back();
    open.pop_back();
    for (const size_t i : makers[n]) {
      for (const size_t p : instances[i].premises) want(p);
      for (const size_t a : instances[i].absent) want(a);
    }
  }
  solve_exactly(exactly);
  for (size_t n = 0; n < nodes.size(); n++) {
    labels_[n].kept.clear();
    if (!nodes[n].given) continue;
    const Proof proof = nodes[n].coin ? Proof{coin_of_[n]} : Proof{};
    keep(labels_[n], {probability_of(proof), proof, 0}, most);
  }
  sweep(std::vector<bool>(nodes.size(), true), [&](size_t i) {
    bool changed = false;
    for (Kept& k : proofs_of(i, most)) changed = keep(labels_[instances[i].head], std::move(k), most) || changed;
    return changed;
  });
}

// After solving: the whole function, or what the kept proofs say.
Bdd::Node Chances::function_of(size_t goal) {
  if (proofs_ == 0) return exact_[goal];
  Bdd::Node f = Bdd::kFalse;
  for (const Kept& k : labels_[goal].kept) f = bdd_.either(f, function_of(k.proof));
  return f;
}

void Chances::solve() {
  if (proofs_ == 0)
    solve_exactly(std::vector<bool>(grounding_.nodes().size(), true));
  else
    solve_best(static_cast<size_t>(proofs_));
}

Chances::Function Chances::function(const std::vector<std::pair<int, std::vector<Value>>>& facts) {
  std::vector<size_t> goals;
  std::vector<bool> asked(facts.size());
  for (size_t i = 0; i < facts.size(); i++) {
    const auto& [relation, fact] = facts[i];
    asked[i] = e_.is_uncertain(relation) && e_.relation(relation).contains(fact.data());
    if (asked[i]) goals.push_back(grounding_.node(relation, fact));
  }
  if (!goals.empty()) {
    ground(goals);
    solve();
  }
  std::vector<Bdd::Node> roots;
  size_t next = 0;
  for (size_t i = 0; i < facts.size(); i++)
    roots.push_back(asked[i]                                                       ? function_of(goals[next++])
                    : e_.relation(facts[i].first).contains(facts[i].second.data()) ? Bdd::kTrue
                                                                                   : Bdd::kFalse);
  Function f{{}, weights_, bdd_.rows(roots)};
  for (const size_t c : coins_) f.coins.push_back(coin_text(c));
  return f;
}

std::vector<double> Chances::probabilities(int relation, const std::vector<std::vector<Value>>& facts) {
  std::vector<size_t> goals;
  goals.reserve(facts.size());
  for (const auto& fact : facts) goals.push_back(grounding_.node(relation, fact));
  ground(goals);
  solve();
  std::vector<double> all;
  all.reserve(goals.size());
  for (const size_t goal : goals) all.push_back(bdd_.probability(function_of(goal), weights_));
  return all;
}

std::vector<Slope> Chances::slopes(int relation, const std::vector<Value>& fact) {
  probabilities(relation, {fact});
  const std::vector<double> by = bdd_.slopes(function_of(grounding_.node(relation, fact)), weights_);
  std::vector<Slope> all;
  for (size_t c = 0; c < coins_.size(); c++) all.push_back({coin_text(coins_[c]), weights_[c], by[c]});
  return all;
}

// The fact that a coin decides, or the rule with the values of its variables.
std::string Chances::coin_text(size_t n) const {
  const Grounding::Node& node = grounding_.nodes()[n];
  const Declaration& d = e_.unit().relations[static_cast<size_t>(node.relation)];
  std::vector<std::string> parts;
  for (size_t c = 0; c + 1 < node.fact.size(); c++) {
    const std::string value = value_in_program(d.columns[c].type, node.fact[c], e_.unit().symbols);
    parts.push_back(d.coin_of.empty() ? d.columns[c].name + " = " + value : value);
  }
  if (!d.coin_of.empty()) return d.coin_of + "(" + join(parts) + ")";
  return "line " + std::to_string(e_.unit().sources.line(d.at)) + (parts.empty() ? "" : " with " + join(parts));
}

void Chances::print(size_t n, const std::string& first, const std::string& rest, std::string& text) {
  const Grounding::Node& node = grounding_.nodes()[n];
  text += first + grounding_.text_of(n);
  const bool certain = !e_.unit().relations[static_cast<size_t>(node.relation)].uncertain;
  if (node.given || certain) {
    text += node.given ? "   given\n" : "   certain\n";
    return;
  }
  const Grounding::Instance* i = &grounding_.instances()[labels_[n].kept[0].by];
  if (i->rule->chance) {  // from the coin to its fact: the coin is what people wrote
    const Grounding::Node& coin = grounding_.nodes()[i->premises[0]];
    const std::string weight = formatted("%.6g", as_float(coin.fact.back()));
    if (coin.given) {
      text += "   given, probability " + weight + "\n";
      return;
    }
    i = &grounding_.instances()[labels_[i->premises[0]].kept[0].by];
    text += "   by line " + std::to_string(e_.unit().sources.line(i->rule->at)) + ", probability " + weight + "\n";
  } else {
    text += "   by line " + std::to_string(e_.unit().sources.line(i->rule->at)) + "\n";
  }
  size_t premise = 0;
  for (size_t l = 0; l < i->rule->body.size(); l++) {
    const Literal& literal = i->rule->body[l];
    const bool last = l + 1 == i->rule->body.size();
    const std::string branch = rest + (last ? "└─ " : "├─ "), below = rest + (last ? "   " : "│  ");
    const bool uncertain = literal.kind == Literal::Kind::kAtom &&
                           e_.unit().relations[static_cast<size_t>(literal.atom.relation)].uncertain;
    if (uncertain)
      print(i->premises[premise++], branch, below, text);
    else
      text += branch + grounding_.literal_text(literal, *i->rule, i->slots, {}) + "\n";
  }
}

// The most probable way not to be true, without what does not matter.
std::string Chances::failure(Bdd::Node f) {
  std::vector<Bdd::Literal> way = bdd_.best_way(f, Bdd::kFalse, weights_);
  const auto literal = [&](const Bdd::Literal& l) {
    const Bdd::Node v = bdd_.variable(l.variable);
    return l.value ? v : bdd_.complement(v);
  };
  for (const bool value : {true, false})  // what is missing explains more than what is there
    for (size_t i = 0; i < way.size();) {
      Bdd::Node rest = f;
      for (size_t k = 0; k < way.size(); k++)
        if (k != i) rest = bdd_.both(rest, literal(way[k]));
      if (way[i].value == value && rest == Bdd::kFalse)
        way.erase(way.begin() + static_cast<ptrdiff_t>(i));
      else
        i++;
    }
  std::vector<std::string> parts;
  double probability = 1;
  for (const Bdd::Literal& l : way) {
    parts.push_back((l.value ? "there is " : "there is no ") + text_of_coin(l.variable));
    probability *= l.value ? weights_[l.variable] : 1 - weights_[l.variable];
  }
  return formatted("%.6g", probability) + ": " + join(parts, ", ");
}

std::string Chances::explain(int relation, const std::vector<Value>& fact) {
  const double probability = probabilities(relation, {fact})[0];
  const size_t goal = grounding_.node(relation, fact);
  const Bdd::Node f = function_of(goal);
  std::string text =
      grounding_.text_of(goal) + "   probability " + formatted("%.6g", probability) +
      (proofs_ > 0 ? " by " + counted(std::ssize(labels_[goal].kept), "proof") + " at most " + std::to_string(proofs_)
                   : "") +
      "\n";
  solve_best(1);
  if (labels_[goal].kept.empty()) return text + "It follows in no world of probability above 0.\n";
  text += "Its most probable proof, " + formatted("%.6g", labels_[goal].kept[0].probability) + ":\n";
  print(goal, "", "", text);
  if (probability < 1 && f != Bdd::kTrue) text += "It fails most probably, " + failure(f) + "\n";
  const std::vector<double> by = bdd_.slopes(f, weights_);
  std::vector<uint32_t> order(coins_.size());
  for (uint32_t c = 0; c < order.size(); c++) order[c] = c;
  std::stable_sort(order.begin(), order.end(),
                   [&](uint32_t a, uint32_t b) { return std::abs(by[a]) > std::abs(by[b]); });
  text += "Slopes by the probabilities that matter most:\n";
  for (size_t i = 0; i < std::min(kShownSlopes, order.size()); i++)
    text += "  " + formatted("%10.6f", by[order[i]]) + "   " + text_of_coin(order[i]) + "\n";
  return text;
}

}  // namespace ingot::logic
