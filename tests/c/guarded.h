/* guarded.h: memory between two pages that nobody may touch. */
#ifndef CKSUM_TESTS_GUARDED_H
#define CKSUM_TESTS_GUARDED_H

#include <stddef.h>

/* low .. high is readable and writable, a whole number of pages; the pages on both sides are not even readable. */
struct guarded {
    unsigned char *low;
    unsigned char *high;
};

/* At least `bytes` bytes; ends the program if there is no memory. */
struct guarded guarded_new(size_t bytes);
void guarded_free(struct guarded *guarded);

/*
 * Under AddressSanitizer, makes everything from `end` to the high end unreadable to the byte, and what lies below
 * `begin` down to the 8 bytes that AddressSanitizer tells apart; elsewhere does nothing. So an over-read is seen at
 * every length and offset, not only at a page's end; but only in C code, not in inline assembly.
 */
void guarded_close(const struct guarded *guarded, const unsigned char *begin, const unsigned char *end);
void guarded_open(const struct guarded *guarded);

/* What the bytes are. CARRIES: words of all ones, and now and then a word 1 so that every lane carries and wraps. */
enum fill { FILL_ZEROS, FILL_ONES, FILL_RANDOM, FILL_CARRIES, FILLS };
void guarded_fill(const struct guarded *guarded, enum fill fill);

#endif
