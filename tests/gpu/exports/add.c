/* Launches an exported vector add and checks every element. */
#include HEADER
#include "driver.h"
#include "values.h"

int main(void) {
    static float x[N], y[N], out[N];
    add_kernel_module loaded;
    for (int i = 0; i < N; i++)
        x[i] = x_of(i), y[i] = y_of(i), out[i] = -1;
    use_first_gpu();
    CUdeviceptr on_x = on_gpu(x, sizeof x), on_y = on_gpu(y, sizeof y), to = on_gpu(out, sizeof out);
    check(add_kernel_load(&loaded), "load");
    check(add_kernel_launch(&loaded, NULL, (N + BLOCK - 1) / BLOCK, 1, 1, on_x, on_y, to, N),
          "launch");
    check(cuCtxSynchronize(), "kernel");
    check(cuMemcpyDtoH_v2(out, to, sizeof out), "cuMemcpyDtoH");
    check(add_kernel_unload(&loaded), "unload");
    for (int i = 0; i < N; i++)
        if (out[i] != x_of(i) + y_of(i))
            return printf("element %d is %g, not %g\n", i, out[i], x_of(i) + y_of(i)), 1;
    return printf("right: %d elements\n", N), 0;
}
