#include "ingot/base/threads.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "ingot/base/error.h"

namespace ingot {
namespace {

#if defined(__SANITIZE_THREAD__)
constexpr bool kThreadSanitizer = true;
#else
constexpr bool kThreadSanitizer = false;
#endif

// Gives the thread count back after each test.
class Threads : public testing::Test {
 protected:
  const int before_ = threads();
  ~Threads() override { set_threads(before_); }
};

int64_t sum_by_shares(int64_t n, int* team_size = nullptr) {
  std::atomic<int64_t> total{0};
  parallel(true, [&](const Team& team) {
    if (team_size != nullptr && team.rank() == 0) *team_size = team.size();
    const auto [first, last] = team.share(n);
    int64_t sum = 0;
    for (int64_t i = first; i < last; ++i) sum += i;
    total += sum;
  });
  return total;
}

template <class F>
std::string error_of(F&& f) {
  try {
    f();
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

// Waits for a child, but not for ever; -1 says that it hung.
int exit_code_of(pid_t child) {
  for (int tick = 0; tick < 2000; ++tick) {
    int status = 0;
    if (waitpid(child, &status, WNOHANG) == child) return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  return -1;
}

struct Outcome {
  int code = -1;
  std::string text;
};

// Runs one of the disabled tests below in a process of its own.
Outcome run_self(const std::string& test, const std::string& environment = "") {
  char path[4096] = {};
  if (readlink("/proc/self/exe", path, sizeof path - 1) <= 0) return {};
  const std::string command =
      environment + " '" + path + "' --gtest_also_run_disabled_tests --gtest_filter=" + test + " 2>&1";
  FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return {};
  Outcome outcome;
  char buffer[1024];
  while (std::fgets(buffer, sizeof buffer, pipe) != nullptr) outcome.text += buffer;
  const int status = pclose(pipe);
  outcome.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128;
  return outcome;
}

// An emulator cannot start a second process of this program, nor threads in a forked child.
#define SKIP_WITHOUT_SUBPROCESS() \
  if (run_self("ThreadsChild.DISABLED_nothing").code != 0) GTEST_SKIP() << "cannot run this program as a subprocess"

TEST_F(Threads, SharesCoverEverythingOnceAtEverySize) {
  for (int n : {1, 2, 3, 4, 5, 8, 13}) {
    set_threads(n);
    EXPECT_EQ(threads(), n);
    for (int64_t count : {0, 1, 2, 7, 1000, 12345}) {
      int size = 0;
      EXPECT_EQ(sum_by_shares(count, &size), count * (count - 1) / 2) << n << " threads";
      EXPECT_EQ(size, n);
    }
  }
}

TEST_F(Threads, SharesAreMultiplesOfTheGrain) {
  set_threads(3);
  std::vector<std::pair<int64_t, int64_t>> shares(3);
  parallel(true, [&](const Team& team) { shares[team.rank()] = team.share(100, 16); });
  EXPECT_EQ(shares[0].first, 0);
  EXPECT_EQ(shares[2].second, 100);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(shares[i].second, shares[i + 1].first);
    EXPECT_EQ(shares[i].second % 16, 0);
  }
}

// Every member writes its slot, all meet, every member reads all slots: a member that slips through sees an old round.
TEST_F(Threads, BarrierSeparatesRounds) {
  for (int n : {2, 3, 7, 16}) {
    set_threads(n);
    std::vector<int> slots(n * 16);
    std::atomic<int> wrong{0};
    const int rounds = n <= 3 ? 1000 : 200;  // on a busy machine a round may cost a time slice
    parallel(true, [&](const Team& team) {
      for (int round = 1; round <= rounds; ++round) {
        slots[team.rank() * 16] = round;
        team.barrier();
        for (int i = 0; i < team.size(); ++i) wrong += slots[i * 16] != round;
        team.barrier();
      }
    });
    EXPECT_EQ(wrong, 0) << n << " threads";
  }
}

TEST_F(Threads, LateMembersAreWaitedFor) {
  set_threads(3);
  for (int late = 0; late < 3; ++late) {
    std::atomic<int> arrived{0}, wrong{0};
    parallel(true, [&](const Team& team) {
      if (team.rank() == late) std::this_thread::sleep_for(std::chrono::milliseconds(5));  // the others fall asleep
      ++arrived;
      team.barrier();
      wrong += arrived != 3;
    });
    EXPECT_EQ(wrong, 0);
  }
}

TEST_F(Threads, WorkersWakeAfterSleeping) {
  set_threads(2);
  for (int i = 0; i < 20; ++i) {
    int size = 0;
    EXPECT_EQ(sum_by_shares(1000, &size), 499500);
    EXPECT_EQ(size, 2);
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
}

TEST_F(Threads, NestedTeamsAreOfOne) {
  set_threads(3);
  std::atomic<int> inner{0}, wide{0};
  parallel(true, [&](const Team&) {
    parallel(true, [&](const Team& team) {
      ++inner;
      wide += team.size() != 1;
      team.barrier();
    });
  });
  EXPECT_EQ(inner, 3);
  EXPECT_EQ(wide, 0);
}

TEST_F(Threads, UserThreadsShareThePool) {
  set_threads(3);
  std::atomic<int> wrong{0};
  std::vector<std::thread> users;
  users.reserve(4);
  for (int u = 0; u < 4; ++u)
    users.emplace_back([&] {
      for (int i = 0; i < 1000; ++i) wrong += sum_by_shares(1000 + i) != int64_t{1000 + i} * (999 + i) / 2;
    });
  for (int i = 0; i < 20; ++i) set_threads(1 + i % 4);
  for (auto& user : users) user.join();
  EXPECT_EQ(wrong, 0);
}

TEST_F(Threads, NarrowWorkStaysOnTheCaller) {
  set_threads(4);
  const auto self = std::this_thread::get_id();
  parallel(false, [&](const Team& team) {
    EXPECT_EQ(team.size(), 1);
    EXPECT_EQ(std::this_thread::get_id(), self);
  });
  parallel(true, [&](const Team& team) {
    if (team.rank() == 0) {
      EXPECT_EQ(std::this_thread::get_id(), self);
    }
  });
}

TEST_F(Threads, WorkersAreNamed) {
  set_threads(2);
  char name[16] = {};
  parallel(true, [&](const Team& team) {
    if (team.rank() == 1) pthread_getname_np(pthread_self(), name, sizeof name);
  });
  EXPECT_STREQ(name, "ingot-1");
}

TEST_F(Threads, BadCountsAreASentence) {
  const int now = threads();
  for (int n : {0, -1, 257, 10000}) {
    const std::string text = error_of([&] { set_threads(n); });
    EXPECT_NE(text.find("set_threads: " + std::to_string(n)), std::string::npos) << text;
    EXPECT_NE(text.find("1 to 256"), std::string::npos) << text;
    EXPECT_EQ(threads(), now);
  }
}

TEST_F(Threads, SetThreadsInsideATeamIsAnError) {
  set_threads(2);
  std::atomic<int> errors{0};
  parallel(true, [&](const Team&) { errors += !error_of([] { set_threads(1); }).empty(); });
  EXPECT_EQ(errors, 2);
  EXPECT_EQ(threads(), 2);
}

TEST_F(Threads, ManyMoreThreadsThanCores) {
  set_threads(kThreadSanitizer ? 40 : 256);
  EXPECT_EQ(sum_by_shares(100000), int64_t{100000} * 99999 / 2);
  std::atomic<int> wrong{0}, arrived{0};
  parallel(true, [&](const Team& team) {
    ++arrived;
    team.barrier();
    wrong += arrived != team.size();
  });
  EXPECT_EQ(wrong, 0);
}

TEST_F(Threads, UsableCoresIsPositive) {
  EXPECT_GE(usable_cores(), 1);
  EXPECT_LE(usable_cores(), static_cast<int>(std::thread::hardware_concurrency()));
}

// In a forked child only the calling thread exists.
TEST_F(Threads, ForkedChildStartsItsOwnWorkers) {
  if (kThreadSanitizer) GTEST_SKIP() << "the sanitizer ends a forked child that starts threads";
  SKIP_WITHOUT_SUBPROCESS();
  set_threads(3);
  sum_by_shares(10);
  const pid_t child = fork();
  if (child == 0) {
    int size = 0;
    const bool right = sum_by_shares(1000, &size) == 499500 && size == 3;
    _exit(right ? 0 : 1);
  }
  EXPECT_EQ(exit_code_of(child), 0);
  EXPECT_EQ(sum_by_shares(1000), 499500);
}

TEST_F(Threads, ForkWhileAnotherThreadHoldsThePool) {
  if (kThreadSanitizer) GTEST_SKIP() << "the sanitizer ends a forked child that starts threads";
  SKIP_WITHOUT_SUBPROCESS();
  set_threads(2);
  std::atomic<bool> stop{false};
  std::thread user([&] {
    while (!stop) sum_by_shares(100000);
  });
  for (int i = 0; i < 20; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      int size = 0;
      const bool right = sum_by_shares(1000, &size) == 499500 && size == 2;
      set_threads(3);
      _exit(right && sum_by_shares(1000) == 499500 ? 0 : 1);
    }
    EXPECT_EQ(exit_code_of(child), 0);
  }
  stop = true;
  user.join();
}

TEST_F(Threads, ReadsTheEnvironment) {
  SKIP_WITHOUT_SUBPROCESS();
  const std::string cores = std::to_string(usable_cores());
  for (const auto& [setting, says] : std::vector<std::pair<std::string, std::string>>{
           {"INGOT_THREADS=7", "threads=7 team=7\n"},
           {"INGOT_THREADS=256", "threads=256 "},
           {"INGOT_THREADS=", "threads=" + cores + " "},
           {"env -u INGOT_THREADS", "threads=" + cores + " "},
           {"INGOT_THREADS=abc", "error=INGOT_THREADS: \"abc\" is not a number of threads from 1 to 256"},
           {"INGOT_THREADS=0", "error=INGOT_THREADS: \"0\" is not"},
           {"INGOT_THREADS=10000", "error=INGOT_THREADS: \"10000\" is not"},
           {"INGOT_THREADS=2x", "error=INGOT_THREADS: \"2x\" is not"},
           {"INGOT_THREADS=99999999999999999999", "error=INGOT_THREADS: \"9999"}}) {
    const Outcome outcome = run_self("ThreadsChild.DISABLED_prints_threads", setting);
    EXPECT_EQ(outcome.code, 0);
    EXPECT_NE(outcome.text.find(says), std::string::npos) << setting << ": " << outcome.text;
  }
}

TEST_F(Threads, ExitIsClean) {
  SKIP_WITHOUT_SUBPROCESS();
  EXPECT_EQ(run_self("ThreadsChild.DISABLED_exit_with_sleeping_workers").code, 0);
  EXPECT_EQ(run_self("ThreadsChild.DISABLED_exit_from_another_thread").code, 3);
  EXPECT_EQ(run_self("ThreadsChild.DISABLED_exit_inside_a_team").code, 4);
  const Outcome late = run_self("ThreadsChild.DISABLED_use_in_a_static_destructor");
  EXPECT_EQ(late.code, 0);
  EXPECT_NE(late.text.find("late sum 499500"), std::string::npos) << late.text;
}

// What the tests above run in a process of its own.
TEST(ThreadsChild, DISABLED_nothing) {}

TEST(ThreadsChild, DISABLED_prints_threads) {
  const std::string error = error_of([] {
    int size = 0;
    sum_by_shares(10, &size);
    std::printf("threads=%d team=%d\n", threads(), size);
  });
  if (!error.empty()) std::printf("error=%s\n", error.c_str());
}

TEST(ThreadsChild, DISABLED_exit_with_sleeping_workers) {
  set_threads(4);
  EXPECT_EQ(sum_by_shares(1000), 499500);
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
}

TEST(ThreadsChild, DISABLED_exit_from_another_thread) {
  set_threads(2);
  static std::atomic<int> teams{0};
  std::thread([] {
    while (teams < 10) std::this_thread::yield();
    std::exit(3);
  }).detach();
  for (;;) {
    sum_by_shares(10000);
    ++teams;
  }
}

TEST(ThreadsChild, DISABLED_exit_inside_a_team) {
  set_threads(2);
  parallel(true, [](const Team& team) {
    if (team.rank() == 0) std::exit(4);
  });
}

TEST(ThreadsChild, DISABLED_use_in_a_static_destructor) {
  struct Late {
    ~Late() { std::printf("late sum %lld\n", static_cast<long long>(sum_by_shares(1000))); }
  };
  static Late late;
  set_threads(2);
  EXPECT_EQ(sum_by_shares(1000), 499500);
}

}  // namespace
}  // namespace ingot
