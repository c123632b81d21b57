"""The directory of kernels: damaged, foreign, full, taken away, written by many and by who is killed."""
import contextlib
import hashlib
import os
import resource
import shutil
import signal
import socket
import subprocess
import time

from .common import PROGRAM, run, start, finish, write

KERNELS = 6
NOBODY = 65534
HEADER, KEY_BYTES_AT, CHECKSUM = 80, 24, slice(48, 80)


def digest_of(script, *span):
    """What is right, without a cache."""
    code, words, said = run(script, *(span or (0, KERNELS)))
    assert code == 0, said
    return words[0]


def expect(tally, script, cache, words, what, warnings=0, span=(0, KERNELS), **how):
    """Runs the program: it ends well, prints these words (None: any) and says so many lines at most."""
    code, got, said = run(script, *span, cache=cache, **how)
    right = code == 0 and len(got) == 5 and said.count("\n") <= warnings and \
        all(w is None or w == g for w, g in zip(words, got))
    tally.expect(right, f"{what}: code {code}, {got} for {words}, stderr {said}")
    return got if right else ["", "", "0", "0", "0"]


def entries(cache):
    return sorted(cache.glob("*.kernel"))


# -- Processes --------------------------------------------------------------------------------


def eight_processes(tally, rounds, place, rng):
    """At once on a directory that is not there yet."""
    script = write(place, "program.py", PROGRAM)
    digest = digest_of(script)
    for turn in range(rounds):
        cache = place / str(turn) / "cache"
        for process in [start(script, 0, KERNELS, cache=cache) for _ in range(8)]:
            code, words, said = finish(process)
            tally.expect((code, words[:1], words[4:], said) == (0, [digest], ["0"], ""), (code, words, said))
        expect(tally, script, cache, [digest, "none", str(KERNELS), "0", "0"], "all of it is there")
        tally.expect(len(list(cache.iterdir())) == KERNELS, list(cache.iterdir()))


KILLED = PROGRAM.replace("if __name__", "if False") + """
import os, random, signal, time
seed, times, most = int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
rng = random.Random(seed)
x, y = np.linspace(-1, 1, 97), np.linspace(0, 1, 97)
pyasc.jit(lambda x: x * 3 + 1, cache_dir="", tier=1)(x)  # LLVM is there before the forks
for turn in range(times):
    child = os.fork()
    if not child:
        while True:
            kernel(rng.randrange(most))(x, y)
    time.sleep(rng.random() * 0.06)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
"""


def killed_writers(tally, kills, place, rng):
    """Processes that do nothing but compile and write are killed at random moments."""
    script, killer = write(place, "program.py", PROGRAM), write(place, "killer.py", KILLED)
    cache, most, batch = place / "cache", 40, 50
    digest = digest_of(script, 0, most)
    for first in range(0, kills, batch):
        code, _, said = run(killer, rng.randrange(1 << 30), min(batch, kills - first), most, cache=cache)
        tally.expect((code, said) == (0, ""), (code, said))
        tally.note("kills", min(batch, kills - first))
        tally.note("half-written files", len(list(cache.glob(".write-*"))))
        before = {path: path.read_bytes() for path in entries(cache)}
        expect(tally, script, cache, [digest, None, str(len(before)), str(most - len(before)), "0"],
               f"after {first + batch} kills", span=(0, most))
        tally.expect(all(path.read_bytes() == data for path, data in before.items()), "entries were changed")
        for path in rng.sample(entries(cache), most - 5):
            path.unlink()
        for path in cache.glob(".write-*"):
            path.unlink()


def vanishing_directory(tally, rounds, place, rng):
    """It is removed again and again while processes use it."""
    script = write(place, "program.py", PROGRAM)
    digest, cache = digest_of(script), place / "new" / "cache"
    for turn in range(rounds):
        running = [start(script, 0, KERNELS, cache=cache) for _ in range(4)]
        while any(process.poll() is None for process in running):
            shutil.rmtree(rng.choice([cache, cache.parent]), ignore_errors=True)
            time.sleep(rng.random() * 0.01)
        for process in running:
            code, words, said = finish(process)
            tally.expect((code, words[:1], said) == (0, [digest], ""), (code, words, said))


# -- Entries ----------------------------------------------------------------------------------


def resealed(data):
    """With the right checksum."""
    data = data[:48] + bytes(32) + data[80:]
    return data[:48] + hashlib.sha256(data).digest() + data[80:]


def flip(data, at, bit):
    return data[:at] + bytes([data[at] ^ 1 << bit]) + data[at + 1:]


