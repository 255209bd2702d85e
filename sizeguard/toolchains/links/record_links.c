/* Note each link of a build from inside of the linker's process. Preloaded by `sizeguard record`.

   In a process that is no linker only one thing happens: programs that it starts with another
   environment get the variables of the record, too. A linker notes its words, its folder and the
   state of its input files in a folder of its own, gives files that may vanish a second name there,
   and notes how it ended. Nothing is printed, and no failure here ends the linker.

   FOLDER/PID-TIME/link     program, folder, time (ns) and words, each ended by NUL
                  /inputs   path, size, time (ns) and number of the copy or "", each ended by NUL
                  /removed  path and number of the copy of each object that the linker removed
                  /ended    exit code and time (ns)
                  /lock     held while the linker runs
                  /image    a second name of the output
                  /map      the linker's map, if the build asks for none
                  /lto…     objects that lld made of bitcode
*/
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

extern char** environ;

#define FOLDER "SIZEGUARD_LINKS"       /* where the record is made */
#define SINCE "SIZEGUARD_LINKS_SINCE"  /* ns since 1970: files changed later may be temporary */
#define WRAPPER "SIZEGUARD_LINKS_WRAPPER" /* the script that notes links of static linkers */
#define PRELOAD "LD_PRELOAD"
#define WRAPPED "SIZEGUARD_LINKS_WRAPPED" /* set below the wrapper, which runs the linker itself */
#define INSIDE "SIZEGUARD_LINKS_INSIDE" /* the link's folder, in what the linker starts */
#define AGAIN "SIZEGUARD_LINKS_AGAIN" /* the link's folder, in a linker that was started again */
#define VARIABLES 9

/* Those from the fifth on are of watch_git.c and watch_sizes.c, which are preloaded, too. */
static const char* const names[VARIABLES] = {
    PRELOAD, FOLDER, SINCE, WRAPPER, "SIZEGUARD_GIT_MARKS", "SIZEGUARD_GIT_OBJECTS",
    "SIZEGUARD_GIT_CHECKOUT", "SIZEGUARD_GIT_HEAD", "SIZEGUARD_GIT_TREE"};
static char kept_values[VARIABLES][PATH_MAX + 32]; /* NAME=value; empty if it was not set */

static char place[PATH_MAX]; /* this link's folder; empty in what is no linker */
static pid_t linker;         /* the process that began it */
static long long began, since;
static int copies;
static int ended;

/* ------------------------------------------------------------------ names */

static const char* base_name(const char* path) {
  const char* slash = strrchr(path, '/');
  return slash ? slash + 1 : path;
}

/* ld, ld.lld-19, aarch64-linux-gnu-ld.bfd, rust-lld: whether a program's name is a linker's. */
static int names_linker(const char* path) {
  static const char* const known[] = {"ld",       "ld.bfd",    "ld.gold",  "ld.lld", "ld.mold",
                                      "ld64.lld", "ld64.mold", "ld-new",   "lld",    "gold",
                                      "mold",     "wild",      "lld-link", "wasm-ld"};
  const char* name = base_name(path);
  size_t length = strlen(name);
  size_t end = length;
  while (end && (strchr("0123456789.", name[end - 1]))) --end;
  if (end && end < length && name[end - 1] == '-') length = end - 1;
  for (size_t i = 0; i < sizeof known / sizeof *known; ++i) {
    size_t tail = strlen(known[i]);
    if (length == tail && !strncmp(name, known[i], tail)) return 1;
    if (length > tail && name[length - tail - 1] == '-' &&
        !strncmp(name + length - tail, known[i], tail))
      return 1;
  }
  return 0;
}

/* ------------------------------------------------------------------ files */

static long long ns(struct timespec t) { return t.tv_sec * 1000000000LL + t.tv_nsec; }

static long long now(void) {
  struct timespec t;
  clock_gettime(CLOCK_REALTIME_COARSE, &t); /* as the times of files */
  return ns(t);
}

/* Add fields to a file of the record, each ended by NUL. */
static void note(const char* file, int count, ...) {
  char path[PATH_MAX + 32];
  snprintf(path, sizeof path, "%s/%s", place, file);
  int out = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (out < 0) return;
  va_list fields;
  va_start(fields, count);
  for (int i = 0; i < count; ++i) {
    const char* text = va_arg(fields, const char*);
    size_t left = strlen(text) + 1;
    while (left) {
      ssize_t done = write(out, text, left);
      if (done <= 0) break;
      text += done;
      left -= (size_t)done;
    }
  }
  va_end(fields);
  close(out);
}

