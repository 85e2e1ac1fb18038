"""A viewer in a terminal of any size: keys in, what it drew out. It must leave the terminal as it was."""
import fcntl
import os
import pty
import select
import signal
import struct
import termios
import time


def view(command, rows, columns, keys, ready, end=None):
    """Runs the command until it has drawn `ready`, presses the keys, then sends signal `end`, if any; its exit code and what it wrote."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.environ["TERM"] = "xterm-256color"
        time.sleep(0.05)
        os.execv(command[0], command)
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    before = termios.tcgetattr(terminal)
    seen = b""

    def read(seconds):
        nonlocal seen
        until = time.time() + seconds
        while time.time() < until:
            if select.select([terminal], [], [], 0.02)[0]:
                try:
                    data = os.read(terminal, 65536)
                except OSError:
                    return
                if not data:
                    return
                seen += data
    for _ in range(100):
        if b"\033[?1049h" in seen and ready in seen or columns < 10 and b"\033[J" in seen:
            break
        read(0.1)
    for key in keys:
        os.write(terminal, key)
        read(0.08)
    if end:
        os.kill(pid, end)
    read(0.3)
    status = None
    for _ in range(100):
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            break
        read(0.05)
        time.sleep(0.05)
    else:
        os.kill(pid, signal.SIGKILL)
        raise AssertionError(f"{rows} x {columns}: it does not end")
    read(1)  # what is left
    try:
        assert termios.tcgetattr(terminal)[3] == before[3], "the terminal is not as it was"
    except termios.error:
        pass
    text = seen.decode("utf-8", "replace")
    assert text.count("\033[?1049h") == 1 and text.rstrip().endswith("\033[?1049l"), repr(text[-80:])
    assert text.rindex("\033[?25h") > text.rindex("\033[?25l")
    os.close(terminal)
    return os.waitstatus_to_exitcode(status), text
