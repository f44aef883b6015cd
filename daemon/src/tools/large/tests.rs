use agentd_types::content::ResultPart;
use agentd_types::{AbsPath, ToolUseId};

use super::bounded;

fn text(text: &str) -> ResultPart {
    ResultPart::Text { text: text.into() }
}

#[tokio::test]
async fn a_long_result_is_in_a_file_and_its_images_stay() {
    let keep = tempfile::tempdir().unwrap();
    let outputs = AbsPath::new(keep.path()).unwrap().join("outputs");
    let id = ToolUseId::new("toolu_1");
    let image = ResultPart::Image { media_type: "image/png".into(), data: "A".repeat(1_000) };
    let short = vec![text("abc"), image.clone(), text("def")];
    assert_eq!(bounded(short.clone(), 6, &outputs, &id).await, short);
    assert!(!outputs.as_path().exists());

    let long = vec![text(&"a".repeat(50_000)), image.clone(), text(&"b".repeat(50_000))];
    let kept = bounded(long, 99_999, &outputs, &id).await;
    let [ResultPart::Text { text }, last] = kept.as_slice() else { panic!("{kept:?}") };
    assert_eq!(*last, image);
    let file = outputs.join("toolu_1-result.txt");
    assert!(text.len() < 31_000 && text.starts_with("aaa") && text.ends_with("bbb"));
    assert!(text.contains(&format!("70000 bytes left out; all of it is in {file}")), "{}", &text[14_990..15_200]);
    assert_eq!(std::fs::read_to_string(file).unwrap(), "a".repeat(50_000) + &"b".repeat(50_000));
}
