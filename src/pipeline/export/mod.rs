//! The history as files for other programs: Parquet in folders, CSV, JSON Lines, OpenMetrics.

mod passing;
mod selection;
mod downloads;
mod folders;
mod texts;

pub use downloads::{each as each_download, list as list_downloads};
pub use folders::{Exported, write as write_parquet};
pub use selection::{Selected, Selection};
pub use texts::{Form, write as write_text};
