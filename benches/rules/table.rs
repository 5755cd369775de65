//! A table of shares: rules down, circumstances across.

/// Rows of shares, each row and column with a name.
pub(crate) struct Table {
    rows: Vec<&'static str>,
    columns: Vec<String>,
    /// By column, then row.
    shares: Vec<Vec<f64>>,
}

impl Table {
    /// A table with these rows and columns and nothing in it yet.
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

    /// Every share above the limit that its row and column have, in words.
    pub(crate) fn above<'t>(
        &'t self,
        limit: impl Fn(&str, &str) -> Option<f64> + 't,
    ) -> impl Iterator<Item = String> + 't {
        self.cells().filter_map(move |(row, column, share)| {
            let limit = limit(row, column).filter(|limit| share > *limit)?;
            Some(format!("{row} on {column}: {:.2} %, at most {:.1} % is promised", 100.0 * share, 100.0 * limit))
        })
    }

    /// Every share below the limit that its row and column have, in words.
    pub(crate) fn below<'t>(
        &'t self,
        limit: impl Fn(&str, &str) -> Option<f64> + 't,
    ) -> impl Iterator<Item = String> + 't {
        self.cells().filter_map(move |(row, column, share)| {
            let limit = limit(row, column).filter(|limit| share < *limit)?;
            Some(format!("{row} on {column}: {:.2} %, at least {:.1} % is promised", 100.0 * share, 100.0 * limit))
        })
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

    fn cells(&self) -> impl Iterator<Item = (&str, &str, f64)> {
        self.columns.iter().zip(&self.shares).flat_map(|(column, shares)| {
            self.rows.iter().zip(shares).map(move |(row, share)| (*row, column.as_str(), *share))
        })
    }
}
