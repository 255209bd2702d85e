"""Wrong command lines, and the words that their one-line errors must have.

They were written before the messages. A row is the command line after `sizeguard`, the words that
its error must have (the error and its place; the text to type instead), and its exit code if it is
not 2. `{root}` is the folder of the project of tests/cli/test_wrong_invocations.py.
"""

from __future__ import annotations

from typing import NamedTuple


class Wrong(NamedTuple):
    """A wrong command line.

    line: the words after `sizeguard`
    wrong: words for the error and its place
    right: words for the suggestion
    """

    line: str
    wrong: str
    right: tuple[str, ...]
    code: int = 2


WAIVER = "--reason r --owner o"

COMMANDS = (
    Wrong("reprot app", "'reprot'", ("'report'",)),
    Wrong("verfy build/mlp", "'verfy'", ("'verify'",)),
    Wrong("Report app", "'Report'", ("'report'",)),
    Wrong("bisectstep --limit 5", "'bisectstep'", ("'bisect-step'",)),
    Wrong("select opps model.pt2", "'opps'", ("'ops'",)),
    Wrong("baseline updat", "'updat'", ("'update'",)),
    Wrong("frobnicate app", "'frobnicate'", ("sizeguard --help",)),
    Wrong("select frobnicate", "'frobnicate'", ("sizeguard select --help",)),
)

OPTIONS = (
    Wrong("--verison", "'--verison'", ("'--version'",)),
    Wrong("report app --byy symbol", "'--byy'", ("'--by'",)),
    Wrong("report app --ouput x", "'--ouput'", ("'--output'",)),
    Wrong("report app --colour red", "'--colour'", ("sizeguard report --help",)),
    Wrong("report app -z", "'-z'", ("sizeguard report --help",)),
    Wrong("diff app app --failif load", "'--failif'", ("'--fail-if'",)),
    Wrong("verify build/mlp --absnet x", "'--absnet'", ("'--absent'",)),
    Wrong("why build/mlp main --rots 2", "'--rots'", ("'--roots'",)),
    Wrong("gate --ap vision", "'--ap'", ("'--app'",)),
    Wrong("bisect HEAD HEAD --metrics load", "'--metrics'", ("'--metric'",)),
    Wrong(f"waive load --byte 3 {WAIVER}", "'--byte'", ("'--bytes'",)),
    Wrong("baseline update --ap vision", "'--ap'", ("'--app'",)),
    Wrong("report app --by", "'--by'", ("operator,dtype",)),
)

VALUES = (
    Wrong("report app --format jsn", "'jsn'", ("'json'", "--format")),
    Wrong("report app --format xyz", "'xyz'", ("terminal", "markdown", "--format")),
    Wrong("report app --sort lod", "'lod'", ("'load'", "--sort")),
    Wrong("diff app app --metric fiel", "'fiel'", ("'file'", "--metric")),
    Wrong("verify build/mlp --unknown okay", "'okay'", ("'ok'", "--unknown")),
    Wrong("init --ci githb", "'githb'", ("'github'", "--ci")),
    Wrong("gate --also jsonn=x.json", "'jsonn'", ("'json'", "--also")),
    Wrong("gate --also json", "'json'", ("json=FILE", "--also")),
    Wrong("completion bsh", "'bsh'", ("'bash'",)),
    Wrong("build ful", "'ful'", ("'full'",)),
    Wrong("build full --compiler gc", "'gc'", ("'gcc'", "--compiler")),
    Wrong("build full --linker lldd", "'lldd'", ("'lld'", "--linker")),
    Wrong("build full --target x86_64-linx", "'x86_64-linx'", ("'x86_64-linux'", "--target")),
    Wrong("build full -O 3", "'3'", ("-Os", "-O2")),
    Wrong("build full --link statc", "'statc'", ("'static'", "--link")),
    Wrong("build full --lto thinn", "'thinn'", ("'thin'", "--lto")),
    Wrong("report app --preset executorhc", "'executorhc'", ("'executorch'", "--preset")),
    Wrong("report app -n many", "'many'", ("integer", "-n")),
    Wrong("report app -n -1", "-1", ("0", "-n")),
    Wrong("report app --width wide", "'wide'", ("integer", "--width")),
    Wrong("bisect HEAD HEAD --jobs 0", "0", ("--jobs",)),
    Wrong("gate --timeout soon", "'soon'", ("number", "--timeout")),
    Wrong(f"waive load --bytes many {WAIVER} --expires 2099-01-01", "'many'", ("--bytes", "2048")),
    Wrong(f"waive load --bytes 5 {WAIVER} --expires soon", "'soon'", ("YYYY-MM-DD", "--expires")),
    Wrong(f"waive load --bytes 5 {WAIVER} --expires 2020-01-01", "2020-01-01", ("past",)),
)

