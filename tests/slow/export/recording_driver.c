/* Stands where libcuda would be: says what it was asked, one line a call, and does nothing.
 * PARAMETER_SIZES holds the bytes of the kernel's parameters. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    unsigned int id;
    char pad[4];
    unsigned int value[16];
} Attribute;

typedef struct {
    unsigned int grid[3], block[3], shared;
    void *stream;
    Attribute *attributes;
    unsigned int count;
} Config;

static unsigned long long next_address = 0x7000;

int cuModuleLoadData(void **module, const unsigned char *image) {
    printf("load %02x %.3s\n", image[0], image + 1);
    *module = (void *)0x10;
    return 0;
}

int cuModuleUnload(void *module) {
    printf("unload %p\n", module);
    return 0;
}

int cuModuleGetFunction(void **function, void *module, const char *name) {
    printf("function %p %s\n", module, name);
    *function = (void *)0x20;
    return getenv("NO_FUNCTION") ? 500 : 0;
}

int cuFuncSetAttribute(void *function, int attribute, int value) {
    printf("set %p %d %d\n", function, attribute, value);
    return 0;
}

int cuMemAllocAsync(unsigned long long *address, size_t bytes, void *stream) {
    *address = next_address += 0x1000;
    printf("allocate %zu %p -> %llx\n", bytes, stream, *address);
    return 0;
}

int cuMemFreeAsync(unsigned long long address, void *stream) {
    printf("free %llx %p\n", address, stream);
    return 0;
}

int cuLaunchKernelEx(const Config *c, void *function, void **parameters, void **extra) {
    char *sizes = strdup(getenv("PARAMETER_SIZES"));
    printf("launch %p %u,%u,%u %u,%u,%u %u %p %p\n", function, c->grid[0], c->grid[1], c->grid[2],
           c->block[0], c->block[1], c->block[2], c->shared, c->stream, (void *)extra);
    for (unsigned int i = 0; i < c->count; i++)
        printf("attribute %u %u %u %u\n", c->attributes[i].id, c->attributes[i].value[0],
               c->attributes[i].value[1], c->attributes[i].value[2]);
    for (char *size = strtok(sizes, " "); size; size = strtok(NULL, " "), parameters++) {
        const unsigned char *bytes = *parameters;
        printf("parameter ");
        for (int i = atoi(size) - 1; i >= 0; i--)
            printf("%02x", bytes[i]);
        printf("\n");
    }
    free(sizes);
    return 0;
}
