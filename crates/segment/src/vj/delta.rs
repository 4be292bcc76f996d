//! How differences are written (RFC 1144 section 3.2.3): 1 to 255 in a byte, anything else of 16 bits in three.

/// Appends a number: zero and what is over 255 are a zero byte and 16 bits.
pub(crate) fn put(value: u16, out: &mut Vec<u8>) {
    match u8::try_from(value) {
        Ok(byte) if byte != 0 => out.push(byte),
        _ => {
            out.push(0);
            out.extend_from_slice(&value.to_be_bytes());
        }
    }
}

/// Takes a number off the front; `None` if it is cut.
pub(crate) fn take(bytes: &mut &[u8]) -> Option<u16> {
    let (first, rest) = bytes.split_first()?;
    if *first != 0 {
        *bytes = rest;
        return Some(u16::from(*first));
    }
    let (value, rest) = rest.split_first_chunk()?;
    *bytes = rest;
    Some(u16::from_be_bytes(*value))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 1144 section 3.2.3: "values 1 to 255 in a byte; a zero byte says that two bytes follow, 256 to 65535 or 0".
    #[test]
    fn layouts() {
        for (value, bytes) in [
            (1, &[1][..]),
            (255, &[255]),
            (256, &[0, 1, 0]),
            (2920, &[0, 0x0b, 0x68]),
            (65_535, &[0, 0xff, 0xff]),
            (0, &[0, 0, 0]),
        ] {
            let mut out = vec![];
            put(value, &mut out);
            assert_eq!(out, bytes);
            let mut rest = &out[..];
            assert_eq!((take(&mut rest), rest), (Some(value), &[][..]));
        }
    }

    #[test]
    fn cut_numbers_are_none() {
        for bytes in [&[][..], &[0], &[0, 7]] {
            assert_eq!(take(&mut &bytes[..]), None);
        }
    }
}