def places_of(data):
    """Ends of the parts of an entry: header, key, names, code."""
    key, names = (int.from_bytes(data[at:at + 4], "little") for at in (KEY_BYTES_AT, KEY_BYTES_AT + 4))
    return [0, HEADER, HEADER + key, HEADER + key + names, len(data)]


def damages(data, rng):
    """(what, bytes), without end."""
    ends = places_of(data)
    parts = [(a, b) for a, b in zip(ends, ends[1:]) if b > a]
    for at in range(HEADER):
        yield f"bit of byte {at} of the header", flip(data, at, rng.randrange(8))
    for end in ends[:-1]:
        for cut in (end, end + 1, max(end - 1, 0)):
            yield f"cut to {cut}", data[:cut]
    while True:
        at = rng.randrange(*rng.choice(parts))
        yield f"flip at {at}", flip(data, at, rng.randrange(8))
        cut = rng.randrange(len(data))
        yield f"cut to {cut}", data[:cut]
        yield f"zeros from {cut}", data[:cut] + bytes(len(data) - cut)
        yield f"longer by {cut}", data + rng.randbytes(cut + 1)
        yield f"a block of {cut} is other", data[:cut] + rng.randbytes(64) + data[cut + 64:]
        yield "another CPU", resealed(data.replace(b"\nx86_64 ", b"\nx86_65 "))


def damaged_entries(tally, damaged, place, rng):
    """All entries of a directory at once, each in its own way, then a process that reads them."""
    script, cache, many = write(place, "program.py", PROGRAM), place / "cache", 40
    digest = digest_of(script, 0, many)
    expect(tally, script, cache, [digest, "LLVM", "0", str(many), "0"], "cold", span=(0, many))
    good = {path: path.read_bytes() for path in entries(cache)}
    ways = {path: damages(data, rng) for path, data in good.items()}
    for _ in range(0, damaged, many):
        told = []
        for path, data in good.items():
            what, bad = next(ways[path])
            while bad == data:
                what, bad = next(ways[path])
            told.append(what)
            path.write_bytes(bad)
        expect(tally, script, cache, [digest, "LLVM", "0", str(many), str(many)], told[0], span=(0, many))
        tally.expect({path: path.read_bytes() for path in entries(cache)} == good, "not made again")
        tally.note("entries", many)


def put_nothing_good(path, kind, place):
    """In place of the file: what is no file of ours."""
    target = place / "outside"
    target.write_bytes(path.read_bytes())
    path.unlink()
    if kind == "link":
        path.symlink_to(target)
    elif kind in ("dangling link", "loop"):
        path.symlink_to(path if kind == "loop" else place / "nowhere")
    elif kind == "link to zeros":
        path.symlink_to("/dev/zero")
    elif kind == "pipe":
        os.mkfifo(path)
    elif kind == "socket":
        with socket.socket(socket.AF_UNIX) as it, contextlib.chdir(path.parent):
            it.bind(path.name)
    elif kind == "directory":
        path.mkdir()
    elif kind == "full directory":
        (path / "below").mkdir(parents=True)
    elif kind == "file of another":
        path.write_bytes(target.read_bytes())
        os.chown(path, NOBODY, NOBODY)
    elif kind == "hard link":
        os.link(target, path)


def other_files(tally, times, place, rng):
    """Links, pipes, sockets and directories under the names of entries; the other entries are used as ever."""
    kinds = ["link", "dangling link", "loop", "link to zeros", "pipe", "socket", "directory", "full directory"]
    script, kinds = write(place, "program.py", PROGRAM), kinds + ["file of another"] * (os.geteuid() == 0)
    digest = digest_of(script)
    for turn in range(times):
        kind, cache = kinds[-1 - turn % len(kinds)], place / str(turn)
        expect(tally, script, cache, [digest, "LLVM", "0", str(KERNELS), "0"], "cold")
        for path in rng.sample(entries(cache), 2):
            put_nothing_good(path, kind, place)
        outside = (place / "outside").read_bytes()
        made = "0" if kind == "full directory" else "2"  # that one may hold what is someone's
        expect(tally, script, cache, [digest, "LLVM", "4", made, None], kind)
        after = str(4 + int(made))
        expect(tally, script, cache, [digest, "none" if made == "2" else "LLVM", after, "0", None], kind + ", again")
        tally.expect((place / "outside").read_bytes() == outside, f"{kind}: its target was changed")


# -- Directories ------------------------------------------------------------------------------


