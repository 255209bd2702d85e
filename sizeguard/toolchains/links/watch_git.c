/* Mark that a build may have taken files out of git's objects, or read files of the checkout that
   are not in its worktree. Preloaded into its processes.

   A harmless program asks git for names, states or ids of commits: git with one of the commands
   below, and cargo and cmake. An id of a file tells of its content as a size does. Such a program
   opens the worktree's `.git` without setting the access time, and leaves the mark `asked`. So the
   access time tells of any other reader, of static ones and of those that this library did not
   reach, too. A program that is not harmless and opens objects leaves the mark `taken`, by whatever
   path it came to them. The paths of files that any program opens in the checkout outside of its
   folders .git and .sizeguard, where the worktrees are, stand in `outside`, each ended by NUL.
   Other programs than the harmless ones cannot read without setting access times: O_NOATIME is
   removed. The library prints nothing, and its failures do not end a program.
*/
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MARKS "SIZEGUARD_GIT_MARKS"     /* folder of the marks */
#define OBJECTS "SIZEGUARD_GIT_OBJECTS" /* folders of objects, real paths, one a line */
#define ROOT "SIZEGUARD_GIT_CHECKOUT"   /* the checkout, with its real path */
#define HEAD "SIZEGUARD_GIT_HEAD"       /* the checkout's HEAD, with its real path */
#define TREE "SIZEGUARD_GIT_TREE"       /* the worktree, with its real path */

static char marks[PATH_MAX];
static char objects[4 * PATH_MAX];
static char root[PATH_MAX];
static char head[PATH_MAX];
static char tree[PATH_MAX];
static int is_harmless, is_cargo;

/* ------------------------------------------------------------------ commands of git */

static int starts(const char* text, const char* with) {
  return !strncmp(text, with, strlen(with));
}

static int is_one(const char* word, const char* const* list) {
  for (; *list; ++list) {
    size_t length = strlen(*list);
    if ((*list)[length - 1] == '=' ? !strncmp(word, *list, length) : !strcmp(word, *list)) return 1;
  }
  return 0;
}

/* Commands that print names, ids of commits and states, whatever their options. */
static const char* const told_always[] = {
    "symbolic-ref", "version",   "var",        "remote",
    "name-rev",   "show-ref",    "merge-base", "ls-remote",  "check-ignore", "check-attr",
    "help",       "submodule",
    "submodule--helper", "fetch", "index-pack",  "unpack-objects", "maintenance", "init",
    "clean",      "update-server-info", "check-ref-format", "sh-i18n--envsubst", NULL};

/* Options that add no text of files to a list of commits or of changed files. */
static const char* const plain_options[] = {
    "-s", "--no-patch", "-q", "--quiet", "--exit-code", "--name-only", "--name-status", "-z", "-r",
    "-M", "-C", "--cached", "--staged",
    "--no-ext-diff", "--no-textconv", "--no-color", "--no-renames", "--ignore-submodules",
    "--ignore-submodules=", "--diff-filter=", "--submodule=short", "--submodule=log", "--relative",
    "--text", "-n", "--max-count=", "--skip=", "--abbrev", "--abbrev=", "--abbrev-commit",
    "--no-abbrev-commit", "--date=", "--no-decorate", "--decorate", "--decorate=",
    "--decorate-refs=", "--reverse", "--first-parent", "--all", "--branches", "--tags", "--tags=",
    "--remotes", "--since=", "--after=", "--until=", "--before=", "--author=", "--committer=",
    "--grep=", "--follow", "--merges", "--no-merges", "--topo-order", "--date-order", "--count",
    "--left-right", "--no-walk", "--simplify-by-decoration", "--no-show-signature", "--", NULL};

static const char* const options_of_update[] = {
    "-q", "--refresh", "--really-refresh", "--unmerged", "--ignore-missing", "--ignore-submodules",
    "--assume-unchanged", "--no-assume-unchanged", "--skip-worktree", "--no-skip-worktree", "--",
    NULL};

