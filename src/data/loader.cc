// A ring of batches that a thread fills and the user empties. One batch is in the user's hands, up to `prefetch` wait,
// and all numbers below count batches since the last seek.
#include <condition_variable>
#include <exception>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/alone.h"
#include "base/os/thread.h"
#include "data/batch_maker.h"
#include "ingot/base/error.h"
#include "ingot/data/loader.h"

namespace ingot::data {

struct Loader::Impl {
  LoaderOptions options;
  BatchMaker maker;  // of the thread, if there is one; else of the user
  std::vector<Slot> ring;
  Position position;  // of the user

  std::thread thread;
  std::mutex mutex;  // guards what follows
  std::condition_variable wake, ready;
  Position ahead;                          // the batch that is made next
  uint64_t made = 0, given = 0, done = 0;  // given - done is 1 while the user holds a batch
  bool filling = false, pausing = false, stopping = false;
  std::exception_ptr error;  // of batch number `made`

  Impl(const Dataset& dataset, LoaderOptions given_options)
      : options(std::move(given_options)), maker(dataset, options) {
    for (int i = 0; i <= options.prefetch; i++) ring.push_back(maker.make_slot());
  }

  Slot& slot(uint64_t number) { return ring[number % ring.size()]; }

  Position after(Position at) const {
    return at.batch + 1 < maker.batches() ? Position{at.epoch, at.batch + 1} : Position{at.epoch + 1, 0};
  }

  // The thread takes no signals: they are for the program's own threads.
  void start() {
    const os::SignalsOff quiet;
    try {
      thread = std::thread([this] { work(); });
    } catch (const std::exception& e) {
      throw Error(std::string("Loader: cannot start a thread (") + e.what() + ") — use prefetch = 0");
    }
  }

  void work() {
    os::name_this_thread("ingot-data");
    keep_off_the_pool();
    std::unique_lock lock(mutex);
    for (;;) {
      wake.wait(lock, [&] { return stopping || (!pausing && !error && made - done < ring.size()); });
      if (stopping) return;
      filling = true;
      const Position at = ahead;
      Slot& target = slot(made);
      lock.unlock();
      std::exception_ptr failure;
      try {
        maker.make(at, target);
      } catch (...) {
        failure = std::current_exception();
      }
      lock.lock();
      filling = false;
      error = failure;
      if (!failure) {
        made++;
        ahead = after(at);
      }
      ready.notify_one();
    }
  }

  const Batch* take_prefetched() {
    if (!thread.joinable()) start();
    std::unique_lock lock(mutex);
    if (done < given) {
      done = given;
      wake.notify_one();
    }
    ready.wait(lock, [&] { return made > given || error; });
    if (made == given) {
      const std::exception_ptr failure = std::exchange(error, nullptr);
      wake.notify_one();  // it tries again
      std::rethrow_exception(failure);
    }
    return &slot(given++).batch();
  }

  const Batch* take() {
    if (options.prefetch > 0) return take_prefetched();
    maker.make(position, ring[0]);
    return &ring[0].batch();
  }

  void seek(Position to) {
    std::unique_lock lock(mutex);
    pausing = true;
    ready.wait(lock, [&] { return !filling; });
    pausing = false;
    made = given = done = 0;
    error = nullptr;
    position = to;
    ahead = to.batch < maker.batches() ? to : Position{to.epoch + 1, 0};
    wake.notify_one();
  }

  ~Impl() {
    {
      const std::lock_guard lock(mutex);
      stopping = true;
      wake.notify_one();
    }
    if (thread.joinable()) thread.join();
  }
};

Loader::Loader(const Dataset& dataset, LoaderOptions options)
    : impl_(std::make_unique<Impl>(dataset, std::move(options))) {}
Loader::~Loader() = default;

const Batch* Loader::next() {
  Position& at = impl_->position;
  if (at.batch == batches()) {
    at = {at.epoch + 1, 0};
    return nullptr;
  }
  const Batch* batch = impl_->take();
  at.batch++;
  return batch;
}

Position Loader::position() const { return impl_->position; }

void Loader::seek(Position position) {
  constexpr int64_t kEpochs = int64_t{1} << 40;
  if (position.epoch < 0 || position.epoch > kEpochs || position.batch < 0 || position.batch > batches())
    throw Error(std::string("Loader: seek to epoch ") + std::to_string(position.epoch) + ", batch " +
                std::to_string(position.batch) + " — epochs count from 0, and there are " + std::to_string(batches()) +
                " batches in one");
  impl_->seek(position);
}

int64_t Loader::batches() const { return impl_->maker.batches(); }
int64_t Loader::samples() const { return impl_->maker.samples(); }
const std::vector<InputSpec>& Loader::fields() const { return impl_->maker.fields(); }
const InputSpec& Loader::field(std::string_view name) const {
  std::string names;
  for (const InputSpec& f : fields()) {
    if (f.name == name) return f;
    names += (names.empty() ? "" : ", ") + f.name;
  }
  throw Error("Loader: no tensor \"" + std::string(name) + "\" — batches have " + names);
}
const LoaderOptions& Loader::options() const { return impl_->options; }

}  // namespace ingot::data
