// A CUDA kernel that calls an exported vector add twice, in two launches of its own.
#include HEADER
#include "values.h"
#include <cstdio>

__global__ void __launch_bounds__(ADD_KERNEL_THREADS)
outer(float *x, float *y, float *out, float *doubled, int n) {
    add_kernel(x, y, out, n);
    __syncthreads();
    add_kernel(out, out, doubled, n);
}

int main() {
    float *x, *y, *out, *doubled;
    for (float **buffer : {&x, &y, &out, &doubled})
        if (cudaMalloc(buffer, N * sizeof(float)) != cudaSuccess)
            return std::printf("cudaMalloc failed\n"), 1;
    static float hx[N], hy[N], result[N];
    for (int i = 0; i < N; i++)
        hx[i] = x_of(i), hy[i] = y_of(i);
    cudaMemcpy(x, hx, sizeof hx, cudaMemcpyHostToDevice);
    cudaMemcpy(y, hy, sizeof hy, cudaMemcpyHostToDevice);
    outer<<<(N + BLOCK - 1) / BLOCK, ADD_KERNEL_THREADS>>>(x, y, out, doubled, N);
    cudaError_t error = cudaMemcpy(result, doubled, sizeof result, cudaMemcpyDeviceToHost);
    if (error != cudaSuccess)
        return std::printf("%s\n", cudaGetErrorString(error)), 1;
    for (int i = 0; i < N; i++)
        if (result[i] != 2 * (x_of(i) + y_of(i)))
            return std::printf("element %d is %g\n", i, result[i]), 1;
    return std::printf("right: %d elements\n", N), 0;
}
