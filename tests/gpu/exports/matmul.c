/* Launches an exported matmul that needs more than 48 KiB of shared memory. */
#include HEADER
#include "driver.h"
#include "values.h"

int main(void) {
    static uint16_t a[M_TILE * K_EXTENT], b[K_EXTENT * N_TILE];
    static float c[M_TILE * N_TILE];
    matmul_module loaded;
    for (int i = 0; i < M_TILE * K_EXTENT; i++)
        a[i] = half_of(a_of(i));
    for (int i = 0; i < K_EXTENT * N_TILE; i++)
        b[i] = half_of(b_of(i));
    use_first_gpu();
    CUdeviceptr on_a = on_gpu(a, sizeof a), on_b = on_gpu(b, sizeof b), to = on_gpu(c, sizeof c);
    check(matmul_load(&loaded), "load");
    check(matmul_launch(&loaded, NULL, 1, 1, 1, on_a, on_b, to, K_EXTENT), "launch");
    check(cuCtxSynchronize(), "kernel");
    check(cuMemcpyDtoH_v2(c, to, sizeof c), "cuMemcpyDtoH");
    for (int i = 0; i < M_TILE * N_TILE; i++)
        if (c[i] != product_of(i / N_TILE, i % N_TILE))
            return printf("element %d is %g, not %g\n", i, c[i],
                          product_of(i / N_TILE, i % N_TILE)), 1;
    return printf("right: %d elements\n", M_TILE * N_TILE), 0;
}