LEVELS_AND_FILTERS = (
    Wrong("report app --by operater", "'operater'", ("'operator'", "--by")),
    Wrong("report app --by symbl,section", "'symbl'", ("'symbol'", "--by")),
    Wrong("report app --by symbol,symbol", "'symbol'", ("twice", "--by")),
    Wrong("report app --by ,", "--by", ("operator",)),
    Wrong("report app --by color", "'color'", ("operator", "section", "--by")),
    Wrong("report app --filter symbl=x", "'symbl'", ("'symbol'", "--filter")),
    Wrong("report app --filter symbol", "'symbol'", ("symbol=TEXT", "--filter")),
    Wrong("report app --filter symbol=/(/", "/(/", ("--filter",)),
    Wrong("report app --by symbol --filter symbol=zzzq", "symbol=zzzq", ("--by symbol",)),
    Wrong("report app --by section --filter section=.txt", "section=.txt", ("'.text'",)),
    Wrong("report app --filter unatributed", "'unatributed'", ("'unattributed'", "--filter")),
    Wrong("diff app app --by section --filter section=.txt", "section=.txt", ("'.text'",)),
    Wrong("diff app app --by sectoin", "'sectoin'", ("'section'", "--by")),
    Wrong("diff app app --fail-if 'lod > 1%'", "'lod'", ("'load'", "--fail-if")),
    Wrong("diff app app --fail-if load", "'load'", ("load > +1%", "--fail-if")),
    Wrong("diff app app --fail-if 'load > 1QiB'", "1QiB", ("KiB", "--fail-if")),
)

PROJECT = (
    Wrong("gate --app visoin", "'visoin'", ("'vision'", "--app")),
    Wrong("gate --target x86_64-linus", "'x86_64-linus'", ("'x86_64-linux'", "--target")),
    Wrong("gate --base nobranch", "'nobranch'", ("--base", "git fetch"), 3),
    Wrong("gate --base-snapshot vision=gone.snapshot", "gone.snapshot", ("--base-snapshot",)),
    Wrong("gate --from-json notes.txt", "notes.txt", ("sizeguard gate --format json",)),
    Wrong("gate --from-json gone.json", "gone.json", ("no such file",)),
    Wrong("baseline update --app languag", "'languag'", ("'language'", "--app")),
    Wrong("baseline log --app lnguage", "'lnguage'", ("'language'", "--app")),
    Wrong("select update --app visiom", "'visiom'", ("'vision'", "--app")),
    Wrong("predict --app visiom", "'visiom'", ("'vision'", "--app")),
    Wrong("build selective --app visio", "'visio'", ("'vision'", "--app")),
    Wrong(
        f"waive load --app visin --bytes 5 {WAIVER} --expires 2099-01-01",
        "'visin'",
        ("'vision'", "--app"),
    ),
    Wrong(f"waive laod --bytes 5 {WAIVER} --expires 2099-01-01", "'laod'", ("'load'",)),
    Wrong(f"waive load {WAIVER} --expires 2099-01-01", "--bytes", ("required", "--bytes 204")),
    Wrong("bisect HEAD HEAD --metric opertor/aten::add", "'opertor", ("'operator", "--metric")),
    Wrong("bisect HEAD nosuch", "'nosuch'", ("git log",)),
    Wrong("bisect HEAD", "BAD", ("sizeguard bisect GOOD BAD", "--resume")),
    Wrong("bisect-step", "--limit", ("--than",), 128),
    Wrong("predict --selection mlp.yaml --app vision", "--selection", ("--app",)),
    Wrong("baseline show", "baselines", ("sizeguard baseline update",)),
)

