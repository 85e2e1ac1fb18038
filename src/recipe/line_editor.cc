#include "ingot/recipe/line_editor.h"

#include <poll.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>

#include "ingot/base/error.h"
#include "ingot/base/file.h"
#include "ingot/base/text.h"
#include "ingot/recipe/terminal.h"

namespace ingot::recipe {
namespace {

constexpr size_t kLongestLine = 100'000, kMostOffered = 40;
constexpr char kEscape = '\033';

bool continues(char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; }  // a character of UTF-8
bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || (c & 0x80) != 0; }

size_t columns_of(std::string_view text) {  // wide characters count as one: then the cursor is off, nothing worse
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) { return !continues(c); }));
}

}  // namespace

std::string History::file_of(const std::string& name) {
  const char *state = std::getenv("XDG_STATE_HOME"), *home = std::getenv("HOME");
  std::filesystem::path folder;
  if (state != nullptr && *state == '/')
    folder = state;
  else if (home != nullptr && *home == '/')
    folder = std::filesystem::path(home) / ".local" / "state";
  else
    return "";
  return (folder / "ingot" / name).string();
}

History::History(std::string file) : file_(std::move(file)) {
  if (file_.empty()) return;
  try {
    std::error_code none;
    std::filesystem::create_directories(std::filesystem::path(file_).parent_path(), none);
    if (!std::filesystem::exists(file_, none)) return;
    const std::string text = read_file(file_);
    for (size_t at = 0, end; at < text.size(); at = end + 1) {
      end = std::min(text.find('\n', at), text.size());
      if (end > at) lines_.push_back(printable(std::string_view(text).substr(at, end - at), kLongestLine));
    }
    if (lines_.size() <= kMost) return;
    lines_.erase(lines_.begin(), lines_.end() - kMost);
    write_file(file_, join(lines_, "\n") + "\n");
  } catch (const Error&) {
    file_.clear();  // a history that cannot be read is no reason not to work
  }
}

void History::add(const std::string& line) {
  if (trimmed(line).empty() || (!lines_.empty() && lines_.back() == line)) return;
  lines_.push_back(line);
  if (lines_.size() > kMost) lines_.erase(lines_.begin());
  if (file_.empty()) return;
  try {
    AppendFile("history", file_).append(line + "\n");
  } catch (const Error&) {  // another session writes at this moment, or the disk is full
  }
}

size_t EditedLine::before(size_t place) const {
  if (place == 0) return 0;
  do place--;
  while (place > 0 && continues(text_[place]));
  return place;
}

size_t EditedLine::behind(size_t place) const {
  if (place == text_.size()) return place;
  do place++;
  while (place < text_.size() && continues(text_[place]));
  return place;
}

size_t EditedLine::word_before() const {
  size_t p = place_;
  while (p > 0 && !is_word(text_[p - 1])) p--;
  while (p > 0 && is_word(text_[p - 1])) p--;
  return p;
}

size_t EditedLine::word_behind() const {
  size_t p = place_;
  while (p < text_.size() && !is_word(text_[p])) p++;
  while (p < text_.size() && is_word(text_[p])) p++;
  return p;
}

void EditedLine::insert(std::string_view bytes) {
  if (text_.size() + bytes.size() > kLongestLine) return;
  text_.insert(place_, bytes);
  place_ += bytes.size();
}

void EditedLine::erase(size_t from, size_t to) {
  text_.erase(from, to - from);
  place_ = from;
}

void EditedLine::recall(int step) {
  const std::vector<std::string>& lines = history_.lines();
  if (step > 0 ? back_ >= lines.size() : back_ == 0) return;
  if (back_ == 0) own_ = text_;
  back_ += static_cast<size_t>(step);
  text_ = back_ == 0 ? own_ : lines[lines.size() - back_];
  place_ = text_.size();
}

