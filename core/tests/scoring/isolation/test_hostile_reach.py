"""Attacks on the outside of a box: each first succeeds in a plain child process and then fails in a box.

An attack prints 'reached' or 'refused' at its end; it prints neither if the attack itself is broken.
"""

import ctypes
import os
import platform
import pty
import socket
import sys
from pathlib import Path

import pytest

from brainscore_core.scoring.isolation.box import interpreter_paths

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="boxes are Linux's")

AS_ROOT = sys.platform == "linux" and os.geteuid() == 0
# System calls without a function in the C library.
_NAMES = ("add_key", "request_key", "keyctl", "clone", "clone3", "fsopen", "open_by_handle_at")
_NUMBERS = {"x86_64": (248, 249, 250, 56, 435, 430, 304), "aarch64": (217, 218, 219, 220, 435, 430, 265)}
CALLS = dict(zip(_NAMES, _NUMBERS.get(platform.machine(), ()), strict=False))

LIBC = """
import ctypes, errno, os, sys
libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long
"""


# -- reading -----------------------------------------------------------------------------------------------------------

ENVIRONMENTS = """
import pathlib
found = False
for file in pathlib.Path('/proc').glob('[0-9]*/environ'):
    try:
        found |= b's3cret-value' in file.read_bytes()
    except OSError:
        pass
print('reached' if found else 'refused')
"""


def test_variables_of_other_processes_cannot_be_read(succeeds, victim):
    assert succeeds(ENVIRONMENTS, boxed=False)
    assert not succeeds(ENVIRONMENTS)


def test_first_process_of_a_box_reveals_nothing_of_the_machine(python, tmp_path, in_box):
    program = "print(*(open(f'/proc/1/{name}', 'rb').read() for name in ('environ', 'cmdline')))"
    said = python(program, in_box(readable=(tmp_path,), environment={"TOKEN": "s3cret-value"})).output
    assert said.startswith("b''")
    assert str(tmp_path) not in said
    assert "s3cret-value" not in said


FILES = """
import os, pathlib, sys
target = pathlib.Path(sys.argv[1])
starts = [f'/proc/{pid}/{name}' for pid in ('1', 'self') for name in ('root', 'cwd', 'fd')]
ways = [target, *(pathlib.Path(start, *['..'] * 30, *target.parts[1:]) for start in starts)]
found = any(os.access(way, os.F_OK) for way in ways)
for start in (sys.argv[2], *starts[1:3], *starts[4:]):
    for folder, folders, files in os.walk(start):
        if folder == '/':
            folders[:] = [name for name in folders if name not in ('proc', 'sys', 'usr')]
        found |= target.name in files
print('reached' if found else 'refused')
"""


@pytest.mark.slow
def test_files_outside_cannot_be_found(succeeds, tmp_path):
    secret = tmp_path / "planted-9a7c.csv"
    secret.write_text("s3cret-value")
    assert succeeds(FILES, boxed=False, arguments=(secret, tmp_path.parent))
    assert not succeeds(FILES, arguments=(secret, "/"))


def test_box_sees_only_system_folders(python):
    program = "import os; print(*sorted(os.listdir('/')), *os.listdir('/etc'), *os.listdir('/dev'))"
    listed = python(program).output.split()
    given = {path.parts[1] for path in interpreter_paths()}
    assert set(listed) <= given | {
        *("bin", "dev", "etc", "lib", "lib32", "lib64", "libx32", "proc", "sbin", "sys", "tmp", "usr", "var"),
        *("alternatives", "ca-certificates", "group", "hostname", "ld.so.cache", "localtime", "mime.types"),
        *("nsswitch.conf", "passwd", "pki", "ssl", "nix", "gnu"),
        *("core", "fd", "full", "null", "ptmx", "pts", "random", "shm", "stderr", "stdin", "stdout", "tty", "urandom"),
        "zero",
    }


