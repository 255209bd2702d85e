/* Note the files of a worktree whose size a build's program asks for, and mark that a program makes a
   place where access times do not tell what is read. Preloaded into the build's processes.

   Access times tell which files are read, but asking for a size, a type or a time sets none. So the
   paths of regular files that a program asks the system about stand in `sized`, each ended by NUL;
   those of the checkout around the worktree stand in `outside`, as watch_git.c notes them.
   Left out are git and cargo, which look at the times of all files to tell what has changed, and
   cmake, whose file(GLOB_RECURSE) asks for the types of all files: file(SIZE) is not seen. Programs
   that call the system without libc, as those of Go do, are not seen either. Nothing is printed, and
   no failure ends a program.
*/
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MARKS "SIZEGUARD_GIT_MARKS" /* folder of the marks */
#define TREE "SIZEGUARD_GIT_TREE"   /* the worktree, with its real path */
#define CHECKOUT "SIZEGUARD_GIT_CHECKOUT" /* the checkout around it, with its real path */
#define SEEN 1024

static char sized[PATH_MAX + 16], outside[PATH_MAX + 16], taken[PATH_MAX + 16];
static char tree[PATH_MAX], checkout[PATH_MAX];

static int is_left_out(const char* program) {
  const char* slash = strrchr(program, '/');
  const char* name = slash ? slash + 1 : program;
  return !strcmp(name, "git") || !strncmp(name, "git-", 4) || !strcmp(name, "cargo") ||
         !strcmp(name, "cmake");
}

__attribute__((constructor)) static void begin(void) {
  char program[PATH_MAX];
  int error = errno;
  const char* folder = getenv(MARKS);
  const char* root = getenv(TREE);
  const char* around = getenv(CHECKOUT);
  ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
  program[length > 0 ? length : 0] = 0;
  if (folder && root && strlen(folder) < PATH_MAX && strlen(root) < sizeof tree &&
      !is_left_out(program)) {
    snprintf(sized, sizeof sized, "%s/sized", folder);
    snprintf(outside, sizeof outside, "%s/outside", folder);
    snprintf(taken, sizeof taken, "%s/taken", folder);
    strcpy(tree, root);
    if (around && strlen(around) < sizeof checkout) strcpy(checkout, around);
  }
  errno = error;
}

static int is_below(const char* path, const char* folder) {
  size_t length = strlen(folder);
  return length && !strncmp(path, folder, length) && (path[length] == '/' || !path[length]);
}

/* The checkout's files, without git's own and those of the worktrees. */
static int is_outside(const char* path) {
  static const char* const own[] = {"/.git", "/.sizeguard"};
  if (!is_below(path, checkout)) return 0;
  for (int i = 0; i < 2; ++i)
    if (is_below(path + strlen(checkout), own[i])) return 0;
  return 1;
}

