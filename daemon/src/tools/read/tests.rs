use std::io::Cursor;

use agentd_types::AbsPath;
use agentd_types::content::ResultPart;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use image::{DynamicImage, ImageFormat, RgbImage, RgbaImage};
use lopdf::content::{Content, Operation};
use lopdf::{Document, Object, Stream, dictionary};
use proptest::prelude::*;
use serde_json::json;

use super::{Input, Refusal, Shown, show};

fn wanted(input: serde_json::Value) -> Input {
    let mut whole = json!({ "file_path": "x" });
    whole.as_object_mut().unwrap().extend(input.as_object().unwrap().clone());
    serde_json::from_value(whole).unwrap()
}

fn shown(name: &str, bytes: &[u8], input: serde_json::Value) -> Result<Shown, String> {
    let path = AbsPath::new("/").unwrap().join(name);
    let wanted = wanted(input);
    wanted.check()?;
    show(&path, bytes, &wanted).map_err(|refusal| match refusal {
        Refusal::Kind(why) | Refusal::Request(why) => why,
    })
}

fn text(name: &str, bytes: &[u8], input: serde_json::Value) -> Result<String, String> {
    shown(name, bytes, input).map(|shown| {
        let texts = shown.parts.iter().map(|part| match part {
            ResultPart::Text { text } => text.as_str(),
            ResultPart::Image { .. } => "<image>",
        });
        texts.collect()
    })
}

/// The note and the picture that is sent.
fn picture(bytes: &[u8]) -> (String, String, DynamicImage) {
    match shown("x", bytes, json!({})).unwrap().parts.as_slice() {
        [ResultPart::Text { text }, ResultPart::Image { media_type, data }] => {
            let bytes = STANDARD.decode(data).unwrap();
            assert!(bytes.len() <= 500_000);
            (text.clone(), media_type.clone(), image::load_from_memory(&bytes).unwrap())
        }
        other => panic!("{other:?}"),
    }
}

fn encoded(image: &DynamicImage, format: ImageFormat) -> Vec<u8> {
    let mut bytes = Vec::new();
    image.write_to(&mut Cursor::new(&mut bytes), format).unwrap();
    bytes
}

#[test]
fn a_small_image_keeps_its_bytes_and_a_large_one_fits() {
    let small = DynamicImage::from(RgbImage::from_pixel(3, 2, image::Rgb([1, 2, 3])));
    for format in [ImageFormat::Png, ImageFormat::Jpeg, ImageFormat::Gif, ImageFormat::WebP] {
        let bytes = encoded(&small, format);
        let parts = shown("x.bin", &bytes, json!({})).unwrap().parts;
        let sent = ResultPart::Image { media_type: format.to_mime_type().into(), data: STANDARD.encode(&bytes) };
        assert_eq!(parts[1], sent);
    }
    let wide = DynamicImage::from(RgbImage::from_fn(4_000, 10, |x, _| image::Rgb([(x % 256) as u8, 0, 0])));
    let (note, media_type, sent) = picture(&encoded(&wide, ImageFormat::Png));
    assert_eq!((note.as_str(), media_type.as_str()), ("[png image, 4000x10, shown as 1568x4]", "image/png"));
    assert_eq!((sent.width(), sent.height()), (1_568, 4));
}

#[test]
fn a_heavy_image_is_written_anew_and_what_is_clear_becomes_white() {
    let mut state = 1_u32;
    let mut noise = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as u8
    };
    let heavy =
        DynamicImage::from(RgbaImage::from_fn(700, 700, |x, _| image::Rgba([noise(), noise(), noise(), if x < 350 { 0 } else { 255 }])));
    let bytes = encoded(&heavy, ImageFormat::Png);
    assert!(bytes.len() > 500_000);
    let (note, media_type, sent) = picture(&bytes);
    assert_eq!((note.as_str(), media_type.as_str()), ("[png image, 700x700]", "image/jpeg"));
    assert!(sent.to_rgb8().get_pixel(100, 100).0.iter().all(|channel| *channel > 240));
}

#[test]
fn a_broken_or_boundless_image_is_refused() {
    let whole = encoded(&DynamicImage::from(RgbImage::new(50, 50)), ImageFormat::Png);
    assert!(shown("x.png", &whole[..whole.len() / 2], json!({})).unwrap_err().contains("cannot be shown"));
    // The width, made four billion.
    let mut boundless = whole.clone();
    boundless[16..20].copy_from_slice(&[0xff; 4]);
    assert!(shown("x.png", &boundless, json!({})).is_err());
}

fn pdf(pages: &[&str]) -> Vec<u8> {
    let mut document = Document::with_version("1.5");
    let parent = document.new_object_id();
    let font = document.add_object(dictionary! { "Type" => "Font", "Subtype" => "Type1", "BaseFont" => "Courier" });
    let resources = document.add_object(dictionary! { "Font" => dictionary! { "F1" => font } });
    let kids: Vec<Object> = pages
        .iter()
        .map(|text| {
            let say = vec![
                Operation::new("BT", vec![]),
                Operation::new("Tf", vec!["F1".into(), 12.into()]),
                Operation::new("Tj", vec![Object::string_literal(*text)]),
                Operation::new("ET", vec![]),
            ];
            let content = document.add_object(Stream::new(dictionary! {}, Content { operations: say }.encode().unwrap()));
            let page = dictionary! { "Type" => "Page", "Parent" => parent, "Contents" => content, "Resources" => resources };
            document.add_object(page).into()
        })
        .collect();
    let count = i64::try_from(kids.len()).unwrap();
    let size: Vec<Object> = [0, 0, 595, 842].map(Object::from).to_vec();
    document
        .objects
        .insert(parent, Object::Dictionary(dictionary! { "Type" => "Pages", "Kids" => kids, "Count" => count, "MediaBox" => size }));
    let catalog = document.add_object(dictionary! { "Type" => "Catalog", "Pages" => parent });
    document.trailer.set("Root", catalog);
    let mut bytes = Vec::new();
    document.save_to(&mut bytes).unwrap();
    bytes
}

