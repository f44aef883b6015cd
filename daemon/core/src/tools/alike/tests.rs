use proptest::prelude::*;

use super::{Alike, Likeness};

const ALL: [Likeness; 4] = [Likeness::Exact, Likeness::LineEnds, Likeness::Characters, Likeness::Trailing];

#[test]
fn what_looks_alike_is_the_same() {
    let text = "a \t\r\n\u{201c}b\u{2019}s\u{a0}c\u{201d} \nd ";
    let as_read = ALL.map(|likeness| Alike::new(text, likeness).text.into_owned());
    assert_eq!(as_read[0], text);
    assert_eq!(as_read[1], text.replace("\r\n", "\n"));
    assert_eq!(as_read[2], "a \t\n\"b's c\" \nd ");
    assert_eq!(as_read[3], "a\n\"b's c\"\nd ");
}

proptest! {
    #[test]
    fn every_place_is_found_again(text in "[ab \t\r\n\u{201c}\u{2019}\u{a0}é]{0,24}") {
        for likeness in ALL {
            let alike = Alike::new(&text, likeness);
            prop_assert_eq!(alike.original(alike.text.len()), text.len());
            let places: Vec<usize> = alike.text.char_indices().map(|(at, _)| at).chain([alike.text.len()]).collect();
            prop_assert!(places.iter().all(|at| text.is_char_boundary(alike.original(*at)) && alike.start(alike.original(*at)) == *at));
            prop_assert!(places.windows(2).all(|pair| alike.original(pair[0]) < alike.original(pair[1])));
            for (at, _) in text.char_indices() {
                let (start, end) = (alike.start(at), alike.end(at));
                prop_assert!(alike.original(start) <= at && at <= alike.original(end) && end - start <= 1, "{at}: {start} {end}");
            }
        }
    }
}
