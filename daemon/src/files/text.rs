//! A file's bytes as text, and back to the same bytes: what cannot go both ways is no text to us. It touches no file.

use std::borrow::Cow;

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};

/// How text is written as bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Coding {
    encoding: Encoding,
    mark: Mark,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Encoding {
    Utf8,
    Utf16Le,
    Utf16Be,
    /// As its bytes look.
    Guessed(&'static encoding_rs::Encoding),
}

/// Whether a byte order mark stands in front.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mark {
    None,
    Bom,
}

/// Byte order marks.
const MARKS: [&[u8]; 3] = [b"\xff\xfe", b"\xfe\xff", b"\xef\xbb\xbf"];

/// A text and how it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Text<'a> {
    pub text: Cow<'a, str>,
    pub coding: Coding,
}

/// Why bytes are no text to us.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NoText {
    #[error("is binary ({0} bytes)")]
    Binary(usize),
    #[error("is text of an encoding that cannot be told, or not well-formed ({0} bytes)")]
    Unknown(usize),
}

/// A character that the file's encoding does not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the file is {encoding}, which has no `{character}`")]
pub struct NotInEncoding {
    pub encoding: &'static str,
    pub character: char,
}

impl Coding {
    /// What new files are written in.
    pub const UTF_8: Coding = Coding { encoding: Encoding::Utf8, mark: Mark::None };

    /// As people call it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match (self.encoding, self.mark) {
            (Encoding::Utf8, Mark::None) => "UTF-8",
            (Encoding::Utf8, Mark::Bom) => "UTF-8 with BOM",
            (Encoding::Utf16Le, _) => "UTF-16 LE",
            (Encoding::Utf16Be, _) => "UTF-16 BE",
            (Encoding::Guessed(encoding), _) => encoding.name(),
        }
    }

    /// Whether it is UTF-8, with a mark or without.
    #[must_use]
    pub fn is_utf8(self) -> bool {
        self.encoding == Encoding::Utf8
    }

    /// Whether the encoding is a guess.
    #[must_use]
    pub fn is_guessed(self) -> bool {
        matches!(self.encoding, Encoding::Guessed(_))
    }

    /// `text` in this encoding.
    ///
    /// # Errors
    /// [`NotInEncoding`].
    pub fn encode(self, text: &str) -> Result<Vec<u8>, NotInEncoding> {
        let mark = match self.mark {
            Mark::None => "",
            Mark::Bom => "\u{feff}",
        };
        let units = || mark.encode_utf16().chain(text.encode_utf16());
        Ok(match self.encoding {
            Encoding::Utf8 => [mark.as_bytes(), text.as_bytes()].concat(),
            Encoding::Utf16Le => units().flat_map(u16::to_le_bytes).collect(),
            Encoding::Utf16Be => units().flat_map(u16::to_be_bytes).collect(),
            Encoding::Guessed(encoding) => match exactly(encoding, text) {
                Some(bytes) => bytes,
                None => {
                    let missing = text.chars().find(|c| exactly(encoding, c.encode_utf8(&mut [0; 4])).is_none());
                    return Err(NotInEncoding { encoding: encoding.name(), character: missing.unwrap_or('\u{fffd}') });
                }
            },
        })
    }
}

/// The bytes as text. Encoding the same text again gives the same bytes.
///
/// # Errors
/// [`NoText`].
pub fn decode(bytes: &[u8]) -> Result<Text<'_>, NoText> {
    let text = if let Some(rest) = bytes.strip_prefix(b"\xff\xfe") {
        utf16(rest, u16::from_le_bytes, Encoding::Utf16Le)
    } else if let Some(rest) = bytes.strip_prefix(b"\xfe\xff") {
        utf16(rest, u16::from_be_bytes, Encoding::Utf16Be)
    } else {
        let (mark, rest) = bytes.strip_prefix(b"\xef\xbb\xbf").map_or((Mark::None, bytes), |rest| (Mark::Bom, rest));
        let utf8 = std::str::from_utf8(rest).ok();
        utf8.map(|text| Text { text: text.into(), coding: Coding { encoding: Encoding::Utf8, mark } })
    };
    // What has a mark says what it is.
    let is_marked = MARKS.iter().any(|mark| bytes.starts_with(mark));
    let text = text.or_else(|| if is_marked { None } else { guessed(bytes) });
    match text {
        Some(text) if text.text.contains('\0') => Err(NoText::Binary(bytes.len())),
        Some(text) => Ok(text),
        None if bytes.contains(&0) => Err(NoText::Binary(bytes.len())),
        None => Err(NoText::Unknown(bytes.len())),
    }
}

fn utf16(bytes: &[u8], unit: fn([u8; 2]) -> u16, encoding: Encoding) -> Option<Text<'static>> {
    let pairs = bytes.chunks_exact(2);
    if !pairs.remainder().is_empty() {
        return None;
    }
    let units = pairs.map(|pair| unit([pair[0], pair[1]]));
    let text = char::decode_utf16(units).collect::<Result<String, _>>().ok()?;
    Some(Text { text: text.into(), coding: Coding { encoding, mark: Mark::Bom } })
}

/// Bytes that look like text of an older encoding, if that gives the same bytes again.
fn guessed(bytes: &[u8]) -> Option<Text<'_>> {
    let is_control = |byte: &u8| matches!(byte, 0..=8 | 0x0e..=0x1a | 0x1c..=0x1f | 0x7f);
    if bytes.iter().any(is_control) {
        return None;
    }
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Deny);
    detector.feed(bytes, true);
    let encoding = detector.guess(None, Utf8Detection::Deny);
    let text = encoding.decode_without_bom_handling_and_without_replacement(bytes)?;
    (exactly(encoding, &text).as_deref() == Some(bytes))
        .then_some(Text { text, coding: Coding { encoding: Encoding::Guessed(encoding), mark: Mark::None } })
}

/// `text` in `encoding`, if it says the same when it is read again.
fn exactly(encoding: &'static encoding_rs::Encoding, text: &str) -> Option<Vec<u8>> {
    let (bytes, _, replaced) = encoding.encode(text);
    let again = || encoding.decode_without_bom_handling_and_without_replacement(&bytes);
    (!replaced && again().as_deref() == Some(text)).then(|| bytes.to_vec())
}

#[cfg(test)]
mod tests;