MEMORY = f"""{LIBC}
class Part(ctypes.Structure):
    _fields_ = [('start', ctypes.c_void_p), ('size', ctypes.c_size_t)]
own = ctypes.create_string_buffer(12)
mine, its = Part(ctypes.addressof(own), 12), Part(int(sys.argv[2]), 12)
libc.process_vm_readv(int(sys.argv[1]), ctypes.byref(mine), 1, ctypes.byref(its), 1, 0)
print('reached' if own.raw == b's3cret-value' else 'refused')
"""
TRACE = f"""{LIBC}
attach, detach = 16, 17
done = libc.ptrace(attach, int(sys.argv[1]), None, None) == 0
if done:
    os.waitpid(int(sys.argv[1]), 0x40000000)
    libc.ptrace(detach, int(sys.argv[1]), None, None)
print('reached' if done else 'refused')
"""
END = """
import os, sys
try:
    os.kill(int(sys.argv[1]), 0)
    print('reached')
except OSError:
    print('refused')
"""


@pytest.mark.parametrize("attack", [MEMORY, TRACE, END], ids=["memory", "trace", "end"])
def test_processes_outside_cannot_be_read_traced_or_ended(succeeds, victim, attack):
    arguments = (victim.pid, victim.address)
    assert succeeds(attack, boxed=False, arguments=arguments)
    assert not succeeds(attack, arguments=arguments)


def test_killing_everything_ends_only_the_box(python, victim):
    python("import os, signal; os.kill(-1, signal.SIGKILL)")
    assert victim.poll() is None


KEYS = f"""{LIBC}
print('reached' if libc.syscall(int(sys.argv[1]), b'user', b'brainscore-test', None, 0) > 0 else 'refused')
"""


def test_kernel_keys_cannot_be_read(succeeds):
    libc = ctypes.CDLL(None, use_errno=True)
    libc.syscall.restype = ctypes.c_long
    session, unlink = -3, 9
    key = libc.syscall(CALLS["add_key"], b"user", b"brainscore-test", b"s3cret-value", 12, session)
    if key < 0:
        pytest.skip("this kernel keeps no keys")
    try:
        assert succeeds(KEYS, boxed=False, arguments=(CALLS["request_key"],))
        assert not succeeds(KEYS, arguments=(CALLS["request_key"],))
    finally:
        libc.syscall(CALLS["keyctl"], unlink, key, session)


# -- communication -----------------------------------------------------------------------------------------------------

CONNECT = """
import socket, sys
family, address = sys.argv[1], sys.argv[2]
with socket.socket(socket.AF_INET if family == 'inet' else socket.AF_UNIX) as line:
    line.settimeout(5)
    try:
        line.connect(('127.0.0.1', int(address)) if family == 'inet' else address.replace('@', chr(0)))
        print('reached')
    except OSError:
        print('refused')
"""


@pytest.fixture
def servers(tmp_path):
    """Yield (family, address) of servers outside: on loopback, at an abstract name, and at a socket file."""
    name = f"@brainscore-{os.getpid()}"
    with socket.socket() as loopback, socket.socket(socket.AF_UNIX) as abstract, socket.socket(socket.AF_UNIX) as file:
        loopback.bind(("127.0.0.1", 0))
        abstract.bind(name.replace("@", "\0"))
        file.bind(str(tmp_path / "socket"))
        for each in (loopback, abstract, file):
            each.listen()
        yield [("inet", loopback.getsockname()[1]), ("unix", name), ("unix", tmp_path / "socket")]


def test_servers_outside_cannot_be_reached(succeeds, servers):
    for server in servers:
        assert succeeds(CONNECT, boxed=False, arguments=server)
        assert not succeeds(CONNECT, arguments=server)


def test_network_box_cannot_reach_socket_files_outside(succeeds, servers, in_box):
    reached = [succeeds(CONNECT, in_box(network=True), arguments=server) for server in servers]
    assert reached == [True, True, False]


