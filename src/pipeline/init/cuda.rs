//! CUDA kernels in plain sources: a suite with the first of them, as far as its declaration describes it.

use super::tree::{Offer, Tree, quoted};
use sprag_measure::gpu::custom::source::{self, Kernel, Parameter};

/// The size of each name at first, by their number: a buffer of their product has about a million elements at most.
const FIRST_SIZES: [u32; 4] = [1024, 1024, 64, 32];

const BLOCK: u32 = 256;

pub(super) fn find(tree: &Tree<'_>) -> Vec<Offer> {
    let mut all: Vec<(&str, Kernel)> = Vec::new();
    for file in tree.ending(&[".cu"]) {
        let kernels = source::kernels(&tree.text(file)).into_iter();
        all.extend(kernels.filter(|one| one.is_c && elements(one).is_some()).map(|kernel| (file, kernel)));
    }
    let Some(((file, kernel), others)) = all.split_first() else { return Vec::new() };
    let mut section = described(file, kernel);
    if let [(_, first), ..] = others {
        let (count, name) = (others.len(), &first.name);
        section +=
            &format!("# Add a section for each other kernel, such as `{name}`; this repository has {count} more.\n");
    }
    let offer = Offer {
        title: "CUDA",
        place: (*file).to_owned(),
        name: "cuda".to_owned(),
        kernel: section,
        ..Offer::default()
    };
    vec![offer]
}

/// The type of each parameter; `None` where one is not a number or a buffer of numbers.
fn elements(kernel: &Kernel) -> Option<Vec<&'static str>> {
    kernel.parameters.iter().map(element).collect()
}

fn element(parameter: &Parameter) -> Option<&'static str> {
    Some(match parameter.element.as_str() {
        "float" => "f32",
        "double" => "f64",
        "__half" | "half" => "f16",
        "__nv_bfloat16" | "nv_bfloat16" => "bf16",
        "signed char" | "int8_t" => "i8",
        "char" | "unsigned char" | "uint8_t" | "bool" => "u8",
        "short" | "int16_t" => "i16",
        "unsigned short" | "uint16_t" => "u16",
        "int" | "int32_t" => "i32",
        "unsigned" | "unsigned int" | "uint32_t" => "u32",
        "long" | "long long" | "int64_t" | "ptrdiff_t" => "i64",
        "unsigned long" | "unsigned long long" | "uint64_t" | "size_t" => "u64",
        _ => return None,
    })
}

fn described(file: &str, kernel: &Kernel) -> String {
    let elements = elements(kernel).unwrap_or_default();
    let is_size =
        |(parameter, element): &(&Parameter, &&str)| !parameter.is_pointer && !element.starts_with(['f', 'b']);
    let sizes = kernel.parameters.iter().zip(&elements).filter(is_size).map(|(parameter, _)| parameter.name.as_str());
    let mut sizes: Vec<&str> = sizes.collect();
    if sizes.is_empty() {
        sizes.push("n");
    }
    // No kernel should need more.
    let most = sizes.join(" * ");
    let argument = |(parameter, element): (&Parameter, &&str)| {
        let name = &parameter.name;
        let rest = match parameter {
            Parameter { is_pointer: true, is_constant: true, .. } => format!("shape = \"{most}\""),
            Parameter { is_pointer: true, .. } => format!("shape = \"{most}\", role = \"update\""),
            _ if sizes.contains(&name.as_str()) => format!("value = \"{name}\""),
            _ => "value = 1.0".to_owned(),
        };
        format!("  {{ name = \"{name}\", type = \"{element}\", {rest} }},\n")
    };
    let arguments: String = kernel.parameters.iter().zip(&elements).map(argument).collect();
    let size = FIRST_SIZES.get(sizes.len() - 1).unwrap_or(&8);
    let shape = sizes.iter().map(|name| format!("{name} = {size}")).collect::<Vec<_>>().join(", ");
    let (name, file) = (&kernel.name, quoted(file));
    format!(
        "\n[[suites.SUITE.kernel]]\nname = \"{name}\"\nfile = {file}\n\
         # Fill in: shapes of buffers, values; a result has the role \"output\", or \"update\" if the kernel reads it, too.\n\
         arguments = [\n{arguments}]\n\
         grid = \"ceil_div({most}, {BLOCK})\"  # fill in\nblock = {BLOCK}  # fill in\n\
         shapes = [{{ {shape} }}]  # fill in: the sizes to time\n\
         # Fill in what the result is compared with, such as {{ entry = \"{name}_plain\" }} or {{ command = [\"./expected\"] }}.\n\
         reference = \"none\"\n\
         # bytes = \"8 * {most}\"  # what a call reads and writes, for the limit by memory\n\
         # constants = {{ BLOCK = [256, 128] }}  # macros whose values the tuner chooses\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_declaration_becomes_a_section() {
        let text = "extern \"C\" __global__ void saxpy(int n, float a, const float* x, float* y) {}";
        let [kernel] = &source::kernels(text)[..] else { panic!("one kernel") };
        let section = described("k/saxpy.cu", kernel);
        let words = [
            "name = \"saxpy\"\nfile = \"k/saxpy.cu\"\n",
            "  { name = \"n\", type = \"i32\", value = \"n\" },\n  { name = \"a\", type = \"f32\", value = 1.0 },\n",
            "  { name = \"x\", type = \"f32\", shape = \"n\" },\n  { name = \"y\", type = \"f32\", shape = \"n\", role = \"update\" },\n",
            "grid = \"ceil_div(n, 256)\"",
            "shapes = [{ n = 1024 }]",
        ];
        assert!(words.iter().all(|words| section.contains(words)), "{section}");
        let two = "extern \"C\" __global__ void f(const double* in, size_t rows, unsigned columns);";
        let [kernel] = &source::kernels(two)[..] else { panic!("one kernel") };
        let section = described("f.cu", kernel);
        assert!(section.contains("shape = \"rows * columns\"") && section.contains("{ rows = 1024, columns = 1024 }"));
        let [kernel] = &source::kernels("extern \"C\" __global__ void g(Params p, T* x);")[..] else {
            panic!("one kernel")
        };
        assert_eq!(elements(kernel), None);
    }
}
