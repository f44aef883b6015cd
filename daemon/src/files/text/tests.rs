use proptest::prelude::*;

use super::{Coding, NoText, NotInEncoding, decode};

fn utf16(text: &str, bytes: fn(u16) -> [u8; 2]) -> Vec<u8> {
    format!("\u{feff}{text}").encode_utf16().flat_map(bytes).collect()
}

#[test]
fn encodings_are_told_and_named() {
    for (bytes, text, name) in [
        (b"h\xc3\xa9\n".to_vec(), "hé\n", "UTF-8"),
        (b"\xef\xbb\xbfh".to_vec(), "h", "UTF-8 with BOM"),
        (b"\xef\xbb\xbf\xef\xbb\xbfh".to_vec(), "\u{feff}h", "UTF-8 with BOM"),
        (utf16("hé\r\n😀", u16::to_le_bytes), "hé\r\n😀", "UTF-16 LE"),
        (utf16("hé", u16::to_be_bytes), "hé", "UTF-16 BE"),
        (b"caf\xe9 cr\xe8me, d\xe9j\xe0 vu\n".to_vec(), "café crème, déjà vu\n", "windows-1252"),
        (b"\x93\xfa\x96\x7b\x8c\xea\x82\xc5\x82\xb7\n".to_vec(), "日本語です\n", "Shift_JIS"),
        (Vec::new(), "", "UTF-8"),
    ] {
        let read = decode(&bytes).unwrap();
        assert_eq!((read.text.as_ref(), read.coding.name()), (text, name));
        assert_eq!(read.coding.encode(&read.text).unwrap(), bytes);
    }
}

#[test]
fn what_is_no_text_is_told() {
    assert_eq!(decode(b"a\0b"), Err(NoText::Binary(3)));
    assert_eq!(decode(b"\xff\xfea"), Err(NoText::Unknown(3)));
    assert_eq!(decode(b"\xff\xfe\0\xd8"), Err(NoText::Binary(4)));
    assert_eq!(decode(b"\xff\xfe\0\0"), Err(NoText::Binary(4)));
    assert_eq!(decode(b"\x01\xe9"), Err(NoText::Unknown(2)));
}

#[test]
fn a_character_that_the_encoding_lacks_is_named() {
    let read = decode(b"caf\xe9 cr\xe8me, d\xe9j\xe0 vu\n").unwrap();
    let told = read.coding.encode("café → x").unwrap_err();
    assert_eq!(told, NotInEncoding { encoding: "windows-1252", character: '→' });
    assert_eq!(Coding::UTF_8.encode("→").unwrap(), "→".as_bytes());
}

proptest! {
    #[test]
    fn any_bytes_that_are_text_come_back(bytes in proptest::collection::vec(any::<u8>(), 0..40), mark in 0_usize..4) {
        let mark: &[u8] = [b"".as_slice(), b"\xff\xfe", b"\xfe\xff", b"\xef\xbb\xbf"][mark];
        let bytes = [mark, &bytes].concat();
        if let Ok(read) = decode(&bytes) {
            prop_assert_eq!(read.coding.encode(&read.text).unwrap(), bytes);
        }
    }

    #[test]
    fn bytes_of_old_encodings_come_back(bytes in proptest::collection::vec(prop_oneof![0x20_u8..0x7f, 0x80_u8..=0xff], 0..60)) {
        if let Ok(read) = decode(&bytes) {
            prop_assert_eq!(read.coding.encode(&read.text).unwrap(), bytes);
        }
    }
}
