// Many copies of an environment that step in one call, into tensors of the caller's.
//
//   rl::VectorEnv<rl::CartPole> envs({}, 64, seed);
//   envs.observe(observations);                                  // f32 [64, 4]
//   envs.step(actions, rewards, terminated, truncated);          // i64, f32, bool, bool, all [64]
//
// Autoreset happens in the same step: where an episode ends, its environment begins the next one at once. `reached()` is
// where the step led (the last state of an episode that ended), `codes()` where the next step begins.
#pragma once
#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <vector>

#include "ingot/base/error.h"
#include "ingot/base/tensor.h"
#include "ingot/rl/environment.h"
#include "ingot/rl/share_out.h"

namespace ingot::rl {

/// An episode that ended: the sum of its rewards, and its steps.
struct Episode {
  double total = 0;
  int64_t length = 0;
  bool operator==(const Episode&) const = default;
};

/// A tensor of that type with so many elements, in row-major order; an Error that names it if it is not.
INGOT_API void check_result_tensor(const char* where, const char* what, const Tensor& tensor, DType dtype,
                                   const Dims& shape);
/// An Error that names the first action outside of [0, count).
INGOT_API void check_actions(std::span<const int64_t> actions, int64_t count);

/// n copies of `env`; each begins episode after episode with seeds of its own. Nothing here allocates after the
/// constructor, and results do not depend on the number of threads. A step that throws leaves the environments between
/// two steps: reset() them.
template <Environment E>
class VectorEnv {
 public:
  using Code = typename E::Code;

  VectorEnv(const E& env, int64_t n, uint64_t seed) : seed_(seed) {
    if (n < 1) throw Error("VectorEnv: " + std::to_string(n) + " environments — there must be one at least");
    const auto count = static_cast<size_t>(n);
    envs_.assign(count, env);
    running_.resize(count), finished_.resize(count), episodes_.resize(count);
    codes_.resize(count), last_.resize(count);
    reset();
  }

  int64_t size() const { return static_cast<int64_t>(envs_.size()); }
  int64_t observation_size() const { return envs_[0].observation_size(); }
  int64_t action_count() const { return envs_[0].action_count(); }

  /// Every environment begins its first episode.
  void reset() {
    share_out([&](size_t first, size_t last) {
      for (size_t i = first; i < last; i++) {
        episodes_[i] = 0, finished_[i] = {};
        begin_episode(i);
        last_[i] = codes_[i];
      }
    });
  }
  void reset(uint64_t seed) {
    seed_ = seed;
    reset();
  }

  /// Steps all; results[i] is what environment i said.
  void step(std::span<const int64_t> actions, std::span<StepResult> results) {
    if (static_cast<int64_t>(actions.size()) != size() || static_cast<int64_t>(results.size()) != size())
      throw Error("VectorEnv::step: " + std::to_string(actions.size()) + " actions and room for " +
                  std::to_string(results.size()) + " results for " + std::to_string(size()) + " environments");
    step_all(actions, [results](size_t i, const StepResult& r) { results[i] = r; });
  }
  /// The same into tensors [n]: actions i64, rewards f32, terminated and truncated bool.
  void step(const Tensor& actions, const Tensor& rewards, const Tensor& terminated, const Tensor& truncated) {
    const Dims shape{size()};
    check_result_tensor("VectorEnv::step", "actions", actions, kI64, shape);
    check_result_tensor("VectorEnv::step", "rewards", rewards, kF32, shape);
    check_result_tensor("VectorEnv::step", "terminated", terminated, kBool, shape);
    check_result_tensor("VectorEnv::step", "truncated", truncated, kBool, shape);
    float* reward = rewards.data<float>();
    bool *over = terminated.data<bool>(), *cut = truncated.data<bool>();
    step_all({actions.data<int64_t>(), envs_.size()}, [=](size_t i, const StepResult& r) {
      reward[i] = r.reward, over[i] = r.terminated, cut[i] = r.truncated;
    });
  }

  /// The states that the next step begins in, as floats [n, observation_size].
  void observe(const Tensor& observations) const {
    check_result_tensor("VectorEnv::observe", "observations", observations, kF32, {size(), observation_size()});
    const auto width = static_cast<size_t>(observation_size());
    float* out = observations.data<float>();
    share_out([&](size_t first, size_t last) {
      for (size_t i = first; i < last; i++) envs_[i].observe(codes_[i], {out + i * width, width});
    });
  }

  /// Where the next step begins.
  std::span<const Code> codes() const { return codes_; }
  /// Where the last step led: reached()[i] is the last state of an episode that has just ended, else codes()[i].
  auto reached() const { return Reached{*this}; }
  /// The last episode of environment i that ended; of length 0 if none has.
  const Episode& finished(int64_t i) const { return finished_[static_cast<size_t>(i)]; }
  /// The environments themselves: what is changed here (a difficulty, say) holds from their next episode on.
  std::span<E> envs() { return envs_; }
  std::span<const E> envs() const { return envs_; }