FILES = (
    Wrong("report ap", "ap", ("no such file", "'app'")),
    Wrong("report gone/away", "gone/away", ("no such file",)),
    Wrong("report notes.txt", "notes.txt", ("ELF", "Mach-O")),
    Wrong("report empty", "empty", ("an empty file",)),
    Wrong("report model.pt2", "model.pt2", ("sizeguard import", "sizeguard select ops")),
    Wrong("report nothing", "nothing", ("no image",)),
    Wrong("report sizeguard.yaml", "sizeguard.yaml", ("ELF",)),
    Wrong("diff gone app", "gone", ("no such file",)),
    Wrong("diff app notes.txt", "notes.txt", ("ELF",)),
    Wrong("report app --map app", "app", ("linker map", "--map")),
    Wrong("report app --map gone.map", "gone.map", ("no such file", "--map")),
    Wrong("report app --rules notes.txt", "notes.txt", ("rules",)),
    Wrong("report app --objects gone.o", "gone.o", ("no such file", "--objects")),
    Wrong("report app --output app/x", "app/x", ("cannot write", "app is a file, not a folder")),
    Wrong("report bundle.zip!libx.so", "libx.so", ("lib.so",)),
    Wrong("why app main", "app", ("sizeguard record", "--objects"), 3),
    Wrong("why app aten::rellu --objects build/mlp", "aten::rellu", ("relu",), 3),
    Wrong("verify app", "app", ("--absent", "--selection")),
    Wrong("verify gone", "gone", ("no such file",)),
    Wrong("verify build/mlp --selection notes.txt", "notes.txt", ("selection",)),
    Wrong("verify build/mlp --selection model.pt2", "model.pt2", ("selection", "select ops")),
    Wrong("doctor app.snapshot", "app.snapshot", ("snapshot", "image")),
    Wrong("doctor notes.txt", "notes.txt", ("ELF",)),
    Wrong("import app -o x.sgp", "app", (".pt2",)),
    Wrong("import program.sgp -o x.sgp", "program.sgp", ("program", "run_program")),
    Wrong("import gone.pt2 -o x.sgp", "gone.pt2", ("no such file",)),
    Wrong("trace app -o x.yaml", "app", (".sgp", ".pt2")),
    Wrong("select ops app", "app", (".pt2",)),
    Wrong("select lint model.pt2", "model.pt2", ("selection", "select ops")),
    Wrong("select merge gone.yaml", "gone.yaml", ("no such file",)),
    Wrong("record --built gone", "gone", ("no such folder", "--built")),
    Wrong("init gone", "gone", ("no such folder",)),
)

ARGUMENTS = (
    Wrong("report", "IMAGE", ("sizeguard report --help",)),
    Wrong("diff app", "NEW", ("sizeguard diff --help",)),
    Wrong("why build/mlp", "SUBJECT", ("sizeguard why --help",)),
    Wrong("verify", "IMAGE", ("sizeguard verify",)),
    Wrong("trace -o x.yaml", "MODEL", ("sizeguard trace --help",)),
    Wrong("import model.pt2", "--output", ("sizeguard import --help",)),
    Wrong("select ops", "model", ("--list",)),
    Wrong("select merge", "SELECTION", ("sizeguard select merge --help",)),
    Wrong("record", "build command", ("sizeguard record -- make",)),
    Wrong("completion", "SHELL", ("bash",)),
    Wrong("report app app", "'app'", ("sizeguard diff", "sizeguard report --help")),
    Wrong("codegen", "--output-dir", ("sizeguard codegen --help",)),
)

