#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| (longhaul_fuzz::target("elements").expect("it is listed").run)(input));