static const char* const options_of_apply[] = {
    "-p0", "-p1", "-p2", "-R", "--reverse", "-v", "--verbose", "-q", "--quiet", "--check", "--stat",
    "--whitespace=", "--directory=", "--ignore-whitespace", "--exclude=", "--include=", NULL};

/* Whether a format has only fields whose length does not depend on what people wrote at length:
   ids, dates, names and refs, but no subjects, bodies and notes. */
static int is_short_format(const char* format) {
  if (starts(format, "format:")) format += 7;
  if (starts(format, "tformat:")) format += 8;
  if (!strchr(format, '%')) return 0;
  for (; (format = strchr(format, '%')); ++format) {
    ++format;
    if (*format == 'x') continue;
    if (!*format || !strchr("HhTtPpacdDSn%C", *format)) return 0;
  }
  return 1;
}

/* Whether the words of log, rev-list, diff and the like let no text of files out. Of a format and
   an option such as --name-only, the first is needed for commits, the second for differences. */
static int is_list(int count, char** word, int lists_commits) {
  int has_format = 0, hides_texts = 0;
  for (int i = 0; i < count; ++i) {
    const char* text = word[i];
    int in_two = !strcmp(text, "--format") || !strcmp(text, "--pretty");
    if (in_two || starts(text, "--format=") || starts(text, "--pretty=")) {
      const char* format = in_two ? (i + 1 < count ? word[++i] : "") : text + 9;
      if (!is_short_format(format)) return 0;
      has_format = 1;
    } else if (text[0] == '-' && text[1] && !(strspn(text + 1, "0123456789") == strlen(text + 1))) {
      if (!is_one(text, plain_options) && !starts(text, "-n")) return 0;
      hides_texts |= is_one(text, (const char* const[]){"-s", "--no-patch", "-q", "--quiet",
                                                        "--name-only", "--name-status", NULL});
    }
  }
  return lists_commits ? has_format : hides_texts;
}

static int has_word(int count, char** word, const char* const* list) {
  for (int i = 0; i < count; ++i)
    if (is_one(word[i], list)) return 1;
  return 0;
}

/* Whether `git show` names HEAD or a commit before it: any other name or id may be a file's. */
static int shows_head(int count, char** word) {
  for (int i = 0; i < count && strcmp(word[i], "--"); ++i) {
    const char* text = word[i];
    if (!strcmp(text, "--format") || !strcmp(text, "--pretty")) {
      ++i;
    } else if (text[0] != '-') {
      const char* rest = text + (starts(text, "HEAD") ? 4 : text[0] == '@' ? 1 : 0);
      if (rest == text || !strchr("~^@{", *rest) || strchr(rest, ':')) return 0;
    }
  }
  return 1;
}

/* Whether an option has one of the letters, or begins as one of the list (git takes --lo for
   --long). */
static int is_option(const char* text, const char* letters, const char* const* list) {
  if (text[0] != '-' || !text[1]) return 0;
  if (text[1] != '-') return strpbrk(text, letters) != NULL;
  for (; *list; ++list)
    if (starts(text, *list)) return 1;
  return 0;
}

static int has_option(int count, char** word, const char* letters, const char* const* list) {
  for (int i = 0; i < count; ++i)
    if (is_option(word[i], letters, list)) return 1;
  return 0;
}

static int has_only(int count, char** word, const char* const* options) {
  for (int i = 0; i < count; ++i)
    if (word[i][0] == '-' && !is_one(word[i], options)) return 0;
  return 1;
}

/* Whether `git ls-tree` or `git ls-files` prints sizes, line ends or ids of files. */
static int lists_contents(int count, char** word, int is_tree) {
  int has_names = !is_tree;
  for (int i = 0; i < count && strcmp(word[i], "--"); ++i) {
    if (is_option(word[i], is_tree ? "l" : "su",
                  (const char* const[]){"--l", "--fo", "--deb", "--eo", "--st", "--u", "--res",
                                        "--obj", NULL}))
      return 1;
    has_names |= !strcmp(word[i], "--name-only") || !strcmp(word[i], "--name-status");
  }
  return !has_names;
}

