use proptest::prelude::*;

use super::*;

proptest! {
    #[test]
    fn a_row_comes_back(last: u64, unsettled: bool, labels in prop::collection::vec(any::<[u8; 16]>(), 0..4), row in prop::collection::vec(any::<u8>(), 0..50)) {
        let standing = if unsettled { Standing::Unsettled } else { Standing::Settled };
        let labels = labels.into_iter().map(Label::from_bytes).collect();
        let stored = Stored { last: Seq(last), folded: Folded { row, standing, labels } };
        prop_assert_eq!(Stored::decode(&stored.encode()), Ok(stored));
    }

    #[test]
    fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..60)) {
        let _ = Stored::decode(&bytes);
        let _ = Meta::decode(&bytes);
    }

    #[test]
    fn the_meta_comes_back(applied: u64, sessions: u64) {
        let meta = Meta { applied, sessions };
        prop_assert_eq!(Meta::decode(&meta.encode()), Ok(meta));
    }
}
