"""Run the gate and the tests in a clean Debian 12, to check that .ci/setup installs everything.

    python3 -m tests.soak.suites.clean_container [--base FOLDER] [--folder FOLDER] [--keep]
    python3 -m tests.soak.suites.clean_container --only 'make gate' '.ci/setup test'
    python3 -m tests.soak.suites.clean_container --suite trixie --only 'make gate'

As root. debootstrap makes a minimal system with PACKAGES and what they depend on, the repository's
HEAD is cloned into it, and each command runs there by chroot. Where packages come from is read from
this machine when it runs: apt's sources, settings and keys, pip's configuration, proxies,
certificates. Without Debian 12 among apt's sources, debootstrap's own mirror serves. Passwords of
apt's auth.conf are not taken over.

All is mounted in a namespace that ends with its first process. So nothing stays mounted, however
this ends, and removing the container never reaches into this machine.

Logs stay in the folder. Exit code: 0 if all passed, 1 if a command failed, 2 if the container could
not be made.
"""

from __future__ import annotations

import ast
import hashlib
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import FrameType
from urllib.parse import unquote, urlsplit

from tests.support.places import ROOT
from tests.support.script import Tally, options_of

SUITE = "bookworm"
SUITES = (SUITE, f"{SUITE}-updates", f"{SUITE}-security")
PACKAGES = ("python3", "python3-venv", "gcc", "g++", "make", "git", "ca-certificates")
COMMANDS = ("make gate", "make test")
TAIL = 15  # lines of each log in the summary
CLONE = "sizeguard"  # in the container's root folder
MARK = ".clean-container"  # in folders whose container may be removed

PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
PROXIES = ("http_proxy", "https_proxy", "ftp_proxy", "all_proxy", "no_proxy")
BUNDLES = ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "GIT_SSL_CAINFO")
LOCAL_CERTIFICATES = Path("/usr/local/share/ca-certificates")
SOURCE_OPTIONS = ("signed-by", "trusted", "check-valid-until", "check-date")
APT_SETTING = re.compile(r'(Acquire::(?:https?|ftp|Retries|Check-|Max-|Force|Allow)\S*) "(.*)";')
PIP_INDEXES = ("index-url", "extra-index-url")
PIP_PLACES = (*PIP_INDEXES, "find-links")
PIP_FILES = ("cert", "client-cert")
PIP_NETWORK = ("no-index", "trusted-host", "proxy", "timeout", "default-timeout", "retries")
PIP_OPTIONS = (*PIP_PLACES, *PIP_FILES, *PIP_NETWORK)

# Separate mounts and processes. They end with the first process, which ends with unshare, which
# ends with this process. The first process of ENTER is a waiting shell that reaps orphans.
DYING = ("setpriv", "--pdeathsig", "KILL")
NAMESPACE = (*DYING, "unshare", "--mount", "--mount-proc", "--pid", "--fork", "--kill-child")
ENTER = r"""
set -eu
root=$1 command=$2
shift 2
mount -t proc proc "$root/proc"
mount --rbind /sys "$root/sys"
mount -t tmpfs -o mode=755 tmpfs "$root/dev"
for name in null zero full random urandom tty; do
  : >"$root/dev/$name"
  mount --bind "/dev/$name" "$root/dev/$name"
done
mkdir "$root/dev/pts" "$root/dev/shm"
mount -t devpts -o newinstance,mode=620,ptmxmode=666 devpts "$root/dev/pts"
mount -t tmpfs -o mode=1777 tmpfs "$root/dev/shm"
ln -s pts/ptmx "$root/dev/ptmx"
ln -s /proc/self/fd "$root/dev/fd"
ln -s fd/0 "$root/dev/stdin"
ln -s fd/1 "$root/dev/stdout"
ln -s fd/2 "$root/dev/stderr"
for folder in "$@"; do
  mkdir -p "$root$folder"
  mount --bind "$folder" "$root$folder"
  mount -o remount,bind,ro "$root$folder"
done
code=0
chroot "$root" sh -c "$command" || code=$?
exit "$code"
"""


class PreparationError(Exception):
    """The container could not be made; str() has the reason."""


