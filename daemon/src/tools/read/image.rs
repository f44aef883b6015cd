//! An image as a model's API takes it: no larger than it would look at, of a kind it knows, whole. It reads no file.

use std::io::Cursor;

use agentd_types::content::ResultPart;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use image::codecs::jpeg::JpegEncoder;
use image::metadata::Orientation;
use image::{DynamicImage, ImageDecoder, ImageFormat, ImageReader, Limits};

use super::Shown;

/// Pixels of the longer side: a model sees no more.
const MAX_SIDE: u32 = 1_568;
/// Bytes that are sent as they came; a larger one is written anew.
const MAX_BYTES: usize = 500_000;
/// Pixels of a side that are decoded at all, and bytes they may take.
const MAX_DECODED_SIDE: u32 = 30_000;
const MAX_DECODED: u64 = 256 << 20;
/// JPEG qualities that are tried, the best first.
const QUALITIES: [u8; 3] = [85, 65, 40];

/// Which kind of image the bytes are, if any that is shown.
pub(super) fn format(bytes: &[u8]) -> Option<ImageFormat> {
    match bytes {
        [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', ..] => Some(ImageFormat::Png),
        [0xff, 0xd8, 0xff, ..] => Some(ImageFormat::Jpeg),
        [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => Some(ImageFormat::Gif),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some(ImageFormat::WebP),
        _ => None,
    }
}

pub(super) fn show(bytes: &[u8], format: ImageFormat) -> Result<Shown, String> {
    let fitted = fit(bytes, format)?;
    let ((width, height), (now_width, now_height)) = (fitted.was, fitted.is);
    let size = if fitted.was == fitted.is { String::new() } else { format!(", shown as {now_width}x{now_height}") };
    let note = ResultPart::Text { text: format!("[{} image, {width}x{height}{size}]", name(format)) };
    Ok(Shown { parts: vec![note, fitted.part], range: (1, 1) })
}

/// An image that fits.
pub(super) struct Fitted {
    pub part: ResultPart,
    /// Width and height, as it was and as it is.
    was: (u32, u32),
    is: (u32, u32),
}

/// Whole, no larger than is looked at. A small one keeps its bytes.
pub(super) fn fit(bytes: &[u8], format: ImageFormat) -> Result<Fitted, String> {
    let told = |error: image::ImageError| error.to_string();
    let mut limits = Limits::default();
    limits.max_image_width = Some(MAX_DECODED_SIDE);
    limits.max_image_height = Some(MAX_DECODED_SIDE);
    limits.max_alloc = Some(MAX_DECODED);
    let mut reader = ImageReader::with_format(Cursor::new(bytes), format);
    reader.limits(limits);
    let mut decoder = reader.into_decoder().map_err(told)?;
    let orientation = decoder.orientation().unwrap_or(Orientation::NoTransforms);
    // Decoded even if its bytes are kept: one that is cut off would be refused with the whole request.
    let mut image = DynamicImage::from_decoder(decoder).map_err(told)?;
    let stays = bytes.len() <= MAX_BYTES && orientation == Orientation::NoTransforms;
    image.apply_orientation(orientation);
    let was = (image.width(), image.height());
    if was.0.max(was.1) > MAX_SIDE {
        image = image.thumbnail(MAX_SIDE, MAX_SIDE);
    } else if stays {
        return Ok(Fitted { part: part(media_type(format), bytes), was, is: was });
    }
    let is = (image.width(), image.height());
    let (media_type, bytes) = encode(&image, format).map_err(told)?;
    Ok(Fitted { part: part(media_type, &bytes), was, is })
}

/// As PNG where that is small enough (drawings stay sharp), as JPEG otherwise.
fn encode(image: &DynamicImage, was: ImageFormat) -> Result<(&'static str, Vec<u8>), image::ImageError> {
    if was != ImageFormat::Jpeg || image.color().has_alpha() {
        let mut png = Vec::new();
        let plain = if image.color().has_alpha() { DynamicImage::from(image.to_rgba8()) } else { DynamicImage::from(image.to_rgb8()) };
        plain.write_to(&mut Cursor::new(&mut png), ImageFormat::Png)?;
        if png.len() <= MAX_BYTES {
            return Ok((media_type(ImageFormat::Png), png));
        }
    }
    let plain = on_white(image);
    let mut jpeg = Vec::new();
    for quality in QUALITIES {
        jpeg.clear();
        plain.write_with_encoder(JpegEncoder::new_with_quality(&mut jpeg, quality))?;
        if jpeg.len() <= MAX_BYTES {
            break;
        }
    }
    Ok((media_type(ImageFormat::Jpeg), jpeg))
}

/// JPEG knows no transparency.
fn on_white(image: &DynamicImage) -> DynamicImage {
    if !image.color().has_alpha() {
        return DynamicImage::from(image.to_rgb8());
    }
    let from = image.to_rgba8();
    let over = |channel: u8, alpha: u8| {
        let blended = (u32::from(channel) * u32::from(alpha) + 255 * (255 - u32::from(alpha))) / 255;
        u8::try_from(blended).unwrap_or(u8::MAX)
    };
    let mut onto = image::RgbImage::new(from.width(), from.height());
    for (from, onto) in from.pixels().zip(onto.pixels_mut()) {
        let [red, green, blue, alpha] = from.0;
        onto.0 = [over(red, alpha), over(green, alpha), over(blue, alpha)];
    }
    DynamicImage::from(onto)
}

fn part(media_type: &str, bytes: &[u8]) -> ResultPart {
    ResultPart::Image { media_type: media_type.to_owned(), data: STANDARD.encode(bytes) }
}

fn media_type(format: ImageFormat) -> &'static str {
    format.to_mime_type()
}

fn name(format: ImageFormat) -> &'static str {
    media_type(format).strip_prefix("image/").unwrap_or("an")
}
