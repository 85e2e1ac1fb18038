#include "ingot/base/process.h"

#include <fcntl.h>
#include <unistd.h>

#include <csignal>
#include <string_view>

namespace ingot {
namespace {

int exit_code = 1;

// A page behind the end of a file, which systems number differently. An address that is not aligned is a fault of ours
// and ends as it always does.
extern "C" void on_lost_page(int signal, siginfo_t* info, void*) {
  if (info->si_code == BUS_ADRALN) {
    std::signal(signal, SIG_DFL);
    return;  // and it happens again
  }
  constexpr std::string_view kText =
      "ingot: a file that was being read (an array in place, or a model) became shorter meanwhile — what was saved "
      "before is whole\n";
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, kText.data(), kText.size());
  _exit(exit_code);
}

}  // namespace

void prepare_process(int cut_off_code) {
  for (const int file :
       {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})  // the lowest free number is the one that was closed
    if (fcntl(file, F_GETFD) == -1) (void)open("/dev/null", file == STDIN_FILENO ? O_WRONLY : O_RDONLY);
  std::signal(SIGXFSZ, SIG_IGN);
  exit_code = cut_off_code;
  struct sigaction action = {};
  action.sa_sigaction = on_lost_page;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGBUS, &action, nullptr);
}

}  // namespace ingot
