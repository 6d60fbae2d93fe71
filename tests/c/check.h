/* check.h: what the C tests have in common: a check that counts and prints, and random numbers that repeat. */
#ifndef CKSUM_TESTS_CHECK_H
#define CKSUM_TESTS_CHECK_H

#include <stdbool.h>
#include <stdint.h>

/* Counts one check; where it does not hold, prints the place and the message (a printf format and its arguments). */
#define CHECK(condition, ...) check_that((condition), __FILE__, __LINE__, __VA_ARGS__)
__attribute__((format(printf, 4, 5))) void check_that(bool holds, const char *file, int line, const char *format, ...);

/* The next number of splitmix64 (Steele, Lea, Flood 2014). */
uint64_t random_next(uint64_t *state);

/* One for each file of tests. */
void test_fold(void);
void test_cpu(void);
void test_registry(void);
void test_vectors(void);
void test_lengths_and_offsets(void);
void test_start_values(void);
void test_flush_bounds(void);
void test_thresholds(void);
void test_fullest_lanes(void);
void test_carry_of_a_rotated_sum(void);
void test_wrapping(void);
void test_beyond_4_gib(void);
void test_packet(void);
void test_silences(void);
void test_timing(void);

#endif
