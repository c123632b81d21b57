/* hash.c - SHA-256 (FIPS 180-4). */
#include <string.h>

#include "runtime/runtime.h"

enum { BLOCK = 64, LENGTH_AT = 56 };

static const uint32_t rounds[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4,
    0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe,
    0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f,
    0x4a7484aa, 0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7,
    0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc,
    0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b,
    0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116,
    0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7,
    0xc67178f2};

static uint32_t
rotated(uint32_t x, unsigned n)
{
    return x >> n | x << (32 - n);
}

static uint32_t
word_at(const uint8_t *bytes)
{
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 |
           (uint32_t)bytes[2] << 8 | bytes[3];
}

/* One round; word `a` of the standard is s[at]. */
static inline __attribute__((always_inline)) void
turn(uint32_t *s, unsigned at, uint32_t word)
{
    uint32_t a = s[at], b = s[(at + 1) % 8], c = s[(at + 2) % 8];
    uint32_t e = s[(at + 4) % 8], f = s[(at + 5) % 8], g = s[(at + 6) % 8];
    uint32_t t1 = s[(at + 7) % 8] + (rotated(e, 6) ^ rotated(e, 11) ^ rotated(e, 25)) +
                  ((e & f) ^ (~e & g)) + word;
    uint32_t t2 = (rotated(a, 2) ^ rotated(a, 13) ^ rotated(a, 22)) +
                  ((a & b) ^ (a & c) ^ (b & c));

    s[(at + 3) % 8] += t1;
    s[(at + 7) % 8] = t1 + t2;
}

static void
mix(uint32_t *state, const uint8_t *block)
{
    uint32_t w[64], s[8];

    for (int i = 0; i < 16; i++)
        w[i] = word_at(block + 4 * i);
    for (int i = 16; i < 64; i++)
        w[i] = w[i - 16] + w[i - 7] +
               (rotated(w[i - 15], 7) ^ rotated(w[i - 15], 18) ^ w[i - 15] >> 3) +
               (rotated(w[i - 2], 17) ^ rotated(w[i - 2], 19) ^ w[i - 2] >> 10);
    memcpy(s, state, sizeof s);
    for (int i = 0; i < 64; i += 8) { /* the words turn by one a round */
        turn(s, 0, w[i] + rounds[i]);
        turn(s, 7, w[i + 1] + rounds[i + 1]);
        turn(s, 6, w[i + 2] + rounds[i + 2]);
        turn(s, 5, w[i + 3] + rounds[i + 3]);
        turn(s, 4, w[i + 4] + rounds[i + 4]);
        turn(s, 3, w[i + 5] + rounds[i + 5]);
        turn(s, 2, w[i + 6] + rounds[i + 6]);
        turn(s, 1, w[i + 7] + rounds[i + 7]);
    }
    for (int i = 0; i < 8; i++)
        state[i] += s[i];
}

void
rt_hash(const void *data, size_t n, uint8_t digest[RT_DIGEST])
{
    uint32_t state[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                         0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    uint8_t last[2 * BLOCK] = {0};
    size_t whole = n / BLOCK * BLOCK, rest = n - whole;
    size_t padded = rest < LENGTH_AT ? BLOCK : 2 * BLOCK;
    const uint8_t *bytes = data;

    for (size_t at = 0; at < whole; at += BLOCK)
        mix(state, bytes + at);
    if (rest)
        memcpy(last, bytes + whole, rest);
    last[rest] = 0x80;
    for (unsigned i = 0; i < 8; i++)
        last[padded - 1 - i] = (uint8_t)((uint64_t)n * 8 >> (8 * i));
    for (size_t at = 0; at < padded; at += BLOCK)
        mix(state, last + at);
    for (int i = 0; i < RT_DIGEST; i++)
        digest[i] = (uint8_t)(state[i / 4] >> (24 - i % 4 * 8));
}
