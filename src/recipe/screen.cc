#include "ingot/recipe/screen.h"

#include <poll.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <string_view>

#include "ingot/base/error.h"
#include "ingot/recipe/terminal.h"

namespace ingot::recipe {
namespace {

constexpr int kSignals[] = {SIGTERM, SIGHUP, SIGINT, SIGQUIT};
constexpr std::string_view kEnter = "\033[?1049h\033[?25l\033[2J", kLeave = "\033[0m\033[?25h\033[?1049l";

termios before;  // as the terminal was

void write_all(std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(STDOUT_FILENO, text.data(), text.size());
    if (written < 0 && errno != EINTR && errno != EAGAIN) return;  // a terminal that is gone shows nothing
    if (written > 0) text.remove_prefix(static_cast<size_t>(written));
  }
}

// Safe inside a signal handler.
void restore() {
  write_all(kLeave);
  tcsetattr(STDIN_FILENO, TCSAFLUSH, &before);
}

extern "C" void on_end(int signal) {
  restore();
  _exit(128 + signal);
}

winsize terminal_size() {
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0 || size.ws_row == 0)
    size.ws_row = 24, size.ws_col = 80;
  return size;
}

KeyPress plain_key(char c) {
  if (c == 3 || c == 4) return KeyPress::kQuit;  // Ctrl-C and Ctrl-D
  return static_cast<KeyPress>(static_cast<unsigned char>(c));
}

}  // namespace

std::optional<KeyPress> take_key(std::string& bytes) {
  if (bytes.empty()) return {};
  if (bytes[0] != '\033') {
    const KeyPress key = plain_key(bytes[0]);
    bytes.erase(0, 1);
    return key;
  }
  if (bytes.size() == 1) return {};
  if (bytes[1] != '[' && bytes[1] != 'O') {  // Escape, and another key
    bytes.erase(0, 1);
    return KeyPress::kOther;
  }
  size_t end = 2;  // parameters, then a letter or ~
  while (end < bytes.size() && (bytes[end] < '@' || bytes[end] > '~')) end++;
  if (end == bytes.size()) return {};
  const char letter = bytes[end];
  bytes.erase(0, end + 1);
  constexpr KeyPress kArrows[] = {KeyPress::kUp, KeyPress::kDown, KeyPress::kRight, KeyPress::kLeft};
  return letter >= 'A' && letter <= 'D' ? kArrows[letter - 'A'] : KeyPress::kOther;
}

bool Screen::possible() { return isatty(STDIN_FILENO) != 0 && recipe::can_redraw(); }

Screen::Screen() {
  if (!possible() || tcgetattr(STDIN_FILENO, &before) != 0) throw Error("screen: this is no terminal");
  struct sigaction action {};
  action.sa_handler = on_end;
  for (const int signal : kSignals) sigaction(signal, &action, nullptr);
  termios raw = before;
  raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO | ISIG);  // Ctrl-C is a key like any other
  raw.c_iflag &= ~static_cast<tcflag_t>(IXON | ICRNL);
  raw.c_cc[VMIN] = 0, raw.c_cc[VTIME] = 0;
  tcsetattr(STDIN_FILENO, TCSANOW, &raw);
  write_all(kEnter);
}

Screen::~Screen() {
  restore();
  for (const int signal : kSignals) std::signal(signal, SIG_DFL);
}

int Screen::rows() const { return terminal_size().ws_row; }
int Screen::columns() const { return terminal_size().ws_col; }

void Screen::show(const std::string& lines) {
  std::string out = "\033[H";
  size_t begin = 0;
  for (size_t end; (end = lines.find('\n', begin)) != std::string::npos; begin = end + 1)
    out += lines.substr(begin, end - begin) + "\033[0m\033[K\r\n";
  write_all(out + lines.substr(begin) + "\033[0m\033[K\033[J");
}

std::optional<KeyPress> Screen::key(std::chrono::milliseconds wait) {
  if (std::optional<KeyPress> key = take_key(typed_)) return key;
  pollfd input{STDIN_FILENO, POLLIN, 0};
  const int ready = poll(&input, 1, static_cast<int>(wait.count()));
  if (ready <= 0) return {};  // also a signal: that the window has another size, for instance
  char bytes[64];
  const ssize_t count = read(STDIN_FILENO, bytes, sizeof bytes);
  if (count == 0 || (count < 0 && errno != EINTR && errno != EAGAIN)) return KeyPress::kQuit;
  if (count > 0) typed_.append(bytes, static_cast<size_t>(count));
  return take_key(typed_);
}

}  // namespace ingot::recipe