  /// All that the next steps depend on, as bytes; load() goes on from there, to the bit, given environments of the same
  /// settings. What cannot have been saved is an Error, after which every environment is at its beginning.
  size_t saved_bytes() const { return sizeof(uint64_t) + envs_.size() * kSavedEach; }
  void save(std::span<std::byte> out) const requires KeptEnvironment<E> {
    check_saved_size(out.size());
    std::byte* at = out.data();
    put(at, &seed_, 1);
    for (const E& env : envs_) {
      const KeptOf<E> kept = kept_of(env);
      put(at, &kept, 1);
    }
    put(at, running_.data(), envs_.size());
    put(at, finished_.data(), envs_.size()), put(at, episodes_.data(), envs_.size());
    put(at, last_.data(), envs_.size());
  }
  void load(std::span<const std::byte> in) requires KeptEnvironment<E> {
    check_saved_size(in.size());
    const std::byte* at = in.data();
    get(at, &seed_, 1);
    for (E& env : envs_) {
      KeptOf<E> kept = kept_of(env);
      get(at, &kept, 1);
      restore_env(env, kept);
    }
    get(at, running_.data(), envs_.size());
    get(at, finished_.data(), envs_.size()), get(at, episodes_.data(), envs_.size());
    get(at, last_.data(), envs_.size());
    for (size_t i = 0; i < envs_.size(); i++) {
      codes_[i] = envs_[i].code();
      if (valid(i)) continue;
      reset();
      throw Error(ErrorKind::kFile, "VectorEnv: what was saved of environment " + std::to_string(i) +
                                        " cannot be one — the file is damaged, or of another environment");
    }
  }

 private:
  struct Reached {
    const VectorEnv& envs;
    const Code& operator[](size_t i) const { return envs.running_[i].length == 0 ? envs.last_[i] : envs.codes_[i]; }
  };
  static constexpr size_t kBlock = 64;    // environments that step together
  static constexpr size_t kAlone = 2048;  // up to so many, one thread is faster than a team
  static constexpr size_t kSavedEach = sizeof(KeptOf<E>) + 2 * sizeof(Episode) + sizeof(int64_t) + sizeof(Code);

  template <class T>
  static void put(std::byte*& at, const T* values, size_t n) {
    std::memcpy(at, values, n * sizeof(T));
    at += n * sizeof(T);
  }
  template <class T>
  static void get(const std::byte*& at, T* values, size_t n) {
    std::memcpy(values, at, n * sizeof(T));
    at += n * sizeof(T);
  }
  // Of what came from a file: states that are some, counts that can go on.
  bool valid(size_t i) const {
    constexpr int64_t kMost = int64_t{1} << 40;
    const auto counted = [](int64_t n) { return n >= 0 && n <= kMost; };
    return valid_code(envs_[i], codes_[i]) && valid_code(envs_[i], last_[i]) && counted(running_[i].length) &&
           counted(finished_[i].length) && counted(episodes_[i]);
  }
  void check_saved_size(size_t bytes) const {
    if (bytes != saved_bytes())
      throw Error("VectorEnv: " + std::to_string(bytes) + " bytes are not the " + std::to_string(saved_bytes()) +
                  " of " + std::to_string(size()) + " such environments");
  }

  void begin_episode(size_t i) {
    envs_[i].reset(episode_seed(seed_, static_cast<int64_t>(i), episodes_[i]++));
    running_[i] = {};
    codes_[i] = envs_[i].code();
  }

  template <class Sink>
  void step_all(std::span<const int64_t> actions, const Sink& sink) {
    check_actions(actions, action_count());
    share_out([&](size_t first, size_t last) {
      for (size_t block = first; block < last; block += kBlock)
        step_block(block, std::min(block + kBlock, last), actions.data(), sink);
    });
  }

  template <class Sink>
  void step_block(size_t first, size_t last, const int64_t* actions, const Sink& sink) {
    // Copies of its own: what is stored through a bool* might be one of ours, for all that the compiler knows.
    E* const envs = envs_.data();
    Episode* const running = running_.data();
    Code* const codes = codes_.data();
    const auto note = [=, sink = Sink(sink), this](size_t i, const StepResult& r) {
      running[i].total += r.reward, running[i].length++;
      codes[i] = envs[i].code();
      sink(i, r);
      if (r.ended()) [[unlikely]]
        end_episode(i);
    };
    if constexpr (StepsMany<E>) {
      StepResult results[kBlock];
      E::step_many({envs + first, last - first}, actions + first, results);
      for (size_t i = first; i < last; i++) note(i, results[i - first]);
    } else {
      for (size_t i = first; i < last; i++) note(i, envs[i].step(actions[i]));
    }
  }

  void end_episode(size_t i) {
    last_[i] = codes_[i], finished_[i] = running_[i];
    begin_episode(i);
  }

  // Calls body(first, last) on every worker's share.
  template <class Body>
  void share_out(const Body& body) const {
    rl::share_out(envs_.size() > kAlone, size(), kBlock, body);
  }

  uint64_t seed_;
  std::vector<E> envs_;
  std::vector<Episode> running_, finished_;
  std::vector<int64_t> episodes_;   // begun so far
  std::vector<Code> codes_, last_;  // of the last episode that ended
};

}  // namespace ingot::rl
