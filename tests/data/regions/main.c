const int table[64] = {1, 2, 3};
int counters[40] = {7};
char state = 3;
char buffer[1000];
int run(int n) { counters[n & 31]++; state++; return table[n & 63] + buffer[n & 511]; }
void _start(void) { for (;;) buffer[0] = (char)run(buffer[1]); }
