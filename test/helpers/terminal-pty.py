"""Runs a command on a real pseudo-terminal and plays a script against it.

stdin: JSON {"command": [...], "steps": [[wait_for, keys], ...], "seconds": n, "columns": n};
stdout: JSON {"screen": ..., "status": ..., "missed": the first text that never came, or null}.
"""

import fcntl
import json
import os
import pty
import re
import select
import struct
import sys
import termios
import time

job = json.load(sys.stdin)
pid, terminal = pty.fork()
if pid == 0:
    os.environ["TERM"] = "xterm-256color"
    os.execvp(job["command"][0], job["command"])

fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 50, job["columns"], 0, 0))
screen = b""
text = b""  # the screen without styles and cursor movements: what is waited for
seen = 0
missed = None
deadline = time.monotonic() + job["seconds"]


def read():
    """Reads what is there; False at the end."""
    global screen, text
    ready, _, _ = select.select([terminal], [], [], 0.05)
    if not ready:
        return True
    try:
        data = os.read(terminal, 65536)
    except OSError:
        return False
    screen += data
    text = re.sub(rb"\x1b\[[0-9;?]*[A-Za-z]", b"", screen)
    return bool(data)


alive = True
for wait_for, keys in job["steps"]:
    wanted = wait_for.encode()
    while alive and text.find(wanted, seen) < 0 and time.monotonic() < deadline:
        alive = read()
    found = text.find(wanted, seen)
    if found < 0:
        missed = wait_for
        break
    seen = found + len(wanted)
    for key in keys:
        os.write(terminal, key.encode())
        time.sleep(0.02)
while alive and missed is None and time.monotonic() < deadline:
    alive = read()
if alive:
    os.kill(pid, 9)
_, status = os.waitpid(pid, 0)
json.dump({"screen": screen.decode("utf-8", "replace"), "status": os.waitstatus_to_exitcode(status), "missed": missed}, sys.stdout)