/* Note a path of the worktree or of the checkout, once in this process as a rule. */
static void note(const char* path) {
  static unsigned long seen[SEEN];
  const char* notes = is_below(path, tree) ? sized : is_outside(path) ? outside : NULL;
  if (!notes) return;
  unsigned long hash = 5381;
  for (const char* at = path; *at; ++at) hash = hash * 33 + (unsigned char)*at;
  if (seen[hash % SEEN] == hash) return;
  seen[hash % SEEN] = hash;
  long file = syscall(SYS_openat, AT_FDCWD, notes, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (file < 0) return;
  if (write((int)file, path, strlen(path) + 1) < 0) seen[hash % SEEN] = 0;
  close((int)file);
}

static void note_opened(int file) {
  char link[64], path[PATH_MAX];
  if (!tree[0]) return;
  int error = errno;
  snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  ssize_t length = readlink(link, path, sizeof path - 1);
  if (length > 0) {
    path[length] = 0;
    note(path);
  }
  errno = error;
}

static void note_named(int folder, const char* path) {
  if (!tree[0] || !path) return;
  int error = errno;
  int file = (int)syscall(SYS_openat, folder, path, O_PATH | O_CLOEXEC);
  if (file >= 0) {
    note_opened(file);
    close(file);
  }
  errno = error;
}

/* Note what a call told about. path: NULL or empty for an open file */
static int told(int result, unsigned mode, int file, const char* path) {
  if (result || !S_ISREG(mode)) return result;
  if (path && *path)
    note_named(file, path);
  else
    note_opened(file);
  return result;
}

#define NEXT(function) ((__typeof__(&function))dlsym(RTLD_NEXT, #function))

/* libc has each call in two widths, and up to 2.32 programs called others, with a version. */
#define CALL(name, type, parameters, arguments, file, path) \
  int name parameters;                                      \
  int name parameters {                                     \
    int result = NEXT(name) arguments;                      \
    return told(result, result ? 0 : to->type, file, path); \
  }
#define CALLS(wide)                                                                           \
  CALL(stat##wide, st_mode, (const char* path, struct stat##wide* to), (path, to), AT_FDCWD,  \
       path)                                                                                  \
  CALL(lstat##wide, st_mode, (const char* path, struct stat##wide* to), (path, to), AT_FDCWD, \
       path)                                                                                  \
  CALL(fstat##wide, st_mode, (int file, struct stat##wide* to), (file, to), file, NULL)       \
  CALL(fstatat##wide, st_mode,                                                                \
       (int folder, const char* path, struct stat##wide* to, int flags),                      \
       (folder, path, to, flags), folder, path)                                               \
  CALL(__xstat##wide, st_mode, (int version, const char* path, struct stat##wide* to),        \
       (version, path, to), AT_FDCWD, path)                                                   \
  CALL(__lxstat##wide, st_mode, (int version, const char* path, struct stat##wide* to),       \
       (version, path, to), AT_FDCWD, path)                                                   \
  CALL(__fxstat##wide, st_mode, (int version, int file, struct stat##wide* to),               \
       (version, file, to), file, NULL)                                                       \
  CALL(__fxstatat##wide, st_mode,                                                             \
       (int version, int folder, const char* path, struct stat##wide* to, int flags),         \
       (version, folder, path, to, flags), folder, path)

CALLS()
CALLS(64)
CALL(statx, stx_mode,
     (int folder, const char* path, int flags, unsigned mask, struct statx* to),
     (folder, path, flags, mask, to), folder, path)

/* ------------------------------------------------------------------ places where reads do not show */

/* The sandbox of Bazel, which has read all inputs of an action before, mounts most read-only. */
static int is_bazels(void) {
  return !strcmp(program_invocation_short_name, "linux-sandbox");
}

/* Mark that any file may have been read. Called before the place is made: the mark may not be
   there afterwards. */
static void note_unseen(void) {
  if (!taken[0] || is_bazels()) return;
  int error = errno;
  long file = syscall(SYS_openat, AT_FDCWD, taken, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
  if (file >= 0) close((int)file);
  errno = error;
}

/* Linux sets no access times below a read-only mount, nor in what an overlay lies on. */
static int hides_reads(const char* type, unsigned long flags) {
  if (type && !(flags & (MS_BIND | MS_REMOUNT)) && strstr(type, "overlay")) return 1;
  return flags & (MS_RDONLY | MS_NOATIME) && (flags & (MS_BIND | MS_REMOUNT));
}

int mount(const char* what, const char* where, const char* type, unsigned long flags,
          const void* data) {
  if (hides_reads(type, flags)) note_unseen();
  return NEXT(mount)(what, where, type, flags, data);
}

/* The marks are not seen from a folder that becomes the root. */
int chroot(const char* path) {
  if (strcmp(path, "/")) note_unseen();
  return NEXT(chroot)(path);
}

/* mount(8) makes mounts by these two since 2.39. */
int fsopen(const char* type, unsigned flags) {
  if (strstr(type, "overlay")) note_unseen();
  return NEXT(fsopen)(type, flags);
}

/* The first member has the attributes to set: 1 is MOUNT_ATTR_RDONLY, 0x10 MOUNT_ATTR_NOATIME. */
static int sets_hiding(const void* attributes) {
  return attributes && *(const unsigned long long*)attributes & 0x11;
}

struct mount_attr;

int mount_setattr(int folder, const char* path, unsigned flags, struct mount_attr* to,
                  size_t size) {
  if (sets_hiding(to)) note_unseen();
  return NEXT(mount_setattr)(folder, path, flags, to, size);
}

/* node calls the system by number. All other calls end in a jump, as compiled with -O2, so that a
   new process on another stack returns to its caller. */
long by_number(long number, long a, long b, long c, long d, long e, long f) __asm__("syscall");
long by_number(long number, long a, long b, long c, long d, long e, long f) {
  static __typeof__(&by_number) next;
  if (!next) next = (__typeof__(&by_number))dlsym(RTLD_NEXT, "syscall");
  if (number == SYS_statx) {
    long result = next(number, a, b, c, d, e, f);
    const struct statx* to = (const struct statx*)e;
    return told((int)result, result ? 0 : to->stx_mode, (int)a, (const char*)b);
  }
  if (number == SYS_pivot_root) note_unseen();
  if (number == SYS_mount && hides_reads((const char*)c, (unsigned long)d)) note_unseen();
#ifdef SYS_mount_setattr
  if (number == SYS_mount_setattr && sets_hiding((const void*)d)) note_unseen();
#endif
  return next(number, a, b, c, d, e, f);
}

/* The end of a file tells its size, too. */
#define ENDS(function, of, type, how)                  \
  type function(of file, type offset, int from) {      \
    if (from == SEEK_END) note_opened(how(file));      \
    return NEXT(function)(file, offset, from);         \
  }
#define STREAMS(function, result, type)                        \
  result function(FILE* stream, type offset, int from) {       \
    if (from == SEEK_END) note_opened(fileno(stream));         \
    return NEXT(function)(stream, offset, from);               \
  }

ENDS(lseek, int, off_t, )
ENDS(lseek64, int, off64_t, )
STREAMS(fseek, int, long)
STREAMS(fseeko, int, off_t)
STREAMS(fseeko64, int, off64_t)
