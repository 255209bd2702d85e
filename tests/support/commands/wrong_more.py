"""Wrong command lines of first users: words of other tools, odd files, wrong configurations.

Like those of wrong_invocations, they were written before they were run. A row of CONFIGS is the
text of a wrong sizeguard.yaml, for `sizeguard gate`; one of WAIVERS is that of a wrong
baselines/waivers.yaml, for `sizeguard waivers`.
"""

from __future__ import annotations

from tests.support.commands.wrong_invocations import WAIVER, Wrong

WORDS = (
    Wrong("dif app app", "'dif'", ("'diff'",)),
    Wrong("historie", "'historie'", ("'history'",)),
    Wrong("analyze app", "'analyze'", ("sizeguard --help",)),
    Wrong("baselines show", "'baselines'", ("'baseline'",)),
    Wrong("baseline list", "'list'", ("sizeguard baseline --help",)),
    Wrong("select lnt mlp.yaml", "'lnt'", ("'lint'",)),
    Wrong("waiver", "'waiver'", ("'waivers'",)),
    Wrong("help report", "'help'", ("sizeguard report --help",)),
    Wrong("help", "'help'", ("sizeguard --help",)),
    Wrong("version", "'version'", ("'--version'",)),
    Wrong("app remove vision", "'remove'", ("sizeguard app --help",)),
    Wrong("bisect start HEAD HEAD", "'HEAD'", ("sizeguard bisect --help",)),
    Wrong("build selective --app vision extra", "'extra'", ("sizeguard build --help",)),
    Wrong("build vision", "'vision'", ("selective --app vision",)),
    Wrong("report app -d symbols", "'-d'", ("'--by'",)),
    Wrong("report app --csv", "'--csv'", ("'--format csv'",)),
    Wrong("diff app app --json", "'--json'", ("'--format json'",)),
    Wrong("report app -s vm", "'-s'", ("'--sort'",)),
    Wrong("report app --max-rows 5", "'--max-rows'", ("'-n'",)),
    Wrong("report app -by symbol", "'-b'", ("'--by'",)),
    Wrong("report app --by=symbol --format=josn", "'josn'", ("'json'",)),
    Wrong("report app --format terminal,json", "'terminal,json'", ("one of them", "--format")),
    Wrong("report app --sort -load", "'-load'", ("'load'", "--sort")),
    Wrong("report app -n", "'-n'", ("sizeguard report",)),
    Wrong("import model.pt2 -o", "'-o'", (".sgp",)),
    Wrong("import model.pt2 x.sgp", "'-o / --output'", ("-o vision.sgp",)),
    Wrong("gate --no-color", "'--no-color'", ("NO_COLOR=1",)),
    Wrong("verify build/mlp --abs main", "'--abs'", ("'--absent'",)),
    Wrong("waivers --format sarif", "'sarif'", ("json", "--format")),
    Wrong("completion powershell", "'powershell'", ("bash", "zsh", "fish")),
    Wrong("explain Laod", "'Laod'", ("'load'",)),
)

LEVELS = (
    Wrong("report app --by symbol/section", "'symbol/section'", ("symbol,section", "--by")),
    Wrong("report app --by 'symbol section'", "'symbol section'", ("symbol,section", "--by")),
    Wrong("report app --by ''", "--by", ("operator",)),
    Wrong("report app --filter =x", "--filter =x", ("symbol=main",)),
    Wrong("report app --filter symbol=", "--filter symbol=", ("every name",)),
    Wrong("report app --filter symbol~main", "--filter symbol~main", ("symbol=main",)),
    Wrong("diff app app --fail-if 'load > '", "'load > '", ("METRIC > +1%",)),
    Wrong("diff app app --fail-if 'load > 5%'", "'load > 5%'", ("+5%",)),
    Wrong("diff app app --fail-if 'load > +max(1%'", "'max(1%'", ("max(1%, 512B)",)),
    Wrong("diff app app --fail-if 'load = 5'", "'load = 5'", ("METRIC > 40KiB",)),
    Wrong("diff app app --fail-if 'load < 5'", "'load < 5'", ("METRIC > 40KiB",)),
    Wrong("diff app app --fail-if 'load > -5'", "'load > -5'", ("METRIC > 40KiB",)),
    Wrong("diff app app --fail-if 'dtype/Float > 1'", "'1'", ("1 B", "--fail-if")),
    Wrong("history --by operater", "'operater'", ("'operator'", "--by")),
    Wrong("history --by operator,dtype", "'operator,dtype'", ("one level", "--by")),
    Wrong("history --format png", "'png'", ("svg", "--format")),
)

