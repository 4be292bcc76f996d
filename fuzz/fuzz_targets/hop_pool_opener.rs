#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| (longhaul_fuzz::target("hop_pool_opener").expect("it is listed").run)(input));
