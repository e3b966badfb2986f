// A CUDA kernel that calls an exported matmul, with shared memory of its own making.
#include HEADER
#include "values.h"
#include <cstdio>

__global__ void __launch_bounds__(MATMUL_THREADS)
outer(uint16_t *a, uint16_t *b, float *c, int k) {
    extern __shared__ __align__(128) unsigned char shared[];
    matmul(a, b, c, k, shared);
}

int main() {
    static uint16_t ha[M_TILE * K_EXTENT], hb[K_EXTENT * N_TILE];
    static float result[M_TILE * N_TILE];
    for (int i = 0; i < M_TILE * K_EXTENT; i++)
        ha[i] = half_of(a_of(i));
    for (int i = 0; i < K_EXTENT * N_TILE; i++)
        hb[i] = half_of(b_of(i));
    uint16_t *a, *b;
    float *c;
    cudaMalloc(&a, sizeof ha);
    cudaMalloc(&b, sizeof hb);
    cudaMalloc(&c, sizeof result);
    cudaMemcpy(a, ha, sizeof ha, cudaMemcpyHostToDevice);
    cudaMemcpy(b, hb, sizeof hb, cudaMemcpyHostToDevice);
    cudaFuncSetAttribute(outer, cudaFuncAttributeMaxDynamicSharedMemorySize, MATMUL_SHARED_BYTES);
    outer<<<1, MATMUL_THREADS, MATMUL_SHARED_BYTES>>>(a, b, c, K_EXTENT);
    cudaError_t error = cudaGetLastError();
    if (error == cudaSuccess)
        error = cudaMemcpy(result, c, sizeof result, cudaMemcpyDeviceToHost);
    if (error != cudaSuccess)
        return std::printf("%s\n", cudaGetErrorString(error)), 1;
    for (int i = 0; i < M_TILE * N_TILE; i++)
        if (result[i] != product_of(i / N_TILE, i % N_TILE))
            return std::printf("element %d is %g\n", i, result[i]), 1;
    return std::printf("right: %d elements\n", M_TILE * N_TILE), 0;
}
