#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| (longhaul_fuzz::target("packet_class").expect("it is listed").run)(input));