static int copy(const char* from, const char* to) {
  char buffer[1 << 16];
  int in = open(from, O_RDONLY | O_CLOEXEC);
  if (in < 0) return 0;
  int out = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  ssize_t got = -1;
  while (out >= 0 && (got = read(in, buffer, sizeof buffer)) > 0)
    if (write(out, buffer, (size_t)got) != got) {
      got = -1;
      break;
    }
  close(in);
  if (out >= 0) close(out);
  return got == 0;
}

/* Give a file a second name in the record, or copy it. The number of the copy; "" if neither. */
static const char* second_name(const char* path) {
  static char number[16];
  char to[PATH_MAX + 32];
  /* A link costs nothing, and what stays until the build ends is dropped from the record. Another
     process of this link may have taken a number. */
  for (int tries = 0; tries < 1000; ++tries) {
    snprintf(number, sizeof number, "%d", copies++);
    snprintf(to, sizeof to, "%s/%s", place, number);
    if (!linkat(AT_FDCWD, path, AT_FDCWD, to, AT_SYMLINK_FOLLOW)) return number;
    if (errno != EEXIST) break;
  }
  return copy(path, to) ? number : "";
}

/* ------------------------------------------------------------------ words of the link */

#define SEARCHED 256
static const char* searched[SEARCHED]; /* folders of -L */
static int folders;
static int has_bitcode, has_lto_path, has_map, is_again;
static char output[PATH_MAX] = "a.out";

static int is_bitcode(const char* head) {
  return !memcmp(head, "BC\xc0\xde", 4) || !memcmp(head, "\xde\xc0\x17\x0b", 4);
}

/* Look for LLVM bitcode in an object or in the members of an archive. */
static void look_for_bitcode(const char* path, size_t size) {
  int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return;
  char* data = size > 68 ? mmap(NULL, size, PROT_READ, MAP_PRIVATE, file, 0) : MAP_FAILED;
  close(file);
  if (data == MAP_FAILED) return;
  has_bitcode |= is_bitcode(data);
  if (!memcmp(data, "!<arch>\n", 8))
    for (size_t at = 8; at + 64 <= size && !has_bitcode;) {
      long long length = atoll(data + at + 48);
      if (length < 0) break;
      has_bitcode |= is_bitcode(data + at + 60);
      at += 60 + (size_t)length + (size_t)(length & 1);
    }
  munmap(data, size);
}

static void input(const char* path, int is_lld) {
  struct stat about;
  char size[32], changed[32];
  if (is_again) return;
  if (stat(path, &about) || !S_ISREG(about.st_mode) || strlen(path) >= PATH_MAX) return;
  snprintf(size, sizeof size, "%lld", (long long)about.st_size);
  snprintf(changed, sizeof changed, "%lld", ns(about.st_mtim));
  if (is_lld) look_for_bitcode(path, (size_t)about.st_size);
  note("inputs", 4, path, size, changed, ns(about.st_ctim) >= since ? second_name(path) : "");
}

static int names_output(const char* word) {
  static const char* const options[] = {
      "-o",   "--output", "-Map",    "--Map",  "--dependency-file", "--out-implib",
      "-map", "-plugin",  "-soname", "-rpath", "-dynamic-linker",   "-dependency_info"};
  for (size_t i = 0; i < sizeof options / sizeof *options; ++i) {
    size_t length = strlen(options[i]);
    if (!strncmp(word, options[i], length) && (!word[length] || word[length] == '=')) return 1;
  }
  return 0;
}

static void words(int count, char** word, int is_lld, int depth);

