#!/usr/bin/env python3
"""check_logic_terminal.py INGOT: `ingot logic repl` at a terminal (editing, history, completion, Ctrl-C) and `ingot logic watch`."""
import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time

ingot = os.path.realpath(sys.argv[1])
work = tempfile.TemporaryDirectory()
os.chdir(work.name)
os.environ["XDG_STATE_HOME"] = work.name
history = os.path.join(work.name, "ingot", "logic_history")
LONG = 60  # seconds after which nothing more is expected


class Terminal:
    """A program at a terminal: what is typed, and what it shows."""

    def __init__(self, command, columns=80):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:  # the size before the program: a change of it draws the line once more
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
            os.environ["TERM"] = "xterm"
            os.execv(command[0], command)
        self.text = ""
        self.seen = 0

    def read(self, seconds):
        if not select.select([self.fd], [], [], seconds)[0]:
            return True
        try:
            data = os.read(self.fd, 65536)
        except OSError:
            data = b""
        self.text += data.decode("utf-8", "replace")
        return data != b""

    def type(self, keys):
        os.write(self.fd, keys.encode())

    def expect(self, what):
        """Waits until it shows that, behind what was expected before."""
        end = time.time() + LONG
        while what not in self.text[self.seen:]:
            assert time.time() < end and self.read(0.05), f"no {what!r} in {self.text[self.seen:]!r}"
        self.seen = self.text.index(what, self.seen) + len(what)

    def prompt(self, prompt="?- "):
        """Waits for an empty line to type in. Keys that come earlier meet a terminal that edits lines itself: there a
        Ctrl-D, for one, ends no line that is read later."""
        self.expect(f"\r{prompt}\x1b[K")

    def end(self):
        until = time.time() + LONG
        while self.read(0.05) and time.time() < until:
            pass
        if time.time() >= until:
            os.kill(self.pid, signal.SIGKILL)
        code = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        os.close(self.fd)
        return code


def raw(fd):
    return termios.tcgetattr(fd)[3] & termios.ICANON == 0


def cpu_ticks(pid):
    """Hundredths of a second that a process has computed."""
    with open(f"/proc/{pid}/stat") as f:
        fields = f.read().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


def lines_are_edited():
    t = Terminal([ingot, "logic", "repl"])
    t.prompt()
    assert raw(t.fd)
    t.type("edge(1, 3)." + "\x1b[D" * 2 + "\x7f2\r")  # 3 becomes 2: left, left, backspace
    t.prompt()
    t.type("edge(2, 3). path(x, y) <- edge(x, y).\r")
    t.prompt()
    t.type("path(x, z) <- path(x, y),\r")
    t.prompt("... ")
    t.type("edge(y, z).\r")
    t.prompt()
    t.type("pa\t(1, x)?\r")  # completed to path
    t.expect("path(1, x)?\r\n")
    t.expect("x = 3\r\n")
    t.prompt()
    t.type("\x1b[A\x01\x0b:ex\t path(1, 3)\r")  # back to the query; away with it; :explain
    t.expect('path(1, 3)   by line')
    t.prompt()
    t.type(":p\t")
    t.expect(":plan  :profile")
    t.type("l\t\r")
    t.expect("stratum 1")
    t.prompt()
    t.type("wrong(x) <- nothing\x03")  # Ctrl-C: away with the line
    t.expect("^C")
    t.prompt()
    t.type("path(3, x)?\r")
    t.expect("nothing")
    t.prompt()
    t.type("\x04")
    assert t.end() == 0, t.text
    with open(history) as f:
        kept = f.read().split("\n")
    assert kept[0].startswith("edge(1, ") and "edge(y, z)." in kept and "path(3, x)?" in kept, kept


def history_is_kept_and_bounded():
    with open(history, "a") as f:
        f.write("".join(f"h({i}).\n" for i in range(1500)))
    t = Terminal([ingot, "logic", "repl"], columns=20)  # a narrow one: the line moves
    t.prompt()
    t.type("\x1b[A\x1b[A\r")
    t.expect("h(1498).")
    t.prompt()
    t.type("h(x)?\r")
    t.expect("x = 1498")
    t.prompt()
    t.type(":quit\r")
    assert t.end() == 0, t.text
    with open(history) as f:
        kept = f.read().strip().split("\n")
    assert len(kept) == 1003 and kept[-1] == ":quit" and kept[0] == "h(500).", (len(kept), kept[0])