def test_other_machines_cannot_be_reached(python):
    program = """
        import errno, pathlib, socket
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as line:
            print(errno.errorcode[line.connect_ex(('192.0.2.1', 53))])
        print(*(line.split(':')[0].strip() for line in open('/proc/net/dev') if ':' in line))
    """
    assert python(program).output.split() == ["ENETUNREACH", "lo"]


KINDS = """
import socket, sys
made = []
for family in range(1, 46):
    for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_RAW, socket.SOCK_SEQPACKET):
        try:
            socket.socket(family, kind).close()
            made.append(family)
        except OSError:
            pass
print(sorted(set(made)))
print('refused' if set(made) <= {1, 2, 10, 16} else 'reached')
"""


def test_only_namespaced_kinds_of_sockets_can_be_created(succeeds, in_box):
    """Others escape the namespace: a vsock, for example, connects a virtual machine to its host."""
    if AS_ROOT:
        assert succeeds(KINDS, boxed=False)
    assert not succeeds(KINDS)
    assert not succeeds(KINDS, in_box(network=True))


TYPE = """
import fcntl, sys, termios
try:
    fcntl.ioctl(int(sys.argv[1]), termios.TIOCSTI, b'x')
    print('reached')
except OSError:
    print('refused')
"""


def test_input_cannot_be_injected_into_a_terminal(succeeds):
    master, terminal = pty.openpty()
    if AS_ROOT:  # since Linux 6.2 only root may, even outside a box
        assert succeeds(TYPE, boxed=False, arguments=(terminal,), pass_fds=[terminal])
    assert not succeeds(TYPE, arguments=(terminal,), pass_fds=[terminal])
    os.close(master)
    os.close(terminal)


# -- changing ----------------------------------------------------------------------------------------------------------

WRITE = """
import os, pathlib, sys
done = False
for folder in map(pathlib.Path, sys.argv[1:]):
    for way in (folder, *(pathlib.Path(f'/proc/{pid}/root', *folder.parts[1:]) for pid in ('1', 'self'))):
        for change in (
            lambda: (way / 'hook-5b1e.pth').write_text('import os'),
            lambda: way.chmod(0o777),
            lambda: os.rename(way, f'{way}-other'),
            lambda: os.utime(way),
            lambda: os.setxattr(way, 'user.hook', b''),
            lambda: os.link(way / 'plugin.py', '/tmp/plugin.py'),
            lambda: os.remove(way / 'plugin.py'),
        ):
            try:
                change()
                print(way)
                done = True
            except OSError:
                pass
print('reached' if done else 'refused')
"""


def test_readable_files_cannot_be_changed(succeeds, in_box, tmp_path):
    """This covers plugins and the records next to them, whoever owns the files."""
    for name in ("control", "plugin"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "plugin.py").write_text("score = 0.1")
    assert succeeds(WRITE, boxed=False, arguments=(tmp_path / "control",))
    assert not succeeds(WRITE, in_box(readable=(tmp_path / "plugin",)), arguments=(tmp_path / "plugin",))
    assert [path.name for path in (tmp_path / "plugin").iterdir()] == ["plugin.py"]


def test_no_hook_can_be_left_in_packages_or_the_system(succeeds):
    folders = [path for path in interpreter_paths() if path.is_dir()]
    folders += [Path(path) for path in sys.path if path and Path(path).is_dir()]
    system = ("", "usr", "usr/bin", "etc", "etc/ssl", "dev", "var", "sys", "proc", "usr/lib", "home", "root")
    assert not succeeds(WRITE, arguments=[*folders, *(f"/{name}" for name in system)])
    assert not [path for path in folders if (path / "hook-5b1e.pth").exists()]


SETTINGS = """
import os
done = []
for start in ('/proc', '/sys'):
    for folder, folders, files in os.walk(start):
        if start == '/proc' and folder == '/proc':
            folders[:] = [name for name in folders if not name.isdecimal() and name not in ('self', 'thread-self')]
        for name in files:
            try:
                os.close(os.open(os.path.join(folder, name), os.O_WRONLY | os.O_NONBLOCK))
                done.append(os.path.join(folder, name))
            except OSError:
                pass
print(*done[:5])
print('reached' if done else 'refused')
"""