/* Read the words of a response file as libiberty does: quotes, and a backslash before a character. */
static void response_file(const char* path, int is_lld, int depth) {
  int file = open(path, O_RDONLY | O_CLOEXEC);
  struct stat about;
  if (file < 0) return;
  char* text = NULL;
  if (!fstat(file, &about) && S_ISREG(about.st_mode) && about.st_size < (64 << 20))
    text = malloc((size_t)about.st_size + 1);
  ssize_t size = text ? read(file, text, (size_t)about.st_size) : -1;
  close(file);
  char** found = size >= 0 ? malloc(((size_t)size / 2 + 2) * sizeof *found) : NULL;
  if (!found) {
    free(text);
    return;
  }
  int count = 0, inside = 0;
  char quote = 0, *to = text;
  for (char* at = text; at < text + size; ++at) {
    if (!quote && strchr(" \t\r\n\v\f", *at)) {
      if (inside) *to++ = 0;
      inside = 0;
      continue;
    }
    if (!inside) found[count++] = to;
    inside = 1;
    if (*at == '\\' && at + 1 < text + size)
      *to++ = *++at;
    else if (quote ? *at == quote : *at == '"' || *at == '\'')
      quote = quote ? 0 : *at;
    else
      *to++ = *at;
  }
  *to = 0;
  words(count, found, is_lld, depth + 1);
  free(found); /* `text` stays: folders of -L point into it */
}

static void library(const char* name, int is_lld) {
  static const char* const forms[] = {"%s/lib%s.so", "%s/lib%s.a"};
  char path[PATH_MAX];
  for (int i = 0; i < folders; ++i)
    for (int k = 0; k < 2; ++k) {
      if (*name == ':')
        snprintf(path, sizeof path, "%s/%s", searched[i], name + 1);
      else
        snprintf(path, sizeof path, forms[k], searched[i], name); /* both: -static may choose */
      if (!access(path, R_OK)) input(path, is_lld);
    }
}

/* Note the output's name, if this word and the next state it. */
static void look_for_output(const char* word, const char* next) {
  const char* name = NULL;
  if (!strcmp(word, "-o") || !strcmp(word, "--output"))
    name = next;
  else if (!strncmp(word, "--output=", 9))
    name = word + 9;
  else if (!strncmp(word, "-o", 2))
    name = word + 2;
  if (name && strlen(name) < PATH_MAX) strcpy(output, name);
}

/* Note the files that words name. Not every option is known here: `record` reads them again. */
static void words(int count, char** word, int is_lld, int depth) {
  for (int i = 0; i < count; ++i)
    if (!strncmp(word[i], "-L", 2) && folders < SEARCHED) {
      if (word[i][2])
        searched[folders++] = word[i] + 2;
      else if (i + 1 < count)
        searched[folders++] = word[i + 1];
    }
  for (int i = 0; i < count; ++i) {
    const char* equals = strchr(word[i], '=');
    look_for_output(word[i], i + 1 < count ? word[i + 1] : NULL);
    has_map |= !strcmp(word[i], "-M") || strstr(word[i], "-print-map") ||
               !strncmp(word[i], "-Map", 4) || !strncmp(word[i], "--Map", 5);
    has_lto_path |= strstr(word[i], "obj-path") || strstr(word[i], "save-temps") ||
                    strstr(word[i], "cache-dir") || strstr(word[i], "thinlto-index");
    if (names_output(word[i])) {
      i += !equals;
    } else if (word[i][0] == '@' && !access(word[i] + 1, R_OK)) {
      input(word[i] + 1, 0);
      if (depth < 16) response_file(word[i] + 1, is_lld, depth);
    } else if (!strncmp(word[i], "-l", 2)) {
      library(word[i][2] ? word[i] + 2 : i + 1 < count ? word[++i] : "", is_lld);
    } else if (word[i][0] != '-') {
      input(word[i], is_lld);
    } else if (equals) {
      input(equals + 1, 0);
    } else if (word[i][1] == 'T') {
      input(word[i] + 2, 0);
    }
  }
}

/* ------------------------------------------------------------------ begin and end */

/* Note the end in the process that began; a linker that forks (mold) goes on in a child. */
static void finish(int code) {
  char text[16], at[32], image[PATH_MAX + 32];
  if (!place[0] || getpid() != linker || ended) return;
  ended = 1;
  snprintf(image, sizeof image, "%s/image", place);
  /* The image's bytes are known by it after the build has moved or removed the output. */
  if (!code) (void)!linkat(AT_FDCWD, output, AT_FDCWD, image, AT_SYMLINK_FOLLOW);
  snprintf(text, sizeof text, "%d", code);
  snprintf(at, sizeof at, "%lld", now());
  note("ended", 2, text, at);
}

static void at_exit(int code, void* unused) {
  (void)unused;
  finish(code);
}

