/* The arithmetic of base/fold.h, against literals. */
#include "base/fold.h"

#include "check.h"

static void test_reduction(void)
{
    static const struct {
        uint32_t sum;
        uint16_t folded;
    } cases[] = {
        {0, 0},
        {1, 1},
        {0xffff, 0xffff},
        {0x10000, 1},
        {0x10001, 2},
        {0x1fffe, 0xffff},
        {0x1ffff, 1}, /* the first fold carries: 1 + 0xffff */
        {0xffff0000, 0xffff},
        {0xffff0001, 1},
        {0xfffeffff, 0xfffe},
        {0xfffffffe, 0xfffe},
        {0xffffffff, 0xffff},
    };
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const uint16_t got = cksum_fold32(cases[i].sum);
        CHECK(got == cases[i].folded, "cksum_fold32(0x%x) is 0x%x, expected 0x%x", cases[i].sum, got, cases[i].folded);
    }
    CHECK(cksum_fold64(0) == 0, "cksum_fold64(0)");
    CHECK(cksum_fold64(UINT64_MAX) == UINT32_MAX, "cksum_fold64 of all ones is 0x%x", cksum_fold64(UINT64_MAX));
    CHECK(cksum_fold64(0xffffffff00000000u) == UINT32_MAX, "cksum_fold64: high half only");
    CHECK(cksum_fold64(0xffffffff00000001u) == 1, "cksum_fold64: the halves' sum carries");
    CHECK(cksum_fold64(0x1234567800000001u) == 0x12345679, "cksum_fold64: the halves are added");
}

static void test_carries(void)
{
    CHECK(cksum_add64(UINT64_MAX, 1) == 1, "cksum_add64: the carry comes back in");
    CHECK(cksum_add64(UINT64_MAX, UINT64_MAX) == UINT64_MAX, "cksum_add64 of all ones twice");
    CHECK(cksum_add64(UINT64_MAX, 0) == UINT64_MAX, "cksum_add64: no carry, none added");
    CHECK(cksum_add64(1u, 2u) == 3, "cksum_add64 of small numbers");
    CHECK(cksum_add32(UINT32_MAX, 1) == 1, "cksum_add32: the carry comes back in");
    CHECK(cksum_add32(UINT32_MAX, UINT32_MAX) == UINT32_MAX, "cksum_add32 of all ones twice");
    CHECK(cksum_add32(1, 2) == 3, "cksum_add32 of small numbers");
}

static void test_byte_order(void)
{
    const unsigned char bytes[] = {0x12, 0x34};
    const uint32_t expected = CKSUM_LITTLE_ENDIAN ? 0x12 : 0x1200;
    CHECK(cksum_load16(bytes) == (CKSUM_LITTLE_ENDIAN ? 0x3412 : 0x1234), "cksum_load16 is not in host order");
    CHECK(cksum_odd_byte(0x12) == expected, "the odd byte 0x12 is 0x%x", cksum_odd_byte(0x12));
    CHECK(cksum_swap16(0x1234) == 0x3412, "cksum_swap16(0x1234) is 0x%x", cksum_swap16(0x1234));
}

/* The tail of n bytes 1, 2, 3, ...: even offsets add up in one half of the word, odd ones in the other. */
static void test_tail(void)
{
    static const unsigned even[8] = {0, 1, 1, 4, 4, 9, 9, 16}, odd[8] = {0, 0, 2, 2, 6, 6, 12, 12};
    const unsigned char bytes[8] = {1, 2, 3, 4, 5, 6, 7, 0xee};
    for (size_t n = 0; n < 8; n++) {
        const uint16_t expected = (uint16_t)(CKSUM_LITTLE_ENDIAN ? even[n] + 256 * odd[n] : 256 * even[n] + odd[n]);
        const uint16_t got = cksum_fold32(cksum_fold64(cksum_load_tail(bytes, n)));
        CHECK(got == expected, "tail of %zu bytes: 0x%x, expected 0x%x", n, got, expected);
    }
}

void test_fold(void)
{
    test_reduction();
    test_carries();
    test_byte_order();
    test_tail();
}