/* Whether a name may be that of a file's content: HEAD:file (is_path), or an id of at most `most`
   digits, which git looks up. `:/text` names a commit. */
static int names_content(int count, char** word, int is_path, size_t most) {
  for (int i = 0; i < count; ++i) {
    const char* text = word[i];
    size_t digits = strspn(text, "0123456789abcdefABCDEF");
    int is_id = digits > 3 && digits <= most && (!text[digits] || strchr("~^@", text[digits]));
    if (is_id || strstr(text, "^{blob}") || strstr(text, "^{object}")) return 1;
    if (is_path && strchr(text, ':') && !starts(text, ":/")) return 1;
  }
  return 0;
}

static int is_status_with_ids(int count, char** word) {
  for (int i = 0; i < count; ++i)
    if (starts(word[i], "--po") && strchr(word[i], '2')) return 1;
  return 0;
}

/* Whether a command of git prints and writes no content of files, nor their sizes and ids. */
static int is_told(const char* command, int count, char** word) {
  if (!strcmp(command, "status")) /* -v prints differences, --porcelain=2 ids */
    return !has_option(count, word, "v", (const char* const[]){"--v", NULL}) &&
           !is_status_with_ids(count, word);
  if (!strcmp(command, "config")) /* --blob=HEAD:file reads a file */
    return !has_option(count, word, "", (const char* const[]){"--bl", NULL});
  if (!strcmp(command, "rev-list")) { /* the first two depend on sizes of files */
    if (has_option(count, word, "",
                   (const char* const[]){"--disk-usage", "--filter", "--objects", NULL}))
      return 0;
    int has_format =
        has_option(count, word, "", (const char* const[]){"--form", "--pre", "--head", NULL});
    return !has_format || is_list(count, word, 1);
  }
  if (!strcmp(command, "log")) return is_list(count, word, 1);
  if (!strcmp(command, "show"))
    return is_list(count, word, 1) && is_list(count, word, 0) && shows_head(count, word);
  if (!strcmp(command, "diff") || !strcmp(command, "diff-index") ||
      !strcmp(command, "diff-files") || !strcmp(command, "diff-tree"))
    return is_list(count, word, 0) && !has_word(count, word, (const char* const[]){"-q", NULL});
  /* rev-parse prints a whole id whether or not there is such an object. */
  if (!strcmp(command, "rev-parse")) return !names_content(count, word, 1, 39);
  if (!strcmp(command, "describe")) return !names_content(count, word, 1, 64);
  if (!strcmp(command, "cat-file"))
    return has_word(count, word, (const char* const[]){"-e", "-t", NULL}) &&
           !names_content(count, word, 0, 64);
  if (!strcmp(command, "ls-tree")) return !lists_contents(count, word, 1);
  if (!strcmp(command, "ls-files")) return !lists_contents(count, word, 0);
  if (!strcmp(command, "update-index")) /* --cacheinfo compares ids, with diff-index */
    return has_only(count, word, options_of_update);
  if (!strcmp(command, "branch")) /* -v prints subjects of commits */
    return !has_option(count, word, "v",
                       (const char* const[]){"--verb", "--form", "--edit", NULL});
  if (!strcmp(command, "tag") || !strcmp(command, "for-each-ref")) {
    for (int i = 0; i < count; ++i)
      if (starts(word[i], "-n") || strstr(word[i], "%(") || starts(word[i], "-F")) return 0;
    return 1;
  }
  if (!strcmp(command, "apply")) /* --3way, --index and --cached write from objects */
    return has_only(count, word, options_of_apply);
  return is_one(command, told_always);
}