FILES = (
    Wrong("report -", "-", ("standard input", "file")),
    Wrong("report dangling", "dangling", ("symbolic link to 'gone'",)),
    Wrong("report loop", "loop", ("symbolic links",)),
    Wrong("report fifo", "fifo", ("not a regular file",)),
    Wrong("report /dev/null", "/dev/null", ("not a regular file",)),
    Wrong("report half", "half", ("file of 100 bytes",)),
    Wrong("report bundle.zip!", "bundle.zip!", ("lib.so",)),
    Wrong("report app!main", "app", ("neither a package nor an archive",)),
    Wrong("diff nothing app", "nothing", ("no image",)),
    Wrong("why main build/mlp", "main", ("sizeguard why build/mlp main",)),
    Wrong("verify build/mlp --absent ''", "--absent", ("SYMBOL",)),
    Wrong("verify build/mlp --selection empty", "empty", ("operators: {}", "--selection")),
    Wrong("verify build/mlp --selection list.yaml", "list.yaml:1", ("table, not a list",)),
    Wrong("verify build/mlp --gc-log notes.txt", "notes.txt", ("--print-gc-sections",)),
    Wrong("verify build/mlp --gc-log gone.log", "gone.log", ("--gc-log", "No such file")),
    Wrong("verify build/mlp --full app", "app", ("build.json", "--full")),
    Wrong("verify build/mlp --base notes.txt", "notes.txt", ("ELF", "--base")),
    Wrong("verify build/mlp --shipped notes.txt", "notes.txt", ("ELF", "--shipped")),
    Wrong("verify build/mlp app", "'app'", ("sizeguard verify --help",)),
    Wrong("doctor nothing", "nothing", ("name an image",)),
    Wrong("predict --full build/mlp", "build/mlp", ("sizeguard build full",)),
    Wrong("init nothing", "nothing", ("build the project",), 3),
    Wrong("record -- nosuchcommand", "nosuchcommand", ("cannot be started",)),
    Wrong("record --built nothing", "nothing", ("build.ninja",)),
    Wrong("record --built build -- make", "--built", ("sizeguard record -- make",)),
    Wrong("build full --output-dir app", "app", ("is a file, not a folder",)),
    Wrong("codegen --output-dir out --operators-yaml gone.yaml", "no selection", ("--selection",)),
)

MODELS = (
    Wrong("import model.pt2 -o x.sgp --case gone.npy", "gone.npy", ("No such file",)),
    Wrong("import model.pt2 -o x.sgp --case notes.txt", "notes.txt", (".npy",)),
    Wrong("import notes.txt -o x.sgp", "notes.txt", (".pt2",)),
    Wrong("import mlp.yaml -o x.sgp", "mlp.yaml", (".pt2",)),
    Wrong("trace model.pt2 -o x.yaml --build-feature verbos", "'verbos'", ("'verbose_errors'",)),
    Wrong("trace notes.txt -o x.yaml", "notes.txt", (".pt2",)),
    Wrong("trace mlp.yaml -o x.yaml", "mlp.yaml", (".pt2", "selection")),
    Wrong("select merge model.pt2", "model.pt2", ("binary", "select ops")),
    Wrong("select merge notes.txt", "notes.txt:1", ("selection",)),
    Wrong("select lint mlp.yaml --operators-yaml notes.txt", "notes.txt:1", ("operators",)),
    Wrong("select ops mlp.yaml", "mlp.yaml", (".pt2", "select lint")),
    Wrong("select static model.pt2 --build app", "app", ("build.json", "--build")),
    Wrong("triage ''", "the line", ("sizeguard triage '",)),
    Wrong("triage 'everything broke'", "the line", ("sizeguard triage '",)),
    Wrong("app add new mlp.yaml", "mlp.yaml", (".pt2", "selection")),
    Wrong("app add new", "MODEL", ("sizeguard app add",)),
    Wrong("app add model.pt2 new", "new", ("sizeguard app add new model.pt2",)),
)