/* Start the linker again with options that make it write more files, and the same image: a map, and
   the objects that lld makes of bitcode, which it else keeps in memory. */
static void write_more(const char* program, int count, char** word, int is_lld) {
  char map[PATH_MAX + 32], objects[PATH_MAX + 32];
  char** more = malloc(((size_t)count + 3) * sizeof *more);
  int all = count;
  if (!more) return;
  memcpy(more, word, (size_t)count * sizeof *more);
  snprintf(map, sizeof map, "-Map=%s/map", place);
  snprintf(objects, sizeof objects, "--lto-obj-path=%s/lto", place);
  if (!has_map) more[all++] = map;
  if (is_lld && has_bitcode && !has_lto_path) more[all++] = objects;
  more[all] = NULL;
  if (all > count) {
    setenv(AGAIN, place, 1);
    execv(program, more);
    unsetenv(AGAIN);
  }
  free(more);
}

/* Whether a linker makes ELF files, and takes the options of one that does. */
static int is_elf_linker(const char* program, const char* name) {
  static const char* const others[] = {"64", "link", "wasm", "wild"};
  for (size_t i = 0; i < sizeof others / sizeof *others; ++i)
    if (strstr(base_name(program), others[i]) || strstr(base_name(name), others[i]))
      return !strncmp(others[i], "64", 2) && !strstr(base_name(program), "ld64") &&
             !strstr(base_name(name), "ld64");
  return 1;
}

static void keep_variables(void) {
  for (int i = 0; i < VARIABLES; ++i) {
    const char* value = getenv(names[i]);
    if (value && strlen(value) < PATH_MAX)
      snprintf(kept_values[i], sizeof kept_values[i], "%s=%s", names[i], value);
  }
}

/* Hold a lock as long as this process, or one that it forks, may write: mold's child removes the
   objects of LTO after its parent has ended. */
static void hold_lock(void) {
  char path[PATH_MAX + 32];
  snprintf(path, sizeof path, "%s/lock", place);
  int file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (file >= 0) flock(file, LOCK_SH | LOCK_NB);
}

static int begin_place(const char* folder) {
  struct timespec t;
  clock_gettime(CLOCK_REALTIME, &t);
  snprintf(place, sizeof place, "%.*s/%ld-%lld", PATH_MAX - 64, folder, (long)getpid(), ns(t));
  if (mkdir(place, 0777)) place[0] = 0;
  if (!place[0]) return 0;
  hold_lock();
  setenv(INSIDE, place, 1);
  return 1;
}

__attribute__((constructor)) static void begin(int count, char** word, char** variables) {
  (void)variables;
  char program[PATH_MAX], folder[PATH_MAX];
  int error = errno;
  const char* record = getenv(FOLDER);
  const char* again = getenv(AGAIN);
  keep_variables();
  ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
  if (!record || !*record || strlen(record) > PATH_MAX - 96 || length <= 0 || count < 2) return;
  program[length] = 0;
  if (!names_linker(program) && !names_linker(word[0])) return;
  if (!getcwd(folder, sizeof folder)) return;
  since = getenv(SINCE) ? atoll(getenv(SINCE)) : 0;
  began = now();
  linker = getpid();
  const char* outer = getenv(INSIDE);
  if (again && *again) { /* started again by write_more */
    snprintf(place, sizeof place, "%s", again);
    unsetenv(AGAIN);
    is_again = 1;
    hold_lock();
    words(count - 1, word + 1, 0, 0);
    on_exit(at_exit, NULL);
    errno = error;
    return;
  }
  if (outer && *outer) { /* a linker that starts itself once more (mold for LTO), or another */
    snprintf(place, sizeof place, "%s", outer);
    hold_lock();
    is_again = 1;
    words(count - 1, word + 1, 0, 0);
    if (atol(base_name(place)) == (long)linker) /* it became the other, as rustc's ld.lld does */
      on_exit(at_exit, NULL);
    else
      linker = 0;
    errno = error;
    return;
  }
  if (!begin_place(record)) return;
  char started[32];
  snprintf(started, sizeof started, "%lld", began);
  note("link", 3, program, folder, started);
  for (int i = 0; i < count; ++i) note("link", 1, word[i]);
  int is_lld = strstr(base_name(program), "lld") || strstr(base_name(word[0]), "lld");
  words(count - 1, word + 1, is_lld, 0);
  on_exit(at_exit, NULL);
  if (is_elf_linker(program, word[0])) write_more(program, count, word, is_lld);
  errno = error;
}