#[test]
fn a_pdf_is_read_by_pages() {
    let two = pdf(&["Hello", ""]);
    let all = text("x.pdf", &two, json!({})).unwrap();
    assert_eq!(all, "--- page 1 of 2 ---\nHello\n--- page 2 of 2 ---\n[no text on this page: it may be an image]\n");
    let many = pdf(&["page"; 25]);
    assert!(text("x.pdf", &many, json!({})).unwrap_err().contains("it has 25 pages: say which with pages"));
    let some = shown("x.pdf", &many, json!({ "pages": "24-40" })).unwrap();
    assert_eq!(some.range, (24, 25));
    assert!(text("x.pdf", &many, json!({ "pages": "26" })).unwrap_err().contains("there is no page 26"));
    for bad in ["0", "3-2", "x", "", "1-21", "-"] {
        assert!(text("x.pdf", &many, json!({ "pages": bad })).is_err(), "{bad}");
    }
    assert!(text("x.pdf", &two[..two.len() / 3], json!({})).is_err());
    assert!(text("x.txt", b"hello", json!({ "pages": "1" })).unwrap_err().contains("it is no PDF"));
}

#[test]
fn a_notebook_is_read_by_cells_and_its_images_are_seen() {
    let pixel = STANDARD.encode(encoded(&DynamicImage::from(RgbImage::new(1, 1)), ImageFormat::Png));
    let cell = |id: &str, outputs: serde_json::Value| json!({ "cell_type": "code", "id": id, "execution_count": 2, "source": ["a\n", "b"], "outputs": outputs });
    let notebook = json!({ "nbformat": 4, "nbformat_minor": 5, "cells": [
        cell("x1", json!([{ "output_type": "stream", "text": "o".repeat(20_000) }])),
        cell("x2", json!([{ "output_type": "display_data", "data": { "image/png": pixel } }, { "output_type": "display_data", "data": { "image/png": "AAAA" } }])),
    ] })
    .to_string();
    let all = text("x.ipynb", notebook.as_bytes(), json!({})).unwrap();
    assert!(all.starts_with("<cell id=\"x1\" type=\"code\" run=\"2\">\na\nb\n</cell>\n<output>\nooo"), "{}", &all[..80]);
    assert!(
        all.contains("[… 10000 bytes left out …]") && all.ends_with("</cell>\n<image><output>[an image that cannot be shown]</output>\n")
    );
    let part = text("x.ipynb", notebook.as_bytes(), json!({ "limit": 1 })).unwrap();
    assert!(part.ends_with("[cells 1 to 1 of 2; go on with offset 2]\n"));
    assert!(text("x.ipynb", notebook.as_bytes(), json!({ "offset": 3 })).unwrap_err().contains("there is no cell 3"));
    // What is none is shown as the text it is.
    assert_eq!(text("x.ipynb", b"{}", json!({})).unwrap(), "     1\t{}\n");
}

#[test]
fn encodings_are_named_and_read() {
    let utf16: Vec<u8> = "\u{feff}hé\r\nho".encode_utf16().flat_map(u16::to_le_bytes).collect();
    assert_eq!(text("x", &utf16, json!({})).unwrap(), "     1\thé\n     2\tho\n[UTF-16 LE; Edit and Write keep it]\n");
    let latin = b"caf\xe9 cr\xe8me, d\xe9j\xe0 vu\n";
    assert!(text("x", latin, json!({})).unwrap().starts_with("     1\tcafé crème, déjà vu\n[windows-1252, as far as its bytes tell"));
    assert!(text("x", b"\x01\xe9", json!({})).unwrap().contains("encoding that cannot be told"));
    assert!(text("x", b"a\0", json!({})).unwrap_err().contains("is binary (2 bytes)"));
}

proptest! {
    #[test]
    fn page_by_page_every_line_is_shown_once(lines in proptest::collection::vec("[a-z]{0,5}", 1..30), limit in 1_u64..8) {
        let whole = lines.join("\n");
        let total = whole.lines().count() as u64;
        let mut seen = String::new();
        let mut offset = 1;
        while offset <= total {
            let page = shown("x", whole.as_bytes(), json!({ "offset": offset, "limit": limit }));
            let Ok(page) = page else { break };
            prop_assert_eq!(page.range.0, offset);
            offset = page.range.1 + 1;
            let [ResultPart::Text { text }] = page.parts.as_slice() else { panic!() };
            seen.extend(text.lines().filter(|line| !line.starts_with('[')).map(|line| format!("{line}\n")));
        }
        let expected: String = whole.lines().zip(1..).map(|(line, number)| format!("{number:>6}\t{line}\n")).collect();
        prop_assert!(whole.is_empty() || seen == expected);
    }

    #[test]
    fn whatever_the_bytes_something_is_said(magic in 0_usize..7, bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let magics: [&[u8]; 7] = [b"", b"%PDF-1.5\n", b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"GIF89a", b"RIFF....WEBP", b"\xff\xfe"];
        let bytes = [magics[magic], &bytes].concat();
        let said = match shown("x.ipynb", &bytes, json!({})) {
            Ok(shown) => shown.parts.len(),
            Err(why) => why.len(),
        };
        prop_assert!(said > 0);
    }
}
