/* The rest of the driver API that these programs need, beside what an export declares. */
#ifndef TESTS_DRIVER_H
#define TESTS_DRIVER_H
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
typedef void *CUcontext_test;
int cuInit(unsigned int flags);
int cuDeviceGet(int *device, int ordinal);
int cuDevicePrimaryCtxRetain(CUcontext_test *context, int device);
int cuCtxSetCurrent(CUcontext_test context);
int cuCtxSynchronize(void);
int cuMemAlloc_v2(unsigned long long *address, size_t bytes);
int cuMemcpyHtoD_v2(unsigned long long target, const void *source, size_t bytes);
int cuMemcpyDtoH_v2(void *target, unsigned long long source, size_t bytes);

static void check(int result, const char *what) {
    if (result != 0) {
        printf("%s: CUDA error %d\n", what, result);
        exit(1);
    }
}

static void use_first_gpu(void) {
    int device;
    CUcontext_test context;
    check(cuInit(0), "cuInit");
    check(cuDeviceGet(&device, 0), "cuDeviceGet");
    check(cuDevicePrimaryCtxRetain(&context, device), "cuDevicePrimaryCtxRetain");
    check(cuCtxSetCurrent(context), "cuCtxSetCurrent");
}

static unsigned long long on_gpu(const void *data, size_t bytes) {
    unsigned long long address;
    check(cuMemAlloc_v2(&address, bytes), "cuMemAlloc");
    check(cuMemcpyHtoD_v2(address, data, bytes), "cuMemcpyHtoD");
    return address;
}
#endif
