int run_c(int n) __asm__("__Z3runi");
extern int environ_count;
extern int puts(const char*);
static char buffer[5000];
int (*pointer_to_puts)(const char*) = puts;
int main(int argc, char** argv) {
  buffer[argc] = argv[0][0];
  pointer_to_puts("by pointer");
  return run_c(argc) + buffer[2];
}
__asm__(".globl _raw_table\n_raw_table:\n.data_region jt32\n.long 1\n.long 2\n.long 3\n.long 4\n.end_data_region\n");
extern const int raw_table[] ;
const int* keep_table(void) { return raw_table; }
int alias_target(int n) { return n + environ_count; }
