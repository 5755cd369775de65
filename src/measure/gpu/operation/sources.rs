//! The CUDA sources, built in.

/// What every source begins with: element types, conversions and vectors.
const ELEMENT: &str = include_str!("../../../../kernels/element.cuh");

/// Every kernel file, by name.
const FILES: [(&str, &str); 1] = [("empty.cu", include_str!("../../../../kernels/empty.cu"))];

/// The whole source of a kernel file, as the compiler takes it; `None` where there is no such file.
pub fn source(file: &str) -> Option<String> {
    let (_, text) = FILES.iter().find(|(name, _)| *name == file)?;
    Some(format!("{ELEMENT}\n#line 1 \"{file}\"\n{text}"))
}