void EditedLine::complete() {
  if (!complete_) return;
  const Completions c = complete_(text_.substr(0, place_));
  if (c.words.empty() || c.from > place_) return;
  std::string common = c.words[0];
  for (const std::string& w : c.words) {
    const auto differ = std::mismatch(common.begin(), common.end(), w.begin(), w.end());
    common.erase(differ.first, common.end());
  }
  if (common.size() > place_ - c.from) {
    erase(c.from, place_);
    return insert(common);
  }
  if (c.words.size() == 1) return;
  for (size_t i = 0; i < std::min(c.words.size(), kMostOffered); i++)
    offer_ += (i > 0 ? "  " : "") + printable(c.words[i]);
  if (c.words.size() > kMostOffered) offer_ += "  … " + std::to_string(c.words.size() - kMostOffered) + " more";
}

EditedLine::State EditedLine::control(char key) {
  switch (key) {
    case '\r':
    case '\n': return State::kDone;
    case 3: return State::kInterrupted;
    case 4:
      if (text_.empty()) return State::kEnd;
      erase(place_, behind(place_));
      break;
    case '\t': complete(); break;
    case 1: place_ = 0; break;
    case 2: place_ = before(place_); break;
    case 5: place_ = text_.size(); break;
    case 6: place_ = behind(place_); break;
    case 8:
    case 127: {
      const size_t from = before(place_);
      erase(from, place_);
      break;
    }
    case 11:
      cut_ = text_.substr(place_);
      erase(place_, text_.size());
      break;
    case 14: recall(-1); break;
    case 16: recall(1); break;
    case 21:
      cut_ = text_.substr(0, place_);
      erase(0, place_);
      break;
    case 23: {
      const size_t from = word_before();
      cut_ = text_.substr(from, place_ - from);
      erase(from, place_);
      break;
    }
    case 25: insert(cut_); break;
    default: break;
  }
  return State::kTyping;
}

// Behind Escape: "[A", "OH", "[3~", "[1;5C", or a letter that was typed with Alt.
void EditedLine::sequence(std::string_view keys) {
  if (keys == "[A" || keys == "OA") return recall(1);
  if (keys == "[B" || keys == "OB") return recall(-1);
  if (keys == "[C" || keys == "OC") place_ = behind(place_);
  if (keys == "[D" || keys == "OD") place_ = before(place_);
  if (keys == "[H" || keys == "OH" || keys == "[1~" || keys == "[7~") place_ = 0;
  if (keys == "[F" || keys == "OF" || keys == "[4~" || keys == "[8~") place_ = text_.size();
  if (keys == "[3~") erase(place_, behind(place_));
  if (keys == "b" || keys == "[1;5D" || keys == "[1;3D") place_ = word_before();
  if (keys == "f" || keys == "[1;5C" || keys == "[1;3C") place_ = word_behind();
}

EditedLine::State EditedLine::take(std::string& typed) {
  size_t at = 0;
  State state = State::kTyping;
  while (at < typed.size() && state == State::kTyping) {
    const auto c = static_cast<unsigned char>(typed[at]);
    if (typed[at] == kEscape) {
      size_t end = at + 2;
      if (end > typed.size()) break;
      if (typed[at + 1] == '[' || typed[at + 1] == 'O') {
        while (end < typed.size() && (typed[end] < '@' || typed[end] > '~')) end++;
        if (end == typed.size()) break;
        end++;
      }
      sequence(std::string_view(typed).substr(at + 1, end - at - 1));
      at = end;
    } else if (c < 32 || c == 127) {
      state = control(typed[at++]);
    } else {
      const size_t size = c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : c >= 0xc0 ? 2 : 1;
      if (at + size > typed.size()) break;
      const std::string bytes = typed.substr(at, size);
      if (is_utf8(bytes)) insert(bytes);
      at += size;
    }
  }
  typed.erase(0, at);
  return state;
}