@contextlib.contextmanager
def mounted(place, options):
    """A file system of memory, or None where there can be none."""
    place.mkdir()
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", options, "none", str(place)], capture_output=True).returncode
    try:
        yield None if done else place
    finally:
        if not done:
            subprocess.run(["umount", "-l", str(place)], check=True)


def full_disks(tally, rounds, place, rng):
    """One warning; what is whole is there, nothing else, and it is read."""
    script = write(place, "program.py", PROGRAM)
    digest = digest_of(script)
    for turn in range(rounds):
        size = rng.choice([4096, 8192, 16384, 20480])
        with mounted(place / str(turn), f"mode=700,size={size}") as disk:
            if disk:
                full_disk(tally, script, disk, digest, f"a disk of {size} bytes")
        with mounted(place / f"i{turn}", f"mode=700,size=1m,nr_inodes={rng.randrange(2, 6)}") as disk:
            if disk:
                full_disk(tally, script, disk, digest, "a disk of few files")
        limit = rng.randrange(1, 5000)
        cache = place / f"l{turn}"
        expect(tally, script, cache, [digest, "LLVM"], f"files of {limit} bytes", warnings=1,
               preexec=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)))
        tally.expect(not list(cache.glob(".write*")), "a file is left")


def full_disk(tally, script, disk, digest, what):
    tally.note("full disks")
    _, _, _, written, errors = expect(tally, script, disk, [digest, "LLVM", "0", None, "1"], what, warnings=1)
    tally.expect(len(list(disk.iterdir())) == int(written), list(disk.iterdir()))
    expect(tally, script, disk, [digest, "LLVM", written, "0", "1"], what + ", again", warnings=1)
    for path in entries(disk)[:1]:
        path.unlink()
    expect(tally, script, disk, [digest, None, None, None, None], what + ", with room", warnings=1)


READER = PROGRAM.replace('if __name__ == "__main__":', """if True:
    import os
    pyasc.jit(lambda x: x * 3 + 1, cache_dir="", tier=1)(np.ones(9))  # what is loaded later, too, before the user changes
    if sys.argv[3] == "nobody":
        os.setresuid(65534, 65534, 65534)""").replace('"LLVM" if "libLLVM" in pathlib.Path("/proc/self/maps").read_text() else "none"', '"-"')


def unwritable_directories(tally, rounds, place, rng):
    """Read-only directories, files and file systems, of one's own and of others."""
    script, root = write(place, "reader.py", READER), os.geteuid() == 0
    place.chmod(0o755)
    half, user = KERNELS // 2, "nobody" if root else "me"
    digest = run(script, 0, KERNELS, "me")[1][0]
    for turn in range(rounds):
        cache = place / f"c{turn}"
        cache.mkdir()
        if root:
            os.chown(cache, NOBODY, NOBODY)
        run(script, 0, half, user, cache=cache)
        for path in entries(cache):
            path.chmod(0o400)
        whole = (0, KERNELS, user)
        cache.chmod(0o500)
        expect(tally, script, cache, [digest, "-", str(half), "0", "1"], "to read only", warnings=1, span=whole)
        cache.chmod(0o000)
        expect(tally, script, cache, [digest, "-", "0", "0", "0"], "closed", warnings=1, span=whole)
        cache.chmod(0o700)
        entries(cache)[0].chmod(0)
        expect(tally, script, cache, [digest, "-", str(half - 1), str(half + 1), "0"], "a closed file", span=whole)
        for mode in (0o720, 0o702, 0o777):
            cache.chmod(mode)
            expect(tally, script, cache, [digest, "-", "0", "0", "0"], "open to others", warnings=1, span=whole)
        cache.chmod(0o700)
        if root:
            expect(tally, script, cache, [digest, "-", "0", "0", "0"], "of another", warnings=1, span=(0, KERNELS, "me"))
        with mounted(place / f"m{turn}", "mode=700,size=1m") as disk:
            if disk:
                run(script, 0, half, "me", cache=disk)
                subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
                tally.note("read-only file systems")
                expect(tally, script, disk, [digest, "-", str(half), "0", "1"], "file system to read only", warnings=1,
                       span=(0, KERNELS, "me"))


CASES = {"disk.eight_processes": (eight_processes, 20, 1), "disk.killed_writers": (killed_writers, 1000, 20),
         "disk.vanishing_directory": (vanishing_directory, 30, 1), "disk.damaged_entries": (damaged_entries, 6000, 80),
         "disk.other_files": (other_files, 45, 3), "disk.full_disks": (full_disks, 20, 1),
         "disk.unwritable_directories": (unwritable_directories, 10, 1)}