/* ------------------------------------------------------------------ functions of libc in our way */

#define NEXT(function) ((__typeof__(&function))dlsym(RTLD_NEXT, #function))

void _exit(int code) {
  finish(code);
  NEXT(_exit)(code);
  __builtin_unreachable();
}

void _Exit(int code) {
  finish(code);
  NEXT(_Exit)(code);
  __builtin_unreachable();
}

/* Keep an object that the linker removes and that was made during the link: LTO's. */
static void before_removal(const char* path) {
  struct stat about;
  unsigned char head[18] = {0};
  char full[PATH_MAX];
  if (!place[0] || stat(path, &about) || !S_ISREG(about.st_mode)) return;
  if (ns(about.st_ctim) < began) return;
  int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return;
  ssize_t got = read(file, head, sizeof head);
  close(file);
  if (got < 18 || memcmp(head, ELFMAG, SELFMAG) || head[16] + head[17] != ET_REL) return;
  if (!realpath(path, full)) return;
  note("removed", 2, full, second_name(path));
}

int unlink(const char* path) {
  before_removal(path);
  return NEXT(unlink)(path);
}

int remove(const char* path) {
  before_removal(path);
  return NEXT(remove)(path);
}

int unlinkat(int folder, const char* path, int flags) {
  if (folder == AT_FDCWD || path[0] == '/') before_removal(path);
  return NEXT(unlinkat)(folder, path, flags);
}

/* ------------------------------------------------------------------ programs that are started */

static int has_variable(char* const* variables, const char* name) {
  size_t length = strlen(name);
  for (; *variables; ++variables)
    if (!strncmp(*variables, name, length) && (*variables)[length] == '=') return 1;
  return 0;
}

static size_t size_of(char* const* list) {
  size_t count = 0;
  while (list && list[count]) ++count;
  return count;
}

/* The environment with what is missing of the record's, in `to`, which has room for them.
   A build that sets LD_PRELOAD to a library of its own keeps it. */
static char* const* with_record(char* const* variables, char** to) {
  size_t count = size_of(variables);
  if (!kept_values[1][0] || (variables && has_variable(variables, FOLDER) &&
                             has_variable(variables, PRELOAD)))
    return variables;
  for (size_t i = 0; i < count; ++i) to[i] = variables[i];
  to[count] = NULL;
  for (int i = 0; i < VARIABLES; ++i)
    if (kept_values[i][0] && !has_variable(to, names[i])) {
      to[count++] = kept_values[i];
      to[count] = NULL;
    }
  return to;
}

/* Give the process what is missing, for libc's own calls that start a shell. */
static void keep_record(void) {
  for (int i = 0; kept_values[1][0] && i < VARIABLES; ++i)
    if (kept_values[i][0] && !getenv(names[i])) putenv(kept_values[i]);
}

#define WITH_RECORD(variables) \
  with_record(variables, alloca((size_of(variables) + VARIABLES + 1) * sizeof(char*)))

/* Whether a file is a linker without a loader, into which nothing is preloaded. */
static int is_static_linker(const char* path, char* const* variables) {
  Elf64_Ehdr head;
  int is_static = 0;
  if (!kept_values[3][0] || !kept_values[1][0] || !names_linker(path)) return 0;
  if (variables && has_variable(variables, WRAPPED)) return 0;
  int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  if (read(file, &head, sizeof head) == (ssize_t)sizeof head &&
      !memcmp(head.e_ident, ELFMAG, SELFMAG) && head.e_ident[EI_CLASS] == ELFCLASS64) {
    is_static = 1;
    for (int i = 0; i < head.e_phnum; ++i) {
      Elf64_Phdr segment;
      off_t at = (off_t)(head.e_phoff + (size_t)i * head.e_phentsize);
      if (pread(file, &segment, sizeof segment, at) == (ssize_t)sizeof segment &&
          segment.p_type == PT_INTERP)
        is_static = 0;
    }
  }
  close(file);
  return is_static;
}

