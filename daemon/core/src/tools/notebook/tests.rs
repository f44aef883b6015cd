use proptest::prelude::*;
use serde_json::{Value, json};

use super::{CellKind, Change, NotebookError, Output, apply, cells};

const NOTEBOOK: &str = r##"{
 "cells": [
  {
   "cell_type": "markdown",
   "id": "aa",
   "metadata": {"x": 1.50},
   "source": [
    "# T\u00e9st\n",
    "text"
   ]
  },
  {
   "cell_type": "code",
   "execution_count": 3,
   "id": "bb",
   "metadata": {},
   "outputs": [
    {
     "name": "stdout",
     "output_type": "stream",
     "text": [
      "1\n"
     ]
    }
   ],
   "source": [
    "print(1)"
   ]
  }
 ],
 "metadata": {},
 "nbformat": 4,
 "nbformat_minor": 5
}
"##;

#[test]
fn a_cell_is_replaced_and_its_outputs_go() {
    let (text, name) = apply(NOTEBOOK, &Change::Replace { cell: "bb", source: "a\nb\n", kind: None }).unwrap();
    let expected = NOTEBOOK
        .replace("\"execution_count\": 3", "\"execution_count\": null")
        .replace("    \"print(1)\"\n", "    \"a\\n\",\n    \"b\\n\"\n");
    let (start, end) = (expected.find("\"outputs\": [").unwrap(), expected.find("\n   ],\n   \"source\": [\n    \"a").unwrap());
    let expected = format!("{}\"outputs\": [{}", &expected[..start], &expected[end + "\n   ".len()..]);
    assert_eq!((text, name.as_str()), (expected, "bb"));
    let same = apply(NOTEBOOK, &Change::Replace { cell: "aa", source: "# T\u{e9}st\ntext", kind: None });
    // The same text in other words is written anew: only the escape differs.
    assert_eq!(same.unwrap().0, NOTEBOOK.replace("\\u00e9", "\u{e9}"));
}

#[test]
fn a_kind_is_changed_with_its_fields() {
    let (text, _) = apply(NOTEBOOK, &Change::Replace { cell: "bb", source: "x", kind: Some(CellKind::Markdown) }).unwrap();
    let cell = &serde_json::from_str::<Value>(&text).unwrap()["cells"][1];
    assert_eq!(*cell, json!({ "cell_type": "markdown", "id": "bb", "metadata": {}, "source": ["x"] }));
    let (text, _) = apply(NOTEBOOK, &Change::Replace { cell: "aa", source: "x", kind: Some(CellKind::Code) }).unwrap();
    let cell = &serde_json::from_str::<Value>(&text).unwrap()["cells"][0];
    assert_eq!((&cell["outputs"], &cell["execution_count"]), (&json!([]), &Value::Null));
}

#[test]
fn cells_are_inserted_and_deleted_with_nothing_else_touched() {
    let insert = |after| Change::Insert { after, source: "new", kind: CellKind::Code, id: "bb" };
    for after in [None, Some("aa"), Some("bb")] {
        let (text, name) = apply(NOTEBOOK, &insert(after)).unwrap();
        assert_eq!(name, "bb-2");
        assert!(
            text.contains(
                "\n  {\n   \"cell_type\": \"code\",\n   \"execution_count\": null,\n   \"id\": \"bb-2\",\n   \"metadata\": {},\n"
            )
        );
        let (back, _) = apply(&text, &Change::Delete { cell: "bb-2" }).unwrap();
        assert_eq!(back, NOTEBOOK);
    }
    let (text, _) = apply(NOTEBOOK, &Change::Delete { cell: "aa" }).unwrap();
    let (text, _) = apply(&text, &Change::Delete { cell: "bb" }).unwrap();
    assert!(text.contains("\"cells\": [],"));
    let (text, _) = apply(&text, &insert(None)).unwrap();
    assert!(text.starts_with("{\n \"cells\": [\n  {\n   \"cell_type\": \"code\",") && text.contains("\n   ]\n  }\n ],"), "{text}");
}