@dataclass(frozen=True)
class Source:
    """A source of packages. options: as in the brackets of sources.list."""

    uri: str
    suite: str
    options: tuple[tuple[str, str], ...] = ()

    @property
    def line(self) -> str:
        """The source as a line of sources.list."""
        options = " ".join(f"{name}={value}" for name, value in self.options)
        return f"deb {f'[{options}] ' if options else ''}{self.uri} {self.suite} main\n"

    @property
    def keyring(self) -> Path | None:
        """The file with its keys, if it has a separate one."""
        path = Path(dict(self.options).get("signed-by", ""))
        return path if path.is_absolute() and path.is_file() else None


@dataclass
class Host:
    """Settings that the container takes over from this machine.

    pip: sections of a pip.conf. environment: variables. files: copied to the same place.
    folders: mounted read-only at the same place.
    """

    sources: list[Source] = field(default_factory=list)
    apt: list[tuple[str, str]] = field(default_factory=list)
    pip: dict[str, dict[str, str]] = field(default_factory=dict)
    environment: dict[str, str] = field(default_factory=dict)
    files: set[Path] = field(default_factory=set)
    folders: set[Path] = field(default_factory=set)

    def of(self, suite: str) -> Host:
        """Name the same places for another release of Debian."""
        named = [replace(each, suite=each.suite.replace(SUITE, suite)) for each in self.sources]
        return replace(self, sources=named)


@dataclass(frozen=True)
class Step:
    """The result of one step."""

    name: str
    code: int
    seconds: float
    log: Path

    @property
    def line(self) -> str:
        """The result as a line of the summary."""
        return f"{self.seconds:8.1f} s  exit {self.code:<3}  {self.name}"

    @property
    def tail(self) -> str:
        """Return the last lines of its log."""
        lines = self.log.read_text(errors="replace").splitlines()[-TAIL:]
        return "".join(f"    {line}\n" for line in lines)


