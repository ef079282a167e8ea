"""A seccomp filter: system calls that no honest candidate needs are refused with an error, not a death.

It is the second wall, not the first: namespaces and the lack of privileges already stop what it refuses. Where the
processor is not known, there is none.
"""

import errno
import struct

from voirdire.execution.jail import kernel

_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_NUMBER, _PROCESSOR, _ARGUMENT = 0, 4, 16
_ALLOW, _ERROR = 0x7FFF0000, 0x00050000
_OTHER_ABI = 0x40000000
_NEW_NAMESPACES = 0x7E020000

_REFUSED: dict[str, tuple[int, int]] = {
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "kcmp": (312, 272),
    "pivot_root": (155, 41),
    "mount": (165, 40),
    "umount2": (166, 39),
    "unshare": (272, 97),
    "setns": (308, 268),
    "open_tree": (428, 428),
    "move_mount": (429, 429),
    "fsopen": (430, 430),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fspick": (433, 433),
    "mount_setattr": (442, 442),
    "add_key": (248, 217),
    "request_key": (249, 218),
    "keyctl": (250, 219),
    "perf_event_open": (298, 241),
    "bpf": (321, 280),
    "userfaultfd": (323, 282),
    "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "memfd_create": (319, 279),
    "memfd_secret": (447, 447),
    "shmget": (29, 194),
    "semget": (64, 190),
    "msgget": (68, 186),
    "mq_open": (240, 180),
    "setpriority": (141, 140),
    "sched_setparam": (142, 118),
    "sched_setscheduler": (144, 119),
    "sched_setattr": (314, 274),
    "sched_setaffinity": (203, 122),
    "ioprio_set": (251, 30),
    "syslog": (103, 116),
    "acct": (163, 89),
    "swapon": (167, 224),
    "swapoff": (168, 225),
    "reboot": (169, 142),
    "init_module": (175, 105),
    "finit_module": (313, 273),
    "delete_module": (176, 106),
    "quotactl": (179, 60),
    "kexec_load": (246, 104),
    "kexec_file_load": (320, 294),
    "name_to_handle_at": (303, 264),
    "open_by_handle_at": (304, 265),
}
"""Number on x86_64 and on aarch64. The shared memory, queues and memory files would outlive or outgrow a sample."""

_CLONE = {"x86_64": 56, "aarch64": 220}
_CLONE3 = 435
_SOCKET = {"x86_64": 41, "aarch64": 198}
_LIMITS = {"x86_64": 302, "aarch64": 261}
_LOCAL_SOCKETS = 1


def program(processor: str) -> bytes:
    """Return the filter for this processor, b'' where it is not known."""
    numbers = kernel.MACHINES.get(processor)
    if numbers is None:
        return b""
    refuse = _return(_ERROR | errno.EPERM)
    steps = [
        _step(_LOAD, _PROCESSOR),
        _step(_EQUAL, numbers.audit, 1, 0),
        refuse,
        _step(_LOAD, _NUMBER),
        _step(_AT_LEAST, _OTHER_ABI, 0, 1),
        refuse,
        _step(_EQUAL, _CLONE3, 0, 1),
        _return(_ERROR | errno.ENOSYS),
        *_argument(_CLONE[processor], (_step(_ANY_BIT, _NEW_NAMESPACES, 0, 1), refuse)),
        *_argument(_SOCKET[processor], (_step(_EQUAL, _LOCAL_SOCKETS, 1, 0), refuse)),
        *_argument(_LIMITS[processor], (_step(_EQUAL, 0, 1, 0), refuse)),
    ]
    column = 0 if processor == "x86_64" else 1
    for numbers_of_call in _REFUSED.values():
        number = numbers_of_call[column]
        steps += [_step(_EQUAL, number, 0, 1), refuse]
    return b"".join([*steps, _return(_ALLOW)])


def _argument(number: int, steps: tuple[bytes, ...]) -> tuple[bytes, ...]:
    """Return steps that look at the first argument of one system call, and let it pass where they do not refuse."""
    body = (_step(_LOAD, _ARGUMENT), *steps, _return(_ALLOW))
    return (_step(_EQUAL, number, 0, len(body)), *body)


def _step(code: int, value: int, then: int = 0, otherwise: int = 0) -> bytes:
    return struct.pack("=HBBI", code, then, otherwise, value)


def _return(value: int) -> bytes:
    return _step(_RETURN, value)
