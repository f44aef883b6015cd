use super::*;

fn check(input: &str) -> Result<(), String> {
    let input = Json::parse(input).unwrap();
    match input::read::<Input>("AskUser", &input).and_then(|wanted| checked(&wanted)) {
        Ok(_) => Ok(()),
        Err(ToolFailure::TellModel(text)) => Err(text),
        Err(other) => panic!("{other:?}"),
    }
}

fn question(header: &str, labels: &[&str]) -> String {
    let options: Vec<String> = labels.iter().map(|label| format!(r#"{{"label":"{label}"}}"#)).collect();
    format!(r#"{{"question":"Which?","header":"{header}","options":[{}]}}"#, options.join(","))
}

fn questions(all: &[String]) -> String {
    format!(r#"{{"questions":[{}]}}"#, all.join(","))
}

#[test]
fn questions_within_their_bounds() {
    let good = question("Colour", &["Red", "Blue"]);
    assert_eq!(check(&questions(std::slice::from_ref(&good))), Ok(()));
    assert!(check(&questions(&[])).unwrap_err().contains("1 to 4"));
    assert!(check(&questions(&[good.clone(), good])).unwrap_err().contains("twice"));
    assert!(check(&questions(&[question("Much too long a header", &["a", "b"])])).unwrap_err().contains("12"));
    assert!(check(&questions(&[question("h", &["a"])])).unwrap_err().contains("2 to 4"));
    assert!(check(&questions(&[question("h", &["a", "a"])])).unwrap_err().contains("of its own"));
    assert!(check("{}").unwrap_err().contains("questions"));
}

#[tokio::test]
async fn it_asks_until_answers_are_handed_in() {
    let tool = AskUser::default();
    let input = Json::parse(questions(&[question("Colour", &["Red", "Blue"])])).unwrap();
    let asked = tool.asks(&input);
    assert_eq!((asked.len(), asked[0].options.len(), asked[0].question.as_str()), (1, 2, "Which?"));
    let answered = with_answers(&input, &[("Which?".to_owned(), "neither \"of\" them".to_owned())]);
    assert_eq!(check(answered.as_str()), Ok(()));
    assert!(tool.asks(&answered).is_empty());
}