class Container:
    """Make the container, run in it, remove it."""

    def __init__(self, folder: Path, host: Host, suite: str = SUITE) -> None:
        """Take an empty folder, or one with an old container, which is removed."""
        if folder.is_dir() and any(folder.iterdir()) and not (folder / MARK).exists():
            raise PreparationError(f"{folder} has files of others in it: name an empty folder")
        self.host = host.of(suite)
        self.suite = suite
        self.root = folder / "container"
        self.logs = folder / "logs"
        self.steps: list[Step] = []
        self.logs.mkdir(parents=True, exist_ok=True)
        (folder / MARK).touch()
        self.remove()
        for old in self.logs.glob("*.log"):
            old.unlink()
        self.root.mkdir(mode=0o755)

    def remove(self) -> None:
        """Remove the container. Try again if killed processes have not ended yet."""
        mounts = Path("/proc/self/mountinfo").read_text().splitlines()
        root = self.root.resolve()
        inside = [name for line in mounts if Path(name := line.split()[4]).is_relative_to(root)]
        if inside:
            raise PreparationError(f"{inside[0]}: is mounted; unmount it")
        until = time.monotonic() + 10
        while self.root.exists():
            try:
                shutil.rmtree(self.root)
            except OSError:
                if time.monotonic() > until:
                    raise
                time.sleep(0.1)

    def step(self, name: str, command: Sequence[object], environment: Mapping[str, str]) -> Step:
        """Run a command on this machine, its output in a log. It is killed when this ends."""
        title = re.sub(r"[^\w.-]+", "-", name).strip("-")[:60]
        log = self.logs / f"{len(self.steps) + 1:02}-{title}.log"
        print(f"{name} ...", flush=True)
        start = time.monotonic()
        with log.open("wb", buffering=0) as kept:
            process = subprocess.Popen(
                [str(word) for word in command],
                bufsize=0,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,  # opening /dev/stderr would truncate a file
                stderr=subprocess.STDOUT,
                env=environment,
                start_new_session=True,
            )
            assert process.stdout
            try:
                shutil.copyfileobj(process.stdout, kept)
                process.wait()
            except BaseException:
                if process.poll() is None:
                    os.killpg(process.pid, signal.SIGKILL)
                    process.wait()
                raise
        done = Step(name, process.returncode, time.monotonic() - start, log)
        print(done.line, flush=True)
        self.steps.append(done)
        return done

    def prepare(self, name: str, command: Sequence[object], **environment: str) -> None:
        """Run a required command."""
        done = self.step(name, command, {**os.environ, "LC_ALL": "C", "PATH": PATH, **environment})
        if done.code != 0:
            raise PreparationError(f"{name}: exit {done.code}, see {done.log}\n{done.tail}")

    def run(self, command: str) -> Step:
        """Run a command in the clone in the container."""
        return self.inside(command, f"cd /{CLONE} && {command}")

    def inside(self, name: str, command: str, variables: Mapping[str, str] | None = None) -> Step:
        """Run a command in the container, with more variables."""
        words = [*NAMESPACE, "sh", "-c", ENTER, "enter", self.root, command]
        environment = {"PATH": PATH, "HOME": "/root", **self.host.environment, **(variables or {})}
        return self.step(name, [*words, *sorted(self.host.folders)], environment)

    def make_base(self, cache: Path | None) -> None:
        """Make the minimal system, or take it from the cache."""
        machine = output("dpkg", "--print-architecture").strip()
        key = hashlib.sha256(" ".join(PACKAGES).encode()).hexdigest()[:8]
        tar = cache / f"{self.suite}-{machine}-{key}.tar" if cache else None
        if tar and tar.exists():
            command = ["tar", "--numeric-owner", "-xpf", tar, "-C", self.root]
            self.prepare("unpack the base", command)
            return
        if not shutil.which("debootstrap", path=PATH):
            install = ["apt-get", "install", "-y", "--no-install-recommends"]
            self.prepare("apt-get update", ["apt-get", "update"])
            packages = ["debootstrap", "debian-archive-keyring"]
            command = [*install, *packages]
            self.prepare("install debootstrap", command, DEBIAN_FRONTEND="noninteractive")
        self.debootstrap()
        if tar:
            tar.parent.mkdir(parents=True, exist_ok=True)
            part = tar.with_suffix(f".{os.getpid()}")
            try:
                command = ["tar", "--numeric-owner", "-cpf", part, "-C", self.root, "."]
                self.prepare("pack the base", command)
                part.rename(tar)
            finally:
                part.unlink(missing_ok=True)

    def debootstrap(self) -> None:
        """Make the minimal system from the first of the sources, or from debootstrap's mirror."""
        options = ["--variant=minbase", f"--include={','.join(PACKAGES)}"]
        source = next((each for each in self.host.sources if each.suite == self.suite), None)
        if source and source.keyring:
            options.append(f"--keyring={source.keyring}")
        if source and ("trusted", "yes") in source.options:
            options.append("--no-check-gpg")
        mirror = [source.uri] if source else []
        proxies = {
            f"{scheme}_proxy": value
            for name, value in self.host.apt
            for scheme in ("http", "https")
            if name == f"Acquire::{scheme}::Proxy" and value != "DIRECT"
        }
        command = [*NAMESPACE, "debootstrap", *options, self.suite, self.root, *mirror]
        try:
            self.prepare("debootstrap", command, **proxies)
        except PreparationError as error:
            details = self.root / "debootstrap" / "debootstrap.log"
            text = details.read_text(errors="replace") if details.exists() else ""
            raise PreparationError(f"{error}{text[-2000:]}") from error

    def take_over(self) -> None:
        """Put this machine's settings into the container."""
        listed = self.root / "etc" / "apt" / "sources.list"
        sources = self.host.sources or followed_sources(listed.read_text())
        self.write("/etc/apt/sources.list", "".join(each.line for each in sources))
        apt = "".join(f'{name} "{value}";\n' for name, value in self.host.apt)
        self.write("/etc/apt/apt.conf.d/99host", apt)
        pip = ""
        for section, values in self.host.pip.items():
            lines = [f"{name} = {indented(value)}" for name, value in values.items()]
            pip += "\n".join([f"[{section}]", *lines, ""])
        self.write("/etc/pip.conf", pip)
        for name in ("/etc/resolv.conf", "/etc/hosts"):
            if Path(name).exists():
                self.write(name, Path(name).read_text())
        for path in LOCAL_CERTIFICATES.rglob("*.crt"):
            self.copy(path)
        self.prepare("certificates", ["chroot", self.root, "update-ca-certificates"])
        for path in sorted(self.host.files):
            self.copy(path)

    def write(self, name: str, text: str) -> None:
        """Write a file of the container."""
        self.place(name).write_text(text)

    def copy(self, path: Path) -> None:
        """Copy a file of this machine to the same place in the container."""
        shutil.copy(path, self.place(str(path)))

    def place(self, name: str) -> Path:
        """Make room for a file of the container, past links that lead out of it."""
        path = self.root / name.lstrip("/")
        if not path.parent.resolve().is_relative_to(self.root.resolve()):
            raise PreparationError(f"{name}: its folder leads out of the container")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        return path

    def clone(self, repository: Path) -> str:
        """Clone HEAD with its history; return its commit."""
        place = self.root / CLONE
        self.prepare("git clone", ["git", "clone", "--quiet", "--no-local", repository, place])
        return output("git", "-C", str(place), "log", "-1", "--format=%h %s").strip()


