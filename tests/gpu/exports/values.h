/* Inputs that every program makes alike, small enough that all sums are exact. */
#ifndef TESTS_VALUES_H
#define TESTS_VALUES_H
#include <stdint.h>
enum { N = 98432, BLOCK = 1024, M_TILE = 128, N_TILE = 128, K_EXTENT = 256 };

static float x_of(int i) { return (float)(i % 1000) * 0.5f; }
static float y_of(int i) { return (float)(i % 77) - 3.0f; }

static int a_of(int i) { return (i * 7 + i / 13) % 8; }
static int b_of(int i) { return (i * 5 + i / 11) % 8; }

/* 0..7 as fp16 */
static uint16_t half_of(int i) {
    static const uint16_t bits[8] = {0,      0x3c00, 0x4000, 0x4200,
                                     0x4400, 0x4500, 0x4600, 0x4700};
    return bits[i];
}

static float product_of(int row, int column) {
    float total = 0;
    for (int k = 0; k < K_EXTENT; k++)
        total += (float)(a_of(row * K_EXTENT + k) * b_of(k * N_TILE + column));
    return total;
}
#endif
