//! A table's row and how samples become one. It never compares with a goal: a reader does.

/// One budget, measured.
pub struct Row {
    pub what: &'static str,
    pub measured: f64,
    /// The worst of a hundred, where there are that many samples.
    pub p99: Option<f64>,
    pub unit: &'static str,
    pub floor: Option<f64>,
    /// What the floor is.
    pub floor_is: &'static str,
    pub goal: &'static str,
}

/// Samples, ascending.
pub struct Samples(Vec<f64>);

impl Samples {
    pub fn new(mut samples: Vec<f64>) -> Samples {
        samples.sort_by(f64::total_cmp);
        Samples(samples)
    }

    pub fn median(&self) -> f64 {
        self.0[self.0.len() / 2]
    }

    /// Only of a hundred samples and more.
    pub fn p99(&self) -> Option<f64> {
        (self.0.len() >= 100).then(|| self.0[self.0.len() * 99 / 100])
    }
}

pub fn print(rows: &[Row]) {
    let mut out = format!("{:<54} {:>10} {:>10} {:>10} {:>7}  goal; floor\n", "what", "median", "p99", "floor", "ratio");
    for row in rows {
        let number = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), |value| format!("{value:.3}"));
        let ratio = row.floor.map_or_else(|| "-".to_owned(), |floor| format!("{:.2}", row.measured / floor));
        let what = format!("{} [{}]", row.what, row.unit);
        let (measured, p99, floor) = (number(Some(row.measured)), number(row.p99), number(row.floor));
        out += &format!("{what:<54} {measured:>10} {p99:>10} {floor:>10} {ratio:>7}  {}; {}\n", row.goal, row.floor_is);
    }
    std::io::Write::write_all(&mut std::io::stdout(), out.as_bytes()).expect("stdout");
}
