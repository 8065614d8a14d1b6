// SPDX-License-Identifier: MIT
//
// A loop of epoll_pwait whose system calls are inline: no function of a library waits. Requests are those of requests.h.
use std::arch::asm;
use std::time::{Duration, Instant};

#[cfg(target_arch = "x86_64")]
mod call {
    pub const READ: usize = 0;
    pub const EVENTFD2: usize = 290;
    pub const EPOLL_CREATE1: usize = 291;
    pub const EPOLL_CTL: usize = 233;
    pub const EPOLL_PWAIT: usize = 281;
}
#[cfg(target_arch = "aarch64")]
mod call {
    pub const READ: usize = 63;
    pub const EVENTFD2: usize = 19;
    pub const EPOLL_CREATE1: usize = 20;
    pub const EPOLL_CTL: usize = 21;
    pub const EPOLL_PWAIT: usize = 22;
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
unsafe fn syscall(number: usize, args: [usize; 5]) -> isize {
    let result: isize;
    asm!("syscall", inlateout("rax") number as isize => result, in("rdi") args[0], in("rsi") args[1], in("rdx") args[2],
         in("r10") args[3], in("r8") args[4], out("rcx") _, out("r11") _);
    result
}

#[cfg(target_arch = "aarch64")]
#[inline(always)]
unsafe fn syscall(number: usize, args: [usize; 5]) -> isize {
    let result: isize;
    asm!("svc 0", in("x8") number, inlateout("x0") args[0] as isize => result, in("x1") args[1], in("x2") args[2],
         in("x3") args[3], in("x4") args[4]);
    result
}

#[inline(never)]
fn compute(ms: u64) {
    let end = Instant::now() + Duration::from_millis(ms);
    while Instant::now() < end {}
}

#[inline(never)]
fn block(ms: u64) {
    std::thread::sleep(Duration::from_millis(ms));
}

fn monotonic_ns(zero: Instant, base: u128) -> u128 {
    base + zero.elapsed().as_nanos()
}

#[repr(C)]
struct Timespec {
    seconds: i64,
    nanoseconds: i64,
}
extern "C" {
    fn clock_gettime(clock: i32, out: *mut Timespec) -> i32;
}

fn main() {
    let tick: isize = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(0);
    let timeout = if tick > 0 { tick } else { -1 };
    let mut now = Timespec { seconds: 0, nanoseconds: 0 };
    unsafe { clock_gettime(1, &mut now) };
    let (zero, base) = (Instant::now(), now.seconds as u128 * 1_000_000_000 + now.nanoseconds as u128);
    let (mut event, mut line, mut interrupted) = ([1u32, 0, 0, 0], [0u8; 64], 0);
    let epoll = unsafe { syscall(call::EPOLL_CREATE1, [0; 5]) } as usize;
    unsafe { syscall(call::EPOLL_CTL, [epoll, 1, 0, event.as_mut_ptr() as usize, 0]) };
    let wakes = unsafe { syscall(call::EVENTFD2, [0; 5]) } as usize; // other threads would wake the loop by it
    unsafe { syscall(call::EPOLL_CTL, [epoll, 1, wakes, event.as_mut_ptr() as usize, 0]) };
    println!("ready");
    loop {
        let n = unsafe { syscall(call::EPOLL_PWAIT, [epoll, event.as_mut_ptr() as usize, 1, timeout as usize, 0]) };
        interrupted += (n == -4) as u32;
        if n != 1 {
            continue;
        }
        let n = unsafe { syscall(call::READ, [0, line.as_mut_ptr() as usize, line.len(), 0, 0]) };
        let text = String::from_utf8_lossy(&line[..n.max(0) as usize]).into_owned();
        let words: Vec<&str> = text.split_whitespace().collect();
        if words.len() < 2 {
            println!("interrupted {}", interrupted);
            return;
        }
        let start = monotonic_ns(zero, base);
        if words[0] == "cpu" { compute(words[1].parse().unwrap()) } else { block(words[1].parse().unwrap()) }
        println!("stall {} {} {}", words[0], start, monotonic_ns(zero, base));
    }
}