/* Skip git's own options; -1 for an option that is not known. */
static int place_of_command(int count, char** word) {
  static const char* const with_word[] = {"-C", "-c", "--git-dir", "--work-tree", "--namespace",
                                          "--config-env", NULL};
  static const char* const alone[] = {
      "--git-dir=", "--work-tree=", "--namespace=", "--exec-path=", "--config-env=", "--no-pager",
      "-P", "--no-replace-objects", "--no-optional-locks", "--literal-pathspecs", "--bare", NULL};
  int i = 1;
  while (i < count && word[i][0] == '-') {
    if (is_one(word[i], (const char* const[]){"--version", "-v", "--help", "--exec-path",
                                              "--html-path", "--man-path", NULL}))
      return i;
    if (is_one(word[i], with_word))
      i += 2;
    else if (is_one(word[i], alone))
      ++i;
    else
      return -1;
  }
  return i;
}

static const char* base_name(const char* path) {
  const char* slash = strrchr(path, '/');
  return slash ? slash + 1 : path;
}

static int tells_only(const char* program, int count, char** word) {
  const char* name = base_name(program);
  const char* called = base_name(word[0]);
  if (!strcmp(name, "cargo") || !strcmp(name, "cmake")) return 1;
  if (strcmp(name, "git") && !starts(name, "git-")) return 0;
  if (starts(called, "git-")) return is_told(called + 4, count - 1, word + 1);
  if (strcmp(name, "git")) return 0;
  int at = place_of_command(count, word);
  if (at < 0) return 0;
  if (at >= count || word[at][0] == '-') return 1; /* git, git --version */
  return is_told(word[at], count - at - 1, word + at + 1);
}

static void look_at_programs(void);

__attribute__((constructor)) static void begin(int count, char** word, char** variables) {
  (void)variables;
  char program[PATH_MAX];
  int error = errno;
  const char* folder = getenv(MARKS);
  const char* places = getenv(OBJECTS);
  const char* checkout = getenv(ROOT);
  const char* own_head = getenv(HEAD);
  if (checkout && strlen(checkout) < sizeof root) strcpy(root, checkout);
  const char* own_tree = getenv(TREE);
  if (own_head && strlen(own_head) < sizeof head) strcpy(head, own_head);
  if (own_tree && strlen(own_tree) < sizeof tree) strcpy(tree, own_tree);
  if (folder && strlen(folder) < sizeof marks && places && strlen(places) < sizeof objects) {
    strcpy(objects, places);
    ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    if (length > 0 && count > 0) {
      program[length] = 0;
      is_harmless = tells_only(program, count, word);
      is_cargo = !strcmp(base_name(program), "cargo");
    }
    strcpy(marks, folder);
    look_at_programs();
  }
  errno = error;
}

/* Libraries that were opened meanwhile are loaded until the end. */
__attribute__((destructor)) static void end(void) { look_at_programs(); }

/* ------------------------------------------------------------------ files that are opened */

static int mark(const char* name) {
  char path[PATH_MAX + 16];
  snprintf(path, sizeof path, "%s/%s", marks, name);
  long file = syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
  if (file < 0) return 0;
  close((int)file);
  return 1;
}

static int is_below(const char* path) {
  for (const char* at = objects; *at;) {
    size_t length = strcspn(at, "\n");
    if (length && !strncmp(path, at, length) && (path[length] == '/' || !path[length])) return 1;
    at += length + (at[length] == '\n');
  }
  return 0;
}

/* Mark git's objects by their real path. */
static void look_at(const char* path) {
  if (!is_harmless && is_below(path)) mark("taken");
}

#define SEEN 1024

