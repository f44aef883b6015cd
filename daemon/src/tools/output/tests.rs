use agentd_types::AbsPath;
use proptest::prelude::*;

use super::decode::{Decoder, whole_end, whole_start};
use super::{Counts, INLINE, Kept, MAX_FILE, PROGRESS, shown};

fn kept(folder: &std::path::Path) -> Kept {
    Kept::new(AbsPath::new(folder).unwrap(), "toolu/1")
}

#[tokio::test]
async fn long_output_keeps_head_tail_and_file() {
    let dir = tempfile::tempdir().unwrap();
    let mut kept = kept(dir.path());
    for _ in 0..100 {
        kept.take(&[b'a'; 1000]).await;
    }
    kept.take(b"end").await;
    let text = kept.finish(Counts::AsSuccess).await;
    assert!(text.starts_with("aaa") && text.ends_with("aend"), "{}", &text[text.len() - 10..]);
    assert!(text.contains("70003 bytes left out; all of it is in "), "{text}");
    assert_eq!(std::fs::read(dir.path().join("toolu_1.txt")).unwrap().len(), 100_003);
}

#[tokio::test]
async fn a_failures_output_is_cut_shorter_and_kept_whole_too() {
    let dir = tempfile::tempdir().unwrap();
    let mut kept = kept(dir.path());
    kept.take(&[b'a'; 20_000]).await;
    let text = kept.finish(Counts::AsFailure).await;
    assert!(text.contains("10000 bytes left out; all of it is in "), "{text}");
    assert_eq!(std::fs::read(dir.path().join("toolu_1.txt")).unwrap().len(), 20_000);
}

#[tokio::test]
async fn gigabytes_are_bounded_in_memory_and_on_disk() {
    let dir = tempfile::tempdir().unwrap();
    let mut kept = kept(dir.path());
    let piece = vec![b'x'; 1024 * 1024];
    for _ in 0..80 {
        kept.take(&piece).await;
    }
    assert!(kept.head.len() + kept.tail.len() <= INLINE && kept.tail.capacity() < 4 * INLINE && kept.news.len() <= PROGRESS);
    let text = kept.finish(Counts::AsSuccess).await;
    assert!(text.len() < INLINE + 500 && text.contains("the first 67108864 bytes of it are in"), "{}", text.len());
    assert_eq!(std::fs::metadata(dir.path().join("toolu_1.txt")).unwrap().len(), MAX_FILE);
}

#[tokio::test]
async fn without_a_folder_the_call_goes_on_and_says_so() {
    let mut kept = kept(std::path::Path::new("/dev/null/nowhere"));
    kept.take(&[b'a'; 40_000]).await;
    let text = kept.finish(Counts::AsSuccess).await;
    assert!(text.contains("10000 bytes left out; /dev/null/nowhere/toolu_1.txt could not keep them: "), "{text}");
}

#[tokio::test]
async fn a_link_in_the_place_of_the_file_is_not_followed() {
    let dir = tempfile::tempdir().unwrap();
    let target = dir.path().join("target");
    std::os::unix::fs::symlink(&target, dir.path().join("toolu_1.txt")).unwrap();
    let mut kept = kept(dir.path());
    kept.take(&[b'a'; 40_000]).await;
    assert!(kept.finish(Counts::AsSuccess).await.contains("could not keep them"));
    assert!(!target.exists());
}

#[tokio::test]
async fn progress_is_the_newest_text_in_whole_characters() {
    let mut kept = kept(std::path::Path::new("/nowhere"));
    let euro = "€".as_bytes();
    kept.take(&euro[..2]).await;
    assert!(!kept.has_news());
    kept.take(&euro[2..]).await;
    assert_eq!(kept.news(), "€");
    kept.take(&[0xff, b'a', 0]).await;
    assert_eq!(kept.news(), "\u{fffd}a\u{fffd}");
    kept.take("é".repeat(4000).as_bytes()).await;
    assert_eq!(kept.news(), "é".repeat(PROGRESS / 2));
    assert!(!kept.has_news());
}

#[tokio::test]
async fn a_cut_falls_between_characters() {
    let dir = tempfile::tempdir().unwrap();
    let mut kept = kept(dir.path());
    kept.take(format!("a{}", "€".repeat(20_000)).as_bytes()).await;
    let text = kept.finish(Counts::AsSuccess).await;
    assert!(!text.contains('\u{fffd}'));
}

proptest! {
    #[test]
    fn pieces_say_what_the_whole_says(text in "\\PC{0,40}", cuts in proptest::collection::vec(1usize..5, 0..40)) {
        let mut decoder = Decoder::default();
        let (mut rest, mut said) = (text.as_bytes(), String::new());
        for cut in cuts.into_iter().chain([usize::MAX]) {
            let (piece, after) = rest.split_at(cut.min(rest.len()));
            said.push_str(&decoder.decode(piece));
            rest = after;
        }
        prop_assert_eq!(said, shown(text.as_bytes()));
    }

    #[test]
    fn any_bytes_become_text_and_little_is_held_back(pieces in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..9), 0..9)) {
        let mut decoder = Decoder::default();
        for piece in &pieces {
            let _ = decoder.decode(piece);
        }
        let all = pieces.concat();
        prop_assert!(all.len() - whole_end(&all).len() <= 3 && all.len() - whole_start(&all).len() <= 3);
    }
}
