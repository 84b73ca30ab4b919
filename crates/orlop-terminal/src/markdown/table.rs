//! Tables: columns as wide as they need, as long as all of them fit.

use crate::text::{Break, Colour, Line, Style, wrap};
use pulldown_cmark::Alignment;

/// No column gets narrower, whatever the screen.
const NARROWEST: usize = 4;

/// A table under way.
pub(super) struct Table {
    columns: Vec<Alignment>,
    rows: Vec<Vec<Line>>,
}

impl Table {
    pub(super) fn new(columns: Vec<Alignment>) -> Self {
        Self { columns, rows: Vec::new() }
    }

    pub(super) fn begin_row(&mut self) {
        self.rows.push(Vec::new());
    }

    pub(super) fn add_cell(&mut self, cell: Line) {
        if let Some(row) = self.rows.last_mut() {
            row.push(cell);
        }
    }

    /// The table in at most so many columns of the screen.
    pub(super) fn lines(&self, room: usize) -> Vec<Line> {
        let widths = self.widths(room);
        let mut lines = Vec::new();
        for (number, row) in self.rows.iter().enumerate() {
            lines.extend(self.row(row, &widths, number == 0));
            if number == 0 {
                let rules: Vec<String> = widths.iter().map(|width| "─".repeat(*width)).collect();
                lines.push(Line::styled(rules.join("─┼─"), Style::of(Colour::Grey)));
            }
        }
        lines
    }

    /// The table row by row, each cell behind the name of its column.
    pub(super) fn sentences(&self) -> Vec<Line> {
        let Some((names, rows)) = self.rows.split_first() else { return Vec::new() };
        if rows.is_empty() {
            return vec![sentence(&[], names)];
        }
        rows.iter().map(|row| sentence(names, row)).collect()
    }

    /// What every column needs, the widest shortened until all fit.
    fn widths(&self, room: usize) -> Vec<usize> {
        let widest = |column: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(column));
            cells.map(Line::width).max().unwrap_or(0).max(1)
        };
        let mut widths: Vec<usize> = (0..self.columns.len()).map(widest).collect();
        let gaps = widths.len().saturating_sub(1) * 3;
        while widths.iter().sum::<usize>() + gaps > room {
            match widths.iter_mut().max() {
                Some(widest) if *widest > NARROWEST => *widest -= 1,
                _ => break,
            }
        }
        widths
    }

    fn row(&self, cells: &[Line], widths: &[usize], is_head: bool) -> Vec<Line> {
        let wrapped: Vec<Vec<Line>> = cells
            .iter()
            .zip(widths)
            .map(|(cell, width)| wrap(cell, *width, 0, Break::Words))
            .collect();
        let height = wrapped.iter().map(Vec::len).max().unwrap_or(0);
        let mut lines = Vec::with_capacity(height);
        for number in 0..height {
            let mut line = Line::default();
            for (column, width) in widths.iter().enumerate() {
                if column > 0 {
                    line.push(" │ ", Style::of(Colour::Grey));
                }
                let mut cell = wrapped.get(column).and_then(|rows| rows.get(number)).cloned();
                if is_head {
                    cell.iter_mut().flat_map(|cell| &mut cell.spans).for_each(|span| {
                        span.style.bold = true;
                    });
                }
                let cell = cell.unwrap_or_default();
                let space = width.saturating_sub(cell.width());
                let before = match self.columns.get(column) {
                    Some(Alignment::Right) => space,
                    Some(Alignment::Center) => space / 2,
                    _ => 0,
                };
                line.push(" ".repeat(before), Style::default());
                line.append(cell);
                if column + 1 < widths.len() {
                    line.push(" ".repeat(space - before), Style::default());
                }
            }
            lines.push(line);
        }
        lines
    }
}

/// One row as words; empty cells have none.
fn sentence(names: &[Line], cells: &[Line]) -> Line {
    let mut line = Line::default();
    for (column, cell) in cells.iter().enumerate().filter(|(_, cell)| !cell.is_empty()) {
        if !line.is_empty() {
            line.push("; ", Style::default());
        }
        if let Some(name) = names.get(column).filter(|name| !name.is_empty()) {
            line.append(name.clone());
            line.push(": ", Style::default());
        }
        line.append(cell.clone());
    }
    line
}
