# expect: syntax_error, line 3, hint CUDA C++
# says: invalid syntax
__global__ void add(float* x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] += 1;
}