def ctrl_c_stops_a_query_and_not_the_program():
    t = Terminal([ingot, "logic", "repl"])
    t.prompt()
    t.type("p(0). p(y) <- p(x), y = x + 1, x < 4000000000.\r")
    t.prompt()
    t.type("p(y)?\r")
    t.expect("p(y)?\x1b[K")
    # A Ctrl-C that comes before the query begins is no one's, and one that comes after its end takes what the program has
    # printed out of the terminal's hands: there is one, when the program is at work.
    until, before = time.time() + LONG, cpu_ticks(t.pid)
    while (raw(t.fd) or cpu_ticks(t.pid) < before + 5) and time.time() < until:
        time.sleep(0.01)
    t.type("\x03")
    t.expect("stopped")
    t.prompt()
    t.type(":list\r")
    t.expect("p(y) <- p(x)")
    t.prompt()
    t.type("\x04")
    assert t.end() == 0, t.text


class Watched:
    def __init__(self, *arguments):
        self.process = subprocess.Popen([ingot, "logic", "watch", *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        os.set_blocking(self.process.stdout.fileno(), False)
        self.text = ""

    def expect(self, pattern):
        end = time.time() + LONG
        while not (found := re.search(pattern, self.text, re.S)):
            assert time.time() < end and self.process.poll() is None, f"no {pattern!r} in {self.text!r}"
            time.sleep(0.02)
            self.text += (self.process.stdout.read() or b"").decode()
        self.text = self.text[found.end():]
        return found

    def end(self):
        self.process.send_signal(signal.SIGINT)
        code = self.process.wait(LONG)
        self.text += (self.process.stdout.read() or b"").decode()
        return code


def write(name, text):
    with open(name, "w") as f:
        f.write(text)


def what_changes_is_shown():
    program = 'input rel road(symbol, symbol) "roads.tsv".\npath(x, y) <- road(x, y).\npath(x, z) <- path(x, y), road(y, z).\n'
    write("roads.rules", program + "far(x) <- path(_, x), not road(_, x).\npath(\"a\", x)?\n")
    write("roads.tsv", "a\tb\nb\tc\n")
    w = Watched("roads.rules")
    w.expect(r"path: 3, path\(\"a\", x\)\?: 2 — watching 2 files")
    write("roads.tsv", "a\tb\nb\tc\nc\td\n")
    w.expect(r"roads.tsv changed\n.*path: 6, 3 before\n  \+ path\(a, d\)\n  \+ path\(b, d\)\n  \+ path\(c, d\)\n"
             r"path\(\"a\", x\)\?: 3, 2 before\n  \+ x = d\n[0-9.e-]+ ms\n")
    write("roads.tsv", "b\tc\nc\td\n")
    w.expect(r"path: 3, 6 before\n  - path\(a, b\)\n  - path\(a, c\)\n  - path\(a, d\)\n")
    write("roads.tsv", "c\td\nb\tc\n")
    w.expect("no result changed")
    write("roads.tsv", "b\n")  # a mistake changes nothing
    w.expect(r"roads.tsv:1: only 1 column")
    write("roads.tsv", "b\tc\nc\td\nd\te\n")
    w.expect(r"path: 6, 3 before\n  \+ path\(b, e\)")
    write("roads.rules", program + "back(y, x) <- path(x, y).\noutput back.\n")
    w.expect(r"roads.rules changed\n.*back: 6, 0 before\n  \+ back\(c, b\)")
    write("roads.rules", program + "back(y, x) <- pth(x, y).\n")
    w.expect(r'nothing says what "pth" is')
    os.remove("roads.tsv")
    write("roads.rules", program)
    w.expect(r"roads.tsv")
    write("roads.tsv", "".join(f"n{i}\tn{i + 1}\n" for i in range(40)))
    w.expect(r"path: 820, \d+ before\n.*… 800 more\n")
    code = w.end()
    assert code == 0 and w.text.endswith("ended\n"), (code, w.text)


def a_long_computation_ends_too():
    write("long.rules", "p(0). p(y) <- p(x), y = x + 1, x < 4000000000.\n")
    w = Watched("long.rules")
    time.sleep(0.5)
    code = w.end()
    assert code == 0 and w.text.endswith("ended\n"), (code, w.text)
    missing = subprocess.run([ingot, "logic", "watch", "nowhere.rules"], capture_output=True, text=True)
    assert missing.returncode == 4, missing


for test in [lines_are_edited, history_is_kept_and_bounded, ctrl_c_stops_a_query_and_not_the_program, what_changes_is_shown,
             a_long_computation_ends_too]:
    test()
print("the terminal does what it should")
