"""Submissions that do what no answer should, by kind; each is an answer to `matmul_flops`.

What stands under a kind is the text of a submission, and the kinds of verdict that it may get.
"""

RIGHT = "return 2 * m * n * p"


def inside(*lines, end=RIGHT):
    """An answer that does something on each call, and is right otherwise."""
    body = "\n".join(f"    {line}" for part in (*lines, end) for line in part.split("\n"))
    return f"def matmul_flops(m, n, p):\n{body}\n"


def before(*lines):
    """An answer that needs a value which takes some code to make."""
    head = "\n".join(lines)
    return f"{head}\n\ndef matmul_flops(m, n, p):\n    made\n    {RIGHT}\n"


FORK = "import os\nwhile True:\n    try:\n        os.fork()\n    except OSError:\n        pass"
GRAB = "kept = []\nwhile True:\n    kept.append(bytearray(1 << 24))"
FILL = "with open('big', 'wb') as file:\n    while True:\n        file.write(bytes(1 << 20))"
FIND_JUDGE = (
    "import os\nfor pid in os.listdir('/proc'):\n"
    "    if pid.isdigit() and int(pid) != os.getpid():\n        os.kill(int(pid), 9)"
)
FORGE = (
    "import json, os, struct\n"
    "text = json.dumps({'result': '1', 'passed': True, 'same': None}).encode()\n"
    "for fd in range(3, 256):\n"
    "    try:\n        os.write(fd, struct.pack('!I', len(text)) + text)\n"
    "    except OSError:\n        pass"
)
FRAME = (
    "import sys\nframe = sys._getframe()\n"
    "while frame.f_code.co_name != 'do_call': frame = frame.f_back\n"
    "kind, space = type(frame.f_locals['self']), frame.f_globals\n"
)
CALL_LIBRARY = "import gpulearn as gl\nreturn gl.matmul_flops(m, n, p)"
STATIC = "import gpulearn as gl\ndef matmul_flops(m, n, p): return m * n * p\n"

# on a busy machine the time is over before the memory is full, or the processes are counted
TIME, MEMORY, DISK = ("time",), ("memory", "time"), ("disk", "time")
PROCESSES = ("processes", "time")
NEVER = ("wrong", "raises", "forbidden", "ended", "not solved", "borrowed", *PROCESSES, "disk")
# it does no harm, and may be right besides
HARMLESS = ("passed", *NEVER)