def output(*command: str) -> str:
    """Return the output of a command."""
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def indented(value: str) -> str:
    """Write a value of several lines as a pip.conf has it."""
    return value.strip().replace("\n", "\n    ")


def local_folder(place: str) -> Path | None:
    """Return the local folder of a URL or path, if it is one."""
    parts = urlsplit(place)
    if parts.scheme not in ("", "file", "copy"):
        return None
    path = Path(unquote(parts.path)).expanduser()
    return path if path.is_absolute() and path.is_dir() else None


def read_host() -> Host:
    """Read this machine's settings: apt's, pip's, and those of the environment."""
    apt = Path("/etc/apt")
    sources = list(dict.fromkeys(read_sources(apt)))
    host = Host(sources if SUITE in {each.suite for each in sources} else [])
    for line in output("apt-config", "dump", "--no-empty").splitlines():
        match = APT_SETTING.fullmatch(line)
        if match and "Detect" not in match[1]:  # detection runs a program of this machine
            host.apt.append((match[1], match[2]))
    for name in (*PROXIES, *map(str.upper, PROXIES), *BUNDLES):
        if os.environ.get(name):
            host.environment[name] = os.environ[name]
    read_pip(host)
    named = [
        *(host.environment.get(name, "") for name in BUNDLES),
        *(value for _, value in host.apt),
    ]
    host.files.update(Path(name) for name in named if name.startswith("/") and Path(name).is_file())
    host.files.update(apt.glob("trusted.gpg.d/*"), apt.glob("trusted.gpg"))
    for source in host.sources:
        host.files.update([source.keyring] if source.keyring else [])
        folder = local_folder(source.uri)
        host.folders.update([folder] if folder else [])
    return host


def read_sources(folder: Path) -> Iterator[Source]:
    """Read apt's sources for SUITES, only the component main, in both formats."""
    for path in [folder / "sources.list", *sorted(folder.glob("sources.list.d/*"))]:
        if path.suffix == ".list" and path.is_file():
            yield from listed_sources(path.read_text())
        elif path.suffix == ".sources":
            for stanza in re.split(r"\n\s*\n", path.read_text()):
                yield from stanza_sources(stanza)


def listed_sources(text: str) -> Iterator[Source]:
    """Read lines of the form: deb [options] uri suite components."""
    for line in text.splitlines():
        match = re.match(r"\s*deb\s+(?:\[([^]]*)\]\s+)?(\S+)\s+(\S+)\s([^#]*)", line)
        if match:
            options = dict(re.findall(r"(\S+?)=(\S+)", (match[1] or "")))
            yield from chosen_sources([match[2]], [match[3]], match[4].split(), options)


def stanza_sources(stanza: str) -> Iterator[Source]:
    """Read one stanza of a .sources file."""
    text = "\n".join(line for line in stanza.splitlines() if not line.startswith("#"))
    pairs = re.findall(r"^(\S+?):((?:.*)(?:\n[ \t].*)*)", text, re.MULTILINE)
    fields = {name.lower(): " ".join(value.split()) for name, value in pairs}
    if "deb" in fields.get("types", "").split() and fields.get("enabled") not in ("no", "false"):
        suites, components = fields.get("suites", "").split(), fields.get("components", "").split()
        yield from chosen_sources(fields.get("uris", "").split(), suites, components, fields)


def chosen_sources(
    uris: Sequence[str],
    suites: Sequence[str],
    components: Sequence[str],
    options: dict[str, str],
) -> Iterator[Source]:
    """Keep the sources of a minimal Debian 12, with their options for trust."""
    # Values of several words are keys themselves, not their file.
    given = {name: value for name, value in options.items() if len(value.split()) == 1}
    kept = tuple((name, given[name]) for name in SOURCE_OPTIONS if name in given)
    if "main" in components:
        for suite in suites:
            if suite in SUITES:
                yield from (Source(uri, suite, kept) for each in uris for uri in mirrors(each))


