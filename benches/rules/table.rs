//! A table of shares: rules down, circumstances across.

#[derive(Clone, Copy)]
pub(crate) enum Side {
    AtMost,
    AtLeast,
}

/// Shares by row and column.
pub(crate) struct Table {
    rows: Vec<&'static str>,
    columns: Vec<String>,
    /// By column, then row.
    shares: Vec<Vec<f64>>,
}

impl Table {
    pub(crate) fn new(
        rows: impl IntoIterator<Item = &'static str>,
        columns: impl IntoIterator<Item = impl Into<String>>,
    ) -> Table {
        let columns: Vec<String> = columns.into_iter().map(Into::into).collect();
        Table { rows: rows.into_iter().collect(), shares: vec![Vec::new(); columns.len()], columns }
    }

    /// Sets a column to the shares of `true` among repetitions that each have a flag a row.
    pub(crate) fn fill(&mut self, column: &str, repetitions: &[Vec<bool>]) {
        let share = |row: usize| {
            let count = repetitions.iter().filter(|calls| calls[row]).count();
            count as f64 / repetitions.len().max(1) as f64
        };
        let shares = (0..self.rows.len()).map(share).collect();
        self.set(column, shares);
    }

    /// Sets a column to shares, one a row.
    pub(crate) fn set(&mut self, column: &str, shares: Vec<f64>) {
        let place = self.columns.iter().position(|name| name == column).expect("the column is one of the table");
        self.shares[place] = shares;
    }

    /// Every share on the wrong side of the limit that its row and column have, in words.
    pub(crate) fn missed(&self, side: Side, limit: impl Fn(&str, &str) -> Option<f64>) -> Vec<String> {
        let mut missed = Vec::new();
        for (shares, column) in self.shares.iter().zip(&self.columns) {
            for (row, share) in self.rows.iter().zip(shares) {
                let Some(limit) = limit(row, column) else { continue };
                let (is_missed, word) = match side {
                    Side::AtMost => (*share > limit, "most"),
                    Side::AtLeast => (*share < limit, "least"),
                };
                if is_missed {
                    let (share, limit) = (100.0 * share, 100.0 * limit);
                    missed.push(format!("{row} on {column}: {share:.2} %, at {word} {limit:.1} % is promised"));
                }
            }
        }
        missed
    }

    /// The table in Markdown, in per cent.
    pub(crate) fn text(&self) -> String {
        let mut text = format!("| rule | {} |\n|---|{}\n", self.columns.join(" | "), "--:|".repeat(self.columns.len()));
        for (place, row) in self.rows.iter().enumerate() {
            let cells = self.shares.iter().map(|column| format!("{:.1}", 100.0 * column[place]));
            text.push_str(&format!("| {row} | {} |\n", cells.collect::<Vec<String>>().join(" | ")));
        }
        text
    }
}