def test_kernel_settings_cannot_be_opened_for_writing(succeeds):
    """The kernel lets any process of root write to /proc/sys, even without capabilities."""
    if AS_ROOT:
        one = "import os; os.close(os.open('/proc/sys/kernel/core_pattern', os.O_WRONLY)); print('reached')"
        assert succeeds(one, boxed=False)
    assert not succeeds(SETTINGS)


NAMESPACES = f"""{LIBC}
calls = dict(zip(sys.argv[1::2], map(int, sys.argv[2::2])))
user, mounts = 0x10000000, 0x20000
def child(number, *arguments):
    pid = libc.syscall(number, *arguments)
    if pid == 0:
        os._exit(0)
    return pid
done = [
    name
    for name, call in {{
        'unshare user': lambda: libc.unshare(user),
        'unshare mounts': lambda: libc.unshare(mounts),
        'clone': lambda: child(calls['clone'], user | 17, 0, 0, 0, 0),
        'clone3': lambda: child(calls['clone3'], (ctypes.c_uint64 * 11)(user, 0, 0, 0, 17), 88),
        'setns': lambda: libc.setns(os.open('/proc/1/ns/user', os.O_RDONLY), 0),
        'mount': lambda: libc.mount(b'none', b'/tmp', b'tmpfs', 0, None),
        'remount': lambda: libc.mount(b'none', b'/usr', b'', 0x1000 | 0x20, None),
        'unmount': lambda: libc.umount2(b'/tmp', 2),
        'chroot': lambda: libc.chroot(b'/tmp'),
        'new mount': lambda: libc.syscall(calls['fsopen'], b'tmpfs', 0),
        'handle': lambda: libc.syscall(calls['open_by_handle_at'], 0, None, 0) + 1 or -1,
    }}.items()
    if call() >= 0
]
print(done)
print('reached' if done else 'refused')
"""


def test_namespaces_and_mounts_cannot_be_created(succeeds):
    numbers = [each for name, number in CALLS.items() for each in (name, number)]
    one = f"{LIBC}\nprint('reached' if libc.unshare(0x10000000) == 0 else 'refused')"
    assert succeeds(one, boxed=False)
    assert not succeeds(NAMESPACES, arguments=numbers)


RIGHTS = """
import os, shutil, subprocess, time
status = dict(line.split(':', 1) for line in open('/proc/self/status'))
done = [name for name in ('CapInh', 'CapPrm', 'CapEff', 'CapBnd', 'CapAmb') if int(status[name], 16)]
done += ['new privileges'] if status['NoNewPrivs'].strip() != '1' else []
done += ['no filter'] if status['Seccomp'].strip() != '2' else []
shutil.copy('/usr/bin/id', '/tmp/id')
os.chmod('/tmp/id', 0o6755)
done += ['set-uid'] if subprocess.check_output(['/tmp/id', '-u']).strip() != str(os.getuid()).encode() else []
for name, change in {
    'root': lambda: os.setuid(0),
    'clock': lambda: time.clock_settime(time.CLOCK_REALTIME, 0),
    'device': lambda: os.mknod('/tmp/disk', 0o60600, os.makedev(254, 0)),
    'name': lambda: __import__('socket').sethostname('other'),
    'first in line': lambda: os.nice(-10),
}.items():
    try:
        change()
        done.append(name)
    except OSError:
        pass
print(done)
print('reached' if done else 'refused')
"""


def test_box_has_no_privileges_and_cannot_gain_any(succeeds, python):
    assert not succeeds(RIGHTS)
    assert python("import os; print(os.getuid(), os.getgid(), os.getgroups())").output.split()[:2] == ["65534", "65534"]