def mirrors(uri: str) -> list[str]:
    """Return the addresses of a URI; a list of mirrors is a local file."""
    if uri.startswith("mirror+file:"):
        lines = Path(urlsplit(uri).path).read_text().splitlines()
        return [line.split()[0] for line in lines if line.strip() and line[0] != "#"]
    return [] if uri.startswith("cdrom:") else [uri]


def followed_sources(text: str) -> list[Source]:
    """Add updates and security, as Debian's mirrors have them, to the source debootstrap wrote."""
    base = next(listed_sources(text))
    updates, security = SUITES[1:]
    return [base, Source(base.uri, updates), Source(f"{base.uri.rstrip('/')}-security", security)]


def read_pip(host: Host) -> None:
    """Read pip's configuration from its files and variables."""
    options: list[tuple[str, str]] = []
    for option in PIP_OPTIONS:
        name = f"PIP_{option.upper().replace('-', '_')}"
        if os.environ.get(name):
            host.environment[name] = os.environ[name]
            options.append((option, os.environ[name]))
    command = [sys.executable, "-m", "pip", "config", "list"]
    listing = subprocess.run(command, capture_output=True, text=True, check=False)
    for line in listing.stdout.splitlines():  # a Python without pip has none
        name, _, text = line.partition("=")
        section, _, option = name.rpartition(".")
        if section in ("global", "install") and option in PIP_OPTIONS:
            value = str(ast.literal_eval(text))
            host.pip.setdefault(section, {})[option] = value
            options.append((option, value))
    for option, value in options:
        if option in PIP_FILES and Path(value).is_file():
            host.files.add(Path(value))
        if option in PIP_PLACES:
            folders = [folder for place in value.split() if (folder := local_folder(place))]
            for folder in folders:
                # An index refers to files beside it.
                beside = option in PIP_INDEXES and folder.name == "simple"
                host.folders.add(folder.parent if beside else folder)


def end(number: int, frame: FrameType | None) -> None:
    """End as after Ctrl-C, so that commands are killed and the container is removed."""
    raise SystemExit(128 + number)


def main() -> int:
    """Make the container, run the commands, and print their results."""
    parser = options_of(__doc__)
    parser.add_argument("--folder", type=Path, help="where the container and the logs are to be")
    parser.add_argument("--keep", action="store_true", help="leave the container in the folder")
    parser.add_argument("--base", type=Path, help="has the minimal system, or gets it")
    parser.add_argument("--only", nargs="+", metavar="COMMAND", help="what to run instead")
    parser.add_argument("--suite", default=SUITE, help="the release of Debian")
    parser.add_argument("--repository", type=Path, default=ROOT, help="what to clone")
    arguments = parser.parse_args()
    if os.geteuid() != 0:
        parser.error("only root may chroot")
    if not shutil.which("apt-get"):
        parser.error("this machine has no apt, whose settings the container would take over")
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, end)
    scratch = os.environ.get("TMPDIR", "/var/tmp")  # /tmp may be memory; this takes gigabytes
    made = arguments.folder or tempfile.mkdtemp(prefix="clean-container-", dir=scratch)
    folder = Path(made).resolve()
    container: Container | None = None
    try:
        container = Container(folder, read_host(), arguments.suite)
        container.make_base(arguments.base.resolve() if arguments.base else None)
        container.take_over()
        print(f"HEAD is {container.clone(arguments.repository.resolve())}", flush=True)
        commands = [container.run(command) for command in arguments.only or COMMANDS]
    except PreparationError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    finally:
        if container and not arguments.keep:
            container.remove()
        if container:
            print(f"in {folder}: {'container, ' if arguments.keep else ''}logs", flush=True)
    for step in commands:
        print(f"\n{step.name}: exit {step.code}, {step.log}\n{step.tail}", end="")
    print("\n" + "\n".join(step.line for step in container.steps))
    tally = Tally()
    for step in commands:
        tally.check(step.code == 0, f"{step.name}: exit {step.code}, see {step.log}")
    return tally.close()


if __name__ == "__main__":
    sys.exit(main())