# Of other kinds: folders for files, conflicting options, order, units, signs.
OTHERS = (
    Wrong("tirage 'missing operator'", "'tirage'", ("'triage'",)),
    Wrong("app ad keywords model.pt2", "'ad'", ("'add'",)),
    Wrong("explian load", "'explian'", ("'explain'",)),
    Wrong("explain headrom", "'headrom'", ("'headroom'",)),
    Wrong("doctor app --width -5", "-5", ("40", "--width")),
    Wrong("explain --width 5", "5", ("40", "--width")),
    Wrong("report app --map nothing", "nothing", ("is a folder", "--map")),
    Wrong("report app --rules nothing", "nothing", ("is a folder", "--rules")),
    Wrong("report app --debug-file nothing", "nothing", ("--debug-file",)),
    Wrong("report app --debug-file notes.txt", "notes.txt", ("ELF", "--debug-file")),
    Wrong("report app --linker-script app", "app", ("linker script", "--linker-script")),
    Wrong("report app --arch arm65", "arm65", ("--arch",)),
    Wrong("report app --output nothing", "nothing", ("is a folder",)),
    Wrong("report program.sgp", "program.sgp", ("program", "sizeguard select ops")),
    Wrong("report app.snapshot --map app", "app.snapshot", ("snapshot", "--map")),
    Wrong("diff app model.pt2", "model.pt2", ("sizeguard import",)),
    Wrong("diff app app app", "'app'", ("sizeguard diff --help",)),
    Wrong("diff app app -n 1.5", "'1.5'", ("integer", "-n")),
    Wrong("diff app app --fail-if 'load >> 1%'", "'load >> 1%'", ("'load'", "--fail-if")),
    Wrong("verify nothing", "nothing", ("no image",)),
    Wrong("verify app --map notes.txt --absent main", "notes.txt", ("linker map", "--map")),
    Wrong("verify build/mlp --selection nothing", "nothing", ("is a folder", "--selection")),
    Wrong("why app main --objects notes.txt", "notes.txt", ("--objects",)),
    Wrong("why nothing main", "nothing", ("no image",)),
    Wrong("why build/mlp main --roots -1", "-1", ("--roots",)),
    Wrong(
        "predict --app vision --add aten::reluu",
        "no full build",
        ("sizeguard build full", "--full"),
    ),
    Wrong("predict", "no full build", ("sizeguard build full",)),
    Wrong("gate --from-json nothing", "nothing", ("is a folder", "--from-json")),
    Wrong("gate --output nothing", "nothing", ("is a folder",)),
    Wrong("gate --jobs two", "'two'", ("integer", "--jobs")),
    Wrong("gate --app", "'--app'", ("sizeguard gate --app vision",)),
    Wrong("gate vision", "'vision'", ("--app vision",)),
    Wrong("gate --scheduler nonsense://x", "nonsense://x", ("tcp://", "--scheduler")),
    Wrong("history --since nosuch", "'nosuch'", ("git log",)),
    Wrong("bisect HEAD HEAD --resume", "--resume", ("no revisions",)),
    Wrong("bisect HEAD HEAD --app vision --build-command make", "--build-command", ("--app",)),
    Wrong("bisect HEAD HEAD --build-command make", "--build-command", ("--image",)),
    Wrong("bisect HEAD HEAD --threshold -4", "-4", ("--threshold",)),
    Wrong(
        "waive load --app vision --bytes 0 --reason r --owner o --expires 2099-01-01",
        "0",
        ("--bytes",),
    ),
    Wrong("waive load --bytes 5 --expires 2099-01-01 --owner o", "--reason", ("required",)),
    Wrong(
        "waive load --bytes 5 --reason r --owner o --expires 2099-02-30",
        "2099-02-30",
        ("--expires",),
    ),
    Wrong("clean --max-size lots", "'lots'", ("--max-size", "40 KiB")),
    Wrong("clean --max-age 3", "'3'", ("--max-age", "90 days")),
    Wrong("waivers --within soon", "'soon'", ("integer", "--within")),
    Wrong("select lint nothing", "nothing", ("is a folder",)),
    Wrong("select ops nothing", "nothing", ("is a folder",)),
    Wrong("select ops --list model.pt2", "--list", ("model",)),
    Wrong("select ops --list -o all.yaml", "--list", ("select ops --list > FILE",)),
    Wrong("select ops model.pt2 --format html", "'html'", ("markdown", "--format")),
    Wrong("select adequacy model.pt2 --trace gone.yaml", "gone.yaml", ("no such file", "--trace")),
    Wrong("select static model.pt2 --build gone", "gone", ("--build",)),
    Wrong("trace gone.sgp -o x.yaml", "gone.sgp", ("no such file",)),
    Wrong("import nothing -o x.sgp", "nothing", ("is a folder",)),
    Wrong("import model.pt2 -o nothing", "nothing", ("is a folder",)),
    Wrong("app add vision model.pt2", "app vision", ("sizeguard select update",)),
    Wrong("app add a/b model.pt2", "'a/b'", ("name",)),
    Wrong("app add other gone.pt2", "gone.pt2", ("no such file",)),
    Wrong("record --bulit x", "'--bulit'", ("'--built'",)),
    Wrong("build selective", "--app", ("--selection",)),
    Wrong("build full --app vision", "--app", ("selective",)),
    Wrong("build full --jobs -2", "-2", ("-j",)),
    Wrong("init notes.txt", "notes.txt", ("folder",)),
    Wrong("triage", "ERROR", ("sizeguard triage --help",)),
    Wrong("baseline show --format sarif", "'sarif'", ("json", "--format")),
    Wrong("why app.snapshot main", "a snapshot, not an image", ("sizeguard report",)),
    Wrong("verify app.snapshot --absent main", "a snapshot, not an image", ("sizeguard report",)),
    Wrong("predict --full app --app vision", "not a build", ("build.json", "--full")),
    Wrong("diff app app --filter dtype=flaot", "dtype=flaot", ("'Float'", "--filter")),
    Wrong("baseline update vision", "'vision'", ("--app vision",)),
    Wrong("trace model.pt2 -o nothing", "nothing", ("is a folder", "-o")),
    Wrong("report app --also json=x", "'--also'", ("sizeguard report --help",)),
    Wrong("gate --in-place=yes", "'--in-place'", ("no value", "--in-place alone")),
    Wrong("report http://a.example/app.so", "http://a.example/app.so:", ("download",)),
    Wrong("why app", "SUBJECT", ("sizeguard why",)),
    Wrong("history v1..v2", "'v1..v2'", ("--since REF",)),
    Wrong("verify app --absent", "'--absent'", ("--absent 'kernels::erf'",)),
    Wrong("report app --map notes.txt", "notes.txt", ("linker map", "--map")),
    Wrong("report app --width 20", "20", ("40 to 10000", "--width")),
    Wrong("app ad x model.pt2", "'ad'", ("'add'",)),
)

ALL = (*OTHERS, *COMMANDS, *OPTIONS, *VALUES, *LEVELS_AND_FILTERS, *PROJECT, *FILES, *ARGUMENTS)
