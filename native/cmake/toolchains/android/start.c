/* The start of a program, where there is no NDK with its crtbegin: hands main and the initializers to bionic. */

#include <elf.h>

typedef void (*function)(void);

struct initializers {
  function* preinit;
  function* init;
  function* fini;
};

extern function __preinit_array_start[] __attribute__((visibility("hidden")));
extern function __init_array_start[] __attribute__((visibility("hidden")));
extern function __fini_array_start[] __attribute__((visibility("hidden")));

extern int main(int argc, char** argv, char** environment);
__attribute__((noreturn)) extern void __libc_init(void* arguments, function at_exit, int (*start)(int, char**, char**),
                                                  const struct initializers* initializers);

__attribute__((noreturn, used, visibility("hidden"))) void sg_start(void* arguments) {
  const struct initializers initializers = {__preinit_array_start, __init_array_start, __fini_array_start};
  __libc_init(arguments, (function)0, main, &initializers);
}

/* The arguments lie on the stack. This is a function, since debug information describes no
   assembler code beside functions. */
__attribute__((naked, noreturn, used, visibility("hidden"))) void _start(void) {
  __asm__(
      "mov x0, sp\n"
      "b sg_start\n");
}

/* The API level that the program is for, as crtbegin notes it. */
__attribute__((used, section(".note.android.ident"), aligned(4))) static const struct {
  Elf64_Nhdr head;
  char name[8];
  int api;
  char ndk[64];
  char build[64];
} note = {{8, 132, 1}, "Android", __ANDROID_API__, "", ""};
