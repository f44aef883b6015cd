//! How a notebook's JSON is laid out, so that what is written into it looks like the rest. It knows no cell.

use std::fmt;
use std::ops::Range;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

/// An object's fields in their order, each value as its bytes.
pub struct Fields<'a>(pub Vec<(String, &'a RawValue)>);

impl<'a> Fields<'a> {
    pub fn get(&self, name: &str) -> Option<&'a RawValue> {
        self.0.iter().find(|field| field.0 == name).map(|field| field.1)
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Fields<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct InOrder;
        impl<'de> Visitor<'de> for InOrder {
            type Value = Vec<(String, &'de RawValue)>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut fields = Vec::new();
                while let Some(field) = map.next_entry()? {
                    fields.push(field);
                }
                Ok(fields)
            }
        }
        deserializer.deserialize_map(InOrder).map(Fields)
    }
}

/// Where `raw`, which was read from `text`, stands in it.
pub fn span(text: &str, raw: &RawValue) -> Range<usize> {
    let start = (raw.get().as_ptr() as usize).saturating_sub(text.as_ptr() as usize);
    start..start + raw.get().len()
}

/// A string as JSON.
pub fn json(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// White space of an object.
pub struct Layout {
    /// In front of each field.
    open: String,
    /// In front of the closing bracket.
    pub close: String,
    /// Between name and value.
    colon: String,
}

impl Layout {
    /// As Jupyter writes it: one space a level.
    pub fn usual() -> Layout {
        Layout { open: "\n   ".to_owned(), close: "\n  ".to_owned(), colon: ": ".to_owned() }
    }

    /// As `object`, read from `text`, is laid out.
    pub fn of(object: &str, fields: &Fields<'_>, text: &str) -> Layout {
        let Some((_, first)) = fields.0.first() else { return Layout::usual() };
        let inner = &object[1..object.len() - 1];
        let space = |it: &str| it.chars().take_while(char::is_ascii_whitespace).collect::<String>();
        let open = space(inner);
        let close: String = inner[inner.trim_end().len()..].to_owned();
        let before = &text[..span(text, first).start];
        let colon = before.rsplit('"').next().unwrap_or(": ").to_owned();
        Layout { open, close, colon }
    }

    pub fn object(&self, fields: &[(String, String)]) -> String {
        let fields: Vec<String> = fields.iter().map(|(name, value)| format!("{}{}{value}", json(name), self.colon)).collect();
        let between = if self.open.is_empty() { self.space() } else { self.open.clone() };
        format!("{{{}{}{}}}", self.open, fields.join(&format!(",{between}")), self.close)
    }

    /// A text as the list of its lines, in a field of the object.
    pub fn lines(&self, text: &str) -> String {
        if text.is_empty() {
            return "[]".to_owned();
        }
        let lines: Vec<String> = text.split_inclusive('\n').map(json).collect();
        if !self.open.contains('\n') {
            return format!("[{}]", lines.join(&format!(",{}", self.space())));
        }
        let open = format!("{}{}", self.open, self.step());
        format!("[{open}{}{}]", lines.join(&format!(",{open}")), self.open)
    }

    /// In front of the bracket that closes what the object lies in.
    pub fn outer_close(&self) -> String {
        self.close.strip_suffix(self.step()).unwrap_or(&self.close).to_owned()
    }

    /// What one level is indented by.
    fn step(&self) -> &str {
        self.open.strip_prefix(self.close.as_str()).unwrap_or(" ")
    }

    fn space(&self) -> String {
        if self.colon.ends_with(' ') { " ".to_owned() } else { String::new() }
    }
}
