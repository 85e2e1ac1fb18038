// The table: the core's ops, and those that libraries and programs add.
#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <string>

#include "ingot/base/error.h"
#include "ingot/ops/own_op.h"
#include "ops/call.h"

namespace ingot {
namespace {

bool before(const Op* a, const Op* b) { return std::string_view(a->name) < b->name; }

struct Table {
  std::vector<const Op*> ops, by_name;
  explicit Table(std::vector<const Op*> all) : ops(std::move(all)), by_name(ops) {
    std::sort(by_name.begin(), by_name.end(), before);
  }
  const Op* find(std::string_view name) const {
    const auto it = std::lower_bound(by_name.begin(), by_name.end(), name,
                                     [](const Op* op, std::string_view n) { return op->name < n; });
    return it != by_name.end() && name == (*it)->name ? *it : nullptr;
  }
};

// Tables are never changed: whoever reads one keeps it. A longer one takes its place, and all live to the end.
struct Tables {
  std::mutex mutex;
  std::vector<std::unique_ptr<const Table>> all;
  std::atomic<const Table*> latest;
  Tables() { publish({core_ops().begin(), core_ops().end()}); }
  void publish(std::vector<const Op*> ops) {
    all.push_back(std::make_unique<const Table>(std::move(ops)));
    latest.store(all.back().get(), std::memory_order_release);
  }
};
Tables& tables() {
  static Tables kTables;
  return kTables;
}
const Table& latest() { return *tables().latest.load(std::memory_order_acquire); }

void require_complete(const Op* op) {
  if (op == nullptr || op->name == nullptr)
    throw Error("add_ops: an op without a name — give pointers to complete ops");
  const int kernels = (op->view != nullptr) + (op->tile != nullptr) + (op->run != nullptr);
  if (op->infer == nullptr || kernels != 1)
    throw Error(std::string("add_ops: \"") + op->name +
                "\" is not complete — an op has a shape rule and exactly one of view, tile and run");
}

}  // namespace

std::span<const Op* const> all_ops() { return latest().ops; }

const Op* find_op(std::string_view name) { return latest().find(name); }

void add_ops(std::span<const Op* const> ops) {
  const std::lock_guard lock(tables().mutex);
  std::vector<const Op*> all = latest().ops;
  const size_t count = all.size();
  for (const Op* op : ops) {
    require_complete(op);
    const auto same = std::find_if(all.begin(), all.end(),
                                   [&](const Op* other) { return std::string_view(other->name) == op->name; });
    if (same == all.end())
      all.push_back(op);
    else if (*same != op)
      throw Error(std::string("add_ops: there is another op \"") + op->name + "\" — give yours a name of its own");
  }
  if (all.size() > count) tables().publish(std::move(all));
}

}  // namespace ingot
