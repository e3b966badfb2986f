# expect: syntax_error, line 3, hint CUDA C++
# says: invalid syntax
__global__ void add(float* x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] += 1;
}
# applied 3: import triton
# applied 3+: import triton.language as tl
# applied 3+: @triton.jit
# applied 3+: def add(x, n, BLOCK: tl.constexpr):
# applied 3+:     i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
# applied 3+:     tl.store(x + i, tl.load(x + i, i < n) + 1, i < n)
# applied 4:
# applied 5:
# applied 6:
# applied with: {"signature": {"x": "*fp32", "n": "i32"}, "constexprs": {"BLOCK": 64}}