PROJECT = (
    Wrong(
        f"waive load --target arm64-macos --bytes 5 {WAIVER} --expires 2099-01-01",
        "'arm64-macos'",
        ("x86_64-linux", "--target"),
    ),
    Wrong(f"waive growth --bytes 5 {WAIVER} --expires 2099-01-01", "'growth'", ("load, ram",)),
    Wrong(f"waive load --bytes 10% {WAIVER} --expires 2099-01-01", "'10%'", ("--bytes",)),
    Wrong(f"waive load --bytes 5 {WAIVER} --expires 31.12.2099", "31.12.2099", ("YYYY-MM-DD",)),
    Wrong(f"waive --bytes 5 {WAIVER} --expires 2099-01-01", "METRIC", ("sizeguard waive load",)),
    Wrong("history --app visoin", "'visoin'", ("'vision'", "--app")),
    Wrong("gate --from-json empty", "empty", ("sizeguard gate --format json", "--from-json")),
    Wrong("gate --from-json app.snapshot", "app.snapshot", ("sizeguard gate --format json",)),
    Wrong("gate --also json=nothing", "nothing", ("is a folder",)),
    Wrong("gate --also =x", "'=x'", ("json=x", "--also")),
    Wrong("gate --format sariff", "'sariff'", ("'sarif'",)),
    Wrong("gate --base-snapshot nosuch=app.snapshot", "'nosuch'", ("vision", "--base-snapshot")),
    Wrong("gate --base-snapshot app.snapshot", "several images", ("APP/TARGET=FILE",)),
    Wrong("gate --app vision,language", "'vision,language'", ("--app vision --app language",)),
    Wrong("gate --jobs 100", "100", ("99", "--jobs")),
    Wrong("bisect HEAD..HEAD", "'HEAD..HEAD'", ("sizeguard bisect HEAD HEAD",)),
    Wrong("bisect HEAD~2..", "'HEAD~2..'", ("sizeguard bisect HEAD~2 HEAD",)),
    Wrong("bisect HEAD HEAD HEAD", "'HEAD'", ("sizeguard bisect --help",)),
    Wrong("bisect HEAD HEAD --app visoin", "'visoin'", ("'vision'", "--app")),
    Wrong(
        "bisect HEAD HEAD --build-command make --image /tmp/app",
        "/tmp/app",
        ("root of the worktree", "--image"),
    ),
    Wrong("bisect HEAD HEAD --image app", "--image", ("--build-command",)),
    Wrong("bisect HEAD HEAD --target x86-64-linux", "'x86-64-linux'", ("'x86_64-linux'",)),
    Wrong("bisect HEAD HEAD --linker ld", "'ld'", ("'lld'", "--linker")),
    Wrong("bisect-step --limit 5 --than HEAD", "--limit", ("--than",), 128),
    Wrong("bisect-step --limit lots", "'lots'", ("--limit",), 128),
    Wrong("baseline update --target arm-linux", "'arm-linux'", ("x86_64-linux", "--target")),
    Wrong("baseline show vision", "'vision'", ("sizeguard baseline show --help",)),
    Wrong("clean --max-size 5XB", "'5XB'", ("40 KiB", "--max-size")),
    Wrong("clean --max-age -3d", "'-3d'", ("90 days", "--max-age")),
    Wrong("build full --compiler gcc --target arm64-macos", "gcc", ("clang",)),
)

MORE = (*WORDS, *LEVELS, *FILES, *MODELS, *PROJECT)

_APP = "apps:\n  parse:\n    image: app\n"
_BUILT = "apps:\n  parse:\n    build: make\n    image: app\n"
_VISION = "apps:\n  vision:\n    selection: mlp.yaml\n    models: [model.pt2]\n"