#[test]
fn compact_and_old_notebooks_stay_what_they_are() {
    let old = r#"{"cells":[{"cell_type":"code","source":"x"}],"nbformat":4,"nbformat_minor":2}"#;
    let (text, name) = apply(old, &Change::Insert { after: Some("cell-0"), source: "y\nz", kind: CellKind::Markdown, id: "new" }).unwrap();
    assert_eq!(name, "cell-1");
    assert_eq!(text, old.replace("}],", r#"},{"cell_type":"markdown","metadata":{},"source":["y\n","z"]}],"#));
    let (text, _) = apply(old, &Change::Replace { cell: "cell-0", source: "y", kind: None }).unwrap();
    assert_eq!(text, old.replace(r#""source":"x""#, r#""source":"y","execution_count":null,"outputs":[]"#));
}

#[test]
fn what_is_none_is_told() {
    let delete = |text| apply(text, &Change::Delete { cell: "zz" }).unwrap_err().to_string();
    assert_eq!(delete(NOTEBOOK), "there is no cell `zz`; there are aa, bb");
    assert!(delete("{}").contains("no list of cells") && delete("[]").contains("no notebook") && delete("x").contains("no notebook"));
    assert!(delete(r#"{"nbformat": 3, "worksheets": []}"#).contains("format 3"));
    let same = apply(r#"{"cells":[{"cell_type":"markdown","source":"x"}]}"#, &Change::Replace { cell: "cell-0", source: "x", kind: None });
    assert_eq!(same, Err(NotebookError::NoChange));
}

#[test]
fn cells_are_read_with_their_outputs() {
    let text = json!({ "cells": [{ "cell_type": "code", "execution_count": 1, "source": ["a\n", "b"], "outputs": [
        { "output_type": "stream", "text": ["1\n", "2"] },
        { "output_type": "error", "ename": "E", "evalue": "v", "traceback": ["\u{1b}[0;31mE\u{1b}[0m: v"] },
        { "output_type": "display_data", "data": { "image/png": "AA\nBB\n", "text/plain": "<Figure>" } },
        { "output_type": "execute_result", "data": { "text/html": "<b>" } },
    ] }] });
    let cells = cells(&text.to_string()).unwrap();
    assert_eq!((cells[0].name.as_str(), cells[0].source.as_str(), cells[0].execution_count), ("cell-0", "a\nb", Some(1)));
    let image = Output::Image { media_type: "image/png".into(), data: "AABB".into() };
    assert_eq!(cells[0].outputs, [Output::Text("1\n2".into()), Output::Text("E: v".into()), image, Output::Other("text/html".into())]);
}

proptest! {
    #[test]
    fn any_change_leaves_other_cells_as_they_are(
        sources in proptest::collection::vec("[a\n\"é]{0,6}", 1..4), new in "[b\n\\\\]{0,6}", pretty in any::<bool>(), at in 0_usize..4,
    ) {
        let cell = |(at, source): (usize, &String)| json!({ "cell_type": "code", "id": format!("c{at}"), "outputs": [], "execution_count": null, "source": source, "metadata": {} });
        let value = json!({ "cells": sources.iter().enumerate().map(cell).collect::<Vec<_>>(), "nbformat": 4, "nbformat_minor": 5 });
        let text = if pretty { serde_json::to_string_pretty(&value).unwrap() } else { value.to_string() };
        let at = at % sources.len();
        let name = format!("c{at}");
        let seen = |text: &str| cells(text).unwrap().into_iter().map(|cell| cell.source).collect::<Vec<_>>();
        let mut expected = sources.clone();
        expected.insert(at + 1, new.clone());
        let (inserted, fresh) = apply(&text, &Change::Insert { after: Some(&name), source: &new, kind: CellKind::Code, id: "n" }).unwrap();
        prop_assert_eq!(seen(&inserted), expected);
        prop_assert_eq!(apply(&inserted, &Change::Delete { cell: &fresh }).unwrap().0, text.clone());
        if new != sources[at] {
            let (replaced, _) = apply(&text, &Change::Replace { cell: &name, source: &new, kind: None }).unwrap();
            let mut expected = sources.clone();
            expected[at].clone_from(&new);
            prop_assert_eq!(seen(&replaced), expected);
            let back = apply(&replaced, &Change::Replace { cell: &name, source: &sources[at], kind: None }).unwrap().0;
            prop_assert_eq!(back, text);
        }
    }
}