/* Find a program as execvp does; returns `name` itself if it is nowhere. */
static const char* found(const char* name, char* to) {
  const char* path = getenv("PATH");
  if (strchr(name, '/') || !path || !names_linker(name)) return name;
  while (*path) {
    size_t length = strcspn(path, ":");
    if (length + strlen(name) + 2 < PATH_MAX) {
      snprintf(to, PATH_MAX, "%.*s/%s", length ? (int)length : 1, length ? path : ".", name);
      if (!access(to, X_OK)) return to;
    }
    path += length + (path[length] == ':');
  }
  return name;
}

/* sh WRAPPER PROGRAM WORDS… in `to`, which has room for three more. */
static char* const* wrapped(const char* path, char* const* word, char** to) {
  size_t count = size_of(word);
  to[0] = "sh";
  to[1] = kept_values[3] + strlen(WRAPPER) + 1;
  to[2] = (char*)path;
  for (size_t i = 0; i < count; ++i) to[3 + i] = word[i]; /* with its own name, which tells */
  to[3 + count] = NULL;
  return to;
}

#define IN_WRAPPER(path, word) wrapped(path, word, alloca((size_of(word) + 4) * sizeof(char*)))
#define SHELL "/bin/sh"

int execve(const char* path, char* const word[], char* const variables[]) {
  char* const* more = WITH_RECORD(variables);
  if (is_static_linker(path, variables)) return NEXT(execve)(SHELL, IN_WRAPPER(path, word), more);
  return NEXT(execve)(path, word, more);
}

int system(const char* command) {
  keep_record();
  return NEXT(system)(command);
}

FILE* popen(const char* command, const char* mode) {
  keep_record();
  return NEXT(popen)(command, mode);
}

int execv(const char* path, char* const word[]) { return execve(path, word, environ); }

int execvpe(const char* name, char* const word[], char* const variables[]) {
  char at[PATH_MAX];
  const char* path = found(name, at);
  if (is_static_linker(path, variables)) return execve(path, word, variables);
  return NEXT(execvpe)(name, word, WITH_RECORD(variables));
}

int execvp(const char* name, char* const word[]) { return execvpe(name, word, environ); }

int fexecve(int file, char* const word[], char* const variables[]) {
  return NEXT(fexecve)(file, word, WITH_RECORD(variables));
}

/* The words of a variadic call, up to NULL; `more` gets the argument behind it. */
static int count_words(va_list* rest) {
  int count = 1;
  while (va_arg(*rest, char*)) ++count;
  return count;
}

#define COLLECT(first, list)                                                \
  va_list rest;                                                             \
  va_start(rest, first);                                                    \
  int count = count_words(&rest);                                           \
  va_end(rest);                                                             \
  char** list = alloca(((size_t)count + 1) * sizeof(char*));                \
  va_start(rest, first);                                                    \
  list[0] = (char*)first;                                                   \
  for (int i = 1; i <= count; ++i) list[i] = va_arg(rest, char*)

int execl(const char* path, const char* first, ...) {
  COLLECT(first, list);
  va_end(rest);
  return execve(path, list, environ);
}

int execlp(const char* name, const char* first, ...) {
  COLLECT(first, list);
  va_end(rest);
  return execvpe(name, list, environ);
}

int execle(const char* path, const char* first, ...) {
  COLLECT(first, list);
  char* const* variables = va_arg(rest, char* const*);
  va_end(rest);
  return execve(path, list, variables);
}

int posix_spawn(pid_t* pid, const char* path, const posix_spawn_file_actions_t* actions,
                const posix_spawnattr_t* attributes, char* const word[], char* const variables[]) {
  char* const* more = WITH_RECORD(variables);
  if (is_static_linker(path, variables))
    return NEXT(posix_spawn)(pid, SHELL, actions, attributes, IN_WRAPPER(path, word), more);
  return NEXT(posix_spawn)(pid, path, actions, attributes, word, more);
}

int posix_spawnp(pid_t* pid, const char* name, const posix_spawn_file_actions_t* actions,
                 const posix_spawnattr_t* attributes, char* const word[],
                 char* const variables[]) {
  char at[PATH_MAX];
  const char* path = found(name, at);
  if (is_static_linker(path, variables)) return posix_spawn(pid, path, actions, attributes, word, variables);
  return NEXT(posix_spawnp)(pid, name, actions, attributes, word, WITH_RECORD(variables));
}