# The text of sizeguard.yaml instead of a command line.
CONFIGS = (
    Wrong("aps:\n  vision:\n", "sizeguard.yaml:1:1", ("'aps'", "'apps'")),
    Wrong("apps:\n  - vision\n", "sizeguard.yaml:2:3", ("apps", "table")),
    Wrong("apps:\n  vision:\n    selecton: x\n", "yaml:3:5", ("'selecton'", "'selection'")),
    Wrong(f"{_APP}limits:\n  laod: 5\n", "yaml:5:3", ("'laod'", "'load'")),
    Wrong(f"{_APP}limits:\n  wibble: 5\n", "yaml:5:3", ("'wibble'", "load, ram")),
    Wrong(f"{_APP}limits:\n  load: 5 XB\n", "yaml:5:9", ("'5 XB'", "KiB")),
    Wrong(f"{_APP}limits:\n  load: {{groth: 1%}}\n", "yaml:5:10", ("'groth'", "'growth'")),
    Wrong(f"{_APP}limits:\n  load: {{wibble: 1%}}\n", "yaml:5:10", ("'wibble'", "max", "growth")),
    Wrong(f"{_APP}limits:\n  load: {{growth: max(1%; 2B)}}\n", "yaml:5:18", ("max(1%, 512B)",)),
    Wrong(f"{_APP}limits:\n  load: {{growth: 1 percent}}\n", "yaml:5:18", ("1 percent", "1%")),
    Wrong(f"targets:\n  x86-64-linux:\n{_VISION}", "yaml:2:3", ("'x86_64-linux'",)),
    Wrong(f"targets:\n  x86_64-linux: {{compilr: gcc}}\n{_VISION}", "yaml:2:18", ("'compiler'",)),
    Wrong(f"targets:\n  x86_64-linux: {{compiler: xyz}}\n{_VISION}", "yaml:2:28", ("gcc, clang",)),
    Wrong("apps:\n\tvision:\n", "sizeguard.yaml:2", ("tab", "spaces")),
    Wrong(f"{_APP}apps:\n  b: {{image: app}}\n", "yaml:4:1", ("'apps'", "twice")),
    Wrong("", "sizeguard.yaml", ("empty",)),
    Wrong("apps:\n  vision:\n    selection: mlp.yaml\n", "yaml:3:5", ("models",)),
    Wrong("apps:\n  parse:\n    build: make\n", "yaml:3:5", ("image", "measure")),
    Wrong(f"{_APP}    images: {{b: app}}\n", "yaml:3:12", ("image", "images")),
    Wrong(f"{_BUILT}    timeout: soon\n", "yaml:5:14", ("'soon'",)),
    Wrong(f"{_BUILT}    run: [a]\n", "yaml:5:10", ("text, not a list",)),
    Wrong(f"{_APP}    limits: {{load: -5}}\n", "yaml:4:20", ("'-5'", "KiB")),
    Wrong(f"rules:\n  - {{sorce: x, component: y}}\n{_APP}", "yaml:2", ("'sorce'", "'source'")),
    Wrong("apps: {}\n", "sizeguard.yaml:1:7", ("no apps",)),
    Wrong("apps:\n  a/b:\n    image: app\n", "yaml:2:3", ("'a/b'", "letters")),
    Wrong(f"apps:\n  {'x' * 65}:\n    image: app\n", "yaml:2:3", ("at most 64",)),
    Wrong("just a text\n", "sizeguard.yaml:1:1", ("table",)),
)
WAIVERS = (
    Wrong(
        "- {metric: load, byts: 5, owner: o, reason: r, expires: 2099-01-01}\n",
        "waivers.yaml:1",
        ("'byts'", "'bytes'"),
    ),
    Wrong(
        "- {metric: load, bytes: 5, owner: o, reason: r, expires: soon}\n",
        "waivers.yaml:1",
        ("'soon'", "YYYY-MM-DD"),
    ),
    Wrong("- load\n", "waivers.yaml:1", ("table with metric",)),
    Wrong("waivers:\n", "waivers.yaml:1", ("list of waivers",)),
)