LineWindow::LineWindow(std::string_view text, size_t place, size_t columns) {
  columns = std::max<size_t>(columns, 2);
  column = columns_of(text.substr(0, place));
  size_t skip = column < columns ? 0 : column - columns * 2 / 3;  // so that some of what follows is seen, too
  column -= skip;
  size_t from = 0;
  for (; skip > 0 && from < text.size(); skip--) do
      from++;
    while (from < text.size() && continues(text[from]));
  size_t to = from;
  for (size_t shown_columns = 0; to < text.size() && shown_columns + 1 < columns; shown_columns++) do
      to++;
    while (to < text.size() && continues(text[to]));
  shown = std::string(text.substr(from, to - from));
}

namespace {

constexpr int kSignals[] = {SIGTERM, SIGHUP, SIGQUIT};
termios before;  // as the terminal was

extern "C" void restore_keys(int signal) {
  tcsetattr(STDIN_FILENO, TCSANOW, &before);
  _exit(128 + signal);
}

// While it lives, keys come one by one and nothing is echoed.
class RawKeys {
 public:
  RawKeys() {
    if (tcgetattr(STDIN_FILENO, &before) != 0) throw Error("line editor: this is no terminal");
    struct sigaction action {};
    action.sa_handler = restore_keys;
    for (size_t i = 0; i < std::size(kSignals); i++) sigaction(kSignals[i], &action, &actions_[i]);
    termios raw = before;
    raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO | ISIG | IEXTEN);
    raw.c_iflag &= ~static_cast<tcflag_t>(IXON | ICRNL);
    raw.c_cc[VMIN] = 1, raw.c_cc[VTIME] = 0;
    tcsetattr(STDIN_FILENO, TCSANOW, &raw);
  }
  ~RawKeys() {
    tcsetattr(STDIN_FILENO, TCSANOW, &before);
    for (size_t i = 0; i < std::size(kSignals); i++) sigaction(kSignals[i], &actions_[i], nullptr);
  }
  RawKeys(const RawKeys&) = delete;
  RawKeys& operator=(const RawKeys&) = delete;

 private:
  struct sigaction actions_[std::size(kSignals)];
};

void write_all(std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(STDOUT_FILENO, text.data(), text.size());
    if (written < 0 && errno != EINTR && errno != EAGAIN) return;  // a terminal that is gone shows nothing
    if (written > 0) text.remove_prefix(static_cast<size_t>(written));
  }
}

void draw(const std::string& prompt, const EditedLine& line) {
  const auto width = static_cast<size_t>(std::max(terminal_width(), 4));
  const std::string_view head = prompt.size() + 4 > width ? std::string_view() : std::string_view(prompt);
  const LineWindow window(line.text(), line.place(), width - head.size());
  const size_t column = head.size() + window.column;
  write_all("\r" + std::string(head) + window.shown + "\033[K\r" +
            (column > 0 ? "\033[" + std::to_string(column) + "C" : ""));
}

}  // namespace

bool LineEditor::possible() { return isatty(STDIN_FILENO) != 0 && can_redraw(); }

LineEditor::Line LineEditor::read(const std::string& prompt) {
  const RawKeys raw;
  EditedLine line(history_, complete_);
  auto state = line.take(typed_);  // keys that came while something else ran
  while (state == EditedLine::State::kTyping) {
    if (const std::string offer = line.take_offer(); !offer.empty()) write_all("\r\n" + offer + "\r\n");
    draw(prompt, line);
    pollfd input{STDIN_FILENO, POLLIN, 0};
    if (poll(&input, 1, -1) < 0) continue;  // a signal: the window has another size, for instance
    char bytes[256];
    const ssize_t count = ::read(STDIN_FILENO, bytes, sizeof bytes);
    if (count == 0 || (count < 0 && errno != EINTR && errno != EAGAIN)) return {EditedLine::State::kEnd, ""};
    if (count > 0) typed_.append(bytes, static_cast<size_t>(count));
    state = line.take(typed_);
  }
  draw(prompt, line);
  write_all(state == EditedLine::State::kInterrupted ? "^C\r\n" : "\r\n");
  if (state == EditedLine::State::kDone) history_.add(line.text());
  return {state, line.text()};
}

}  // namespace ingot::recipe
