//! Launches an exported vector add and checks every element.
use std::os::raw::{c_int, c_uint, c_void};

#[path = "kernel.rs"]
mod kernel;

unsafe extern "C" {
    fn cuInit(flags: c_uint) -> c_int;
    fn cuDeviceGet(device: *mut c_int, ordinal: c_int) -> c_int;
    fn cuDevicePrimaryCtxRetain(context: *mut *mut c_void, device: c_int) -> c_int;
    fn cuCtxSetCurrent(context: *mut c_void) -> c_int;
    fn cuCtxSynchronize() -> c_int;
    fn cuMemAlloc_v2(address: *mut u64, bytes: usize) -> c_int;
    fn cuMemcpyHtoD_v2(target: u64, source: *const c_void, bytes: usize) -> c_int;
    fn cuMemcpyDtoH_v2(target: *mut c_void, source: u64, bytes: usize) -> c_int;
}

const N: usize = 98432;

fn check(result: c_int, what: &str) {
    assert_eq!(result, 0, "{what}: CUDA error {result}");
}

unsafe fn on_gpu(data: &[f32]) -> u64 {
    let (mut address, bytes) = (0, std::mem::size_of_val(data));
    unsafe {
        check(cuMemAlloc_v2(&mut address, bytes), "cuMemAlloc");
        check(cuMemcpyHtoD_v2(address, data.as_ptr().cast(), bytes), "cuMemcpyHtoD");
    }
    address
}

fn main() {
    let x: Vec<f32> = (0..N).map(|i| (i % 1000) as f32 * 0.5).collect();
    let y: Vec<f32> = (0..N).map(|i| (i % 77) as f32 - 3.0).collect();
    let mut out = vec![-1.0f32; N];
    unsafe {
        let (mut device, mut context) = (0, std::ptr::null_mut());
        check(cuInit(0), "cuInit");
        check(cuDeviceGet(&mut device, 0), "cuDeviceGet");
        check(cuDevicePrimaryCtxRetain(&mut context, device), "cuDevicePrimaryCtxRetain");
        check(cuCtxSetCurrent(context), "cuCtxSetCurrent");
        let (on_x, on_y, to) = (on_gpu(&x), on_gpu(&y), on_gpu(&out));
        let loaded = kernel::AddKernel::load().expect("load");
        let grid = [N.div_ceil(1024) as u32, 1, 1];
        loaded.launch(std::ptr::null_mut(), grid, on_x, on_y, to, N as i32).expect("launch");
        check(cuCtxSynchronize(), "kernel");
        check(cuMemcpyDtoH_v2(out.as_mut_ptr().cast(), to, N * 4), "cuMemcpyDtoH");
    }
    for i in 0..N {
        assert_eq!(out[i], x[i] + y[i], "element {i}");
    }
    println!("right: {N} elements");
}