static void note(const char* path) {
  char name[PATH_MAX + 16];
  snprintf(name, sizeof name, "%s/outside", marks);
  long file = syscall(SYS_openat, AT_FDCWD, name, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (file < 0) return;
  if (write((int)file, path, strlen(path) + 1) < 0) mark("taken");
  close((int)file);
}

/* Note a file of the checkout outside of its worktrees, once in this process. */
static void look_outside(const char* path) {
  static unsigned long seen[SEEN];
  static const char* const own[] = {"/.git", "/.sizeguard"};
  size_t length = strlen(root);
  if (!length || strncmp(path, root, length) || path[length] != '/') return;
  for (int i = 0; i < 2; ++i) {
    size_t end = length + strlen(own[i]);
    if (starts(path + length, own[i]) && (path[end] == '/' || !path[end])) return;
  }
  unsigned long hash = 5381;
  for (const char* at = path + length; *at; ++at) hash = hash * 33 + (unsigned char)*at;
  if (seen[hash % SEEN] == hash) return;
  seen[hash % SEEN] = hash;
  note(path);
}

/* Note the checkout's HEAD if it is the first HEAD of this process. In a worktree, git opens the
   worktree's first. */
static void look_at_head(const char* path) {
  static int has_head;
  if (has_head || !head[0] || strcmp(base_name(path), "HEAD")) return;
  has_head = 1;
  if (!strcmp(path, head)) note(path);
}

/* Mark that cargo looks whether outputs outside of the worktree, of an earlier build, are up to
   date: it compares times, and reads no source of those that are. */
static void look_at_kept(const char* path) {
  size_t length = strlen(tree);
  int is_in = length && starts(path, tree) && path[length] == '/';
  if (is_cargo && !is_in && strstr(path, "/.fingerprint/")) mark("taken");
}

static void after_opening(int file, int flags) {
  char link[64], path[PATH_MAX];
  if (!marks[0] || file < 0 || (flags & O_ACCMODE) == O_WRONLY) return;
  int error = errno;
  snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  ssize_t length = readlink(link, path, sizeof path - 1);
  if (length > 0) {
    path[length] = 0;
    look_at(path);
    look_outside(path);
    look_at_head(path);
    look_at_kept(path);
  }
  errno = error;
}

/* Look at a file that gets another name, is run or is loaded; nobody may open it. */
static void look_at_name(int folder, const char* path) {
  if (!marks[0] || !path) return;
  int error = errno;
  for (int i = 0; i < 2; ++i) { /* the name, and what it leads to if it is a link */
    int flags = O_PATH | O_CLOEXEC | (i ? 0 : O_NOFOLLOW);
    int file = (int)syscall(SYS_openat, folder, path, flags);
    if (file < 0) continue;
    after_opening(file, O_RDONLY);
    close(file);
  }
  errno = error;
}

static int look_at_library(struct dl_phdr_info* loaded, size_t size, void* nothing) {
  (void)size, (void)nothing;
  const char* path = loaded->dlpi_name;
  if (path && *path && !starts(path, "/usr/") && !starts(path, "/lib"))
    look_at_name(AT_FDCWD, path);
  return 0;
}

/* Look at the program and its libraries, which the system opens. */
static void look_at_programs(void) {
  if (!marks[0] || !root[0]) return;
  look_at_name(AT_FDCWD, "/proc/self/exe");
  dl_iterate_phdr(look_at_library, NULL);
}

/* Whether to open a file without setting its access time. */
static int is_asked(const char* path, int flags) {
  if (!marks[0] || !is_harmless || !path || (flags & O_ACCMODE) != O_RDONLY) return 0;
  return !strcmp(base_name(path), ".git") && mark("asked");
}

typedef int (*Opening)(int, const char*, int, ...);

static int next_open(int folder, const char* path, int flags, mode_t mode) {
  static Opening next;
  static __thread int is_inside;
  if (!next && !is_inside) { /* dlsym may allocate, and an allocator may open files */
    is_inside = 1;
    next = (Opening)dlsym(RTLD_NEXT, "openat64");
    if (!next) next = (Opening)dlsym(RTLD_NEXT, "openat");
    is_inside = 0;
  }
  return next ? next(folder, path, flags, mode)
              : (int)syscall(SYS_openat, folder, path, flags, mode);
}

static int opened(int folder, const char* path, int flags, mode_t mode) {
  if (marks[0] && !is_harmless) flags &= ~O_NOATIME;
  int file = -1;
  if (is_asked(path, flags)) {
    int error = errno;
    file = next_open(folder, path, flags | O_NOATIME, mode);
    errno = error;
  }
  if (file < 0) file = next_open(folder, path, flags, mode);
  after_opening(file, flags);
  return file;
}

#define MODE(flags)                                             \
  mode_t mode = 0;                                              \
  if ((flags) & (O_CREAT | (O_TMPFILE & ~O_DIRECTORY))) {       \
    va_list rest;                                               \
    va_start(rest, flags);                                      \
    mode = va_arg(rest, mode_t);                                \
    va_end(rest);                                               \
  }

int open(const char* path, int flags, ...) {
  MODE(flags)
  return opened(AT_FDCWD, path, flags, mode);
}

int open64(const char* path, int flags, ...) {
  MODE(flags)
  return opened(AT_FDCWD, path, flags | O_LARGEFILE, mode);
}

int openat(int folder, const char* path, int flags, ...) {
  MODE(flags)
  return opened(folder, path, flags, mode);
}

int openat64(int folder, const char* path, int flags, ...) {
  MODE(flags)
  return opened(folder, path, flags | O_LARGEFILE, mode);
}

int __open_2(const char* path, int flags) { return opened(AT_FDCWD, path, flags, 0); }
int __open64_2(const char* path, int flags) {
  return opened(AT_FDCWD, path, flags | O_LARGEFILE, 0);
}
int __openat_2(int folder, const char* path, int flags) { return opened(folder, path, flags, 0); }
int __openat64_2(int folder, const char* path, int flags) {
  return opened(folder, path, flags | O_LARGEFILE, 0);
}

#define NEXT(function) ((__typeof__(&function))dlsym(RTLD_NEXT, #function))

int link(const char* path, const char* to) {
  look_at_name(AT_FDCWD, path);
  return NEXT(link)(path, to);
}

int linkat(int folder, const char* path, int other, const char* to, int flags) {
  look_at_name(folder, path);
  return NEXT(linkat)(folder, path, other, to, flags);
}

int rename(const char* path, const char* to) {
  look_at_name(AT_FDCWD, path);
  return NEXT(rename)(path, to);
}

int renameat(int folder, const char* path, int other, const char* to) {
  look_at_name(folder, path);
  return NEXT(renameat)(folder, path, other, to);
}

int renameat2(int folder, const char* path, int other, const char* to, unsigned int flags) {
  look_at_name(folder, path);
  return NEXT(renameat2)(folder, path, other, to, flags);
}

/* A stream of a file opened here, or NULL if libc opens it. */
static FILE* own_stream(const char* path, const char* how) {
  if (how[0] != 'r' || strchr(how, '+') || !is_asked(path, O_RDONLY)) return NULL;
  int file = next_open(AT_FDCWD, path, O_RDONLY | O_NOATIME | O_CLOEXEC, 0);
  return file < 0 ? NULL : fdopen(file, how);
}

static FILE* stream_opened(FILE* stream) {
  if (stream) after_opening(fileno(stream), O_RDONLY);
  return stream;
}

FILE* fopen(const char* path, const char* how) {
  FILE* stream = own_stream(path, how);
  return stream_opened(stream ? stream : NEXT(fopen)(path, how));
}

FILE* fopen64(const char* path, const char* how) {
  FILE* stream = own_stream(path, how);
  return stream_opened(stream ? stream : NEXT(fopen64)(path, how));
}

DIR* opendir(const char* path) {
  DIR* folder = NEXT(opendir)(path);
  if (folder) after_opening(dirfd(folder), O_RDONLY);
  return folder;
}
