/* What a batch says of the packets of which it judges nothing. */
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "core/registry.h"
#include "packet/packet.h"

/* Packets of which nothing is judged are counted by the reason; more reasons than there is room for become one. */
void test_silences(void)
{
    enum { KINDS = PACKET_MAX_SILENCES + 20, N = 2 * KINDS };
    static unsigned char data[N * 14];
    static int64_t offsets[N];
    static uint32_t lengths[N];
    static uint16_t links[N];
    static unsigned char per_packet[N];
    static uint64_t counts[256];
    char text[PACKET_SILENCE_TEXT];
    uint64_t packets = 0;
    for (unsigned i = 0; i < N; i++) {
        offsets[i] = 14 * (int64_t)i;
        lengths[i] = 14;
        links[i] = i < 6 ? 147 : PACKET_LINK_ETHERNET;
        data[offsets[i] + 12] = 0xf0;
        data[offsets[i] + 13] = (unsigned char)(i % KINDS);
    }
    struct packet_batch batch = {
        .data = data,
        .size = sizeof data,
        .offsets = offsets,
        .lengths = lengths,
        .originals = lengths,
        .links = links,
        .n = N,
        .per_packet = per_packet,
        .counts = counts,
    };
    CHECK(packet_verify_batch(cksum_registry_best()->fn, &batch) == PACKET_BATCH_WHOLE, "the batch ends early");
    CHECK(batch.n_silences == PACKET_MAX_SILENCES && batch.unknown == 6, "%zu reasons", batch.n_silences);
    packet_silence_text(batch.silences[0].silence, text);
    CHECK(strcmp(text, "link type 147") == 0 && batch.silences[0].packets == 6, "%s: %llu", text,
          (unsigned long long)batch.silences[0].packets);
    packet_silence_text(batch.silences[1].silence, text);
    CHECK(strcmp(text, "ethertype 0xf006") == 0 && batch.silences[1].packets == 2, "%s", text);
    packet_silence_text(batch.silences[batch.n_silences - 1].silence, text);
    CHECK(strcmp(text, "other reasons") == 0, "%s", text);
    for (size_t i = 0; i < batch.n_silences; i++) {
        packets += batch.silences[i].packets;
    }
    CHECK(packets == N, "%llu packets", (unsigned long long)packets);
    packet_silence_text((uint32_t)PACKET_SILENT_UNCHECKED << 16 | PACKET_FRAGMENT, text);
    CHECK(strncmp(text, "fragment", 8) == 0, "%s", text);
    free(batch.codes);
}