HOSTILE = {
    "loops forever": [
        (inside("while True: pass"), TIME),
        (inside("import time\ntime.sleep(1e6)"), TIME),
        (before("made = 0", "while True: made += 1"), (*TIME, "ended")),
    ],
    "swallows interrupts": [
        (inside("while True:\n    try:\n        while True: pass\n    except BaseException: pass"),
         TIME),
        (inside("import signal\nfor n in range(1, 32):\n    try: signal.signal(n, signal.SIG_IGN)\n"
                "    except (OSError, ValueError): pass\nwhile True: pass"), TIME),
    ],
    "forks": [
        (inside(FORK), PROCESSES),
        (before("import os", "made = [os.fork() for _ in range(9)]", "while True: pass"),
         (*PROCESSES, *TIME, "ended")),
        (inside("import subprocess\nwhile True: subprocess.Popen(['sleep', '600'])"),
         (*PROCESSES, "raises")),
    ],
    "starts threads": [
        (inside("import threading, time\nwhile True:\n"
                "    threading.Thread(target=time.sleep, args=(600,)).start()"),
         (*PROCESSES, *TIME, *MEMORY, "raises")),
    ],
    "leaves a process behind": [
        (inside("import os\nif os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0:\n"
                "        import time\n        time.sleep(600)\n    os._exit(0)"), HARMLESS),
        (inside("import subprocess\n"
                "subprocess.Popen(['sh', '-c', 'trap \"\" TERM HUP; sleep 601'])"), HARMLESS),
    ],
    "takes the memory": [
        (inside(GRAB), MEMORY),
        (inside("import numpy as np\nnp.ones(1 << 36)"), MEMORY),
        (inside("text = 'x'\nwhile True: text += text"), MEMORY),
    ],
    "takes memory that nobody counts": [
        (inside("import os\nkept = [os.memfd_create('x') for _ in range(200)]\n"
                "for fd in kept: os.write(fd, bytes(1 << 20))"), ("raises",)),
        (inside("import mmap, os\nkept = mmap.mmap(-1, 1 << 20)\n"
                "if os.fork() == 0: kept.write(bytes(1 << 20)); os._exit(0)"), ("raises",)),
        (inside("import ctypes\n"
                "assert ctypes.CDLL(None).shmget(0, 1 << 24, 0o1600) >= 0"), ("raises",)),
        (inside("import ctypes\n"
                "assert ctypes.CDLL(None).semget(0, 250, 0o1600) >= 0"), ("raises",)),
        (inside("import mmap\nwith open('/dev/zero', 'r+b') as file:\n"
                "    mmap.mmap(file.fileno(), 1 << 20)"), ("raises",)),
    ],
    "leaves a key behind": [
        (inside("import ctypes\ncall = ctypes.CDLL(None).syscall\n"
                "assert call({'x86_64': 248}.get(__import__('os').uname().machine, 217),\n"
                "            b'user', b'gpulearn', b'answer', 6, -3) >= 0"), ("raises",)),
    ],
    "ends the judge": [
        (inside(end="import numpy as np\nreturn np.timedelta64(1, 's')"), ("not judged", "wrong")),
        ("from gpulearn.kernels.nowhere import *\n" + inside(), HARMLESS),
    ],
    "fills the disk": [
        (inside(FILL), DISK),
        (inside("import os\nfor n in range(10 ** 6):\n    open(f'file{n}', 'w').close()"),
         (*DISK, *TIME)),
        (inside(FILL.replace("'big'", "'/dev/shm/big'")), DISK),
    ],
    "prints without end": [
        (inside("while True: print('x' * 4096)"), ("output",)),
        (inside("import os\nwhile True: os.write(2, b'x' * 65536)"), ("output",)),
    ],
    "ends the process": [
        (inside("import os\nos._exit(0)"), ("ended",)),
        (inside("import sys\nsys.exit(0)"), ("ended",)),
        (inside("import os\nos.kill(os.getpid(), 9)"), ("ended", "passed")),
        (inside("import ctypes\nctypes.string_at(0)"), ("ended",)),
        (before("import os", "made = os._exit(0)"), ("ended",)),
    ],
    "calls the solution": [
        (inside(end=CALL_LIBRARY), ("borrowed",)),
        (inside(end="from gpulearn.kernels.matmul import matmul_flops as f\nreturn f(m, n, p)"),
         ("borrowed",)),
        ("from gpulearn import matmul_flops\n", ("borrowed",)),
        ("import gpulearn as gl\nmatmul_flops = gl.matmul_flops\n", ("borrowed",)),
    ],
    "asks for the solution": [
        (inside(end="import gpulearn as gl\nspace = {}\n"
                    "exec(gl.solution('matmul_flops').source, space)\n"
                    "return space['matmul_flops'](m, n, p)"), ("forbidden",)),
    ],
    "reads the catalogue": [
        (inside(end="from gpulearn.judge.catalogue import find\n"
                    "return find('matmul_flops').reference(m, n, p)"), ("forbidden",)),
        (inside(end="import gpulearn, pathlib\n"
                    "folder = pathlib.Path(gpulearn.__file__).parents[1] / 'gpulearn_lessons'\n"
                    "text = (folder / 'cpu_vs_gpu' / 'matmul_flops.py').read_text()\nreturn 0"),
         ("raises",)),
    ],
    "changes the check": [
        (STATIC + "gl.check = lambda *a: True\n", ("wrong",)),
        (STATIC + "import builtins\nbuiltins.made = 1\n", ("wrong",)),
        (inside("import gpulearn.judge.compare as c\nc.numbers_or_none = lambda *a: None",
                end="return 1"), ("forbidden",)),
        (inside("import sys\nfor name, module in list(sys.modules.items()):\n"
                "    if name.startswith('gpulearn'):\n"
                "        for key in list(vars(module)):\n"
                "            if callable(vars(module)[key]) and not key.startswith('_'):\n"
                "                setattr(module, key, print)", end="return 1"), NEVER),
    ],
    "forges what is large": [
        (inside(FRAME + "kind._line = lambda self, error: 10 ** 9\nraise ValueError"), ("raises",)),
        (inside(FRAME + "for k in range(1000): space['watch'].note(str(k), 'x' * 999)"),
         ("passed",)),
    ],
    "forges an answer": [
        (inside(FORGE, end="return 1"), NEVER),
        (inside("import gc, socket\nfor one in gc.get_objects():\n"
                "    if isinstance(one, socket.socket): one.close()", end="return 1"), NEVER),
        ("class Same:\n    def __eq__(self, other): return True\n"
         "    def __float__(self): return 0.0\n" + inside(end="return Same()"), NEVER),
        ("class Same(int):\n    def __eq__(self, other): return True\n    __hash__ = int.__hash__\n"
         + inside(end="return Same(1)"), NEVER),
        (inside(end="import pickle, os\nclass Run:\n"
                    "    def __reduce__(self): return os.system, ('touch /tmp/forged',)\n"
                    "return Run()"), NEVER),
    ],
    "writes over files": [
        (inside("open({folder!r} + '/results.csv', 'w').write('mine')"), NEVER),
        (inside("import gpulearn\nopen(gpulearn.__file__, 'a').write('#')"), ("forbidden",)),
        (inside("import shutil\nshutil.rmtree({folder!r}, ignore_errors=True)"), HARMLESS),
        (inside("import os\nopen(os.path.expanduser('~root/.profile'), 'a').write('#')"), NEVER),
        (inside("open('/tmp/gpulearn-was-here', 'w').write('me')"), HARMLESS),
    ],
    "reads the others": [
        (inside(end="import os\nreturn eval(open({folder!r} + '/honest.py').read())"), NEVER),
        (inside(end="import os\nreturn len(os.listdir({folder!r})) and 2 * m * n * p"), NEVER),
    ],
    "ends others": [
        (inside(FIND_JUDGE, end="return 1"), NEVER),
        (inside("import os\nos.kill(-1, 9)", end="return 1"), NEVER),
        (inside("import os\nos.kill(os.getppid(), 9)", end="return 1"), NEVER),
    ],
    "reaches for the network": [
        (inside(end="import urllib.request\n"
                    "return urllib.request.urlopen('http://192.0.2.1', timeout=9).read()"), NEVER),
        (inside(end="import socket\ns = socket.create_connection(('127.0.0.1', {port}), 5)\n"
                    "s.sendall(b'here')\n" + RIGHT), NEVER),
    ],
    "breaks out": [
        (inside("import os\nos.chroot('.')", end="return 1"), NEVER),
        (inside("import ctypes\nlibc = ctypes.CDLL(None)\n"
                "assert libc.umount2(b'/tmp', 2) == 0\nassert libc.mount(0, b'/', 0, 32, 0) == 0",
                end="return 1"), NEVER),
        (inside("import ctypes\nassert ctypes.CDLL(None).unshare(0x10000000) == 0", end="return 1"),
         NEVER),
        (inside("import resource\nresource.setrlimit(resource.RLIMIT_DATA, (-1, -1))",
                end="return 1"), NEVER),
        (inside("open('/dev/vda', 'r+b').write(b'')", end="return 1"), NEVER),
    ],
    "returns what is too much": [
        (inside(end="import numpy as np\nreturn np.zeros(1 << 27, np.uint8)"), (*NEVER, *MEMORY)),
        (inside(end="one = []\nfor _ in range(10 ** 5): one = [one]\nreturn one"), NEVER),
        (inside(end="one = []\none.append(one)\nreturn one"), NEVER),
        (inside(end="return 10 ** (10 ** 6)"), NEVER),
    ],
    "is no program": [
        ("def matmul_flops(m, n, p:\n", ("unreadable",)),
        ("(" * 100_000, ("missing", "unreadable")),
        ("\0\x01\x02", ("missing", "unreadable")),
        ("matmul_flops = 7\n", ("wrong",)),
        ("class matmul_flops: pass\n", ("wrong",)),
    ],
}  # fmt: skip
